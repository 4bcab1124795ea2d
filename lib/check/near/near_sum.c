/* Where a step's factors are machine words, c is cut into slices, each below 2^61. c is the sum of slice k times 2^(61 k), and so
 * is a row's sum of its sums over the slices, each of which 128 bits hold. Others are sums of long integers.
 *
 * With |c| <= most, the true sum of factors (m + s), 0 <= s <= slack, by values (c + d), |d| <= r, is at most
 * norm r + width slack (most + r) off from the sum of m c. That is then rounded down to units. */
#include "check/near/near_sum.h"
#include "check/base/allocate.h"

#include <stdlib.h>

#define ROOM ((size_t)1 << 17) /* slices of patches that are held at once */

_Static_assert(GMP_NUMB_BITS == 64, "limbs are 64 bits");

/* ---- In slices */

__extension__ typedef __int128 int128;

/* What a row of sources reads that is not 0: n values, and where they are in the row. */
typedef struct {
  size_t n;
  uint32_t *at;
  int64_t *c;
} patch;

/* With a row of factors. */
static int128
dot(const int64_t *m, const patch *of)
{
  int128 sum = 0;
  for (size_t i = 0; i < of->n; i++)
    sum += (int128)m[of->at[i]] * of->c[i];
  return sum;
}

/* Patches of rows first, ..., first + n - 1: of a row's slice k those at k * width from c. */
typedef struct {
  size_t first, n, slices;
  patch *row;
} patches;

static int64_t
slice_of(const integer *c, size_t k)
{
  size_t limb = k * WORD_BITS / 64, off = k * WORD_BITS % 64;
  uint64_t bits = mpz_getlimbn(c, (long)limb) >> off;
  if (off > 0)
    bits |= (uint64_t)mpz_getlimbn(c, (long)limb + 1) << (64 - off);
  int64_t slice = (int64_t)(bits & ((UINT64_C(1) << WORD_BITS) - 1));
  return mpz_sgn(c) < 0 ? -slice : slice;
}

/* How many slices the values have that a step reads. */
static size_t
slices_read(const point *p, const near *v, const step *st)
{
  size_t most = 1;
  for (size_t i = 0; i < st->n_reads; i++) {
    const near *from = near_read(p, v, (source){st->reads[i], 0});
    for (size_t j = 0; j < from->n; j++) {
      size_t n = (mpz_sizeinbase(&from->c[j], 2) + WORD_BITS - 1) / WORD_BITS;
      most = n > most ? n : most;
    }
  }
  return most;
}

static void
fill_patches(const point *p, const near *v, const step *st, size_t e, patches *to)
{
  for (size_t row = 0; row < to->n; row++) {
    const source *x = &st->sources[(to->first + row) * st->width];
    patch *all = &to->row[row];
    all->n = 0;
    for (size_t i = 0; i < st->width; i++) {
      const integer *c = x[i].step == PADDING ? NULL : center(p, v, x[i], e);
      if (c == NULL || mpz_sgn(c) == 0)
        continue;
      all->at[all->n] = (uint32_t)i;
      for (size_t k = 0; k < to->slices; k++)
        all->c[k * st->width + all->n] = slice_of(c, k);
      all->n++;
    }
  }
}

/* z = the sum of sum[k] 2^(61 k), |sum[k]| being at most 2^122: carries go up, what is below 2^61 stays. */
static void
join(integer *z, int128 *sum, uint64_t *part, size_t n)
{
  INTEGER(top);
  int128 carry = 0;
  for (size_t k = 0; k < n; k++) {
    carry += sum[k];
    part[k] = (uint64_t)carry & ((UINT64_C(1) << WORD_BITS) - 1);
    carry >>= WORD_BITS;
  }
  mpz_set_si(&top, (long)carry);
  mpz_mul_2exp(&top, &top, n * WORD_BITS);
  mpz_import(z, n, -1, sizeof *part, 0, 64 - WORD_BITS, part);
  mpz_add(z, z, &top);
}

/* Puts a sum in units of 2^-(near_bits + shift). Is it rounded? */
static bool
put_sum(integer *c, const integer *sum, unsigned long shift)
{
  mpz_fdiv_q_2exp(c, sum, shift);
  return !mpz_divisible_2exp_p(sum, shift);
}

/* The features of sample b whose sources are among the patches. */
static bool
patched_sums(const point *p, near *v, size_t s, size_t b, const patches *of)
{
  const step *st = &p->net->steps[s];
  int128 *sum = allocate(of->slices, sizeof *sum);
  uint64_t *part = allocate(of->slices, sizeof *part);
  bool cut = false;
  INTEGER(z);
  for (size_t f = 0; f < st->n; f++) {
    if (st->source_row[f] - of->first >= of->n)
      continue;
    const patch *row = &of->row[st->source_row[f] - of->first];
    for (size_t k = 0; k < of->slices; k++) {
      const patch one = {row->n, row->at, row->c + k * st->width};
      sum[k] = dot(&st->words[st->factor_row[f] * st->width], &one);
    }
    join(&z, sum, part, of->slices);
    cut = put_sum(&v[s].c[(f * p->net->batch + b) / p->net->apart], &z, st->shift) || cut;
  }
  free(sum);
  free(part);
  return cut;
}

static bool
sums_in_slices(const point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  size_t rows = rows_of_sources(st), slices = slices_read(p, v, st), room = ROOM / (st->width * slices) + 1;
  bool cut = false;
  room = room < rows ? room : rows;
  patches of = {.slices = slices, .row = allocate(room, sizeof *of.row)};
  uint32_t *at = allocate(room * st->width, sizeof *at);
  int64_t *c = allocate(room * st->width * slices, sizeof *c);
  for (size_t i = 0; i < room; i++)
    of.row[i] = (patch){0, at + i * st->width, c + i * st->width * slices};
  for (size_t b = sample; b < p->net->batch; b += p->net->apart)
    for (of.first = 0; of.first < rows; of.first += room) {
      of.n = rows - of.first < room ? rows - of.first : room;
      fill_patches(p, v, st, b, &of);
      cut = patched_sums(p, v, s, b, &of) || cut;
    }
  free(at);
  free(c);
  free(of.row);
  return cut;
}

/* ---- In long integers */

static bool
long_sums(const point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  bool cut = false;
  INTEGER(sum);
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    size_t f = e / p->net->batch;
    const source *x = &st->sources[st->source_row[f] * st->width];
    const integer *m = &st->m[st->factor_row[f] * st->width];
    mpz_set_ui(&sum, 0);
    for (size_t i = 0; i < st->width; i++) {
      if (x[i].step == PADDING)
        continue;
      const integer *c = center(p, v, x[i], e);
      if (mpz_sgn(c) != 0)
        mpz_addmul(&sum, &m[i], c);
    }
    cut = put_sum(&v[s].c[e / p->net->apart], &sum, st->shift) || cut;
  }
  return cut;
}

/* ---- Bounds */

/* The largest r of what the step reads, and where factors are rounded |c|. */
static void
most_of(const point *p, const near *v, const step *st, integer *most, integer *r)
{
  for (size_t i = 0; i < st->n_reads; i++) {
    const near *x = near_read(p, v, (source){st->reads[i], 0});
    larger(r, &x->r);
    for (size_t j = 0; j < x->n && mpz_sgn(&st->slack) != 0; j++)
      larger(most, &x->c[j]);
  }
}

void
near_sums(const point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  bool cut = (st->words != NULL ? sums_in_slices : long_sums)(p, v, s, sample);
  INTEGER(r);
  INTEGER(most);
  most_of(p, v, st, &most, &r);
  mpz_add(&most, &most, &r);
  mpz_mul(&most, &most, &st->slack);
  mpz_mul_ui(&most, &most, st->width);
  mpz_mul(&v[s].r, &st->norm, &r);
  mpz_add(&v[s].r, &v[s].r, &most);
  mpz_cdiv_q_2exp(&v[s].r, &v[s].r, st->shift);
  mpz_add_ui(&v[s].r, &v[s].r, cut);
}

/* With |a| <= A up to p and |c| <= C up to q, each product is off by at most (A + p) q + C p: 1 more where the sum is cut. */
void
near_products(const point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  bool cut = false;
  integer most[2] = {integer_zero(), integer_zero()}, r[2] = {integer_zero(), integer_zero()};
  INTEGER(sum);
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    mpz_set_ui(&sum, 0);
    for (size_t i = 0; i < st->width; i++) {
      const source x = term_at(p, st, e, i).x;
      larger(&most[i % 2], center(p, v, x, e));
      larger(&r[i % 2], &near_read(p, v, x)->r);
      if (i % 2 == 1)
        mpz_addmul(&sum, center(p, v, term_at(p, st, e, i - 1).x, e), center(p, v, x, e));
    }
    cut = put_sum(&v[s].c[e / p->net->apart], &sum, p->net->near_bits) || cut;
  }
  mpz_add(&most[0], &most[0], &r[0]);
  mpz_mul(&v[s].r, &most[0], &r[1]);
  mpz_addmul(&v[s].r, &most[1], &r[0]);
  mpz_mul_ui(&v[s].r, &v[s].r, st->width / 2);
  mpz_cdiv_q_2exp(&v[s].r, &v[s].r, p->net->near_bits);
  mpz_add_ui(&v[s].r, &v[s].r, cut);
  mpz_clears(&most[0], &most[1], &r[0], &r[1], NULL);
}
