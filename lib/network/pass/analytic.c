#include "network/pass/analytic.h"
#include "exact/elementary.h"

#include <flint/flint.h>
#include <math.h>
#if __FLINT_RELEASE >= 30000
#include <flint/arb_hypgeom.h>
#else
#include <arb_hypgeom.h>
#endif

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

/* Those that programs have, too. */
static bool
elementary(clarke_analytic *f, clarke_function function)
{
  static const struct {
    clarke_function function;
    clarke_analytic of;
  } all[] = {{CLARKE_SIGMOID, CLARKE_FN_SIGMOID}, {CLARKE_TANH, CLARKE_FN_TANH}, {CLARKE_EXP, CLARKE_FN_EXP}, {CLARKE_ERF, CLARKE_FN_ERF},
             {CLARKE_SIN, CLARKE_FN_SIN},         {CLARKE_COS, CLARKE_FN_COS},   {CLARKE_SQRT, CLARKE_FN_SQRT}, {CLARKE_LOG, CLARKE_FN_LOG},
             {CLARKE_ATAN, CLARKE_FN_ATAN}};

  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].function == function) {
      *f = all[i].of;
      return true;
    }
  return false;
}

void
clarke_analytic_value(arb_t y, const arb_t x, clarke_function function, long precision)
{
  clarke_analytic f;

  if (elementary(&f, function)) {
    clarke_ball_analytic(y, NULL, f, x, precision);
    return;
  }
  switch (function) {
  case CLARKE_SOFTPLUS:
    softplus(y, x, precision);
    break;
  case CLARKE_NORMAL:
    normal(y, x, precision);
    break;
  case CLARKE_NORMAL_TANH:
    cubic(y, x, false, precision);
    clarke_ball_analytic(y, NULL, CLARKE_FN_SIGMOID, y, precision);
    break;
  case CLARKE_ELU:
    elu(y, x, false, precision);
    break;
  case CLARKE_RECIPROCAL:
    arb_inv(y, x, precision);
    break;
  default: /* domain.c has what jumps, exactly */
    arb_indeterminate(y);
  }
}

void
clarke_analytic_slope(arb_t y, const arb_t x, clarke_function function, long precision)
{
  clarke_analytic f;
  arb_t t;

  if (elementary(&f, function)) {
    clarke_ball_analytic(NULL, y, f, x, precision);
    return;
  }
  arb_init(t);
  switch (function) {
  case CLARKE_SOFTPLUS:
    clarke_ball_analytic(y, NULL, CLARKE_FN_SIGMOID, x, precision);
    break;
  case CLARKE_NORMAL:
    clarke_ball_bell(y, x, true, precision);
    break;
  case CLARKE_NORMAL_TANH:
    cubic(t, x, false, precision);
    clarke_ball_analytic(NULL, t, CLARKE_FN_SIGMOID, t, precision);
    cubic(y, x, true, precision);
    arb_mul(y, y, t, precision);
    break;
  case CLARKE_ELU:
    elu(y, x, true, precision);
    break;
  case CLARKE_RECIPROCAL:
    arb_sqr(y, x, precision);
    arb_inv(y, y, precision);
    arb_neg(y, y);
    break;
  default:
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
