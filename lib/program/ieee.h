/* Correctly rounded arithmetic in the four IEEE formats (to nearest, ties to even, subnormals kept, infinities and NaN).
 * Every number of these formats is a double, and is kept as one.
 *
 * Sums, products and quotients are those of the machine's doubles, rounded once more to a shorter format. That is the
 * nearest number of the format (Figueroa, When is double rounding innocuous?, 1995): 53 bits are at least twice its precision
 * and two more. Products are exact in doubles, and so are sums and products that end among its subnormals; a quotient is no
 * nearer to the middle of two numbers of the format than 2^-49 of its size, unless it is that. Other functions are MPFR's. */
#ifndef CLARKE_PROGRAM_IEEE_H
#define CLARKE_PROGRAM_IEEE_H

#include "program/code.h"

#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <stdint.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "doubles are computed as doubles");

typedef enum { CLARKE_IEEE_F16, CLARKE_IEEE_BF16, CLARKE_IEEE_F32, CLARKE_IEEE_F64 } clarke_ieee;

/* MPFR's exponent range and flags are the thread's: begin widens the range, end restores both.
 * In between the calling thread must not count on them. */
typedef struct {
  clarke_ieee format;
  int precision, least;              /* of the format: bits; 2^least is its smallest positive number */
  double largest;                    /* a number of at least this is infinite in it */
  mpfr_exp_t emin, emax;             /* of the format, as MPFR counts exponents */
  mpfr_exp_t saved_emin, saved_emax; /* the caller's */
  mpfr_flags_t saved_flags;
  mpfr_t result;                     /* of the format's precision */
  mpfr_t x;                          /* an operand: 53 bits hold every number */
  mpfr_t term[3];                    /* exact products of three numbers */
} clarke_ieee_unit;

/* Begins to compute in a format: MPFR's exponents become its own until clarke_ieee_end, which restores them. */
void clarke_ieee_begin(clarke_ieee_unit *u, clarke_ieee format);
void clarke_ieee_end(clarke_ieee_unit *u);

/* The number of a half format next to x, which is no larger than what one operation makes of such numbers: adding 3/2 2^(52 + q) to a smaller number, and taking it off, leaves a multiple of 2^q. */
static inline double
clarke_ieee_halve(const clarke_ieee_unit *u, double x)
{
  uint64_t bits, shift;
  double big, y;
  int q;

  memcpy(&bits, &x, sizeof bits);
  q = (int)(bits >> 52 & 0x7ff) - 1023 - (u->precision - 1);
  if (!isfinite(x))
    return x;
  q = q < u->least ? u->least : q;
  shift = (uint64_t)(1023 + 52 + q) << 52 | UINT64_C(1) << 51;
  memcpy(&big, &shift, sizeof big);
  y = x + big - big;
  return copysign(fabs(y) >= u->largest ? INFINITY : y, x);
}

/* What was computed in doubles, as a number of the format. */
static inline double
clarke_ieee_round(const clarke_ieee_unit *u, double x)
{
  return u->format == CLARKE_IEEE_F64 ? x : u->format == CLARKE_IEEE_F32 ? (double)(float)x : clarke_ieee_halve(u, x);
}

/* a + b, a b and a / b as the format rounds them. */
static inline double
clarke_ieee_add(const clarke_ieee_unit *u, double a, double b)
{
  return clarke_ieee_round(u, a + b);
}

/* See clarke_ieee_add. */
static inline double
clarke_ieee_mul(const clarke_ieee_unit *u, double a, double b)
{
  return clarke_ieee_round(u, a * b);
}

/* See clarke_ieee_add. */
static inline double
clarke_ieee_div(const clarke_ieee_unit *u, double a, double b)
{
  return clarke_ieee_round(u, a / b);
}

/* q, and exp(x) - 1, with one rounding. */
double clarke_ieee_rational(clarke_ieee_unit *u, const mpq_t q);
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
