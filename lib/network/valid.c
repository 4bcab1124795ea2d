/* Are graphs, programs and profiles as their headers say? Steps in topological order, shapes that fit, entries that exist. */
#include "program/program.h"

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
dense_is_valid(const clarke_graph *g, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const size_t weights = (d->grouped ? d->blocks : 1) * d->inner * d->outer;

  return d->weight < g->n_values && g->values[d->weight].constant && g->values[d->weight].count == weights &&
         !(d->grouped && d->transposed) && s->n_in == 1 &&
         g->values[s->out].count == d->blocks * d->outer * d->repeat &&
         g->values[s->in[0].value].count == d->blocks * d->inner * d->repeat;
}

/* Kinks that increase. */
static bool
kinks_are_valid(const clarke_pieces *p)
{
  bool valid = p->n_kinks <= CLARKE_MAX_KINKS;

  for (size_t k = 0; valid && k < p->n_kinks; k++)
    valid = clarke_rational_is_canonical(p->kink[k]) && (k == 0 || mpq_cmp(p->kink[k - 1], p->kink[k]) < 0);
  for (size_t i = 0; valid && i <= p->n_kinks; i++)
    for (size_t c = 0; c < 3; c++)
      valid = valid && clarke_rational_is_canonical(p->coef[i][c]);
  return valid;
}

static bool
pieces_are_valid(const clarke_graph *g, const clarke_step *s)
{
  const clarke_pieces *p = &s->pieces;

  return kinks_are_valid(p) &&
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
    if (s->kind != CLARKE_DENSE && !map_is_valid(o->map, entries_read(g, s), v->count, holes))
      return false;
  }
  return s->n_in > 0;
}

static bool
step_is_valid(const clarke_graph *g, size_t step)
{
  const clarke_step *s = &g->steps[step];

  if (s->out >= g->n_values || g->values[s->out].constant || g->values[s->out].producer != step ||
      !operands_are_valid(g, s, step))
    return false;
  switch (s->kind) {
  case CLARKE_SCALE:
    return s->n_in == 2 && g->values[s->in[1].value].constant;
  case CLARKE_DENSE:
    return dense_is_valid(g, s);
  case CLARKE_PIECEWISE:
    return s->n_in == 1 && pieces_are_valid(g, s);
  case CLARKE_MAX:
    return window_is_valid(g, s);
  case CLARKE_SOFTMAX:
    return g->values[s->out].count == s->groups * s->length * s->stride;
  case CLARKE_NORMALIZE:
    return g->values[s->out].count == s->grouping.blocks * s->grouping.groups * s->grouping.length &&
           mpq_sgn(s->epsilon) > 0;
  default:
    return true;
  }
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

/* --- programs --- */

/* As many arguments as the kind has; SIZE_MAX: any number of one and more. */
static size_t
arguments_of(clarke_do kind)
{
  switch (kind) {
  case CLARKE_DO_INPUT:
  case CLARKE_DO_CONSTANT:
    return 0;
  case CLARKE_DO_ANALYTIC:
  case CLARKE_DO_PIECEWISE:
  case CLARKE_DO_ELU:
    return 1;
  case CLARKE_DO_PRODUCT:
  case CLARKE_DO_QUOTIENT:
    return 2;
  case CLARKE_DO_BRANCH:
    return 4;
  default:
    return SIZE_MAX;
  }
}

static bool
instruction_is_valid(const clarke_program *p, size_t at)
{
  const clarke_instruction *i = &p->instruction[at];
  const size_t arguments = arguments_of(i->kind);
  const bool one = i->kind == CLARKE_DO_CONSTANT || i->kind == CLARKE_DO_ELU;

  if (arguments == SIZE_MAX ? i->n_in == 0 && i->kind != CLARKE_DO_LINEAR : i->n_in != arguments)
    return false;
  if (i->n_coef != (i->kind == CLARKE_DO_LINEAR ? i->n_in + 1 : one ? 1 : 0))
    return false;
  for (size_t k = 0; k < i->n_in; k++)
    if (i->in[k] >= at)
      return false;
  for (size_t k = 0; k < i->n_coef; k++)
    if (!clarke_rational_is_canonical(i->coef[k]))
      return false;
  return (i->kind != CLARKE_DO_PIECEWISE || (i->op != NULL && i->pieces != NULL && kinks_are_valid(i->pieces))) &&
         (i->kind != CLARKE_DO_ELU || i->op != NULL) &&
         (i->kind != CLARKE_DO_ORDER || (i->op != NULL && i->rank >= 1 && i->rank <= i->n_in));
}

/* Entries of inputs are INPUT instructions, each of one input, and there are no others. */
static bool
inputs_are_valid(const clarke_program *p)
{
  size_t entries = 0, all = 0;

  for (size_t k = 0; k < p->n_inputs; k++) {
    const clarke_program_input *in = &p->input[k];

    if (in->name == NULL || in->n == 0 || (!in->vector && in->n != 1) || in->first > p->n || in->n > p->n - in->first ||
        (k > 0 && in->first < p->input[k - 1].first + p->input[k - 1].n))
      return false;
    for (size_t e = 0; e < in->n; e++)
      if (p->instruction[in->first + e].kind != CLARKE_DO_INPUT)
        return false;
    entries += in->n;
  }
  for (size_t at = 0; at < p->n; at++)
    all += p->instruction[at].kind == CLARKE_DO_INPUT;
  return entries == all;
}

bool
clarke_program_is_valid(const clarke_program *p)
{
  size_t arguments = 0;

  for (size_t at = 0; at < p->n; at++) {
    if (!instruction_is_valid(p, at))
      return false;
    arguments += p->instruction[at].n_in;
  }
  for (size_t o = 0; o < p->n_outputs; o++)
    if (p->output[o] >= p->n)
      return false;
  for (size_t k = 0; k < p->n_pieces; k++) {
    const clarke_piece *piece = &p->piece[k];

    if (piece->value >= p->n)
      return false;
    for (size_t c = 0; c < piece->n_conditions; c++)
      if (piece->condition[c].left >= p->n || piece->condition[c].right >= p->n)
        return false;
  }
  return arguments == p->arguments && inputs_are_valid(p);
}

/* --- profiles --- */

bool
clarke_profile_is_valid(const clarke_profile *p)
{
  for (size_t i = 0; i < p->n; i++)
    for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
      if (p->proxy[i][k].known && p->proxy[i][k].kind == CLARKE_PROXY_VALUE &&
          !clarke_rational_is_canonical(p->proxy[i][k].value))
        return false;
  for (size_t i = 0; i < p->n_orders; i++)
    if (p->rule[i].known && (!clarke_rational_is_canonical(p->rule[i].beta) ||
                             (p->rule[i].tie != CLARKE_TIE_FIRST && mpq_sgn(p->rule[i].beta) != 0)))
      return false;
  return p->name != NULL;
}
