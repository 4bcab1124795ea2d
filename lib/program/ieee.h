/* Correctly rounded arithmetic in the four IEEE formats (MPFR, to nearest, ties to even, subnormals
 * kept, infinities and NaN). Every number of these formats is a double, and is kept as one. */
#ifndef CLARKE_PROGRAM_IEEE_H
#define CLARKE_PROGRAM_IEEE_H

#include "program/rounded.h"

#include <mpfr.h>

/* MPFR's exponent range and flags are the thread's: begin widens the range, end restores both.
 * In between the calling thread must not count on them. */
typedef struct {
  mpfr_exp_t emin, emax;             /* of the format, as MPFR counts exponents */
  mpfr_exp_t saved_emin, saved_emax; /* the caller's */
  mpfr_flags_t saved_flags;
  mpfr_t result;                     /* of the format's precision */
  mpfr_t x, y;                       /* operands: 53 bits hold every number */
  mpfr_t term[3];                    /* exact products of three numbers */
} clarke_ieee_unit;

void clarke_ieee_begin(clarke_ieee_unit *u, clarke_ieee format);
void clarke_ieee_end(clarke_ieee_unit *u);

double clarke_ieee_rational(clarke_ieee_unit *u, const mpq_t q);
double clarke_ieee_add(clarke_ieee_unit *u, double a, double b);
double clarke_ieee_mul(clarke_ieee_unit *u, double a, double b);
double clarke_ieee_div(clarke_ieee_unit *u, double a, double b);
double clarke_ieee_expm1(clarke_ieee_unit *u, double x);
/* f(x); outside the domain what IEEE says: log 0 is -infinity, log -1 a NaN. */
double clarke_ieee_analytic(clarke_ieee_unit *u, clarke_analytic f, double x);
/* 1 - y y with one rounding. */
double clarke_ieee_one_minus_square(clarke_ieee_unit *u, double y);
/* c[0] + c[1] x + c[2] x^2 with one rounding; a term of coefficient zero is left out. */
double clarke_ieee_polynomial(clarke_ieee_unit *u, const double c[3], double x);

/* "float16", "bfloat16", "float32", "float64". */
const char *clarke_ieee_name(clarke_ieee format);
clarke_status clarke_ieee_parse(clarke_ieee *format, const char *name, clarke_error *err);

#endif
