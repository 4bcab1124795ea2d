#include "network/pass/analytic.h"
#include "exact/number.h"
#include "network/pass/series.h"

#include <flint/flint.h>
#include <math.h>
#if __FLINT_RELEASE >= 30000
#include <flint/arb_hypgeom.h>
#else
#include <arb_hypgeom.h>
#endif

static void
sigmoid(arb_t y, const arb_t x, long precision)
{
  arb_neg(y, x);
  arb_exp(y, y, precision);
  arb_add_ui(y, y, 1, precision);
  arb_inv(y, y, precision);
}

/* log(1 + exp(x)), as x + log(1 + exp(-x)) where x is not negative. */
static void
softplus(arb_t y, const arb_t x, long precision)
{
  arb_t t;

  arb_init(t);
  if (arb_is_nonnegative(x)) {
    arb_neg(t, x);
    arb_exp(t, t, precision);
    arb_log1p(t, t, precision);
    arb_add(y, x, t, precision);
  } else {
    arb_exp(t, x, precision);
    arb_log1p(y, t, precision);
  }
  arb_clear(t);
}

/* (1 + erf(x / sqrt(2))) / 2 = erfc(-x / sqrt(2)) / 2 */
static void
normal(arb_t y, const arb_t x, long precision)
{
  arb_t root;

  arb_init(root);
  arb_sqrt_ui(root, 2, precision);
  arb_div(y, x, root, precision);
  arb_neg(y, y);
  arb_hypgeom_erfc(y, y, precision);
  arb_mul_2exp_si(y, y, -1);
  arb_clear(root);
}

/* y = sqrt(8 / pi) times (x + a x^3), or times (1 + 3 a x^2), a = 44715 / 1000000. */
static void
cubic(arb_t y, const arb_t x, bool derivative, long precision)
{
  arb_t a, square, scale;

  arb_init(a);
  arb_init(square);
  arb_init(scale);
  arb_set_ui(a, derivative ? 3 * 44715 : 44715);
  arb_div_ui(a, a, 1000000, precision);
  arb_sqr(square, x, precision);
  arb_mul(square, square, a, precision);
  arb_add_ui(square, square, 1, precision);
  arb_const_pi(scale, precision);
  arb_ui_div(scale, 8, scale, precision);
  arb_sqrt(scale, scale, precision);
  arb_mul(square, square, scale, precision);
  if (derivative)
    arb_set(y, square);
  else
    arb_mul(y, x, square, precision);
  arb_clear(a);
  arb_clear(square);
  arb_clear(scale);
}

/* x, or exp(x) - 1 below 0; or its slope, 1 or exp(x). An enclosure around 0 gets what holds both. */
static void
elu(arb_t y, const arb_t x, bool slope, long precision)
{
  arb_t below;

  arb_init(below);
  (slope ? arb_exp : arb_expm1)(below, x, precision);
  if (arb_is_nonnegative(x) && slope)
    arb_one(y);
  else if (arb_is_nonnegative(x))
    arb_set(y, x);
  else if (arb_is_negative(x))
    arb_set(y, below);
  else {
    arb_set(y, x);
    if (slope)
      arb_one(y);
    arb_union(y, y, below, precision);
  }
  arb_clear(below);
}

/* --- in doubles --- */

static double
near_sigmoid(double x)
{
  return 1 / (1 + exp(-x));
}

/* sqrt(8 / pi) (x + a x^3), sigmoid of which is near NORMAL. */
static double
near_normal_tanh(double *slope, double x)
{
  const double scale = 1.5957691216057308, square = 0.044715 * x * x, z = scale * x * (1 + square), y = near_sigmoid(z);

  *slope = y * near_sigmoid(-z) * scale * (1 + 3 * square);
  return y;
}

double
clarke_analytic_near(double *slope, double x, clarke_function function)
{
  double y = NAN;

  *slope = NAN;
  switch (function) {
  case CLARKE_SIGMOID:
    y = near_sigmoid(x);
    *slope = y * near_sigmoid(-x);
    break;
  case CLARKE_TANH:
    y = tanh(x);
    *slope = 1 / (cosh(x) * cosh(x));
    break;
  case CLARKE_EXP:
    y = *slope = exp(x);
    break;
  case CLARKE_ERF:
    y = erf(x);
    *slope = 1.1283791670955126 * exp(-x * x); /* 2 / sqrt(pi) */
    break;
  case CLARKE_SOFTPLUS:
    y = fmax(x, 0) + log1p(exp(-fabs(x)));
    *slope = near_sigmoid(x);
    break;
  case CLARKE_NORMAL:
    y = 0.5 * erfc(-x * 0.7071067811865476);
    *slope = 0.3989422804014327 * exp(-0.5 * x * x); /* 1 / sqrt(2 pi) */
    break;
  case CLARKE_NORMAL_TANH:
    y = near_normal_tanh(slope, x);
    break;
  case CLARKE_ELU:
    y = x > 0 ? x : expm1(x);
    *slope = x > 0 ? 1 : exp(x);
    break;
  case CLARKE_SIN:
    y = sin(x);
    *slope = cos(x);
    break;
  case CLARKE_COS:
    y = cos(x);
    *slope = -sin(x);
    break;
  case CLARKE_ATAN:
    y = atan(x);
    *slope = 1 / (1 + x * x);
    break;
  case CLARKE_ABOVE:
    y = x > 0;
    *slope = 0;
    break;
  case CLARKE_FLOOR:
  case CLARKE_ROUND:
  case CLARKE_TRUNCATE:
    y = function == CLARKE_FLOOR ? floor(x) : function == CLARKE_ROUND ? rint(x) : trunc(x);
    *slope = 0;
    break;
  case CLARKE_HELD:
    y = x;
    *slope = 0;
    break;
  case CLARKE_RECIPROCAL:
  case CLARKE_SQRT:
  case CLARKE_LOG:
    break;
  }
  return y;
}

/* --- in balls --- */

void
clarke_analytic_value(arb_t y, const arb_t x, clarke_function function, long precision)
{
  switch (function) {
  case CLARKE_SIGMOID:
    sigmoid(y, x, precision);
    break;
  case CLARKE_TANH:
    arb_tanh(y, x, precision);
    break;
  case CLARKE_EXP:
    arb_exp(y, x, precision);
    break;
  case CLARKE_ERF:
    arb_hypgeom_erf(y, x, precision);
    break;
  case CLARKE_SOFTPLUS:
    softplus(y, x, precision);
    break;
  case CLARKE_NORMAL:
    normal(y, x, precision);
    break;
  case CLARKE_NORMAL_TANH:
    cubic(y, x, false, precision);
    sigmoid(y, y, precision);
    break;
  case CLARKE_ELU:
    elu(y, x, false, precision);
    break;
  case CLARKE_SIN:
    arb_sin(y, x, precision);
    break;
  case CLARKE_COS:
    arb_cos(y, x, precision);
    break;
  case CLARKE_ATAN:
    arb_atan(y, x, precision);
    break;
  case CLARKE_RECIPROCAL:
    arb_inv(y, x, precision);
    break;
  case CLARKE_SQRT:
    arb_sqrt(y, x, precision);
    break;
  case CLARKE_LOG:
    arb_log(y, x, precision);
    break;
  case CLARKE_ABOVE:
  case CLARKE_FLOOR:
  case CLARKE_ROUND:
  case CLARKE_TRUNCATE:
  case CLARKE_HELD: /* domain.c has these, exactly */
    arb_indeterminate(y);
  }
}

static clarke_status
within_reach(const clarke_step *s, const arb_t x, clarke_error *err)
{
  if ((s->function != CLARKE_SIN && s->function != CLARKE_COS) || arf_cmpabs_2exp_si(arb_midref(x), CLARKE_REACH_ANGLE) < 0)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "its argument is beyond 2^%d", CLARKE_REACH_ANGLE);
}

clarke_status
clarke_analytic_apply(clarke_matrix *y, const clarke_step *s, const clarke_matrix *x, bool slope, long precision, clarke_error *err)
{
  size_t n = x->rows * x->cols;
  arb_ptr ball = _arb_vec_init((long)n);
  clarke_status status = CLARKE_OK;

  clarke_tally_add(0, 0, n);
  for (size_t e = 0; e < n && status == CLARKE_OK; e++) {
    clarke_matrix_get_ball(ball + e, x, e / x->cols, e % x->cols, 2 * precision);
    status = within_reach(s, ball + e, err);
    if (slope || !clarke_series_ball(ball + e, ball + e, s->function, precision + 10))
      (slope ? clarke_analytic_slope : clarke_analytic_value)(ball + e, ball + e, s->function, precision + 10);
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_set_balls(y, x->rows, x->cols, ball, precision, err);
  _arb_vec_clear(ball, (long)n);
  return status;
}

/* y = t (1 - t), the derivative of sigmoid where it is t. */
static void
sigmoid_slope(arb_t y, const arb_t t, long precision)
{
  arb_t rest;

  arb_init(rest);
  arb_sub_ui(rest, t, 1, precision);
  arb_neg(rest, rest);
  arb_mul(y, t, rest, precision);
  arb_clear(rest);
}

void
clarke_analytic_slope(arb_t y, const arb_t x, clarke_function function, long precision)
{
  arb_t t;

  arb_init(t);
  switch (function) {
  case CLARKE_SIGMOID:
    sigmoid(t, x, precision);
    sigmoid_slope(y, t, precision);
    break;
  case CLARKE_TANH:
    arb_tanh(t, x, precision);
    arb_sqr(t, t, precision);
    arb_sub_ui(t, t, 1, precision);
    arb_neg(y, t);
    break;
  case CLARKE_EXP:
    arb_exp(y, x, precision);
    break;
  case CLARKE_SOFTPLUS:
    sigmoid(y, x, precision);
    break;
  case CLARKE_ERF:
  case CLARKE_NORMAL:
    clarke_ball_bell(y, x, function == CLARKE_NORMAL, precision);
    break;
  case CLARKE_NORMAL_TANH:
    cubic(t, x, false, precision);
    sigmoid(t, t, precision);
    sigmoid_slope(t, t, precision);
    cubic(y, x, true, precision);
    arb_mul(y, y, t, precision);
    break;
  case CLARKE_ELU:
    elu(y, x, true, precision);
    break;
  case CLARKE_SIN:
    arb_cos(y, x, precision);
    break;
  case CLARKE_COS:
    arb_sin(y, x, precision);
    arb_neg(y, y);
    break;
  case CLARKE_ATAN:
    arb_sqr(t, x, precision);
    arb_add_ui(t, t, 1, precision);
    arb_inv(y, t, precision);
    break;
  case CLARKE_RECIPROCAL:
    arb_sqr(y, x, precision);
    arb_inv(y, y, precision);
    arb_neg(y, y);
    break;
  case CLARKE_SQRT:
    arb_rsqrt(y, x, precision);
    arb_mul_2exp_si(y, y, -1);
    break;
  case CLARKE_LOG:
    arb_inv(y, x, precision);
    break;
  case CLARKE_ABOVE:
  case CLARKE_FLOOR:
  case CLARKE_ROUND:
  case CLARKE_TRUNCATE:
  case CLARKE_HELD:
    arb_indeterminate(y);
  }
  arb_clear(t);
}

/* The steepest slope, rounded up: erf's is 2 / sqrt(pi) at 0, NORMAL's 1 / sqrt(2 pi). That of NORMAL_TANH, 0.399 at 0,
 * falls on both sides. */
double
clarke_analytic_steepest(clarke_function function)
{
  return function == CLARKE_SIGMOID ? 0.25 : function == CLARKE_ERF ? 1.13 : function == CLARKE_NORMAL ? 0.4 : 1;
}

double
clarke_analytic_bend(clarke_function function)
{
  return function == CLARKE_SIGMOID || function == CLARKE_SOFTPLUS ? 0.25 : 1;
}
