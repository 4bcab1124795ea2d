#include "naive.h"
#include "network/pass/forward.h"

#include <stdlib.h>

typedef struct {
  size_t n;
  mpq_t *entry;
} rationals;

typedef struct {
  const clarke_graph *g;
  rationals *value; /* n_values: weights, biases and one sample's activations */
  clarke_error *err;
} evaluator;

static clarke_status
rationals_alloc(rationals *r, size_t n, clarke_error *err)
{
  r->entry = malloc((n + 1) * sizeof *r->entry);
  if (r->entry == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  for (r->n = 0; r->n < n; r->n++)
    mpq_init(r->entry[r->n]);
  return CLARKE_OK;
}

static void
rationals_clear(rationals *r)
{
  for (size_t i = 0; i < r->n; i++)
    mpq_clear(r->entry[i]);
  free(r->entry);
  *r = (rationals){0, NULL};
}

static clarke_status
set_doubles(rationals *r, const double *from, size_t n, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (r->entry == NULL)
    status = rationals_alloc(r, n, err);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++)
    mpq_set_d(r->entry[i], from[i]);
  return status;
}

/* y = W x. */
static void
dense(evaluator *e, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const mpq_t *w = (const mpq_t *)e->value[d->weight].entry;
  const mpq_t *x = (const mpq_t *)e->value[s->in[0].value].entry;
  mpq_t *y = e->value[s->out].entry, product;

  mpq_init(product);
  for (size_t o = 0; o < d->outer; o++) {
    mpq_set_ui(y[o], 0, 1);
    for (size_t i = 0; i < d->inner; i++) {
      mpq_mul(product, w[d->transposed ? i * d->outer + o : o * d->inner + i], x[i]);
      mpq_add(y[o], y[o], product);
    }
  }
  mpq_clear(product);
}

static size_t
mapped(const clarke_operand *o, size_t i)
{
  return o->map != NULL ? o->map[i] : i;
}

static void
sum(evaluator *e, const clarke_step *s)
{
  rationals *y = &e->value[s->out];
  mpq_t coef;

  mpq_init(coef);
  for (size_t i = 0; i < y->n; i++)
    mpq_set_ui(y->entry[i], 0, 1);
  for (size_t k = 0; k < s->n_in; k++)
    for (size_t i = 0; i < y->n; i++) {
      mpq_set_d(coef, s->in[k].coef);
      mpq_mul(coef, coef, e->value[s->in[k].value].entry[mapped(&s->in[k], i)]);
      mpq_add(y->entry[i], y->entry[i], coef);
    }
  mpq_clear(coef);
}

/* The piece of x, or CLARKE_AT its kink. */
static clarke_branch
place(const clarke_pieces *p, const mpq_t x)
{
  for (size_t k = 0; k < p->n_kinks; k++) {
    int side = mpq_cmp(x, p->kink[k]);

    if (side == 0)
      return CLARKE_AT(k);
    if (side < 0)
      return (clarke_branch)k;
  }
  return (clarke_branch)p->n_kinks;
}

/* Degree 1 suffices: supported() has seen to it. */
static void
piecewise(evaluator *e, const clarke_step *s, clarke_branch *piece)
{
  const rationals *x = &e->value[s->in[0].value];

  for (size_t i = 0; i < x->n; i++) {
    mpq_t *y = &e->value[s->out].entry[i];
    clarke_branch code = place(&s->pieces, x->entry[i]);
    size_t p = code >= 0 ? (size_t)code : CLARKE_KINK_OF(code);

    mpq_mul(*y, s->pieces.coef[p][1], x->entry[i]);
    mpq_add(*y, *y, s->pieces.coef[p][0]);
    piece[i] = code;
  }
}

static bool
supported(const clarke_step *s)
{
  switch (s->kind) {
  case CLARKE_SUM:
    return true;
  case CLARKE_DENSE:
    return s->dense.blocks == 1 && s->dense.repeat == 1;
  case CLARKE_PIECEWISE:
    for (size_t p = 0; p <= s->pieces.n_kinks; p++)
      if (mpq_sgn(s->pieces.coef[p][2]) != 0)
        return false;
    return s->pieces.slope == CLARKE_NONE;
  default:
    return false;
  }
}

static clarke_status
prepare(evaluator *e)
{
  const clarke_graph *g = e->g;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < g->n_steps; i++)
    if (!supported(&g->steps[i]))
      return clarke_fail(e->err, CLARKE_EINPUT, "node '%s': not a step of the naive evaluator",
                         g->steps[i].name);
  for (size_t v = 0; v < g->n_values && status == CLARKE_OK; v++)
    status = g->values[v].constant && g->values[v].real != NULL
               ? set_doubles(&e->value[v], g->values[v].real, g->values[v].count, e->err)
               : rationals_alloc(&e->value[v], g->values[v].count, e->err);
  return status;
}

static void
one_sample(evaluator *e, const clarke_replay *r, size_t sample, clarke_branch *piece, size_t *differing,
           size_t *compared)
{
  for (size_t i = 0; i < e->g->n_steps; i++) {
    const clarke_step *s = &e->g->steps[i];

    if (s->kind == CLARKE_DENSE)
      dense(e, s);
    else if (s->kind == CLARKE_SUM)
      sum(e, s);
    else
      piecewise(e, s, piece);
    for (size_t f = 0; s->kind == CLARKE_PIECEWISE && f < e->value[s->out].n; f++) {
      *differing += piece[f] != r->piece[i][f * r->samples + sample];
      ++*compared;
    }
  }
}

clarke_status
bench_naive(size_t *differing, size_t *compared, const clarke_replay *replay, size_t samples,
            clarke_error *err)
{
  const clarke_graph *g = replay->g;
  size_t features = g->values[g->input].count, widest = features;
  evaluator e = {g, calloc(g->n_values + 1, sizeof *e.value), err};
  clarke_branch *piece;
  clarke_status status = CLARKE_OK;

  *differing = *compared = 0;
  for (size_t v = 0; v < g->n_values; v++)
    widest = g->values[v].count > widest ? g->values[v].count : widest;
  piece = malloc(widest);
  if (e.value == NULL || piece == NULL)
    status = clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  else if (replay->x->real == NULL || samples > replay->samples)
    status = clarke_fail(err, CLARKE_EINPUT, "x: %zu samples of floats are expected", samples);
  if (status == CLARKE_OK)
    status = prepare(&e);
  for (size_t j = 0; j < samples && status == CLARKE_OK; j++) {
    status = set_doubles(&e.value[g->input], replay->x->real + j * features, features, err);
    if (status == CLARKE_OK)
      one_sample(&e, replay, j, piece, differing, compared);
  }
  for (size_t v = 0; e.value != NULL && v < g->n_values; v++)
    rationals_clear(&e.value[v]);
  free(e.value);
  free(piece);
  return status;
}
