/* Matrices of pairs in slices, and their products. */
#include "network/gradient/sliced.h"

#include <cblas.h>
#undef I
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Exponents of what is cut, for products of slices not to underflow. */
#define MOST_EXPONENT 300
/* A slice with fewer numbers than one of so many is multiplied number by number. */
#define SPARSE 64

/* The exponent of a bound of absolute values, far below all others of zeros; false where it is too large or too small. */
bool
clarke_sliced_top(int *top, double largest)
{
  *top = -3 * MOST_EXPONENT;
  if (largest == 0)
    return true;
  if (!(largest <= DBL_MAX))
    return false;
  frexp(largest, top);
  return abs(*top) <= MOST_EXPONENT;
}

/* One slice of n pairs, which lose it. unit: its numbers are multiples of it. */
static bool
cut(double *slice, double *high, double *low, size_t n, double unit)
{
  const double by = 0x1.8p52 * unit;
  uint64_t any = 0;

  for (size_t i = 0; i < n; i++) {
    const double digit = (high[i] + by) - by;
    const clarke_pair rest = clarke_two_sum(high[i] - digit, low[i]); /* both without error */
    uint64_t bits;

    memcpy(&bits, &digit, sizeof bits);
    any |= bits;
    slice[i] = digit;
    high[i] = rest.high;
    low[i] = rest.low;
  }
  return any != 0;
}

/* Cuts n pairs, which are lost, at m->digit + at. */
void
clarke_sliced_cut(clarke_sliced *m, size_t at, double *high, double *low, size_t n)
{
  for (size_t s = 0; s < m->slices; s++) {
    const double unit = ldexp(1, m->top + 1 - (int)(s + 1) * CLARKE_GRADIENT_SLICE);

    m->used[s] = cut(m->digit + s * m->plane + at, high, low, n, unit) || m->used[s];
  }
}

/* Lists the numbers of slices that have few. */
clarke_status
clarke_sliced_list_few(clarke_sliced *m, clarke_error *err)
{
  for (size_t s = 0; s < m->slices; s++) {
    const double *digit = m->digit + s * m->plane;
    size_t n = 0;

    for (size_t e = 0; e < m->plane; e++)
      n += digit[e] != 0;
    if (n == 0 || n > m->plane / SPARSE)
      continue;
    m->few[s] = malloc(n * sizeof **m->few);
    if (m->few[s] == NULL)
      return clarke_no_memory(err);
    for (size_t e = 0; e < m->plane; e++)
      if (digit[e] != 0)
        m->few[s][m->n_few[s]++] = e;
  }
  return CLARKE_OK;
}

void
clarke_sliced_forget(clarke_sliced *m)
{
  memset(m->used, 0, sizeof m->used);
}

double *
clarke_sliced_room(clarke_sliced *m, size_t count, size_t slices)
{
  m->plane = count;
  m->slices = slices;
  m->digit = malloc((count * slices + 1) * sizeof *m->digit);
  return m->digit;
}

/* --- products -------------------------------------------------------------------------------- */

/* The sum goes to the pairs. */
static void
flush(const clarke_sliced_product *q, const double *part)
{
  for (size_t i = 0; i < q->rows; i++) {
    double *high = q->high + i * q->stride, *low = q->low + i * q->stride;

    for (size_t j = 0; j < q->cols; j++) {
      const clarke_pair sum = clarke_pair_add_double((clarke_pair){high[j], low[j]}, part[i * q->cols + j]);

      high[j] = sum.high;
      low[j] = sum.low;
    }
  }
}

/* Adds the products of a slice s of few numbers, of a weight whose block begins at `first`, to the sum. */
static void
add_few(const clarke_sliced_product *q, size_t s, size_t t, double *part)
{
  const clarke_sliced *a = q->a, *b = q->b;
  const size_t block = q->rows * q->inner;

  for (size_t i = 0; i < a->n_few[s]; i++) {
    const size_t e = a->few[s][i] - q->first; /* those before it become large */
    double *to;
    const double *from;

    if (e >= block)
      continue;
    to = part + (q->a_transposed ? e % a->stride : e / a->stride) * q->cols;
    from = b->digit + t * b->plane + (q->a_transposed ? e / a->stride : e % a->stride) * b->stride;
    for (size_t j = 0; j < q->cols; j++)
      to[j] += a->digit[s * a->plane + e] * from[j];
  }
}

/* Adds the products of slices s and t to the sum, which holds `held` products so far; returns how many it holds then. A sum
 * that is full goes to the pairs first. */
static size_t
add_slices(const clarke_sliced_product *q, size_t s, size_t t, size_t held, double *part)
{
  if (q->a->few[s] != NULL && q->inner <= CLARKE_GRADIENT_SUM) {
    if (held + q->inner > CLARKE_GRADIENT_SUM) {
      flush(q, part);
      held = 0;
    }
    if (held == 0)
      memset(part, 0, q->rows * q->cols * sizeof *part);
    add_few(q, s, t, part);
    return held + q->inner;
  }
  for (size_t k = 0; k < q->inner; k += CLARKE_GRADIENT_SUM) {
    const size_t n = q->inner - k < CLARKE_GRADIENT_SUM ? q->inner - k : CLARKE_GRADIENT_SUM;

    if (held + n > CLARKE_GRADIENT_SUM) {
      flush(q, part);
      held = 0;
    }
    cblas_dgemm(CblasRowMajor, q->a_transposed ? CblasTrans : CblasNoTrans, q->b_transposed ? CblasTrans : CblasNoTrans,
                (int)q->rows, (int)q->cols, (int)n, 1,
                q->a->digit + s * q->a->plane + k * (q->a_transposed ? q->a->stride : 1), (int)q->a->stride,
                q->b->digit + t * q->b->plane + k * (q->b_transposed ? 1 : q->b->stride), (int)q->b->stride, held > 0 ? 1 : 0,
                part, (int)q->cols);
    held += n;
  }
  return held;
}

/* Slices s and t with s + t below the number of slices, the smallest products first. */
void
clarke_sliced_multiply(const clarke_sliced_product *q, double *part)
{
  for (size_t sum = q->b->slices; sum-- > 0;) {
    size_t held = 0;

    for (size_t s = 0; s <= sum; s++)
      if (s < q->a->slices && q->a->used[s] && q->b->used[sum - s])
        held = add_slices(q, s, sum - s, held, part);
    if (held > 0)
      flush(q, part);
  }
}

/* How many times multiply adds to an entry. */
double
clarke_sliced_additions(size_t slices, size_t inner)
{
  return (double)slices * ((double)slices * ((double)inner / (double)CLARKE_GRADIENT_SUM + 1) + 1);
}

/* What is left out of an entry's product: of so many terms, each at most 2^a by 2^b, those of slices that are not multiplied.
 * a slice of A by the rest of B: 2^(a + b - slices * bits) for each of the slices, and once more for the rest of A. */
double
clarke_sliced_left_out(const clarke_sliced *a, const clarke_sliced *b, double terms)
{
  return clarke_bound_up(terms * (double)(b->slices + 1) *
                         ldexp(1, a->top + b->top - (int)b->slices * CLARKE_GRADIENT_SLICE));
}

/* At least the norm of so many numbers' slices, added up without signs, less that of the numbers. */
double
clarke_sliced_norm(const clarke_sliced *m, double count)
{
  return sqrt(count) * ldexp(1, m->top - CLARKE_GRADIENT_SLICE + 2);
}
