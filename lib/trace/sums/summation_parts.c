/* The gradient in what several steps read: autograd adds up what each hands back (summation.h). Each part is a sum of its own, or one
 * number: what is only moved, and what relu lets through. */
#include "trace/sums/summation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool
clarke_sum_is_parameter(const clarke_graph *g, size_t value, const char *name)
{
  if (!clarke_value_is_wrt(g, value) || strcmp(g->parameters[g->values[value].parameter].name, name) != 0)
    return false;
  for (size_t i = 0; i < g->n_steps; i++)
    if (clarke_sum_reads(&g->steps[i], value) > 0)
      return true;
  return false;
}

size_t
clarke_sum_reads(const clarke_step *s, size_t value)
{
  size_t n = (s->kind == CLARKE_DENSE && s->dense.weight == value) + (s->kind == CLARKE_PIECEWISE && s->pieces.slope == value);

  for (size_t k = 0; k < s->n_in; k++)
    n += s->in[k].value == value;
  return n;
}

/* The next part, of nothing yet; NULL: out of memory. */
static clarke_sum_operands *
begin_part(clarke_sum_operands *o)
{
  clarke_sum_operands *more = realloc(o->part, (o->n_parts + 1) * sizeof *more);

  if (more == NULL)
    return NULL;
  o->part = more;
  more += o->n_parts++;
  *more = (clarke_sum_operands){.c = o->c, .divisor = 1, .alpha = 1, .beta = 1, .type = CLARKE_I64};
  return more;
}

/* The gradient in that value, as it was recorded. */
static const clarke_tensor *
gradient_in(const clarke_sum_operands *o, size_t value)
{
  const clarke_graph *g = o->c->g;
  const clarke_value *v = &g->values[value];
  const clarke_tensor *t = v->name != NULL ? clarke_certify_find((clarke_certify *)o->c, "gradient", v->name) : NULL;

  return t != NULL && t->real != NULL && t->count == v->count * (v->constant ? 1 : g->samples) ? t : NULL;
}

/* Entry place[f] of what `count` entries make goes back to entry f; *why stays, if one goes back twice. */
static clarke_status
find_places(clarke_sum_operands *o, const char **why, const size_t *map, size_t count, size_t entries, clarke_error *err)
{
  o->kind = CLARKE_SUM_OF_MOVED;
  o->leaves = 1;
  o->place = malloc((entries + 1) * sizeof *o->place);
  if (o->place == NULL)
    return clarke_no_memory(err);
  for (size_t f = 0; f < entries; f++)
    o->place[f] = CLARKE_NONE;
  for (size_t e = 0; e < count; e++) {
    const size_t f = map != NULL ? map[e] : e;

    if (f == CLARKE_NONE)
      continue;
    if (o->place[f] != CLARKE_NONE)
      return CLARKE_OK;
    o->place[f] = e;
  }
  *why = NULL;
  return CLARKE_OK;
}

/* What moves entries, each to one place at most; the gradient behind it was recorded. */
static clarke_status
find_moved(clarke_sum_operands *o, const char **why, size_t value, const clarke_step *s, clarke_error *err)
{
  const clarke_graph *g = o->c->g;
  const clarke_tensor *t = gradient_in(o, s->out);

  *why = "a part of it is not known";
  o->gradient = t->real;
  o->features = g->values[s->out].count;
  o->count = g->values[value].count;
  return find_places(o, why, s->in[0].map, o->features, o->count, err);
}

/* Pieces 0 and x meet at 0. */
static bool
is_relu(const clarke_step *s)
{
  const clarke_pieces *p = &s->pieces;

  if (s->kind != CLARKE_PIECEWISE || p->slope != CLARKE_NONE || p->n_kinks != 1)
    return false;
  for (int i = 0; i < 2; i++)
    if (mpq_cmp_si(p->coef[i][1], i, 1) != 0 || mpq_sgn(p->coef[i][0]) != 0 || mpq_sgn(p->coef[i][2]) != 0)
      return false;
  return true;
}

/* The gradient behind it where the recorded argument is above 0. */
static void
find_relu(clarke_sum_operands *o, const char **why, size_t value, const clarke_step *s)
{
  const clarke_tensor *t = gradient_in(o, s->out);

  o->kind = CLARKE_SUM_OF_RELU;
  o->leaves = 1;
  o->count = o->features = o->c->g->values[value].count;
  o->x = o->c->recorded[value];
  *why = t == NULL || o->x == NULL ? "a part of it is not known" : NULL;
  o->gradient = t != NULL ? t->real : NULL;
}

static clarke_status
find_part(clarke_sum_operands *o, const char **why, size_t value, const clarke_step *s, clarke_error *err)
{
  clarke_sum_operands *part = begin_part(o);
  const bool constant = o->c->g->values[value].constant;
  clarke_status status = CLARKE_OK;

  if (part == NULL)
    return clarke_no_memory(err);
  if (clarke_sum_reads(s, value) > 1) {
    *why = "one step reads it twice";
    return CLARKE_OK;
  }
  if (!constant && s->kind == CLARKE_GATHER && gradient_in(o, s->out) != NULL)
    status = find_moved(part, why, value, s, err);
  else if (!constant && is_relu(s))
    find_relu(part, why, value, s);
  else
    status = clarke_sum_of_reader(part, why, value, s, err);
  if (status == CLARKE_OK && *why == NULL && fabs(part->alpha) != 1)
    *why = "a part of it has a factor";
  o->leaves += part->leaves;
  return status;
}

/* A rearrangement of a parameter, in the order of its own entries. */
static clarke_status
find_rearranged(clarke_sum_operands *o, const char **why, size_t value, clarke_error *err)
{
  const clarke_value *v = &o->c->g->values[value];
  const size_t entries = o->c->g->parameters[v->parameter].count;
  const clarke_tensor *t = gradient_in(o, value);
  clarke_sum_operands *part = begin_part(o);

  if (part == NULL)
    return clarke_no_memory(err);
  *why = "a part of it is not known";
  if (t == NULL || v->negated)
    return CLARKE_OK;
  part->gradient = t->real;
  part->features = v->count;
  part->count = entries;
  o->leaves++;
  return find_places(part, why, v->origin, v->count, entries, err);
}

/* All steps that read a value, in their order. */
static clarke_status
find_readers(clarke_sum_operands *o, const char **why, size_t value, clarke_error *err)
{
  const clarke_graph *g = o->c->g;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < g->n_steps && *why == NULL && status == CLARKE_OK; i++)
    if (clarke_sum_reads(&g->steps[i], value) > 0)
      status = find_part(o, why, value, &g->steps[i], err);
  return status;
}

clarke_status
clarke_sum_parts_find(clarke_sum_operands *o, const char **why, size_t value, const char *parameter, clarke_error *err)
{
  const clarke_graph *g = o->c->g;
  clarke_status status = CLARKE_OK;

  o->kind = CLARKE_SUM_OF_PARTS;
  *why = value == g->output ? "the loss reads it" : NULL;
  if (parameter == NULL && *why == NULL)
    status = find_readers(o, why, value, err);
  for (size_t rearranged = 0; parameter != NULL && rearranged < 2; rearranged++)
    for (size_t v = 0; v < g->n_values && *why == NULL && status == CLARKE_OK; v++)
      if (clarke_sum_is_parameter(g, v, parameter) && (g->values[v].origin != NULL) == (rearranged == 1))
        status = rearranged ? find_rearranged(o, why, v, err) : find_readers(o, why, v, err);
  if (status == CLARKE_OK && *why == NULL && o->n_parts < 2)
    *why = "it is no sum of products of the graph";
  return status;
}

void
clarke_sum_parts_take(double *p, double *q, const clarke_sum_operands *o, size_t k)
{
  const size_t f = o->count > 0 ? k % o->count : 0, sample = o->count > 0 ? k / o->count : 0;
  size_t leaf = 0;

  for (size_t i = 0; i < o->n_parts; i++) {
    clarke_sum_operands_take(p + leaf, q + leaf, &o->part[i], k);
    for (const size_t end = leaf + o->part[i].leaves; leaf < end; leaf++)
      p[leaf] *= o->part[i].alpha; /* 1 or -1 */
  }
  if (o->kind == CLARKE_SUM_OF_PARTS)
    return;
  q[0] = 1;
  if (o->kind == CLARKE_SUM_OF_MOVED)
    p[0] = o->place[f] != CLARKE_NONE ? o->gradient[sample * o->features + o->place[f]] : 0;
  else
    p[0] = o->x[f * o->c->g->samples + sample] > 0 ? o->gradient[sample * o->features + f] : 0;
}
