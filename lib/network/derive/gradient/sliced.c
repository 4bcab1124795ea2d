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

bool
clarke_sliced_room(clarke_digit_matrix *m, size_t count, size_t slices, int top)
{
  m->width = CLARKE_GRADIENT_SLICE;
  m->low = top + 1 - (long)slices * m->width;
  m->apart = (ptrdiff_t)count;
  m->planes = slices;
  return clarke_digits_alloc(m, count * (slices + 1));
}

void
clarke_sliced_cut(clarke_digit_matrix *m, size_t at, double *high, double *low, size_t n)
{
  double *tail = clarke_digits_row(m, m->planes, 0) + at;

  for (size_t s = m->planes; s-- > 0;)
    if (clarke_rows_cut(clarke_digits_row(m, s, 0) + at, high, low, clarke_digits_unit(m, s), n))
      m->plane[s].used = true;
  for (size_t i = 0; i < n; i++)
    tail[i] = high[i] + low[i];
}

void
clarke_sliced_cut_fixed(clarke_digit_matrix *m, size_t at, const clarke_fixed *v, size_t from, size_t n)
{
  double *tail = clarke_digits_row(m, m->planes, 0);

  for (size_t i = at; i < at + n; i++) {
    tail[i] = clarke_fixed_cut(m->digit + i, (size_t)m->apart, v, from + i - at, m->planes, (int)m->width, (int)m->low);
    for (size_t s = 0; s < m->planes; s++)
      m->plane[s].used = m->plane[s].used || clarke_digits_row(m, s, 0)[i] != 0;
  }
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

/* Sums of integers join those that wait: units grow from one weight to the next. */
static void
join_waiting(const clarke_sliced_product *q, int unit, const double *part)
{
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
    w->sum[e] += one * (int64_t)part[e];
}

/* A product at work, and its sums of slices. */
typedef struct {
  const clarke_sliced_product *q;
  double *part;
} summing;

/* Sums of a weight go to the numbers in fixed point, or to the pairs. */
static void
take_sums(void *context, size_t weight)
{
  const summing *at = context;
  const clarke_sliced_product *q = at->q;
  const int unit = (int)(q->a->cut.low + q->b->low + (long)weight);

  if (q->fixed != NULL)
    join_waiting(q, unit, at->part);
  for (size_t i = 0; i < q->a->layout.rows && q->fixed == NULL; i++)
    clarke_rows_add_scaled(q->high + i * q->stride, q->low + i * q->stride, ldexp(1, unit), at->part + i * q->cols, q->cols);
}

/* C = A tail, in parts. */
static void
multiply_tail(const clarke_sliced_product *q, double *part)
{
  const double *tail = clarke_digits_row(q->b, q->b->planes, 0);
  const clarke_digit_layout *l = &q->a->layout;
  const size_t stride = l->transposed ? l->rows : l->inner;

  for (size_t k = 0; k < l->inner; k += CLARKE_GRADIENT_PART) {
    const size_t n = l->inner - k < CLARKE_GRADIENT_PART ? l->inner - k : CLARKE_GRADIENT_PART;

    cblas_dgemm(CblasRowMajor, l->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)l->rows, (int)q->cols, (int)n, 1,
                q->a->all + q->first + k * (l->transposed ? stride : 1), (int)stride, tail + k * q->b->stride, (int)q->b->stride, 0,
                k > 0 ? part : q->high, (int)(k > 0 ? q->cols : q->stride));
    for (size_t i = 0; k > 0 && i < l->rows; i++)
      clarke_rows_add(q->high + i * q->stride, part + i * q->cols, q->cols);
  }
}

/* The products of slices, the smallest first: all slices of A, and of B. */
static void
multiply_slices(const clarke_sliced_product *q, double *part)
{
  const clarke_digit_layout *l = &q->a->layout;
  clarke_digit_matrix a = q->a->cut;
  summing at = {q, part};
  const clarke_digit_product sums = {.a = &a, .b = q->b, .rows = l->rows, .cols = q->cols, .inner = l->inner,
                                     .a_row = q->first / l->inner, .room = CLARKE_GRADIENT_MASS, .sum = part, .take = take_sums,
                                     .context = &at};
  const size_t weights = CLARKE_GRADIENT_WEIGHT_SLICE * (a.planes - 1) + CLARKE_GRADIENT_SLICE * q->b->planes;

  a.digit += q->first;
  for (size_t weight = 0; weight < weights; weight += CLARKE_GRADIENT_SLICE)
    clarke_digits_multiply(&sums, weight);
}

void
clarke_sliced_multiply(const clarke_sliced_product *q, double *part)
{
  multiply_tail(q, part);
  for (size_t e = 0; q->fixed != NULL && e < q->a->layout.rows * q->cols && !*q->lost; e++)
    *q->lost = !clarke_fixed_add_double(q->fixed, e, q->high[e]);
  for (size_t i = 0; i < q->a->layout.rows && q->b->planes > 0 && q->fixed == NULL; i++)
    memset(q->low + i * q->stride, 0, q->cols * sizeof *q->low);
  if (q->b->planes > 0)
    multiply_slices(q, part);
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
clarke_sliced_norm(const clarke_digit_matrix *m, double count)
{
  return sqrt(count) * ldexp(1, (int)(m->low + m->width * ((long)m->planes - 1)) + 1);
}
