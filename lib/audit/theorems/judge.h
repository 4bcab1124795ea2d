/* What the judgements of theorems share: a layer that fails a condition, proxies as mixes of slopes, saying why. Private
 * to lib/audit/theorems.
 *
 * A theorem's file has one function that judges it: whether it applies to this network and batch, whether its
 * conditions hold, and why. theorems.c calls them in order. No verdict rests on what they say. */
#ifndef CLARKE_AUDIT_THEOREMS_JUDGE_H
#define CLARKE_AUDIT_THEOREMS_JUDGE_H

#include "audit/audit.h"

/* --- judge.c: conditions on layers --- */

/* the layer's step's, which the graph has */
const char *clarke_layer_name(const clarke_question *q, const clarke_layer *layer);

/* The first layer with kinks but no distinct bias, or NULL. */
const clarke_layer *clarke_without_distinct_bias(const clarke_audit *a);

/* The first layer that is no pointwise function, or NULL. */
const clarke_layer *clarke_pooling(const clarke_audit *a, const clarke_question *q);

/* What the proxies of a layer's kinks are like. With p the proxy at a kink, left and right its slopes, lambda is
 * (p - right) / (left - right). */
typedef struct {
  clarke_truth clarke;    /* all lambdas in [0, 1] */
  clarke_truth one_sided; /* all 0 or 1 */
  clarke_truth shared;    /* all equal, in [0, 1] */
} clarke_proxies;

/* The proxies of a pointwise layer, touched or not. UNKNOWN is what would be YES if the profile had all proxies: it need not
 * have one where nothing is touched. */
clarke_proxies clarke_judge_proxies(const clarke_question *q, const clarke_layer *layer);

/* --- judge.c: saying so --- */

/* All of *t at once. format has one %s, for the layer's name; NULL stands for "". */
void clarke_theorem_say(clarke_theorem *t, const char *name, bool applies, clarke_truth holds,
                        const char *format, const char *layer);

/* A condition on a layer's proxies: NO says `fails` of the layer, whatever was said before; UNKNOWN makes a YES unknown.
 * t->name is set. */
void clarke_theorem_require(clarke_theorem *t, clarke_truth condition, const char *fails,
                            const char *layer);

/* Theorems 4 and 6: proxies of one lambda for each pointwise layer; then it `holds`. t->name is set. */
void clarke_judge_lambdas(clarke_theorem *t, const char *holds, const clarke_audit *a,
                          const clarke_question *q);

/* What is touched is not known where arguments could not be told from their kinks: a YES becomes unknown. */
void clarke_require_no_open(clarke_theorem *t, const clarke_question *q);

#endif
