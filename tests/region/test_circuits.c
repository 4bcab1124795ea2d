/* Circuits, by trying all small coefficients; and what their clauses force, beside a look at all clauses again and again. */
#include "region/circuits.h"
#include "../draw.h"
#include "../ok.h"
#include "../suites.h"

#include <flint/fmpz_vec.h>
#include <flint/ulong_extras.h>
#include <string.h>

enum { ROWS = 7, MOST = 8 };

static void
draw_rows(clarke_rows *rows, size_t n, size_t dim, long most, uint64_t *state)
{
  fmpz_mat_t integers;

  fmpz_mat_init(integers, (slong)n, (slong)dim);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < dim; j++)
      fmpz_set_si(fmpz_mat_entry(integers, (slong)i, (slong)j), draw_between(state, -most, most));
    if (_fmpz_vec_is_zero(fmpz_mat_entry(integers, (slong)i, 0), (slong)dim))
      fmpz_one(fmpz_mat_entry(integers, (slong)i, 0));
  }
  OK(clarke_rows_init(rows, integers, &error));
  fmpz_mat_clear(integers);
}

static long
entry(const clarke_rows *rows, size_t i, size_t j)
{
  return fmpz_get_si(fmpz_mat_entry(rows->exact, (slong)i, (slong)j));
}

/* How many c in {1..8}^n with sum c_i sign_i r_i = 0 have no common factor; the last of them. Rows of entries up to 2 with one
 * dependency have one of them at most: its entries are minors. */
static size_t
by_trying(long *c, const clarke_rows *rows, const size_t *row, const signed char *sign, size_t n)
{
  size_t found = 0, all = 1;

  for (size_t i = 0; i < n; i++)
    all *= MOST;
  for (size_t k = 0; k < all; k++) {
    long try[3];
    bool zero = true;
    unsigned long common = 0;

    for (size_t i = 0, rest = k; i < n; i++, rest /= MOST) {
      try[i] = 1 + (long)(rest % MOST);
      common = n_gcd(common, (unsigned long)try[i]);
    }
    for (size_t j = 0; j < rows->dim && zero; j++) {
      long sum = 0;

      for (size_t i = 0; i < n; i++)
        sum += try[i] * sign[i] * entry(rows, row[i], j);
      zero = sum == 0;
    }
    if (zero && common == 1) {
      memcpy(c, try, n * sizeof *c);
      found++;
    }
  }
  return found;
}

START_TEST(by_definition)
{
  uint64_t state = 3;
  size_t circuits = 0, several = 0;

  for (int round = 0; round < 3000; round++) {
    const size_t dim = 1 + draw_below(&state, 3), n = 1 + draw_below(&state, 3);
    size_t row[3], found;
    signed char sign[3];
    long c[3] = {0};
    fmpz *value = _fmpz_vec_init(3);
    clarke_rows rows = {0};
    bool is;

    draw_rows(&rows, 4, dim, 2, &state);
    for (size_t i = 0; i < n; i++) {
      row[i] = (i * 3 + (size_t)round) % 4;
      sign[i] = draw(&state) & 1 ? 1 : -1;
    }
    is = clarke_circuit_of(value, &rows, row, sign, n);
    found = by_trying(c, &rows, row, sign, n);
    ck_assert(!is || found == 1);
    for (size_t i = 0; i < n && is; i++)
      ck_assert(fmpz_equal_si(value + i, c[i] * sign[i]));
    if (!is && found > 0) { /* several dependencies: another sign vector has one, too */
      fmpz_mat_t some;

      fmpz_mat_init(some, (slong)n, (slong)dim);
      for (size_t i = 0; i < n; i++)
        _fmpz_vec_set(fmpz_mat_entry(some, (slong)i, 0), fmpz_mat_entry(rows.exact, (slong)row[i], 0), (slong)dim);
      ck_assert_int_lt(fmpz_mat_rank(some), (slong)n - 1);
      fmpz_mat_clear(some);
      several++;
    }
    circuits += is;
    clarke_rows_clear(&rows);
    _fmpz_vec_clear(value, 3);
  }
  ck_assert_uint_gt(circuits, 200);
  ck_assert_uint_gt(several, 20);
}
END_TEST

START_TEST(trails)
{
  clarke_trail t;

  OK(clarke_trail_init(&t, 4, &error));
  clarke_trail_push(&t, 2, -1, CLARKE_CHOSEN);
  clarke_trail_push(&t, 0, 1, 5);
  clarke_trail_push(&t, 3, 1, CLARKE_CHOSEN);
  ck_assert(t.n == 3 && t.row[0] == 2 && t.row[1] == 0 && t.row[2] == 3);
  ck_assert(t.sign[0] == 1 && t.sign[1] == 0 && t.sign[2] == -1 && t.sign[3] == 1);
  ck_assert(t.order[2] == 0 && t.order[0] == 1 && t.circuit[1] == 5 && t.circuit[0] == CLARKE_CHOSEN);
  clarke_trail_cut(&t, 1);
  ck_assert(t.n == 1 && t.sign[0] == 0 && t.sign[3] == 0 && t.sign[2] == -1);
  clarke_trail_push(&t, 3, -1, CLARKE_CHOSEN);
  ck_assert(t.order[3] == 1 && t.row[1] == 3);
  clarke_trail_cut(&t, 0);
  ck_assert(t.n == 0 && t.sign[2] == 0 && t.sign[3] == 0);
  clarke_trail_clear(&t);
  clarke_trail_clear(&t);
}
END_TEST

/* --- clauses --------------------------------------------------------------------------------- */

/* All signs that follow by circuits from those given: a clause whose signs all stand but one. */
static void
close_naively(signed char *sign, const clarke_circuits *c)
{
  for (bool more = true; more;) {
    more = false;
    for (size_t k = 0; k < 2 * c->n; k++) {
      const clarke_circuit *circuit = &c->circuit[k / 2];
      size_t open = 0, at = 0;

      for (size_t i = 0; i < circuit->n; i++) {
        const int wanted = k % 2 == 0 ? fmpz_sgn(circuit->value + i) : -fmpz_sgn(circuit->value + i);
        const int given = circuit->row[i] < c->fixed ? 1 : sign[circuit->row[i]];

        open += given == wanted ? 0 : given == 0 ? 1 : 2;
        at = given == 0 ? i : at;
      }
      if (open == 1) {
        sign[circuit->row[at]] = (signed char)(k % 2 == 0 ? -fmpz_sgn(circuit->value + at) : fmpz_sgn(circuit->value + at));
        more = true;
      }
    }
  }
}

/* The signs of a point that is on no hyperplane, and positive on the fixed rows. */
static bool
draw_signs(signed char *sign, const clarke_rows *rows, size_t fixed, uint64_t *state)
{
  for (int tries = 0; tries < 50; tries++) {
    long x[3];
    bool good = true;

    for (size_t j = 0; j < rows->dim; j++)
      x[j] = draw_between(state, -40, 40);
    for (size_t i = 0; i < rows->n; i++) {
      long sum = 0;

      for (size_t j = 0; j < rows->dim; j++)
        sum += x[j] * entry(rows, i, j);
      sign[i] = (signed char)((sum > 0) - (sum < 0));
      good = good && (i < fixed ? sum > 0 : sum != 0);
    }
    if (good)
      return true;
  }
  return false;
}

/* A circuit among drawn rows, two of them not fixed, if they are one; it is added, and its clauses are looked at. */
static void
add_one(clarke_circuits *c, clarke_trail *t, uint64_t *state)
{
  const size_t n = 2 + draw_below(state, c->rows->dim), known = c->n_clauses, first = draw_below(state, ROWS - n + 1);
  size_t row[ROWS];
  size_t turning = 0;
  signed char sign[ROWS];
  fmpz *value = _fmpz_vec_init(ROWS);

  for (size_t i = 0; i < n; i++) {
    row[i] = first + i;
    turning += row[i] >= c->fixed;
  }
  for (size_t bits = 0; turning >= 2 && bits < (size_t)1 << n; bits++) {
    bool right = true;

    for (size_t i = 0; i < n; i++) {
      sign[i] = bits >> i & 1 ? 1 : -1;
      right = right && (row[i] >= c->fixed || sign[i] > 0);
    }
    if (right && clarke_circuit_of(value, c->rows, row, sign, n)) {
      OK(clarke_circuits_add(c, row, value, n, t, &error));
      ck_assert(_fmpz_vec_equal(c->circuit[c->n - 1].value, value, (slong)n));
      break;
    }
  }
  for (size_t k = known; k < c->n_clauses; k++)
    OK(clarke_circuits_review(c, t, k, &error));
  _fmpz_vec_clear(value, ROWS);
}

static void
visit_from(clarke_circuits *c, clarke_trail *t, size_t from)
{
  for (size_t k = from; k < t->n; k++)
    OK(clarke_circuits_visit(c, t, t->row[k], &error));
}

static void
compare(const clarke_circuits *c, const clarke_trail *t, const signed char *chosen, const signed char *there)
{
  signed char closed[ROWS];

  memcpy(closed, chosen, ROWS);
  close_naively(closed, c);
  for (size_t i = c->fixed; i < ROWS; i++) {
    ck_assert_int_eq(t->sign[i], closed[i]);
    ck_assert(closed[i] == 0 || closed[i] == there[i]);
  }
}

/* One way down, and back to a place above. Circuits come on the way. */
static size_t
walk(clarke_circuits *c, clarke_trail *t, const signed char *there, uint64_t *state)
{
  signed char chosen[ROWS] = {0};
  size_t forced = 0;

  for (size_t step = 0; step < ROWS; step++) {
    const size_t row = draw_below(state, ROWS), from = t->n;

    if (row < c->fixed || t->sign[row] != 0)
      continue;
    clarke_trail_push(t, row, there[row], CLARKE_CHOSEN);
    chosen[row] = there[row];
    visit_from(c, t, from);
    if (draw_below(state, 3) == 0) {
      const size_t before = t->n;

      add_one(c, t, state);
      visit_from(c, t, before);
    }
    compare(c, t, chosen, there);
    forced += t->n - from - 1;
  }
  clarke_trail_cut(t, 0);
  return forced;
}

START_TEST(clauses)
{
  uint64_t state = 4;
  size_t forced = 0;

  for (int round = 0; round < 150; round++) {
    const size_t fixed = draw_below(&state, 3);
    signed char there[ROWS];
    clarke_rows rows = {0};
    clarke_circuits c;
    clarke_trail t;

    draw_rows(&rows, ROWS, 2 + draw_below(&state, 2), 2, &state);
    OK(clarke_circuits_init(&c, &rows, fixed, &error));
    OK(clarke_trail_init(&t, ROWS, &error));
    for (int down = 0; down < 12; down++)
      if (draw_signs(there, &rows, fixed, &state))
        forced += walk(&c, &t, there, &state);
    clarke_trail_clear(&t);
    clarke_circuits_clear(&c);
    clarke_circuits_clear(&c);
    clarke_rows_clear(&rows);
  }
  ck_assert_uint_gt(forced, 500);
}
END_TEST

MODULE(circuits)
{
  TCase *tests = tests_of("circuits");

  tcase_add_test(tests, by_definition);
  tcase_add_test(tests, trails);
  tcase_add_test(tests, clauses);
  return all_tests;
}
