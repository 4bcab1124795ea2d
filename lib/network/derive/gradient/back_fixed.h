/* Steps back in fixed point: what of g goes to operands whose gradients are in it (docs/gradient.md, "Fixed point"). Whatever has no
 * room there is lost: p->lost is set. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_BACK_FIXED_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_BACK_FIXED_H

#include "network/derive/gradient/gradient.h"

/* At least a factor's error, as a part of it, and that of an operation of MPFR. */
static inline double
clarke_fixed_part(size_t limbs)
{
  return ldexp(1, 2 - (int)limbs * CLARKE_FIXED_LIMB);
}

/* At least the norm, in a lane, of one unit of each of a value's entries. */
double clarke_fixed_units(const clarke_gradient_pass *p, size_t value);

/* Are gradients of the step's operands in fixed point? Then so are all of them. */
bool clarke_step_is_fixed(const clarke_gradient_pass *p, const clarke_step *s);
/* g, which has been measured, becomes what the step reads: in fixed point, or not. */
clarke_status clarke_fix_gradient(clarke_gradient_pass *p, const clarke_step *s);

/* As clarke_note_operand; besides, what each entry of g makes loses so many units. */
clarke_status clarke_note_operand_fixed(clarke_gradient_pass *p, const clarke_step *s, double grow, double round, double units);

/* What an operand of a SUM gets of g. */
void clarke_sum_operand_fixed(clarke_gradient_pass *p, const clarke_step *s, size_t k);
clarke_status clarke_scale_back_fixed(clarke_gradient_pass *p, const clarke_step *s);
clarke_status clarke_piecewise_back_fixed(clarke_gradient_pass *p, const clarke_step *s);
clarke_status clarke_max_back_fixed(clarke_gradient_pass *p, const clarke_step *s);

#endif
