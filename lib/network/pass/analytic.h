/* The functions of ANALYTIC steps, of balls. */
#ifndef CLARKE_NETWORK_PASS_ANALYTIC_H
#define CLARKE_NETWORK_PASS_ANALYTIC_H

#include "exact/ball.h"
#include "op/step.h"

/* The function of x, and its derivative; y may be x. */
void clarke_analytic_value(arb_t y, const arb_t x, clarke_function function, long precision);
void clarke_analytic_slope(arb_t y, const arb_t x, clarke_function function, long precision);

/* The function of x in doubles, and its slope, which libm gives and a few operations more: each rounds its argument and its result; NaNs of
 * what has a domain. */
double clarke_analytic_near(double *slope, double x, clarke_function function);

/* Sines and cosines of larger arguments than 2 to that are not followed: clarke-check would follow none. */
#define CLARKE_REACH_ANGLE 4000

/* The step's function of every entry, or its slope there, in enclosures. */
clarke_status clarke_analytic_apply(clarke_matrix *y, const clarke_step *s, const clarke_matrix *x, bool slope, long precision, clarke_error *err);

/* PyTorch's softplus is x where x > 20: log(1 + exp(-x)) is left out there, less than this; its slope is then 1. */
#define CLARKE_SOFTPLUS_LEFT 0x1p-28

/* At least the absolute value of the function's first and second derivative at any argument; not of EXP, nor of what has
 * a domain. */
double clarke_analytic_steepest(clarke_function function);
double clarke_analytic_bend(clarke_function function);

#endif
