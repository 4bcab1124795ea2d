/* Pairs of doubles beside rationals, and matrices of them in slices beside exact products, within the bounds that are told. */
#include "network/gradient/gradient.h"
#include "network/gradient/sliced.h"
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
    check_near(clarke_pair_add(p, q), exact, 0x1p-102);
    mpq_mul(exact, x, y);
    check_near(clarke_pair_multiply(p, q), exact, 0x1p-102);
    mpq_set_d(y, b);
    mpq_add(exact, x, y);
    check_near(clarke_pair_add_double(p, b), exact, 0x1p-102);
  }
  mpq_clears(x, y, exact, NULL);
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

/* Sizes are at least norms, to the last bit; a number that is none shows. */
START_TEST(norms)
{
  uint64_t state = 3;

  for (int round = 0; round < 200; round++) {
    const size_t features = 1 + draw_below(&state, 5), n = 1 + draw_below(&state, 4);
    clarke_normed v;
    mpq_t sum, term, size;
    double largest = 0;

    mpq_inits(sum, term, size, NULL);
    OK(clarke_normed_make(&v, features, n, &error));
    for (size_t e = 0; e < features * n; e++) {
      const clarke_pair x = draw_pair(&state, 20), y = draw_pair(&state, 20);

      clarke_normed_put(&v, e, x);
      clarke_normed_add(&v, e, y);
      set_pair(sum, x);
      set_pair(term, y);
      mpq_add(sum, sum, term);
      check_near(clarke_normed_get(&v, e), sum, 0x1p-102);
      largest = fmax(largest, fabs(v.at[e]));
    }
    clarke_normed_measure(&v, features, n);
    ck_assert_double_ge(v.largest, largest);
    for (size_t j = 0; j < n; j++) {
      mpq_set_ui(sum, 0, 1);
      for (size_t f = 0; f < features; f++) {
        set_pair(term, clarke_normed_get(&v, f * n + j));
        mpq_mul(term, term, term);
        mpq_add(sum, sum, term);
      }
      mpq_set_d(size, v.size[j]);
      mpq_mul(size, size, size);
      ck_assert(mpq_cmp(sum, size) <= 0);
      ck_assert(mpq_get_d(size) <= mpq_get_d(sum) * (1 + 0x1p-10) + 0x1p-800);
    }
    v.at[0] = NAN;
    clarke_normed_measure(&v, features, n);
    ck_assert(isnan(v.largest) && isnan(v.size[0]));
    clarke_normed_drop(&v);
    clarke_normed_drop(&v);
    mpq_clears(sum, term, size, NULL);
  }
}
END_TEST

/* A bound is never below what it bounds; n operations in a row take less than gamma(n). */
START_TEST(bounds)
{
  uint64_t state = 4;

  ck_assert(clarke_bound_up(0) > 0);
  for (int round = 0; round < 1000; round++) {
    const double v = fabs(draw_double(&state, 400)), n = (double)(1 + draw_below(&state, 1000));

    ck_assert(clarke_bound_up(v) > v * (1 + 0x1p-21) && clarke_bound_up(v) <= v * (1 + 0x1p-19) + 0x1p-899);
    ck_assert(clarke_bound_gamma(n) > n * CLARKE_PAIR_UNIT && clarke_bound_gamma(n) < (n + 5) * CLARKE_PAIR_UNIT);
  }
}
END_TEST

/* --- slices ---------------------------------------------------------------------------------- */

enum { MOST = 40 };

typedef struct {
  clarke_sliced m;
  clarke_pair pair[MOST * MOST]; /* as it is stored */
  size_t count;
} cut_matrix;

static void
draw_cut(cut_matrix *c, size_t stored_rows, size_t stride, size_t slices, bool sparse, uint64_t *state)
{
  double high[MOST * MOST], low[MOST * MOST], largest = 0;

  memset(c, 0, sizeof *c);
  c->count = stored_rows * stride;
  for (size_t e = 0; e < c->count; e++) {
    c->pair[e] = sparse && draw_below(state, 8) > 0 ? (clarke_pair){0, 0} : draw_pair(state, (int)draw_below(state, 12));
    if (sparse && draw_below(state, 30) > 0) /* a few bits, so that lower slices have few numbers */
      c->pair[e] = (clarke_pair){(double)(int)c->pair[e].high, 0};
    high[e] = c->pair[e].high;
    low[e] = c->pair[e].low;
    largest = fmax(largest, fabs(high[e]));
  }
  ck_assert(clarke_sliced_top(&c->m.top, largest));
  ck_assert(largest == 0 || largest <= ldexp(1, c->m.top));
  ck_assert_ptr_nonnull(clarke_sliced_room(&c->m, c->count, slices));
  c->m.stride = stride;
  for (size_t at = 0; at < c->count; at += stride)
    clarke_sliced_cut(&c->m, at, high + at, low + at, stride);
}

/* The digits are multiples of their units and make up the numbers but for what is said to be left out. */
static void
check_cut(const cut_matrix *c)
{
  mpq_t sum, term, exact;

  mpq_inits(sum, term, exact, NULL);
  for (size_t e = 0; e < c->count; e++) {
    mpq_set_ui(sum, 0, 1);
    for (size_t s = 0; s < c->m.slices; s++) {
      const double digit = c->m.digit[s * c->m.plane + e], unit = ldexp(1, c->m.top + 1 - (int)(s + 1) * CLARKE_GRADIENT_SLICE);

      ck_assert(digit == 0 || c->m.used[s]);
      ck_assert(fmod(digit, unit) == 0 && fabs(digit / unit) <= ldexp(1, CLARKE_GRADIENT_SLICE - 1));
      mpq_set_d(term, digit);
      mpq_add(sum, sum, term);
    }
    set_pair(exact, c->pair[e]);
    mpq_sub(sum, sum, exact);
    mpq_set_d(term, ldexp(1 + 0x1p-30, c->m.top - (int)c->m.slices * CLARKE_GRADIENT_SLICE));
    mpq_abs(sum, sum);
    ck_assert(mpq_cmp(sum, term) <= 0);
  }
  mpq_clears(sum, term, exact, NULL);
}

static void
drop_cut(cut_matrix *c)
{
  free(c->m.digit);
  for (size_t s = 0; s < CLARKE_GRADIENT_MOST; s++)
    free(c->m.few[s]);
}

/* C += A B in slices: off by what is left out and by the additions' part of what is added, at most. */
static void
check_product(uint64_t *state)
{
  static cut_matrix a, b;
  const size_t rows = 1 + draw_below(state, 12), cols = 1 + draw_below(state, 12);
  const size_t inner = draw_below(state, 3) == 0 ? 1 : 1 + draw_below(state, MOST);
  const size_t slices = CLARKE_GRADIENT_FEWEST + draw_below(state, CLARKE_GRADIENT_MOST - CLARKE_GRADIENT_FEWEST + 1);
  clarke_sliced_product q = {.a_transposed = draw(state) & 1, .b_transposed = draw(state) & 1, .rows = rows, .cols = cols,
                             .inner = inner, .a = &a.m, .b = &b.m, .stride = cols + 1};
  double high[13 * 12] = {0}, low[13 * 12] = {0}, part[12 * 12], allowed;
  mpq_t exact, term, mass, off;

  draw_cut(&a, q.a_transposed ? inner : rows, q.a_transposed ? rows : inner, slices, draw(state) & 1, state);
  draw_cut(&b, q.b_transposed ? cols : inner, q.b_transposed ? inner : cols, slices, false, state);
  check_cut(&a);
  check_cut(&b);
  if (!q.b_transposed)
    OK(clarke_sliced_list_few(&a.m, &error));
  q.high = high;
  q.low = low;
  high[0] = 3; /* what is there stays */
  clarke_sliced_multiply(&q, part);
  mpq_inits(exact, term, mass, off, NULL);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) {
      mpq_set_ui(exact, i == 0 && j == 0 ? 3 : 0, 1);
      mpq_set(mass, exact);
      for (size_t k = 0; k < inner; k++) {
        set_pair(term, a.pair[q.a_transposed ? k * rows + i : i * inner + k]);
        set_pair(off, b.pair[q.b_transposed ? j * inner + k : k * cols + j]);
        mpq_mul(term, term, off);
        mpq_add(exact, exact, term);
        mpq_abs(term, term);
        mpq_add(mass, mass, term);
      }
      set_pair(off, (clarke_pair){high[i * q.stride + j], low[i * q.stride + j]});
      mpq_sub(off, off, exact);
      allowed = clarke_sliced_left_out(&a.m, &b.m, (double)inner) +
                clarke_bound_gamma(clarke_sliced_additions(slices, inner)) *
                    (mpq_get_d(mass) + (clarke_sliced_norm(&a.m, (double)inner) * ldexp(1, b.m.top) +
                                        clarke_sliced_norm(&b.m, (double)inner) * ldexp(1, a.m.top)) * 2 * sqrt((double)inner));
      ck_assert_double_le(fabs(mpq_get_d(off)), allowed);
    }
  mpq_clears(exact, term, mass, off, NULL);
  drop_cut(&a);
  drop_cut(&b);
}

START_TEST(sliced_products)
{
  uint64_t state = 5;

  for (int round = 0; round < 60; round++)
    check_product(&state);
}
END_TEST

/* What fits in a few slices is multiplied without error, by lists of few numbers, too. */
START_TEST(exact_products)
{
  double a_high[128] = {0}, a_low[128] = {0}, b_high[128], b_low[128] = {0}, part, high = 0, low = 0, sum = 0;
  clarke_sliced a = {0}, b = {0};
  clarke_sliced_product q = {.rows = 1, .cols = 1, .inner = 128, .a = &a, .b = &b, .high = &high, .low = &low, .stride = 1};

  for (size_t k = 0; k < 128; k++) {
    a_high[k] = k == 0 ? 1 << 20 : k == 77 ? 1 + 0x1p-15 : 0;
    b_high[k] = (double)k - 60;
    sum += a_high[k] * b_high[k];
  }
  ck_assert(clarke_sliced_top(&a.top, 1 << 20) && clarke_sliced_top(&b.top, 67));
  clarke_sliced_room(&a, 128, 3);
  clarke_sliced_room(&b, 128, 3);
  a.stride = 128;
  b.stride = 1;
  clarke_sliced_cut(&a, 0, a_high, a_low, 128);
  clarke_sliced_cut(&b, 0, b_high, b_low, 128);
  ck_assert(a.used[0] && a.used[1] && !a.used[2] && b.used[0] && !b.used[1]);
  OK(clarke_sliced_list_few(&a, &error));
  ck_assert(a.n_few[1] == 1 && a.few[1][0] == 77 && a.few[2] == NULL);
  clarke_sliced_multiply(&q, &part);
  ck_assert(high == sum && low == 0);
  clarke_sliced_forget(&a);
  ck_assert(!a.used[0] && !a.used[1]);
  clarke_sliced_multiply(&q, &part); /* nothing of A is there */
  ck_assert(high == sum && low == 0);
  free(a.digit);
  free(b.digit);
  for (size_t s = 0; s < CLARKE_GRADIENT_MOST; s++)
    free(a.few[s]);
}
END_TEST

/* Sums longer than what a double holds exactly go to the pairs in time, by lists of few numbers and without. */
START_TEST(long_sums)
{
  enum { LONG = 3 * CLARKE_GRADIENT_SUM + 5 };

  for (int few = 0; few < 2; few++) {
    double *a_high = malloc(LONG * sizeof *a_high), *b_high = malloc(LONG * sizeof *b_high), *zero = calloc(LONG, sizeof *zero);
    clarke_sliced a = {.stride = LONG}, b = {.stride = 1};
    double part, high = 0, low = 0;
    clarke_sliced_product q = {.rows = 1, .cols = 1, .inner = LONG, .a = &a, .b = &b, .high = &high, .low = &low, .stride = 1};
    mpq_t sum, term, got;

    mpq_inits(sum, term, got, NULL);
    for (size_t k = 0; k < LONG; k++) { /* the largest digits, all of one sign: each product is 2^40 less a little */
      a_high[k] = few == 0 || k % 97 == 0 ? (1 << 20) - 1 - (double)(k % 7) : 0;
      b_high[k] = (1 << 20) - 1 - (double)(k % 5) + 0x1p-30;
      mpq_set_d(term, a_high[k]);
      mpq_set_d(got, b_high[k]);
      mpq_mul(term, term, got);
      mpq_add(sum, sum, term);
    }
    ck_assert(clarke_sliced_top(&a.top, 1 << 20) && clarke_sliced_top(&b.top, 1 << 20));
    clarke_sliced_room(&a, LONG, 4);
    clarke_sliced_room(&b, LONG, 4);
    clarke_sliced_cut(&a, 0, a_high, zero, LONG);
    clarke_sliced_cut(&b, 0, b_high, zero, LONG);
    OK(clarke_sliced_list_few(&a, &error));
    clarke_sliced_multiply(&q, &part);
    set_pair(got, (clarke_pair){high, low});
    mpq_sub(got, got, sum);
    ck_assert_double_le(fabs(mpq_get_d(got)), clarke_sliced_left_out(&a, &b, LONG)
                                                + clarke_bound_gamma(clarke_sliced_additions(4, LONG)) * 2 * mpq_get_d(sum));
    mpq_clears(sum, term, got, NULL);
    free(a_high);
    free(b_high);
    free(zero);
    free(a.digit);
    free(b.digit);
    for (size_t s = 0; s < CLARKE_GRADIENT_MOST; s++)
      free(a.few[s]);
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
  tcase_add_test(tests, rationals);
  tcase_add_test(tests, norms);
  tcase_add_test(tests, bounds);
  tcase_add_test(tests, sliced_products);
  tcase_add_test(tests, exact_products);
  tcase_add_test(tests, long_sums);
  tcase_add_test(tests, tops);
  return all_tests;
}
