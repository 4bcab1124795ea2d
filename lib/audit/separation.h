/* Does a vector v separate AD's output from whole families of cells? Sides are chosen at some touches and left
 * open at the others: what those may add is bounded.
 *
 * Let s take a side of every touch, and f(s) be the loss's derivative along v under s, f(AD) with AD's slopes. Replacing
 * AD's slopes by those of s one touch at a time, the last first, gives
 *     f(s) = f(AD) + sum over touches k of u_k (t_k - a_k),
 * u_k the loss's derivative by k's output under s, t_k and a_k the derivatives along v of that output by
 * s's side of k and as AD has it, all before k having AD's slopes. Reverse mode over slopes that hold those of all
 * sides encloses u_k for every s at once. So v separates when the sum is negative. */
#ifndef CLARKE_AUDIT_SEPARATION_H
#define CLARKE_AUDIT_SEPARATION_H

#include "audit/system.h"

/* The question's touches get their adjoints u_k, which do not depend on v. */
clarke_status clarke_adjoints_find(clarke_question *q, clarke_error *err);

typedef struct {
  const clarke_question *q;
  arb_ptr gain; /* u_k (t_k - a_k), by touch and side */
} clarke_separation;

/* The adjoints have been found. */
clarke_status clarke_separation_init(clarke_separation *m, const clarke_question *q, const clarke_row *v,
                                 clarke_error *err);
void clarke_separation_clear(clarke_separation *m);

/* What touch k adds by its side number o. */
static inline arb_ptr
clarke_separation_gain(const clarke_separation *m, size_t k, size_t o)
{
  return m->gain + m->q->touch[k].first_gain + o;
}

/* What touch k adds at most when its side is open. */
void clarke_separation_open(arb_t most, const clarke_separation *m, size_t k);

/* Is <v, AD's output> > <v, g> for the gradients g of all cells with these sides (by touch; CLARKE_PROXY:
 * open)? */
bool clarke_separation_holds(const clarke_separation *m, const clarke_branch *side);

#endif
