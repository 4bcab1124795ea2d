/* What the linear steps do to a matrix: shared by values, tangents and gradients. */
#include "network/pass/linear.h"

#include "exact/ball.h"
#include "exact/number.h"

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
    return clarke_no_memory(err);
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

/* Back from what clarke_dense_gather makes. */
static clarke_status
scatter(clarke_matrix *c, const clarke_matrix *a, size_t blocks, size_t extent, clarke_error *err)
{
  size_t width = a->cols / (blocks != 0 ? blocks : 1);
  clarke_matrix view = clarke_matrix_view(a, blocks * extent, width);

  return blocks == 1 ? clarke_matrix_copy(c, &view, err) : swap_axes(c, &view, blocks, extent, err);
}

clarke_status
clarke_each_block(clarke_matrix *y, size_t blocks, const clarke_matrix *a, const clarke_matrix *b,
                  clarke_status (*multiply)(clarke_matrix *, const clarke_matrix *,
                                            const clarke_matrix *, clarke_error *),
                  clarke_error *err)
{
  size_t a_rows = a->rows / blocks, b_rows = b->rows / blocks;
  clarke_matrix left, right, *product = malloc(blocks * sizeof *product);
  clarke_status status = CLARKE_OK;

  if (product == NULL)
    return clarke_no_memory(err);
  clarke_matrix_init(&left);
  clarke_matrix_init(&right);
  for (size_t k = 0; k < blocks; k++)
    clarke_matrix_init(&product[k]);
  for (size_t k = 0; k < blocks && status == CLARKE_OK; k++) {
    status = clarke_matrix_rows(&left, a, k * a_rows, a_rows, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_rows(&right, b, k * b_rows, b_rows, err);
    if (status == CLARKE_OK)
      status = multiply(&product[k], &left, &right, err);
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_stack(y, product, blocks, err);
  for (size_t k = 0; k < blocks; k++)
    clarke_matrix_clear(&product[k]);
  free(product);
  clarke_matrix_clear(&left);
  clarke_matrix_clear(&right);
  return status;
}

/* y[b] = W_b x[b]; back: W_b^T x[b]. */
static clarke_status
grouped_apply(clarke_matrix *y, const clarke_dense *d, const clarke_matrix *w,
              const clarke_matrix *x, bool back, clarke_error *err)
{
  size_t in = back ? d->outer : d->inner, out = back ? d->inner : d->outer;
  clarke_matrix weight = clarke_matrix_view(w, d->blocks * d->outer, d->inner);
  clarke_matrix columns = clarke_matrix_view(x, d->blocks * in, d->repeat * x->cols);
  size_t n = x->cols;
  clarke_status status = clarke_each_block(y, d->blocks, &weight, &columns,
                                           back ? clarke_matrix_mul_tn : clarke_matrix_mul, err);

  if (status == CLARKE_OK) {
    y->rows = d->blocks * out * d->repeat;
    y->cols = n;
  }
  return status;
}

clarke_status
clarke_dense_apply(clarke_matrix *y, const clarke_step *s, const clarke_matrix *w,
                   const clarke_matrix *x, bool back, clarke_error *err)
{
  const clarke_dense *d = &s->dense;
  size_t n = x->cols, in = back ? d->outer : d->inner, out = back ? d->inner : d->outer;
  clarke_matrix weight = clarke_matrix_view(w, d->transposed ? d->inner : d->outer,
                                            d->transposed ? d->outer : d->inner);
  clarke_matrix columns, product;
  clarke_status status = CLARKE_OK;

  if (d->grouped)
    return grouped_apply(y, d, w, x, back, err);
  clarke_matrix_init(&columns);
  clarke_matrix_init(&product);
  if (d->blocks != 1)
    status = clarke_dense_gather(&columns, x, d->blocks, in, err);
  if (status == CLARKE_OK) {
    clarke_matrix view = d->blocks != 1 ? columns : clarke_matrix_view(x, in, d->repeat * n);

    status = d->transposed != back ? clarke_matrix_mul_tn(&product, &weight, &view, err)
                                   : clarke_matrix_mul(&product, &weight, &view, err);
  }
  if (status == CLARKE_OK && d->blocks != 1)
    status = scatter(y, &product, d->blocks, out, err);
  else if (status == CLARKE_OK)
    clarke_matrix_swap(y, &product);
  if (status == CLARKE_OK) {
    y->rows = d->blocks * out * d->repeat;
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
    return clarke_no_memory(err);
  clarke_tally_add(0, n, 0);
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

/* 1/sqrt(q), q > 0: exact when q is the square of a rational. */
static void
root_reciprocal(arb_t y, mpq_t q, bool *rational, long precision)
{
  *rational = mpz_perfect_square_p(mpq_numref(q)) && mpz_perfect_square_p(mpq_denref(q));
  if (*rational) {
    mpz_sqrt(mpq_numref(q), mpq_numref(q));
    mpz_sqrt(mpq_denref(q), mpq_denref(q));
    mpq_inv(q, q);
    return;
  }
  fmpq_t exact;

  fmpq_init(exact);
  fmpq_set_mpq(exact, q);
  arb_set_fmpq(y, exact, precision + 32);
  arb_rsqrt(y, y, precision + 32);
  fmpq_clear(exact);
}

/* The same of an enclosed c >= 0 plus epsilon > 0: never above that of epsilon, whatever is known of c. */
static void
enclosed_root_reciprocal(arb_t y, const clarke_matrix *c, size_t i, size_t j, const mpq_t epsilon,
                         long precision)
{
  fmpq_t exact;
  arb_t shift;

  fmpq_init(exact);
  arb_init(shift);
  fmpq_set_mpq(exact, epsilon);
  arb_set_fmpq(shift, exact, precision + 32);
  clarke_matrix_get_ball(y, c, i, j, precision + 32);
  arb_nonnegative_part(y, y);
  arb_add(y, y, shift, precision + 32);
  arb_rsqrt(y, y, precision + 32);
  if (!arb_is_finite(y)) {
    arb_rsqrt(shift, shift, precision + 32);
    arb_zero(y);
    arb_union(y, y, shift, precision + 32);
  }
  arb_clear(shift);
  fmpq_clear(exact);
}

clarke_status
clarke_root_reciprocals(clarke_matrix *r, const clarke_matrix *c, const mpq_t epsilon,
                        long precision, clarke_error *err)
{
  size_t n = c->rows * c->cols;
  mpq_t *q = malloc((n + 1) * sizeof *q);
  arb_ptr y = _arb_vec_init((long)n);
  bool all_rational = true;
  clarke_status status;

  if (q == NULL) {
    _arb_vec_clear(y, (long)n);
    return clarke_no_memory(err);
  }
  clarke_tally_add(n, 0, n);
  for (size_t i = 0; i < n; i++) {
    bool rational;

    mpq_init(q[i]);
    if (clarke_matrix_radius(c, i / c->cols, i % c->cols) != 0) {
      enclosed_root_reciprocal(y + i, c, i / c->cols, i % c->cols, epsilon, precision);
      all_rational = false;
      continue;
    }
    clarke_matrix_get(q[i], c, i / c->cols, i % c->cols);
    mpq_add(q[i], q[i], epsilon);
    root_reciprocal(y + i, q[i], &rational, precision);
    if (rational) {
      fmpq_t exact;

      fmpq_init(exact);
      fmpq_set_mpq(exact, q[i]);
      arb_set_fmpq(y + i, exact, precision + 32);
      fmpq_clear(exact);
    }
    all_rational = all_rational && rational;
  }
  status = all_rational ? clarke_matrix_set_rationals(r, c->rows, c->cols, q, err)
                        : clarke_matrix_set_balls(r, c->rows, c->cols, y, precision, err);
  for (size_t i = 0; i < n; i++)
    mpq_clear(q[i]);
  free(q);
  _arb_vec_clear(y, (long)n);
  return status;
}

/* May divisors be inverted before they are laid out as a column? Few are laid out as many, and none is 0. */
static bool
inverts_first(const clarke_matrix *c, const clarke_step *s, size_t count)
{
  bool first = s->divide && !s->root && s->in[1].coef == 1 && c->rows < count;

  for (size_t i = 0; i < c->rows && first; i++)
    first = !clarke_matrix_entry_is_zero(c, i, 0);
  return first;
}

clarke_status
clarke_scale_column(clarke_matrix *column, const clarke_forward *f, const clarke_step *s,
                    clarke_error *err)
{
  const clarke_matrix *stored = &f->constants->constant[s->in[1].value];
  clarke_matrix view = clarke_matrix_view(stored, stored->rows * stored->cols, 1), c;
  const size_t count = f->g->values[s->out].count;
  const bool first = inverts_first(&view, s, count);
  clarke_status status = CLARKE_OK;

  clarke_matrix_init(&c);
  if (s->root)
    status = clarke_root_reciprocals(&c, &view, s->epsilon, f->precision, err);
  if (first) {
    status = clarke_reciprocals(&c, &view, err);
    clarke_tally_add(0, count - view.rows, 0);
  }
  if (status == CLARKE_OK)
    status = clarke_operand_apply(column, &s->in[1], s->root || first ? &c : &view, count, err);
  if (status == CLARKE_OK && s->divide && !first)
    status = clarke_reciprocals(column, column, err);
  clarke_matrix_clear(&c);
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

/* The factor that an entry c of the constant makes. */
static clarke_pair
factor_of(const clarke_step *s, double c)
{
  clarke_pair x = {c, 0};
  mpq_t q;

  if (!s->root && !s->divide)
    return x;
  mpq_init(q);
  mpq_set_d(q, c);
  if (s->root)
    mpq_add(q, q, s->epsilon);
  else
    mpq_inv(q, q);
  x = s->root ? clarke_pair_of_root(q) : clarke_pair_of(q);
  mpq_clear(q);
  return x;
}

clarke_pair *
clarke_scale_factors(const clarke_graph *g, const clarke_step *s)
{
  const clarke_value *c = &g->values[s->in[1].value];
  const size_t rows = g->values[s->out].count;
  clarke_pair *own = malloc((c->count + 1) * sizeof *own), *factor = malloc((rows + 1) * sizeof *factor);

  for (size_t e = 0; own != NULL && e < c->count; e++)
    own[e] = factor_of(s, c->real[e]);
  for (size_t f = 0; own != NULL && factor != NULL && f < rows; f++)
    factor[f] = own[clarke_operand_entry(&s->in[1], f)];
  if (own == NULL) {
    free(factor);
    factor = NULL;
  }
  free(own);
  return factor;
}
