/* Elementary functions of programs: order statistics beside all comparisons, values beside formulas, partial derivatives
 * beside differences that are exact for what is at most quadratic. */
#include "../exact/brute.h"

#include "program/elementary.h"
#include "op/operator.h"
#include "exact/literal.h"

#include <stdio.h>

enum { PRECISION = 64, MOST = 5 };

/* --- order statistics ------------------------------------------------------------------------ */

/* Of up to five small numbers, some of them one instruction. */
START_TEST(orders)
{
  clarke_number *value = clarke_numbers(MOST);
  size_t ties = 0;

  brute_state = 3;
  for (size_t k = 0; k < 5000; k++) {
    size_t in[MOST], tied[MOST], n_tied, rank_in_tie, seen = 0, n = (size_t)draw(1, MOST);
    clarke_instruction i = {.kind = CLARKE_DO_ORDER, .n_in = n, .in = in, .rank = (size_t)draw(1, (int)n)};
    int number[MOST];

    for (size_t e = 0; e < MOST; e++) {
      number[e] = draw(-1, 2);
      clarke_number_set_si(&value[e], number[e]);
    }
    for (size_t e = 0; e < n; e++)
      in[e] = (size_t)draw(0, MOST - 1);
    ck_assert(clarke_order_place(tied, &n_tied, &rank_in_tie, &i, value, PRECISION));
    ck_assert_uint_gt(n_tied, 0);
    for (size_t e = 0; e < n; e++) { /* exactly the equal ones, in order; as many are above as the rank says */
      if (number[in[e]] != number[in[tied[0]]])
        continue;
      ck_assert_uint_lt(seen, n_tied);
      ck_assert_uint_eq(tied[seen++], e);
    }
    ck_assert_uint_eq(seen, n_tied);
    seen = 0;
    for (size_t e = 0; e < n; e++)
      seen += number[in[e]] > number[in[tied[0]]];
    ck_assert_uint_eq(seen + rank_in_tie, i.rank);
    ck_assert(rank_in_tie >= 1 && rank_in_tie <= n_tied);
    ties += n_tied > 1;
  }
  ck_assert_uint_gt(ties, 1000);
  clarke_numbers_free(value, MOST);
}
END_TEST

/* 3 is above exp 1; which of two balls of exp 1 is the next is open. */
START_TEST(what_cannot_be_told_is_open)
{
  clarke_number *value = clarke_numbers(3);
  size_t in[] = {0, 1, 2}, tied[3], n_tied, rank_in_tie;
  clarke_instruction i = {.kind = CLARKE_DO_ORDER, .n_in = 3, .in = in, .rank = 1};

  for (size_t e = 0; e < 2; e++) {
    clarke_number_set_si(&value[e], 1);
    ck_assert(clarke_number_analytic(&value[e], NULL, CLARKE_FN_EXP, &value[e], PRECISION));
  }
  clarke_number_set_si(&value[2], 3);
  ck_assert(clarke_order_place(tied, &n_tied, &rank_in_tie, &i, value, PRECISION));
  ck_assert(n_tied == 1 && tied[0] == 2 && rank_in_tie == 1);
  i.rank = 2;
  ck_assert(!clarke_order_place(tied, &n_tied, &rank_in_tie, &i, value, PRECISION));
  ck_assert_int_eq(clarke_branch_place(&i, value, PRECISION), 2);
  in[1] = 2;
  ck_assert_int_eq(clarke_branch_place(&i, value, PRECISION), -1);
  in[1] = 0;
  ck_assert_int_eq(clarke_branch_place(&i, value, PRECISION), 0);
  clarke_numbers_free(value, 3);
}
END_TEST

/* --- pointwise ------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  size_t n_constants, kinks;
  const char *constant[2];
} pointwise[] = {
  {"relu", 0, 1, {NULL}}, {"abs", 0, 1, {NULL}}, {"relu6", 2, 2, {"0", "6"}}, {"hardswish", 0, 2, {NULL}},
  {"hardsigmoid", 2, 2, {"1/6", "1/2"}},
};

/* In 96ths, of x in quarters. */
static long
formula(size_t which, long x)
{
  const long steep = x + 12 < 0 ? 0 : x + 12 > 24 ? 24 : x + 12; /* 24 times clip(x / 6 + 1/2, 0, 1) */

  switch (which) {
  case 0:
    return x > 0 ? 24 * x : 0;
  case 1:
    return x > 0 ? 24 * x : -24 * x;
  case 2:
    return x < 0 ? 0 : x > 24 ? 576 : 24 * x;
  case 3:
    return x * steep;
  default:
    return 4 * steep;
  }
}

/* f on a piece, at x / 4, and its slope. */
static void
on_piece(mpq_t y, mpq_t slope, const clarke_instruction *i, size_t piece, long x)
{
  clarke_number at, value, derivative;

  clarke_number_init(&at);
  clarke_number_init(&value);
  clarke_number_init(&derivative);
  mpq_set_si(y, x, 4);
  mpq_canonicalize(y);
  clarke_number_set_q(&at, y);
  clarke_pointwise_value(&value, slope != NULL ? &derivative : NULL, i, piece, &at, PRECISION);
  ck_assert(value.exact && derivative.exact);
  mpq_set(y, value.q);
  if (slope != NULL)
    mpq_set(slope, derivative.q);
  clarke_number_clear(&at);
  clarke_number_clear(&value);
  clarke_number_clear(&derivative);
}

/* The slope is the exact difference quotient of what is quadratic: f(x + 1) - f(x - 1) = 2 f'(x). */
static void
check_slope(const mpq_t slope, const clarke_instruction *i, size_t piece, long x)
{
  mpq_t up, down, two;

  mpq_inits(up, down, two, NULL);
  on_piece(up, NULL, i, piece, x + 4);
  on_piece(down, NULL, i, piece, x - 4);
  mpq_set_ui(two, 2, 1);
  mpq_sub(up, up, down);
  mpq_div(up, up, two);
  ck_assert(mpq_equal(up, slope));
  mpq_clears(up, down, two, NULL);
}

START_TEST(pieces)
{
  const clarke_spelling *spelling;
  const clarke_op *op = clarke_operator_spelled(pointwise[_i].name, &spelling);
  mpq_t *constant = new_rationals(4), y, slope, left, right;
  size_t at, kinks = 0, last = 0;
  clarke_code p;

  ck_assert_ptr_nonnull(op);
  mpq_inits(y, slope, left, right, NULL);
  clarke_code_init(&p);
  OK(clarke_code_add_input(&p, &at, "x", 1, false, &error));
  for (size_t k = 0; k < pointwise[_i].n_constants; k++)
    ck_assert(clarke_literal_parse(constant[k], pointwise[_i].constant[k]));
  OK(clarke_code_add_pointwise(&p, &at, op, at, pointwise[_i].n_constants, constant, &error));
  for (long x = -40; x <= 40; x++) {
    const clarke_instruction *i = &p.instruction[at];
    clarke_number number;
    size_t piece;
    clarke_place_kind kind;

    clarke_number_init(&number);
    mpq_set_si(y, x, 4);
    mpq_canonicalize(y);
    clarke_number_set_q(&number, y);
    kind = clarke_pointwise_place(&piece, i, &number, PRECISION);
    ck_assert(kind != CLARKE_PLACE_OPEN && piece >= last);
    last = piece;
    on_piece(y, slope, i, piece, x);
    mpq_set_si(left, formula((size_t)_i, x), 96);
    mpq_canonicalize(left);
    ck_assert_msg(mpq_equal(y, left), "%s(%ld/4)", pointwise[_i].name, x);
    check_slope(slope, i, piece, x);
    if (kind == CLARKE_PLACE_KINK) { /* both pieces agree there, their slopes do not */
      clarke_kink_slopes(left, right, i, piece);
      ck_assert(mpq_equal(left, slope));
      on_piece(left, slope, i, piece + 1, x);
      ck_assert(mpq_equal(left, y) && mpq_equal(right, slope));
      clarke_kink_slopes(left, right, i, piece);
      ck_assert(!mpq_equal(left, right));
      kinks++;
    }
    clarke_number_clear(&number);
  }
  ck_assert_uint_eq(kinks, pointwise[_i].kinks);
  ck_assert_uint_eq(last, kinks);
  mpq_clears(y, slope, left, right, NULL);
  clarke_code_clear(&p);
  free_rationals(constant, 4);
}
END_TEST

/* --- smooth ---------------------------------------------------------------------------------- */

/* a b, a / b, |(a, b)| at (3, 4) and where they have no value. */
START_TEST(smooth)
{
  static const clarke_do kind[] = {CLARKE_DO_PRODUCT, CLARKE_DO_QUOTIENT, CLARKE_DO_NORM};
  static const long expected[][3][2] = {{{12, 1}, {4, 1}, {3, 1}}, {{3, 4}, {1, 4}, {-3, 16}}, {{5, 1}, {3, 5}, {4, 5}}};
  clarke_number *value = clarke_numbers(3), *d = clarke_numbers(2);
  const size_t in[] = {0, 1};
  clarke_code p;
  size_t at;
  bool open;
  mpq_t q;

  mpq_init(q);
  clarke_code_init(&p);
  OK(clarke_code_add_input(&p, &at, "x", 2, true, &error));
  OK(clarke_code_add(&p, &at, kind[_i], 2, in, &error));
  clarke_number_set_si(&value[0], 3);
  clarke_number_set_si(&value[1], 4);
  OK(clarke_smooth_value(&value[2], d, &open, &p, at, value, PRECISION, &error));
  ck_assert(!open);
  for (size_t k = 0; k < 3; k++) {
    const clarke_number *x = k == 0 ? &value[2] : &d[k - 1];

    mpq_set_si(q, expected[_i][k][0], (unsigned long)expected[_i][k][1]);
    ck_assert(x->exact && mpq_equal(x->q, q));
  }
  ck_assert(!clarke_norm_at_zero(&p.instruction[at], value));
  clarke_number_set_si(&value[0], 0);
  ck_assert(!clarke_norm_at_zero(&p.instruction[at], value));
  clarke_number_set_si(&value[1], 0);
  ck_assert(clarke_norm_at_zero(&p.instruction[at], value));
  if (kind[_i] == CLARKE_DO_QUOTIENT)
    ck_assert_int_eq(clarke_smooth_value(&value[2], d, &open, &p, at, value, PRECISION, &error), CLARKE_EINPUT);
  mpq_clear(q);
  clarke_code_clear(&p);
  clarke_numbers_free(value, 3);
  clarke_numbers_free(d, 2);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("elementary");
  int failed;

  tcase_add_test(tests, orders);
  tcase_add_test(tests, what_cannot_be_told_is_open);
  tcase_add_loop_test(tests, pieces, 0, (int)(sizeof pointwise / sizeof pointwise[0]));
  tcase_add_loop_test(tests, smooth, 0, 3);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
