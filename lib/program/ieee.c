/* What is no sum, product or quotient is computed by MPFR in its widest exponent range, correctly rounded to the
 * format's precision; `finish` then takes the result and the side it was rounded to into the
 * format's range, where overflow gives an infinity and a subnormal result is rounded once, not
 * twice (MPFR's manual, mpfr_check_range and mpfr_subnormalize). */

#include "program/ieee.h"

#include <math.h>
#include <string.h>

/* MPFR's exponents are those of significands in [1/2, 1): the largest number is below 2^emax, the
 * smallest positive one, a subnormal, is 2^(emin - 1). */
static const struct {
  const char *name;
  mpfr_prec_t precision;
  mpfr_exp_t emin, emax;
} formats[] = {
  [CLARKE_IEEE_F16] = {"float16", 11, -23, 16},
  [CLARKE_IEEE_BF16] = {"bfloat16", 8, -132, 128},
  [CLARKE_IEEE_F32] = {"float32", 24, -148, 128},
  [CLARKE_IEEE_F64] = {"float64", 53, -1073, 1024},
};

#define N_FORMATS (sizeof formats / sizeof formats[0])

const char *
clarke_ieee_name(clarke_ieee format)
{
  return formats[format].name;
}

clarke_status
clarke_ieee_parse(clarke_ieee *format, const char *name, clarke_error *err)
{
  for (size_t i = 0; i < N_FORMATS; i++)
    if (strcmp(formats[i].name, name) == 0) {
      *format = (clarke_ieee)i;
      return CLARKE_OK;
    }
  return clarke_fail(err, CLARKE_EINPUT,
                     "no floating-point format '%.64s'; known: float16, bfloat16, float32, float64",
                     name);
}

void
clarke_ieee_begin(clarke_ieee_unit *u, clarke_ieee format)
{
  u->format = format;
  u->precision = (int)formats[format].precision;
  u->least = (int)formats[format].emin - 1;
  u->largest = ldexp(1, (int)formats[format].emax - 1) * 2;
  u->emin = formats[format].emin;
  u->emax = formats[format].emax;
  u->saved_emin = mpfr_get_emin();
  u->saved_emax = mpfr_get_emax();
  u->saved_flags = mpfr_flags_save();
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
  mpfr_init2(u->result, formats[format].precision);
  mpfr_init2(u->x, 53);
  for (size_t i = 0; i < 3; i++)
    mpfr_init2(u->term[i], 3 * 53);
}

void
clarke_ieee_end(clarke_ieee_unit *u)
{
  mpfr_clears(u->result, u->x, u->term[0], u->term[1], u->term[2], (mpfr_ptr)NULL);
  mpfr_set_emin(u->saved_emin);
  mpfr_set_emax(u->saved_emax);
  mpfr_flags_restore(u->saved_flags, MPFR_FLAGS_ALL);
}

/* u->result, which was rounded to the side `ternary` says, as a number of the format. */
static double
finish(clarke_ieee_unit *u, int ternary)
{
  double d;

  mpfr_set_emin(u->emin);
  mpfr_set_emax(u->emax);
  ternary = mpfr_check_range(u->result, ternary, MPFR_RNDN);
  mpfr_subnormalize(u->result, ternary, MPFR_RNDN);
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
  d = mpfr_get_d(u->result, MPFR_RNDN); /* exact */
  return d;
}

typedef int (*one_operand)(mpfr_t, const mpfr_t, mpfr_rnd_t);

static double
apply_one(clarke_ieee_unit *u, one_operand f, double x)
{
  mpfr_set_d(u->x, x, MPFR_RNDN);
  return finish(u, f(u->result, u->x, MPFR_RNDN));
}

/* Whole numbers of a byte are numbers of every format. */
double
clarke_ieee_rational(clarke_ieee_unit *u, const mpq_t q)
{
  if (mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpz_cmpabs_ui(mpq_numref(q), UINT8_MAX) <= 0)
    return (double)mpz_get_si(mpq_numref(q));
  return finish(u, mpfr_set_q(u->result, q, MPFR_RNDN));
}

double
clarke_ieee_expm1(clarke_ieee_unit *u, double x)
{
  return apply_one(u, mpfr_expm1, x);
}

/* A bound of 1 / (1 + exp(-x)), from below or from above, at some precision. */
static double
sigmoid_bound(clarke_ieee_unit *u, double x, mpfr_prec_t precision, bool below)
{
  mpfr_rnd_t grow = below ? MPFR_RNDU : MPFR_RNDD, shrink = below ? MPFR_RNDD : MPFR_RNDU;
  double bound;
  mpfr_t t;

  mpfr_init2(t, precision);
  mpfr_set_d(u->x, -x, MPFR_RNDN);
  mpfr_exp(t, u->x, grow);
  mpfr_add_ui(t, t, 1, grow);
  mpfr_ui_div(t, 1, t, shrink);
  bound = finish(u, mpfr_set(u->result, t, MPFR_RNDN));
  mpfr_clear(t);
  return bound;
}

/* Rounding is monotone: when both bounds round to one number, so does what they enclose. That
 * ends, as no value but that at 0, 1/2 exactly, lies half way between two numbers: exp(x) is
 * transcendental for a rational x other than 0. */
static double
sigmoid(clarke_ieee_unit *u, double x)
{
  if (isnan(x))
    return x;
  for (mpfr_prec_t precision = 96;; precision *= 2) {
    double below = sigmoid_bound(u, x, precision, true);

    if (below == sigmoid_bound(u, x, precision, false))
      return below;
  }
}

double
clarke_ieee_analytic(clarke_ieee_unit *u, clarke_analytic f, double x)
{
  switch (f) {
  case CLARKE_FN_EXP:
    return apply_one(u, mpfr_exp, x);
  case CLARKE_FN_LOG:
    return apply_one(u, mpfr_log, x);
  case CLARKE_FN_SQRT:
    return apply_one(u, mpfr_sqrt, x);
  case CLARKE_FN_SIN:
    return apply_one(u, mpfr_sin, x);
  case CLARKE_FN_COS:
    return apply_one(u, mpfr_cos, x);
  case CLARKE_FN_TANH:
    return apply_one(u, mpfr_tanh, x);
  case CLARKE_FN_SIGMOID:
    return sigmoid(u, x);
  case CLARKE_FN_ERF:
    return apply_one(u, mpfr_erf, x);
  case CLARKE_FN_ATAN:
    return apply_one(u, mpfr_atan, x);
  }
  return NAN;
}

double
clarke_ieee_one_minus_square(clarke_ieee_unit *u, double y)
{
  mpfr_set_d(u->x, y, MPFR_RNDN);
  mpfr_mul(u->term[0], u->x, u->x, MPFR_RNDN); /* exact */
  return finish(u, mpfr_ui_sub(u->result, 1, u->term[0], MPFR_RNDN));
}

double
clarke_ieee_polynomial(clarke_ieee_unit *u, const double c[3], double x)
{
  mpfr_ptr term[3];
  unsigned long n = 0;

  if (c[0] == 0 && c[2] == 0) /* with the product's one rounding; the sign of a zero is kept */
    return c[1] == 0 ? 0 : clarke_ieee_mul(u, c[1], x);
  for (int degree = 0; degree < 3; degree++) {
    if (c[degree] == 0)
      continue;
    term[n] = u->term[n];
    mpfr_set_d(term[n], c[degree], MPFR_RNDN);
    for (int i = 0; i < degree; i++)
      mpfr_mul_d(term[n], term[n], x, MPFR_RNDN); /* exact: 53 bits more */
    n++;
  }
  if (n == 1)
    return finish(u, mpfr_set(u->result, term[0], MPFR_RNDN)); /* keeps the sign of a zero */
  return finish(u, mpfr_sum(u->result, term, n, MPFR_RNDN));
}
