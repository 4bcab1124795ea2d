/* The point of least norm of a hull against all subsets of its points, its proof, and what too little work gives. */
#include "brute.h"

#include "exact/wolfe.h"

#include <flint/fmpq.h>
#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>

typedef struct {
  fmpz_mat_t s, x;
  fmpq_mat_t weight;
  fmpz_t den;
  bool found;
} search;

static void
search_init(search *w, slong rows, slong cols)
{
  fmpz_mat_init(w->s, rows, cols);
  fmpz_mat_init(w->x, 1, cols);
  fmpq_mat_init(w->weight, rows, 1);
  fmpz_init(w->den);
}

static void
search_clear(search *w)
{
  fmpz_mat_clear(w->s);
  fmpz_mat_clear(w->x);
  fmpq_mat_clear(w->weight);
  fmpz_clear(w->den);
}

/* x / den = sum weight_i s_i, a convex combination, and <x, s_i> den >= <x, x>: then it is least. */
static void
assert_proof(const search *w)
{
  const slong rows = fmpz_mat_nrows(w->s), cols = fmpz_mat_ncols(w->s);
  fmpz_t norm, value;
  fmpq_t sum, term;

  fmpz_init(norm);
  fmpz_init(value);
  fmpq_init(sum);
  fmpq_init(term);
  ck_assert(fmpz_sgn(w->den) > 0);
  for (slong i = 0; i < rows; i++) {
    ck_assert(fmpq_sgn(fmpq_mat_entry(w->weight, i, 0)) >= 0);
    fmpq_add(sum, sum, fmpq_mat_entry(w->weight, i, 0));
  }
  ck_assert(fmpq_is_one(sum));
  for (slong j = 0; j < cols; j++) {
    fmpq_zero(sum);
    for (slong i = 0; i < rows; i++) {
      fmpq_mul_fmpz(term, fmpq_mat_entry(w->weight, i, 0), fmpz_mat_entry(w->s, i, j));
      fmpq_add(sum, sum, term);
    }
    fmpq_mul_fmpz(sum, sum, w->den);
    fmpq_set_fmpz(term, fmpz_mat_entry(w->x, 0, j));
    ck_assert(fmpq_equal(sum, term));
  }
  _fmpz_vec_dot(norm, fmpz_mat_entry(w->x, 0, 0), fmpz_mat_entry(w->x, 0, 0), cols);
  for (slong i = 0; i < rows; i++) {
    _fmpz_vec_dot(value, fmpz_mat_entry(w->x, 0, 0), fmpz_mat_entry(w->s, i, 0), cols);
    fmpz_mul(value, value, w->den);
    ck_assert(fmpz_cmp(value, norm) >= 0);
  }
  fmpz_clear(norm);
  fmpz_clear(value);
  fmpq_clear(sum);
  fmpq_clear(term);
}

/* The rows once each, and the point of their hull nearest to 0 by all subsets. */
static void
assert_least(const search *w)
{
  const size_t dim = (size_t)fmpz_mat_ncols(w->s);
  mpq_t *row = new_rationals(dim), *want = new_rationals(dim), *zero = new_rationals(dim);
  clarke_points points;

  clarke_points_init(&points, dim);
  for (slong i = 0; i < fmpz_mat_nrows(w->s); i++) {
    for (size_t j = 0; j < dim; j++)
      mpq_set_si(row[j], fmpz_get_si(fmpz_mat_entry(w->s, i, (slong)j)), 1);
    OK(clarke_points_add(&points, row, &error));
  }
  nearest(want, &points, SIZE_MAX, zero);
  for (size_t j = 0; j < dim; j++) {
    fmpz_get_mpz(mpq_numref(row[j]), fmpz_mat_entry(w->x, 0, (slong)j));
    fmpz_get_mpz(mpq_denref(row[j]), w->den);
    mpq_canonicalize(row[j]);
  }
  ck_assert(equal_vectors(row, want, dim));
  clarke_points_clear(&points);
  free_rationals(row, dim);
  free_rationals(want, dim);
  free_rationals(zero, dim);
}

/* Small entries make ties, repeated rows and hulls that hold 0 common; a shift makes them rarer. */
START_TEST(against_all_subsets)
{
  brute_state = 1;
  for (int round = 0; round < 300; round++) {
    const slong rows = draw(1, 6), cols = draw(1, 4);
    const int most = draw(1, 5), shift = draw(0, 3);
    search w;

    search_init(&w, rows, cols);
    for (slong i = 0; i < rows; i++)
      for (slong j = 0; j < cols; j++)
        fmpz_set_si(fmpz_mat_entry(w.s, i, j), draw(-most, most) + shift);
    OK(clarke_wolfe(&w.found, w.x, w.den, w.weight, w.s, UINT64_MAX, &error));
    ck_assert(w.found);
    assert_proof(&w);
    assert_least(&w);
    search_clear(&w);
  }
}
END_TEST

/* Entries of hundreds of bits, more rows than a hull of so few dimensions needs. */
START_TEST(large)
{
  flint_rand_t random;

  flint_randinit(random);
  for (int round = 0; round < 20; round++) {
    search w;

    search_init(&w, 25, 6);
    fmpz_mat_randbits(w.s, random, 300);
    for (slong i = 0; i < 25; i++)
      fmpz_setbit(fmpz_mat_entry(w.s, i, 0), 301);
    OK(clarke_wolfe(&w.found, w.x, w.den, w.weight, w.s, UINT64_MAX, &error));
    ck_assert(w.found);
    assert_proof(&w);
    search_clear(&w);
  }
  flint_randclear(random);
}
END_TEST

/* Every amount of work ends with nothing found or with the same answer; from some amount on it is found. */
START_TEST(little_work)
{
  const int entry[4][2] = { { 3, 5 }, { 4, -3 }, { -1, 6 }, { 5, 5 } };
  bool before = false;
  search w;

  search_init(&w, 4, 2);
  for (slong i = 0; i < 4; i++)
    for (slong j = 0; j < 2; j++)
      fmpz_set_si(fmpz_mat_entry(w.s, i, j), entry[i][j]);
  for (uint64_t work = 0; work < 4000; work += 25) {
    OK(clarke_wolfe(&w.found, w.x, w.den, w.weight, w.s, work, &error));
    ck_assert(w.found || !before);
    ck_assert(work != 0 || !w.found);
    before = w.found;
    if (w.found) {
      assert_proof(&w);
      assert_least(&w);
    }
  }
  ck_assert(before);
  search_clear(&w);
}
END_TEST

/* Integers are the rationals times one denominator above 0, the least. */
START_TEST(integers)
{
  brute_state = 2;
  for (int round = 0; round < 100; round++) {
    const slong rows = draw(1, 3), cols = draw(1, 3);
    const size_t n = (size_t)(rows * cols);
    mpq_t *q = new_rationals(n), back;
    fmpz_mat_t m;
    fmpz_t common, divisor;

    fmpz_mat_init(m, rows, cols);
    fmpz_init(common);
    fmpz_init(divisor);
    mpq_init(back);
    for (size_t k = 0; k < n; k++) {
      mpq_set_si(q[k], draw(-9, 9), (unsigned long)draw(1, 12));
      mpq_canonicalize(q[k]);
    }
    clarke_integers(m, common, q);
    ck_assert(fmpz_sgn(common) > 0);
    fmpz_set(divisor, common);
    for (size_t k = 0; k < n; k++) {
      const fmpz *entry = fmpz_mat_entry(m, (slong)k / cols, (slong)k % cols);

      fmpz_get_mpz(mpq_numref(back), entry);
      fmpz_get_mpz(mpq_denref(back), common);
      mpq_canonicalize(back);
      ck_assert(mpq_equal(back, q[k]));
      fmpz_gcd(divisor, divisor, entry);
    }
    ck_assert(fmpz_is_one(divisor));
    mpq_clear(back);
    fmpz_clear(common);
    fmpz_clear(divisor);
    fmpz_mat_clear(m);
    free_rationals(q, n);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("wolfe");
  int failed;

  tcase_add_test(tests, against_all_subsets);
  tcase_add_test(tests, large);
  tcase_add_test(tests, little_work);
  tcase_add_test(tests, integers);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
