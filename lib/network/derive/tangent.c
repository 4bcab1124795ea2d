/* Forward mode. */
#include "network/derive/tangent.h"

#include "network/graph/contraction.h"
#include "network/pass/linear.h"
#include "network/pass/normalize.h"
#include "network/pass/piecewise.h"
#include "network/pass/softmax.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const clarke_forward *f;
  const clarke_slopes *slopes;
  clarke_matrix *t;       /* by value: activations' tangents */
  const clarke_matrix *d; /* by parameter */
  clarke_error *err;
} pass;

/* The tangent of a constant that shows a parameter, as a column in its own order of entries;
 * 0 x 0 when it does not move. */
static clarke_status
constant_tangent(clarke_matrix *c, const pass *p, size_t value)
{
  const clarke_value *v = &p->f->g->values[value];

  clarke_matrix_clear(c);
  clarke_matrix_init(c);
  if (v->parameter == CLARKE_NONE || p->d[v->parameter].rows == 0)
    return CLARKE_OK;
  return v->origin != NULL
           ? clarke_matrix_gather_rows(c, &p->d[v->parameter], v->origin, v->count, p->err)
           : clarke_matrix_copy(c, &p->d[v->parameter], p->err);
}

/* y += term, y being 0 x 0 at first; a column stands for its repetition over n columns. */
static clarke_status
add_to(clarke_matrix *y, const clarke_matrix *term, size_t n, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (term->rows == 0)
    return CLARKE_OK;
  if (y->rows == 0)
    status = clarke_matrix_resize(y, term->rows, n, 1, err);
  return status == CLARKE_OK ? clarke_matrix_add(y, y, term, err) : status;
}

static clarke_status
sum_tangent(const pass *p, const clarke_step *s)
{
  const clarke_graph *g = p->f->g;
  size_t count = g->values[s->out].count;
  clarke_matrix column, term;
  clarke_status status = CLARKE_OK;

  clarke_matrix_init(&column);
  clarke_matrix_init(&term);
  for (size_t i = 0; i < s->n_in && status == CLARKE_OK; i++) {
    bool constant = g->values[s->in[i].value].constant;
    const clarke_matrix *in = constant ? &column : &p->t[s->in[i].value];

    if (constant)
      status = constant_tangent(&column, p, s->in[i].value);
    if (status != CLARKE_OK || in->rows == 0)
      continue;
    status = clarke_operand_apply(&term, &s->in[i], in, count, p->err);
    if (status == CLARKE_OK)
      status = add_to(&p->t[s->out], &term, p->f->n, p->err);
  }
  clarke_matrix_clear(&column);
  clarke_matrix_clear(&term);
  return status;
}

/* d(x c) = dx c + x dc; d(x / c) = (dx - y dc) / c. */
static clarke_status
scale_tangent(const pass *p, const clarke_step *s)
{
  size_t count = p->f->g->values[s->out].count;
  clarke_matrix c, dc, term;
  clarke_status status;

  clarke_matrix_init(&c);
  clarke_matrix_init(&dc);
  clarke_matrix_init(&term);
  status = clarke_scale_column(&c, p->f, s, p->err);
  if (status == CLARKE_OK && p->t[s->in[0].value].rows > 0) {
    status = clarke_operand_apply(&term, &s->in[0], &p->t[s->in[0].value], count, p->err);
    if (status == CLARKE_OK)
      status = clarke_matrix_hadamard(&p->t[s->out], &term, &c, p->err);
  }
  if (status == CLARKE_OK)
    status = constant_tangent(&term, p, s->in[1].value);
  if (status == CLARKE_OK && term.rows > 0) {
    status = clarke_operand_apply(&dc, &s->in[1], &term, count, p->err);
    if (status == CLARKE_OK && s->divide) {
      status = clarke_matrix_hadamard(&dc, &dc, &c, p->err);
      if (status == CLARKE_OK)
        status = clarke_matrix_hadamard(&term, &p->f->value[s->out], &dc, p->err);
      if (status == CLARKE_OK && p->t[s->out].rows == 0)
        status = clarke_matrix_resize(&p->t[s->out], count, p->f->n, 1, p->err);
      if (status == CLARKE_OK)
        status = clarke_matrix_sub(&p->t[s->out], &p->t[s->out], &term, p->err);
    } else if (status == CLARKE_OK) {
      clarke_matrix x;

      clarke_matrix_init(&x);
      status = clarke_operand_apply(&x, &s->in[0], &p->f->value[s->in[0].value], count, p->err);
      if (status == CLARKE_OK)
        status = clarke_matrix_hadamard(&x, &x, &dc, p->err);
      if (status == CLARKE_OK)
        status = add_to(&p->t[s->out], &x, p->f->n, p->err);
      clarke_matrix_clear(&x);
    }
  }
  clarke_matrix_clear(&c);
  clarke_matrix_clear(&dc);
  clarke_matrix_clear(&term);
  return status;
}

/* d(W x) = W dx + dW x. */
static clarke_status
dense_tangent(const pass *p, const clarke_step *s)
{
  const clarke_matrix *w = &p->f->constants->constant[s->dense.weight];
  size_t x = s->in[0].value;
  clarke_matrix dw, term;
  clarke_status status = CLARKE_OK;

  clarke_matrix_init(&dw);
  clarke_matrix_init(&term);
  if (p->t[x].rows > 0)
    status = clarke_dense_apply(&p->t[s->out], s, w, &p->t[x], false, p->err);
  if (status == CLARKE_OK)
    status = constant_tangent(&dw, p, s->dense.weight);
  if (status == CLARKE_OK && dw.rows > 0) {
    status = clarke_dense_apply(&term, s, &dw, &p->f->value[x], false, p->err);
    if (status == CLARKE_OK)
      status = add_to(&p->t[s->out], &term, p->f->n, p->err);
  }
  clarke_matrix_clear(&dw);
  clarke_matrix_clear(&term);
  return status;
}

/* The values of x strictly in piece 0, the rest zero: PRelu's derivative in its slope. */
static clarke_status
prelu_left(clarke_matrix *left, const pass *p, size_t i)
{
  const clarke_step *s = &p->f->g->steps[i];
  clarke_status status = clarke_matrix_copy(left, &p->f->value[s->in[0].value], p->err);

  for (size_t e = 0; status == CLARKE_OK && e < left->rows * left->cols; e++)
    if (p->f->piece[i][e] != 0) {
      memset(left->word + e * left->limbs, 0, left->limbs * sizeof *left->word);
      if (left->radius != NULL)
        left->radius[e] = 0;
    }
  return status;
}

static clarke_status
pointwise_tangent(const pass *p, const clarke_step *s)
{
  const size_t i = (size_t)(s - p->f->g->steps);
  size_t x = s->in[0].value;
  clarke_matrix column, left, slope;
  clarke_status status = CLARKE_OK;

  if (p->t[x].rows > 0)
    status = clarke_matrix_hadamard(&p->t[s->out], &p->slopes->slope[i], &p->t[x], p->err);
  if (status != CLARKE_OK || s->kind != CLARKE_PIECEWISE || s->pieces.slope == CLARKE_NONE)
    return status;
  clarke_matrix_init(&column);
  clarke_matrix_init(&left);
  clarke_matrix_init(&slope);
  status = constant_tangent(&column, p, s->pieces.slope);
  if (status == CLARKE_OK && column.rows > 0) {
    status = prelu_left(&left, p, i);
    if (status == CLARKE_OK)
      status = s->pieces.slope_map != NULL
                 ? clarke_matrix_gather_rows(&slope, &column, s->pieces.slope_map,
                                             p->f->g->values[s->out].count, p->err)
                 : clarke_matrix_copy(&slope, &column, p->err);
    if (status == CLARKE_OK)
      status = clarke_matrix_hadamard(&left, &left, &slope, p->err);
    if (status == CLARKE_OK)
      status = add_to(&p->t[s->out], &left, p->f->n, p->err);
  }
  clarke_matrix_clear(&column);
  clarke_matrix_clear(&left);
  clarke_matrix_clear(&slope);
  return status;
}

/* softmax: dy = y (dx - sum y dx); log-softmax: dy = dx - sum softmax dx. */
static clarke_status
softmax_tangent(const pass *p, const clarke_step *s)
{
  const clarke_matrix *dx = &p->t[s->in[0].value];
  clarke_matrix y, weighted;
  clarke_status status;

  if (dx->rows == 0)
    return CLARKE_OK;
  clarke_matrix_init(&y);
  clarke_matrix_init(&weighted);
  status = clarke_softmax_probabilities(&y, s, p->f, p->err);
  if (status == CLARKE_OK)
    status = clarke_matrix_hadamard(&weighted, &y, dx, p->err);
  if (status == CLARKE_OK)
    status = clarke_softmax_groups(&weighted, s, &weighted, p->err);
  if (status == CLARKE_OK)
    status = clarke_matrix_sub(&p->t[s->out], dx, &weighted, p->err);
  if (status == CLARKE_OK && !s->log)
    status = clarke_matrix_hadamard(&p->t[s->out], &y, &p->t[s->out], p->err);
  clarke_matrix_clear(&y);
  clarke_matrix_clear(&weighted);
  return status;
}

static clarke_status
normalize_tangent(const pass *p, const clarke_step *s)
{
  const clarke_matrix *dx = &p->t[s->in[0].value];

  return dx->rows > 0 ? clarke_normalize_derivative(&p->t[s->out], s, p->f, dx, p->err) : CLARKE_OK;
}

/* The tangent of the entries that outputs are taken from. */
static clarke_status
max_tangent(const pass *p, const clarke_step *s)
{
  const size_t i = (size_t)(s - p->f->g->steps);
  const clarke_matrix *dx = &p->t[s->in[0].value];
  const clarke_route *route = &p->slopes->route[i];
  clarke_matrix term;
  clarke_status status = CLARKE_OK;

  clarke_matrix_init(&term);
  for (size_t r = 0; r < route->n && status == CLARKE_OK && dx->rows > 0; r++) {
    status = clarke_matrix_gather_entries(&term, dx, route->from[r], p->f->g->values[s->out].count,
                                          p->err);
    if (status == CLARKE_OK && route->weight[r].rows > 0)
      status = clarke_matrix_hadamard(&term, &term, &route->weight[r], p->err);
    if (status == CLARKE_OK)
      status = add_to(&p->t[s->out], &term, p->f->n, p->err);
  }
  clarke_matrix_clear(&term);
  return status;
}

/* d(a c) = da c + a dc. */
static clarke_status
product_tangent(const pass *p, const clarke_step *s)
{
  const size_t a = s->in[0].value, c = s->in[1].value;
  clarke_matrix term;
  clarke_status status = CLARKE_OK;

  clarke_matrix_init(&term);
  if (p->t[a].rows > 0)
    status = clarke_contract(&p->t[s->out], s, &p->t[a], &p->f->value[c], p->err);
  if (status == CLARKE_OK && p->t[c].rows > 0)
    status = clarke_contract(&term, s, &p->f->value[a], &p->t[c], p->err);
  if (status == CLARKE_OK)
    status = add_to(&p->t[s->out], &term, p->f->n, p->err);
  clarke_matrix_clear(&term);
  return status;
}

static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(const pass *p, const clarke_step *s) = {
  [CLARKE_GATHER] = sum_tangent, [CLARKE_SUM] = sum_tangent, [CLARKE_SCALE] = scale_tangent, [CLARKE_DENSE] = dense_tangent,
  [CLARKE_PIECEWISE] = pointwise_tangent, [CLARKE_ANALYTIC] = pointwise_tangent, [CLARKE_SOFTMAX] = softmax_tangent,
  [CLARKE_NORMALIZE] = normalize_tangent, [CLARKE_MAX] = max_tangent, [CLARKE_PRODUCT] = product_tangent,
};

static void
drop(clarke_matrix *m)
{
  clarke_matrix_clear(m);
  clarke_matrix_init(m);
}

/* The tangents of the first steps alone, n of them. */
static clarke_status
run_steps(clarke_matrix *tangent, size_t n, const clarke_forward *f, const clarke_slopes *s, const clarke_matrix *d,
          clarke_error *err)
{
  pass p = {f, s, tangent, d, err};
  clarke_status status = CLARKE_OK;

  for (size_t v = 0; v < f->g->n_values; v++)
    drop(&tangent[v]);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++)
    if (f->value[f->g->steps[i].out].rows > 0)
      status = of_kind[f->g->steps[i].kind](&p, &f->g->steps[i]);
  return status;
}

clarke_status
clarke_tangent_run(clarke_matrix *tangent, const clarke_forward *f, const clarke_slopes *s,
                   const clarke_matrix *d, clarke_error *err)
{
  return run_steps(tangent, f->g->n_steps, f, s, d, err);
}

clarke_status
clarke_tangent_of_touched(clarke_matrix *tangent, const clarke_replay *r, const clarke_slopes *s,
                          const clarke_matrix *d, clarke_error *err)
{
  size_t n = 0;

  for (size_t k = 0; k < r->n_touches; k++)
    n = r->touch[k].step > n ? r->touch[k].step : n;
  return run_steps(tangent, n, &r->near, s, d, err);
}

/* An enclosure of about that many bits. */
static clarke_status
shorten(clarke_matrix *m, size_t bits, clarke_error *err)
{
  if (m->radius == NULL && clarke_matrix_bits(m) > bits) {
    m->radius = calloc(m->rows * m->cols + 1, sizeof *m->radius);
    if (m->radius == NULL)
      return clarke_no_memory(err);
  }
  return clarke_matrix_round(m, bits, err);
}

clarke_status
clarke_tangent_enclose(clarke_matrix *tangent, const bool *keep, const clarke_forward *f,
                       const clarke_slopes *s, const clarke_matrix *d, size_t bits,
                       clarke_error *err)
{
  const clarke_graph *g = f->g;
  pass p = {f, s, tangent, d, err};
  size_t *last = malloc((g->n_values + 1) * sizeof *last);
  clarke_status status = last != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (last != NULL)
    clarke_graph_last_uses(last, g, NULL);
  for (size_t v = 0; v < g->n_values; v++)
    drop(&tangent[v]);
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++) {
    if (f->value[g->steps[i].out].rows == 0)
      continue;
    status = of_kind[f->g->steps[i].kind](&p, &f->g->steps[i]);
    if (status == CLARKE_OK)
      status = shorten(&tangent[g->steps[i].out], bits, err);
    for (size_t k = 0; k < g->steps[i].n_in; k++) {
      size_t in = g->steps[i].in[k].value;

      if (last[in] == i && !keep[in])
        drop(&tangent[in]);
    }
  }
  free(last);
  return status;
}
