/* Reverse mode of a single condition: of a layer's entries it meets few, so gradients are rows of
 * (feature, value) instead of matrices. It gives up where it meets many, or steps whose derivative
 * is enclosed; the pass in matrices (network/derive/reverse.c) then answers the same. */

#include "audit/sparse_row.h"

#include "network/pass/linear.h"
#include "network/graph/product.h"
#include "network/derive/reverse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TERMS ((size_t)1 << 14)

void
clarke_sparse_init(clarke_sparse *w)
{
  memset(w, 0, sizeof *w);
  w->segment = CLARKE_NONE;
  mpq_init(w->spread);
}

void
clarke_sparse_clear(clarke_sparse *w)
{
  for (size_t v = 0; w->grad != NULL && v < w->g->n_values; v++)
    clarke_row_clear(&w->grad[v]);
  for (size_t i = 0; w->scale != NULL && i < w->g->n_steps; i++)
    clarke_matrix_clear(&w->scale[i]);
  free(w->grad);
  free(w->carries);
  free(w->scale);
  mpq_clear(w->spread);
  memset(w, 0, sizeof *w);
}

static clarke_status
allocate(clarke_sparse *w, const clarke_graph *g, clarke_error *err)
{
  w->g = g;
  w->grad = malloc((g->n_values + 1) * sizeof *w->grad);
  w->scale = malloc((g->n_steps + 1) * sizeof *w->scale);
  w->carries = malloc((g->n_values + 1) * sizeof *w->carries);
  for (size_t v = 0; w->grad != NULL && v < g->n_values; v++)
    clarke_row_init(&w->grad[v]);
  for (size_t i = 0; w->scale != NULL && i < g->n_steps; i++)
    clarke_matrix_init(&w->scale[i]);
  return w->grad != NULL && w->scale != NULL && w->carries != NULL
           ? CLARKE_OK
           : clarke_no_memory(err);
}

static clarke_status
prepare(clarke_sparse *w, const clarke_graph *g, size_t segment, clarke_error *err)
{
  const bool fresh = w->g == NULL;
  clarke_status status = fresh ? allocate(w, g, err) : CLARKE_OK;

  if (status != CLARKE_OK)
    return status;
  if (fresh || w->segment != segment)
    clarke_reverse_carriers(w->carries, g, segment);
  w->segment = segment;
  w->enclosed = w->vague = false;
  mpq_set_ui(w->spread, 0, 1);
  for (size_t v = 0; v < g->n_values; v++)
    w->grad[v].n = 0;
  return CLARKE_OK;
}

typedef struct {
  clarke_sparse *w;
  const clarke_forward *f;
  const clarke_slopes *slopes;
  const clarke_emitter *emitter;
  size_t terms;
  bool known; /* is this a pass for each step so far? */
  mpq_t product, factor; /* scratch */
  clarke_error *err;
} pass;

/* To the gradient of an activation's entry. */
static clarke_status
add(pass *p, size_t value, size_t entry, const mpq_t term)
{
  p->terms++;
  return mpq_sgn(term) == 0 ? CLARKE_OK : clarke_row_add(&p->w->grad[value], entry, term, p->err);
}

/* To that of a parameter's entry. */
static clarke_status
emit(pass *p, size_t value, size_t entry, const mpq_t term)
{
  const clarke_value *v = &p->w->g->values[value];

  p->terms++;
  return mpq_sgn(term) == 0
           ? CLARKE_OK
           : p->emitter->emit(p->emitter->context, v->parameter,
                              v->origin != NULL ? v->origin[entry] : entry, term, p->err);
}

/* What is emitted next has the factor x, its entry being known up to a radius. */
static void
note_radius(pass *p, const clarke_product *t, const mpq_t by)
{
  clarke_sparse *w = p->w;
  const clarke_value *v = &w->g->values[t->c];
  const size_t entry = v->origin != NULL ? v->origin[t->c_entry] : t->c_entry;
  const double radius = clarke_matrix_radius(&p->f->value[t->x], t->x_entry, 0);
  mpq_t r;

  if (radius == 0 || mpq_sgn(by) == 0)
    return;
  w->vague = w->vague || !isfinite(radius) || (w->enclosed && (w->parameter != v->parameter || w->entry != entry));
  w->enclosed = true;
  w->parameter = v->parameter;
  w->entry = entry;
  if (w->vague)
    return;
  mpq_init(r);
  mpq_set_d(r, radius);
  mpq_mul(r, r, by);
  mpq_abs(r, r);
  mpq_add(w->spread, w->spread, r);
  mpq_clear(r);
}

/* y = coef x c: c gets g coef x, where it is a parameter in wrt, x gets g coef c. */
static clarke_status
through_product(pass *p, const clarke_product *t, const mpq_t g)
{
  const clarke_graph *graph = p->w->g;
  clarke_status status = CLARKE_OK;
  mpq_t *product = &p->product, *factor = &p->factor;

  if (t->c != CLARKE_NONE && clarke_value_is_wrt(graph, t->c)) {
    mpq_set_d(*product, t->coef);
    mpq_mul(*product, *product, g);
    if (t->x != CLARKE_NONE) {
      note_radius(p, t, *product);
      clarke_matrix_get(*factor, &p->f->value[t->x], t->x_entry, 0);
      mpq_mul(*product, *product, *factor);
    }
    status = emit(p, t->c, t->c_entry, *product);
  }
  if (status != CLARKE_OK || t->x == CLARKE_NONE || !p->w->carries[t->x])
    return status;
  mpq_set_d(*product, t->coef);
  mpq_mul(*product, *product, g);
  if (t->c != CLARKE_NONE) {
    mpq_set_d(*factor, graph->values[t->c].real[t->c_entry]);
    mpq_mul(*product, *product, *factor);
  }
  return add(p, t->x, t->x_entry, *product);
}

static clarke_status
through_products(pass *p, const clarke_step *s, const clarke_row *g)
{
  clarke_product *list = malloc((clarke_step_products_most(s) + 1) * sizeof *list);
  clarke_status status = list != NULL ? CLARKE_OK : clarke_no_memory(p->err);

  for (size_t e = 0; e < g->n && status == CLARKE_OK && p->terms <= MOST_TERMS; e++) {
    const size_t n = clarke_step_products(list, p->w->g, s, g->column[e]);

    for (size_t i = 0; i < n && status == CLARKE_OK; i++)
      status = through_product(p, &list[i], g->value[e]);
  }
  free(list);
  return status;
}

/* y = x c, c being what the step makes of its constant. */
static clarke_status
through_scale(pass *p, const clarke_step *s, const clarke_row *g)
{
  const size_t x = s->in[0].value;
  clarke_matrix *scale = &p->w->scale[s - p->w->g->steps];
  clarke_status status = CLARKE_OK;

  p->known = !(clarke_value_is_wrt(p->w->g, s->in[1].value) && s->divide);
  if (!s->divide && !s->root)
    return through_products(p, s, g);
  if (p->known && scale->rows == 0)
    status = clarke_scale_column(scale, p->f, s, p->err);
  for (size_t e = 0; e < g->n && status == CLARKE_OK && p->known && p->w->carries[x]; e++) {
    clarke_matrix_get(p->factor, scale, g->column[e], 0);
    mpq_mul(p->product, p->factor, g->value[e]);
    p->w->vague = p->w->vague || (mpq_sgn(p->product) != 0 && clarke_matrix_radius(scale, g->column[e], 0) != 0);
    status = add(p, x, clarke_operand_entry(&s->in[0], g->column[e]), p->product);
  }
  return status;
}

static clarke_status
through_piecewise(pass *p, const clarke_step *s, const clarke_row *g)
{
  const clarke_matrix *slope = &p->slopes->slope[s - p->w->g->steps];
  clarke_status status = CLARKE_OK;

  for (size_t e = 0; e < g->n && status == CLARKE_OK; e++) {
    clarke_matrix_get(p->factor, slope, g->column[e], 0);
    mpq_mul(p->product, p->factor, g->value[e]);
    p->w->vague = p->w->vague || clarke_matrix_radius(slope, g->column[e], 0) != 0;
    status = add(p, s->in[0].value, g->column[e], p->product);
  }
  return status;
}

static clarke_status
through_max(pass *p, const clarke_step *s, const clarke_row *g)
{
  const clarke_route *route = &p->slopes->route[s - p->w->g->steps];
  clarke_status status = CLARKE_OK;

  for (size_t r = 0; r < route->n; r++)
    for (size_t e = 0; e < g->n && status == CLARKE_OK; e++) {
      const size_t from = route->from[r][g->column[e]];

      if (from == CLARKE_NONE)
        continue;
      mpq_set(p->product, g->value[e]);
      if (route->weight[r].rows > 0) {
        clarke_matrix_get(p->factor, &route->weight[r], g->column[e], 0);
        mpq_mul(p->product, p->product, p->factor);
      }
      status = add(p, s->in[0].value, from, p->product);
    }
  return status;
}

/* Entry x gets g times the other factor. What is exact here is left to be told by the whole pass. */
static clarke_status
through_factor(pass *p, const clarke_step *s, size_t operand, size_t f, size_t k, const mpq_t g)
{
  const size_t x = clarke_step_factor(s, operand, f, k), other = clarke_step_factor(s, 1 - operand, f, k);
  const clarke_matrix *factor = &p->f->value[s->in[1 - operand].value];

  if (x == CLARKE_NONE || other == CLARKE_NONE || !p->w->carries[s->in[operand].value])
    return CLARKE_OK;
  clarke_matrix_get(p->factor, factor, other, 0);
  mpq_mul(p->product, p->factor, g);
  p->w->vague = true;
  return add(p, s->in[operand].value, x, p->product);
}

/* Sums of products of activations. */
static clarke_status
through_contraction(pass *p, const clarke_step *s, const clarke_row *g)
{
  clarke_status status = CLARKE_OK;

  for (size_t e = 0; e < g->n && p->terms <= MOST_TERMS; e++)
    for (size_t k = 0; k < s->contraction.inner && status == CLARKE_OK; k++) {
      status = through_factor(p, s, 0, g->column[e], k, g->value[e]);
      if (status == CLARKE_OK)
        status = through_factor(p, s, 1, g->column[e], k, g->value[e]);
    }
  return status;
}

/* This is no pass for steps of other kinds. */
static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(pass *p, const clarke_step *s, const clarke_row *g) = {
  [CLARKE_GATHER] = through_products, [CLARKE_SUM] = through_products, [CLARKE_DENSE] = through_products,
  [CLARKE_SCALE] = through_scale, [CLARKE_MAX] = through_max, [CLARKE_PIECEWISE] = through_piecewise,
  [CLARKE_PRODUCT] = through_contraction,
};

static clarke_status
through_step(pass *p, const clarke_step *s)
{
  clarke_row *g = &p->w->grad[s->out];

  clarke_row_finish(g);
  p->known = of_kind[s->kind] != NULL && (s->kind != CLARKE_PIECEWISE || s->pieces.slope == CLARKE_NONE);
  return p->known ? of_kind[s->kind](p, s, g) : CLARKE_OK;
}

clarke_status
clarke_sparse_run(bool *known, clarke_sparse *w, const clarke_sparse_seed *seed,
                  const clarke_forward *f, const clarke_slopes *s, const clarke_emitter *emitter,
                  clarke_error *err)
{
  pass p = {.w = w, .f = f, .slopes = s, .emitter = emitter, .known = true, .err = err};
  const clarke_graph *g = f->g;
  clarke_status status = prepare(w, g, seed->segment, err);

  mpq_inits(p.product, p.factor, NULL);
  for (size_t k = 0; k < seed->n && status == CLARKE_OK; k++) {
    mpq_set_si(p.factor, seed->sign[k], 1);
    status = clarke_row_add(&w->grad[seed->value], seed->entry[k], p.factor, err);
  }
  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK && p.known;) {
    const size_t out = g->steps[i].out;

    if (w->grad[out].n > 0 && w->carries[out])
      status = through_step(&p, &g->steps[i]);
    p.known = p.known && p.terms <= MOST_TERMS;
  }
  *known = p.known;
  mpq_clears(p.product, p.factor, NULL);
  return status;
}
