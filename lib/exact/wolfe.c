/* The element of least norm of a polytope (wolfe.h, points.h). */

#include "exact/wolfe.h"

#include "base/stop.h"

#include <flint/fmpq.h>
#include <flint/fmpq_vec.h>
#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>
#include <stdlib.h>

void
clarke_integers(fmpz_mat_t integer, fmpz_t common, mpq_t *rational)
{
  const slong rows = fmpz_mat_nrows(integer), cols = fmpz_mat_ncols(integer);
  const size_t n = (size_t)rows * (size_t)cols;
  fmpz_t part;

  fmpz_init(part);
  fmpz_one(common);
  for (size_t k = 0; k < n; k++) {
    fmpz_set_mpz(part, mpq_denref(rational[k]));
    fmpz_lcm(common, common, part);
  }
  for (size_t k = 0; k < n; k++) {
    fmpz *entry = fmpz_mat_entry(integer, (slong)k / cols, (slong)k % cols);

    fmpz_set_mpz(part, mpq_denref(rational[k]));
    fmpz_divexact(part, common, part);
    fmpz_set_mpz(entry, mpq_numref(rational[k]));
    fmpz_mul(entry, entry, part);
  }
  fmpz_clear(part);
}

/* A corral: rows of s, affinely independent, with x in the hull of them. */
typedef struct {
  const fmpz_mat_struct *s;
  slong n, capacity;
  slong *row;
  fmpq *weight, *next; /* of x; of the least point of the rows' affine hull */
  fmpz *x;             /* x / den */
  fmpz_t den;
  slong bits;          /* of the largest entry of s */
  uint64_t work;       /* left */
} corral;

static const fmpz *
row_of(const corral *c, slong i)
{
  return fmpz_mat_entry(c->s, c->row[i], 0);
}

static void
dot(fmpz_t value, const fmpz *x, const fmpz *y, slong n)
{
  _fmpz_vec_dot(value, x, y, n);
}

/* next: the weights (of sum 1) of the affine hull's least point, by
 *   ( 0  1' ) (m)   (1)
 *   ( 1  G  ) (v) = (0),  G the Gram matrix, regular as the rows are affinely independent. */
static bool
affine_least(corral *c)
{
  const slong n = c->n, cols = fmpz_mat_ncols(c->s);
  fmpz_mat_t a, b, v;
  fmpz_t den;
  bool regular;

  fmpz_mat_init(a, n + 1, n + 1);
  fmpz_mat_init(b, n + 1, 1);
  fmpz_mat_init(v, n + 1, 1);
  fmpz_init(den);
  fmpz_one(fmpz_mat_entry(b, 0, 0));
  for (slong i = 0; i < n; i++) {
    fmpz_one(fmpz_mat_entry(a, 0, i + 1));
    fmpz_one(fmpz_mat_entry(a, i + 1, 0));
    for (slong j = 0; j <= i; j++) {
      dot(fmpz_mat_entry(a, i + 1, j + 1), row_of(c, i), row_of(c, j), cols);
      fmpz_set(fmpz_mat_entry(a, j + 1, i + 1), fmpz_mat_entry(a, i + 1, j + 1));
    }
  }
  regular = fmpz_mat_solve(v, den, a, b) != 0;
  for (slong i = 0; i < n && regular; i++)
    fmpq_set_fmpz_frac(&c->next[i], fmpz_mat_entry(v, i + 1, 0), den);
  fmpz_mat_clear(a);
  fmpz_mat_clear(b);
  fmpz_mat_clear(v);
  fmpz_clear(den);
  return regular;
}

static bool
inside(const corral *c)
{
  for (slong i = 0; i < c->n; i++)
    if (fmpq_sgn(&c->next[i]) <= 0)
      return false;
  return true;
}

/* From x towards the affine hull's least point as far as the hull goes; the rows whose weight
 * became zero leave. */
static void
shrink(corral *c)
{
  fmpq_t theta, t, rest;
  slong kept = 0;

  fmpq_init(theta);
  fmpq_init(t);
  fmpq_init(rest);
  fmpq_one(theta);
  for (slong i = 0; i < c->n; i++) {
    if (fmpq_sgn(&c->next[i]) > 0)
      continue;
    fmpq_sub(t, &c->weight[i], &c->next[i]);
    if (!fmpq_is_zero(t))
      fmpq_div(t, &c->weight[i], t);
    if (fmpq_cmp(t, theta) < 0)
      fmpq_set(theta, t);
  }
  fmpq_one(rest);
  fmpq_sub(rest, rest, theta);
  for (slong i = 0; i < c->n; i++) {
    fmpq_mul(&c->weight[i], &c->weight[i], rest);
    fmpq_addmul(&c->weight[i], theta, &c->next[i]);
    if (fmpq_sgn(&c->weight[i]) == 0)
      continue;
    fmpq_swap(&c->weight[kept], &c->weight[i]);
    c->row[kept++] = c->row[i];
  }
  c->n = kept;
  fmpq_clear(theta);
  fmpq_clear(t);
  fmpq_clear(rest);
}

/* x = sum weight_i s_i over a common denominator. */
static void
place_x(corral *c)
{
  const slong cols = fmpz_mat_ncols(c->s);
  fmpz_t part;

  fmpz_init(part);
  fmpz_one(c->den);
  for (slong i = 0; i < c->n; i++)
    fmpz_lcm(c->den, c->den, fmpq_denref(&c->weight[i]));
  _fmpz_vec_zero(c->x, cols);
  for (slong i = 0; i < c->n; i++) {
    fmpz_divexact(part, c->den, fmpq_denref(&c->weight[i]));
    fmpz_mul(part, part, fmpq_numref(&c->weight[i]));
    _fmpz_vec_scalar_addmul_fmpz(c->x, row_of(c, i), cols, part);
  }
  fmpz_clear(part);
}

/* The row with the least <x, s_j>, or -1 when none is below <x, x>: then x is least. */
static slong
entering(const corral *c)
{
  const slong rows = fmpz_mat_nrows(c->s), cols = fmpz_mat_ncols(c->s);
  slong best = -1;
  fmpz_t least, value;

  fmpz_init(least);
  fmpz_init(value);
  dot(least, c->x, c->x, cols);
  for (slong j = 0; j < rows; j++) {
    dot(value, c->x, fmpz_mat_entry(c->s, j, 0), cols);
    fmpz_mul(value, value, c->den);
    if (fmpz_cmp(value, least) < 0) {
      fmpz_set(least, value);
      best = j;
    }
  }
  fmpz_clear(least);
  fmpz_clear(value);
  return best;
}

/* What a turn takes: the Gram matrix, a solution by it, and x along all rows; weights are quotients of minors. */
static bool
charge(corral *c)
{
  const uint64_t n = (uint64_t)c->n, rows = (uint64_t)fmpz_mat_nrows(c->s), cols = (uint64_t)fmpz_mat_ncols(c->s);
  const uint64_t words = 2 * n * (uint64_t)c->bits / FLINT_BITS + 1;
  const uint64_t each = (rows * cols + n * n * (cols + n)) * (4 + 2 * words);

  if (each > c->work)
    return false;
  c->work -= each;
  return true;
}

/* The minor cycle: until the least point of the affine hull is inside the hull. Each turn drops a
 * row, and a single row is its own least point. Not *settled: the work is used up. */
static clarke_status
settle(bool *settled, corral *c, clarke_error *err)
{
  while ((*settled = charge(c))) {
    if (c->n == 0 || !affine_least(c))
      return clarke_fail(err, CLARKE_EINTERNAL, "a corral of Wolfe's is dependent");
    if (inside(c)) {
      for (slong i = 0; i < c->n; i++)
        fmpq_swap(&c->weight[i], &c->next[i]);
      place_x(c);
      return CLARKE_OK;
    }
    shrink(c);
  }
  return CLARKE_OK;
}

/* The row of least norm. */
static slong
shortest_row(const fmpz_mat_t s)
{
  slong best = 0;
  fmpz_t least, value;

  fmpz_init(least);
  fmpz_init(value);
  for (slong j = 0; j < fmpz_mat_nrows(s); j++) {
    const fmpz *row = fmpz_mat_entry(s, j, 0);

    dot(value, row, row, fmpz_mat_ncols(s));
    if (j == 0 || fmpz_cmp(value, least) < 0) {
      fmpz_set(least, value);
      best = j;
    }
  }
  fmpz_clear(least);
  fmpz_clear(value);
  return best;
}

static clarke_status
search(bool *found, corral *c, clarke_error *err)
{
  slong row = shortest_row(c->s);

  *found = false;
  for (size_t step = 0; step < CLARKE_WOLFE_STEPS; step++) {
    clarke_status status;
    bool settled;

    if (c->n == c->capacity)
      return clarke_fail(err, CLARKE_EINTERNAL, "a corral of Wolfe's is dependent");
    fmpq_zero(&c->weight[c->n]);
    if (c->n == 0)
      fmpq_one(&c->weight[0]);
    c->row[c->n++] = row;
    status = clarke_work_check(err);
    if (status == CLARKE_OK)
      status = settle(&settled, c, err);
    if (status != CLARKE_OK || !settled)
      return status;
    row = entering(c);
    *found = row < 0;
    if (*found)
      return CLARKE_OK;
  }
  return CLARKE_OK;
}

/* Is x / den the combination that the weights say? (That it is least, entering() has checked.) */
static bool
verified(const fmpz_mat_t x, const fmpz_t den, const fmpq_mat_t weight, const fmpz_mat_t s)
{
  fmpq_t sum, term, value;
  bool right;

  fmpq_init(sum);
  fmpq_init(term);
  fmpq_init(value);
  for (slong i = 0; i < fmpz_mat_nrows(s); i++)
    fmpq_add(sum, sum, fmpq_mat_entry(weight, i, 0));
  right = fmpq_is_one(sum) && fmpz_sgn(den) > 0;
  for (slong i = 0; i < fmpz_mat_nrows(s) && right; i++)
    right = fmpq_sgn(fmpq_mat_entry(weight, i, 0)) >= 0;
  for (slong j = 0; j < fmpz_mat_ncols(s) && right; j++) {
    fmpq_zero(sum);
    for (slong i = 0; i < fmpz_mat_nrows(s); i++) {
      if (fmpq_is_zero(fmpq_mat_entry(weight, i, 0)))
        continue;
      fmpq_mul_fmpz(term, fmpq_mat_entry(weight, i, 0), fmpz_mat_entry(s, i, j));
      fmpq_add(sum, sum, term);
    }
    fmpq_set_fmpz_frac(value, fmpz_mat_entry(x, 0, j), den);
    right = fmpq_equal(sum, value);
  }
  fmpq_clear(sum);
  fmpq_clear(term);
  fmpq_clear(value);
  return right;
}

clarke_status
clarke_wolfe(bool *found, fmpz_mat_t x, fmpz_t den, fmpq_mat_t weight, const fmpz_mat_t s,
             uint64_t work, clarke_error *err)
{
  const slong cols = fmpz_mat_ncols(s), bits = fmpz_mat_max_bits(s);
  corral c = {.s = s, .capacity = cols + 1, .bits = bits < 0 ? -bits : bits, .work = work};
  clarke_status status;

  c.row = malloc((size_t)c.capacity * sizeof *c.row);
  c.weight = _fmpq_vec_init(c.capacity);
  c.next = _fmpq_vec_init(c.capacity);
  c.x = _fmpz_vec_init(cols);
  fmpz_init(c.den);
  status = c.row != NULL ? search(found, &c, err)
                         : clarke_no_memory(err);
  fmpq_mat_zero(weight);
  for (slong i = 0; i < c.n && status == CLARKE_OK; i++)
    fmpq_set(fmpq_mat_entry(weight, c.row[i], 0), &c.weight[i]);
  for (slong j = 0; j < cols; j++)
    fmpz_set(fmpz_mat_entry(x, 0, j), c.x + j);
  fmpz_set(den, c.den);
  if (status == CLARKE_OK && *found && !verified(x, den, weight, s))
    status = clarke_fail(err, CLARKE_EINTERNAL, "the least element failed its check");
  free(c.row);
  _fmpq_vec_clear(c.weight, c.capacity);
  _fmpq_vec_clear(c.next, c.capacity);
  _fmpz_vec_clear(c.x, cols);
  fmpz_clear(c.den);
  return status;
}

clarke_status
clarke_points_least(mpq_t *least, const clarke_points *s, clarke_error *err)
{
  const slong rows = (slong)s->n, cols = (slong)s->dim;
  fmpz_mat_t integer, x;
  fmpq_mat_t weight;
  fmpz_t common, den;
  clarke_status status;
  bool found;

  if (s->n == 0)
    return clarke_fail(err, CLARKE_EINTERNAL, "the least element of an empty set");
  fmpz_mat_init(integer, rows, cols);
  fmpz_mat_init(x, 1, cols);
  fmpq_mat_init(weight, rows, 1);
  fmpz_init(common);
  fmpz_init(den);
  clarke_integers(integer, common, s->entry);
  status = clarke_wolfe(&found, x, den, weight, integer, UINT64_MAX, err);
  if (status == CLARKE_OK && !found)
    status = clarke_fail(err, CLARKE_ENOMEM, "no least element of %zu vectors within %zu steps",
                         s->n, CLARKE_WOLFE_STEPS);
  fmpz_mul(den, den, common);
  for (slong j = 0; j < cols && status == CLARKE_OK; j++) {
    fmpz_get_mpz(mpq_numref(least[j]), fmpz_mat_entry(x, 0, j));
    fmpz_get_mpz(mpq_denref(least[j]), den);
    mpq_canonicalize(least[j]);
  }
  fmpz_mat_clear(integer);
  fmpz_mat_clear(x);
  fmpq_mat_clear(weight);
  fmpz_clear(common);
  fmpz_clear(den);
  return status;
}
