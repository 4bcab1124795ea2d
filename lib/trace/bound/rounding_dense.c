#include "trace/bound/rounding_dense.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

double *
clarke_roundoff_weights(const clarke_roundoff *r, size_t value, bool cast)
{
  const clarke_value *v = &r->f->g->values[value];
  double *size = malloc((v->count + 1) * sizeof *size);

  for (size_t e = 0; size != NULL && e < v->count; e++)
    size[e] = cast ? clarke_roundoff_constant(r, v->real[e]) : fabs(v->real[e]);
  return size;
}

bool
clarke_roundoff_casts(const clarke_roundoff *r, size_t value)
{
  const clarke_value *v = &r->f->g->values[value];
  size_t e = 0;

  while (e < v->count && clarke_roundoff_constant(r, v->real[e]) == 0)
    e++;
  return e < v->count;
}

double *
clarke_roundoff_tops(const clarke_roundoff *r, size_t value)
{
  const size_t n = r->f->g->values[value].count * r->f->n;
  double *top = malloc((n + 1) * sizeof *top);

  for (size_t e = 0; top != NULL && e < n; e++)
    top[e] = r->size[value][e] + r->error[value][e];
  return top;
}

bool
clarke_roundoff_turns(const double *size, size_t n)
{
  size_t e = 0;

  while (e < n && size[e] == 1)
    e++;
  return e == n;
}

static bool
all_zero(const double *x, size_t n)
{
  for (size_t e = 0; e < n; e++)
    if (x[e] != 0)
      return false;
  return true;
}

static size_t
entries_of(const clarke_dense *d)
{
  return (d->grouped ? d->blocks : 1) * d->inner * d->outer;
}

/* Where a block's weight begins, and how far apart its rows are. */
static const double *
weight_of(const clarke_dense *d, const double *w, size_t block)
{
  return d->grouped ? w + block * d->outer * d->inner : w;
}

static int
row_length(const clarke_dense *d)
{
  return (int)(d->transposed ? d->outer : d->inner);
}

/* The columns of one block's feature axis (extent, repeat) and all samples, as a matrix of `extent` rows, row-major. */
static size_t
columns_of(const clarke_dense *d, size_t n)
{
  return d->repeat * n;
}

void
clarke_roundoff_dense(double *y, const clarke_step *s, const double *w, const double *x, size_t n)
{
  const clarke_dense *d = &s->dense;
  const size_t columns = columns_of(d, n);

  if (columns == 0 || d->inner == 0 || d->outer == 0 || all_zero(w, entries_of(d)) || all_zero(x, d->blocks * d->inner * columns))
    return;
  for (size_t b = 0; b < d->blocks; b++)
    cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)d->outer, (int)columns, (int)d->inner, 1,
                weight_of(d, w, b), row_length(d), x + b * d->inner * columns, (int)columns, 1, y + b * d->outer * columns,
                (int)columns);
}

void
clarke_roundoff_dense_back(double *x, const clarke_step *s, const double *w, const double *y, size_t n)
{
  const clarke_dense *d = &s->dense;
  const size_t columns = columns_of(d, n);

  if (columns == 0 || d->inner == 0 || d->outer == 0 || all_zero(w, entries_of(d)) || all_zero(y, d->blocks * d->outer * columns))
    return;
  for (size_t b = 0; b < d->blocks; b++)
    cblas_dgemm(CblasRowMajor, d->transposed ? CblasNoTrans : CblasTrans, CblasNoTrans, (int)d->inner, (int)columns, (int)d->outer, 1,
                weight_of(d, w, b), row_length(d), y + b * d->outer * columns, (int)columns, 1, x + b * d->inner * columns,
                (int)columns);
}

void
clarke_roundoff_dense_weight(double *w, const clarke_step *s, const double *y, const double *x, size_t n)
{
  const clarke_dense *d = &s->dense;
  const size_t columns = columns_of(d, n);

  if (columns == 0 || d->inner == 0 || d->outer == 0 || all_zero(y, d->blocks * d->outer * columns)
      || all_zero(x, d->blocks * d->inner * columns))
    return;
  for (size_t b = 0; b < d->blocks; b++) {
    const double *yb = y + b * d->outer * columns, *xb = x + b * d->inner * columns;
    double *wb = d->grouped ? w + b * d->outer * d->inner : w;

    if (d->transposed)
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)d->inner, (int)d->outer, (int)columns, 1, xb, (int)columns, yb,
                  (int)columns, 1, wb, (int)d->outer);
    else
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)d->outer, (int)d->inner, (int)columns, 1, yb, (int)columns, xb,
                  (int)columns, 1, wb, (int)d->inner);
  }
}
