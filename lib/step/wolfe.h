/* The line search of torch.optim.LBFGS, line_search_fn="strong_wolfe": first lengths grow until two of them have a good one between them, then these
 * draw together. Lengths are found by cubics, so that they may be roots, which balls hold. */
#ifndef CLARKE_STEP_WOLFE_H
#define CLARKE_STEP_WOLFE_H

#include "exact/number.h"

/* What is known at a length t. The loss is a rational, the slope g d. */
typedef struct {
  clarke_number t, loss, slope, *g;
} clarke_wolfe_point;
clarke_status clarke_wolfe_point_init(clarke_wolfe_point *p, size_t n, clarke_error *err);
void clarke_wolfe_point_clear(clarke_wolfe_point *p, size_t n); /* also of one that is all zeros */

/* The gradient and the loss at t, which are there, and last until the next question. */
typedef clarke_status (*clarke_wolfe_evaluate)(void *of, const clarke_number *t, const clarke_number **g, const clarke_number **loss, clarke_error *err);
/* The slope of a gradient. */
typedef void (*clarke_wolfe_slope)(void *of, clarke_number *slope, const clarke_number *g);

typedef struct {
  size_t n, most;         /* entries; evaluations behind the first of a search */
  const clarke_number *d; /* the direction */
  clarke_wolfe_evaluate evaluate;
  clarke_wolfe_slope slope;
  void *of;
} clarke_wolfe_search;

/* The point that it ends at. found: first the one that it begins at, whose t is 0; t: the first length. Errors: what evaluate() returns; a length that is
 * no number (CLARKE_EINPUT); balls that do not tell (CLARKE_EVAGUE). */
clarke_status clarke_wolfe_find(clarke_wolfe_point *found, const clarke_number *t, const clarke_wolfe_search *s, clarke_error *err);

#endif
