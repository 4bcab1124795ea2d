/* A minibatch's gradients in floats: sample after sample, or all together where they are coupled; their gradients are added up in that
 * order (docs/rounding.md). */
#include "session/sweep_inside.h"


#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_floats *f;
  const clarke_audit_session *s;
  size_t outputs, wrt, together;
  double share;          /* of a sample in the loss: 1 / n, or 1 */
  double *output, *seed; /* of the samples that are replayed together */
  double *gradient;
} replaying;

/* log-softmax and the mean of -log p, undone: g exp(log p) for each class, less g for the label's. */
static void
seed_ce(replaying *r, double *seed, const double *output, size_t label)
{
  clarke_floats *f = r->f;
  double most = output[0], sum = 0, log_sum;

  for (size_t i = 1; i < r->outputs; i++)
    most = output[i] > most ? output[i] : most;
  for (size_t i = 0; i < r->outputs; i++) {
    seed[i] = clarke_floats_add(f, output[i], -most);
    sum = i == 0 ? clarke_floats_exp(f, seed[i]) : clarke_floats_add(f, sum, clarke_floats_exp(f, seed[i]));
  }
  log_sum = clarke_floats_log(f, sum);
  for (size_t i = 0; i < r->outputs; i++) {
    const double p = clarke_floats_exp(f, clarke_floats_add(f, seed[i], -log_sum));

    seed[i] = clarke_floats_add(f, i == label ? -r->share : 0, clarke_floats_mul(f, p, r->share));
  }
}

/* 2 / n (y - target) */
static void
seed_mse(replaying *r, double *seed, const double *output, size_t sample)
{
  const clarke_tensor *y = r->s->loss.y;

  for (size_t i = 0; i < r->outputs; i++) {
    const size_t at = sample * r->outputs + i;
    const double target = clarke_floats_of(r->f, y->real != NULL ? y->real[at] : (double)y->integer[at]);

    seed[i] = clarke_floats_mul(r->f, clarke_floats_add(r->f, output[i], -target), r->share);
  }
}

static void
seed_loss(replaying *r, double *seed, const double *output, size_t sample)
{
  const clarke_loss *loss = &r->s->loss;

  if (loss->kind == CLARKE_LOSS_CE && clarke_loss_label(loss, sample) == CLARKE_NONE)
    memset(seed, 0, r->outputs * sizeof *seed);
  else if (loss->kind == CLARKE_LOSS_CE)
    seed_ce(r, seed, output, clarke_loss_label(loss, sample));
  else if (loss->kind == CLARKE_LOSS_MSE)
    seed_mse(r, seed, output, sample);
  for (size_t i = 0; loss->kind == CLARKE_LOSS_SUM && i < r->outputs; i++)
    seed[i] = 1;
}

static void
choose_share(replaying *r, bool sum)
{
  const clarke_loss *loss = &r->s->loss;
  const double n = loss->kind == CLARKE_LOSS_MSE ? (double)loss->samples * (double)r->outputs
                   : loss->kind == CLARKE_LOSS_CE ? (double)clarke_loss_counted(loss)
                                                  : (double)loss->samples;
  const double of = loss->kind == CLARKE_LOSS_MSE ? 2 : 1;

  r->share = sum || loss->kind == CLARKE_LOSS_SUM ? of : clarke_floats_div(r->f, of, clarke_floats_of(r->f, n));
}

/* What is at a kink in floats, and decided exactly; of windows how many more are tied. */
static void
count_only(clarke_sweep_floats *to, const replaying *r, size_t k, size_t sample)
{
  const clarke_graph *g = &r->s->graph;
  const clarke_replay *exact = &r->s->replay;

  for (size_t i = 0; i < g->n_steps; i++) {
    const size_t n = g->values[g->steps[i].out].count;
    size_t tied = 0;

    for (size_t e = 0; clarke_step_has_kinks(&g->steps[i]) && exact->piece[i] != NULL && e < n; e++) {
      if (!clarke_floats_is_touched(r->f, k, i, e))
        continue;
      tied += g->steps[i].kind == CLARKE_MAX;
      to->only[i] += g->steps[i].kind != CLARKE_MAX && exact->piece[i][e * exact->samples + sample] >= 0;
    }
    if (tied > 0 && exact->ties[i] != NULL && tied > exact->ties[i][sample])
      to->only[i] += tied - exact->ties[i][sample];
  }
}

static clarke_status
replay_samples(clarke_sweep_floats *to, replaying *r, const clarke_sweep_question *q, size_t sample, clarke_error *err)
{
  clarke_status status = clarke_floats_forward(r->f, r->output, sample, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t k = 0; k < r->together; k++) {
    seed_loss(r, r->seed + k * r->outputs, r->output + k * r->outputs, sample + k);
    count_only(to, r, k, sample + k);
  }
  for (size_t p = 0; p < q->n_profiles && status == CLARKE_OK; p++) {
    status = clarke_floats_backward(r->f, r->gradient, r->seed, &q->profile[p], err);
    for (size_t e = 0; e < r->wrt; e++)
      to->gradient[p][e] = sample == 0 ? r->gradient[e] : clarke_floats_add(r->f, to->gradient[p][e], r->gradient[e]);
  }
  return status;
}

static bool
make_room(clarke_sweep_floats *to, replaying *r, const clarke_sweep_question *q)
{
  bool made = true;

  to->gradient = calloc(q->n_profiles, sizeof *to->gradient);
  to->only = calloc(r->s->graph.n_steps + 1, sizeof *to->only);
  r->output = calloc(r->together * r->outputs + 1, sizeof *r->output);
  r->seed = calloc(r->together * r->outputs + 1, sizeof *r->seed);
  r->gradient = calloc(r->wrt + 1, sizeof *r->gradient);
  for (size_t p = 0; to->gradient != NULL && p < q->n_profiles; p++) {
    to->gradient[p] = calloc(r->wrt + 1, sizeof **to->gradient);
    made = made && to->gradient[p] != NULL;
  }
  return made && to->gradient != NULL && to->only != NULL && r->output != NULL && r->seed != NULL && r->gradient != NULL;
}

clarke_status
clarke_sweep_replay(clarke_sweep_floats *to, const clarke_audit_session *s, const clarke_sweep_question *q, clarke_ieee format,
                    clarke_error *err)
{
  replaying r = {.s = s, .outputs = s->graph.values[s->graph.output].count, .wrt = clarke_graph_wrt_count(&s->graph)};
  clarke_status status = clarke_floats_new(&r.f, &s->graph, s->x, format, err);

  r.together = status == CLARKE_OK ? clarke_floats_together(r.f) : 0;
  if (status == CLARKE_OK && !make_room(to, &r, q))
    status = clarke_no_memory(err);
  if (status == CLARKE_OK)
    choose_share(&r, q->sum);
  for (size_t j = 0; status == CLARKE_OK && j < s->x->dims[0]; j += r.together)
    status = replay_samples(to, &r, q, j, err);
  clarke_floats_free(r.f);
  free(r.output);
  free(r.seed);
  free(r.gradient);
  return status;
}

void
clarke_sweep_floats_clear(clarke_sweep_floats *f, const clarke_sweep_question *q)
{
  for (size_t p = 0; f->gradient != NULL && p < q->n_profiles; p++)
    free(f->gradient[p]);
  free(f->gradient);
  free(f->only);
  memset(f, 0, sizeof *f);
}

/* A tensor's n entries. */
static void
compare_tensor(clarke_sweep_norms *n, const double *a, const double *b, size_t count)
{
  mpq_t x, y, most;

  mpq_inits(x, y, most, NULL);
  for (size_t e = 0; e < count; e++) {
    if (!isfinite(a[e]) || !isfinite(b[e]))
      n->finite = false;
    else if (a[e] != b[e]) {
      mpq_set_d(x, a[e]);
      mpq_set_d(y, b[e]);
      mpq_sub(x, x, y);
      mpq_abs(x, x);
      mpq_add(n->l1, n->l1, x);
      if (mpq_cmp(x, most) > 0)
        mpq_set(most, x);
    }
  }
  mpq_add(n->inf, n->inf, most);
  mpq_clears(x, y, most, NULL);
}

void
clarke_sweep_compare(clarke_sweep_norms *n, const clarke_sweep_floats *f, const clarke_graph *g, size_t a, size_t b)
{
  size_t at = 0;

  for (size_t p = 0; p < g->n_parameters; p++)
    if (g->parameters[p].wrt) {
      compare_tensor(n, f->gradient[a] + at, f->gradient[b] + at, g->parameters[p].count);
      at += g->parameters[p].count;
    }
}

static bool
parts_at(const clarke_op *op, const clarke_profile *a, const clarke_profile *b)
{
  const clarke_tie_rule *ra = clarke_profile_tie(a, op), *rb = clarke_profile_tie(b, op);
  bool parts = ra != NULL && rb != NULL && (ra->tie != rb->tie || !mpq_equal(ra->beta, rb->beta));

  for (size_t k = 0; k < CLARKE_MAX_KINKS; k++) {
    const clarke_proxy *x = clarke_profile_find(a, op, k), *y = clarke_profile_find(b, op, k);

    parts = parts || (x != NULL && y != NULL && (x->kind != y->kind || ((x->kind == CLARKE_PROXY_VALUE || x->kind == CLARKE_PROXY_INJECTED) && !mpq_equal(x->value, y->value))));
  }
  return parts;
}

size_t
clarke_sweep_only(const clarke_sweep_floats *f, const clarke_graph *g, const clarke_profile *a, const clarke_profile *b)
{
  size_t n = 0;

  for (size_t i = 0; i < g->n_steps; i++)
    if (f->only[i] > 0 && parts_at(g->steps[i].op, a, b))
      n += f->only[i];
  return n;
}
