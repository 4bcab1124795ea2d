/* Are a replay and an execution as their headers say? Touches in order, each at a kink of the exact pass. */
#include "program/execute.h"
#include "network/replay.h"

/* In the order of (step, feature, sample). */
static bool
comes_before(const clarke_touch *a, const clarke_touch *b)
{
  if (a->step != b->step)
    return a->step < b->step;
  return a->feature != b->feature ? a->feature < b->feature : a->sample < b->sample;
}

static bool
options_are_valid(const clarke_touch *t, const clarke_graph *g)
{
  const clarke_step *s = &g->steps[t->step];
  const size_t entries = g->values[s->in[0].value].count;

  if (s->kind != CLARKE_MAX)
    return t->n_options == 0 && t->kink < s->pieces.n_kinks;
  for (size_t o = 0; o < t->n_options; o++)
    if (t->option[o] >= entries)
      return false;
  return t->n_options >= 2 && t->n_options <= s->width;
}

static bool
touch_is_valid(const clarke_touch *t, const clarke_replay *r)
{
  return t->step < r->g->n_steps && clarke_step_has_kinks(&r->g->steps[t->step]) &&
         t->feature < r->g->values[r->g->steps[t->step].out].count && t->column < r->near.n &&
         r->near_sample[t->column] == t->sample && options_are_valid(t, r->g) &&
         r->piece[t->step][t->feature * r->samples + t->sample] == CLARKE_AT(t->kink);
}

bool
clarke_replay_is_valid(const clarke_replay *r)
{
  size_t conditions = 0;

  for (size_t j = 0; r->near_sample != NULL && j < r->near.n; j++)
    if (r->near_sample[j] >= r->samples || (j > 0 && r->near_sample[j - 1] >= r->near_sample[j]))
      return false;
  for (size_t k = 0; k < r->n_touches; k++) {
    if (!touch_is_valid(&r->touch[k], r) || r->touch[k].first_condition != conditions ||
        (k > 0 && !comes_before(&r->touch[k - 1], &r->touch[k])))
      return false;
    conditions += clarke_touch_conditions(&r->touch[k]);
  }
  return conditions == r->n_conditions;
}

/* --- executions --- */

static bool
touched_is_valid(const clarke_touched *t, const clarke_execution *e)
{
  const clarke_instruction *i = &e->p->instruction[t->instruction];

  switch (i->kind) {
  case CLARKE_DO_PIECEWISE:
    return t->kink < i->pieces->n_kinks && e->piece[t->instruction] == t->kink;
  case CLARKE_DO_ELU:
    return t->kink == 0 && e->piece[t->instruction] == 0;
  case CLARKE_DO_ORDER:
    for (size_t k = 0; k < t->n_tied; k++)
      if (t->tied[k] >= i->n_in || (k > 0 && t->tied[k - 1] >= t->tied[k]))
        return false;
    return t->n_tied > 1 && t->rank_in_tie >= 1 && t->rank_in_tie <= t->n_tied;
  case CLARKE_DO_BRANCH:
    return e->piece[t->instruction] <= 1;
  default:
    return i->kind == CLARKE_DO_NORM;
  }
}

/* Its arguments have been executed; of a branch the comparands and the arm taken. */
static bool
is_demanded(const clarke_execution *e, size_t at)
{
  const clarke_instruction *i = &e->p->instruction[at];

  for (size_t k = 0; k < i->n_in; k++)
    if ((i->kind != CLARKE_DO_BRANCH || k < 2 || k == (e->piece[at] == 1 ? 2 : 3)) && !e->live[i->in[k]])
      return false;
  return true;
}

bool
clarke_execution_is_valid(const clarke_execution *e)
{
  size_t live = 0;

  if (e->open)
    return e->open_at < e->p->n;
  for (size_t at = 0; at < e->p->n; at++) {
    const size_t t = e->touch_of[at];

    live += e->live[at];
    if ((e->live[at] && !is_demanded(e, at)) ||
        (t != CLARKE_NONE && (t >= e->n_touched || !e->live[at] || e->touched[t].instruction != at)))
      return false;
  }
  for (size_t k = 0; k < e->n_order; k++)
    if (e->order[k] >= e->p->n || !e->live[e->order[k]])
      return false;
  for (size_t t = 0; t < e->n_touched; t++) {
    const size_t at = e->touched[t].instruction;

    if (at >= e->p->n || !e->live[at] || e->touch_of[at] != t || !touched_is_valid(&e->touched[t], e))
      return false;
  }
  for (size_t o = 0; o < e->p->n_outputs; o++)
    if (!e->live[e->p->output[o]])
      return false;
  return live == e->n_order;
}
