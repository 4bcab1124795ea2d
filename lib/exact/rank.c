/* Rank with a certificate (rank.h): pivots from elimination modulo a prime, and, when the rank is
 * not full, null vectors from one exact solve of the pivots' minor. */
#include "exact/rank.h"

#include "base/stop.h"
#include "exact/echelon.h"
#include "exact/matrix_inside.h"
#include "exact/rank_inside.h"

#include <flint/fmpz.h>
#include <flint/nmod_mat.h>
#include <flint/ulong_extras.h>
#include <stdlib.h>
#include <string.h>

/* The largest primes below 2^30: sixteen products of residues fit in 64 bits (echelon.c). */
static const uint64_t primes[] = { CLARKE_RANK_PRIME, 1073741783, 1073741741, 1073741723 };
#define PRIMES (sizeof primes / sizeof primes[0])
/* Entries of the null vectors; with more the rank stays unknown from above. */
#define MAX_NULL ((size_t)1 << 25)

void
clarke_rank_init(clarke_rank *r)
{
  r->known = false;
  r->rank = 0;
  r->prime = 0;
  r->row = r->col = NULL;
  fmpz_mat_init(r->null, 0, 0);
}

void
clarke_rank_clear(clarke_rank *r)
{
  free(r->row);
  free(r->col);
  fmpz_mat_clear(r->null);
  r->row = r->col = NULL;
  r->known = false;
  r->rank = 0;
}

/* --- matrices of fmpz ------------------------------------------------------------------------ */

void
clarke_matrix_get_fmpz_mat(fmpz_mat_t out, const clarke_matrix *m)
{
  mpz_t value;

  mpz_init(value);
  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->cols; j++) {
      fmpz *entry = fmpz_mat_entry(out, (slong)i, (slong)j);

      if (m->limbs == 1) {
        fmpz_set_si(entry, (slong)m->word[i * m->cols + j]);
      } else {
        clarke_matrix_load(value, m, i, j);
        fmpz_set_mpz(entry, value);
      }
    }
  mpz_clear(value);
}

clarke_status
clarke_matrix_set_fmpz_mat(clarke_matrix *m, const fmpz_mat_t from, clarke_error *err)
{
  const size_t rows = (size_t)fmpz_mat_nrows(from), cols = (size_t)fmpz_mat_ncols(from);
  const slong bits = fmpz_mat_max_bits(from);
  clarke_status status;
  mpz_t value;

  status = clarke_matrix_shape_bits(m, rows, cols, (size_t)(bits < 0 ? -bits : bits), err);
  if (status != CLARKE_OK)
    return status;
  mpz_init(value);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) {
      fmpz_get_mpz(value, fmpz_mat_entry(from, (slong)i, (slong)j));
      clarke_word_set(clarke_entry(m, i * cols + j), m->limbs, value);
    }
  mpz_clear(value);
  return CLARKE_OK;
}

/* --- pivots ----------------------------------------------------------------------------------- */

/* The basis's pivots become r's; e borrows them. */
static void
take_pivots(clarke_rank *r, clarke_echelon *e)
{
  free(r->row);
  free(r->col);
  r->row = e->row;
  r->col = e->col;
  r->rank = e->rank;
  r->prime = e->p;
  e->pivots_lent = true;
}

clarke_status
clarke_rank_eliminate(clarke_rank *r, const clarke_matrix *a, uint64_t p, clarke_error *err)
{
  clarke_echelon e;
  clarke_status status = clarke_echelon_make(&e, a, p, err);

  if (status != CLARKE_OK)
    return status;
  take_pivots(r, &e);
  clarke_echelon_clear(&e);
  return CLARKE_OK;
}

/* --- null vectors ---------------------------------------------------------------------------- */

/* The columns without a pivot, and what is known of the null vectors that are 1 there. */
typedef struct {
  size_t count;
  size_t *col;
  bool *lifted; /* null vector found by lifting */
  uint32_t *x;  /* room for one vector */
} free_columns;

static clarke_status
free_columns_init(free_columns *f, const clarke_rank *r, size_t cols, clarke_error *err)
{
  bool *pivot = calloc(cols + 1, sizeof *pivot);

  f->count = 0;
  f->col = malloc((cols + 1) * sizeof *f->col);
  f->lifted = calloc(cols + 1, sizeof *f->lifted);
  f->x = malloc((cols + 1) * sizeof *f->x);
  for (size_t k = 0; k < r->rank && pivot != NULL; k++)
    pivot[r->col[k]] = true;
  for (size_t j = 0; j < cols && pivot != NULL && f->col != NULL; j++)
    if (!pivot[j])
      f->col[f->count++] = j;
  free(pivot);
  if (f->col != NULL && f->lifted != NULL && f->x != NULL && f->count == cols - r->rank)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu null vectors", cols - r->rank);
}

static void
free_columns_clear(free_columns *f)
{
  free(f->col);
  free(f->lifted);
  free(f->x);
}

/* Dependencies are often simple (a zero column, a repeated one): null vectors modulo the prime whose
 * residues are small, of either sign, are taken as they are, to be checked with the rest. */
static void
lift_null(clarke_rank *r, const clarke_echelon *e, free_columns *f)
{
  const uint64_t small = (uint64_t)1 << 12;

  for (size_t j = 0; j < f->count; j++) {
    bool all = true;

    clarke_echelon_null(e, f->x, f->col[j]);
    for (size_t k = 0; k < e->cols && all; k++)
      all = f->x[k] < small || e->p - f->x[k] < small;
    f->lifted[j] = all;
    for (size_t k = 0; k < e->cols && all; k++)
      fmpz_set_si(fmpz_mat_entry(r->null, (slong)k, (slong)j),
                  f->x[k] < small ? (slong)f->x[k] : -(slong)(e->p - f->x[k]));
  }
}

/* Column j of the null vectors: x/den on the pivot columns and 1 on the free one, made primitive. */
static void
set_null(clarke_rank *r, slong j, size_t free_col, const fmpz_mat_t x, slong from,
         const fmpz_t den)
{
  fmpz_t content;

  fmpz_init_set(content, den);
  for (size_t i = 0; i < r->rank; i++)
    fmpz_gcd(content, content, fmpz_mat_entry(x, (slong)i, from));
  for (size_t i = 0; i < r->rank; i++)
    fmpz_divexact(fmpz_mat_entry(r->null, (slong)r->col[i], j), fmpz_mat_entry(x, (slong)i, from),
                  content);
  fmpz_divexact(fmpz_mat_entry(r->null, (slong)free_col, j), den, content);
  fmpz_clear(content);
}

/* Solves for the null vectors that were not lifted: minor x = -(the column), on the pivot rows. */
static bool
solve_null(clarke_rank *r, const fmpz_mat_t a, const free_columns *f)
{
  const slong rank = (slong)r->rank;
  fmpz_mat_t minor, right, x;
  slong count = 0;
  bool solved = true;
  fmpz_t den;

  for (size_t j = 0; j < f->count; j++)
    count += !f->lifted[j];
  if (count == 0)
    return true;
  fmpz_mat_init(minor, rank, rank);
  fmpz_mat_init(right, rank, count);
  fmpz_mat_init(x, rank, count);
  fmpz_init_set_ui(den, 1);
  for (slong i = 0; i < rank; i++) {
    for (slong k = 0; k < rank; k++)
      fmpz_set(fmpz_mat_entry(minor, i, k),
               fmpz_mat_entry(a, (slong)r->row[i], (slong)r->col[k]));
    for (size_t j = 0, to = 0; j < f->count; j++)
      if (!f->lifted[j])
        fmpz_neg(fmpz_mat_entry(right, i, (slong)to++),
                 fmpz_mat_entry(a, (slong)r->row[i], (slong)f->col[j]));
  }
  solved = rank == 0 || fmpz_mat_solve_dixon_den(x, den, minor, right);
  for (size_t j = 0, from = 0; j < f->count && solved; j++)
    if (!f->lifted[j])
      set_null(r, (slong)j, f->col[j], x, (slong)from++, den);
  fmpz_clear(den);
  fmpz_mat_clear(minor);
  fmpz_mat_clear(right);
  fmpz_mat_clear(x);
  return solved;
}

static bool
annihilates(const fmpz_mat_t a, const fmpz_mat_t null)
{
  fmpz_mat_t product;
  bool zero;

  fmpz_mat_init(product, fmpz_mat_nrows(a), fmpz_mat_ncols(null));
  fmpz_mat_mul(product, a, null);
  zero = fmpz_mat_is_zero(product);
  fmpz_mat_clear(product);
  return zero;
}

/* Keeps cols - rank null vectors if A null = 0 in every row; false when they cannot be had, that is
 * when the prime hid a part of the rank. */
static bool
find_null(clarke_rank *r, const fmpz_mat_t a, const clarke_echelon *e, free_columns *f)
{
  bool found;

  fmpz_mat_clear(r->null);
  fmpz_mat_init(r->null, fmpz_mat_ncols(a), (slong)f->count);
  lift_null(r, e, f);
  found = solve_null(r, a, f) && annihilates(a, r->null);
  if (found)
    return true;
  memset(f->lifted, 0, f->count * sizeof *f->lifted);
  fmpz_mat_zero(r->null);
  return solve_null(r, a, f) && annihilates(a, r->null);
}

/* The rank from above, for the pivots in r. */
static clarke_status
bound_above(clarke_rank *r, const clarke_matrix *a, const clarke_echelon *e, clarke_error *err)
{
  free_columns f;
  fmpz_mat_t integers;
  clarke_status status;

  if (a->cols - r->rank > MAX_NULL / a->cols)
    return CLARKE_OK;
  status = free_columns_init(&f, r, a->cols, err);
  if (status == CLARKE_OK) {
    fmpz_mat_init(integers, (slong)a->rows, (slong)a->cols);
    clarke_matrix_get_fmpz_mat(integers, a);
    r->known = find_null(r, integers, e, &f);
    fmpz_mat_clear(integers);
  }
  free_columns_clear(&f);
  return status;
}

/* One prime: pivots, and null vectors when the rank is not full. */
static clarke_status
try_prime(clarke_rank *r, const clarke_matrix *a, uint64_t p, clarke_error *err)
{
  const size_t full = a->rows < a->cols ? a->rows : a->cols;
  clarke_echelon e;
  clarke_status status = clarke_echelon_make(&e, a, p, err);

  if (status != CLARKE_OK)
    return status;
  take_pivots(r, &e);
  if (r->rank < full) {
    status = bound_above(r, a, &e, err);
  } else {
    fmpz_mat_clear(r->null);
    fmpz_mat_init(r->null, (slong)a->cols, 0);
    r->known = true;
  }
  clarke_echelon_clear(&e);
  return status;
}

clarke_status
clarke_rank_compute(clarke_rank *r, const clarke_matrix *a, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  clarke_rank_clear(r);
  clarke_rank_init(r);
  if (a->radius != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "the rank of a %zu x %zu matrix of enclosures", a->rows,
                       a->cols);
  for (size_t k = 0; k < PRIMES && !r->known && status == CLARKE_OK; k++)
    status = clarke_work_check(err) == CLARKE_OK ? try_prime(r, a, primes[k], err) : CLARKE_ESTOPPED;
  return status;
}

clarke_status
clarke_rank_only_null(clarke_rank *r, const clarke_matrix *a, clarke_error *err)
{
  clarke_echelon e;
  clarke_status status = clarke_echelon_make(&e, a, CLARKE_RANK_PRIME, err);

  if (status != CLARKE_OK)
    return status;
  take_pivots(r, &e);
  r->known = false;
  if (r->rank + 1 == a->cols)
    status = bound_above(r, a, &e, err);
  clarke_echelon_clear(&e);
  if (status == CLARKE_OK && !r->known) {
    fmpz_mat_clear(r->null);
    fmpz_mat_init(r->null, (slong)a->cols, 0);
  }
  return status;
}
