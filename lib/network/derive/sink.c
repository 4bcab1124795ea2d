/* What reverse mode leaves at the parameters. */
#include "network/derive/sink.h"

#include "network/pass/linear.h"

#include <stdlib.h>
#include <string.h>

/* Rows summed over columns, then brought back through a map (NULL: identity) to count entries. */
static clarke_status
gather_back(clarke_matrix *c, const clarke_matrix *g, const size_t *map, size_t count,
            clarke_error *err)
{
  clarke_matrix sums;
  clarke_status status;

  clarke_matrix_init(&sums);
  status = clarke_matrix_row_sums(&sums, g, err);
  if (status == CLARKE_OK)
    status = map != NULL ? clarke_matrix_scatter_rows(c, &sums, map, count, err)
                         : clarke_matrix_copy(c, &sums, err);
  clarke_matrix_clear(&sums);
  return status;
}

static clarke_status
sum_constant(clarke_matrix *c, const clarke_forward *f, const clarke_operand *o,
             const clarke_matrix *g, clarke_error *err)
{
  clarke_status status = gather_back(c, g, o->map, f->g->values[o->value].count, err);

  if (status == CLARKE_OK && o->coef != 1) {
    mpq_t coef;

    mpq_init(coef);
    mpq_set_d(coef, o->coef);
    status = clarke_matrix_scale(c, c, coef, err);
    mpq_clear(coef);
  }
  return status;
}

/* y = x c: sum g x; y = x / c: - sum g y / c. */
static clarke_status
scale_constant(clarke_matrix *c, const clarke_forward *f, const clarke_step *s,
               const clarke_matrix *g, clarke_error *err)
{
  const clarke_operand *o = &s->in[1];
  size_t count = f->g->values[s->out].count;
  clarke_matrix term, column;
  clarke_status status;

  clarke_matrix_init(&term);
  clarke_matrix_init(&column);
  if (s->divide)
    status = clarke_matrix_hadamard(&term, g, &f->value[s->out], err);
  else {
    status = clarke_operand_apply(&term, &s->in[0], &f->value[s->in[0].value], count, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_hadamard(&term, g, &term, err);
  }
  if (status == CLARKE_OK)
    status = gather_back(c, &term, o->map, f->g->values[o->value].count, err);
  if (status == CLARKE_OK && s->divide) {
    const clarke_matrix *stored = &f->constants->constant[o->value];
    clarke_matrix view = clarke_matrix_view(stored, stored->rows * stored->cols, 1);
    mpq_t minus;

    mpq_init(minus);
    mpq_set_si(minus, -1, 1);
    status = clarke_reciprocals(&column, &view, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_scale(&column, &column, minus, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_hadamard(c, c, &column, err);
    mpq_clear(minus);
  }
  clarke_matrix_clear(&term);
  clarke_matrix_clear(&column);
  return status;
}

static void
as_column(clarke_matrix *c)
{
  c->rows *= c->cols;
  c->cols = 1;
}

/* dW = g x^T, in the weight's stored order. */
static clarke_status
dense_constant(clarke_matrix *c, const clarke_forward *f, const clarke_step *s,
               const clarke_matrix *g, clarke_error *err)
{
  const clarke_dense *d = &s->dense;
  const clarke_matrix *x = &f->value[s->in[0].value];
  clarke_matrix gc, xc;
  clarke_status status;

  if (d->grouped) {
    gc = clarke_matrix_view(g, d->blocks * d->outer, d->repeat * g->cols);
    xc = clarke_matrix_view(x, d->blocks * d->inner, d->repeat * g->cols);
    status = clarke_each_block(c, d->blocks, &gc, &xc, clarke_matrix_mul_nt, err);
    if (status == CLARKE_OK)
      as_column(c);
    return status;
  }
  clarke_matrix_init(&gc);
  clarke_matrix_init(&xc);
  status = clarke_dense_gather(&gc, g, d->blocks, d->outer, err);
  if (status == CLARKE_OK)
    status = clarke_dense_gather(&xc, x, d->blocks, d->inner, err);
  if (status == CLARKE_OK)
    status = d->transposed ? clarke_matrix_mul_nt(c, &xc, &gc, err)
                           : clarke_matrix_mul_nt(c, &gc, &xc, err);
  if (status == CLARKE_OK)
    as_column(c);
  clarke_matrix_clear(&gc);
  clarke_matrix_clear(&xc);
  return status;
}

/* PRelu's slope: g x summed over entries strictly below the kink. */
static clarke_status
prelu_constant(clarke_matrix *c, const clarke_forward *f, const clarke_step *s,
               const clarke_matrix *g, clarke_error *err)
{
  const clarke_branch *piece = f->piece[s - f->g->steps];
  clarke_matrix term;
  clarke_status status;

  clarke_matrix_init(&term);
  status = clarke_matrix_hadamard(&term, g, &f->value[s->in[0].value], err);
  for (size_t e = 0; status == CLARKE_OK && e < term.rows * term.cols; e++)
    if (piece[e] != 0) {
      memset(term.word + e * term.limbs, 0, term.limbs * sizeof *term.word);
      if (term.radius != NULL)
        term.radius[e] = 0;
    }
  if (status == CLARKE_OK)
    status = gather_back(c, &term, s->pieces.slope_map, f->g->values[s->pieces.slope].count, err);
  clarke_matrix_clear(&term);
  return status;
}

clarke_status
clarke_constant_gradient(clarke_matrix *c, size_t *value, const clarke_forward *f,
                         const clarke_step *s, size_t operand, const clarke_matrix *g, clarke_error *err)
{
  if (operand != CLARKE_NONE) {
    *value = s->in[operand].value;
    return s->kind == CLARKE_SCALE ? scale_constant(c, f, s, g, err)
                                   : sum_constant(c, f, &s->in[operand], g, err);
  }
  *value = s->kind == CLARKE_DENSE ? s->dense.weight : s->pieces.slope;
  return s->kind == CLARKE_DENSE ? dense_constant(c, f, s, g, err)
                                 : prelu_constant(c, f, s, g, err);
}

clarke_status
clarke_gradient_sink(void *gradient, const clarke_forward *f, const clarke_step *step,
                     size_t operand, const clarke_matrix *g, clarke_error *err)
{
  clarke_matrix *sum = gradient, c;
  const clarke_value *v;
  size_t value;
  clarke_status status;

  clarke_matrix_init(&c);
  status = clarke_constant_gradient(&c, &value, f, step, operand, g, err);
  v = &f->g->values[value];
  if (status == CLARKE_OK && v->origin != NULL) {
    clarke_matrix back;

    clarke_matrix_init(&back);
    status = clarke_matrix_scatter_rows(&back, &c, v->origin,
                                        f->g->parameters[v->parameter].count, err);
    clarke_matrix_swap(&c, &back);
    clarke_matrix_clear(&back);
  }
  sum += v->parameter;
  if (status == CLARKE_OK && sum->rows == 0)
    clarke_matrix_swap(sum, &c);
  else if (status == CLARKE_OK)
    status = clarke_matrix_add(sum, sum, &c, err);
  clarke_matrix_clear(&c);
  return status;
}

static clarke_status
emit(const clarke_emitter *e, const clarke_value *v, size_t entry, const mpq_t value,
     clarke_error *err)
{
  return mpq_sgn(value) == 0 ? CLARKE_OK
                             : e->emit(e->context, v->parameter,
                                       v->origin != NULL ? v->origin[entry] : entry, value, err);
}

/* The products of nonzero gradients by nonzero inputs. */
static clarke_status
emit_dense(const clarke_emitter *e, const clarke_forward *f, const clarke_step *s,
           const clarke_matrix *g, clarke_error *err)
{
  const clarke_dense *d = &s->dense;
  const clarke_value *v = &f->g->values[d->weight];
  const clarke_matrix *x = &f->value[s->in[0].value];
  clarke_status status = CLARKE_OK;
  mpq_t gq, xq;

  mpq_inits(gq, xq, NULL);
  for (size_t row = 0; row < g->rows && status == CLARKE_OK; row++) {
    size_t r = row % d->repeat, o = row / d->repeat % d->outer, b = row / d->repeat / d->outer;

    if (clarke_matrix_entry_is_zero(g, row, 0))
      continue;
    clarke_matrix_get(gq, g, row, 0);
    for (size_t i = 0; i < d->inner && status == CLARKE_OK; i++) {
      size_t from = (b * d->inner + i) * d->repeat + r;

      if (clarke_matrix_entry_is_zero(x, from, 0))
        continue;
      clarke_matrix_get(xq, x, from, 0);
      mpq_mul(xq, xq, gq);
      status = emit(e, v, d->transposed ? i * d->outer + o
                          : (d->grouped ? b * d->outer + o : o) * d->inner + i, xq, err);
    }
  }
  mpq_clears(gq, xq, NULL);
  return status;
}

/* What is added to is met by the nonzero gradients alone; of one that several meet each is emitted. */
static clarke_status
emit_sum(const clarke_emitter *e, const clarke_forward *f, const clarke_operand *o,
         const clarke_matrix *g, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t gq, coef;

  mpq_inits(gq, coef, NULL);
  mpq_set_d(coef, o->coef);
  for (size_t row = 0; row < g->rows && status == CLARKE_OK; row++) {
    size_t entry = o->map != NULL ? o->map[row] : row;

    if (entry == CLARKE_NONE || clarke_matrix_entry_is_zero(g, row, 0))
      continue;
    clarke_matrix_get(gq, g, row, 0);
    mpq_mul(gq, gq, coef);
    status = emit(e, &f->g->values[o->value], entry, gq, err);
  }
  mpq_clears(gq, coef, NULL);
  return status;
}

clarke_status
clarke_emit_sink(void *emitter, const clarke_forward *f, const clarke_step *step, size_t operand,
                 const clarke_matrix *g, clarke_error *err)
{
  clarke_matrix c;
  size_t value;
  clarke_status status;
  mpq_t q;

  if (operand == CLARKE_NONE && step->kind == CLARKE_DENSE)
    return emit_dense(emitter, f, step, g, err);
  if (operand != CLARKE_NONE && step->kind != CLARKE_SCALE)
    return emit_sum(emitter, f, &step->in[operand], g, err);
  clarke_matrix_init(&c);
  mpq_init(q);
  status = clarke_constant_gradient(&c, &value, f, step, operand, g, err);
  for (size_t i = 0; status == CLARKE_OK && i < c.rows; i++) {
    clarke_matrix_get(q, &c, i, 0);
    status = emit(emitter, &f->g->values[value], i, q, err);
  }
  mpq_clear(q);
  clarke_matrix_clear(&c);
  return status;
}
