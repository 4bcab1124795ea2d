/* Signs of products with rows, beside integers, where doubles tell them and where they cannot; and rows as unit vectors. */
#include "region/rows.h"
#include "../draw.h"
#include "../ok.h"
#include "../suites.h"

#include <flint/fmpz_vec.h>
#include <math.h>

/* Up to 2^bits, of either sign. */
static void
draw_integer(fmpz_t x, uint64_t *state, size_t bits)
{
  fmpz_zero(x);
  for (size_t k = 0; k <= bits / 60; k++) {
    fmpz_mul_2exp(x, x, 60);
    fmpz_add_ui(x, x, draw(state) >> 4);
  }
  fmpz_fdiv_r_2exp(x, x, draw_below(state, bits + 1));
  if (draw(state) & 1)
    fmpz_neg(x, x);
}

static void
draw_matrix(fmpz_mat_t to, uint64_t *state, size_t bits)
{
  for (slong i = 0; i < fmpz_mat_nrows(to); i++)
    for (slong j = 0; j < fmpz_mat_ncols(to); j++)
      draw_integer(fmpz_mat_entry(to, i, j), state, bits);
}

/* A column that the row is 0 on, or nearly: two entries make up for each other. */
static void
make_orthogonal(fmpz_mat_t column, const fmpz *row, size_t dim, uint64_t *state)
{
  const size_t a = draw_below(state, dim), b = (a + 1) % dim;

  fmpz_mat_zero(column);
  if (a != b) {
    fmpz_set(fmpz_mat_entry(column, (slong)a, 0), row + b);
    fmpz_neg(fmpz_mat_entry(column, (slong)b, 0), row + a);
  }
  fmpz_add_si(fmpz_mat_entry(column, (slong)a, 0), fmpz_mat_entry(column, (slong)a, 0), draw_between(state, -1, 1));
}

static void
check_signs(const clarke_rows *rows, const fmpz_mat_t column, clarke_witness *w, clarke_witness *copy)
{
  const slong dim = (slong)rows->dim;
  fmpz_t value, entry;

  fmpz_init(value);
  fmpz_init(entry);
  clarke_witness_set_exact(w, column);
  clarke_witness_set(copy, w, rows->dim);
  for (slong j = 0; j < dim; j++) {
    clarke_witness_get(entry, copy, (size_t)j);
    ck_assert(fmpz_equal(entry, fmpz_mat_entry(column, j, 0)));
    ck_assert(isfinite(w->x[j]));
  }
  for (size_t i = 0; i < rows->n; i++) {
    fmpz_zero(value);
    for (slong j = 0; j < dim; j++)
      fmpz_addmul(value, fmpz_mat_entry(rows->exact, (slong)i, j), fmpz_mat_entry(column, j, 0));
    ck_assert_int_eq(clarke_rows_sign(rows, i, w), fmpz_sgn(value));
    ck_assert_int_eq(clarke_rows_sign(rows, i, copy), fmpz_sgn(value));
  }
  fmpz_clear(value);
  fmpz_clear(entry);
}

START_TEST(signs)
{
  static const size_t sizes[] = {2, 20, 52, 53, 60, 300, 3000};
  uint64_t state = 1;

  for (int round = 0; round < 300; round++) {
    const size_t dim = 1 + draw_below(&state, 5), bits = sizes[draw_below(&state, 7)];
    fmpz_mat_t integers, column;
    clarke_rows rows = {0};
    clarke_witness w = {0}, copy = {0};

    fmpz_mat_init(integers, 4, (slong)dim);
    fmpz_mat_init(column, (slong)dim, 1);
    draw_matrix(integers, &state, bits);
    for (slong i = 0; i < 4; i++)
      fmpz_add_ui(fmpz_mat_entry(integers, i, 0), fmpz_mat_entry(integers, i, 0), fmpz_is_zero(fmpz_mat_entry(integers, i, 0)));
    OK(clarke_rows_init(&rows, integers, &error));
    OK(clarke_witness_init(&w, dim, &error));
    OK(clarke_witness_init(&copy, dim, &error));
    draw_matrix(column, &state, sizes[draw_below(&state, 7)]);
    check_signs(&rows, column, &w, &copy);
    for (size_t i = 0; i < rows.n; i++) {
      make_orthogonal(column, fmpz_mat_entry(integers, (slong)i, 0), dim, &state);
      check_signs(&rows, column, &w, &copy);
    }
    clarke_witness_clear(&w);
    clarke_witness_clear(&copy);
    clarke_rows_clear(&rows);
    clarke_rows_clear(&rows);
    fmpz_mat_clear(integers);
    fmpz_mat_clear(column);
  }
}
END_TEST

/* |unit_j r_k - unit_k r_j| is within 2^-50 of either product: the factor that entries share may be any number near 1. */
static void
check_unit(const fmpz *row, const double *unit, size_t dim)
{
  const flint_bitcnt_t most = _fmpz_vec_max_bits(row, (slong)dim) < 0 ? (flint_bitcnt_t)-_fmpz_vec_max_bits(row, (slong)dim)
                                                                       : (flint_bitcnt_t)_fmpz_vec_max_bits(row, (slong)dim);
  size_t big = 0;
  double norm = 0;
  mpq_t a, b, r;

  mpq_inits(a, b, r, NULL);
  for (size_t j = 0; j < dim; j++)
    big = fmpz_bits(row + j) == most ? j : big;
  for (size_t j = 0; j < dim; j++) {
    norm += unit[j] * unit[j];
    if (fmpz_bits(row + j) + 899 < most) {
      ck_assert(unit[j] == 0);
      continue;
    }
    mpq_set_d(a, unit[j]);
    fmpz_get_mpz(mpq_numref(r), row + big);
    mpq_mul(a, a, r);
    mpq_set_d(b, unit[big]);
    fmpz_get_mpz(mpq_numref(r), row + j);
    mpq_mul(b, b, r);
    mpq_sub(a, a, b);
    mpq_abs(a, a);
    mpq_abs(b, b);
    mpq_div_2exp(b, b, 50);
    ck_assert(mpq_cmp(a, b) <= 0);
  }
  ck_assert_double_eq_tol(norm, 1, 1e-14);
  mpq_clears(a, b, r, NULL);
}

START_TEST(units)
{
  static const size_t sizes[] = {2, 53, 100, 1000, 5000};
  uint64_t state = 2;

  for (int round = 0; round < 300; round++) {
    const size_t dim = 1 + draw_below(&state, 6);
    fmpz *row = _fmpz_vec_init((slong)dim);
    double unit[6];

    for (size_t j = 0; j < dim; j++)
      draw_integer(row + j, &state, sizes[draw_below(&state, 5)]);
    if (_fmpz_vec_is_zero(row, (slong)dim))
      fmpz_one(row);
    clarke_unit(unit, row, dim);
    check_unit(row, unit, dim);
    _fmpz_vec_clear(row, (slong)dim);
  }
}
END_TEST

/* What rows_init keeps: each row's own units. */
START_TEST(own_units)
{
  clarke_rows rows = {0};
  fmpz_mat_t integers;

  fmpz_mat_init(integers, 2, 2);
  fmpz_set_si(fmpz_mat_entry(integers, 0, 0), 3);
  fmpz_set_si(fmpz_mat_entry(integers, 0, 1), -4);
  fmpz_set_si(fmpz_mat_entry(integers, 1, 1), 7);
  OK(clarke_rows_init(&rows, integers, &error));
  ck_assert_double_eq_tol(clarke_rows_unit(&rows, 0)[0], 0.6, 1e-15);
  ck_assert_double_eq_tol(clarke_rows_unit(&rows, 0)[1], -0.8, 1e-15);
  ck_assert_double_eq(clarke_rows_unit(&rows, 1)[0], 0);
  ck_assert_double_eq(clarke_rows_unit(&rows, 1)[1], 1);
  clarke_rows_clear(&rows);
  fmpz_mat_clear(integers);
}
END_TEST

MODULE(rows)
{
  TCase *tests = tests_of("rows");

  tcase_add_test(tests, signs);
  tcase_add_test(tests, units);
  tcase_add_test(tests, own_units);
  return all_tests;
}
