/* A program executed as a framework does it: in IEEE arithmetic, one correctly rounded operation
 * after another (MPFR, ties to even, subnormals kept), with AD in reverse in the same format.
 *
 * The order is a framework's (docs/rounding.md). Forward, instructions in their order; a LINEAR
 * adds its terms from the first to the last (each product rounded unless its coefficient is 1 or
 * -1; the constant last, unless it is zero); a NORM adds squares from the first. Comparisons
 * (kinks, ties, branches) are made on the rounded values. Backward, groups from the last to the
 * first. What the entries of a group give to one instruction is summed first, from the first entry
 * to the last, and the sum is added to its adjoint (assigned when that is the first). Arguments
 * have their turns from the first to the last, those of a LINEAR as the additions and products it
 * stands for are undone, from the last. An instruction's adjoint times a partial derivative is one
 * rounded product (none when the partial is 1 or -1) but for the forms that the page gives for
 * quotients and analytic functions. A mean over n tied entries divides the adjoint by n. */
#ifndef CLARKE_PROGRAM_ROUNDED_H
#define CLARKE_PROGRAM_ROUNDED_H

#include "program/execute.h"
#include "program/ieee.h"

/* value: n_outputs; gradient: n_outputs x wrt_count, NaN and infinities as doubles; every number of
 * the four formats is a double. Inputs and constants are rounded to the format first. */
typedef struct {
  size_t n_values, n_gradient;
  double *value, *gradient;
} clarke_rounded;

void clarke_rounded_init(clarke_rounded *r);
void clarke_rounded_clear(clarke_rounded *r);
/* p has wrt marked; at: one rational for each entry of the inputs. Overflow and invalid operations
 * are no errors: they give infinities and NaN, as in a framework. */
clarke_status clarke_rounded_run(clarke_rounded *r, const clarke_code *p, mpq_t *at,
                                 clarke_ieee format, const clarke_profile *profile,
                                 clarke_error *err);
/* The values alone: no gradient, and so no profile. */
clarke_status clarke_rounded_values(clarke_rounded *r, const clarke_code *p, mpq_t *at, clarke_ieee format, clarke_error *err);

#endif
