/* Reverse mode. */
#include "network/derive/reverse.h"

#include "network/graph/contraction.h"
#include "network/pass/linear.h"
#include "network/pass/normalize.h"
#include "network/pass/piecewise.h"
#include "network/derive/sink.h"
#include "network/pass/softmax.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const clarke_forward *f;
  const clarke_slopes *slopes;
  clarke_matrix *grad; /* by value */
  bool *carries;       /* by value: does it depend on a wrt parameter (within the segment)? */
  size_t segment; /* the step whose layer's own parameters are asked for, or CLARKE_NONE */
  clarke_sink sink;
  clarke_visit visit; /* or NULL */
  clarke_asks asks;   /* or NULL */
  void *context;
  const clarke_matrix *gradient; /* up to a root: what the sink adds to, by parameter; else NULL */
  clarke_error *err;
} pass;

/* Does a segment end at step i? */
static bool
ends_segment(const clarke_graph *g, size_t segment, size_t i)
{
  const clarke_step *s = &g->steps[i];

  return segment != CLARKE_NONE && i != clarke_graph_inner(g, segment) && clarke_step_ends_layer(s);
}

void
clarke_reverse_carriers(bool *carries, const clarke_graph *g, size_t segment)
{
  memset(carries, 0, g->n_values * sizeof *carries);
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];

    carries[s->out] = clarke_graph_carries(g, s, carries) && !ends_segment(g, segment, i);
  }
}

static clarke_status
add_grad(pass *p, size_t value, clarke_matrix *term)
{
  clarke_matrix *g = &p->grad[value];

  if (g->rows == 0) {
    clarke_matrix_swap(g, term);
    return CLARKE_OK;
  }
  return clarke_matrix_add(g, g, term, p->err);
}

/* The gradient of an operand behind its map and coefficient. */
static clarke_status
operand_grad(clarke_matrix *term, const pass *p, const clarke_operand *o, const clarke_matrix *g)
{
  clarke_status status =
    o->map != NULL
      ? clarke_matrix_scatter_rows(term, g, o->map, p->f->g->values[o->value].count, p->err)
      : clarke_matrix_copy(term, g, p->err);

  if (status == CLARKE_OK && o->coef != 1) {
    mpq_t coef;

    mpq_init(coef);
    mpq_set_d(coef, o->coef);
    status = clarke_matrix_scale(term, term, coef, p->err);
    mpq_clear(coef);
  }
  return status;
}

static clarke_status
sum_reverse(pass *p, const clarke_step *s, const clarke_matrix *g)
{
  clarke_status status = CLARKE_OK;
  clarke_matrix term;

  clarke_matrix_init(&term);
  for (size_t i = 0; i < s->n_in && status == CLARKE_OK; i++) {
    size_t in = s->in[i].value;

    if (clarke_value_is_wrt(p->f->g, in))
      status = p->sink(p->context, p->f, s, i, g, p->err);
    else if (p->carries[in]) {
      status = operand_grad(&term, p, &s->in[i], g);
      if (status == CLARKE_OK)
        status = add_grad(p, in, &term);
    }
  }
  clarke_matrix_clear(&term);
  return status;
}

/* --- roots ----------------------------------------------------------------------------------- */

/* Is anything on its way to steps before i, or at a parameter already, besides what step i has? */
static bool
others_on_their_way(const pass *p, size_t i)
{
  const clarke_graph *g = p->f->g;

  for (size_t v = 0; v < g->n_parameters; v++)
    if (!clarke_matrix_is_zero(&p->gradient[v]))
      return true;
  for (size_t k = 0; k < i; k++)
    if (p->carries[g->steps[k].out] && !clarke_matrix_is_zero(&p->grad[g->steps[k].out]))
      return true;
  return false;
}

/* Which root entry (f, j) of a step is multiplied by. */
static size_t
root_of(const clarke_step *s, size_t f, size_t j)
{
  if (s->kind == CLARKE_SCALE)
    return clarke_operand_entry(&s->in[1], f);
  return clarke_step_group(s, f) + (s->grouping.couples ? 0 : j * s->grouping.groups);
}

/* Is one irrational root a factor of all that is on its way? */
static bool
leaves_out_root(const pass *p, size_t i)
{
  const clarke_step *s = &p->f->g->steps[i];
  const clarke_matrix *g = &p->grad[s->out];
  size_t root = CLARKE_NONE;

  if (p->gradient == NULL || others_on_their_way(p, i) ||
      (s->kind == CLARKE_NORMALIZE && p->f->value[s->in[0].value].radius != NULL))
    return false;
  for (size_t f = 0; f < g->rows; f++)
    for (size_t j = 0; j < g->cols; j++) {
      if (clarke_matrix_entry_is_zero(g, f, j))
        continue;
      if (root != CLARKE_NONE && root != root_of(s, f, j))
        return false;
      root = root_of(s, f, j);
    }
  return true;
}

static clarke_status
scale_reverse(pass *p, const clarke_step *s, const clarke_matrix *g)
{
  const size_t i = (size_t)(s - p->f->g->steps);

  clarke_matrix c, term;
  clarke_status status = CLARKE_OK;

  clarke_matrix_init(&c);
  clarke_matrix_init(&term);
  if (clarke_value_is_wrt(p->f->g, s->in[1].value))
    status = p->sink(p->context, p->f, s, 1, g, p->err);
  if (status == CLARKE_OK && p->carries[s->in[0].value]) {
    if (s->root && leaves_out_root(p, i))
      status = clarke_matrix_copy(&c, g, p->err);
    else {
      status = clarke_scale_column(&c, p->f, s, p->err);
      if (status == CLARKE_OK)
        status = clarke_matrix_hadamard(&c, g, &c, p->err);
    }
    if (status == CLARKE_OK)
      status = operand_grad(&term, p, &s->in[0], &c);
    if (status == CLARKE_OK)
      status = add_grad(p, s->in[0].value, &term);
  }
  clarke_matrix_clear(&c);
  clarke_matrix_clear(&term);
  return status;
}

/* dx = W^T g. */
static clarke_status
dense_reverse(pass *p, const clarke_step *s, const clarke_matrix *g)
{
  size_t x = s->in[0].value;
  clarke_matrix term;
  clarke_status status = CLARKE_OK;

  if (clarke_value_is_wrt(p->f->g, s->dense.weight))
    status = p->sink(p->context, p->f, s, CLARKE_NONE, g, p->err);
  if (status != CLARKE_OK || !p->carries[x])
    return status;
  clarke_matrix_init(&term);
  status = clarke_dense_apply(&term, s, &p->f->constants->constant[s->dense.weight], g, true, p->err);
  if (status == CLARKE_OK)
    status = add_grad(p, x, &term);
  clarke_matrix_clear(&term);
  return status;
}

/* Each output's gradient goes to the entries it was taken from. */
static clarke_status
max_reverse(pass *p, const clarke_step *s, const clarke_matrix *g)
{
  const size_t i = (size_t)(s - p->f->g->steps);
  const clarke_route *route = &p->slopes->route[i];
  size_t x = s->in[0].value;
  clarke_matrix term, share;
  clarke_status status = CLARKE_OK;

  if (!p->carries[x])
    return CLARKE_OK;
  clarke_matrix_init(&term);
  clarke_matrix_init(&share);
  for (size_t r = 0; r < route->n && status == CLARKE_OK; r++) {
    if (route->weight[r].rows > 0)
      status = clarke_matrix_hadamard(&share, g, &route->weight[r], p->err);
    if (status == CLARKE_OK)
      status = clarke_matrix_scatter_entries(&term, route->weight[r].rows > 0 ? &share : g,
                                             route->from[r], p->f->g->values[x].count, p->err);
    if (status == CLARKE_OK)
      status = add_grad(p, x, &term);
  }
  clarke_matrix_clear(&term);
  clarke_matrix_clear(&share);
  return status;
}

/* Up to a factor, only what is zero by the rules counts: behind a transcendental function an entry is not known, though its
 * number may be rational (sigmoid has the slope 1/4 at 0). Its radius says so. A quotient's slope is known where it is rational,
 * a root's and a logarithm's too. */
static clarke_status
doubt(const pass *p, const clarke_step *s, clarke_matrix *term)
{
  clarke_status status;

  if (p->gradient == NULL || s->kind == CLARKE_PIECEWISE || clarke_step_has_domain(s))
    return CLARKE_OK;
  status = clarke_matrix_need_radius(term, p->err);
  for (size_t e = 0; e < term->rows * term->cols && status == CLARKE_OK; e++)
    if (!clarke_matrix_entry_is_zero(term, e / term->cols, e % term->cols))
      term->radius[e] = fmax(term->radius[e], DBL_MIN);
  return status;
}

static clarke_status
pointwise_reverse(pass *p, const clarke_step *s, const clarke_matrix *g)
{
  const size_t i = (size_t)(s - p->f->g->steps);
  clarke_matrix term;
  clarke_status status = CLARKE_OK;

  if (s->kind == CLARKE_PIECEWISE && s->pieces.slope != CLARKE_NONE &&
      clarke_value_is_wrt(p->f->g, s->pieces.slope))
    status = p->sink(p->context, p->f, s, CLARKE_NONE, g, p->err);
  if (status != CLARKE_OK || !p->carries[s->in[0].value])
    return status;
  clarke_matrix_init(&term);
  status = clarke_matrix_hadamard(&term, g, &p->slopes->slope[i], p->err);
  if (status == CLARKE_OK)
    status = doubt(p, s, &term);
  if (status == CLARKE_OK)
    status = add_grad(p, s->in[0].value, &term);
  clarke_matrix_clear(&term);
  return status;
}

/* softmax: dx = y (g - sum y g); log-softmax: dx = g - softmax sum g. */
static clarke_status
softmax_reverse(pass *p, const clarke_step *s, const clarke_matrix *g)
{
  clarke_matrix y, term;
  clarke_status status;

  if (!p->carries[s->in[0].value])
    return CLARKE_OK;
  clarke_matrix_init(&y);
  clarke_matrix_init(&term);
  status = clarke_softmax_probabilities(&y, s, p->f, p->err);
  if (status == CLARKE_OK)
    status = s->log ? clarke_matrix_copy(&term, g, p->err)
                    : clarke_matrix_hadamard(&term, &y, g, p->err);
  if (status == CLARKE_OK)
    status = clarke_softmax_groups(&term, s, &term, p->err);
  if (status == CLARKE_OK && s->log)
    status = clarke_matrix_hadamard(&term, &term, &y, p->err);
  if (status == CLARKE_OK)
    status = clarke_matrix_sub(&term, g, &term, p->err);
  if (status == CLARKE_OK && !s->log)
    status = clarke_matrix_hadamard(&term, &term, &y, p->err);
  if (status == CLARKE_OK)
    status = doubt(p, s, &term);
  if (status == CLARKE_OK)
    status = add_grad(p, s->in[0].value, &term);
  clarke_matrix_clear(&y);
  clarke_matrix_clear(&term);
  return status;
}

static clarke_status
normalize_reverse(pass *p, const clarke_step *s, const clarke_matrix *g)
{
  const size_t i = (size_t)(s - p->f->g->steps);
  clarke_matrix term;
  clarke_status status;

  if (!p->carries[s->in[0].value])
    return CLARKE_OK;
  clarke_matrix_init(&term);
  status = leaves_out_root(p, i)
             ? clarke_normalize_up_to_root(&term, s, &p->f->value[s->in[0].value], g, p->err)
             : clarke_normalize_derivative(&term, s, p->f, g, p->err);
  if (status == CLARKE_OK)
    status = add_grad(p, s->in[0].value, &term);
  clarke_matrix_clear(&term);
  return status;
}

static clarke_status
product_reverse(pass *p, const clarke_step *s, const clarke_matrix *g)
{
  clarke_matrix term;
  clarke_status status = CLARKE_OK;

  clarke_matrix_init(&term);
  for (size_t k = 0; k < 2 && status == CLARKE_OK; k++) {
    const size_t x = s->in[k].value;

    if (!p->carries[x])
      continue;
    status = clarke_contract_back(&term, s, k, p->f->g->values[x].count, g, &p->f->value[s->in[1 - k].value], p->err);
    if (status == CLARKE_OK)
      status = add_grad(p, x, &term);
  }
  clarke_matrix_clear(&term);
  return status;
}

static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(pass *p, const clarke_step *s, const clarke_matrix *g) = {
  [CLARKE_GATHER] = sum_reverse, [CLARKE_SUM] = sum_reverse, [CLARKE_SCALE] = scale_reverse, [CLARKE_DENSE] = dense_reverse,
  [CLARKE_PIECEWISE] = pointwise_reverse, [CLARKE_ANALYTIC] = pointwise_reverse, [CLARKE_SOFTMAX] = softmax_reverse,
  [CLARKE_NORMALIZE] = normalize_reverse, [CLARKE_MAX] = max_reverse, [CLARKE_PRODUCT] = product_reverse,
};

/* keep: NULL, or the values whose gradients stay. bits: 0, or what enclosed gradients are rounded to: else each step's factors
 * would make them longer. */
static clarke_status
run(pass *p, const bool *keep, size_t bits)
{
  const clarke_graph *g = p->f->g;
  clarke_status status = CLARKE_OK;

  p->carries = malloc((g->n_values + 1) * sizeof *p->carries);
  if (p->carries == NULL)
    return clarke_no_memory(p->err);
  clarke_reverse_carriers(p->carries, g, p->segment);
  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK;) {
    size_t out = g->steps[i].out;
    bool on = p->grad[out].rows > 0 && !ends_segment(g, p->segment, i);

    if (on && bits > 0)
      status = clarke_matrix_round(&p->grad[out], bits, p->err);
    if (status == CLARKE_OK && p->asks != NULL)
      status = p->asks(&on, p->context, i, p->err);
    if (!on)
      continue;
    if (status == CLARKE_OK && p->visit != NULL)
      status = p->visit(p->context, &p->grad[out], i, p->err);
    if (status == CLARKE_OK)
      status = of_kind[g->steps[i].kind](p, &g->steps[i], &p->grad[out]);
    if (keep != NULL && !keep[out]) {
      clarke_matrix_clear(&p->grad[out]);
      clarke_matrix_init(&p->grad[out]);
    }
  }
  free(p->carries);
  return status;
}

clarke_status
clarke_reverse_run(clarke_matrix *grad, const clarke_forward *f, const clarke_slopes *s,
                   size_t segment, clarke_sink sink, void *context, clarke_error *err)
{
  pass p = {.f = f, .slopes = s, .grad = grad, .segment = segment, .sink = sink,
            .context = context, .err = err};

  return run(&p, NULL, (size_t)f->precision + 64);
}

clarke_status
clarke_reverse_visited(clarke_matrix *grad, const clarke_forward *f, const clarke_slopes *s, clarke_visit visit,
                       clarke_sink sink, void *context, clarke_error *err)
{
  pass p = {.f = f, .slopes = s, .grad = grad, .segment = CLARKE_NONE, .sink = sink, .visit = visit,
            .context = context, .err = err};

  return run(&p, NULL, 0);
}

clarke_status
clarke_reverse_asked(clarke_matrix *grad, const clarke_forward *f, const clarke_slopes *s, clarke_asks asks,
                     clarke_sink sink, void *context, clarke_error *err)
{
  pass p = {.f = f, .slopes = s, .grad = grad, .segment = CLARKE_NONE, .sink = sink, .asks = asks,
            .context = context, .err = err};

  return run(&p, NULL, (size_t)f->precision + 64);
}

clarke_status
clarke_reverse_up_to_root(clarke_matrix *gradient, clarke_matrix *grad, const clarke_forward *f,
                          const clarke_slopes *s, clarke_error *err)
{
  pass p = {.f = f, .slopes = s, .grad = grad, .segment = CLARKE_NONE, .sink = clarke_gradient_sink,
            .context = gradient, .gradient = gradient, .err = err};

  return run(&p, NULL, 0);
}

/* The parameters' part is not asked for. */
static clarke_status
ignore(void *context, const clarke_forward *f, const clarke_step *step, size_t operand,
       const clarke_matrix *g, clarke_error *err)
{
  (void)context, (void)f, (void)step, (void)operand, (void)g, (void)err;
  return CLARKE_OK;
}

clarke_status
clarke_reverse_enclose(clarke_matrix *grad, const bool *keep, const clarke_forward *f,
                       const clarke_slopes *s, size_t bits, clarke_error *err)
{
  pass p = {.f = f, .slopes = s, .grad = grad, .segment = CLARKE_NONE, .sink = ignore, .err = err};

  return run(&p, keep, bits);
}
