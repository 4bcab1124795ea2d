/* Pairs of doubles beside rationals, and weights' products with them in slices beside exact ones, within the bounds that are
 * told. */
#include "network/derive/gradient/analytic.h"
#include "network/pass/exponential.h"
#include "network/derive/gradient/gradient.h"
#include "network/derive/gradient/sliced.h"
#include "network/pass/analytic.h"
#include "../draw.h"
#include "../ok.h"
#include "../suites.h"

#include <math.h>
#include <string.h>

/* Of any size between 2^-most and 2^most, often with few bits. */
static double
draw_double(uint64_t *state, int most)
{
  const uint64_t bits = draw(state) >> (draw_below(state, 3) == 0 ? 50 : 11);
  const double v = ldexp((double)bits, (int)draw_between(state, -most, most) - 53);

  return draw(state) & 1 ? -v : v;
}

static clarke_pair
draw_pair(uint64_t *state, int most)
{
  const double high = draw_double(state, most), low = draw_below(state, 4) == 0 ? 0 : high * 0x1p-53 * draw_double(state, 0);

  return clarke_two_sum(high, low);
}

static void
set_pair(mpq_t q, clarke_pair x)
{
  mpq_t low;

  mpq_init(low);
  mpq_set_d(q, x.high);
  mpq_set_d(low, x.low);
  mpq_add(q, q, low);
  mpq_clear(low);
}

/* |x - exact| <= part * |exact|. */
static void
check_near(clarke_pair x, mpq_t exact, double part)
{
  mpq_t off, allowed;

  mpq_inits(off, allowed, NULL);
  set_pair(off, x);
  mpq_sub(off, off, exact);
  mpq_abs(off, off);
  mpq_set_d(allowed, part);
  mpq_mul(allowed, allowed, exact);
  mpq_abs(allowed, allowed);
  ck_assert(mpq_cmp(off, allowed) <= 0);
  ck_assert_double_le(fabs(x.low), fabs(x.high) * 0x1p-52);
  mpq_clears(off, allowed, NULL);
}

/* --- exponentials --- */

#define PRECISE 1200

/* |y - exact| <= off */
static bool
is_within(clarke_pair y, const arb_t exact, double off)
{
  bool is;
  arb_t apart, bound;

  arb_init(apart);
  arb_init(bound);
  clarke_ball_of_pair(apart, y);
  arb_sub(apart, apart, exact, PRECISE);
  arb_abs(apart, apart);
  arb_set_d(bound, off);
  is = arb_le(apart, bound);
  arb_clear(apart);
  arb_clear(bound);
  return is;
}

/* Of all sizes, with long low parts; often near a multiple of log 2, or of a half of it, where what is left of x is least and most. */
static clarke_pair
draw_argument(uint64_t *state)
{
  static const double size[] = {1, 20, 290, 0x1p-30, 0x1p-200};
  const clarke_pair x = draw_pair(state, 0);
  const double by = size[draw_below(state, 5)];

  if (draw_below(state, 3) == 0)
    return clarke_two_sum((double)draw_between(state, -400, 400) * 0x1.62e42fefa39efp-2, x.high * 0x1p-40);
  return (clarke_pair){x.high * by, x.low * by};
}

START_TEST(exponentials)
{
  uint64_t state = 4711;
  arb_t at, exact;

  arb_init(at);
  arb_init(exact);
  for (int round = 0; round < 4000; round++) {
    const clarke_pair x = draw_argument(&state);

    clarke_ball_of_pair(at, x);
    arb_exp(exact, at, PRECISE);
    ck_assert(is_within(clarke_pair_exp(x), exact, 0.98 * CLARKE_PAIR_EXP_UNIT * arf_get_d(arb_midref(exact), ARF_RND_DOWN)));
    if (fabs(x.high) < 0x1p-390)
      continue;
    arb_inv(exact, at, PRECISE);
    ck_assert(is_within(clarke_pair_reciprocal(x), exact, 3.9 * CLARKE_PAIR_UNIT * fabs(arf_get_d(arb_midref(exact), ARF_RND_DOWN))));
  }
  arb_clear(at);
  arb_clear(exact);
}
END_TEST

/* Every function that has a rule, and its slope, and no other. */
START_TEST(functions_in_pairs)
{
  static const clarke_function known[] = {CLARKE_SIGMOID, CLARKE_TANH, CLARKE_NORMAL_TANH, CLARKE_ELU, CLARKE_ERF, CLARKE_NORMAL, CLARKE_SOFTPLUS};
  size_t told[7][2] = {{0}};
  uint64_t state = 4712;
  clarke_pair y;
  double off;
  arb_t at, exact;

  arb_init(at);
  arb_init(exact);
  for (int round = 0; round < 6000; round++) {
    const clarke_pair x = draw_argument(&state);

    for (size_t f = 0; f < 14; f++) {
      const bool slope = f % 2;

      if (!clarke_pair_function(&y, &off, x, known[f / 2], slope))
        continue;
      told[f / 2][slope]++;
      clarke_ball_of_pair(at, x);
      (slope ? clarke_analytic_slope : clarke_analytic_value)(exact, at, known[f / 2], PRECISE);
      ck_assert(is_within(y, exact, off));
      ck_assert_double_le(off, 0x1p-88);
    }
  }
  for (size_t f = 0; f < 7; f++)
    ck_assert(told[f][1] > 1000 && (told[f][0] > 1000) == (f < 4));
  ck_assert(!clarke_pair_function(&y, &off, (clarke_pair){1, 0}, CLARKE_EXP, false) && !clarke_pair_function(&y, &off, (clarke_pair){1, 0}, CLARKE_SQRT, true));
  for (size_t f = 0; f < 14; f++)
    ck_assert(!clarke_pair_function(&y, &off, (clarke_pair){NAN, 0}, known[f / 2], f % 2)
              && !clarke_pair_function(&y, &off, (clarke_pair){-301, 0}, known[f / 2], f % 2));
  arb_clear(at);
  arb_clear(exact);
}
END_TEST

START_TEST(operations)
{
  uint64_t state = 1;
  mpq_t x, y, exact;

  mpq_inits(x, y, exact, NULL);
  for (int round = 0; round < 20000; round++) {
    const double a = draw_double(&state, 60), b = draw_below(&state, 3) == 0 ? -a * (1 + 0x1p-40) : draw_double(&state, 60);
    const clarke_pair p = draw_pair(&state, 60);
    clarke_pair q = draw_pair(&state, 60);

    mpq_set_d(x, a);
    mpq_set_d(y, b);
    mpq_add(exact, x, y);
    check_near(clarke_two_sum(a, b), exact, 0);
    check_near(fabs(a) >= fabs(b) ? clarke_two_sum_fast(a, b) : clarke_two_sum_fast(b, a), exact, 0);
    check_near(clarke_two_sum_fast(0, b), y, 0);
    mpq_mul(exact, x, y);
    check_near(clarke_two_product(a, b), exact, 0);
    if (draw_below(&state, 3) == 0) /* much cancels */
      q = (clarke_pair){-p.high, draw_below(&state, 2) == 0 ? -p.low : p.low};
    set_pair(x, p);
    set_pair(y, q);
    mpq_add(exact, x, y);
    check_near(clarke_pair_add(p, q), exact, 0x1p-103);
    mpq_mul(exact, x, y);
    check_near(clarke_pair_multiply(p, q), exact, 0x1p-103);
    mpq_set_d(y, b);
    mpq_add(exact, x, y);
    check_near(clarke_pair_add_double(p, b), exact, 0x1p-103);
  }
  mpq_clears(x, y, exact, NULL);
}
END_TEST

/* Sums of many pairs, most of which cancel, beside rational ones. */
START_TEST(long_sums_of_pairs)
{
  uint64_t state = 9;
  mpq_t exact, size, term, got;

  mpq_inits(exact, size, term, got, NULL);
  for (int round = 0; round < 400; round++) {
    const size_t m = 1 + draw_below(&state, 60), doubles = 2 * (2 * m + 1) + 9;
    clarke_long_sum sum[3] = {{0, 0, 0}};
    clarke_pair all[60], rest = draw_pair(&state, 20);

    mpq_set_ui(exact, 0, 1);
    mpq_set_ui(size, 0, 1);
    for (size_t i = 0; i <= 2 * m; i++) { /* there and back, and what is left */
      const clarke_pair x = i == m ? rest : i < m ? draw_pair(&state, 60) : (clarke_pair){-all[2 * m - i].high, -all[2 * m - i].low};

      if (i < m)
        all[i] = x;
      clarke_long_sum_add(&sum[i % 3], x);
      set_pair(term, x);
      mpq_add(exact, exact, term);
      mpq_abs(term, term);
      mpq_add(size, size, term);
    }
    clarke_long_sum_join(sum, 3);
    set_pair(got, clarke_long_sum_pair(sum));
    mpq_sub(got, got, exact);
    mpq_abs(got, got);
    mpq_set_d(term, (double)doubles * (double)doubles * (double)doubles * 0x1p-158);
    mpq_mul(size, size, term);
    mpq_set_d(term, 0x1p-104);
    mpq_mul(exact, exact, term);
    mpq_abs(exact, exact);
    mpq_add(size, size, exact);
    ck_assert(mpq_cmp(got, size) <= 0);
  }
  clarke_long_sum one = {0x1p80, 1, 0x1p-80};

  clarke_long_sum_add_double(&one, -0x1p80);
  ck_assert(clarke_long_sum_pair(&one).high == 1 && clarke_long_sum_pair(&one).low == 0x1p-80);
  mpq_clears(exact, size, term, got, NULL);
}
END_TEST

START_TEST(rationals)
{
  uint64_t state = 2;
  mpq_t q;

  mpq_init(q);
  for (int round = 0; round < 2000; round++) {
    mpq_set_si(q, draw_between(&state, -1000000007, 1000000007), 1 + draw_below(&state, 1000000009));
    mpq_canonicalize(q);
    mpq_mul_2exp(q, q, draw_below(&state, 200));
    mpq_div_2exp(q, q, draw_below(&state, 200));
    check_near(clarke_pair_of(q), q, CLARKE_PAIR_UNIT);
  }
  mpq_clear(q);
}
END_TEST

/* x is 1 / sqrt(q) but for a unit: (1 - unit)^2 <= x^2 q <= (1 + unit)^2. */
START_TEST(roots)
{
  uint64_t state = 6;
  mpq_t q, x, end;

  mpq_inits(q, x, end, NULL);
  for (int round = 0; round < 2000; round++) {
    clarke_pair root;

    mpq_set_si(q, draw_between(&state, 1, 1000000007), 1 + draw_below(&state, 1000000009));
    mpq_canonicalize(q);
    mpq_mul_2exp(q, q, draw_below(&state, 200));
    mpq_div_2exp(q, q, draw_below(&state, 200));
    root = clarke_pair_of_root(q);
    set_pair(x, root);
    ck_assert(mpq_sgn(x) > 0);
    mpq_mul(x, x, x);
    mpq_mul(x, x, q);
    for (int sign = -1; sign <= 1; sign += 2) {
      mpq_set_d(end, CLARKE_PAIR_UNIT * sign);
      mpq_set_si(q, 1, 1);
      mpq_add(end, end, q);
      mpq_mul(end, end, end);
      ck_assert(mpq_cmp(x, end) * sign <= 0);
    }
    ck_assert_double_le(fabs(root.low), root.high * 0x1p-52);
  }
  mpq_clears(q, x, end, NULL);
}
END_TEST

/* The sum of squares in a lane: of sample j, or of all. */
static void
square_of_lane(mpq_t sum, const clarke_normed *v, size_t features, size_t n, size_t lanes, size_t lane)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_ui(sum, 0, 1);
  for (size_t e = 0; e < features * n; e++)
    if (lanes == 1 || e % n == lane) {
      set_pair(term, clarke_normed_get(v, e));
      mpq_mul(term, term, term);
      mpq_add(sum, sum, term);
    }
  mpq_clear(term);
}

/* Numbers that are put and added to, in pairs or doubles; *largest: of them. */
static void
draw_normed(clarke_normed *v, double *largest, size_t count, uint64_t *state)
{
  mpq_t sum, term;

  mpq_inits(sum, term, NULL);
  for (size_t e = 0; e < count; e++) {
    clarke_pair x = draw_pair(state, 20), y = draw_pair(state, 20);

    clarke_normed_put(v, e, x);
    clarke_normed_add(v, e, y);
    if (v->low == NULL)
      x.low = y.low = 0;
    set_pair(sum, x);
    set_pair(term, y);
    mpq_add(sum, sum, term);
    check_near(clarke_normed_get(v, e), sum, v->low != NULL ? 0x1p-103 : 0x1p-53);
    ck_assert(v->low != NULL || clarke_normed_get(v, e).low == 0);
    *largest = fmax(*largest, fabs(v->at[e]));
  }
  mpq_clears(sum, term, NULL);
}

/* Sizes are at least norms, to the last bit, of samples or of all; a number that is none shows. */
START_TEST(norms)
{
  uint64_t state = 3;

  for (int round = 0; round < 400; round++) {
    const size_t features = 1 + draw_below(&state, 5), n = 1 + draw_below(&state, 4), lanes = draw_below(&state, 2) ? n : 1;
    const bool fine = round % 2 == 0;
    const clarke_gradient_pass p = {.n = n, .lanes = lanes};
    clarke_normed v;
    mpq_t sum, size;
    double largest = 0, most = 0;
    size_t entries = 0;

    mpq_inits(sum, size, NULL);
    OK((round % 3 == 0 ? clarke_normed_room : clarke_normed_make)(&v, features, n, fine, &error));
    ck_assert((v.low != NULL) == fine && v.size[0] == 0 && v.error[0] == 0);
    ck_assert(clarke_unit_of(&v) == (fine ? CLARKE_PAIR_UNIT : CLARKE_DOUBLE_UNIT));
    draw_normed(&v, &largest, features * n, &state);
    clarke_normed_measure(&v, features, n, lanes);
    ck_assert_double_ge(v.largest, largest);
    for (size_t j = 0; j < lanes; j++) {
      square_of_lane(sum, &v, features, n, lanes, j);
      mpq_set_d(size, v.size[j]);
      mpq_mul(size, size, size);
      ck_assert(mpq_cmp(sum, size) <= 0);
      ck_assert(mpq_get_d(size) <= mpq_get_d(sum) * (1 + 0x1p-10) + 0x1p-800);
      most = fmax(most, v.size[j]);
    }
    ck_assert(clarke_normed_size(&p, &v) == most);
    for (size_t e = 0; e < features * n; e++)
      entries += v.at[e] != 0;
    ck_assert(fabs(clarke_normed_entries(&v, features, n, lanes) - sqrt((double)entries / (double)lanes)) < 0x1p-40);
    v.at[0] = NAN;
    clarke_normed_measure(&v, features, n, lanes);
    ck_assert(isnan(v.largest) && isnan(v.size[0]) && isnan(clarke_normed_size(&p, &v)));
    clarke_normed_drop(&v);
    clarke_normed_drop(&v);
    mpq_clears(sum, size, NULL);
  }
}
END_TEST

/* A row, times a factor, joins another: pairs or doubles either of them, each entry off by its operations. */
START_TEST(rows_added)
{
  uint64_t state = 7;
  mpq_t exact, term, allowed;

  mpq_inits(exact, term, allowed, NULL);
  for (int round = 0; round < 2000; round++) {
    const bool fine = draw_below(&state, 2), of_fine = draw_below(&state, 2);
    const clarke_pair factor = draw_below(&state, 3) == 0 ? (clarke_pair){1, 0} : draw_pair(&state, 20);
    clarke_normed y, x;
    clarke_pair before[6];
    double ignored = 0;

    OK(clarke_normed_make(&y, 6, 1, fine, &error));
    OK(clarke_normed_make(&x, 4, 1, of_fine, &error));
    draw_normed(&y, &ignored, 6, &state);
    draw_normed(&x, &ignored, 4, &state);
    for (size_t e = 0; e < 6; e++)
      before[e] = clarke_normed_get(&y, e);
    clarke_normed_add_row(&y, 2, factor, &x, 1, 3);
    for (size_t e = 0; e < 6; e++) {
      set_pair(exact, before[e]);
      mpq_abs(allowed, exact);
      if (e >= 2 && e < 5) {
        set_pair(term, factor);
        set_pair(allowed, clarke_normed_get(&x, e - 1));
        mpq_mul(term, term, allowed);
        mpq_abs(allowed, exact);
        mpq_add(exact, exact, term);
        mpq_abs(term, term);
        mpq_add(allowed, allowed, term);
        if (!fine) { /* the sum is rounded, the product, and what it is made of */
          mpq_add(allowed, allowed, term);
          mpq_add(allowed, allowed, term);
        }
        mpq_set_d(term, fine ? CLARKE_PAIR_UNIT : 0x1p-53 * (1 + 0x1p-40));
        mpq_mul(allowed, allowed, term);
      } else
        mpq_set_ui(allowed, 0, 1);
      set_pair(term, clarke_normed_get(&y, e));
      mpq_sub(term, term, exact);
      mpq_abs(term, term);
      ck_assert(mpq_cmp(term, allowed) <= 0);
    }
    clarke_normed_drop(&y);
    clarke_normed_drop(&x);
  }
  mpq_clears(exact, term, allowed, NULL);
}
END_TEST

START_TEST(largest_numbers)
{
  double v[] = {-3, 2, -0.0, 1}, *entry[] = {v, NULL}, within[2] = {0};
  const clarke_gradient gradient = {.n = 2, .entry = entry, .within = within};
  clarke_parameter parameters[] = {{.count = 3}, {.count = 5}};
  const clarke_graph g = {.n_parameters = 2, .parameters = parameters};

  ck_assert(clarke_largest_double(v, 0) == 0 && clarke_largest_double(v + 2, 1) == 0 && clarke_largest_double(v, 4) == 3);
  ck_assert(clarke_gradient_largest(&gradient, &g, 0) == 3 && clarke_gradient_largest(&gradient, &g, 1) == 0);
  v[2] = -INFINITY;
  ck_assert(clarke_largest_double(v, 2) == 3 && clarke_largest_double(v, 4) == INFINITY);
  v[0] = -NAN;
  ck_assert(isnan(clarke_largest_double(v, 4)) && isnan(clarke_gradient_largest(&gradient, &g, 0)));
}
END_TEST

/* A bound is never below what it bounds; n operations in a row take less than gamma(n). */
START_TEST(bounds)
{
  static const double unit[] = {CLARKE_PAIR_UNIT, CLARKE_DOUBLE_UNIT};
  uint64_t state = 4;

  ck_assert(clarke_bound_up(0) > 0);
  for (int round = 0; round < 1000; round++) {
    const double v = fabs(draw_double(&state, 400)), n = (double)(1 + draw_below(&state, 1000));
    const clarke_gradient_pass p = {.n = (size_t)n * 7, .lanes = 7}, own = {.n = (size_t)n, .lanes = (size_t)n};

    ck_assert(clarke_bound_up(v) > v * (1 + 0x1p-21) && clarke_bound_up(v) <= v * (1 + 0x1p-19) + 0x1p-899);
    for (size_t u = 0; u < 2; u++)
      ck_assert(clarke_bound_gamma(n, unit[u]) > n * unit[u] && clarke_bound_gamma(n, unit[u]) < (n + 5) * unit[u]);
    ck_assert(clarke_lane_root(&p) * clarke_lane_root(&p) >= n && clarke_lane_root(&p) < sqrt(n) * (1 + 0x1p-19));
    ck_assert(clarke_lane_root(&own) >= 1 && clarke_lane_root(&own) < 1 + 0x1p-19);
  }
}
END_TEST

/* --- slices ---------------------------------------------------------------------------------- */

enum { MOST = 40 };

typedef struct {
  clarke_digit_matrix m;
  clarke_pair pair[MOST * MOST]; /* as it is stored */
  size_t count;
  int top;
} cut_matrix;

typedef struct {
  clarke_sliced_weight w;
  double number[MOST * MOST];
} cut_weight;

static void
draw_cut(cut_matrix *c, size_t stored_rows, size_t stride, size_t slices, uint64_t *state)
{
  double high[MOST * MOST], low[MOST * MOST], largest = 0;

  memset(c, 0, sizeof *c);
  c->count = stored_rows * stride;
  for (size_t e = 0; e < c->count; e++) {
    c->pair[e] = draw_pair(state, (int)draw_below(state, 12));
    high[e] = c->pair[e].high;
    low[e] = c->pair[e].low;
    largest = fmax(largest, fabs(high[e]));
  }
  ck_assert(clarke_sliced_top(&c->top, largest));
  ck_assert(largest == 0 || largest <= ldexp(1, c->top));
  ck_assert(clarke_sliced_room(&c->m, c->count, slices, c->top));
  c->m.stride = stride;
  for (size_t at = 0; at < c->count; at += stride)
    clarke_sliced_cut(&c->m, at, high + at, low + at, stride);
}

/* What is left of a number, by its digits; *absolute: these together, signs apart. */
static void
left_of(mpq_t left, mpq_t absolute, const clarke_digit_matrix *m, size_t e)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_ui(absolute, 0, 1);
  for (size_t s = 0; s < m->planes; s++) {
    const double digit = m->digit[(ptrdiff_t)s * m->apart + (ptrdiff_t)e];

    ck_assert(digit == 0 || m->plane[s].used);
    ck_assert(digit == rint(digit) && fabs(digit) <= ldexp(1, (int)m->width - 1));
    mpq_set_d(term, digit * ldexp(1, (int)(m->low + m->width * (long)s)));
    mpq_sub(left, left, term);
    mpq_abs(term, term);
    mpq_add(absolute, absolute, term);
  }
  mpq_clear(term);
}

/* sum += q^2. */
static void
add_square(mpq_t sum, mpq_t q)
{
  mpq_t square;

  mpq_init(square);
  mpq_mul(square, q, q);
  mpq_add(sum, sum, square);
  mpq_clear(square);
}

/* The digits make up the numbers but for the tail, whose norm is below the bound, and which is one
 * double; they and tails, signs apart, are larger than the numbers by no more than is said. */
static void
check_cut(const cut_matrix *c)
{
  mpq_t left, absolute, tail, tails, numbers, all;

  mpq_inits(left, absolute, tail, tails, numbers, all, NULL);
  for (size_t e = 0; e < c->count; e++) {
    set_pair(left, c->pair[e]);
    add_square(numbers, left);
    left_of(left, absolute, &c->m, e);
    check_near((clarke_pair){c->m.digit[c->m.planes * c->count + e], 0}, left, 0x1p-53);
    mpq_set_d(tail, c->m.digit[c->m.planes * c->count + e]);
    mpq_abs(left, left);
    ck_assert_double_le(mpq_get_d(left), ldexp(1 + 0x1p-30, c->top - (int)c->m.planes * CLARKE_GRADIENT_SLICE));
    add_square(tails, tail);
    mpq_abs(tail, tail);
    mpq_add(absolute, absolute, tail);
    add_square(all, absolute);
  }
  ck_assert_double_le(sqrt(mpq_get_d(tails)), clarke_sliced_tail(c->top, c->m.planes, (double)c->count));
  ck_assert(c->m.planes == 0 || sqrt(mpq_get_d(all)) <= sqrt(mpq_get_d(numbers)) + clarke_sliced_norm(&c->m, (double)c->count));
  mpq_clears(left, absolute, tail, tails, numbers, all, NULL);
}

/* Of any size; sparse: with few numbers in lower slices. */
static void
draw_weight(cut_weight *c, size_t count, clarke_digit_layout layout, bool sparse, bool slices, uint64_t *state)
{
  const int most = draw_below(state, 3) == 0 ? 70 : 10;
  bool fits = false;

  for (size_t e = 0; e < count; e++) {
    c->number[e] = sparse && draw_below(state, 8) > 0 ? 0 : draw_double(state, most);
    if (sparse && draw_below(state, 30) > 0) /* a few bits */
      c->number[e] = (double)draw_between(state, -1000, 1000);
  }
  OK(clarke_sliced_weight_make(&c->w, &fits, c->number, count, layout, slices, &error));
  ck_assert(fits && c->w.all == c->number && (c->w.cut.digit != NULL) == slices);
}

/* Digits of row-by-row entry e of the weight, whatever they are kept in. */
static double
digit_of(const clarke_sliced_weight *w, size_t s, size_t e)
{
  const clarke_digit_plane *p = &w->cut.plane[s];

  if (!p->used)
    return 0;
  if (p->number == NULL)
    return w->cut.digit[(ptrdiff_t)s * w->cut.apart + (ptrdiff_t)e];
  for (size_t k = 0; k < p->n; k++)
    if (p->place[k] == e)
      return p->number[k];
  return 0;
}

/* Where entry e of the weight is, row by row. */
static size_t
by_rows(const clarke_digit_layout *l, size_t e)
{
  const size_t block = l->rows * l->inner, in = e % block;

  return l->transposed ? e - in + in % l->rows * l->inner + in / l->rows : e;
}

/* No part of a row has numbers whose sizes add up to more than is said, in units of the slice, and that fits in a double's sum. */
static void
check_reach(const clarke_sliced_weight *w, size_t s, size_t count)
{
  const size_t inner = w->layout.inner;
  const clarke_digit_plane *p = &w->cut.plane[s];
  double most = 0;

  ck_assert(p->reach >= CLARKE_GRADIENT_SUM || p->reach >= inner);
  ck_assert(p->mass <= CLARKE_GRADIENT_MASS && p->mass <= 0x1p53 / ldexp(1, CLARKE_GRADIENT_SLICE - 1));
  ck_assert(p->number == NULL || p->reach >= inner);
  for (size_t r = 0; r < count / inner; r++)
    for (size_t k = 0; k < inner; k += p->reach) {
      double sum = 0;

      for (size_t i = k; i < k + p->reach && i < inner; i++)
        sum += fabs(digit_of(w, s, r * inner + i));
      most = fmax(most, sum);
    }
  ck_assert(p->mass == most);
}

/* Slices make up the weight, but for what is said to be left; lists have all numbers of theirs. Returns how many lists there are. */
static size_t
check_weight(const cut_weight *c, size_t count, bool *left_out)
{
  const double rest = clarke_sliced_weight_rest(&c->w);
  bool whole = true;
  size_t lists = 0;
  mpq_t left, term;

  mpq_inits(left, term, NULL);
  ck_assert(c->w.whole == (rest == 0) && c->w.cut.planes == CLARKE_GRADIENT_WEIGHT_MOST);
  for (size_t e = 0; e < count; e++) {
    mpq_set_d(left, c->number[e]);
    for (size_t s = 0; s < c->w.cut.planes; s++) {
      const double digit = digit_of(&c->w, s, by_rows(&c->w.layout, e));

      ck_assert(digit == rint(digit) && fabs(digit) <= ldexp(1, CLARKE_GRADIENT_WEIGHT_SLICE - 1));
      mpq_set_d(term, digit * ldexp(1, (int)(c->w.cut.low + c->w.cut.width * (long)s)));
      mpq_sub(left, left, term);
    }
    ck_assert_double_le(fabs(mpq_get_d(left)), rest);
    whole = whole && mpq_sgn(left) == 0;
  }
  ck_assert(c->w.whole == whole);
  *left_out = *left_out || !whole;
  for (size_t s = 0; s < c->w.cut.planes; s++) {
    const clarke_digit_plane *p = &c->w.cut.plane[s];

    if (p->used)
      check_reach(&c->w, s, count);
    for (size_t k = 0; k < p->n; k++)
      ck_assert(p->number[k] != 0 && p->place[k] < count && (k == 0 || p->place[k - 1] < p->place[k]));
    ck_assert(p->used || p->n == 0);
    lists += p->number != NULL;
  }
  mpq_clears(left, term, NULL);
  return lists;
}

/* What an entry of a product may be off by: a row of A has norm a, a column of B norm b. */
static double
allowed_of(const clarke_sliced_weight *w, const clarke_digit_matrix *x, size_t inner, double a, double b)
{
  const double rounded = clarke_rounded_gamma((double)inner) + 0x1p-51, n = (double)inner;
  double pairs;

  if (x->planes == 0)
    return rounded * a * b;
  pairs = clarke_bound_gamma(clarke_sliced_additions(x->planes, inner), CLARKE_PAIR_UNIT) * (a + clarke_sliced_norm(&w->cut, n)) +
          clarke_sliced_weight_rest(w) * sqrt(n);
  return rounded * a * clarke_sliced_tail((int)(x->low + x->width * (long)x->planes) - 1, x->planes, n) + pairs * (b + clarke_sliced_norm(x, n));
}

/* Entry (i, j) is as near as is allowed. */
static void
check_entry(const clarke_sliced_product *q, const double *a, const clarke_pair *b, size_t i, size_t j)
{
  const clarke_digit_layout *l = &q->a->layout;
  const size_t at = i * q->stride + j;
  mpq_t exact, x, y, rows, columns;

  mpq_inits(exact, x, y, rows, columns, NULL);
  for (size_t k = 0; k < l->inner; k++) {
    mpq_set_d(x, a[q->first + (l->transposed ? k * l->rows + i : i * l->inner + k)]);
    set_pair(y, b[k * q->cols + j]);
    add_square(rows, x);
    add_square(columns, y);
    mpq_mul(x, x, y);
    mpq_add(exact, exact, x);
  }
  set_pair(x, (clarke_pair){q->high[at], q->low != NULL ? q->low[at] : 0});
  mpq_sub(x, x, exact);
  ck_assert_double_le(fabs(mpq_get_d(x)), allowed_of(q->a, q->b, l->inner, sqrt(mpq_get_d(rows)), sqrt(mpq_get_d(columns))));
  mpq_clears(exact, x, y, rows, columns, NULL);
}

/* C = A B of a weight's last block, in slices or, where there are none, doubles. */
static void
check_product(size_t *lists, bool *left_out, uint64_t *state)
{
  static cut_weight a;
  static cut_matrix b;
  const size_t rows = 1 + draw_below(state, 12), cols = 1 + draw_below(state, 12), blocks = 1 + draw_below(state, 2);
  const size_t inner = draw_below(state, 3) == 0 ? 1 : 1 + draw_below(state, MOST);
  const size_t slices = draw_below(state, CLARKE_GRADIENT_MOST + 1);
  const clarke_digit_layout layout = {draw_below(state, 2), rows, inner};
  double high[13 * 12], low[13 * 12], part[12 * 12];
  const clarke_sliced_product q = {.cols = cols, .a = &a.w, .b = &b.m, .first = (blocks - 1) * rows * inner, .high = high,
                                   .low = slices > 0 ? low : NULL, .stride = cols + 1};

  draw_weight(&a, blocks * rows * inner, layout, draw_below(state, 2), slices > 0, state);
  draw_cut(&b, inner, cols, slices, state);
  check_cut(&b);
  if (slices > 0)
    *lists += check_weight(&a, blocks * rows * inner, left_out);
  for (size_t e = 0; e < 13 * 12; e++) {
    high[e] = 3; /* what is there goes */
    low[e] = 0x1p-60;
  }
  clarke_sliced_multiply(&q, part);
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < cols; j++)
      check_entry(&q, a.number, b.pair, i, j);
    ck_assert(high[i * q.stride + cols] == 3 && low[i * q.stride + cols] == 0x1p-60);
  }
  clarke_sliced_weight_clear(&a.w);
  clarke_digits_clear(&b.m);
}

START_TEST(sliced_products)
{
  uint64_t state = 5;
  size_t lists = 0;
  bool left_out = false;

  for (int round = 0; round < 300; round++)
    check_product(&lists, &left_out, &state);
  ck_assert(lists > 10 && left_out);
}
END_TEST

/* What fits in a few slices is multiplied without error, by lists of few numbers, too. */
START_TEST(exact_products)
{
  double a[128] = {0}, b_high[128], b_low[128] = {0}, part, high = 7, low = 7, sum = 0;
  clarke_sliced_weight w;
  clarke_digit_matrix b = {0};
  clarke_sliced_product q = {.cols = 1, .a = &w, .b = &b, .high = &high, .low = &low, .stride = 1};
  bool fits;
  int top;

  for (size_t k = 0; k < 128; k++) {
    a[k] = k % 16 == 0 ? 1 << 20 : k == 77 ? 1 + 0x1p-15 : 0;
    b_high[k] = (double)k - 60;
    sum += a[k] * b_high[k];
  }
  OK(clarke_sliced_weight_make(&w, &fits, a, 128, (clarke_digit_layout){false, 1, 128}, true, &error));
  ck_assert(fits && w.whole && clarke_sliced_weight_rest(&w) == 0);
  ck_assert(clarke_sliced_top(&top, 67));
  ck_assert(clarke_sliced_room(&b, 128, 3, top));
  b.stride = 1;
  clarke_sliced_cut(&b, 0, b_high, b_low, 128);
  ck_assert(w.cut.plane[2].used && w.cut.plane[1].used && !w.cut.plane[0].used && b.plane[2].used && !b.plane[1].used);
  ck_assert(w.cut.plane[2].n == 0 && w.cut.plane[1].n == 1 && w.cut.plane[1].place[0] == 77 && w.cut.plane[0].n == 0);
  clarke_sliced_multiply(&q, &part);
  ck_assert(high == sum && low == 0);
  clarke_sliced_multiply(&q, &part); /* what is there goes */
  ck_assert(high == sum && low == 0);
  b.plane[2].used = false;
  clarke_sliced_multiply(&q, &part); /* nothing of B is there */
  ck_assert(high == 0 && low == 0);
  clarke_digits_clear(&b);
  clarke_sliced_weight_clear(&w);
}
END_TEST

/* Few numbers of a second slice, but all of one row and too much for one sum: they are no list. Half of it is. */
START_TEST(full_rows_of_few)
{
  enum { ROWS = 64, IN = 256 };
  static double a[ROWS * IN], b_high[IN], b_low[IN];

  for (size_t full = IN / 2 - 2; full <= IN; full += IN / 2 + 2) {
    double part[ROWS], high[ROWS], low[ROWS], sum = 0, rest = 0;
    clarke_sliced_weight w;
    clarke_digit_matrix b = {0};
    clarke_sliced_product q = {.cols = 1, .a = &w, .b = &b, .high = high, .low = low, .stride = 1};
    bool fits;
    int top;

    for (size_t e = 0; e < ROWS * IN; e++)
      a[e] = (e < full ? 0x1p-28 - 0x1p-48 : 0) + (double)(e % 7) + 3; /* the first slice's unit is 2^-27 */
    for (size_t k = 0; k < IN; k++) {
      b_high[k] = (double)(k % 3) + 1;
      b_low[k] = 0;
      sum += ((double)(k % 7) + 3) * b_high[k];
      rest += (k < full ? 0x1p-28 - 0x1p-48 : 0) * b_high[k];
    }
    OK(clarke_sliced_weight_make(&w, &fits, a, ROWS * IN, (clarke_digit_layout){false, ROWS, IN}, true, &error));
    ck_assert(fits && w.whole && w.cut.plane[2].used && w.cut.plane[1].used && !w.cut.plane[0].used);
    ck_assert((w.cut.plane[1].number != NULL) == (full < IN) &&
              (full < IN ? w.cut.plane[1].n == full : w.cut.plane[1].reach < IN));
    ck_assert(clarke_sliced_top(&top, 3));
    ck_assert(clarke_sliced_room(&b, IN, 1, top));
    b.stride = 1;
    clarke_sliced_cut(&b, 0, b_high, b_low, IN);
    clarke_sliced_multiply(&q, part);
    ck_assert(high[0] == clarke_two_sum(sum, rest).high && low[0] == clarke_two_sum(sum, rest).low);
    check_reach(&w, 1, ROWS * IN);
    clarke_digits_clear(&b);
    clarke_sliced_weight_clear(&w);
  }
}
END_TEST

/* C = A B in fixed point, where units are fine enough for nothing to be lost: of few slices and of many. */
static void
check_product_in_fixed_point(const double *a, const clarke_fixed *v, int top, size_t rows, size_t inner, size_t cols)
{
  clarke_fixed to = {calloc(rows * cols * CLARKE_FIXED_LIMBS, sizeof *to.limb), CLARKE_FIXED_LIMBS, v->unit - 60};
  clarke_wide wide[9];
  clarke_sliced_waiting waiting = {.sum = wide};
  clarke_digit_matrix b = {.stride = cols};
  clarke_sliced_weight w;
  double high[9], part[9];
  bool fits, lost = false;
  const clarke_sliced_product q = {.cols = cols, .a = &w, .b = &b, .high = high, .stride = cols, .fixed = &to, .waiting = &waiting,
                                   .lost = &lost};
  mpq_t sum, term, x;

  mpq_inits(sum, term, x, NULL);
  OK(clarke_sliced_weight_make(&w, &fits, a, rows * inner, (clarke_digit_layout){false, rows, inner}, true, &error));
  ck_assert(clarke_sliced_room(&b, inner * cols, (size_t)(top + 1 - v->unit) / CLARKE_GRADIENT_SLICE, top));
  clarke_sliced_cut_fixed(&b, 0, v, 0, inner * cols);
  clarke_sliced_multiply(&q, part);
  ck_assert(!lost && waiting.sums == 0);
  for (size_t e = 0; e < rows * cols; e++) {
    mpq_set_ui(sum, 0, 1);
    for (size_t k = 0; k < inner; k++) {
      mpq_set_d(x, a[e / cols * inner + k]);
      clarke_fixed_get(term, v, k * cols + e % cols);
      mpq_mul(term, term, x);
      mpq_add(sum, sum, term);
    }
    clarke_fixed_get(x, &to, e);
    ck_assert(mpq_equal(x, sum));
  }
  mpq_clears(sum, term, x, NULL);
  clarke_sliced_weight_clear(&w);
  clarke_digits_clear(&b);
  free(to.limb);
}

START_TEST(products_in_fixed_point)
{
  enum { IN = 12 };
  gmp_randstate_t random;
  uint64_t state = 8;
  mpq_t q;

  mpq_init(q);
  gmp_randinit_default(random);
  for (int round = 0; round < 400; round++) {
    const size_t rows = 1 + draw_below(&state, 3), inner = 1 + draw_below(&state, IN), cols = 1 + draw_below(&state, 3);
    const int bits = 40 + (int)draw_below(&state, 340), unit = -(int)draw_below(&state, 300);
    const clarke_fixed v = {calloc(inner * cols * CLARKE_FIXED_LIMBS, sizeof *v.limb), CLARKE_FIXED_LIMBS, unit};
    double a[3 * IN];

    for (size_t e = 0; e < rows * inner; e++)
      a[e] = (double)draw_between(&state, -(1L << 20), 1L << 20) + (draw(&state) & 1 ? 0x1p-15 : 0);
    for (size_t e = 0; e < inner * cols; e++) {
      mpz_urandomb(mpq_numref(q), random, (mp_bitcnt_t)bits);
      if (draw(&state) & 1)
        mpz_neg(mpq_numref(q), mpq_numref(q));
      mpz_set_ui(mpq_denref(q), 1);
      if (unit < 0)
        mpq_div_2exp(q, q, (mp_bitcnt_t)-unit);
      ck_assert(clarke_fixed_set(&v, e, q));
    }
    check_product_in_fixed_point(a, &v, bits + unit, rows, inner, cols);
    free(v.limb);
  }
  gmp_randclear(random);
  mpq_clear(q);
}
END_TEST

/* What cannot be cut is no weight, in slices or not. */
START_TEST(weights_that_do_not_fit)
{
  static const double largest[] = {0x1p301, 0x1p-302, INFINITY};

  for (size_t i = 0; i < 6; i++) {
    const double a[2] = {0, -largest[i / 2]};
    clarke_sliced_weight w;
    bool fits = true;

    OK(clarke_sliced_weight_make(&w, &fits, a, 2, (clarke_digit_layout){false, 2, 1}, i % 2, &error));
    ck_assert(!fits && w.cut.digit == NULL);
    clarke_sliced_weight_clear(&w);
  }
}
END_TEST

/* A product of a first row and a column beside the rational one: what is off is off by pairs' additions alone. */
static void
check_long(const clarke_sliced_weight *w, const double *a, double *b, size_t inner, int top)
{
  double *b_low = calloc(inner, sizeof *b_low), part[MOST], high[MOST] = {0}, low[MOST] = {0};
  clarke_digit_matrix cut = {.stride = 1};
  const clarke_sliced_product q = {.cols = 1, .a = w, .b = &cut, .high = high, .low = low, .stride = 1};
  mpq_t sum, term, got;

  mpq_inits(sum, term, got, NULL);
  for (size_t k = 0; k < inner; k++) {
    mpq_set_d(term, a[k]);
    mpq_set_d(got, b[k]);
    mpq_mul(term, term, got);
    mpq_add(sum, sum, term);
  }
  ck_assert(clarke_sliced_room(&cut, inner, 4, top));
  clarke_sliced_cut(&cut, 0, b, b_low, inner);
  for (size_t k = 0; k < inner; k++)
    ck_assert(cut.digit[4 * inner + k] == 0); /* no tail */
  clarke_sliced_multiply(&q, part);
  set_pair(got, (clarke_pair){high[0], low[0]});
  mpq_sub(got, got, sum);
  ck_assert_double_le(fabs(mpq_get_d(got)),
                      clarke_bound_gamma(clarke_sliced_additions(4, inner), CLARKE_PAIR_UNIT) * 2 * fabs(mpq_get_d(sum)));
  mpq_clears(sum, term, got, NULL);
  free(b_low);
  clarke_digits_clear(&cut);
}

/* Sums longer than what a double holds exactly go to the pairs in time, by lists of few numbers and without; all digits are the
 * largest, or their sizes just fit. */
START_TEST(long_sums)
{
  const double digit = 0x1p31, factor = 0x1p15; /* at most */

  for (int way = 0; way < 4; way++) {
    const bool few = way == 1;
    const size_t inner = few ? 97 * (CLARKE_GRADIENT_SUM - 2) : way == 3 ? CLARKE_GRADIENT_SUM : 3 * CLARKE_GRADIENT_SUM + 5;
    double *a = malloc(inner * sizeof *a), *b = malloc(inner * sizeof *b);
    clarke_sliced_weight w;
    bool fits;

    for (size_t k = 0; k < inner; k++) {
      a[k] = few && k % 97 != 0 ? 0 : way == 2 && k > 0 ? digit / 4 - 1 : digit - 1 - (double)(k % 7);
      a[k] += way < 2 && a[k] != 0 ? 0x1p-20 : 0;
      b[k] = factor - 1 - (double)(k % 5) + (way == 3 ? 0 : 0x1p-30);
    }
    OK(clarke_sliced_weight_make(&w, &fits, a, inner, (clarke_digit_layout){way == 2, 1, inner}, true, &error));
    ck_assert(fits && w.whole && w.cut.low == 32 - 96 && (w.cut.plane[2].number != NULL) == few);
    ck_assert((w.cut.plane[1].number != NULL) == few && w.cut.plane[1].used == (way < 2));
    ck_assert(way == 0 ? w.cut.plane[2].reach == CLARKE_GRADIENT_SUM : w.cut.plane[2].reach >= inner);
    check_reach(&w, 2, inner);
    check_long(&w, a, b, inner, 15);
    clarke_sliced_weight_clear(&w);
    free(a);
    free(b);
  }
}
END_TEST

/* A slice has few numbers, but all in one row, and too many for that row's sum. */
START_TEST(few_numbers_in_one_row)
{
  enum { INNER = 3 * (int)CLARKE_GRADIENT_SUM };
  static double a[MOST * INNER], b[INNER];
  clarke_sliced_weight w;
  bool fits;

  for (size_t e = 0; e < MOST * INNER; e++) /* the second slice's digits are 2^31 less a few */
    a[e] = 0x1p31 - 1 - (e < INNER ? 0.5 + ldexp((double)(1 + e % 7), -32) : 0);
  for (size_t k = 0; k < INNER; k++)
    b[k] = 0x1p15 - 1 - (double)(k % 5);
  OK(clarke_sliced_weight_make(&w, &fits, a, MOST * INNER, (clarke_digit_layout){false, MOST, INNER}, true, &error));
  ck_assert(fits && w.whole && w.cut.plane[1].used && !w.cut.plane[0].used && w.cut.plane[1].number == NULL);
  check_long(&w, a, b, INNER, 15);
  clarke_sliced_weight_clear(&w);
}
END_TEST

/* Sums in parts, each entry off by a part of what is added, signs apart. */
START_TEST(rounded_products)
{
  enum { LONG = 3 * CLARKE_GRADIENT_PART + 7 };
  static double a[4 * (LONG + 2)], b[4 * (LONG + 1)];
  uint64_t state = 8;

  for (int round = 0; round < 60; round++) {
    const bool fresh = draw_below(&state, 2);
    double to[16], before[16], part[16];
    const clarke_rounded_product q = {.fresh = fresh, .rows = 1 + draw_below(&state, 4), .cols = 1 + draw_below(&state, 4),
                                      .inner = 1 + draw_below(&state, LONG), .a = a, .b = b, .a_stride = LONG + 2,
                                      .b_stride = LONG + 1, .to = to};
    mpq_t exact, mass, x, y;

    mpq_inits(exact, mass, x, y, NULL);
    for (size_t e = 0; e < sizeof a / sizeof *a; e++)
      a[e] = draw_double(&state, 3);
    for (size_t e = 0; e < sizeof b / sizeof *b; e++)
      b[e] = round % 3 == 0 ? fabs(draw_double(&state, 3)) : draw_double(&state, 3);
    for (size_t e = 0; e < 16; e++)
      to[e] = before[e] = fresh ? NAN : draw_double(&state, 5);
    clarke_rounded_multiply(&q, part);
    for (size_t e = 0; e < q.rows * q.cols; e++) {
      mpq_set_d(exact, fresh ? 0 : before[e]);
      mpq_abs(mass, exact);
      for (size_t k = 0; k < q.inner; k++) {
        mpq_set_d(x, a[e / q.cols * q.a_stride + k]);
        mpq_set_d(y, b[e % q.cols * q.b_stride + k]);
        mpq_mul(x, x, y);
        mpq_add(exact, exact, x);
        mpq_abs(x, x);
        mpq_add(mass, mass, x);
      }
      mpq_set_d(x, to[e]);
      mpq_sub(x, x, exact);
      ck_assert_double_le(fabs(mpq_get_d(x)), clarke_rounded_gamma((double)q.inner) * mpq_get_d(mass));
    }
    mpq_clears(exact, mass, x, y, NULL);
  }
}
END_TEST

START_TEST(tops)
{
  int top;

  ck_assert(clarke_sliced_top(&top, 0) && top < -300);
  ck_assert(clarke_sliced_top(&top, 1) && top == 1);
  ck_assert(clarke_sliced_top(&top, 0.75) && top == 0);
  ck_assert(clarke_sliced_top(&top, ldexp(0.5, 300)) && top == 300);
  ck_assert(!clarke_sliced_top(&top, ldexp(0.5, 301)));
  ck_assert(clarke_sliced_top(&top, ldexp(0.5, -300)));
  ck_assert(!clarke_sliced_top(&top, ldexp(0.5, -301)));
  ck_assert(!clarke_sliced_top(&top, INFINITY) && !clarke_sliced_top(&top, NAN));
}
END_TEST

MODULE(pairs)
{
  TCase *tests = tests_of("pairs");

  tcase_add_test(tests, operations);
  tcase_add_test(tests, exponentials);
  tcase_add_test(tests, functions_in_pairs);
  tcase_add_test(tests, long_sums_of_pairs);
  tcase_add_test(tests, rationals);
  tcase_add_test(tests, roots);
  tcase_add_test(tests, norms);
  tcase_add_test(tests, rows_added);
  tcase_add_test(tests, largest_numbers);
  tcase_add_test(tests, bounds);
  tcase_add_test(tests, sliced_products);
  tcase_add_test(tests, exact_products);
  tcase_add_test(tests, full_rows_of_few);
  tcase_add_test(tests, products_in_fixed_point);
  tcase_add_test(tests, weights_that_do_not_fit);
  tcase_add_test(tests, long_sums);
  tcase_add_test(tests, few_numbers_in_one_row);
  tcase_add_test(tests, rounded_products);
  tcase_add_test(tests, tops);
  return all_tests;
}
