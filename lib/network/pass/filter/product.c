/* Bounds of products, a factor by row and one by sample: by Cauchy-Schwarz. */
#include "network/pass/filter/filter.h"
#include "network/pass/filter/norms.h"

#include "base/wide.h"

#include <cblas.h>
#undef I
#include <stdlib.h>
#include <string.h>

/* With norms longer sums are of so many products at a time, and panels of columns have so many entries: these sums are near
 * when they are added. */
#define SUMMED ((size_t)192)
#define PANEL ((size_t)1 << 16)
/* Entries of a panel of columns that are gathered, and their number at least. */
#define GATHERED ((size_t)1 << 17)
#define GATHERED_COLUMNS ((size_t)256)

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
  return clarke_up_root(sum, n);
}

CLARKE_WIDE static void
add_squares(double *sum, const double *x, size_t n)
{
  for (size_t c = 0; c < n; c++)
    sum[c] += x[c] * x[c];
}

/* Sums of squares of `columns`, n samples' one after another: norm, the largest of each sample; all, theirs together, a NaN
 * if one is. */
CLARKE_WIDE static void
take_columns(double *norm, double *all, const double *sum, size_t columns, size_t n)
{
  for (size_t c = 0; c < columns; c += n)
    for (size_t j = 0; j < n; j++) {
      norm[j] = sum[c + j] > norm[j] ? sum[c + j] : norm[j];
      all[j] += sum[c + j];
    }
}

static void
end_columns(const clarke_filter *f, const clarke_dense *d, double *norm, double *all)
{
  for (size_t j = 0; j < f->n; j++) {
    norm[j] = isnan(all[j]) ? NAN : clarke_up_root(norm[j], d->inner);
    all[j] = clarke_up_root(all[j], d->inner * d->repeat * d->blocks);
  }
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
    for (size_t i = 0; i < d->inner; i++)
      add_squares(sum, x->y + (b * d->inner + i) * width, width);
    take_columns(norm, all, sum, width, f->n);
  }
  end_columns(f, d, norm, all);
  free(sum);
  return CLARKE_OK;
}

/* y->row = |W| x->row, for each block and repeat: nonnegative terms, so the sum is off by a factor. */
static void
spread_rows(const clarke_dense *d, const double *w, const clarke_enclosure *x, clarke_enclosure *y)
{
  double up = clarke_up_factor(0x1p32) * clarke_up_factor((double)(d->inner + 8) / 2);

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
 * scaled to at most 1 so that one row bounds both. size: for each sample the largest norm of a column, then that of all. */
static clarke_status
dense_bounds(clarke_filter *f, const clarke_step *s, const clarke_enclosure *x, clarke_enclosure *y, const double *size)
{
  const clarke_dense *d = &s->dense;
  const double *w = f->g->values[d->weight].real;
  size_t count = f->g->values[d->weight].count, rows = d->blocks * d->outer;
  double gamma = clarke_gamma((double)(roundings(f, d) + 4), CLARKE_UNIT), spread, most;
  double *norm = malloc((rows + count + 1) * sizeof *norm), *absolute = norm + rows;

  if (norm == NULL)
    return clarke_no_memory(f->err);
  for (size_t e = 0; e < count; e++)
    absolute[e] = fabs(w[e]);
  for (size_t i = 0; i < rows; i++)
    norm[i] = !d->grouped && i >= d->outer ? norm[i - d->outer]
                                           : weight_norm(d, w, i / d->outer, i % d->outer);
  spread_rows(d, absolute, x, y);
  spread = clarke_largest_of(y->row, y->rows);
  most = clarke_largest_of(norm, rows);
  for (size_t i = 0; i < y->rows; i++) {
    double by_row = spread > 0 ? y->row[i] / spread : 0;
    double by_norm = most > 0 ? norm[i / d->repeat] / most : 0;

    y->row[i] = clarke_up_over(clarke_larger(by_row, by_norm), 2, 0x1p-500);
  }
  /* The added 2^-500 pairs cover underflow in products: inner * 2^-1074 < 2^-500 * 2^-500. */
  for (size_t j = 0; j < f->n; j++) {
    y->col[j] = clarke_up_add(clarke_up_mul(spread, x->col[j]),
                              clarke_up_mul(gamma, clarke_up_mul(most, size[j]))) + 0x1p-500;
    if (!(most * size[j] <= CLARKE_FILTER_FAR))
      y->col[j] = INFINITY;
  }
  clarke_norms_of_product(f, s, y, gamma, size, size + f->n);
  free(norm);
  return CLARKE_OK;
}

CLARKE_WIDE static void
add_row(double *y, const double *sum, size_t n)
{
  for (size_t c = 0; c < n; c++)
    y[c] += sum[c];
}

/* y = W x for so many columns of x, whose rows are `along` apart, the part of the inner dimension that begins at k: added to what
 * is there. */
static void
add_part(const clarke_filter *f, const clarke_dense *d, const double *w, const double *x, size_t along, double *y, size_t k,
         size_t cols, double *sum)
{
  const size_t width = d->repeat * f->n, most = roundings(f, d) < d->inner ? SUMMED : d->inner;
  const size_t len = d->inner - k < most ? d->inner - k : most;

  cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)d->outer, (int)cols, (int)len, 1,
              w + (d->transposed ? k * d->outer : k), (int)(d->transposed ? d->outer : d->inner), x + k * along, (int)along,
              0, k == 0 ? y : sum, (int)(k == 0 ? width : cols));
  for (size_t o = 0; o < d->outer && k > 0; o++)
    add_row(y + o * width, sum + o * cols, cols);
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
        add_part(f, d, w + (d->grouped ? b * d->outer * d->inner : 0), x + b * d->inner * width + c, width,
                 y + b * d->outer * width + c, k, width - c < panel ? width - c : panel, sum);
  free(sum);
  return CLARKE_OK;
}

/* Columns of `places` places of block b, from `first` on, as the map gathers them from x. */
static void
gather_columns(const clarke_filter *f, const clarke_dense *d, const clarke_operand *map, const double *x, size_t b, size_t first,
               size_t places, double *panel)
{
  for (size_t i = 0; i < d->inner; i++) {
    const size_t row = (b * d->inner + i) * d->repeat + first;

    for (size_t r = 0, run; r < places; r += run) {
      const size_t from = clarke_operand_entry(map, row + r);
      double *to = panel + (i * places + r) * f->n;

      run = clarke_operand_run(map, row + r, row + places);
      if (from == CLARKE_NONE)
        memset(to, 0, run * f->n * sizeof *to);
      else
        memcpy(to, x + from * f->n, run * f->n * sizeof *to);
    }
  }
}

/* y = W x, x gathered piece by piece; size: as dense_bounds has it. */
static clarke_status
multiply_gathered(clarke_filter *f, const clarke_dense *d, const double *w, const clarke_operand *map, const double *x, double *y,
                  double *size)
{
  const size_t width = d->repeat * f->n, most = GATHERED / (d->inner * f->n + 1), least = GATHERED_COLUMNS / f->n + 1;
  const size_t some = most > least ? most : least, places = some < d->repeat ? some : d->repeat;
  double *panel = malloc(((d->inner + d->outer + 1) * places * f->n + 1) * sizeof *panel);
  double *square = panel + d->inner * places * f->n, *sum = square + places * f->n;

  if (panel == NULL)
    return clarke_no_memory(f->err);
  memset(size, 0, 2 * f->n * sizeof *size);
  for (size_t b = 0; b < d->blocks; b++)
    for (size_t first = 0; first < d->repeat; first += places) {
      const size_t here = d->repeat - first < places ? d->repeat - first : places, cols = here * f->n;

      gather_columns(f, d, map, x, b, first, here, panel);
      memset(square, 0, cols * sizeof *square);
      for (size_t i = 0; i < d->inner; i++)
        add_squares(square, panel + i * cols, cols);
      take_columns(size, size + f->n, square, cols, f->n);
      for (size_t k = 0; k < d->inner; k += roundings(f, d) < d->inner ? SUMMED : d->inner)
        add_part(f, d, w + (d->grouped ? b * d->outer * d->inner : 0), panel, cols, y + b * d->outer * width + first * f->n, k,
                 cols, sum);
    }
  end_columns(f, d, size, size + f->n);
  free(panel);
  return CLARKE_OK;
}

/* y = W x, x being there. */
static clarke_status
multiply(clarke_filter *f, const clarke_dense *d, const double *w, const clarke_enclosure *x, double *y, double *size)
{
  const size_t width = d->repeat * f->n;
  clarke_status status = patch_norms(f, d, x, size, size + f->n);

  if (status == CLARKE_OK && roundings(f, d) < d->inner)
    return multiply_in_parts(f, d, w, x->y, y);
  for (size_t b = 0; b < d->blocks && status == CLARKE_OK; b++)
    cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans,
                (int)d->outer, (int)width, (int)d->inner, 1,
                w + (d->grouped ? b * d->outer * d->inner : 0),
                (int)(d->transposed ? d->outer : d->inner), x->y + b * d->inner * width,
                (int)width, 0, y + b * d->outer * width, (int)width);
  return status;
}

clarke_status
clarke_filter_dense(clarke_filter *f, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const clarke_step *gather = f->deferred[s->in[0].value];
  const clarke_enclosure *x = &f->value[s->in[0].value];
  clarke_enclosure *y = &f->value[s->out];
  const double *w = f->g->values[d->weight].real;
  double *size;
  clarke_status status = clarke_enclosure_alloc(f, y, d->blocks * d->outer * d->repeat);

  if (status != CLARKE_OK)
    return status;
  if (f->fine)
    return clarke_filter_dense_fine(f, s, y);
  size = malloc((2 * f->n + 1) * sizeof *size);
  if (size == NULL)
    return clarke_no_memory(f->err);
  status = gather != NULL ? multiply_gathered(f, d, w, &gather->in[0], f->value[gather->in[0].value].y, y->y, size)
                          : multiply(f, d, w, x, y->y, size);
  if (status == CLARKE_OK)
    status = dense_bounds(f, s, x, y, size);
  free(size);
  return status;
}
