/* Pairs in slices and a tail, and their products with a weight. */
#include "network/derive/gradient/sliced.h"

#include "network/derive/gradient/rows.h"

#include <cblas.h>
#undef I
#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Exponents of what is cut, for products of slices not to underflow. */
#define MOST_EXPONENT 300
/* A slice of a weight, in slices of what it is multiplied by. */
#define OF_WEIGHT ((size_t)CLARKE_GRADIENT_WEIGHT_SLICE / CLARKE_GRADIENT_SLICE)

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

void
clarke_sliced_cut(clarke_cut_matrix *m, size_t at, double *high, double *low, size_t n)
{
  for (size_t s = 0; s < m->slices; s++)
    m->used[s] = clarke_rows_cut(m->digit + s * m->plane + at, high, low, clarke_sliced_unit(m, s), n) || m->used[s];
  for (size_t i = 0; i < n; i++)
    m->digit[m->slices * m->plane + at + i] = high[i] + low[i];
}

void
clarke_sliced_cut_fixed(clarke_cut_matrix *m, size_t at, const clarke_fixed *v, size_t from, size_t n)
{
  for (size_t i = at; i < at + n; i++) {
    double *digit = m->digit + i;

    digit[m->slices * m->plane] = clarke_fixed_cut(digit, m->plane, v, from + i - at, m->slices, m->bits,
                                                   m->top + 1 - (int)m->slices * m->bits);
    for (size_t s = 0; s < m->slices; s++)
      m->used[s] = m->used[s] || digit[s * m->plane] != 0;
  }
}

double *
clarke_sliced_room(clarke_cut_matrix *m, size_t count, size_t slices, int bits)
{
  m->bits = bits;
  m->plane = count;
  m->slices = slices;
  m->digit = malloc((count * (slices + 1) + 1) * sizeof *m->digit);
  return m->digit;
}

/* --- products -------------------------------------------------------------------------------- */

/* Sums of 2^53 at most wait together: so many of them, in units no more than 2^48 apart, stay below 2^(53 + 48 + 20). */
#define WAITING_BITS 48
#define WAITING_SUMS ((size_t)1 << 20)

/* What waits goes to the numbers in fixed point. */
static void
end_waiting(const clarke_sliced_product *q)
{
  clarke_sliced_waiting *w = q->waiting;

  for (size_t e = 0; e < q->a->layout.rows * q->cols && w->sums > 0 && !*q->lost; e++)
    *q->lost = !clarke_fixed_add_wide(clarke_fixed_at(q->fixed, e), q->fixed->limbs, w->sum[e], (long)w->unit - q->fixed->unit);
  w->sums = 0;
}

/* The sum, of integers of the unit that its slices' numbers have, joins those that wait: units grow from one to the next. */
static void
flush_fixed(const clarke_sliced_product *q, size_t sum, const double *part)
{
  const int unit = q->a->cut.top + 1 - q->a->cut.bits + q->b->top + 1 - q->b->bits * (int)(sum + 1);
  const double per_unit = ldexp(1, -unit);
  const size_t count = q->a->layout.rows * q->cols;
  clarke_sliced_waiting *w = q->waiting;
  clarke_wide one;

  if (w->sums == WAITING_SUMS || unit - w->unit > WAITING_BITS)
    end_waiting(q);
  if (w->sums++ == 0) {
    w->unit = unit;
    memset(w->sum, 0, count * sizeof *w->sum);
  }
  one = (clarke_wide)1 << (unit - w->unit);
  for (size_t e = 0; e < count; e++)
    w->sum[e] += one * (int64_t)(part[e] * per_unit);
}

/* The sum goes to the pairs. */
static void
flush(const clarke_sliced_product *q, size_t sum, const double *part)
{
  if (q->fixed != NULL) {
    flush_fixed(q, sum, part);
    return;
  }
  for (size_t i = 0; i < q->a->layout.rows; i++)
    clarke_rows_add_doubles(q->high + i * q->stride, q->low + i * q->stride, part + i * q->cols, q->cols);
}

/* Adds the products of a slice s of few numbers to the sum. */
static void
add_few(const clarke_sliced_product *q, size_t s, size_t t, double *part)
{
  const clarke_cut_matrix *a = &q->a->cut, *b = q->b;
  const clarke_sliced_layout *l = &q->a->layout;
  const size_t block = l->rows * l->inner;

  for (size_t i = 0; i < q->a->n_few[s]; i++) {
    const size_t e = q->a->few[s][i] - q->first; /* those before it become large */
    double *to;
    const double *from;

    if (e >= block)
      continue;
    to = part + (l->transposed ? e % a->stride : e / a->stride) * q->cols;
    from = b->digit + t * b->plane + (l->transposed ? e / a->stride : e % a->stride) * b->stride;
    clarke_rows_add_multiple(to, q->a->few_digit[s][i], from, q->cols);
  }
}

/* C = A B, or added to C, of n inner products from the k-th on. a, b: where the factors begin. */
static void
multiply_part(const clarke_sliced_product *q, const double *a, const double *b, size_t k, size_t n, bool add, double *c,
              size_t c_stride)
{
  const clarke_sliced_layout *l = &q->a->layout;
  const size_t stride = q->a->cut.stride;

  cblas_dgemm(CblasRowMajor, l->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)l->rows, (int)q->cols, (int)n, 1,
              a + q->first + k * (l->transposed ? stride : 1), (int)stride, b + k * q->b->stride, (int)q->b->stride,
              add ? 1 : 0, c, (int)c_stride);
}

/* Room in the sum for so much more; returns what it holds already. A sum that is full goes to the pairs. */
static double
make_room(const clarke_sliced_product *q, size_t sum, double held, double mass, const double *part)
{
  if (held + mass <= CLARKE_GRADIENT_MASS)
    return held;
  flush(q, sum, part);
  return 0;
}

/* Adds the products of slices s and t to the sum, which holds products of a weight's numbers of so much; returns what it
 * holds then. */
static double
add_slices(const clarke_sliced_product *q, size_t s, size_t t, double held, double *part)
{
  const size_t sum = t + s * OF_WEIGHT;
  const size_t inner = q->a->layout.inner, reach = q->a->reach[s];

  if (q->a->few[s] != NULL) {
    held = make_room(q, sum, held, q->a->mass[s], part);
    if (held == 0)
      memset(part, 0, q->a->layout.rows * q->cols * sizeof *part);
    add_few(q, s, t, part);
    return held + q->a->mass[s];
  }
  for (size_t k = 0; k < inner; k += reach) {
    held = make_room(q, sum, held, q->a->mass[s], part);
    multiply_part(q, q->a->cut.digit + s * q->a->cut.plane, q->b->digit + t * q->b->plane, k, inner - k < reach ? inner - k : reach,
                  held > 0, part, q->cols);
    held += q->a->mass[s];
  }
  return held;
}

/* C = A tail, in parts. */
static void
multiply_tail(const clarke_sliced_product *q, double *part)
{
  const double *tail = q->b->digit + q->b->slices * q->b->plane;
  const size_t inner = q->a->layout.inner;

  for (size_t k = 0; k < inner; k += CLARKE_GRADIENT_PART) {
    const size_t n = inner - k < CLARKE_GRADIENT_PART ? inner - k : CLARKE_GRADIENT_PART;

    multiply_part(q, q->a->all, tail, k, n, false, k > 0 ? part : q->high, k > 0 ? q->cols : q->stride);
    for (size_t i = 0; k > 0 && i < q->a->layout.rows; i++)
      clarke_rows_add(q->high + i * q->stride, part + i * q->cols, q->cols);
  }
}

/* The tail's product, then those of slices, the smallest first: all slices of A, and of B. Those of one sum are multiples of one
 * unit. */
void
clarke_sliced_multiply(const clarke_sliced_product *q, double *part)
{
  multiply_tail(q, part);
  for (size_t e = 0; q->fixed != NULL && e < q->a->layout.rows * q->cols && !*q->lost; e++)
    *q->lost = !clarke_fixed_add_double(q->fixed, e, q->high[e]);
  for (size_t i = 0; i < q->a->layout.rows && q->b->slices > 0 && q->fixed == NULL; i++)
    memset(q->low + i * q->stride, 0, q->cols * sizeof *q->low);
  for (size_t sum = q->b->slices > 0 ? q->b->slices + OF_WEIGHT * (CLARKE_GRADIENT_WEIGHT_MOST - 1) : 0; sum-- > 0;) {
    double held = 0;

    for (size_t s = 0; s < q->a->cut.slices && s * OF_WEIGHT <= sum; s++) {
      const size_t t = sum - s * OF_WEIGHT;

      if (t < q->b->slices && q->a->cut.used[s] && q->b->used[t])
        held = add_slices(q, s, t, held, part);
    }
    if (held > 0)
      flush(q, sum, part);
  }
  if (q->fixed != NULL)
    end_waiting(q);
}

void
clarke_rounded_multiply(const clarke_rounded_product *q, double *part)
{
  for (size_t k = 0; k < q->inner; k += CLARKE_GRADIENT_PART) {
    const size_t n = q->inner - k < CLARKE_GRADIENT_PART ? q->inner - k : CLARKE_GRADIENT_PART;

    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)q->rows, (int)q->cols, (int)n, 1, q->a + k, (int)q->a_stride,
                q->b + k, (int)q->b_stride, 0, q->fresh && k == 0 ? q->to : part, (int)q->cols);
    if (!q->fresh || k > 0)
      clarke_rows_add(q->to, part, q->rows * q->cols);
  }
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* Each product goes through at most a part's roundings, and one for each part (Higham, Lemma 3.1). */
double
clarke_rounded_gamma(double inner)
{
  return clarke_gamma(fmin(inner, (double)CLARKE_GRADIENT_PART) + inner / (double)CLARKE_GRADIENT_PART + 8, CLARKE_UNIT);
}

double
clarke_sliced_additions(size_t slices, size_t inner)
{
  return (double)slices * CLARKE_GRADIENT_WEIGHT_MOST * ((double)inner / (double)CLARKE_GRADIENT_SUM + 2);
}

double
clarke_sliced_tail(int top, size_t slices, double count)
{
  return clarke_bound_up(sqrt(count) * ldexp(1, top - (int)slices * CLARKE_GRADIENT_SLICE));
}

double
clarke_sliced_norm(const clarke_cut_matrix *m, double count)
{
  return sqrt(count) * ldexp(1, m->top - m->bits + 2);
}
