/* Rows of doubles and of pairs, beside what is done with one entry, of every length. */
#include "../draw.h"
#include "../ok.h"
#include "../suites.h"

#include "network/derive/gradient/gradient.h"
#include "network/derive/gradient/rows.h"

#include <math.h>
#include <string.h>

enum { MOST = 70, ROWS = 5 };

typedef struct {
  double x[MOST], x_low[MOST], y[MOST], y_low[MOST], to[MOST], low[MOST]; /* normalized pairs */
  float digit[MOST];
  clarke_branch piece[MOST];
  clarke_pair factor;
} rows;

static clarke_pair
draw_pair(uint64_t *state)
{
  const double high = draw_below(state, 6) == 0 ? 0 : ldexp((double)draw_between(state, -(1L << 52), 1L << 52), (int)draw_between(state, -80, -20));

  return clarke_two_sum(high, high * 0x1p-53 * ldexp((double)draw_between(state, -(1L << 50), 1L << 50), -51));
}

static void
draw_row(double *high, double *low, uint64_t *state)
{
  for (size_t i = 0; i < MOST; i++) {
    const clarke_pair v = draw_pair(state);

    high[i] = v.high;
    low[i] = v.low;
  }
}

static void
begin(rows *r, uint64_t *state)
{
  draw_row(r->x, r->x_low, state);
  draw_row(r->y, r->y_low, state);
  draw_row(r->to, r->low, state);
  r->factor = draw_pair(state);
  for (size_t i = 0; i < MOST; i++) {
    r->digit[i] = (float)draw_between(state, -(1L << 20), 1L << 20);
    r->piece[i] = (clarke_branch)draw_between(state, -3, 2);
  }
}

static void
check_pair(double high, double low, clarke_pair as)
{
  ck_assert(high == as.high && low == as.low);
}

/* Sums: what is behind a row's end stays. */
START_TEST(sums_of_rows)
{
  uint64_t state = 1;
  rows r, s;

  for (size_t n = 0; n < MOST; n++)
    for (int way = 0; way < 7; way++) {
      begin(&r, &state);
      s = r;
      if (way == 0)
        clarke_rows_add(s.to, s.x, n);
      else if (way == 1)
        clarke_rows_add_multiple(s.to, s.factor.high, s.x, n);
      else if (way == 2)
        clarke_rows_add_scaled(s.to, s.low, 0x1p-7, s.x, n);
      else if (way == 3)
        clarke_rows_add_digits(s.to, s.low, 0x1p-30, s.digit, n);
      else if (way == 4)
        clarke_rows_add_pairs(s.to, s.low, s.x, s.x_low, n);
      else if (way == 5)
        clarke_rows_add_pair_multiples(s.to, s.low, s.factor, s.x, s.x_low, n);
      else
        clarke_rows_add_products(s.to, s.low, s.x, s.x_low, s.y, s.y_low, n);
      for (size_t i = 0; i < MOST; i++) {
        const clarke_pair was = {r.to[i], r.low[i]}, x = {r.x[i], r.x_low[i]}, y = {r.y[i], r.y_low[i]};
        const clarke_pair now[] = {{was.high + x.high, was.low},
                                   {was.high + r.factor.high * x.high, was.low},
                                   clarke_pair_add_double(was, 0x1p-7 * x.high),
                                   clarke_pair_add_double(was, 0x1p-30 * (double)r.digit[i]),
                                   clarke_pair_add(was, x),
                                   clarke_pair_add(was, clarke_pair_multiply(r.factor, x)),
                                   clarke_pair_add(was, clarke_pair_multiply(x, y))};

        check_pair(s.to[i], s.low[i], i < n ? now[way] : was);
      }
    }
}
END_TEST

/* What is taken where a piece is one, or another. */
START_TEST(pieces_of_rows)
{
  uint64_t state = 2;
  rows r, s;

  for (size_t n = 0; n < MOST; n++)
    for (int way = 0; way < 3; way++) {
      const clarke_branch one = (clarke_branch)draw_between(&state, 0, 2), other = CLARKE_AT(one);

      begin(&r, &state);
      s = r;
      if (way == 0)
        clarke_rows_take(s.to, s.x, s.piece, one, other, n);
      else if (way == 1)
        clarke_rows_add_taken(s.to, s.x, s.piece, one, n);
      else
        clarke_rows_add_taken_pairs(s.to, s.low, s.x, s.x_low, s.piece, one, n);
      for (size_t i = 0; i < MOST; i++) {
        const clarke_pair was = {r.to[i], r.low[i]}, x = {r.x[i], r.x_low[i]};
        const bool is_one = r.piece[i] == one;
        const clarke_pair now[] = {{is_one || r.piece[i] == other ? x.high : 0, was.low},
                                   {is_one ? was.high + x.high : was.high, was.low},
                                   is_one ? clarke_pair_add(was, x) : was};

        check_pair(s.to[i], s.low[i], i < n ? now[way] : was);
      }
    }
}
END_TEST

START_TEST(sizes_of_rows)
{
  uint64_t state = 3;
  rows r;

  for (size_t n = 0; n < MOST; n++) {
    double squares[MOST] = {0}, most = 0, norm, all[2] = {0};
    const size_t wide = 1 + draw_below(&state, MOST / ROWS), stride = wide + draw_below(&state, 1 + (MOST - ROWS * wide) / ROWS);

    begin(&r, &state);
    for (size_t i = 0; i < n; i++)
      most = fmax(most, fabs(r.x[i]));
    ck_assert(clarke_rows_largest(r.x, n) == most);
    if (n > 0) {
      r.x[n / 2] = -INFINITY;
      ck_assert(clarke_rows_largest(r.x, n) == INFINITY);
      r.x[n - 1] = NAN;
      ck_assert(isnan(clarke_rows_largest(r.x, n)));
    }
    begin(&r, &state);
    clarke_rows_add_squares(squares, r.x, stride, ROWS, wide);
    for (size_t j = 0; j < MOST; j++) {
      double is = 0;

      for (size_t i = 0; i < ROWS && j < wide; i++)
        is += r.x[i * stride + j] * r.x[i * stride + j];
      ck_assert_double_le(fabs(squares[j] - is), 0x1p-50 * is);
    }
    for (size_t lanes = 1; lanes <= 2; lanes++) { /* of 7 features and 2 samples */
      all[0] = all[1] = 0;
      for (size_t e = 0; e < 14; e++)
        all[lanes == 1 ? 0 : e % 2] += r.x[e] * r.x[e];
      OK(clarke_largest_norm(&norm, r.x, 7, 2, lanes, &error));
      ck_assert(norm >= sqrt(fmax(all[0], all[1])) && norm <= sqrt(fmax(all[0], all[1])) * (1 + 0x1p-15) + 0x1p-400);
    }
  }
}
END_TEST

/* Digits: what is left is at most half of the unit. */
START_TEST(slices_of_rows)
{
  uint64_t state = 4;
  rows r;

  for (size_t n = 0; n < MOST; n++) {
    const double unit = ldexp(1, (int)draw_between(&state, -10, 30));
    double slice[MOST], high[MOST], low[MOST];
    bool any = false;

    begin(&r, &state);
    memcpy(high, r.x, sizeof high);
    memcpy(low, r.x_low, sizeof low);
    any = clarke_rows_cut(slice, high, low, unit, n);
    for (size_t i = 0; i < n; i++) {
      const clarke_pair back = clarke_pair_add_double((clarke_pair){high[i], low[i]}, slice[i] * unit);

      ck_assert(slice[i] == rint(slice[i]) && fabs(high[i]) <= unit * (0.5 + 0x1p-40));
      ck_assert(back.high == r.x[i] && (any || slice[i] == 0));
    }
  }
}
END_TEST

/* Places in any order, in runs and none. */
START_TEST(gathered_rows)
{
  uint64_t state = 5;

  for (int round = 0; round < 2000; round++) {
    const size_t n = 1 + draw_below(&state, 3), places = 1 + draw_below(&state, 12);
    size_t place[12], run = 1;
    double x[30], to[36];

    for (size_t i = 0; i < 30; i++)
      x[i] = (double)i + 1;
    for (size_t c = 0; c < places; c++) {
      place[c] = draw_below(&state, 3) == 0 ? CLARKE_NONE : draw_below(&state, 10);
      if (c > 0 && place[c - 1] < 9 && draw(&state) & 1)
        place[c] = place[c - 1] + 1;
    }
    while (run < places && (place[0] == CLARKE_NONE ? place[run] == CLARKE_NONE : place[run] == place[0] + run))
      run++;
    ck_assert_uint_eq(clarke_rows_run(place, places), run);
    clarke_rows_gather(to, x, place, places, n);
    for (size_t e = 0; e < places * n; e++)
      ck_assert(to[e] == (place[e / n] == CLARKE_NONE ? 0 : x[place[e / n] * n + e % n]));
  }
}
END_TEST

MODULE(rows)
{
  TCase *tests = tests_of("rows");

  tcase_add_test(tests, sums_of_rows);
  tcase_add_test(tests, pieces_of_rows);
  tcase_add_test(tests, sizes_of_rows);
  tcase_add_test(tests, slices_of_rows);
  tcase_add_test(tests, gathered_rows);
  return all_tests;
}
