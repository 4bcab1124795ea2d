/* From the loss back, the entries by which it may have a derivative. */
#include "check/kernel/effect.h"
#include "check/base/allocate.h"
#include "check/kernel/evaluate.h"
#include "check/kernel/gradient.h"
#include "check/kernel/line.h"

#include <stdlib.h>

/* What counts of a sample, or of all samples when they are coupled. */
typedef struct {
  const point *p;
  size_t sample;
  bool **counts; /* [step][entry / apart] */
} reach;

static bool *
mark_of(const reach *r, size_t s, size_t e)
{
  return &r->counts[s][e / r->p->net->apart];
}

/* What entry e reads. */
static void
hand(const reach *r, source x, size_t e)
{
  if (x.step < PADDING)
    *mark_of(r, x.step, entry_of(r->p, x, e)) = true;
}

/* All that a line reads; once, at the first of its entries that counts. */
static void
line_back(const reach *r, const step *st, size_t e, bool *done)
{
  size_t first = line_entry(r->p, st, e, 0) / r->p->net->apart, n = line_length(r->p, st);
  for (size_t i = 0; i < n && !done[first]; i++) {
    size_t other = line_entry(r->p, st, e, i);
    hand(r, read_by(r->p, st, other), other);
  }
  done[first] = true;
}

/* To the largest; of a touched window to the first entry of each option. */
static void
window_back(const reach *r, size_t s, size_t e)
{
  const point *p = r->p;
  size_t place = p->place[s][e];
  const touch *t = place < TOUCHED ? NULL : &p->touched[place - TOUCHED];
  if (t == NULL)
    hand(r, term_at(p, &p->net->steps[s], e, place).x, e);
  for (size_t o = 0; t != NULL && o < t->n; o++)
    *mark_of(r, t->from, t->at[o]) = true;
}

static bool
is_zero(const point *p, source x, size_t e)
{
  const interval *y = x.step < PADDING ? value_at(p, x.step, entry_of(p, x, e)) : NULL;
  return y != NULL && interval_zero(y);
}

static void
product_back(const reach *r, const step *st, size_t e)
{
  for (size_t i = 0; i < st->width; i++)
    if (!is_zero(r->p, term_at(r->p, st, e, i ^ 1).x, e))
      hand(r, term_at(r->p, st, e, i).x, e);
}

/* A touched kink may have any slope. */
static void
piece_back(const reach *r, size_t s, size_t e)
{
  INTERVAL(slope);
  if (r->p->place[s][e] < TOUCHED) {
    slope_at(r->p, s, e, NULL, &slope);
    if (interval_zero(&slope))
      return;
  }
  hand(r, term_at(r->p, &r->p->net->steps[s], e, 0).x, e);
}

/* What an OVER_ROOT step's x is multiplied by is the root's reciprocal, never 0, be the variance 0. */
static void
sum_back(const reach *r, const step *st, size_t e)
{
  RATIONAL(q);
  for (size_t i = 0; i < st->width; i++) {
    const term t = term_at(r->p, st, e, i);
    weigh(st, &t.by, false, &q);
    if (st->kind == OVER_ROOT || mpq_sgn(&q) != 0)
      hand(r, t.x, e);
  }
}

static void
step_back(const reach *r, size_t s)
{
  const point *p = r->p;
  const step *st = &p->net->steps[s];
  size_t apart = p->net->apart;
  bool *done = allocate(entries(p, s) / apart, sizeof *done);
  for (size_t e = r->sample; e < entries(p, s); e += apart) {
    if (!*mark_of(r, s, e))
      continue;
    if (st->kind == SOFTMAX || st->kind == NORMALIZE)
      line_back(r, st, e, done);
    else if (st->kind == WINDOW)
      window_back(r, s, e);
    else if (st->kind == PRODUCT)
      product_back(r, st, e);
    else if (st->kind == PIECEWISE)
      piece_back(r, s, e);
    else if (st->kind != FUNCTION || !function_jumps(st->of))
      sum_back(r, st, e);
  }
  free(done);
}

static void
sample_effect(bool *effect, const point *p, const interval *by, size_t sample)
{
  const network *net = p->net;
  const reach r = {p, sample, allocate(net->n_steps, sizeof(bool *))};
  for (size_t s = 0; s < net->n_steps; s++)
    r.counts[s] = allocate(entries(p, s) / net->apart, sizeof(bool));
  for (size_t i = 0; i < net->n_outputs; i++)
    for (size_t e = sample; e < net->batch; e += net->apart)
      if (!interval_zero(&by[e * net->n_outputs + i]))
        *mark_of(&r, net->output, net->map[i] * net->batch + e) = true;
  for (size_t s = net->n_steps; s-- > 0;)
    step_back(&r, s);
  for (size_t k = 0; k < p->n_touched; k++)
    if (p->touched[k].entry % net->apart == sample)
      effect[k] = *mark_of(&r, p->touched[k].step, p->touched[k].entry);
  for (size_t s = 0; s < net->n_steps; s++)
    free(r.counts[s]);
  free(r.counts);
}

bool *
touched_with_effect(const point *p)
{
  bool *effect = allocate(p->n_touched, sizeof *effect);
  interval *by = loss_slopes(p);
  for (size_t sample = 0; sample < p->net->apart; sample++) {
    bool any = false;
    for (size_t k = 0; k < p->n_touched && !any; k++)
      any = p->touched[k].entry % p->net->apart == sample;
    if (any)
      sample_effect(effect, p, by, sample);
  }
  intervals_free(by, p->net->n_outputs * p->net->batch);
  return effect;
}
