#include "exact/elementary.h"

#include <flint/flint.h>
#if __FLINT_RELEASE >= 30000
#include <flint/arb_hypgeom.h>
#else
#include <arb_hypgeom.h>
#endif

/* 1 / (1 + exp(-x)), and y (1 - y). */
static void
sigmoid(arb_t y, arb_t dy, const arb_t x, long precision)
{
  arb_neg(y, x);
  arb_exp(y, y, precision);
  arb_add_ui(y, y, 1, precision);
  arb_inv(y, y, precision);
  arb_sub_ui(dy, y, 1, precision);
  arb_neg(dy, dy);
  arb_mul(dy, y, dy, precision);
}

static void
tangent(arb_t y, arb_t dy, const arb_t x, long precision)
{
  arb_tanh(y, x, precision);
  arb_mul(dy, y, y, precision);
  arb_sub_ui(dy, dy, 1, precision);
  arb_neg(dy, dy);
}

static void
sine_and_cosine(arb_t sine, arb_t cosine, const arb_t x, bool both, bool first, long precision)
{
  if (both)
    arb_sin_cos(sine, cosine, x, precision);
  else if (first)
    arb_sin(sine, x, precision);
  else
    arb_cos(cosine, x, precision);
}

void
clarke_ball_bell(arb_t y, const arb_t x, bool normal, long precision)
{
  arb_t root;

  arb_init(root);
  arb_const_pi(root, precision);
  if (normal)
    arb_mul_ui(root, root, 2, precision);
  arb_sqrt(root, root, precision);
  arb_sqr(y, x, precision);
  arb_neg(y, y);
  if (normal)
    arb_mul_2exp_si(y, y, -1);
  arb_exp(y, y, precision);
  if (!normal)
    arb_mul_2exp_si(y, y, 1);
  arb_div(y, y, root, precision);
  arb_clear(root);
}

/* The value where it is asked for, or the slope needs it; the slope where it is asked for. */
static void
find(arb_t y, arb_t dy, clarke_analytic f, const arb_t x, bool value, bool slope, long precision)
{
  switch (f) {
  case CLARKE_FN_EXP:
    arb_exp(y, x, precision);
    arb_set(dy, y);
    break;
  case CLARKE_FN_LOG:
    if (value)
      arb_log(y, x, precision);
    if (slope)
      arb_inv(dy, x, precision);
    break;
  case CLARKE_FN_SQRT:
    if (value)
      arb_sqrt(y, x, precision);
    if (slope && value) {
      arb_mul_2exp_si(dy, y, 1);
      arb_inv(dy, dy, precision);
    } else if (slope) {
      arb_rsqrt(dy, x, precision);
      arb_mul_2exp_si(dy, dy, -1);
    }
    break;
  case CLARKE_FN_SIN:
    sine_and_cosine(y, dy, x, value && slope, value, precision);
    break;
  case CLARKE_FN_COS:
    sine_and_cosine(dy, y, x, value && slope, slope, precision);
    arb_neg(dy, dy);
    break;
  case CLARKE_FN_TANH:
    tangent(y, dy, x, precision);
    break;
  case CLARKE_FN_SIGMOID:
    sigmoid(y, dy, x, precision);
    break;
  case CLARKE_FN_ERF:
    if (value)
      arb_hypgeom_erf(y, x, precision);
    if (slope)
      clarke_ball_bell(dy, x, false, precision);
    break;
  case CLARKE_FN_ATAN:
    if (value)
      arb_atan(y, x, precision);
    arb_sqr(dy, x, precision);
    arb_add_ui(dy, dy, 1, precision);
    arb_inv(dy, dy, precision);
    break;
  }
}

void
clarke_ball_analytic(arb_ptr y, arb_ptr dy, clarke_analytic f, const arb_t x, long precision)
{
  arb_t value, slope;

  arb_init(value);
  arb_init(slope);
  find(value, slope, f, x, y != NULL, dy != NULL, precision);
  if (y != NULL)
    arb_swap(y, value);
  if (dy != NULL)
    arb_swap(dy, slope);
  arb_clear(value);
  arb_clear(slope);
}
