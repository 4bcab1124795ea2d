/* Are graphs and replays as their headers say? Steps in topological order, shapes that fit, entries that exist; touches
 * in order, each at a kink of the exact pass. */
#include "network/replay/replay.h"

static bool
map_is_valid(const size_t *map, size_t n, size_t entries, bool holes)
{
  for (size_t f = 0; map != NULL && f < n; f++)
    if (map[f] == CLARKE_NONE ? !holes : map[f] >= entries)
      return false;
  return map != NULL || n == entries;
}

/* How often a map of the operand's is read: a window's entries are listed one after another. */
static size_t
entries_read(const clarke_graph *g, const clarke_step *s)
{
  return g->values[s->out].count * (s->kind == CLARKE_MAX ? s->width : 1);
}

static bool
product_is_valid(const clarke_graph *g, const clarke_step *s)
{
  const clarke_contraction *c = &s->contraction;

  return s->n_in == 2 && !g->values[s->in[0].value].constant && !g->values[s->in[1].value].constant &&
         g->values[s->out].count == c->blocks * c->rows * c->cols &&
         map_is_valid(s->in[0].map, c->blocks * c->rows * c->inner, g->values[s->in[0].value].count, false) &&
         map_is_valid(s->in[1].map, c->blocks * c->inner * c->cols, g->values[s->in[1].value].count, false);
}

static bool
dense_is_valid(const clarke_graph *g, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const size_t weights = (d->grouped ? d->blocks : 1) * d->inner * d->outer;

  return d->weight < g->n_values && g->values[d->weight].constant && g->values[d->weight].count == weights &&
         !(d->grouped && d->transposed) && s->n_in == 1 &&
         g->values[s->out].count == d->blocks * d->outer * d->repeat &&
         g->values[s->in[0].value].count == d->blocks * d->inner * d->repeat;
}

static bool
pieces_are_valid(const clarke_graph *g, const clarke_step *s)
{
  const clarke_pieces *p = &s->pieces;

  return clarke_pieces_are_valid(p) &&
         (p->slope == CLARKE_NONE ||
          (p->slope < g->n_values && g->values[p->slope].constant &&
           map_is_valid(p->slope_map, g->values[s->out].count, g->values[p->slope].count, false)));
}

static bool
window_is_valid(const clarke_graph *g, const clarke_step *s)
{
  bool valid = s->n_in == 1 && s->in[0].map != NULL && s->width >= 1 && s->width <= CLARKE_MAX_WIDTH;

  for (size_t f = 0; valid && f < g->values[s->out].count; f++) {
    bool any = false;

    for (size_t i = 0; i < s->width; i++)
      any = any || s->in[0].map[f * s->width + i] != CLARKE_NONE;
    valid = any;
  }
  return valid;
}

/* Operands come before: constants, the input, what earlier steps make. */
static bool
operands_are_valid(const clarke_graph *g, const clarke_step *s, const size_t step)
{
  const bool holes = s->kind == CLARKE_GATHER || s->kind == CLARKE_SUM || s->kind == CLARKE_MAX;

  for (size_t k = 0; k < s->n_in; k++) {
    const clarke_operand *o = &s->in[k];
    const clarke_value *v = o->value < g->n_values ? &g->values[o->value] : NULL;

    if (v == NULL || !(v->constant || o->value == g->input || v->producer < step))
      return false;
    if (s->kind != CLARKE_DENSE && s->kind != CLARKE_PRODUCT && !map_is_valid(o->map, entries_read(g, s), v->count, holes))
      return false;
  }
  return s->n_in > 0;
}

static bool
scale_is_valid(const clarke_graph *g, const clarke_step *s)
{
  return s->n_in == 2 && g->values[s->in[1].value].constant;
}

static bool
softmax_is_valid(const clarke_graph *g, const clarke_step *s)
{
  return g->values[s->out].count == s->groups * s->length * s->stride;
}

static bool
grouping_is_valid(const clarke_graph *g, const clarke_step *s)
{
  return g->values[s->out].count == s->grouping.blocks * s->grouping.groups * s->grouping.length && mpq_sgn(s->epsilon) > 0;
}

static bool (*const of_kind[CLARKE_STEP_KINDS])(const clarke_graph *g, const clarke_step *s) = {
  [CLARKE_SCALE] = scale_is_valid, [CLARKE_DENSE] = dense_is_valid, [CLARKE_PIECEWISE] = pieces_are_valid,
  [CLARKE_MAX] = window_is_valid, [CLARKE_PRODUCT] = product_is_valid, [CLARKE_SOFTMAX] = softmax_is_valid,
  [CLARKE_NORMALIZE] = grouping_is_valid,
};

static bool
step_is_valid(const clarke_graph *g, size_t step)
{
  const clarke_step *s = &g->steps[step];

  if (s->out >= g->n_values || g->values[s->out].constant || g->values[s->out].producer != step ||
      !operands_are_valid(g, s, step))
    return false;
  return of_kind[s->kind] == NULL || of_kind[s->kind](g, s);
}

/* A constant's own entries, or those that it shows of its parameter. */
static bool
value_is_valid(const clarke_graph *g, size_t value)
{
  const clarke_value *v = &g->values[value];

  if (!v->constant)
    return v->producer == CLARKE_NONE || (v->producer < g->n_steps && g->steps[v->producer].out == value);
  if (v->producer != CLARKE_NONE || (v->count > 0 && (v->real == NULL) == (v->integer == NULL)))
    return false;
  if (v->made_of != CLARKE_NONE && (v->made_of >= value || !g->values[v->made_of].constant
                                    || g->values[v->made_of].parameter != v->parameter))
    return false;
  return v->parameter == CLARKE_NONE ||
         (v->parameter < g->n_parameters &&
          map_is_valid(v->origin, v->count, g->parameters[v->parameter].count, false));
}

bool
clarke_graph_is_valid(const clarke_graph *g)
{
  for (size_t v = 0; v < g->n_values; v++)
    if (!value_is_valid(g, v))
      return false;
  for (size_t i = 0; i < g->n_steps; i++)
    if (!step_is_valid(g, i))
      return false;
  for (size_t p = 0; p < g->n_parameters; p++)
    if (g->parameters[p].statistic && g->parameters[p].wrt)
      return false;
  return g->input < g->n_values && g->output < g->n_values && !g->values[g->output].constant;
}

/* --- replays --- */

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
