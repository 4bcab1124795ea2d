/* Bounds of products, a factor by row and one by sample: by Cauchy-Schwarz. */
#include "network/filter/filter.h"
#include "network/filter/norms.h"

#include <cblas.h>
#undef I
#include <stdlib.h>
#include <string.h>

/* With norms longer sums are of so many products at a time, and panels of columns have so many entries: these sums are near
 * when they are added. */
#define SUMMED ((size_t)192)
#define PANEL ((size_t)1 << 16)

/* Products and sums that an entry of y is rounded by. */
static size_t
roundings(const clarke_filter *f, const clarke_dense *d)
{
  return f->growths != NULL && d->inner > SUMMED ? SUMMED + (d->inner + SUMMED - 1) / SUMMED : d->inner;
}

/* An upper bound of the 2-norm of n doubles, stride apart. */
static double
norm_up(const double *v, size_t n, size_t stride)
{
  double sum = 0;

  for (size_t i = 0; i < n; i++)
    sum += v[i * stride] * v[i * stride];
  /* n products and sums, each within 1 + U, and what underflow took. */
  return sqrt((sum + (double)n * CLARKE_TINY) * (1 + (double)(2 * n + 8) * U)) * (1 + 4 * U);
}

/* At least sqrt(sum), a computed sum of that many squares. */
static double
root_up(double sum, size_t squares)
{
  return sqrt((sum + (double)squares * CLARKE_TINY) * (1 + (double)(2 * squares + 8) * U)) * (1 + 4 * U);
}

/* The largest 2-norm of a column of the product, for each sample, and the norm of all its columns together. */
static clarke_status
patch_norms(clarke_filter *f, const clarke_dense *d, const clarke_enclosure *x, double *norm, double *all)
{
  size_t width = d->repeat * f->n;
  double *sum = malloc((width + 1) * sizeof *sum);

  if (sum == NULL)
    return clarke_no_memory(f->err);
  memset(norm, 0, f->n * sizeof *norm);
  memset(all, 0, f->n * sizeof *all);
  for (size_t b = 0; b < d->blocks; b++) {
    memset(sum, 0, width * sizeof *sum);
    for (size_t i = 0; i < d->inner; i++) {
      const double *in = x->y + (b * d->inner + i) * width;

      for (size_t c = 0; c < width; c++)
        sum[c] += in[c] * in[c];
    }
    for (size_t c = 0; c < width; c += f->n)
      for (size_t j = 0; j < f->n; j++) {
        norm[j] = clarke_larger(norm[j], sum[c + j]);
        all[j] += sum[c + j];
      }
  }
  for (size_t j = 0; j < f->n; j++) {
    norm[j] = root_up(norm[j], d->inner);
    all[j] = root_up(all[j], d->inner * d->repeat * d->blocks);
  }
  free(sum);
  return CLARKE_OK;
}

/* y->row = |W| x->row, for each block and repeat: nonnegative terms, so the sum is off by a factor. */
static void
spread_rows(const clarke_dense *d, const double *w, const clarke_enclosure *x, clarke_enclosure *y)
{
  double up = (1 + 0x1p-20) * (1 + (double)(d->inner + 8) * U);

  for (size_t b = 0; b < d->blocks; b++)
    cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans,
                (int)d->outer, (int)d->repeat, (int)d->inner, 1,
                w + (d->grouped ? b * d->outer * d->inner : 0),
                (int)(d->transposed ? d->outer : d->inner), x->row + b * d->inner * d->repeat,
                (int)d->repeat, 0, y->row + b * d->outer * d->repeat, (int)d->repeat);
  for (size_t i = 0; i < y->rows; i++)
    y->row[i] = y->row[i] * up + (double)d->inner * CLARKE_TINY;
}

/* The norm of each row of a weight, or of each column when it is stored transposed. */
static double
weight_norm(const clarke_dense *d, const double *w, size_t b, size_t o)
{
  const double *rows = w + (d->grouped ? b * d->outer * d->inner : 0);

  return d->transposed ? norm_up(rows + o, d->inner, d->outer)
                       : norm_up(rows + o * d->inner, d->inner, 1);
}

/* err(y) <= |W| err(x) + gamma |w| |x|, the first term row by row, the second by Cauchy-Schwarz; each
 * scaled to at most 1 so that one row bounds both. */
static clarke_status
dense_bounds(clarke_filter *f, const clarke_step *s, const clarke_enclosure *x, clarke_enclosure *y)
{
  const clarke_dense *d = &s->dense;
  const double *w = f->g->values[d->weight].real;
  size_t count = f->g->values[d->weight].count, rows = d->blocks * d->outer;
  double gamma = (double)(roundings(f, d) + 4) * U * (1 + 0x1p-20), spread, most;
  double *size = malloc((2 * f->n + rows + count + 1) * sizeof *size);
  double *all = size + f->n, *norm = all + f->n, *absolute = norm + rows;
  clarke_status status;

  if (size == NULL)
    return clarke_no_memory(f->err);
  status = patch_norms(f, d, x, size, all);
  for (size_t e = 0; e < count; e++)
    absolute[e] = fabs(w[e]);
  for (size_t i = 0; i < rows; i++)
    norm[i] = !d->grouped && i >= d->outer ? norm[i - d->outer]
                                           : weight_norm(d, w, i / d->outer, i % d->outer);
  if (status != CLARKE_OK) {
    free(size);
    return status;
  }
  spread_rows(d, absolute, x, y);
  spread = clarke_largest_of(y->row, y->rows);
  most = clarke_largest_of(norm, rows);
  for (size_t i = 0; i < y->rows; i++) {
    double by_row = spread > 0 ? y->row[i] / spread : 0;
    double by_norm = most > 0 ? norm[i / d->repeat] / most : 0;

    y->row[i] = clarke_larger(by_row, by_norm) * (1 + 4 * U) + 0x1p-500;
  }
  /* The added 2^-500 pairs cover underflow in products: inner * 2^-1074 < 2^-500 * 2^-500. */
  for (size_t j = 0; j < f->n; j++) {
    y->col[j] = clarke_up_add(clarke_up_mul(spread, x->col[j]),
                              clarke_up_mul(gamma, clarke_up_mul(most, size[j]))) + 0x1p-500;
    if (!(most * size[j] <= CLARKE_FILTER_FAR))
      y->col[j] = INFINITY;
  }
  clarke_norms_of_product(f, s, y, gamma, size, all);
  free(size);
  return status;
}

/* y = W x for columns from `first` on of block b: the part of the inner dimension that begins at k, added to what is there. */
static void
add_part(const clarke_filter *f, const clarke_dense *d, const double *w, const double *x, double *y, size_t k, size_t cols,
         double *sum)
{
  const size_t width = d->repeat * f->n, len = d->inner - k < SUMMED ? d->inner - k : SUMMED;

  cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)d->outer, (int)cols, (int)len, 1,
              w + (d->transposed ? k * d->outer : k), (int)(d->transposed ? d->outer : d->inner), x + k * width, (int)width,
              0, k == 0 ? y : sum, (int)(k == 0 ? width : cols));
  for (size_t o = 0; o < d->outer && k > 0; o++)
    for (size_t c = 0; c < cols; c++)
      y[o * width + c] += sum[o * cols + c];
}

/* y = W x, sums in parts. */
static clarke_status
multiply_in_parts(clarke_filter *f, const clarke_dense *d, const double *w, const double *x, double *y)
{
  const size_t width = d->repeat * f->n, most = PANEL / d->outer > 256 ? PANEL / d->outer : 256;
  const size_t panel = most < width ? most : width;
  double *sum = malloc((d->outer * panel + 1) * sizeof *sum);

  if (sum == NULL)
    return clarke_no_memory(f->err);
  for (size_t b = 0; b < d->blocks; b++)
    for (size_t c = 0; c < width; c += panel)
      for (size_t k = 0; k < d->inner; k += SUMMED)
        add_part(f, d, w + (d->grouped ? b * d->outer * d->inner : 0), x + b * d->inner * width + c,
                 y + b * d->outer * width + c, k, width - c < panel ? width - c : panel, sum);
  free(sum);
  return CLARKE_OK;
}

clarke_status
clarke_filter_dense(clarke_filter *f, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const clarke_enclosure *x = &f->value[s->in[0].value];
  clarke_enclosure *y = &f->value[s->out];
  const double *w = f->g->values[d->weight].real;
  size_t width = d->repeat * f->n;
  clarke_status status = clarke_enclosure_alloc(f, y, d->blocks * d->outer * d->repeat);

  if (status != CLARKE_OK)
    return status;
  if (f->fine)
    return clarke_filter_dense_fine(f, s, y);
  if (roundings(f, d) < d->inner)
    status = multiply_in_parts(f, d, w, x->y, y->y);
  for (size_t b = 0; b < d->blocks && roundings(f, d) == d->inner; b++)
    cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans,
                (int)d->outer, (int)width, (int)d->inner, 1,
                w + (d->grouped ? b * d->outer * d->inner : 0),
                (int)(d->transposed ? d->outer : d->inner), x->y + b * d->inner * width,
                (int)width, 0, y->y + b * d->outer * width, (int)width);
  return status == CLARKE_OK ? dense_bounds(f, s, x, y) : status;
}
