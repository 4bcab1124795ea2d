/* Elementary functions with their costs: the thesis' tables 2.1, 2.2 and 2.3, and what follows by their rules for the other operators.
 *
 * g is the function, with so many arguments (|pr|); gd computes it and one of its derivatives jointly. Numbers that a program has as
 * constants are no arguments: x c and + c have one. */
#ifndef CLARKE_COST_ELEMENTARY_H
#define CLARKE_COST_ELEMENTARY_H

#include "cost/operations.h"
#include "exact/number.h"
#include "op/step.h"

typedef struct {
  const char *name; /* a text that stays */
  size_t arguments;
  clarke_operations cost, joint; /* of g, of gd */
} clarke_elementary;

clarke_elementary clarke_elementary_addition(void);                /* a + b, a - b */
clarke_elementary clarke_elementary_product(void);                 /* a b */
clarke_elementary clarke_elementary_plus_constant(void);           /* a + c, c - a */
clarke_elementary clarke_elementary_times_constant(void);          /* c a, -a, a / c */
clarke_elementary clarke_elementary_inverse(void);                 /* 1 / a */
/* x relu: a relu(b), one evaluation of a sign and one product (Case 7). */
clarke_elementary clarke_elementary_times_relu(void);
/* The largest of n numbers, by n - 1 comparisons; another order statistic by sorting, with as many as insertion by halving needs. */
clarke_elementary clarke_elementary_maximum(size_t n);
clarke_elementary clarke_elementary_order(size_t n);
clarke_elementary clarke_elementary_norm(size_t n);                /* the root of a sum of n squares */
clarke_elementary clarke_elementary_choice(void);                  /* if a < b then c else d: four arguments */
/* A pointwise function: a comparison for each kink, and the arithmetic of its longest piece; derivatives of pieces that are lines cost
 * nothing more. With varying slope (PRelu) the slope is an argument. */
clarke_elementary clarke_elementary_pieces(const clarke_pieces *p, const char *name, bool slope_varies);
clarke_elementary clarke_elementary_elu(void);                     /* Case 9 */
clarke_elementary clarke_elementary_analytic(clarke_analytic f);   /* of programs */
clarke_elementary clarke_elementary_function(clarke_function f);   /* of networks */

#endif
