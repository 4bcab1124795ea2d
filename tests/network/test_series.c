/* Functions by their series, against MPFR: values at doubles drawn and at the borders of cells, slopes, and balls. */
#include "../draw.h"
#include "../suite.h"
#include "mpfr_normal.h"

#include "exact/upward.h"
#include "network/pass/series/cell.h"

#include <math.h>
#include <mpfr.h>
#include <stdio.h>

#define BITS 400
#define DRAWS 8000
#define CELL 0x1p-4

static const struct {
  clarke_function function;
  const char *name;
  double far; /* where something is known, at least */
} known[] = {
  {CLARKE_SIGMOID, "sigmoid", 200}, {CLARKE_TANH, "tanh", 200}, {CLARKE_EXP, "exp", 32}, {CLARKE_ERF, "erf", 200}, {CLARKE_SOFTPLUS, "softplus", 200},
  {CLARKE_NORMAL, "normal", 200}, {CLARKE_NORMAL_TANH, "normal_tanh", 40}, {CLARKE_ELU, "elu", 200}, {CLARKE_SIN, "sin", 32}, {CLARKE_COS, "cos", 32},
  {CLARKE_ATAN, "atan", 32},
};
#define N_KNOWN (sizeof known / sizeof *known)

static clarke_kept *kept; /* set before the tests begin */

/* --- by MPFR --- */

static void
arctangent(mpfr_t y, mpfr_srcptr x, bool slope)
{
  if (!slope) {
    mpfr_atan(y, x, MPFR_RNDN);
    return;
  }
  mpfr_sqr(y, x, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

/* 1 / (1 + exp(-x)), or t (1 - t) of it. */
static void
sigmoid(mpfr_t y, mpfr_srcptr x, bool slope)
{
  mpfr_t rest;

  mpfr_init2(rest, BITS);
  mpfr_exp(rest, x, MPFR_RNDN); /* 1 / (1 + exp(x)) is the rest to 1 */
  mpfr_add_ui(rest, rest, 1, MPFR_RNDN);
  mpfr_ui_div(rest, 1, rest, MPFR_RNDN);
  mpfr_neg(y, x, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_ui_div(y, 1, y, MPFR_RNDN);
  if (slope)
    mpfr_mul(y, y, rest, MPFR_RNDN);
  mpfr_clear(rest);
}

/* exp(-x^2 / 2) / sqrt(2 pi), or 2 exp(-x^2) / sqrt(pi). */
static void
bell(mpfr_t y, mpfr_srcptr x, bool normal)
{
  mpfr_t pi;

  mpfr_init2(pi, BITS);
  mpfr_const_pi(pi, MPFR_RNDN);
  mpfr_mul_2si(pi, pi, normal ? 1 : -2, MPFR_RNDN);
  mpfr_sqrt(pi, pi, MPFR_RNDN);
  mpfr_sqr(y, x, MPFR_RNDN);
  mpfr_mul_2si(y, y, normal ? -1 : 0, MPFR_RNDN);
  mpfr_neg(y, y, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
  mpfr_div(y, y, pi, MPFR_RNDN);
  mpfr_clear(pi);
}

/* sigmoid(sqrt(8 / pi) (x + a x^3)), or its slope. */
static void
normal_tanh(mpfr_t y, mpfr_srcptr x, bool slope)
{
  mpfr_t scale, square, z;

  mpfr_inits2(BITS, scale, square, z, (mpfr_ptr)0);
  mpfr_const_pi(scale, MPFR_RNDN);
  mpfr_ui_div(scale, 8, scale, MPFR_RNDN);
  mpfr_sqrt(scale, scale, MPFR_RNDN);
  mpfr_sqr(square, x, MPFR_RNDN);
  mpfr_mul_ui(square, square, 44715, MPFR_RNDN);
  mpfr_div_ui(square, square, 1000000, MPFR_RNDN);
  mpfr_add_ui(z, square, 1, MPFR_RNDN);
  mpfr_mul(z, z, x, MPFR_RNDN);
  mpfr_mul(z, z, scale, MPFR_RNDN);
  sigmoid(y, z, slope);
  mpfr_mul_ui(square, square, 3, MPFR_RNDN);
  mpfr_add_ui(square, square, 1, MPFR_RNDN);
  mpfr_mul(square, square, scale, MPFR_RNDN);
  if (slope)
    mpfr_mul(y, y, square, MPFR_RNDN);
  mpfr_clears(scale, square, z, (mpfr_ptr)0);
}

static void
tangent(mpfr_t y, mpfr_srcptr x, bool slope)
{
  if (!slope) {
    mpfr_tanh(y, x, MPFR_RNDN);
    return;
  }
  mpfr_cosh(y, x, MPFR_RNDN);
  mpfr_sqr(y, y, MPFR_RNDN);
  mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

static void
softplus(mpfr_t y, mpfr_srcptr x, bool slope)
{
  if (slope) {
    sigmoid(y, x, false);
    return;
  }
  mpfr_exp(y, x, MPFR_RNDN);
  mpfr_log1p(y, y, MPFR_RNDN);
}

static void
truth(mpfr_t y, mpfr_srcptr x, clarke_function function, bool slope)
{
  switch (function) {
  case CLARKE_SIGMOID:
    sigmoid(y, x, slope);
    break;
  case CLARKE_TANH:
    tangent(y, x, slope);
    break;
  case CLARKE_EXP:
    mpfr_exp(y, x, MPFR_RNDN);
    break;
  case CLARKE_ERF:
    slope ? bell(y, x, false) : (void)mpfr_erf(y, x, MPFR_RNDN);
    break;
  case CLARKE_SOFTPLUS:
    softplus(y, x, slope);
    break;
  case CLARKE_NORMAL:
    slope ? bell(y, x, true) : mpfr_normal(y, x);
    break;
  case CLARKE_NORMAL_TANH:
    normal_tanh(y, x, slope);
    break;
  case CLARKE_ELU:
    if (mpfr_sgn(x) >= 0)
      slope ? mpfr_set_ui(y, 1, MPFR_RNDN) : mpfr_set(y, x, MPFR_RNDN);
    else
      slope ? mpfr_exp(y, x, MPFR_RNDN) : mpfr_expm1(y, x, MPFR_RNDN);
    break;
  case CLARKE_ATAN:
    arctangent(y, x, slope);
    break;
  case CLARKE_SIN:
    slope ? mpfr_cos(y, x, MPFR_RNDN) : mpfr_sin(y, x, MPFR_RNDN);
    break;
  default:
    slope ? mpfr_sin(y, x, MPFR_RNDN) : mpfr_cos(y, x, MPFR_RNDN);
    if (slope)
      mpfr_neg(y, y, MPFR_RNDN);
  }
}

/* --- what is drawn --- */

/* From -far to far: anywhere, near 0, at a border of two cells or beside it, and where few bits are set. */
static double
argument(uint64_t *state, double far)
{
  const double anywhere = (draw_below(state, 4) == 0 ? far : fmin(far, 32)) * (2 * ((double)(draw(state) >> 11) * 0x1p-53) - 1);
  const double border = CELL * ((double)draw_between(state, -(long)(far / CELL), (long)(far / CELL) - 1) + 0.5);

  switch (draw_below(state, 7)) {
  case 6: /* about the last cell */
    return far > 32 ? (draw_below(state, 2) == 0 ? -1 : 1) * (32 + ldexp(anywhere, -(int)draw_below(state, 12)) / 256) : anywhere;
  case 0:
    return ldexp(anywhere / far, -(int)draw_below(state, 60));
  case 1:
    return border;
  case 2:
    return nextafter(border, draw_below(state, 2) == 0 ? -INFINITY : INFINITY);
  case 3:
    return rint(anywhere * 32) / 32;
  case 4:
    return (double)(float)(anywhere / 8);
  default:
    return anywhere;
  }
}

/* |a - b|, rounded up. */
static double
apart(mpfr_srcptr a, mpfr_srcptr b)
{
  mpfr_t d;
  double size;

  mpfr_init2(d, BITS);
  mpfr_sub(d, a, b, MPFR_RNDN);
  size = fabs(mpfr_get_d(d, MPFR_RNDA));
  mpfr_clear(d);
  return size;
}

/* --- doubles --- */

/* The value is within its bound; the function changes no more than its slope says on the way to another argument within reach. */
static double
check_point(uint64_t *state, size_t i, bool slope)
{
  const double x = argument(state, known[i].far), reach = CLARKE_SERIES_REACH * (2 * ((double)(draw(state) >> 11) * 0x1p-53) - 1);
  mpfr_t at, there, y, other, near;
  clarke_point p;
  double ratio;

  mpfr_inits2(BITS, at, there, y, other, near, (mpfr_ptr)0);
  ck_assert_msg(clarke_series_point(&p, kept, x, known[i].function, slope), "%s at %a", known[i].name, x);
  mpfr_set_d(at, x, MPFR_RNDN);
  mpfr_add_d(there, at, reach, MPFR_RNDN);
  mpfr_set_d(near, p.y, MPFR_RNDN);
  truth(y, at, known[i].function, slope);
  truth(other, there, known[i].function, slope);
  ck_assert_msg(apart(y, near) <= p.off, "%s%s at %a: %a, off by %a, not by %a", known[i].name, slope ? "'s slope" : "", x, p.y, apart(y, near), p.off);
  ck_assert_msg(apart(y, other) <= clarke_up_mul(p.steep, fabs(reach)) + 0x1p-200, "%s%s at %a and %a farther: by %a, not by %a",
                known[i].name, slope ? "'s slope" : "", x, reach, apart(y, other), p.steep * fabs(reach));
  ratio = p.off / (0x1p-53 * fmax(fabs(p.y), 0x1p-30));
  mpfr_clears(at, there, y, other, near, (mpfr_ptr)0);
  return ratio;
}

/* Of NaN and infinities nothing is said; sin, cos, atan and exp have no limit to tell. */
static void
check_far(size_t i)
{
  const double far[] = {NAN, INFINITY, -INFINITY}, large[] = {33, 1e3};
  const clarke_function function = known[i].function;
  clarke_point p;

  for (size_t k = 0; k < sizeof far / sizeof *far; k++)
    ck_assert(!clarke_series_point(&p, kept, far[k], function, false) && !clarke_series_point(&p, kept, far[k], function, true));
  for (size_t k = 0; k < sizeof large / sizeof *large; k++) {
    ck_assert(clarke_series_point(&p, kept, large[k], function, false) == (function < CLARKE_SIN && function != CLARKE_EXP));
    ck_assert(clarke_series_point(&p, kept, -large[k], function, false) == (function < CLARKE_SIN));
  }
}

START_TEST(points)
{
  const bool slope = _i % 2 == 1;
  const size_t i = (size_t)_i / 2;
  uint64_t state = 11 + (uint64_t)_i;
  size_t narrow = 0, n = draw_count(DRAWS);

  check_far(i);
  for (size_t k = 0; k < n; k++)
    narrow += check_point(&state, i, slope) <= (known[i].function == CLARKE_NORMAL_TANH ? 0x1p30 : 16);
  ck_assert_msg(narrow >= n / 3, "%s: %zu of %zu within a few units", known[i].name, narrow, n);
}
END_TEST

START_TEST(others)
{
  clarke_point p;

  for (int f = CLARKE_ATAN + 1; f < (int)CLARKE_N_FUNCTIONS; f++)
    ck_assert(!clarke_series_point(&p, kept, 1.5, (clarke_function)f, false) && !clarke_series_point(&p, kept, 1.5, (clarke_function)f, true));
}
END_TEST

/* A cell is made once; its polynomial's first coefficient is near the function at its middle. Those at the ends are there. */
START_TEST(cells)
{
  const clarke_point_cell *c = clarke_series_point_cell(kept, CLARKE_TANH, false, 16);
  const clarke_ball_cell *b = clarke_series_ball_cell(kept, CLARKE_ERF, -16, 3);
  const clarke_pair_cell *p = clarke_series_pair_cell(kept, CLARKE_SIN, -17);

  ck_assert(clarke_series_known(CLARKE_ATAN) && !clarke_series_known(CLARKE_RECIPROCAL));
  ck_assert(c == clarke_series_point_cell(kept, CLARKE_TANH, false, 16) && b == clarke_series_ball_cell(kept, CLARKE_ERF, -16, 3));
  ck_assert(c != clarke_series_point_cell(kept, CLARKE_TANH, true, 16));
  ck_assert(fabs(c->coef[0] - tanh(1)) < 0x1p-50 && c->off < 0x1p-52 && c->steep < 0.6);
  ck_assert(p == clarke_series_pair_cell(kept, CLARKE_SIN, -17) && p != clarke_series_pair_cell(kept, CLARKE_COS, -17));
  ck_assert(fabs(p->coef[0].high - sin(-17.0 / 16)) < 0x1p-50 && p->coef[0].low != 0 && p->off < 0x1p-98 && p->bend > 0.8 && p->bend < 1);
  ck_assert(b->limbs == 3 && b->word[3] == UINT64_MAX && fabs((double)b->word[2] * 0x1p-64 - erfc(1)) < 0x1p-50);
  ck_assert(clarke_series_point_cell(kept, CLARKE_EXP, false, CLARKE_CELL_LAST)->steep < 2 * exp(32));
  ck_assert(clarke_series_ball_cell(kept, CLARKE_NORMAL, -CLARKE_CELL_LAST, 2)->off < 0x1p-76);
}
END_TEST

/* Without a store a cell is made for each argument, and is the same: no two functions, slopes or levels share a key. */
START_TEST(nothing_kept)
{
  uint64_t state = 12;
  clarke_point with, without;
  clarke_pair one, other;
  double off, apart;
  int pairs_found = 0;
  bool found;
  arb_t x, y, z;

  arb_init(x);
  arb_init(y);
  arb_init(z);
  for (int n = 0; n < 400; n++) {
    const size_t i = draw(&state) % N_KNOWN;
    const bool slope = draw(&state) % 2 == 0;
    const double at = 8 * ((double)(draw(&state) >> 11) * 0x1p-53) - 4;
    const clarke_function function = draw(&state) % 2 == 0 ? CLARKE_ERF : CLARKE_NORMAL;
    const long precision = 60 + (long)(draw(&state) % 200);

    ck_assert(clarke_series_point(&with, kept, at, known[i].function, slope) && clarke_series_point(&without, NULL, at, known[i].function, slope));
    ck_assert(with.y == without.y && with.off == without.off && with.steep == without.steep);
    arb_set_d(x, at);
    ck_assert(clarke_series_ball(y, kept, x, function, precision) && clarke_series_ball(z, NULL, x, function, precision));
    ck_assert(arb_equal(y, z));
    found = clarke_series_pair(&one, &off, kept, (clarke_pair){at, 0}, 0, known[i].function);
    ck_assert(found == clarke_series_pair(&other, &apart, NULL, (clarke_pair){at, 0}, 0, known[i].function));
    ck_assert(!found || (one.high == other.high && one.low == other.low && off == apart));
    pairs_found += found;
  }
  ck_assert(pairs_found > 200);
  arb_clear(x);
  arb_clear(y);
  arb_clear(z);
}
END_TEST

/* --- pairs --- */

/* Of a pair, and at another number as far from it as is said; how much that says beside what the reach takes. */
static bool
check_pair(uint64_t *state, size_t i, size_t *narrow)
{
  const double x = argument(state, known[i].far), part = 2 * ((double)(draw(state) >> 11) * 0x1p-53) - 1;
  const double reach = draw_below(state, 2) == 0 ? 0 : ldexp(1, -(int)draw_between(state, 0, 110));
  const clarke_pair at = {x, draw_below(state, 4) == 0 ? 0 : 0x1p-53 * x * (2 * ((double)(draw(state) >> 11) * 0x1p-53) - 1)};
  mpfr_t there, near, want;
  clarke_pair y;
  double off;

  if (!clarke_series_pair(&y, &off, kept, at, reach, known[i].function))
    return false;
  mpfr_inits2(BITS, there, near, want, (mpfr_ptr)0);
  mpfr_set_d(there, at.high, MPFR_RNDN);
  mpfr_add_d(there, there, at.low, MPFR_RNDN);
  mpfr_add_d(there, there, reach * part, MPFR_RNDN);
  truth(want, there, known[i].function, false);
  mpfr_set_d(near, y.high, MPFR_RNDN);
  mpfr_add_d(near, near, y.low, MPFR_RNDN);
  ck_assert_msg(apart(want, near) <= off, "%s at %a + %a, reach %a: off by %a, not by %a", known[i].name, at.high, at.low, reach,
                apart(want, near), off);
  *narrow += reach == 0 && off <= 0x1p-98 * fmax(1, fabs(y.high));
  mpfr_clears(there, near, want, (mpfr_ptr)0);
  return true;
}

START_TEST(pairs)
{
  uint64_t state = 211 + (uint64_t)_i;
  size_t found = 0, narrow = 0, n = draw_count(DRAWS);
  const clarke_function function = known[_i].function;
  clarke_pair y;
  double off;

  for (size_t k = 0; k < n; k++)
    found += check_pair(&state, (size_t)_i, &narrow);
  ck_assert_msg(function == CLARKE_NORMAL_TANH ? found == 0 : found >= n / 3 && narrow >= found / 4, "%s: %zu of %zu, %zu narrow", known[_i].name,
                found, n, narrow);
  ck_assert(!clarke_series_pair(&y, &off, kept, (clarke_pair){NAN, 0}, 0, function) && !clarke_series_pair(&y, &off, kept, (clarke_pair){1, 0}, INFINITY, function));
  ck_assert(!clarke_series_pair(&y, &off, kept, (clarke_pair){1, 0}, NAN, function) && !clarke_series_pair(&y, &off, kept, (clarke_pair){1, 0}, 0, CLARKE_LOG));
}
END_TEST

/* --- balls --- */

/* A middle of more bits than a double, a width, and a place within it. */
static void
draw_ball(arb_t x, mpfr_t inside, uint64_t *state, double far)
{
  const double wide = draw_below(state, 4) == 0 ? 0 : ldexp(1, -(int)draw_between(state, 5, 250));
  const double part = draw_below(state, 3) == 0 ? (double)draw_between(state, -1, 1) : 2 * ((double)(draw(state) >> 11) * 0x1p-53) - 1;

  arb_set_d(x, argument(state, far));
  for (int k = 1; k <= 3 && draw_below(state, 4) != 0; k++) {
    arf_t more;

    arf_init(more);
    arf_set_d(more, ldexp((double)(draw(state) >> 11), -56 - 60 * k));
    arf_add(arb_midref(x), arb_midref(x), more, ARF_PREC_EXACT, ARF_RND_DOWN);
    arf_clear(more);
  }
  arf_get_mpfr(inside, arb_midref(x), MPFR_RNDN);
  mag_set_d(arb_radref(x), wide);
  mpfr_add_d(inside, inside, part * wide, MPFR_RNDN);
}

/* The middle's distance from the truth is at most the radius. */
static bool
holds(const arb_t y, mpfr_srcptr at)
{
  mpfr_t middle;
  bool inside;

  mpfr_init2(middle, BITS);
  arf_get_mpfr(middle, arb_midref(y), MPFR_RNDN);
  inside = apart(middle, at) <= mag_get_d(arb_radref(y)) + 0x1p-370;
  mpfr_clear(middle);
  return inside;
}

/* What was in the ball when it was exact: near the precision that was asked for. */
static bool
is_narrow(const arb_t y, long precision)
{
  return mag_cmp_2exp_si(arb_radref(y), -precision) <= 0;
}

static bool
check_ball(uint64_t *state, clarke_function function, long precision)
{
  arb_t x, y;
  mpfr_t inside, at;
  bool found, exact;

  arb_init(x);
  arb_init(y);
  mpfr_inits2(BITS, inside, at, (mpfr_ptr)0);
  draw_ball(x, inside, state, 31.875);
  exact = mag_is_zero(arb_radref(x));
  found = clarke_series_ball(y, kept, x, function, precision);
  if (found) {
    truth(at, inside, function, false);
    ck_assert_msg(holds(y, at), "near %a, radius %a, %ld bits: not in the ball",
                  arf_get_d(arb_midref(x), ARF_RND_NEAR), mag_get_d(arb_radref(x)), precision);
    ck_assert(!exact || is_narrow(y, precision));
  }
  mpfr_clears(inside, at, (mpfr_ptr)0);
  arb_clear(x);
  arb_clear(y);
  return found;
}

START_TEST(balls)
{
  const long precision[] = {52, 64, 74, 83, 84, 116, 128, 138, 147, 180, 191, 202, 244, 256, 275};
  uint64_t state = 77 + (uint64_t)_i;
  size_t found = 0, n = draw_count(DRAWS);

  for (size_t k = 0; k < n; k++)
    found += check_ball(&state, _i == 0 ? CLARKE_ERF : CLARKE_NORMAL, precision[k % (sizeof precision / sizeof *precision)]);
  ck_assert_msg(found >= n / 3, "a series for %zu of %zu", found, n);
}
END_TEST

START_TEST(wide)
{
  arb_t x, y;

  arb_init(x);
  arb_init(y);
  ck_assert(!clarke_series_ball(y, kept, x, CLARKE_ERF, 64)); /* at 0 Arb is exact */
  arb_set_d(x, 1);
  mag_set_d(arb_radref(x), 0x1p-4);
  ck_assert(!clarke_series_ball(y, kept, x, CLARKE_ERF, 64));
  mag_inf(arb_radref(x));
  ck_assert(!clarke_series_ball(y, kept, x, CLARKE_ERF, 64));
  arb_set_d(x, 1e9);
  ck_assert(!clarke_series_ball(y, kept, x, CLARKE_ERF, 64));
  arb_indeterminate(x);
  ck_assert(!clarke_series_ball(y, kept, x, CLARKE_ERF, 64));
  arb_set_d(x, 1.5);
  ck_assert(!clarke_series_ball(y, kept, x, CLARKE_TANH, 64));
  ck_assert(!clarke_series_ball(y, kept, x, CLARKE_ERF, 100000));
  arb_clear(x);
  arb_clear(y);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("series");
  int failed;

  kept = clarke_kept_new();
  tcase_add_loop_test(tests, points, 0, 2 * (int)N_KNOWN);
  tcase_add_test(tests, others);
  tcase_add_test(tests, cells);
  tcase_add_loop_test(tests, pairs, 0, (int)N_KNOWN);
  tcase_add_test(tests, nothing_kept);
  tcase_add_loop_test(tests, balls, 0, 2);
  tcase_add_test(tests, wide);
  failed = run_tests();
  clarke_kept_free(kept);
  return failed;
}
