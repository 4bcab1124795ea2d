/* Values in digits beside rationals: numbers cut, sums of blocks, differences, and the errors that go with them. */
#include "sliced.h"
#include "../suites.h"

#include <math.h>
#include <string.h>

static void
of_digits(mpq_t q, const clarke_digits *d)
{
  mpq_set_ui(q, 0, 1);
  for (size_t k = 0; k < d->planes; k++) {
    ck_assert(fabs(d->digit[k]) <= 1 << (WIDTH - 1) && d->digit[k] == rint(d->digit[k]));
    add_scaled(q, d->digit[k], d->low + WIDTH * (long)k);
  }
}

START_TEST(numbers)
{
  uint64_t state = 1;
  mpq_t q, exact;

  mpq_inits(q, exact, NULL);
  for (int round = 0; round < 3000; round++) {
    const double v = round == 0 ? 0 : draw_number(&state);
    const long low = clarke_slice_grid(draw_between(&state, -150, 40), WIDTH);
    mpfr_t large;
    clarke_digits d;

    ck_assert(low % WIDTH == 0);
    ck_assert(clarke_digits_of_double(&d, v, low, WIDTH));
    mpq_set_d(exact, v);
    of_digits(q, &d);
    check_within(q, exact, 0.5, low);
    ck_assert(d.planes == 0 || d.digit[d.planes - 1] != 0);
    ck_assert(clarke_digits_exactly(&d, v, WIDTH));
    of_digits(q, &d);
    ck_assert(mpq_equal(q, exact));
    ck_assert(v == 0 || (d.digit[0] != 0 && d.low % WIDTH == 0));
    mpfr_init2(large, 200);
    mpfr_set_d(large, v, MPFR_RNDN);
    mpfr_sqr(large, large, MPFR_RNDN);
    mpfr_add_d(large, large, draw_number(&state), MPFR_RNDN);
    ck_assert(clarke_digits_of_mpfr(&d, large, low, WIDTH));
    mpfr_get_q(exact, large);
    of_digits(q, &d);
    check_within(q, exact, 0.5, low);
    mpfr_clear(large);
  }
  mpq_clears(q, exact, NULL);
}
END_TEST

/* Too many digits, and what is no number. */
START_TEST(no_numbers)
{
  clarke_digits d;

  ck_assert(!clarke_digits_of_double(&d, NAN, 0, WIDTH) && !clarke_digits_of_double(&d, INFINITY, 0, WIDTH));
  ck_assert(!clarke_digits_of_double(&d, 0x1p500, -WIDTH * CLARKE_PLANES, WIDTH));
  ck_assert(clarke_digits_of_double(&d, 1, -WIDTH * (CLARKE_PLANES - 2), WIDTH));
  ck_assert_int_eq(clarke_slice_grid(-1, 12), -12);
  ck_assert_int_eq(clarke_slice_grid(-12, 12), -12);
  ck_assert_int_eq(clarke_slice_grid(11, 12), 0);
  ck_assert_int_eq(clarke_slice_grid(12, 12), 12);
  ck_assert(clarke_nearest_integer(2.5) == 2 && clarke_nearest_integer(-3.75) == -4 && clarke_nearest_integer(0x1p50) == 0x1p50);
}
END_TEST

/* y = sum of c_k x_k and a number, on y's places: off by less than two of its lowest. */
START_TEST(blocks)
{
  uint64_t state = 2;
  mpq_t q, exact, c, x;

  mpq_inits(q, exact, c, x, NULL);
  for (int round = 0; round < 300; round++) {
    const size_t rows = 1 + draw_below(&state, 4), len = rows * N;
    const long low = clarke_slice_grid(draw_between(&state, -60, -20), WIDTH);
    clarke_digits coef[2], number, one;
    size_t planes = 1;

    draw_value(&value[0], rows, 1 + draw_below(&state, 4), clarke_slice_grid(draw_between(&state, -40, 0), WIDTH), &state);
    draw_value(&value[1], rows, 1 + draw_below(&state, 4), clarke_slice_grid(draw_between(&state, -40, 0), WIDTH), &state);
    ck_assert(clarke_digits_exactly(&one, 1, WIDTH));
    ck_assert(clarke_digits_of_double(&number, draw_number(&state) * 0x1p-30, low, WIDTH));
    for (size_t k = 0; k < 2; k++) {
      const size_t needed = (ck_assert(clarke_digits_exactly(&coef[k], (double)draw_between(&state, -999, 999) / 64, WIDTH)),
                             clarke_slices_of_product(&f, low, &coef[k], &value[k]));

      planes = needed > planes ? needed : planes;
    }
    planes = number.planes + 2 > planes ? number.planes + 2 : planes;
    OK(clarke_sliced_alloc(&f, &value[2], rows, planes, low));
    clarke_block_begin(&f, planes, len);
    for (size_t k = 0; k < 2; k++)
      clarke_block_add(&f, &value[2], &coef[k], &value[k], 0, len);
    clarke_block_add_number(&f, &value[2], &one, &number, len);
    clarke_block_end(&f, &value[2], 0, len);
    ck_assert(!f.lost);
    for (size_t e = 0; e < len; e++) {
      of_digits(exact, &number);
      for (size_t k = 0; k < 2; k++) {
        of_digits(c, &coef[k]);
        of_entry(x, &value[k], e);
        mpq_mul(c, c, x);
        mpq_add(exact, exact, c);
      }
      of_entry(q, &value[2], e);
      check_within(q, exact, 2, low);
      for (size_t k = 0; k < planes; k++)
        ck_assert(fabsf(value[2].digit[k * len + e]) <= 1 << (WIDTH - 1));
    }
    for (size_t v = 0; v < 3; v++)
      clarke_sliced_drop(&value[v]);
  }
  mpq_clears(q, exact, c, x, NULL);
}
END_TEST

/* y = c x + t at once: the digits that sums make. Where they do not fit it is known to be lost. */
START_TEST(lines)
{
  uint64_t state = 4;

  for (int round = 0; round < 300; round++) {
    const size_t rows = 1 + draw_below(&state, 4), from = draw_below(&state, 3), len = rows * N - from;
    const long low = clarke_slice_grid(draw_between(&state, -60, -20), WIDTH);
    clarke_digits c, t, one;
    size_t planes;

    draw_value(&value[0], rows, 1 + draw_below(&state, 4), clarke_slice_grid(draw_between(&state, -40, 0), WIDTH), &state);
    ck_assert(clarke_digits_exactly(&one, 1, WIDTH));
    ck_assert(clarke_digits_of_double(&t, draw_number(&state) * 0x1p-30, low - WIDTH, WIDTH));
    ck_assert(clarke_digits_exactly(&c, (double)draw_between(&state, -99999, 99999) / 64, WIDTH));
    planes = clarke_slices_of_product(&f, low, &c, &value[0]);
    planes = t.planes + 2 > planes ? t.planes + 2 : planes;
    OK(clarke_sliced_alloc(&f, &value[1], rows, planes, low));
    OK(clarke_sliced_alloc(&f, &value[2], rows, planes, low));
    clarke_block_begin(&f, planes, len);
    clarke_block_add(&f, &value[1], &c, &value[0], from, len);
    clarke_block_add_number(&f, &value[1], &one, &t, len);
    clarke_block_end(&f, &value[1], 0, len);
    clarke_block_line(&f, &value[2], &c, &value[0], &t, from, 0, len);
    ck_assert(!f.lost);
    for (size_t k = 0; k < planes; k++)
      ck_assert_mem_eq(value[1].digit + k * rows * N, value[2].digit + k * rows * N, len * sizeof *value[1].digit);
    value[2].planes = 1 + draw_below(&state, planes); /* too few, as a rule */
    clarke_sliced_trim(&f, &value[1]);
    clarke_block_line(&f, &value[2], &c, &value[0], &t, from, 0, len);
    for (size_t e = 0, k = value[2].planes; k < planes; e = e + 1 < len ? e + 1 : 0, k += e == 0)
      ck_assert(f.lost || value[1].planes <= k || value[1].digit[k * rows * N + e] == 0);
    f.lost = false;
    for (size_t v = 0; v < 3; v++)
      clarke_sliced_drop(&value[v]);
  }
}
END_TEST

/* A sum that does not fit is known to be lost. */
START_TEST(overflows)
{
  clarke_digits c;

  OK(clarke_sliced_alloc(&f, &value[0], 1, 1, 0));
  OK(clarke_sliced_alloc(&f, &value[1], 1, 1, 0));
  for (size_t e = 0; e < N; e++)
    value[0].digit[e] = e == 0 ? 2000 : 0; /* one entry is enough */
  ck_assert(clarke_digits_exactly(&c, 2000, WIDTH));
  clarke_block_begin(&f, 1, N);
  clarke_block_add(&f, &value[1], &c, &value[0], 0, N);
  clarke_block_end(&f, &value[1], 0, N);
  ck_assert(f.lost);
  f.lost = false;
  OK(clarke_sliced_alloc(&f, &value[2], 20, 1, 0));
  OK(clarke_sliced_alloc(&f, &value[3], 20, 1, 0));
  for (size_t e = 0; e < 20 * N; e++) { /* whichever it is */
    const clarke_digits none = {.planes = 0};

    memset(value[2].digit, 0, 20 * N * sizeof *value[2].digit);
    clarke_block_line(&f, &value[3], &c, &value[2], &none, 0, 0, 20 * N);
    ck_assert(!f.lost);
    value[2].digit[e] = 2000;
    clarke_block_line(&f, &value[3], &c, &value[2], &none, 0, 0, 20 * N);
    ck_assert(f.lost);
    f.lost = false;
  }
  clarke_sliced_drop(&value[2]);
  clarke_sliced_drop(&value[3]);
  c.low = 2 * WIDTH; /* above all places that are looked at */
  clarke_block_begin(&f, 1, N);
  clarke_block_add(&f, &value[1], &c, &value[0], 0, N);
  clarke_block_end(&f, &value[1], 0, N);
  ck_assert(f.lost);
  f.lost = false;
  clarke_block_begin(&f, 1, N);
  clarke_block_add_number(&f, &value[1], &c, &c, N);
  clarke_block_end(&f, &value[1], 0, N);
  ck_assert(f.lost);
  f.lost = false;
  ck_assert_int_ne(clarke_sliced_alloc(&f, &value[2], 1, CLARKE_PLANES + 1, 0), CLARKE_OK);
  ck_assert(f.lost);
  f.lost = false;
  ck_assert_int_ne(clarke_sliced_alloc(&f, &value[2], 1, 1, -500), CLARKE_OK);
  ck_assert(f.lost);
  f.lost = false;
}
END_TEST

static void
check_factor(double got, mpq_t exact, int bits)
{
  mpq_t q, part;

  mpq_inits(q, part, NULL);
  mpq_set_d(q, got);
  mpq_sub(q, q, exact);
  mpq_abs(q, q);
  mpq_abs(part, exact);
  mpq_div_2exp(part, part, (mp_bitcnt_t)bits);
  ck_assert(mpq_cmp(q, part) <= 0);
  mpq_clears(q, part, NULL);
}

/* Entries as doubles, and differences, cancel what may, within their factors. */
START_TEST(differences)
{
  uint64_t state = 3;
  mpq_t a, b;

  mpq_inits(a, b, NULL);
  for (int round = 0; round < 1500; round++) {
    const size_t planes = 1 + draw_below(&state, 6), count = 2 * N;
    double to[2 * N];
    clarke_digits c;

    draw_value(&value[0], 2, planes, clarke_slice_grid(draw_between(&state, -60, 0), WIDTH), &state);
    for (size_t k = draw_below(&state, planes + 1); k < planes; k++) /* all but the lowest digits are equal */
      memcpy(value[0].digit + k * count + N, value[0].digit + k * count, N * sizeof(float));
    clarke_sliced_doubles(&f, &value[0], 0, count, to);
    for (size_t e = 0; e < N; e++) {
      of_entry(a, &value[0], e);
      of_entry(b, &value[0], e + N);
      check_factor(to[e], a, 47);
      ck_assert(clarke_digits_of_double(&c, round % 2 == 0 ? to[e] : draw_number(&state) * 0x1p-60, value[0].low, WIDTH));
      if (c.planes <= planes) {
        mpq_t less;

        mpq_init(less);
        of_digits(less, &c);
        mpq_sub(less, a, less);
        check_factor(clarke_sliced_difference(&f, &value[0], e, CLARKE_NONE, &c), less, 44);
        mpq_sub(less, less, b);
        check_factor(clarke_sliced_difference(&f, &value[0], e, e + N, &c), less, 44);
        mpq_clear(less);
      }
      mpq_sub(a, a, b);
      check_factor(clarke_sliced_difference(&f, &value[0], e, e + N, NULL), a, 44);
    }
    clarke_sliced_drop(&value[0]);
  }
  mpq_clears(a, b, NULL);
}
END_TEST

/* Errors of y: those of x grown, and its own, as the norm and as the largest of an entry. */
START_TEST(errors)
{
  uint64_t state = 4;

  for (int round = 0; round < 500; round++) {
    const double norm = fabs(draw_number(&state)), most = fabs(draw_number(&state)), units = 3;
    const size_t rows = 1 + draw_below(&state, 5);

    draw_value(&value[0], 1, 1, 0, &state);
    OK(clarke_sliced_alloc(&f, &value[1], rows, 1, -WIDTH));
    clarke_sliced_bound(&f, &value[1], &value[0], norm, most, units);
    for (size_t j = 0; j < N; j++) {
      const double own = ldexp(units, -WIDTH), x_norm = value[0].norm[j], x_most = value[0].most[j];
      const double by_norm = norm * x_norm + own, by_most = most * x_most + own, least = fmin(by_norm, by_most);

      ck_assert(value[1].most[j] >= least * (1 - 0x1p-50) && value[1].most[j] <= least * (1 + 0x1p-30));
      ck_assert(value[1].norm[j] >= fmin(norm * x_norm + own * sqrt((double)rows), least * sqrt((double)rows)) * (1 - 0x1p-50));
      ck_assert(value[1].norm[j] <= (norm * x_norm + own * sqrt((double)rows)) * (1 + 0x1p-30));
    }
    clarke_sliced_drop(&value[0]);
    clarke_sliced_drop(&value[1]);
  }
}
END_TEST

/* A copy where a later step reads the value, else the value itself; planes of zeros on top go. */
START_TEST(inherited)
{
  uint64_t state = 5;

  draw_value(&value[0], 2, 3, 0, &state);
  last[0] = 7;
  f.step = 6;
  OK(clarke_sliced_inherit(&f, &value[1], 0));
  ck_assert(value[1].digit != value[0].digit && value[1].planes == 3);
  ck_assert_mem_eq(value[1].digit, value[0].digit, 3 * 2 * N * sizeof(float));
  ck_assert_mem_eq(value[1].norm, value[0].norm, N * sizeof(double));
  ck_assert_mem_eq(value[1].most, value[0].most, N * sizeof(double));
  f.step = 7;
  clarke_sliced_drop(&value[1]);
  OK(clarke_sliced_inherit(&f, &value[1], 0));
  ck_assert(value[0].digit == NULL && value[1].planes == 3);
  memset(value[1].digit + 2 * 2 * N, 0, 2 * N * sizeof(float));
  clarke_sliced_trim(&f, &value[1]);
  ck_assert_uint_eq(value[1].planes, 2);
  memset(value[1].digit, 0, 3 * 2 * N * sizeof(float));
  clarke_sliced_trim(&f, &value[1]);
  ck_assert_uint_eq(value[1].planes, 1);
}
END_TEST

MODULE(slice_digits)
{
  TCase *tests = tests_of("digits of slices");

  tcase_add_checked_fixture(tests, begin, end);
  tcase_add_test(tests, numbers);
  tcase_add_test(tests, no_numbers);
  tcase_add_test(tests, blocks);
  tcase_add_test(tests, lines);
  tcase_add_test(tests, overflows);
  tcase_add_test(tests, differences);
  tcase_add_test(tests, errors);
  tcase_add_test(tests, inherited);
  return all_tests;
}
