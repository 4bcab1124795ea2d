/* A number written as a combination of entries of earlier steps, divided by what is not zero (docs/proof-format.md,
 * "Factors"). */
#ifndef CLARKE_NETWORK_PASS_COMBINATION_H
#define CLARKE_NETWORK_PASS_COMBINATION_H

#include "network/pass/forward.h"
#include "network/pass/touch.h"

/* For combinations of functions mark has the degree of every entry of every activation (0 constant, 1 affine, 2 anything),
 * by value, features x columns; index, by step with kinks, 1 + the touch at its output's entry, or 0; side the sides chosen,
 * by touch (or NULL). Then a way ends at what is affine, and parameters in wrt may be factors. For numbers mark, index, side
 * and touch are NULL; a way ends at exact entries. */
typedef struct {
  const clarke_forward *f;
  uint8_t *const *mark;
  size_t *const *index;
  const clarke_branch *side;
  const clarke_touch *touch;
} clarke_reduction;

/* Entry a of the value in that column, less entry b, or less the kink q where b is CLARKE_NONE. Does the way end there? Not
 * known of large graphs. */
clarke_status clarke_reduce(bool *ends, const clarke_reduction *r, size_t value, size_t a, size_t b, const mpq_t q,
                            size_t column, clarke_error *err);

/* Is the number, entry a less entry b or less q where b is CLARKE_NONE, certainly 0? In graphs of few activations; false, too,
 * where memory is short. */
bool clarke_cancels(const clarke_forward *f, size_t value, size_t a, size_t b, const mpq_t q, size_t column);

#endif
