/* Elimination modulo a prime against FLINT's, and what the echelon basis and its null vectors promise. */
#include "exact/echelon.h"
#include "samples.h"

#include "../ok.h"

#include <flint/flint.h>
#include <flint/nmod_mat.h>
#include <string.h>

static uint64_t state;

static const uint64_t primes[] = { 2, 3, 101, 1073741789u };

/* rows x cols of that rank at most: the product of two of small entries, often 0. */
static void
draw_low_rank(clarke_matrix *m, size_t rows, size_t cols, size_t rank)
{
  int64_t *a = calloc(rows * rank + 1, sizeof *a), *b = calloc(rank * cols + 1, sizeof *b);

  OK(clarke_matrix_resize(m, rows, cols, 1, &error));
  for (size_t k = 0; k < rows * rank; k++)
    a[k] = (int64_t)draw_below(&state, 3) * ((int64_t)(draw(&state) >> 44) - (1 << 19));
  for (size_t k = 0; k < rank * cols; k++)
    b[k] = (int64_t)draw_below(&state, 3) * ((int64_t)(draw(&state) >> 44) - (1 << 19));
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      for (size_t k = 0; k < rank; k++)
        m->word[i * cols + j] += (uint64_t)(a[i * rank + k] * b[k * cols + j]);
  free(a);
  free(b);
}

/* The first n rows modulo p, and the basis below them if asked. */
static size_t
flint_rank(const clarke_matrix *m, size_t n, uint64_t p, const clarke_echelon *below)
{
  const size_t more = below != NULL ? below->rank : 0;
  nmod_mat_t f;
  size_t rank;

  nmod_mat_init(f, (slong)(n + more), (slong)m->cols, p);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < m->cols; j++) {
      const int64_t left = (int64_t)m->word[i * m->cols + j] % (int64_t)p;

      nmod_mat_entry(f, i, j) = (mp_limb_t)(left < 0 ? left + (int64_t)p : left);
    }
  for (size_t i = 0; i < more; i++)
    for (size_t j = 0; j < m->cols; j++)
      nmod_mat_entry(f, n + i, j) = below->basis[i * m->cols + j];
  rank = (size_t)nmod_mat_rank(f);
  nmod_mat_clear(f);
  return rank;
}

/* Row k of the basis is 1 at its pivot and 0 at those before; row[k] is the one that raises the rank to k + 1. */
static void
assert_echelon(const clarke_echelon *e, const clarke_matrix *m)
{
  ck_assert_uint_eq(e->cols, m->cols);
  ck_assert_uint_eq(e->rank, flint_rank(m, m->rows, e->p, NULL));
  ck_assert_uint_eq(e->rank, flint_rank(m, m->rows, e->p, e)); /* the same span */
  for (size_t k = 0; k < e->rank; k++) {
    ck_assert_uint_eq(flint_rank(m, e->row[k], e->p, NULL), k);
    ck_assert_uint_eq(flint_rank(m, e->row[k] + 1, e->p, NULL), k + 1);
    for (size_t l = 0; l <= k; l++)
      ck_assert_uint_eq(e->basis[k * e->cols + e->col[l]], l == k);
    for (size_t j = 0; j < e->cols; j++)
      if (e->basis[k * e->cols + j] >= e->p)
        ck_abort_msg("an entry is not reduced");
  }
}

/* 1 at its column, 0 at the others without a pivot, and orthogonal to all rows. */
static void
assert_null(const clarke_echelon *e, const clarke_matrix *m, size_t free_col, const bool *pivot)
{
  uint32_t *x = malloc((e->cols + 1) * sizeof *x);

  memset(x, 255, (e->cols + 1) * sizeof *x);
  clarke_echelon_null(e, x, free_col);
  for (size_t j = 0; j < e->cols; j++) {
    ck_assert_uint_lt(x[j], e->p);
    if (!pivot[j])
      ck_assert_uint_eq(x[j], j == free_col);
  }
  for (size_t i = 0; i < m->rows; i++) {
    const int64_t p = (int64_t)e->p;
    int64_t sum = 0;

    for (size_t j = 0; j < e->cols; j++)
      sum = (sum + (int64_t)m->word[i * e->cols + j] % p * x[j]) % p;
    if (sum != 0)
      ck_abort_msg("the vector of column %zu is no null vector of row %zu", free_col, i);
  }
  free(x);
}

static void
check_matrix(const clarke_matrix *m, uint64_t p)
{
  bool pivot[64] = { false };
  clarke_echelon e;

  OK(clarke_echelon_make(&e, m, p, &error));
  assert_echelon(&e, m);
  for (size_t k = 0; k < e.rank; k++)
    pivot[e.col[k]] = true;
  for (size_t j = 0; j < e.cols; j++)
    if (!pivot[j])
      assert_null(&e, m, j, pivot);
  clarke_echelon_clear(&e);
}

START_TEST(small)
{
  clarke_matrix m;

  state = 1;
  clarke_matrix_init(&m);
  for (int round = 0; round < 160; round++) {
    draw_low_rank(&m, draw_below(&state, 8), draw_below(&state, 8), draw_below(&state, 7));
    check_matrix(&m, primes[round % 4]);
  }
  clarke_matrix_clear(&m);
}
END_TEST

/* So many dependent rows that null vectors tell them, and after them one that is not. */
START_TEST(many_dependent_rows)
{
  clarke_matrix m;

  state = 2;
  clarke_matrix_init(&m);
  for (int round = 0; round < 12; round++) {
    const size_t cols = 24;

    draw_low_rank(&m, 70, cols, 20);
    m.word[60 * cols + draw_below(&state, cols)] += 1;
    m.word[68 * cols + draw_below(&state, cols)] += 1;
    check_matrix(&m, primes[3]);
    check_matrix(&m, primes[2]);
  }
  clarke_matrix_clear(&m);
}
END_TEST

/* A full rank ends it: what comes after is not looked at. */
START_TEST(full_rank)
{
  clarke_matrix m;
  clarke_echelon e;

  clarke_matrix_init(&m);
  OK(clarke_matrix_resize(&m, 5, 2, 1, &error));
  m.word[2] = 7; /* row 1: (7, 0) */
  m.word[5] = 7; /* row 2: (0, 7) */
  m.word[6] = 1;
  OK(clarke_echelon_make(&e, &m, 1073741789u, &error));
  ck_assert(e.rank == 2 && e.row[0] == 1 && e.row[1] == 2 && e.col[0] == 0 && e.col[1] == 1);
  clarke_echelon_clear(&e);
  OK(clarke_echelon_make(&e, &m, 7, &error)); /* all but row 3 are 0 */
  ck_assert(e.rank == 1 && e.row[0] == 3 && e.col[0] == 0);
  clarke_echelon_clear(&e);
  clarke_matrix_clear(&m);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("echelon");
  int failed;

  tcase_add_test(tests, small);
  tcase_add_test(tests, many_dependent_rows);
  tcase_add_test(tests, full_rank);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
