/* The elementary functions and their derivatives, of balls. */
#ifndef CLARKE_EXACT_ELEMENTARY_H
#define CLARKE_EXACT_ELEMENTARY_H

#include <stdbool.h>

#include <flint/flint.h>
#if __FLINT_RELEASE >= 30000
#include <flint/arb.h>
#else
#include <arb.h>
#endif

/* The elementary analytic functions. */
typedef enum {
  CLARKE_FN_EXP, CLARKE_FN_LOG, CLARKE_FN_SQRT, CLARKE_FN_SIN, CLARKE_FN_COS, CLARKE_FN_TANH,
  CLARKE_FN_SIGMOID, CLARKE_FN_ERF, CLARKE_FN_ATAN,
} clarke_analytic;

/* y holds f of all x in the domain, dy its derivative: either may be NULL, and may be x. */
void clarke_ball_analytic(arb_ptr y, arb_ptr dy, clarke_analytic f, const arb_t x, long precision);

/* y = exp(-x^2) 2 / sqrt(pi), the slope of erf; normal: exp(-x^2 / 2) / sqrt(2 pi). y may be x. */
void clarke_ball_bell(arb_t y, const arb_t x, bool normal, long precision);

#endif
