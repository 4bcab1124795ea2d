/* What the files of a combination share: the combination itself, and how far a way has come. */
#ifndef CLARKE_NETWORK_PASS_COMBINATION_COMBINATION_H
#define CLARKE_NETWORK_PASS_COMBINATION_COMBINATION_H

#include "network/pass/combination.h"

/* The combination: of entries, feature * n + column, by value, plus a number. Where the graph does not couple samples there is
 * one column, the touch's. */
typedef struct {
  const clarke_reduction *r;
  const clarke_graph *g;
  size_t n, column;
  mpq_t **of;   /* NULL: none is in it */
  size_t *size; /* entries of each that is not NULL, else 0 */
  size_t all;
  bool failed; /* no memory, or too many entries */
  mpq_t number, scratch;
} clarke_combination;

typedef enum { CLARKE_WAY_NO, CLARKE_WAY_ON, CLARKE_WAY_YES } clarke_progress;

/* What entry e of the value is multiplied by. It is 0 where none was there; a scratch number where memory is short. */
mpq_ptr clarke_combination_at(clarke_combination *c, size_t v, size_t e);

/* The column of entry e; the place of an entry in the pass. */
size_t clarke_combination_column(const clarke_combination *c, size_t e);
size_t clarke_combination_place(const clarke_combination *c, size_t e);

/* Has no other value an entry left? */
bool clarke_combination_only_at(const clarke_combination *c, size_t v);

/* y += a b. */
void clarke_combination_add(clarke_combination *c, mpq_t y, const mpq_t a, const mpq_t b);

/* *radius: how far the entry may be from q. */
void clarke_combination_value(mpq_t q, double *radius, const clarke_combination *c, size_t v, size_t e);

/* --- products.c --- */

/* Through a step whose entries are sums of products. */
clarke_status clarke_combination_products(clarke_progress *found, clarke_combination *c, const clarke_step *s,
                                          clarke_error *err);

#endif
