/* Is a replay as its header says? Touches in order, each at a kink of the exact pass. */
#include "replay/replay.h"

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
