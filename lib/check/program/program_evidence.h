/* What the evidence claims of a program, whose statement has been read. */
#ifndef CLARKE_KERNEL_PROGRAM_EVIDENCE_H
#define CLARKE_KERNEL_PROGRAM_EVIDENCE_H

#include "check/program/program_walk.h"

#define MAX_ORDER 8 /* of t in the series along an arc */

/* `arc R` and its R steps of an entry for each in wrt, which stand until the next call. Returns R. */
size_t read_arc(walk *w, const rational **steps);

/* Arcs whose weighted gradients add up to AD's output though they are not rational: program_mean.h has these. */
typedef struct {
  struct means *(*begin)(const walk *w);                         /* without arcs */
  void (*add)(struct means *m, walk *w, const rational *weight); /* the arc that was followed last */
  /* Is the sum of instruction `at`'s gradients, weighted, AD's derivative of it? False: that is not told. */
  bool (*are_ads)(const struct means *m, walk *w, size_t at);
  void (*end)(struct means *m, const walk *w);
} mean_rules;

/* What some evidence alone asks for. It is handed down from the top. */
typedef struct {
  const mean_rules *means;
  /* check_tree of program_tree.h. */
  size_t (*tree)(walk *w, bool may_open, void (*at_leaf)(void *what, const size_t *choices, size_t depth), void *what);
  /* check_cones of program_cones.h. */
  size_t (*cones)(program *p, size_t n, void (*each)(void *of, const rational *gradient), void *of);
} evidence_rules;

/* The lines of the evidence, to the last, of what is Lipschitz near the point. verdict is a word of the three; output: AD's, row by
 * row. */
void check_program_evidence(walk *w, const char *verdict, const interval *output, const evidence_rules *rules);

/* The gradient of the output that entry k of AD's output is of: its entry. In the pattern followed last. */
const interval *output_gradient(const walk *w, size_t k);

void put_number(const interval *x); /* on the account, or what it is about */

/* On the account, AD's output or a vector of its size: (a, b), or for several outputs ((a, b), (c, d)). */
void put_rows(const walk *w, const interval *x);

#endif
