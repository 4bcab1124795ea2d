/* Polynomials of cells, made by Arb when they are asked for.
 *
 * f(c + t) = a_0 + a_1 t + ... + a_(n-1) t^(n-1) + r t^n, where r is f's coefficient n at some point between c and c + t (Taylor, Lagrange's
 * remainder). Arb computes series of balls: at the ball c, which is a point, they enclose a_i; at a ball around c, coefficient n of every
 * point in it. */
#include "network/pass/series/cell.h"

#include "exact/upward.h"
#include "network/pass/analytic.h"

#include <math.h>
#include <stdlib.h>
#if __FLINT_RELEASE >= 30000
#include <flint/arb_poly.h>
#else
#include <arb_poly.h>
#endif

#define FUNCTIONS (CLARKE_ATAN + 1)
#define CELLS (2 * CLARKE_CELL_LAST + 1)
/* Terms that are tried, at most; bits of what is left out that are more than a level's precision. */
#define MOST_TERMS 96
#define LEFT_OUT 20
/* Bits of a level's last word that its polynomials leave out, and some for what is rounded: terms_for leaves out all but 20. */
#define SPARE_BITS 45

size_t
clarke_series_limbs(long precision)
{
  return precision <= 64 ? 2 : ((size_t)precision + SPARE_BITS + 63) / 64;
}

bool
clarke_series_find_cell(long *k, double x)
{
  const double cell = nearbyint(x * CLARKE_CELLS_A_UNIT);

  *k = fabs(cell) <= CLARKE_CELL_LAST ? (long)cell : 0;
  return fabs(cell) <= CLARKE_CELL_LAST;
}

bool
clarke_series_known(clarke_function function)
{
  return function < FUNCTIONS;
}

/* Which one is asked for: of doubles, or of words. */
typedef struct {
  clarke_function function;
  bool slope;
  size_t limbs;
  long k;
} which;

/* --- series --- */

/* 1 / (1 + exp(-x)), for x > 0; as 1 - 1 / (1 + exp(x)), where exponentials are below 1, too. */
static void
sigmoid_series(arb_poly_t y, const arb_poly_t x, bool negative, long n, long precision)
{
  arb_poly_t e;

  arb_poly_init(e);
  if (negative)
    arb_poly_set(e, x);
  else
    arb_poly_neg(e, x);
  arb_poly_exp_series(e, e, n, precision);
  arb_poly_add_si(e, e, 1, precision);
  arb_poly_inv_series(y, e, n, precision);
  if (negative) {
    arb_poly_neg(y, y);
    arb_poly_add_si(y, y, 1, precision);
  }
  arb_poly_clear(e);
}

/* The density whose integral the function is: 2 exp(-x^2) / sqrt(pi), or exp(-x^2 / 2) / sqrt(2 pi). */
static void
bell_series(arb_poly_t y, const arb_poly_t x, bool normal, long n, long precision)
{
  arb_t scale;

  arb_init(scale);
  arb_poly_mullow(y, x, x, 3, precision);
  arb_poly_neg(y, y);
  if (normal)
    arb_poly_scalar_mul_2exp_si(y, y, -1);
  arb_poly_exp_series(y, y, n, precision);
  arb_const_sqrt_pi(scale, precision);
  arb_inv(scale, scale, precision);
  arb_mul_2exp_si(scale, scale, 1);
  arb_poly_scalar_mul(y, y, scale, precision);
  if (normal) { /* sqrt(2) / 4 */
    arb_sqrt_ui(scale, 2, precision);
    arb_mul_2exp_si(scale, scale, -2);
    arb_poly_scalar_mul(y, y, scale, precision);
  }
  arb_clear(scale);
}

/* 1 / (1 + x^2). */
static void
arctangent_slope_series(arb_poly_t y, const arb_poly_t x, long n, long precision)
{
  arb_poly_mullow(y, x, x, 3, precision);
  arb_poly_add_si(y, y, 1, precision);
  arb_poly_inv_series(y, y, n, precision);
}

/* y: the integral of itself, whose value at x is the function's. */
static void
integrate(arb_poly_t y, const arb_t x, clarke_function function, long precision)
{
  arb_t value;

  arb_init(value);
  clarke_analytic_value(value, x, function, precision);
  arb_poly_integral(y, y, precision);
  arb_poly_set_coeff_arb(y, 0, value);
  arb_clear(value);
}

static void
tangent_series(arb_poly_t y, arb_poly_t x, bool negative, long n, long precision)
{
  arb_poly_scalar_mul_2exp_si(x, x, 1);
  sigmoid_series(y, x, negative, n, precision);
  arb_poly_scalar_mul_2exp_si(y, y, 1);
  arb_poly_add_si(y, y, -1, precision);
}

/* n coefficients at x, a ball, on one side of 0 or with its middle there. */
static void
function_series(arb_poly_t y, const arb_t x, clarke_function function, long n, long precision)
{
  const bool negative = arf_sgn(arb_midref(x)) < 0;
  arb_poly_t argument, other;

  arb_poly_init(argument);
  arb_poly_init(other);
  arb_poly_set_coeff_arb(argument, 0, x);
  arb_poly_set_coeff_si(argument, 1, 1);
  switch (function) {
  case CLARKE_SIGMOID:
    sigmoid_series(y, argument, negative, n, precision);
    break;
  case CLARKE_TANH:
    tangent_series(y, argument, negative, n, precision);
    break;
  case CLARKE_SOFTPLUS:
    sigmoid_series(y, argument, negative, n - 1, precision);
    integrate(y, x, function, precision);
    break;
  case CLARKE_ERF:
  case CLARKE_NORMAL:
    bell_series(y, argument, function == CLARKE_NORMAL, n - 1, precision);
    integrate(y, x, function, precision);
    break;
  case CLARKE_SIN:
    arb_poly_sin_cos_series(y, other, argument, n, precision);
    break;
  case CLARKE_COS:
    arb_poly_sin_cos_series(other, y, argument, n, precision);
    break;
  case CLARKE_ATAN:
    arctangent_slope_series(y, argument, n - 1, precision);
    integrate(y, x, function, precision);
    break;
  default: /* ELU is asked for below 0 */
    arb_poly_exp_series(y, argument, n, precision);
    if (function == CLARKE_ELU)
      arb_poly_add_si(y, y, -1, precision);
  }
  arb_poly_clear(argument);
  arb_poly_clear(other);
}

/* coef[0..n): the coefficients of the function, or of its slope, at every point within `around` of cell k's middle. */
static void
coefficients(arb_ptr coef, clarke_function function, bool slope, long k, double around, long n, long precision)
{
  arb_poly_t y;
  arb_t x;

  arb_poly_init(y);
  arb_init(x);
  arb_set_d(x, (double)k / CLARKE_CELLS_A_UNIT);
  mag_set_d(arb_radref(x), around);
  function_series(y, x, function, n + 1, precision);
  if (slope)
    arb_poly_derivative(y, y, precision);
  for (long i = 0; i < n; i++)
    arb_poly_get_coeff_arb(coef + i, y, i);
  arb_poly_clear(y);
  arb_clear(x);
}

/* At least |x|; infinity where it has no bound. */
static double
size_of(const arb_t x)
{
  mag_t size;
  double most;

  mag_init(size);
  arb_get_mag(size, x);
  most = arb_is_finite(x) ? clarke_above(mag_get_d(size)) : INFINITY;
  mag_clear(size);
  return most;
}

/* At least the slope on all that is within WHOLE: the sum of i |a_i| WHOLE^(i - 1), with what is left out behind n terms. */
static double
steepest(arb_srcptr a, const arb_t left, size_t n, clarke_function function, long k)
{
  double most = clarke_up_mul((double)n, size_of(left));

  for (size_t i = n; i-- > 1;)
    most = clarke_up_add(clarke_up_mul(most, CLARKE_CELL_WHOLE), clarke_up_mul((double)i, size_of(a + i)));
  if (function == CLARKE_ELU && k >= -1) /* x above 0 */
    most = clarke_larger(most, 1);
  return most;
}

/* --- in doubles --- */

/* What Horner's rule rounds, from the last coefficient on. At step i the value is at most `size`, and off by `off`; what coefficients and
 * the remainder are off by, divided by t, is `left`. */
static void
bound_rounding(clarke_point_cell *c, const double *apart, double remainder)
{
  double size = 0, off = 0, left = remainder, step = 0;

  for (size_t i = CLARKE_POINT_TERMS; i-- > 0;) {
    const double product = clarke_up_mul(CLARKE_UNIT, clarke_up_add(size, off));

    if (i == 0) { /* by |t|; then the sum, which is one where the coefficient is 0 */
      c->off_by = clarke_up_add(clarke_up_add(off, product), left);
      step = clarke_up_add(clarke_up_mul(c->off_by, CLARKE_CELL_HALF), CLARKE_TINY);
      size = clarke_up_add(fabs(c->coef[0]), clarke_up_mul(size, CLARKE_CELL_HALF));
      c->off = clarke_up_add(apart[0], CLARKE_TINY);
      if (c->coef[0] != 0)
        c->off = clarke_up_add(c->off, clarke_up_mul(CLARKE_UNIT, clarke_up_add(size, step)));
      return;
    }
    step = clarke_up_add(clarke_up_mul(clarke_up_add(off, product), CLARKE_CELL_HALF), CLARKE_TINY);
    size = clarke_up_add(fabs(c->coef[i]), clarke_up_mul(size, CLARKE_CELL_HALF));
    off = clarke_up_add(step, clarke_up_mul(CLARKE_UNIT, clarke_up_add(size, step)));
    left = clarke_up_add(apart[i], clarke_up_mul(left, CLARKE_CELL_HALF));
  }
}

static void *
point_cell(const void *of)
{
  const which *cell = of;
  const clarke_function function = cell->function;
  const bool slope = cell->slope;
  const long k = cell->k;
  const long n = CLARKE_POINT_TERMS, precision = 128;
  clarke_point_cell *c = malloc(sizeof *c);
  arb_ptr at = _arb_vec_init(n), around = _arb_vec_init(n + 1);
  double apart[CLARKE_POINT_TERMS];
  arb_t rest;

  arb_init(rest);
  if (c != NULL) {
    coefficients(at, function, slope, k, 0, n, precision);
    coefficients(around, function, slope, k, CLARKE_CELL_WHOLE, n + 1, 64);
    for (long i = 0; i < n; i++) {
      c->coef[i] = arf_get_d(arb_midref(at + i), ARF_RND_NEAR);
      arb_set_d(rest, c->coef[i]);
      arb_sub(rest, at + i, rest, precision);
      apart[i] = arb_is_zero(rest) ? 0 : size_of(rest);
    }
    bound_rounding(c, apart, size_of(around + n));
    c->steep = steepest(at, around + n, (size_t)n, function, k);
  }
  arb_clear(rest);
  _arb_vec_clear(at, n);
  _arb_vec_clear(around, n + 1);
  return c;
}

/* --- in words --- */

/* How many terms leave out less than a level asks for, and the coefficient of what they do; all that were tried, where none do. */
static size_t
terms_for(arb_t left, arb_srcptr around, size_t limbs)
{
  const double enough = ldexp(1, -(int)(64 * (limbs - 1)) - LEFT_OUT);
  double power = CLARKE_CELL_HALF;
  size_t n = 1;

  while (n < MOST_TERMS && !(clarke_up_mul(size_of(around + n), power) <= enough)) {
    power = clarke_up_mul(power, CLARKE_CELL_HALF);
    n++;
  }
  arb_set(left, around + n);
  return n;
}

/* word: a's middle, rounded down, in two's complement. What that is off by from any of a; infinity where it does not fit. */
static double
set_words(mp_limb_t *word, const arb_t a, size_t limbs)
{
  const size_t bits = 64 * limbs;
  double off = INFINITY;
  fmpz_t whole;
  arb_t near;

  fmpz_init(whole);
  arb_init(near);
  if (arb_is_finite(a) && size_of(a) < 0x1p60) {
    arf_get_fmpz_fixed_si(whole, arb_midref(a), -(long)bits);
    arb_set_fmpz(near, whole);
    arb_mul_2exp_si(near, near, -(long)bits);
    arb_sub(near, a, near, (long)bits + 64);
    off = arb_is_zero(near) ? 0 : size_of(near);
    if (fmpz_sgn(whole) < 0) { /* its two's complement */
      fmpz_neg(whole, whole);
      fmpz_get_ui_array(word, (long)limbs + 1, whole);
      mpn_neg(word, word, (mp_size_t)limbs + 1);
    } else
      fmpz_get_ui_array(word, (long)limbs + 1, whole);
  }
  fmpz_clear(whole);
  arb_clear(near);
  return off;
}

/* Each of Horner's products is cut by less than a unit of the last place; t is off by no more than that, too. Where fewer words do, a coefficient
 * is cut by a unit of theirs, as its product is, and t, which multiplies a number of at most `size`, as well. */
static void
set_ball_cell(clarke_ball_cell *c, arb_srcptr at, const arb_t left)
{
  double off = size_of(left), size = 0;
  size_t level = 1;

  for (size_t i = c->terms; i-- > 0;) {
    const double apart = set_words(c->word + i * (c->limbs + 1), at + i, c->limbs);
    double unit, cut;

    while (i < clarke_ball_cell_first(c->limbs, level))
      level++;
    unit = ldexp(1, -(int)(64 * level));
    cut = level < c->limbs ? clarke_up_mul(clarke_up_add(size, 2), unit) : unit;
    off = clarke_up_add(clarke_up_add(clarke_up_mul(off, CLARKE_CELL_HALF), cut), apart);
    size = clarke_up_add(clarke_up_mul(size, CLARKE_CELL_HALF), clarke_up_add(size_of(at + i), 1));
  }
  c->off = size < 0x1p61 ? clarke_up_add(off, clarke_up_mul(c->steep, ldexp(1, -(int)(64 * c->limbs)))) : INFINITY;
}

static void *
ball_cell(const void *of)
{
  const which *cell = of;
  const clarke_function function = cell->function;
  const size_t limbs = cell->limbs;
  const long k = cell->k;
  const long most = MOST_TERMS + 1, precision = 64 * (long)limbs + 64;
  arb_ptr around = _arb_vec_init(most), at = NULL;
  clarke_ball_cell *c;
  size_t terms;
  arb_t left;

  arb_init(left);
  coefficients(around, function, false, k, CLARKE_CELL_WHOLE, most, 64);
  terms = terms_for(left, around, limbs);
  c = malloc(sizeof *c + terms * (limbs + 1) * sizeof *c->word);
  if (c != NULL) {
    at = _arb_vec_init((long)terms);
    coefficients(at, function, false, k, 0, (long)terms, precision);
    c->terms = terms;
    c->limbs = limbs;
    c->steep = steepest(at, left, terms, function, k);
    set_ball_cell(c, at, left);
    _arb_vec_clear(at, (long)terms);
  }
  _arb_vec_clear(around, most);
  arb_clear(left);
  return c;
}

/* --- in pairs --- */

/* Horner's rule on the first doubles, s = s t + c, and beside it r = r t + (what product and sum lost + c.low). At a step |s| is at most `size`,
 * |r| at most `rest`. The sum of what is lost and c.low is at most 3 u size, and takes two roundings, at most 5 u^2 size; the product r t and
 * the last sum are rounded, too. left: as in doubles; of the slope in doubles each step loses two roundings. */
static void
bound_pairs(clarke_pair_cell *c, const double *apart, double remainder)
{
  double size = 0, rest = 0, off = 0, left = remainder;

  for (size_t i = CLARKE_PAIR_TERMS; i-- > 0;) {
    const double by = clarke_up_mul(rest, CLARKE_CELL_HALF);

    size = clarke_up_by(fabs(c->coef[i].high) + size * CLARKE_CELL_HALF, 8);
    off = clarke_up_by(off * CLARKE_CELL_HALF + CLARKE_UNIT * (2 * by + 9 * CLARKE_UNIT * size), 8);
    rest = clarke_up_by(by + 3 * CLARKE_UNIT * size, 8);
    left = clarke_up_by(left * CLARKE_CELL_HALF + apart[i], 8);
  }
  c->off = clarke_up_over(off + left + 2 * CLARKE_UNIT * rest, 8, 0x1p-900);
}

static void *
pair_cell(const void *of)
{
  const which *cell = of;
  const clarke_function function = cell->function;
  const long k = cell->k;
  const long n = CLARKE_PAIR_TERMS;
  arb_ptr a = _arb_vec_init(n), around = _arb_vec_init(n + 1);
  clarke_pair_cell *c = malloc(sizeof *c);
  double apart[CLARKE_PAIR_TERMS], left, slopes = 0;

  if (c != NULL) {
    coefficients(a, function, false, k, 0, n, 256);
    coefficients(around, function, false, k, CLARKE_CELL_WHOLE, n + 1, 64);
    left = size_of(around + n);
    c->steep = steepest(a, around + n, (size_t)n, function, k);
    c->bend = clarke_up_mul((double)(n * n), left);
    for (size_t i = (size_t)n; i-- > 2;)
      c->bend = clarke_up_add(clarke_up_mul(c->bend, CLARKE_CELL_WHOLE), clarke_up_mul((double)(i * (i - 1)), size_of(a + i)));
    for (size_t i = 0; i < (size_t)n; i++) {
      c->coef[i] = clarke_pair_of_ball(&apart[i], a + i);
      slopes = clarke_up_add(slopes, clarke_up_mul((double)n, apart[i]));
    }
    c->off_by = clarke_up_by((8 * (double)n * CLARKE_UNIT * c->steep + slopes) + (double)n * left * 0x1p-60, 8);
    bound_pairs(c, apart, left);
  }
  _arb_vec_clear(a, n);
  _arb_vec_clear(around, n + 1);
  return c;
}

/* --- kept --- */

/* Cells of doubles come first, by function, then slopes; behind them those of pairs, by function, and those of words, by level. */
#define POINTS ((size_t)2 * FUNCTIONS * CELLS)
#define PAIRS ((size_t)FUNCTIONS * CELLS)
_Static_assert(POINTS + PAIRS + (size_t)2 * CLARKE_LEVELS * CELLS <= CLARKE_KEPT_KEYS, "all cells have a key");

const clarke_point_cell *
clarke_series_point_cell(clarke_kept *kept, clarke_function function, bool slope, long k)
{
  const which cell = {function, slope, 0, k};
  const size_t key = (2 * (size_t)function + slope) * CELLS + (size_t)(k + CLARKE_CELL_LAST);

  return kept != NULL ? clarke_kept_at(kept, key, point_cell, &cell) : point_cell(&cell);
}

const clarke_pair_cell *
clarke_series_pair_cell(clarke_kept *kept, clarke_function function, long k)
{
  const which cell = {function, false, 0, k};
  const size_t key = POINTS + (size_t)function * CELLS + (size_t)(k + CLARKE_CELL_LAST);

  return kept != NULL ? clarke_kept_at(kept, key, pair_cell, &cell) : pair_cell(&cell);
}

const clarke_ball_cell *
clarke_series_ball_cell(clarke_kept *kept, clarke_function function, long k, size_t limbs)
{
  const which cell = {function, false, limbs, k};
  const size_t key = POINTS + PAIRS + (2 * (limbs - 2) + (function == CLARKE_NORMAL)) * CELLS + (size_t)(k + CLARKE_CELL_LAST);

  return kept != NULL ? clarke_kept_at(kept, key, ball_cell, &cell) : ball_cell(&cell);
}
