/* What a touch's side asks of a direction, as rows. */
#ifndef CLARKE_AUDIT_TOUCH_ROW_H
#define CLARKE_AUDIT_TOUCH_ROW_H

#include "audit/question.h"
#include "audit/sparse_row.h"

/* The pass and the slopes of one column, made anew when another one is asked for: rows are best asked for
 * column by column. */
typedef struct {
  const clarke_question *q;
  clarke_slopes slopes; /* of the sides chosen, all columns */
  size_t column;        /* CLARKE_NONE: none yet */
  clarke_forward forward;
  clarke_slopes slope;
  clarke_sparse sparse;
  bool whole;     /* rows must keep their scale */
  bool frugal;    /* where whole rows are not all reachable, none is made that takes a pass over all samples */
  bool far;       /* such a row was asked for: it is not made */
  double divided; /* what the last row was divided by, about */
} clarke_columns;

/* May rows that are not cut be made of all conditions, with a bounded amount of work? */
bool clarke_whole_rows_reachable(const clarke_question *q);

/* side: as of clarke_question_slopes. */
clarke_status clarke_columns_init(clarke_columns *c, const clarke_question *q, const clarke_branch *side,
                                  clarke_error *err);
void clarke_columns_clear(clarke_columns *c);

/* What a side asks of touch k by one of its conditions, as a row whose product with a direction must be
 * positive: the side's sign times the derivative of a kink's argument, or that of the side's
 * option of a window less the option `condition`. In all wrt parameters, or in its layer's own
 * only (segment). *exact: false when enclosures came in (then entries are midpoints). An exact row that is not rational counts
 * up to a positive factor, unless c is asked for whole rows (docs/proof-format.md, "Gradients and rows"). */
clarke_status clarke_touch_row(clarke_row *row, bool *exact, clarke_columns *c, size_t k,
                               clarke_branch side, size_t condition, bool segment, clarke_error *err);

/* The row in all wrt parameters, as the gradient by each, count x 1 or 0 x 0 for zero; grad: its derivatives by values, in one
 * column, the touch's, or if *coupled in all of the near pass. Both are new matrices, n_parameters and n_values. Each up to a
 * positive factor, and what a transcendental function comes into is zero only by the rules. */
clarke_status clarke_touch_meets(clarke_matrix *gradient, clarke_matrix *grad, bool *coupled, clarke_columns *c, size_t k,
                                 clarke_branch side, size_t condition, clarke_error *err);

/* Is the row in all wrt parameters zero, exactly? */
clarke_status clarke_touch_rests(bool *rests, clarke_columns *c, size_t k, clarke_branch side, size_t condition,
                                 clarke_error *err);

#endif
