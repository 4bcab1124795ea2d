/* What the linear steps do to a matrix: shared by values, tangents and gradients. */
#include "replay/forward.h"

#include <stdlib.h>

clarke_matrix
clarke_matrix_view(const clarke_matrix *m, size_t rows, size_t cols)
{
  clarke_matrix view = *m;

  view.rows = rows;
  view.cols = cols;
  return view;
}

/* (outer, inner) index pairs swapped: row o * n_inner + i of the result is row i * n_outer + o. */
static clarke_status
swap_axes(clarke_matrix *c, const clarke_matrix *a, size_t n_outer, size_t n_inner,
          clarke_error *err)
{
  size_t *map = malloc((n_outer * n_inner + 1) * sizeof *map);
  clarke_status status;

  if (map == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  for (size_t o = 0; o < n_outer; o++)
    for (size_t i = 0; i < n_inner; i++)
      map[o * n_inner + i] = i * n_outer + o;
  status = clarke_matrix_gather_rows(c, a, map, n_outer * n_inner, err);
  free(map);
  return status;
}

clarke_status
clarke_dense_gather(clarke_matrix *c, const clarke_matrix *a, size_t blocks, size_t extent,
                    clarke_error *err)
{
  size_t width = a->rows * a->cols / (blocks * extent != 0 ? blocks * extent : 1);
  clarke_matrix view = clarke_matrix_view(a, blocks * extent, width);
  clarke_status status = blocks == 1 ? clarke_matrix_copy(c, &view, err)
                                     : swap_axes(c, &view, extent, blocks, err);

  if (status == CLARKE_OK) {
    c->rows = extent;
    c->cols = blocks * width;
  }
  return status;
}

clarke_status
clarke_dense_scatter(clarke_matrix *c, const clarke_matrix *a, size_t blocks, size_t extent,
                     clarke_error *err)
{
  size_t width = a->cols / (blocks != 0 ? blocks : 1);
  clarke_matrix view = clarke_matrix_view(a, blocks * extent, width);

  return blocks == 1 ? clarke_matrix_copy(c, &view, err) : swap_axes(c, &view, blocks, extent, err);
}

clarke_status
clarke_dense_apply(clarke_matrix *y, const clarke_step *s, const clarke_matrix *w,
                   const clarke_matrix *x, clarke_error *err)
{
  const clarke_dense *d = &s->dense;
  size_t n = x->cols;
  clarke_matrix weight = clarke_matrix_view(w, d->transposed ? d->inner : d->outer,
                                            d->transposed ? d->outer : d->inner);
  clarke_matrix columns, product;
  clarke_status status = CLARKE_OK;

  clarke_matrix_init(&columns);
  clarke_matrix_init(&product);
  if (d->blocks != 1)
    status = clarke_dense_gather(&columns, x, d->blocks, d->inner, err);
  if (status == CLARKE_OK) {
    clarke_matrix in = d->blocks != 1 ? columns : clarke_matrix_view(x, d->inner, d->repeat * n);

    status = d->transposed ? clarke_matrix_mul_tn(&product, &weight, &in, err)
                           : clarke_matrix_mul(&product, &weight, &in, err);
  }
  if (status == CLARKE_OK && d->blocks != 1)
    status = clarke_dense_scatter(y, &product, d->blocks, d->outer, err);
  else if (status == CLARKE_OK)
    clarke_matrix_swap(y, &product);
  if (status == CLARKE_OK) {
    y->rows = d->blocks * d->outer * d->repeat;
    y->cols = n;
  }
  clarke_matrix_clear(&columns);
  clarke_matrix_clear(&product);
  return status;
}

clarke_status
clarke_operand_apply(clarke_matrix *y, const clarke_operand *o, const clarke_matrix *x,
                     size_t count, clarke_error *err)
{
  clarke_status status = o->map != NULL ? clarke_matrix_gather_rows(y, x, o->map, count, err)
                                        : clarke_matrix_copy(y, x, err);

  if (status == CLARKE_OK && o->coef != 1) {
    mpq_t coef;

    mpq_init(coef);
    mpq_set_d(coef, o->coef);
    status = clarke_matrix_scale(y, y, coef, err);
    mpq_clear(coef);
  }
  return status;
}

clarke_status
clarke_reciprocals(clarke_matrix *r, const clarke_matrix *c, clarke_error *err)
{
  size_t n = c->rows * c->cols;
  mpq_t *q = malloc((n + 1) * sizeof *q);
  clarke_status status;

  if (q == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  for (size_t i = 0; i < n; i++) {
    mpq_init(q[i]);
    clarke_matrix_get(q[i], c, i / c->cols, i % c->cols);
    mpq_inv(q[i], q[i]);
  }
  status = clarke_matrix_set_rationals(r, c->rows, c->cols, q, err);
  for (size_t i = 0; i < n; i++)
    mpq_clear(q[i]);
  free(q);
  return status;
}

clarke_status
clarke_slope_column(clarke_matrix *s, const clarke_constants *c, const clarke_step *step,
                    clarke_error *err)
{
  const clarke_matrix *stored = &c->constant[step->pieces.slope];
  clarke_matrix column = clarke_matrix_view(stored, stored->rows * stored->cols, 1);

  return step->pieces.slope_map != NULL
           ? clarke_matrix_gather_rows(s, &column, step->pieces.slope_map,
                                       c->g->values[step->out].count, err)
           : clarke_matrix_copy(s, &column, err);
}
