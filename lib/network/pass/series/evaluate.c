/* Functions at a double, and on a ball, by the polynomial of the cell where it lies. */
#include "network/pass/series/cell.h"

#include "exact/upward.h"
#include "network/pass/analytic.h"
#include "network/pass/series/words.h"

#include <math.h>
#include <stdlib.h>

#define MOST_LIMBS (CLARKE_LEVELS + 1)

/* --- a double --- */

/* sqrt(8 / pi) (x + a x^3) is made of two constants, each within half a unit of the last place, and five operations; so is its slope. */
static bool
normal_tanh_point(clarke_point *p, clarke_kept *kept, double x, bool slope)
{
  const double scale = 1.5957691216057308, square = 0.044715 * x * x, z = scale * x * (1 + square), rise = scale * (1 + 3 * square);
  clarke_point at;

  if (!clarke_series_point(&at, kept, z, CLARKE_SIGMOID, slope))
    return false;
  at.off = clarke_up_add(at.off, clarke_up_mul(at.steep, clarke_up_add(clarke_taken(16, fabs(z)), CLARKE_TINY)));
  *p = (clarke_point){.y = slope ? at.y * rise : at.y, .off = at.off, .steep = slope ? clarke_analytic_bend(CLARKE_NORMAL_TANH) : 0.4};
  if (slope)
    p->off = clarke_up_over(rise * at.off + clarke_taken(16, fabs(p->y)), 32, 8 * CLARKE_TINY);
  return true;
}

/* At least exp(1/32 - 32): a function that tends to a number at infinity is no farther from it beyond the last cell, and neither it nor
 * its slope is steeper within reach. SIGMOID and EXP come as exp(-|x|) does, TANH, ERF and NORMAL faster. */
#define TAIL 0x1p-46

/* Beyond the last cell. */
static bool
tail_point(clarke_point *p, double x, clarke_function function, bool slope)
{
  const bool rises = function == CLARKE_SOFTPLUS && x > 0;
  double limit = 0;

  if (!isfinite(x) || function == CLARKE_SIN || function == CLARKE_COS || function == CLARKE_ATAN || (function == CLARKE_EXP && x > 0))
    return false;
  if (rises)
    limit = slope ? 1 : x;
  else if (!slope && (x > 0 || function == CLARKE_TANH || function == CLARKE_ERF || function == CLARKE_ELU))
    limit = x > 0 ? 1 : -1;
  *p = (clarke_point){.y = limit, .off = TAIL, .steep = rises && !slope ? 1 : TAIL};
  return true;
}

/* x - k / 16 is a double: both are multiples of x's last place, and it is smaller than x, or k is 0. */
static bool
cell_point(clarke_point *p, clarke_kept *kept, double x, clarke_function function, bool slope)
{
  const clarke_point_cell *c;
  double t, y;
  long k;

  if (!clarke_series_find_cell(&k, x))
    return tail_point(p, x, function, slope);
  c = clarke_series_point_cell(kept, function, slope, k);
  if (c == NULL)
    return false;
  t = x - (double)k / CLARKE_CELLS_A_UNIT;
  y = c->coef[CLARKE_POINT_TERMS - 1];
  for (size_t i = CLARKE_POINT_TERMS - 1; i-- > 0;)
    y = y * t + c->coef[i];
  *p = (clarke_point){.y = y, .off = clarke_up_add(c->off, clarke_up_mul(c->off_by, fabs(t))), .steep = c->steep};
  if (kept == NULL)
    free((void *)c);
  return p->off < INFINITY && p->steep < INFINITY;
}

bool
clarke_series_point(clarke_point *p, clarke_kept *kept, double x, clarke_function function, bool slope)
{
  if (!clarke_series_known(function))
    return false;
  if (function == CLARKE_NORMAL_TANH)
    return normal_tanh_point(p, kept, x, slope);
  if (function == CLARKE_ELU && x >= 0) {
    *p = (clarke_point){.y = slope ? 1 : x, .off = 0, .steep = 1};
    return x < INFINITY;
  }
  return cell_point(p, kept, x, function, slope);
}

/* --- a pair --- */

/* The cell's polynomial at t + low: by Horner's rule, compensated, and by the slope. */
static clarke_pair
pair_polynomial(const clarke_pair_cell *c, double t, double low)
{
  double s = c->coef[CLARKE_PAIR_TERMS - 1].high, r = c->coef[CLARKE_PAIR_TERMS - 1].low, slope = 0;

  for (size_t i = CLARKE_PAIR_TERMS - 1; i-- > 0;) {
    const clarke_pair p = clarke_two_product(s, t), sum = clarke_two_sum(p.high, c->coef[i].high);

    slope = slope * t + s;
    r = r * t + ((p.low + sum.low) + c->coef[i].low);
    s = sum.high;
  }
  return clarke_two_sum(s, r + slope * low);
}

bool
clarke_series_pair(clarke_pair *y, double *off, clarke_kept *kept, clarke_pair x, double reach, clarke_function function)
{
  const clarke_pair_cell *c;
  const double low = fabs(x.low);
  double steep;
  long k;

  if (!clarke_series_known(function) || function == CLARKE_NORMAL_TANH || !(reach < INFINITY) || !clarke_series_find_cell(&k, x.high))
    return false;
  if (function == CLARKE_ELU && x.high >= 0) {
    *y = x;
    *off = reach;
    return true;
  }
  if (reach > CLARKE_SERIES_REACH && function == CLARKE_EXP)
    return false;
  c = clarke_series_pair_cell(kept, function, k);
  if (c == NULL)
    return false;
  steep = reach <= CLARKE_SERIES_REACH ? c->steep : clarke_analytic_steepest(function);
  *y = pair_polynomial(c, x.high - (double)k / CLARKE_CELLS_A_UNIT, x.low);
  *off = clarke_up_over(c->off + low * (c->off_by + c->bend * low) + steep * reach, 16, 0x1p-900);
  if (kept == NULL)
    free((void *)c);
  return *off < INFINITY;
}

/* --- a ball --- */

/* |t|, of `limbs` words behind the point: the middle less the cell's, cut. Its sign is given. */
static bool
offset_words(mp_limb_t *t, const arf_t middle, long k, size_t limbs)
{
  const long bits = 64 * (long)limbs;
  fmpz_t whole, cell;
  bool negative;

  fmpz_init(whole);
  fmpz_init(cell);
  arf_get_fmpz_fixed_si(whole, middle, -bits);
  fmpz_set_si(cell, k);
  fmpz_mul_2exp(cell, cell, (ulong)bits - 4);
  fmpz_sub(whole, whole, cell);
  negative = fmpz_sgn(whole) < 0;
  fmpz_abs(whole, whole);
  fmpz_get_ui_array(t, (long)limbs, whole);
  fmpz_clear(whole);
  fmpz_clear(cell);
  return negative;
}

static void
set_ball(arb_t y, mp_limb_t *word, size_t limbs, double radius)
{
  const bool below = word[limbs] >> 63 != 0;
  mp_size_t words = (mp_size_t)limbs + 1;

  if (below)
    mpn_neg(word, word, words);
  while (words > 0 && word[words - 1] == 0)
    words--;
  if (words == 0)
    arf_zero(arb_midref(y));
  else
    arf_set_mpn(arb_midref(y), word, words, below);
  arf_mul_2exp_si(arb_midref(y), arb_midref(y), -64 * (long)limbs);
  mag_set_d(arb_radref(y), radius);
}

static bool
cell_ball(arb_t y, clarke_kept *kept, const arb_t x, clarke_function function, size_t limbs)
{
  const double middle = arf_get_d(arb_midref(x), ARF_RND_NEAR), wide = clarke_above(mag_get_d(arb_radref(x)));
  mp_limb_t word[MOST_LIMBS + 1], t[MOST_LIMBS];
  const clarke_ball_cell *c;
  bool negative, bounded;
  long k;

  if (!(wide <= CLARKE_SERIES_REACH) || !clarke_series_find_cell(&k, middle))
    return false;
  c = clarke_series_ball_cell(kept, function, k, limbs);
  bounded = c != NULL && c->off < INFINITY && c->steep < INFINITY;
  if (bounded) {
    negative = offset_words(t, arb_midref(x), k, limbs);
    clarke_ball_cell_evaluate(word, c, t, negative);
    set_ball(y, word, limbs, clarke_up_add(c->off, clarke_up_mul(c->steep, wide)));
  }
  if (kept == NULL)
    free((void *)c);
  return bounded;
}

bool
clarke_series_ball(arb_t y, clarke_kept *kept, const arb_t x, clarke_function function, long precision)
{
  const size_t limbs = clarke_series_limbs(precision);

  return (function == CLARKE_ERF || function == CLARKE_NORMAL) && !arb_is_zero(x) && limbs <= MOST_LIMBS && cell_ball(y, kept, x, function, limbs);
}
