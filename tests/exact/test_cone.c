/* Strict cones against Fourier-Motzkin elimination on small systems, and against how they were made
 * on larger ones; every step of the solver apart, on the same systems. */
#include "exact/cone.h"
#include "exact/cone_block.h"
#include "exact/cone_norm.h"
#include "samples.h"
#include "../suite.h"

#include <flint/fmpz.h>
#include <glpk.h>
#include <pthread.h>

#define OK(call) ck_assert_int_eq((call), CLARKE_OK)

/* --- systems --------------------------------------------------------------------------------- */

static void
sample_fmpz(fmpz_t out, uint64_t *state, size_t bits)
{
  mpz_t z;

  mpz_init(z);
  sample_integer(z, state, bits);
  fmpz_set_mpz(out, z);
  mpz_clear(z);
}

static void
sample_system(fmpz_mat_t a, uint64_t *state, size_t bits)
{
  for (slong i = 0; i < fmpz_mat_nrows(a); i++)
    for (slong j = 0; j < fmpz_mat_ncols(a); j++)
      sample_fmpz(fmpz_mat_entry(a, i, j), state, bits);
}

/* Turns every row to the side of a random direction; a row orthogonal to it gets a 1 first. */
static void
make_feasible(fmpz_mat_t a, uint64_t *state)
{
  fmpz_mat_t d, product;

  fmpz_mat_init(d, fmpz_mat_ncols(a), 1);
  fmpz_mat_init(product, fmpz_mat_nrows(a), 1);
  for (slong j = 0; j < fmpz_mat_ncols(a); j++)
    fmpz_set_si(fmpz_mat_entry(d, j, 0), 2 * (slong)draw_below(state, 1001) - 1001);
  fmpz_mat_mul(product, a, d);
  for (slong i = 0; i < fmpz_mat_nrows(a); i++) {
    if (fmpz_is_zero(fmpz_mat_entry(product, i, 0))) {
      fmpz_add_ui(fmpz_mat_entry(a, i, 0), fmpz_mat_entry(a, i, 0), 1);
      fmpz_set(fmpz_mat_entry(product, i, 0), fmpz_mat_entry(d, 0, 0));
    }
    for (slong j = 0; j < fmpz_mat_ncols(a) && fmpz_sgn(fmpz_mat_entry(product, i, 0)) < 0; j++)
      fmpz_neg(fmpz_mat_entry(a, i, j), fmpz_mat_entry(a, i, j));
  }
  fmpz_mat_clear(d);
  fmpz_mat_clear(product);
}

/* Makes the last of the first k rows minus the sum of the others. */
static void
make_sum_zero(fmpz_mat_t a, slong k)
{
  for (slong j = 0; j < fmpz_mat_ncols(a); j++) {
    fmpz *last = fmpz_mat_entry(a, k - 1, j);

    fmpz_zero(last);
    for (slong i = 0; i + 1 < k; i++)
      fmpz_sub(last, last, fmpz_mat_entry(a, i, j));
  }
}

/* --- Fourier-Motzkin ------------------------------------------------------------------------- */

/* Is A d > 0 solvable? Combine each row of positive first entry with each of negative: d's other
 * entries must satisfy those and the rows of zero first entry. A zero row is 0 > 0. */
static bool
solvable(const fmpz_mat_t a)
{
  const slong m = fmpz_mat_nrows(a), n = fmpz_mat_ncols(a);
  slong up = 0, down = 0, next = 0;
  fmpz_mat_t rest;
  bool answer;

  if (n == 0 || m == 0)
    return m == 0;
  for (slong i = 0; i < m; i++) {
    up += fmpz_sgn(fmpz_mat_entry(a, i, 0)) > 0;
    down += fmpz_sgn(fmpz_mat_entry(a, i, 0)) < 0;
  }
  fmpz_mat_init(rest, m - up - down + up * down, n - 1);
  for (slong i = 0; i < m; i++) {
    const fmpz *x = fmpz_mat_entry(a, i, 0);

    for (slong j = 1; j < n && fmpz_is_zero(x); j++)
      fmpz_set(fmpz_mat_entry(rest, next, j - 1), fmpz_mat_entry(a, i, j));
    next += fmpz_is_zero(x);
    for (slong k = 0; k < m && fmpz_sgn(x) > 0; k++) {
      const fmpz *y = fmpz_mat_entry(a, k, 0);

      if (fmpz_sgn(y) >= 0)
        continue;
      for (slong j = 1; j < n; j++) {
        fmpz *entry = fmpz_mat_entry(rest, next, j - 1);

        fmpz_mul(entry, fmpz_mat_entry(a, k, j), x);
        fmpz_submul(entry, fmpz_mat_entry(a, i, j), y);
      }
      next++;
    }
  }
  answer = solvable(rest);
  fmpz_mat_clear(rest);
  return answer;
}

/* --- tests ----------------------------------------------------------------------------------- */

static void
assert_answer(const fmpz_mat_t a, clarke_cone_answer want)
{
  clarke_cone cone;

  clarke_cone_init(&cone);
  OK(clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, NULL));
  ck_assert_int_eq(cone.answer, want);
  ck_assert(clarke_cone_verify(&cone, a));
  clarke_cone_clear(&cone);
}

START_TEST(small_systems)
{
  uint64_t state = 1;
  size_t feasible = 0;

  for (int round = 0; round < 3000; round++) {
    const slong m = (slong)draw_below(&state, 8), n = (slong)draw_below(&state, 5);
    bool want;
    fmpz_mat_t a;

    fmpz_mat_init(a, m, n);
    sample_system(a, &state, round % 4 == 0 ? 60 : 1 + draw_below(&state, 4));
    if (round % 3 == 0 && m > 1)
      make_sum_zero(a, 2 + (slong)draw_below(&state, (size_t)m - 1));
    want = solvable(a);
    feasible += want;
    assert_answer(a, want ? CLARKE_CONE_FEASIBLE : CLARKE_CONE_EMPTY);
    fmpz_mat_clear(a);
  }
  ck_assert_uint_gt(feasible, 300);
  ck_assert_uint_lt(feasible, 2700);
}
END_TEST

/* Every 3 x 2 system over {-1, 0, 1}, and every 2 x 3. */
START_TEST(all_tiny_systems)
{
  for (int shape = 0; shape < 2; shape++)
    for (int code = 0; code < 729; code++) {
      int rest = code;
      fmpz_mat_t a;

      fmpz_mat_init(a, shape ? 3 : 2, shape ? 2 : 3);
      for (slong k = 0; k < 6; k++, rest /= 3)
        fmpz_set_si(fmpz_mat_entry(a, k / fmpz_mat_ncols(a), k % fmpz_mat_ncols(a)), rest % 3 - 1);
      assert_answer(a, solvable(a) ? CLARKE_CONE_FEASIBLE : CLARKE_CONE_EMPTY);
      fmpz_mat_clear(a);
    }
}
END_TEST

/* The least norm and the float program alone, without the cheap certificates before them. */
START_TEST(steps_apart)
{
  uint64_t state = 2;

  for (int round = 0; round < 600; round++) {
    const slong m = 1 + (slong)draw_below(&state, 8), n = 1 + (slong)draw_below(&state, 4);
    clarke_cone_answer want, got;
    fmpz_mat_t a, d, u;

    fmpz_mat_init(a, m, n);
    fmpz_mat_init(d, n, 1);
    fmpz_mat_init(u, m, 1);
    sample_system(a, &state, 1 + draw_below(&state, 50));
    if (round % 3 == 0 && m > 1)
      make_sum_zero(a, 2 + (slong)draw_below(&state, (size_t)m - 1));
    want = solvable(a) ? CLARKE_CONE_FEASIBLE : CLARKE_CONE_EMPTY;
    OK(clarke_cone_norm(&got, d, u, a, CLARKE_CONE_WORK, NULL));
    ck_assert_int_eq(got, want);
    if (!fmpz_mat_is_zero(a)) {
      OK(clarke_cone_block(&got, d, u, a, CLARKE_CONE_WORK, NULL));
      ck_assert_int_eq(got, want);
    }
    fmpz_mat_clear(a);
    fmpz_mat_clear(d);
    fmpz_mat_clear(u);
  }
}
END_TEST

/* 60 x 30 and 24 x 40: planted directions, a planted Gordan vector of all rows and of a few. */
START_TEST(larger_systems)
{
  static const slong shapes[][2] = { { 60, 30 }, { 24, 40 }, { 100, 12 } };
  uint64_t state = 3;

  for (int round = 0; round < 36; round++) {
    const slong m = shapes[round % 3][0], n = shapes[round % 3][1];
    fmpz_mat_t a;

    fmpz_mat_init(a, m, n);
    for (slong k = 0; k < m * n; k++) {
      fmpz *entry = fmpz_mat_entry(a, k / n, k % n);

      fmpz_set_si(entry, (slong)(draw(&state) >> (round % 2 ? 17 : 60)) - (round % 2 ? 1L << 46 : 7));
    }
    if (round / 3 % 2 == 0) {
      make_feasible(a, &state);
      assert_answer(a, CLARKE_CONE_FEASIBLE);
    }
    make_sum_zero(a, round / 6 % 2 ? m : 5);
    assert_answer(a, CLARKE_CONE_EMPTY);
    fmpz_mat_clear(a);
  }
}
END_TEST

/* Rows 0..4 sum to 2^-shift times row 9: the margin a direction can have on them is as thin. */
static void
make_thin(fmpz_mat_t a, int shift)
{
  make_sum_zero(a, 5);
  for (slong j = 0; j < fmpz_mat_ncols(a); j++) {
    for (slong i = 0; i < 5; i++)
      fmpz_mul_2exp(fmpz_mat_entry(a, i, j), fmpz_mat_entry(a, i, j), (ulong)shift);
    fmpz_add(fmpz_mat_entry(a, 4, j), fmpz_mat_entry(a, 4, j), fmpz_mat_entry(a, 9, j));
  }
}

START_TEST(thin_systems)
{
  uint64_t state = 4;

  for (int shift = 10; shift <= 60; shift += 10)
    for (int round = 0; round < 4; round++) {
      clarke_cone_answer want;
      fmpz_mat_t a, d, u;

      fmpz_mat_init(a, 20, 10);
      fmpz_mat_init(d, 10, 1);
      fmpz_mat_init(u, 20, 1);
      for (slong k = 0; k < 200; k++)
        fmpz_set_si(fmpz_mat_entry(a, k / 10, k % 10), (slong)(draw(&state) >> 17) - (1L << 46));
      make_feasible(a, &state);
      make_thin(a, shift);
      OK(clarke_cone_norm(&want, d, u, a, CLARKE_CONE_WORK, NULL));
      ck_assert_int_ne(want, CLARKE_CONE_UNKNOWN);
      assert_answer(a, want);
      fmpz_mat_clear(a);
      fmpz_mat_clear(d);
      fmpz_mat_clear(u);
    }
}
END_TEST

/* (2^shift P, 1) M: floats see P alone, whose rows surround 0. */
static void
make_lifted(fmpz_mat_t a, int shift, uint64_t *state)
{
  const slong cols = fmpz_mat_ncols(a);
  fmpz_mat_t m;

  fmpz_mat_init(m, cols, cols);
  for (slong k = 0; k < cols * cols; k++)
    fmpz_set_si(fmpz_mat_entry(m, k / cols, k % cols), (slong)draw_below(state, 15) - 7);
  for (slong i = 0; i < fmpz_mat_nrows(a); i++)
    for (slong j = 0; j < cols; j++) {
      fmpz_set_si(fmpz_mat_entry(a, i, j), j == 0 ? 1 : (slong)draw_below(state, 2001) - 1000);
      fmpz_mul_2exp(fmpz_mat_entry(a, i, j), fmpz_mat_entry(a, i, j), j == 0 ? 0 : (ulong)shift);
    }
  fmpz_mat_mul(a, a, m);
  fmpz_mat_clear(m);
}

/* Numbers so long that floats see nothing of them: the least norm decides, given some work. */
START_TEST(a_way_out)
{
  const uint64_t work = CLARKE_CONE_WORK / 16;
  uint64_t state = 6;
  clarke_cone_answer answer;
  clarke_cone cone;
  fmpz_mat_t a, d, u;

  clarke_cone_init(&cone);
  fmpz_mat_init(a, 300, 4);
  fmpz_mat_init(d, 4, 1);
  fmpz_mat_init(u, 300, 1);
  make_lifted(a, 4000, &state);
  OK(clarke_cone_norm(&answer, d, u, a, 1000, NULL));
  ck_assert_int_eq(answer, CLARKE_CONE_UNKNOWN);
  OK(clarke_cone_solve(&cone, a, work, NULL));
  ck_assert_int_eq(cone.answer, CLARKE_CONE_FEASIBLE);
  ck_assert(clarke_cone_verify(&cone, a));
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  fmpz_mat_clear(d);
  fmpz_mat_clear(u);
}
END_TEST

/* Many rows of few columns, turned by a direction: lines of slopes 2^shift + i, which floats cannot tell apart from some shift on. One
 * row is turned over, or none. */
static void
make_fan(fmpz_mat_t a, int shift, slong over, uint64_t *state)
{
  const slong between = (slong)draw_below(state, (size_t)fmpz_mat_nrows(a));

  for (slong i = 0; i < fmpz_mat_nrows(a); i++) {
    const slong turn = (i <= between) == (i == over) ? -1 : 1;

    fmpz_one(fmpz_mat_entry(a, i, 0));
    fmpz_mul_2exp(fmpz_mat_entry(a, i, 0), fmpz_mat_entry(a, i, 0), (ulong)shift);
    fmpz_add_si(fmpz_mat_entry(a, i, 0), fmpz_mat_entry(a, i, 0), i);
    fmpz_mul_si(fmpz_mat_entry(a, i, 0), fmpz_mat_entry(a, i, 0), turn);
    fmpz_set_si(fmpz_mat_entry(a, i, 1), turn);
    fmpz_mul_2exp(fmpz_mat_entry(a, i, 1), fmpz_mat_entry(a, i, 1), (ulong)shift);
  }
}

START_TEST(few_rows)
{
  uint64_t state = 8;
  size_t answers[3] = {0};

  for (int round = 0; round < 60; round++) {
    const slong rows = round % 2 == 0 ? 200 : 40, over = round % 3 == 0 ? -1 : (slong)draw_below(&state, (size_t)rows);
    clarke_cone all, some;
    fmpz_mat_t a;

    clarke_cone_init(&all);
    clarke_cone_init(&some);
    fmpz_mat_init(a, rows, 2);
    make_fan(a, 10 * (round % 9), over, &state);
    OK(clarke_cone_solve(&all, a, CLARKE_CONE_WORK, NULL));
    OK(clarke_cone_solve_few(&some, a, (slong)draw_below(&state, (size_t)rows), CLARKE_CONE_WORK, NULL));
    ck_assert_int_eq(some.answer, all.answer);
    ck_assert(clarke_cone_verify(&some, a));
    answers[some.answer]++;
    clarke_cone_clear(&all);
    clarke_cone_clear(&some);
    fmpz_mat_clear(a);
  }
  ck_assert(answers[CLARKE_CONE_FEASIBLE] >= 15 && answers[CLARKE_CONE_EMPTY] >= 15);
}
END_TEST

/* What every answer is verified by. */
START_TEST(verification_is_strict)
{
  static const slong rows[3][2] = {{1, 0}, {-1, 1}, {0, -1}};
  fmpz_mat_t b, d, u;

  fmpz_mat_init(b, 3, 2);
  fmpz_mat_init(d, 2, 1);
  fmpz_mat_init(u, 3, 1);
  for (slong k = 0; k < 6; k++)
    fmpz_set_si(fmpz_mat_entry(b, k / 2, k % 2), rows[k / 2][k % 2]);
  ck_assert(!clarke_cone_gordan(b, u)); /* zeros are no multipliers */
  for (slong k = 0; k < 3; k++)
    fmpz_set_ui(fmpz_mat_entry(u, k, 0), 2);
  ck_assert(clarke_cone_gordan(b, u));
  fmpz_set_ui(fmpz_mat_entry(u, 1, 0), 3);
  ck_assert(!clarke_cone_gordan(b, u));
  for (slong k = 0; k < 3; k++)
    fmpz_set_si(fmpz_mat_entry(u, k, 0), -1);
  ck_assert(!clarke_cone_gordan(b, u));
  fmpz_set_ui(fmpz_mat_entry(d, 0, 0), 1);
  fmpz_set_ui(fmpz_mat_entry(d, 1, 0), 2);
  ck_assert(!clarke_cone_strict(b, d)); /* 1, 1, -2 */
  fmpz_zero(fmpz_mat_entry(b, 2, 1));
  ck_assert(!clarke_cone_strict(b, d)); /* 1, 1, 0 */
  fmpz_one(fmpz_mat_entry(b, 2, 1));
  ck_assert(clarke_cone_strict(b, d));
  fmpz_mat_clear(b);
  fmpz_mat_clear(d);
  fmpz_mat_clear(u);
}
END_TEST

START_TEST(blocks)
{
  uint64_t state = 5;
  clarke_cone cone;
  fmpz_mat_t a;

  clarke_cone_init(&cone);
  fmpz_mat_init(a, 12, 13);
  for (slong block = 0; block < 3; block++)
    for (slong k = 0; k < 16; k++)
      fmpz_set_si(fmpz_mat_entry(a, 4 * block + k / 4, 4 * block + k % 4),
                  1 + (slong)draw_below(&state, 9));
  OK(clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, NULL));
  ck_assert_int_eq(cone.answer, CLARKE_CONE_FEASIBLE);
  ck_assert_uint_eq(cone.blocks, 3);
  ck_assert(fmpz_is_zero(fmpz_mat_entry(cone.d, 12, 0)));
  for (slong j = 4; j < 8; j++) {
    fmpz *entry = fmpz_mat_entry(a, 7, j);

    fmpz_zero(entry);
    for (slong i = 4; i < 7; i++)
      fmpz_submul_ui(entry, fmpz_mat_entry(a, i, j), 3);
  }
  OK(clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, NULL));
  ck_assert_int_eq(cone.answer, CLARKE_CONE_EMPTY);
  ck_assert(fmpz_is_zero(fmpz_mat_entry(cone.u, 0, 0)) && !fmpz_is_zero(fmpz_mat_entry(cone.u, 7, 0)));
  fmpz_mat_clear(a);
  clarke_cone_clear(&cone);
}
END_TEST

/* Repeated rows, multiples, opposite multiples, no rows, no columns. */
START_TEST(degenerate_systems)
{
  const slong rows[][3] = { { 2, -4, 6 }, { 1, -2, 3 }, { 3, 1, 0 }, { -5, 10, -15 } };
  clarke_cone cone;
  fmpz_mat_t a;

  clarke_cone_init(&cone);
  for (slong m = 0; m <= 4; m++) {
    fmpz_mat_init(a, m, 3);
    for (slong k = 0; k < 3 * m; k++)
      fmpz_set_si(fmpz_mat_entry(a, k / 3, k % 3), rows[k / 3][k % 3]);
    assert_answer(a, m < 4 ? CLARKE_CONE_FEASIBLE : CLARKE_CONE_EMPTY);
    fmpz_mat_clear(a);
  }
  fmpz_mat_init(a, 2, 0);
  assert_answer(a, CLARKE_CONE_EMPTY);
  fmpz_mat_clear(a);
  fmpz_mat_init(a, 0, 0);
  assert_answer(a, CLARKE_CONE_FEASIBLE);
  OK(clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, NULL));
  cone.answer = CLARKE_CONE_UNKNOWN;
  ck_assert(!clarke_cone_verify(&cone, a));
  fmpz_mat_clear(a);
  clarke_cone_clear(&cone);
}
END_TEST

/* A thread that ends its solver's memory may begin another, and other threads' stays. */
static void *
solve_and_end(void *seed)
{
  uint64_t state = *(uint64_t *)seed;

  for (int round = 0; round < 10; round++) {
    fmpz_mat_t a;
    clarke_cone cone;

    fmpz_mat_init(a, 6, 4);
    sample_system(a, &state, 5);
    make_feasible(a, &state);
    clarke_cone_init(&cone);
    OK(clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, NULL));
    ck_assert(cone.answer == CLARKE_CONE_FEASIBLE && clarke_cone_verify(&cone, a));
    clarke_cone_clear(&cone);
    fmpz_mat_clear(a);
    if (round % 3 == 2)
      clarke_cone_end_thread();
  }
  clarke_cone_end_thread();
  flint_cleanup();
  return NULL;
}

START_TEST(threads_end)
{
  pthread_t thread[3];
  uint64_t seed[3] = {1, 2, 3}, own = 4;

  for (size_t k = 0; k < 3; k++)
    ck_assert_int_eq(pthread_create(&thread[k], NULL, solve_and_end, &seed[k]), 0);
  solve_and_end(&own);
  for (size_t k = 0; k < 3; k++)
    pthread_join(thread[k], NULL);
  solve_and_end(&own);
}
END_TEST

START_TEST(forged)
{
  clarke_cone cone;
  fmpz_mat_t a;

  clarke_cone_init(&cone);
  fmpz_mat_init(a, 2, 2);
  fmpz_mat_one(a);
  OK(clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, NULL));
  ck_assert(clarke_cone_verify(&cone, a));
  fmpz_zero(fmpz_mat_entry(cone.d, 1, 0));
  ck_assert(!clarke_cone_verify(&cone, a));
  cone.answer = CLARKE_CONE_EMPTY;
  ck_assert(!clarke_cone_verify(&cone, a));
  fmpz_set_si(fmpz_mat_entry(a, 1, 0), -1);
  fmpz_zero(fmpz_mat_entry(a, 1, 1));
  fmpz_one(fmpz_mat_entry(cone.u, 0, 0));
  fmpz_one(fmpz_mat_entry(cone.u, 1, 0));
  ck_assert(clarke_cone_verify(&cone, a));
  fmpz_set_si(fmpz_mat_entry(cone.u, 0, 0), -1);
  fmpz_set_si(fmpz_mat_entry(cone.u, 1, 0), -1);
  ck_assert(!clarke_cone_verify(&cone, a));
  fmpz_mat_clear(a);
  clarke_cone_clear(&cone);
}
END_TEST

static void
cleanup(void)
{
  flint_cleanup_master();
  glp_free_env();
}

int
main(void)
{
  TCase *tests = tests_of("cone");
  int failed;

  tcase_add_checked_fixture(tests, NULL, cleanup);
  tcase_add_test(tests, small_systems);
  tcase_add_test(tests, all_tiny_systems);
  tcase_add_test(tests, steps_apart);
  tcase_add_test(tests, larger_systems);
  tcase_add_test(tests, thin_systems);
  tcase_add_test(tests, a_way_out);
  tcase_add_test(tests, few_rows);
  tcase_add_test(tests, verification_is_strict);
  tcase_add_test(tests, blocks);
  tcase_add_test(tests, degenerate_systems);
  tcase_add_test(tests, forged);
  tcase_add_test(tests, threads_end);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
