/* No clock decides: on a clock that jumps by an hour whenever it is read, cones have the answers that they have on
 * one that stands still. Work is counted instead, and what it does not suffice for is unknown. */
#include "exact/cone.h"
#include "exact/cone_norm.h"
#include "exact/cone_simplex.h"
#include "samples.h"
#include "../suite.h"

#include <flint/fmpz.h>
#include <glpk.h>
#include <sys/time.h>
#include <time.h>

#define OK(call) ck_assert_int_eq((call), CLARKE_OK)

#define HOUR 3600

static time_t hours, jump; /* in seconds */

static time_t
strike(void)
{
  hours += jump;
  return 1000000000 + hours;
}

int
clock_gettime(clockid_t id, struct timespec *t)
{
  (void)id;
  *t = (struct timespec){.tv_sec = strike()};
  return 0;
}

int
gettimeofday(struct timeval *restrict t, void *restrict zone)
{
  (void)zone;
  *t = (struct timeval){.tv_sec = strike()};
  return 0;
}

time_t
time(time_t *t)
{
  const time_t now = strike();

  if (t != NULL)
    *t = now;
  return now;
}

clock_t
clock(void)
{
  return (clock_t)strike() * CLOCKS_PER_SEC;
}

/* Check measures a test's length by the same clock. */
static void
stand_still(void)
{
  hours = jump = 0;
}

/* m x n, each row turned to the positive side of d = (1, 1, ...), large entries. */
static void
sample_cone(fmpz_mat_t a, slong m, slong n, uint64_t *state)
{
  fmpz_mat_init(a, m, n);
  for (slong i = 0; i < m; i++) {
    fmpz_t sum;

    fmpz_init(sum);
    for (slong j = 0; j < n; j++) {
      fmpz_set_si(fmpz_mat_entry(a, i, j), (slong)(draw(state) >> 17) - (1L << 46));
      fmpz_add(sum, sum, fmpz_mat_entry(a, i, j));
    }
    for (slong j = 0; j < n && fmpz_sgn(sum) < 0; j++)
      fmpz_neg(fmpz_mat_entry(a, i, j), fmpz_mat_entry(a, i, j));
    fmpz_clear(sum);
  }
}

/* Rows 0..4 sum to 2^-60 times row 9: a margin that floats cannot see. */
static void
make_thin(fmpz_mat_t a)
{
  for (slong j = 0; j < fmpz_mat_ncols(a); j++) {
    fmpz *last = fmpz_mat_entry(a, 4, j);

    fmpz_zero(last);
    for (slong i = 0; i < 4; i++)
      fmpz_sub(last, last, fmpz_mat_entry(a, i, j));
    for (slong i = 0; i < 5; i++)
      fmpz_mul_2exp(fmpz_mat_entry(a, i, j), fmpz_mat_entry(a, i, j), 60);
    fmpz_add(last, last, fmpz_mat_entry(a, 9, j));
  }
}

static void
solve(clarke_cone *cone, const fmpz_mat_t a, time_t by)
{
  clarke_cone_init(cone);
  jump = by;
  OK(clarke_cone_solve(cone, a, CLARKE_CONE_WORK, NULL));
  stand_still();
}

static void
assert_same(const clarke_cone *x, const clarke_cone *y)
{
  ck_assert_int_eq(x->answer, y->answer);
  ck_assert(fmpz_mat_equal(x->d, y->d) && fmpz_mat_equal(x->u, y->u));
}

/* 0: answers of a few pivots in floats; 1: of integers alone. */
START_TEST(the_hour_decides_nothing)
{
  uint64_t state = 11;

  for (int round = 0; round < 20; round++) {
    clarke_cone still, jumping;
    fmpz_mat_t a;

    sample_cone(a, 40, 10, &state);
    if (_i == 1)
      make_thin(a);
    solve(&still, a, 0);
    solve(&jumping, a, HOUR);
    ck_assert_int_ne(still.answer, CLARKE_CONE_UNKNOWN);
    assert_same(&still, &jumping);
    clarke_cone_clear(&still);
    clarke_cone_clear(&jumping);
    fmpz_mat_clear(a);
  }
}
END_TEST

/* Each step alone: in floats, and in integers. */
START_TEST(steps_count_their_work)
{
  uint64_t state = 12;
  clarke_cone_floats f;
  clarke_cone_guess little, enough, jumping;
  clarke_cone_answer answer;
  fmpz_mat_t a, d, u;
  bool found, same = true;

  sample_cone(a, 40, 10, &state);
  fmpz_mat_init(d, 10, 1);
  fmpz_mat_init(u, 40, 1);
  OK(clarke_cone_floats_init(&f, a, NULL));
  OK(clarke_cone_guess_init(&little, f.rows, f.cols, NULL));
  OK(clarke_cone_guess_init(&enough, f.rows, f.cols, NULL));
  OK(clarke_cone_guess_init(&jumping, f.rows, f.cols, NULL));
  OK(clarke_cone_simplex(&found, &little, &f, 1e-9, 1, NULL));
  ck_assert(found);
  OK(clarke_cone_simplex(&found, &enough, &f, 1e-9, CLARKE_CONE_WORK, NULL));
  ck_assert(found);
  jump = HOUR;
  OK(clarke_cone_simplex(&found, &jumping, &f, 1e-9, CLARKE_CONE_WORK, NULL));
  ck_assert(found);
  stand_still();
  ck_assert(clarke_cone_round(d, a, &f, enough.x) && !clarke_cone_round(d, a, &f, little.x));
  for (size_t j = 0; j < f.cols; j++)
    same = same && enough.x[j] == jumping.x[j];
  ck_assert(same);
  OK(clarke_cone_norm(&answer, d, u, a, 1, NULL));
  ck_assert_int_eq(answer, CLARKE_CONE_UNKNOWN);
  OK(clarke_cone_norm(&answer, d, u, a, CLARKE_CONE_WORK, NULL));
  ck_assert_int_eq(answer, CLARKE_CONE_FEASIBLE);
  clarke_cone_guess_clear(&little);
  clarke_cone_guess_clear(&enough);
  clarke_cone_guess_clear(&jumping);
  clarke_cone_floats_clear(&f);
  fmpz_mat_clear(a);
  fmpz_mat_clear(d);
  fmpz_mat_clear(u);
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
  TCase *tests = tests_of("clock");
  int failed;

  tcase_add_checked_fixture(tests, NULL, cleanup);
  tcase_add_loop_test(tests, the_hour_decides_nothing, 0, 2);
  tcase_add_test(tests, steps_count_their_work);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
