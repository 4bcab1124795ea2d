/* Ranks against FLINT's, on matrices of planted rank, and what a forged certificate must not pass. */
#include "exact/rank_inside.h"
#include "samples.h"
#include "../suite.h"

#include <flint/nmod_mat.h>
#include <flint/ulong_extras.h>
#include <math.h>

#define OK(call) ck_assert_int_eq((call), CLARKE_OK)

/* rows x cols of the given rank at most: a product of random factors, with gaps of zeros. */
static void
sample_low_rank(clarke_matrix *m, size_t rows, size_t cols, size_t rank, size_t bits,
                uint64_t *state)
{
  clarke_matrix a, b;
  mpz_t z;

  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  mpz_init(z);
  OK(clarke_matrix_resize(&a, rows, rank, 1, NULL));
  OK(clarke_matrix_resize(&b, rank, cols, 1, NULL));
  for (size_t k = 0; k < rows * rank; k++) {
    sample_integer(z, state, bits);
    OK(clarke_matrix_store(&a, k / rank, k % rank, z, NULL));
  }
  for (size_t k = 0; k < rank * cols; k++) {
    sample_integer(z, state, bits);
    OK(clarke_matrix_store(&b, k / cols, k % cols, z, NULL));
  }
  OK(clarke_matrix_mul(m, &a, &b, NULL));
  mpz_clear(z);
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
}

/* --- the certificate, by other routes: a determinant; the sliced product; the rank of the null vectors --- */

/* Is the minor on the pivots invertible modulo the prime? */
static bool
minor_invertible(const clarke_rank *r, const clarke_matrix *a)
{
  uint64_t *residue = malloc((a->rows * a->cols + 1) * sizeof *residue);
  bool good = residue != NULL;
  nmod_mat_t minor;

  if (!good)
    return false;
  clarke_matrix_residues(residue, a, r->prime);
  nmod_mat_init(minor, (slong)r->rank, (slong)r->rank, r->prime);
  for (size_t i = 0; i < r->rank && good; i++)
    for (size_t j = 0; j < r->rank && good; j++) {
      good = r->row[i] < a->rows && r->col[j] < a->cols;
      if (good)
        nmod_mat_entry(minor, (slong)i, (slong)j) = residue[r->row[i] * a->cols + r->col[j]];
    }
  good = good && nmod_mat_det(minor) != 0;
  nmod_mat_clear(minor);
  free(residue);
  return good;
}

/* Are all columns independent? */
static bool
columns_independent(const fmpz_mat_t m)
{
  nmod_mat_t modular;
  slong rank;

  nmod_mat_init(modular, fmpz_mat_nrows(m), fmpz_mat_ncols(m), UWORD(2147483647));
  fmpz_mat_get_nmod_mat(modular, m);
  rank = nmod_mat_rank(modular);
  nmod_mat_clear(modular);
  return rank == fmpz_mat_ncols(m) || fmpz_mat_rank(m) == fmpz_mat_ncols(m);
}

/* Is A null = 0, by the exact product of matrices? */
static bool
product_is_zero(const clarke_matrix *a, const fmpz_mat_t null)
{
  clarke_matrix n, product;
  bool zero;

  clarke_matrix_init(&n);
  clarke_matrix_init(&product);
  zero = clarke_matrix_set_fmpz_mat(&n, null, NULL) == CLARKE_OK
         && clarke_matrix_mul(&product, a, &n, NULL) == CLARKE_OK
         && clarke_matrix_bits(&product) == 0;
  clarke_matrix_clear(&n);
  clarke_matrix_clear(&product);
  return zero;
}

static bool
rank_holds(const clarke_rank *r, const clarke_matrix *a)
{
  const size_t full = a->rows < a->cols ? a->rows : a->cols;

  if (!r->known || a->radius != NULL || r->rank > full || r->prime >= (uint64_t)1 << 31
      || !n_is_prime(r->prime))
    return false;
  if (r->rank > 0 && !minor_invertible(r, a))
    return false;
  if (r->rank == full)
    return true;
  return fmpz_mat_nrows(r->null) == (slong)a->cols
         && fmpz_mat_ncols(r->null) == (slong)(a->cols - r->rank)
         && columns_independent(r->null) && product_is_zero(a, r->null);
}

static void
assert_rank(clarke_rank *r, const clarke_matrix *m, size_t want)
{
  OK(clarke_rank_compute(r, m, NULL));
  ck_assert(r->known);
  ck_assert_uint_eq(r->rank, want);
  ck_assert(n_is_prime(r->prime));
  ck_assert(rank_holds(r, m));
}

START_TEST(against_flint)
{
  uint64_t state = 1;
  clarke_matrix m;
  clarke_rank r;

  clarke_matrix_init(&m);
  clarke_rank_init(&r);
  for (int round = 0; round < 400; round++) {
    const size_t rows = draw_below(&state, 9), cols = draw_below(&state, 9);
    fmpz_mat_t f;

    sample_low_rank(&m, rows, cols, 1 + draw_below(&state, 8), 1 + draw_below(&state, 90),
                    &state);
    fmpz_mat_init(f, (slong)rows, (slong)cols);
    clarke_matrix_get_fmpz_mat(f, &m);
    assert_rank(&r, &m, (size_t)fmpz_mat_rank(f));
    fmpz_mat_clear(f);
  }
  clarke_matrix_clear(&m);
  clarke_rank_clear(&r);
}
END_TEST

/* A multiple of the first primes tried has no rank modulo them. */
START_TEST(unlucky_primes)
{
  clarke_matrix m;
  clarke_rank r;
  mpz_t z;

  clarke_matrix_init(&m);
  clarke_rank_init(&r);
  mpz_init_set_ui(z, 1073741789u);
  OK(clarke_matrix_resize(&m, 3, 2, 1, NULL));
  OK(clarke_matrix_store(&m, 0, 0, z, NULL));
  m.word[3] = 1;
  assert_rank(&r, &m, 2);
  mpz_mul_ui(z, z, 1073741783u);
  OK(clarke_matrix_store(&m, 0, 0, z, NULL));
  assert_rank(&r, &m, 2);
  mpz_mul_ui(z, z, 1073741741u);
  mpz_mul_ui(z, z, 1073741723u);
  OK(clarke_matrix_store(&m, 0, 0, z, NULL));
  OK(clarke_rank_compute(&r, &m, NULL));
  ck_assert(!r.known && !rank_holds(&r, &m));
  mpz_clear(z);
  clarke_matrix_clear(&m);
  clarke_rank_clear(&r);
}
END_TEST

/* Null vectors that are small modulo the prime but not over the integers. */
START_TEST(false_lifts)
{
  const uint64_t p = 1073741789u;
  clarke_matrix m;
  clarke_rank r;

  clarke_matrix_init(&m);
  clarke_rank_init(&r);
  OK(clarke_matrix_resize(&m, 3, 3, 1, NULL));
  for (uint64_t i = 0; i < 3; i++) {
    m.word[3 * i] = i + 1;
    m.word[3 * i + 1] = (i + 1) * (p + 1);
    m.word[3 * i + 2] = (i + 1) * 5;
  }
  assert_rank(&r, &m, 1);
  m.word[8] += p;
  assert_rank(&r, &m, 2);
  clarke_matrix_clear(&m);
  clarke_rank_clear(&r);
}
END_TEST

/* Null vectors of 2^26 entries are not attempted. */
START_TEST(too_wide)
{
  clarke_matrix m;
  clarke_rank r;

  clarke_matrix_init(&m);
  clarke_rank_init(&r);
  OK(clarke_matrix_resize(&m, 2, 8192, 1, NULL));
  OK(clarke_rank_compute(&r, &m, NULL));
  ck_assert(!r.known);
  m.word[5] = m.word[8192] = 1;
  assert_rank(&r, &m, 2);
  clarke_matrix_clear(&m);
  clarke_rank_clear(&r);
}
END_TEST

static double *
sample_floats(size_t count, uint64_t *state)
{
  double *values = malloc(count * sizeof *values);

  for (size_t k = 0; k < count; k++)
    values[k] = (double)(float)(((double)(draw(state) >> 11) * 0x1p-53 - 0.5) / 16);
  return values;
}

/* 784 x 128 floats whose last column is the sum of two others but for one entry, off by 2^-44: rank
 * 128 with it, 127 without. */
START_TEST(one_ulp)
{
  uint64_t state = 2;
  const size_t rows = 784, cols = 128;
  double *values = sample_floats(rows * cols, &state);
  clarke_matrix m;
  clarke_rank r;

  clarke_matrix_init(&m);
  clarke_rank_init(&r);
  OK(clarke_matrix_set_doubles(&m, rows, cols, values, NULL));
  assert_rank(&r, &m, 128);
  for (size_t i = 0; i < rows; i++)
    values[i * cols + 127] = values[i * cols + 3] + values[i * cols + 50];
  OK(clarke_matrix_set_doubles(&m, rows, cols, values, NULL));
  assert_rank(&r, &m, 127);
  ck_assert_int_eq(fmpz_mat_ncols(r.null), 1);
  values[500 * cols + 127] += 0x1p-44;
  OK(clarke_matrix_set_doubles(&m, rows, cols, values, NULL));
  assert_rank(&r, &m, 128);
  clarke_matrix_clear(&m);
  clarke_rank_clear(&r);
  free(values);
}
END_TEST

START_TEST(forged)
{
  uint64_t state = 3;
  clarke_matrix m;
  clarke_rank r;

  clarke_matrix_init(&m);
  clarke_rank_init(&r);
  sample_low_rank(&m, 7, 6, 4, 40, &state);
  assert_rank(&r, &m, 4);
  fmpz_add_ui(fmpz_mat_entry(r.null, 2, 1), fmpz_mat_entry(r.null, 2, 1), 1);
  ck_assert(!rank_holds(&r, &m));
  fmpz_sub_ui(fmpz_mat_entry(r.null, 2, 1), fmpz_mat_entry(r.null, 2, 1), 1);
  ck_assert(rank_holds(&r, &m));
  fmpz_mat_zero(r.null);
  ck_assert(!rank_holds(&r, &m));
  OK(clarke_rank_compute(&r, &m, NULL));
  r.row[1] = r.row[0];
  ck_assert(!rank_holds(&r, &m));
  r.row[1] = 1000;
  ck_assert(!rank_holds(&r, &m));
  OK(clarke_rank_compute(&r, &m, NULL));
  r.prime = 1 << 20;
  ck_assert(!rank_holds(&r, &m));
  OK(clarke_rank_compute(&r, &m, NULL));
  r.rank = 3;
  ck_assert(!rank_holds(&r, &m));
  r.rank = 4;
  m.radius = calloc(42, sizeof *m.radius);
  ck_assert(!rank_holds(&r, &m));
  ck_assert_int_eq(clarke_rank_compute(&r, &m, NULL), CLARKE_EINPUT);
  clarke_matrix_clear(&m);
  clarke_rank_clear(&r);
}
END_TEST

/* The pivots of one prime alone: a minor that is regular modulo it, as large as the rank modulo it. */
START_TEST(pivots)
{
  static const uint64_t primes[] = { 2, 3, 101, CLARKE_RANK_PRIME };
  uint64_t state = 4;
  clarke_matrix m;
  clarke_rank r;

  clarke_matrix_init(&m);
  clarke_rank_init(&r);
  for (int round = 0; round < 200; round++) {
    const size_t rows = draw_below(&state, 7), cols = draw_below(&state, 7);
    const uint64_t p = primes[round % 4];
    nmod_mat_t f, minor;
    fmpz_mat_t integers;

    sample_low_rank(&m, rows, cols, 1 + draw_below(&state, 6), 3, &state);
    fmpz_mat_init(integers, (slong)rows, (slong)cols);
    nmod_mat_init(f, (slong)rows, (slong)cols, p);
    clarke_matrix_get_fmpz_mat(integers, &m);
    fmpz_mat_get_nmod_mat(f, integers);
    OK(clarke_rank_eliminate(&r, &m, p, NULL));
    ck_assert_uint_eq(r.prime, p);
    ck_assert_uint_eq(r.rank, (size_t)nmod_mat_rank(f));
    nmod_mat_init(minor, (slong)r.rank, (slong)r.rank, p);
    for (size_t i = 0; i < r.rank; i++)
      for (size_t j = 0; j < r.rank; j++)
        nmod_mat_entry(minor, i, j) = nmod_mat_entry(f, r.row[i], r.col[j]);
    ck_assert_uint_eq((size_t)nmod_mat_rank(minor), r.rank);
    nmod_mat_clear(f);
    nmod_mat_clear(minor);
    fmpz_mat_clear(integers);
  }
  clarke_matrix_clear(&m);
  clarke_rank_clear(&r);
}
END_TEST

/* One null vector is given where the rank is one below the columns, over the integers; else none. */
START_TEST(only_null)
{
  uint64_t state = 5;
  clarke_matrix m;
  clarke_rank r;

  clarke_matrix_init(&m);
  clarke_rank_init(&r);
  for (int round = 0; round < 200; round++) {
    const size_t cols = 1 + draw_below(&state, 5);
    bool one;
    fmpz_mat_t integers, product;

    sample_low_rank(&m, 7, cols, 1 + draw_below(&state, cols), 30, &state);
    fmpz_mat_init(integers, 7, (slong)cols);
    clarke_matrix_get_fmpz_mat(integers, &m);
    one = (size_t)fmpz_mat_rank(integers) + 1 == cols;
    OK(clarke_rank_only_null(&r, &m, NULL));
    ck_assert_int_eq(fmpz_mat_nrows(r.null), (slong)cols);
    ck_assert_int_eq(fmpz_mat_ncols(r.null), one);
    fmpz_mat_init(product, 7, one);
    fmpz_mat_mul(product, integers, r.null);
    ck_assert(fmpz_mat_is_zero(product));
    ck_assert(fmpz_mat_is_zero(r.null) == !one);
    fmpz_mat_clear(product);
    fmpz_mat_clear(integers);
  }
  OK(clarke_matrix_resize(&m, 2, 2, 1, NULL)); /* null modulo the prime, regular over the integers */
  m.word[0] = CLARKE_RANK_PRIME;
  m.word[3] = 1;
  OK(clarke_rank_only_null(&r, &m, NULL));
  ck_assert_uint_eq(r.rank, 1);
  ck_assert_int_eq(fmpz_mat_ncols(r.null), 0);
  clarke_matrix_clear(&m);
  clarke_rank_clear(&r);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("rank");
  int failed;

  tcase_add_test(tests, against_flint);
  tcase_add_test(tests, unlucky_primes);
  tcase_add_test(tests, false_lifts);
  tcase_add_test(tests, too_wide);
  tcase_add_test(tests, one_ulp);
  tcase_add_test(tests, forged);
  tcase_add_test(tests, pivots);
  tcase_add_test(tests, only_null);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
