/* Means and deviations of groups of digits, beside rationals, and of what Concats moved: what is kept is what would be made anew. */
#include "../suites.h"
#include "sliced.h"

#include "network/pass/slices/moments.h"

enum { A, B, AB, BAB, VALUES };

static const size_t ROWS[VALUES] = {4, 2, 6, 8};

typedef struct {
  clarke_graph g;
  clarke_value values[VALUES];
  clarke_step steps[2], normal[2];
  clarke_operand in[4], read;
  size_t map[4][8];
} joined;

/* Operand o of a step that joins: `rows` rows from `at` on of so many. */
static void
set_operand(joined *j, size_t o, size_t of, size_t at, size_t rows)
{
  for (size_t r = 0; r < 8; r++)
    j->map[o][r] = r >= at && r < at + ROWS[of] && r < rows ? r - at : CLARKE_NONE;
  j->in[o] = (clarke_operand){.value = of, .coef = 1, .map = j->map[o]};
}

/* AB holds A and B, BAB holds B and AB; and two steps that normalize one value. */
static void
join(joined *j)
{
  memset(j, 0, sizeof *j);
  for (size_t v = 0; v < VALUES; v++) {
    j->values[v].count = ROWS[v];
    j->values[v].producer = v < AB ? CLARKE_NONE : v - AB;
  }
  set_operand(j, 0, A, 0, 6);
  set_operand(j, 1, B, 4, 6);
  set_operand(j, 2, B, 0, 8);
  set_operand(j, 3, AB, 2, 8);
  j->steps[0] = (clarke_step){.kind = CLARKE_SUM, .in = j->in, .n_in = 2, .out = AB};
  j->steps[1] = (clarke_step){.kind = CLARKE_SUM, .in = j->in + 2, .n_in = 2, .out = BAB};
  for (size_t k = 0; k < 2; k++) {
    j->normal[k] = (clarke_step){.kind = CLARKE_NORMALIZE, .in = &j->read, .n_in = 1};
    mpq_init(j->normal[k].epsilon);
    mpq_set_ui(j->normal[k].epsilon, k + 1, 4);
  }
  j->g = (clarke_graph){.values = j->values, .n_values = VALUES, .steps = j->steps, .n_steps = 2};
  f.g = &j->g;
}

static void
leave(joined *j)
{
  for (size_t k = 0; k < 2; k++)
    mpq_clear(j->normal[k].epsilon);
  end();
}

/* The digits of the step's operands from 2^low up. */
static void
move(const joined *j, size_t step, long low)
{
  const clarke_step *s = &j->steps[step];
  clarke_sliced *y = &value[s->out];

  OK(clarke_sliced_alloc(&f, y, ROWS[s->out], 4 + 3 * (step + 1), low)); /* at most 3 places below what is moved */
  memset(y->digit, 0, y->planes * y->rows * N * sizeof *y->digit);
  for (size_t k = 0; k < 2; k++)
    for (size_t r = 0; r < y->rows; r++) {
      const clarke_sliced *x = &value[s->in[k].value];
      const size_t from = s->in[k].map[r];

      for (size_t plane = 0; plane < x->planes && from != CLARKE_NONE; plane++)
        if (x->low + WIDTH * (long)plane >= low)
          memcpy(y->digit + ((size_t)((x->low - low) / WIDTH + (long)plane) * y->rows + r) * N, x->digit + (plane * x->rows + from) * N,
                 N * sizeof *y->digit);
    }
}

/* The moments hold for group g of v: 1 / inverse^2 is the variance and epsilon, shift the mean's negative times inverse. */
static void
check_moments(const clarke_moments *m, const clarke_sliced *v, const clarke_step *s, size_t g)
{
  const size_t n = s->grouping.length * N;
  mpq_t sum, square, x, q, off;

  mpq_inits(sum, square, x, q, off, NULL);
  for (size_t e = 0; e < n; e++) {
    of_entry(x, v, g * n + e);
    mpq_add(sum, sum, x);
    mpq_mul(x, x, x);
    mpq_add(square, square, x);
  }
  mpq_set_ui(q, n, 1);
  mpq_div(sum, sum, q);
  mpq_div(square, square, q);
  mpq_mul(x, sum, sum);
  mpq_sub(square, square, x);
  mpq_add(square, square, s->epsilon);
  ck_assert_double_le(m->least * m->least, mpq_get_d(square));
  ck_assert_double_ge(m->least * m->least, mpq_get_d(square) * (1 - 0x1p-40));
  mpfr_get_q(q, m->inverse);
  mpq_mul(sum, sum, q); /* the mean over the deviation */
  mpq_mul(x, q, q);
  mpq_mul(x, x, square);
  mpq_set_ui(off, 1, 1);
  check_within(x, off, 1, 5 - (long)m->bits);
  mpfr_get_q(q, m->shift);
  mpq_neg(q, q);
  mpq_abs(x, sum);
  check_within(q, sum, mpq_get_d(x) * (1 + 0x1p-40), 4 - (long)m->bits);
  mpq_clears(sum, square, x, q, off, NULL);
}

/* Is it kept of what the Concats read? */
static bool
is_of_operand(const clarke_moments *m)
{
  for (size_t v = A; v <= B; v++)
    for (size_t g = 0; f.origin[v].moments != NULL && g < f.origin[v].n; g++)
      if (m == &f.origin[v].moments[g])
        return true;
  return false;
}

/* Every group of a value, of so many rows each; how many of what was joined are kept of what it was joined of. */
static size_t
ask(joined *j, clarke_step *s, size_t v, size_t length, mpfr_prec_t bits)
{
  clarke_origin *origin = f.origin;
  size_t of_operands = 0;

  j->read = (clarke_operand){.value = v};
  s->grouping = (clarke_grouping){.blocks = 1, .groups = ROWS[v] / length, .length = length, .couples = true};
  for (size_t g = 0; g < ROWS[v] / length; g++) {
    clarke_moments own = {0}, anew = {0};
    const clarke_moments *m = clarke_moments_find(&f, s, g, bits, &own);

    ck_assert(m->bits >= bits);
    of_operands += v >= AB && is_of_operand(m);
    check_moments(m, &value[v], s, g);
    f.origin = NULL;
    ck_assert_ptr_eq(clarke_moments_find(&f, s, g, m->bits, &anew), &anew);
    f.origin = origin;
    ck_assert(mpfr_equal_p(m->inverse, anew.inverse) && mpfr_equal_p(m->shift, anew.shift) && m->least == anew.least);
    clarke_moments_clear(&own);
    clarke_moments_clear(&anew);
  }
  return of_operands;
}

START_TEST(kept)
{
  uint64_t state = 17;
  size_t of_operands = 0;

  for (int round = 0; round < 200; round++) {
    const long low = WIDTH * draw_between(&state, -3, 0);
    joined j;

    begin();
    join(&j);
    f.origin = calloc(VALUES, sizeof *f.origin);
    draw_value(&value[A], ROWS[A], 1 + draw_below(&state, 4), low, &state);
    draw_value(&value[B], ROWS[B], 1 + draw_below(&state, 4), WIDTH * draw_between(&state, -3, 0), &state);
    move(&j, 0, WIDTH * draw_between(&state, -3, -1));
    move(&j, 1, WIDTH * draw_between(&state, -3, 0));
    for (size_t v = 0; v < VALUES; v++)
      f.origin[v] = (clarke_origin){.moved = v >= AB, .low = value[v].low};
    for (int turn = 0; turn < 12; turn++) {
      const size_t v = draw_below(&state, VALUES), length = draw_below(&state, 3) > 0 ? 2 : 1;

      of_operands += ask(&j, &j.normal[draw_below(&state, 2)], v, draw_below(&state, 20) == 0 ? ROWS[v] : length, 100 + 50 * (mpfr_prec_t)draw_below(&state, 3));
    }
    clarke_origins_free(f.origin, VALUES);
    leave(&j);
  }
  ck_assert_uint_gt(of_operands, 1000);
}
END_TEST

/* 2^22 entries of digits as large as there are: their products add up to 2^62 a pair of places. */
START_TEST(sums_of_many)
{
  const size_t many = (size_t)1 << 22;
  clarke_moments m = {0};
  joined j;

  begin();
  join(&j);
  plan.width = 21;
  f.n = many;
  f.lanes = 1;
  j.normal[0].grouping = (clarke_grouping){.blocks = 1, .groups = 1, .length = 1, .couples = true};
  OK(clarke_sliced_alloc(&f, &value[A], 1, 3, 0));
  for (size_t e = 0; e < 3 * many; e++)
    value[A].digit[e] = -0x1p20f;
  ck_assert_ptr_eq(clarke_moments_find(&f, &j.normal[0], 0, 100, &m), &m);
  ck_assert_double_eq(mpfr_get_d(m.inverse, MPFR_RNDN), 2);
  ck_assert_double_eq(mpfr_get_d(m.shift, MPFR_RNDN), 0x1p21 * (1 + 0x1p21 + 0x1p42));
  clarke_moments_clear(&m);
  leave(&j);
}
END_TEST

MODULE(slice_moments)
{
  TCase *tests = tests_of("moments of digits");

  tcase_add_test(tests, kept);
  tcase_add_test(tests, sums_of_many);
  return all_tests;
}
