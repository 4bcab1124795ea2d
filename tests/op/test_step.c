/* What can be told of a step by itself: slopes of its pieces by differences, and what each kind is. */
#include "op/step.h"
#include "../draw.h"
#include "../suite.h"

static void
pieces_init(clarke_pieces *p, size_t n_kinks)
{
  *p = (clarke_pieces){.n_kinks = n_kinks, .slope = CLARKE_NONE};
  for (size_t k = 0; k < n_kinks; k++) {
    mpq_init(p->kink[k]);
    mpq_set_si(p->kink[k], (long)k, 1);
  }
  for (size_t i = 0; i <= n_kinks; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_init(p->coef[i][c]);
}

static void
pieces_clear(clarke_pieces *p)
{
  for (size_t k = 0; k < p->n_kinks; k++)
    mpq_clear(p->kink[k]);
  for (size_t i = 0; i <= p->n_kinks; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_clear(p->coef[i][c]);
}

static void
draw_rational(mpq_t q, uint64_t *state)
{
  mpq_set_si(q, draw_between(state, -30, 30), (unsigned long)draw_between(state, 1, 9));
  mpq_canonicalize(q);
}

static void
value_at(mpq_t y, const clarke_pieces *p, size_t piece, const mpq_t x)
{
  mpq_set(y, p->coef[piece][2]);
  for (size_t c = 2; c-- > 0;) {
    mpq_mul(y, y, x);
    mpq_add(y, y, p->coef[piece][c]);
  }
}

/* Of a parabola (f(x + h) - f(x - h)) / 2h is the slope at x, whatever h. */
START_TEST(slopes_are_differences)
{
  uint64_t state = 1;
  clarke_pieces p;
  mpq_t x, h, slope, above, below, rise, fall;

  pieces_init(&p, 2);
  mpq_inits(x, h, slope, above, below, rise, fall, NULL);
  for (int round = 0; round < 500; round++) {
    const size_t piece = draw_below(&state, 3);

    for (size_t c = 0; c < 3; c++)
      draw_rational(p.coef[piece][c], &state);
    draw_rational(x, &state);
    draw_rational(h, &state);
    if (mpq_sgn(h) == 0)
      continue;
    clarke_pieces_slope(slope, &p, piece, x);
    mpq_add(above, x, h);
    mpq_sub(below, x, h);
    value_at(rise, &p, piece, above);
    value_at(fall, &p, piece, below);
    mpq_sub(rise, rise, fall);
    mpq_div(rise, rise, h);
    mpq_div_2exp(rise, rise, 1);
    ck_assert(mpq_equal(slope, rise));
  }
  mpq_clears(x, h, slope, above, below, rise, fall, NULL);
  pieces_clear(&p);
}
END_TEST

START_TEST(valid_pieces)
{
  clarke_pieces p;

  pieces_init(&p, 2);
  ck_assert(clarke_pieces_are_valid(&p));
  mpq_set_ui(p.kink[1], 0, 1); /* as the one before */
  ck_assert(!clarke_pieces_are_valid(&p));
  mpq_set_ui(p.kink[1], 2, 4); /* not in lowest terms */
  ck_assert(!clarke_pieces_are_valid(&p));
  mpq_canonicalize(p.kink[1]);
  ck_assert(clarke_pieces_are_valid(&p));
  mpz_set_si(mpq_denref(p.coef[2][1]), -1);
  ck_assert(!clarke_pieces_are_valid(&p));
  mpz_set_si(mpq_denref(p.coef[2][1]), 1);
  p.n_kinks = CLARKE_MAX_KINKS + 1;
  ck_assert(!clarke_pieces_are_valid(&p));
  p.n_kinks = 2;
  pieces_clear(&p);
}
END_TEST

START_TEST(kinds)
{
  static const struct {
    clarke_step_kind kind;
    clarke_function function;
    bool kinks, analytic, domain, ends, jumps;
  } is[] = {
    {CLARKE_GATHER, 0, false, false, false, false, false},
    {CLARKE_SUM, 0, false, false, false, false, false},
    {CLARKE_SCALE, CLARKE_SQRT, false, false, false, false, false},
    {CLARKE_DENSE, 0, false, false, false, false, false},
    {CLARKE_PIECEWISE, 0, true, false, false, true, false},
    {CLARKE_MAX, 0, true, false, false, true, false},
    {CLARKE_ANALYTIC, CLARKE_EXP, false, true, false, true, false},
    {CLARKE_ANALYTIC, CLARKE_ELU, false, true, false, true, false},
    {CLARKE_ANALYTIC, CLARKE_RECIPROCAL, false, true, true, true, false},
    {CLARKE_ANALYTIC, CLARKE_SQRT, false, true, true, true, false},
    {CLARKE_ANALYTIC, CLARKE_LOG, false, true, true, true, false},
    {CLARKE_ANALYTIC, CLARKE_ABOVE, false, true, true, true, true},
    {CLARKE_ANALYTIC, CLARKE_TRUNCATE, false, true, true, true, true},
    {CLARKE_SUM, CLARKE_FLOOR, false, false, false, false, false},
    {CLARKE_SOFTMAX, 0, false, true, false, true, false},
    {CLARKE_NORMALIZE, 0, false, true, false, true, false},
    {CLARKE_PRODUCT, 0, false, false, false, true, false},
  };

  for (size_t i = 0; i < sizeof is / sizeof is[0]; i++) {
    const clarke_step s = {.kind = is[i].kind, .function = is[i].function};

    ck_assert(clarke_step_has_kinks(&s) == is[i].kinks);
    ck_assert(clarke_step_is_analytic(&s) == is[i].analytic);
    ck_assert(clarke_step_has_domain(&s) == is[i].domain);
    ck_assert(clarke_step_ends_layer(&s) == is[i].ends);
    ck_assert(clarke_step_jumps(&s) == is[i].jumps);
  }
}
END_TEST

/* Its first piece decides: 0 + 0 x + 0 x^2, and no slope from elsewhere. */
START_TEST(beginnings)
{
  static const struct {
    int coef[3];
    size_t slope;
    bool zero;
  } is[] = {
    {{0, 0, 0}, CLARKE_NONE, true}, {{0, 0, 0}, 3, false}, {{1, 0, 0}, CLARKE_NONE, false}, {{0, -1, 0}, CLARKE_NONE, false}, {{0, 0, 2}, CLARKE_NONE, false},
  };

  for (size_t i = 0; i < sizeof is / sizeof is[0]; i++) {
    clarke_step s = {.kind = CLARKE_PIECEWISE, .pieces = {.n_kinks = 1, .slope = is[i].slope}};

    for (size_t d = 0; d < 3; d++) {
      mpq_init(s.pieces.coef[0][d]);
      mpq_set_si(s.pieces.coef[0][d], is[i].coef[d], 1);
    }
    ck_assert(clarke_step_begins_with_zero(&s) == is[i].zero);
    s.kind = CLARKE_MAX;
    ck_assert(!clarke_step_begins_with_zero(&s));
    for (size_t d = 0; d < 3; d++)
      mpq_clear(s.pieces.coef[0][d]);
  }
}
END_TEST

/* By a product's factors, every pair (row, inner), (inner, column) of a block is met once. */
START_TEST(factors)
{
  size_t map[] = { 3, CLARKE_NONE, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
  clarke_operand in[2] = {{.map = map}, {0}};
  const clarke_step s = {.kind = CLARKE_PRODUCT, .in = in, .contraction = {.blocks = 2, .rows = 3, .inner = 2, .cols = 5}};
  size_t f = 0;

  for (size_t b = 0; b < 2; b++)
    for (size_t i = 0; i < 3; i++)
      for (size_t j = 0; j < 5; j++, f++)
        for (size_t k = 0; k < 2; k++) {
          ck_assert_uint_eq(clarke_step_factor(&s, 0, f, k), map[b * 6 + i * 2 + k]);
          ck_assert_uint_eq(clarke_step_factor(&s, 1, f, k), b * 10 + k * 5 + j);
        }
  ck_assert_uint_eq(clarke_operand_entry(&in[0], 1), CLARKE_NONE);
  ck_assert_uint_eq(clarke_operand_entry(&in[1], 9), 9);
}
END_TEST

/* c is 0; or, under a root, c + epsilon is not above 0. */
START_TEST(bad_divisors)
{
  double real[] = { 2, -0.25, 0 };
  clarke_value value = {.count = 3, .real = real};
  clarke_operand in[2] = {{0}, {0}};
  clarke_graph g = {.values = &value};
  clarke_step s = {.kind = CLARKE_SCALE, .in = in};

  ck_assert_uint_eq(clarke_step_bad_divisor(&g, &s), CLARKE_NONE); /* it multiplies */
  s.divide = true;
  ck_assert_uint_eq(clarke_step_bad_divisor(&g, &s), 2);
  s.root = true;
  mpq_init(s.epsilon);
  mpq_set_ui(s.epsilon, 1, 4);
  ck_assert_uint_eq(clarke_step_bad_divisor(&g, &s), 1); /* exactly 0 */
  mpq_set_ui(s.epsilon, 1, 3);
  ck_assert_uint_eq(clarke_step_bad_divisor(&g, &s), CLARKE_NONE);
  mpq_clear(s.epsilon);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("step");

  tcase_add_test(tests, slopes_are_differences);
  tcase_add_test(tests, valid_pieces);
  tcase_add_test(tests, kinds);
  tcase_add_test(tests, beginnings);
  tcase_add_test(tests, factors);
  tcase_add_test(tests, bad_divisors);
  return run_tests();
}
