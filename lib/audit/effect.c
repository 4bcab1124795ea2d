#include "audit/effect.h"

#include "network/pass/piecewise.h"
#include "network/pass/window.h"

#include <stdlib.h>
#include <string.h>

/* By value, features x columns: may the loss have a derivative by the entry? */
typedef struct {
  const clarke_forward *f;
  size_t n;
  bool **counts;
} reach;

/* Entry `from` of an operand, if it is there and no constant. */
static void
hand(const reach *r, const clarke_operand *o, size_t from, size_t j)
{
  if (from != CLARKE_NONE && r->counts[o->value] != NULL)
    r->counts[o->value][from * r->n + j] = true;
}

/* Run by run of what is added, with a coefficient that is not 0. */
static void
sums_back(const reach *r, const clarke_step *s)
{
  const size_t count = r->f->g->values[s->out].count;

  for (size_t i = 0; i < s->n_in; i++)
    for (size_t f = 0, run; r->counts[s->in[i].value] != NULL && s->in[i].coef != 0 && f < count; f += run) {
      const size_t e = clarke_operand_entry(&s->in[i], f);

      run = clarke_operand_run(&s->in[i], f, count);
      for (size_t k = 0; e != CLARKE_NONE && k < run * r->n; k++)
        r->counts[s->in[i].value][e * r->n + k] |= r->counts[s->out][f * r->n + k];
    }
}

static void
scale_back(const reach *r, const clarke_step *s, size_t f, size_t j)
{
  const size_t by = clarke_operand_entry(&s->in[1], f);
  const bool nothing = by == CLARKE_NONE || (!s->divide && !s->root && r->f->g->values[s->in[1].value].real[by] == 0);

  if (!nothing)
    hand(r, &s->in[0], clarke_operand_entry(&s->in[0], f), j);
}

/* At a place of a block, all that the rows of W whose entries count take. */
static void
dense_back_column(const reach *r, const clarke_step *s, const double *w, size_t b, size_t place, size_t j, bool *taken)
{
  const clarke_dense *d = &s->dense;
  size_t left = d->inner;

  memset(taken, false, d->inner * sizeof *taken);
  for (size_t o = 0; o < d->outer && left > 0; o++) {
    if (!r->counts[s->out][((b * d->outer + o) * d->repeat + place) * r->n + j])
      continue;
    for (size_t i = 0; i < d->inner; i++)
      if (!taken[i] && w[d->transposed ? i * d->outer + o : o * d->inner + i] != 0) {
        taken[i] = true;
        left--;
        hand(r, &s->in[0], (b * d->inner + i) * d->repeat + place, j);
      }
  }
}

static bool
dense_back(const reach *r, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  bool *taken = malloc((d->inner + 1) * sizeof *taken);

  for (size_t b = 0; b < d->blocks && taken != NULL; b++)
    for (size_t place = 0; place < d->repeat; place++)
      for (size_t j = 0; j < r->n; j++)
        dense_back_column(r, s, r->f->g->values[d->weight].real + (d->grouped ? b * d->outer * d->inner : 0), b, place, j, taken);
  free(taken);
  return taken != NULL;
}

/* A touched kink may have any slope. */
static void
piecewise_back(const reach *r, const clarke_step *s, size_t f, size_t j)
{
  const clarke_pieces *p = &s->pieces;
  const clarke_branch code = r->f->piece[s - r->f->g->steps][f * r->n + j];
  const bool weighted = code == 0 && p->slope != CLARKE_NONE;

  if (code < 0 || weighted || mpq_sgn(p->coef[code][1]) != 0 || mpq_sgn(p->coef[code][2]) != 0)
    hand(r, &s->in[0], f, j);
}

static void
smooth_back(const reach *r, const clarke_step *s, size_t f, size_t j)
{
  if (!clarke_step_jumps(s))
    hand(r, &s->in[0], f, j);
}

static void
max_back(const reach *r, const clarke_step *s, size_t f, size_t j)
{
  size_t place[CLARKE_MAX_WIDTH], n = clarke_window_tied(place, r->f, (size_t)(s - r->f->g->steps), f, j);

  for (size_t i = 0; i < n; i++)
    hand(r, &s->in[0], s->in[0].map[f * s->width + place[i]], j);
}

static bool
is_zero(const reach *r, size_t value, size_t entry, size_t j)
{
  const clarke_matrix *x = &r->f->value[value];

  return x->rows > 0 && clarke_matrix_entry_is_zero(x, entry, j);
}

static void
product_back(const reach *r, const clarke_step *s, size_t f, size_t j)
{
  for (size_t k = 0; k < 2; k++)
    for (size_t i = 0; i < s->contraction.inner; i++)
      if (!is_zero(r, s->in[1 - k].value, clarke_step_factor(s, 1 - k, f, i), j))
        hand(r, &s->in[k], clarke_step_factor(s, k, f, i), j);
}

static void (*const of_kind[CLARKE_STEP_KINDS])(const reach *r, const clarke_step *s, size_t f, size_t j) = {
  [CLARKE_SCALE] = scale_back,
  [CLARKE_PIECEWISE] = piecewise_back, [CLARKE_ANALYTIC] = smooth_back,
  [CLARKE_MAX] = max_back, [CLARKE_PRODUCT] = product_back,
};

/* The line of a SOFTMAX step, or the group of a NORMALIZE step, that entry (f, j) is in. */
static size_t
group_of(const reach *r, const clarke_step *s, size_t f, size_t j)
{
  if (s->kind == CLARKE_SOFTMAX)
    return (f / s->stride / s->length * s->stride + f % s->stride) * r->n + j;
  return clarke_step_group(s, f) * r->n + (s->grouping.couples ? 0 : j);
}

/* Each entry of a group depends on all that the group reads. */
static bool
groups_back(const reach *r, const clarke_step *s)
{
  const size_t n = r->f->g->values[s->out].count * r->n;
  bool *any = calloc(n + 1, sizeof *any);

  for (size_t e = 0; e < n && any != NULL; e++)
    if (r->counts[s->out][e])
      any[group_of(r, s, e / r->n, e % r->n)] = true;
  for (size_t e = 0; e < n && any != NULL; e++)
    if (any[group_of(r, s, e / r->n, e % r->n)])
      hand(r, &s->in[0], e / r->n, e % r->n);
  free(any);
  return any != NULL;
}

static bool
step_back(const reach *r, const clarke_step *s)
{
  if (s->kind == CLARKE_SOFTMAX || s->kind == CLARKE_NORMALIZE)
    return groups_back(r, s);
  if (s->kind == CLARKE_DENSE)
    return dense_back(r, s);
  if (s->kind == CLARKE_GATHER || s->kind == CLARKE_SUM) {
    sums_back(r, s);
    return true;
  }
  for (size_t e = 0; e < r->f->g->values[s->out].count * r->n; e++)
    if (r->counts[s->out][e])
      of_kind[s->kind](r, s, e / r->n, e % r->n);
  return true;
}

static bool
reach_init(reach *r)
{
  const clarke_graph *g = r->f->g;
  bool whole = (r->counts = calloc(g->n_values + 1, sizeof *r->counts)) != NULL;

  for (size_t v = 0; v < g->n_values && whole; v++)
    if (!g->values[v].constant)
      whole = (r->counts[v] = calloc(g->values[v].count * r->n + 1, 1)) != NULL;
  return whole;
}

/* The output's entries, but those at their target, and of samples that the loss ignores. */
static clarke_status
reach_begin(const reach *r, const clarke_question *q, clarke_error *err)
{
  const size_t n = q->g->values[q->g->output].count * r->n;
  bool *counts = r->counts[q->g->output];
  clarke_status status = CLARKE_OK;
  clarke_matrix seed;

  clarke_matrix_init(&seed);
  if ((q->loss.kind == CLARKE_LOSS_MSE || q->loss.ignores) && r->f->value[q->g->output].rows > 0)
    status = clarke_loss_seed(&seed, &q->loss, r->f, q->replay->near_sample, err);
  for (size_t e = 0; e < n && status == CLARKE_OK; e++)
    counts[e] = seed.rows == 0 || !clarke_matrix_entry_is_zero(&seed, e / r->n, e % r->n);
  clarke_matrix_clear(&seed);
  return status;
}

static bool
reach_run(const reach *r)
{
  const clarke_graph *g = r->f->g;
  bool whole = true;

  for (size_t i = g->n_steps; i-- > 0 && whole;)
    whole = r->counts[g->steps[i].out] == NULL || step_back(r, &g->steps[i]);
  return whole;
}

clarke_status
clarke_effect_find(bool *effect, const clarke_question *q, clarke_error *err)
{
  reach r = {.f = &q->replay->near, .n = q->replay->near.n};
  clarke_status status = reach_init(&r) ? reach_begin(&r, q, err) : clarke_no_memory(err);

  if (status == CLARKE_OK && !reach_run(&r))
    status = clarke_no_memory(err);
  for (size_t k = 0; k < q->replay->n_touches && status == CLARKE_OK; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    effect[k] = r.counts[q->g->steps[t->step].out][t->feature * r.n + t->column];
  }
  for (size_t v = 0; r.counts != NULL && v < q->g->n_values; v++)
    free(r.counts[v]);
  free(r.counts);
  return status;
}
