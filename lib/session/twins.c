#include "session/twins.h"

#include "op/operator.h"

#include <stdlib.h>
#include <string.h>

void
clarke_twins_clear(clarke_twins *t)
{
  free(t->step);
  t->step = NULL;
}

bool
clarke_twins_numbers(const double *a, const double *b, size_t n)
{
  if (a == NULL || b == NULL)
    return a == b;
  for (size_t e = 0; e < n; e++)
    if (a[e] != b[e])
      return false;
  return true;
}

/* --- what is passed over --- */

static bool
hands_on(const clarke_graph *g, const clarke_step *s)
{
  const clarke_operand *o = &s->in[0];

  if (s->kind != CLARKE_GATHER || g->values[o->value].constant || g->values[o->value].count != g->values[s->out].count)
    return false;
  for (size_t f = 0; o->map != NULL && f < g->values[s->out].count; f++)
    if (o->map[f] != f)
      return false;
  return true;
}

/* The value that was handed on. */
static size_t
behind(const clarke_graph *g, size_t v)
{
  while (g->values[v].producer != CLARKE_NONE && hands_on(g, &g->steps[g->values[v].producer]))
    v = g->steps[g->values[v].producer].in[0].value;
  return v;
}

/* --- values and steps --- */

typedef struct {
  const clarke_graph *g, *h;
  size_t *twin; /* by value of g: that of h, of those that steps make, and the input */
} pairing;

/* The same parameter's entries, in one order; or the same numbers. */
static bool
same_constant(const pairing *p, const clarke_value *v, const clarke_value *w)
{
  if (v->count != w->count || v->negated != w->negated || (v->parameter == CLARKE_NONE) != (w->parameter == CLARKE_NONE)
      || !clarke_twins_numbers(v->real, w->real, v->count) || (v->integer == NULL) != (w->integer == NULL))
    return false;
  if (v->parameter == CLARKE_NONE)
    return v->integer == NULL || memcmp(v->integer, w->integer, v->count * sizeof *v->integer) == 0;
  for (size_t e = 0; e < v->count; e++)
    if ((v->origin != NULL ? v->origin[e] : e) != (w->origin != NULL ? w->origin[e] : e))
      return false;
  return strcmp(p->g->parameters[v->parameter].name, p->h->parameters[w->parameter].name) == 0;
}

static bool
same_value(const pairing *p, size_t v, size_t w)
{
  if (v == CLARKE_NONE || w == CLARKE_NONE)
    return v == w;
  if (p->g->values[v].constant || p->h->values[w].constant)
    return p->g->values[v].constant && p->h->values[w].constant && same_constant(p, &p->g->values[v], &p->h->values[w]);
  return p->twin[behind(p->g, v)] == behind(p->h, w);
}

static bool
same_map(const size_t *a, const size_t *b, size_t n)
{
  for (size_t f = 0; (a != NULL || b != NULL) && f < n; f++)
    if ((a != NULL ? a[f] : f) != (b != NULL ? b[f] : f))
      return false;
  return true;
}

/* How many entries a map of operand k has. */
static size_t
map_size(const clarke_graph *g, const clarke_step *s, size_t k)
{
  const clarke_contraction *c = &s->contraction;
  const size_t count = g->values[s->out].count;

  return s->kind == CLARKE_PRODUCT ? c->blocks * c->inner * (k == 0 ? c->rows : c->cols)
         : s->kind == CLARKE_DENSE ? s->dense.blocks * s->dense.inner * s->dense.repeat
         : s->kind == CLARKE_MAX   ? count * s->width
                                   : count;
}

static bool
same_contraction(const clarke_contraction *c, const clarke_contraction *d)
{
  return c->blocks == d->blocks && c->rows == d->rows && c->inner == d->inner && c->cols == d->cols;
}

static bool
same_operands(const pairing *p, const clarke_step *s, const clarke_step *t)
{
  if (s->n_in != t->n_in || s->width != t->width || p->g->values[s->out].count != p->h->values[t->out].count)
    return false;
  for (size_t k = 0; k < s->n_in; k++)
    if (!same_value(p, s->in[k].value, t->in[k].value) || s->in[k].coef != t->in[k].coef
        || !same_map(s->in[k].map, t->in[k].map, map_size(p->g, s, k)))
      return false;
  return true;
}

static bool
same_pieces(const pairing *p, const clarke_step *s, const clarke_step *t)
{
  const clarke_pieces *a = &s->pieces, *b = &t->pieces;

  if (a->n_kinks != b->n_kinks || !same_value(p, a->slope, b->slope)
      || (a->slope != CLARKE_NONE && !same_map(a->slope_map, b->slope_map, p->g->values[s->out].count)))
    return false;
  for (size_t i = 0; i < a->n_kinks; i++)
    if (!mpq_equal(a->kink[i], b->kink[i]))
      return false;
  for (size_t i = 0; i <= a->n_kinks; i++)
    for (size_t k = 0; k < 3; k++)
      if (!mpq_equal(a->coef[i][k], b->coef[i][k]))
        return false;
  return true;
}

static bool
same_dense(const pairing *p, const clarke_dense *d, const clarke_dense *e)
{
  return same_value(p, d->weight, e->weight) && d->transposed == e->transposed && d->grouped == e->grouped && d->blocks == e->blocks
         && d->inner == e->inner && d->outer == e->outer && d->repeat == e->repeat;
}

static bool
same_rest(const clarke_step *s, const clarke_step *t)
{
  if (s->kind == CLARKE_SCALE && (s->divide != t->divide || s->root != t->root))
    return false;
  if (((s->kind == CLARKE_SCALE && s->root) || s->kind == CLARKE_NORMALIZE) && !mpq_equal(s->epsilon, t->epsilon))
    return false;
  if (s->kind == CLARKE_SOFTMAX && (s->log != t->log || s->groups != t->groups || s->length != t->length || s->stride != t->stride))
    return false;
  return s->kind != CLARKE_NORMALIZE || (s->grouping.blocks == t->grouping.blocks && s->grouping.groups == t->grouping.groups
                                         && s->grouping.length == t->grouping.length && s->grouping.couples == t->grouping.couples);
}

/* A step is what it computes, whatever operator it comes from (a Gemm, or a MatMul and an Add). At kinks AD's number is the operator's. */
static bool
same_step(const pairing *p, const clarke_step *s, const clarke_step *t)
{
  return s->kind == t->kind && (!clarke_step_has_kinks(s) || strcmp(s->op->name, t->op->name) == 0)
         && (s->kind != CLARKE_DENSE || same_dense(p, &s->dense, &t->dense))
         && (s->kind != CLARKE_PRODUCT || same_contraction(&s->contraction, &t->contraction)) && (s->kind != CLARKE_PIECEWISE || same_pieces(p, s, t))
         && (s->kind != CLARKE_ANALYTIC || s->function == t->function) && same_rest(s, t)
         && same_operands(p, s, t); /* whose maps are as long as the rest says */
}

static size_t
next_step(const clarke_graph *g, size_t i)
{
  while (i < g->n_steps && hands_on(g, &g->steps[i]))
    i++;
  return i;
}

/* Both have the operators in their files' order; what is passed over stands anywhere. */
static bool
pair_steps(clarke_twins *t, pairing *p)
{
  const clarke_graph *g = p->g, *h = p->h;
  size_t i = next_step(g, 0), j = next_step(h, 0);

  p->twin[g->input] = h->input;
  for (; i < g->n_steps && j < h->n_steps; i = next_step(g, i + 1), j = next_step(h, j + 1)) {
    if (!same_step(p, &g->steps[i], &h->steps[j]))
      return false;
    t->step[i] = j;
    p->twin[g->steps[i].out] = h->steps[j].out;
  }
  return i == g->n_steps && j == h->n_steps && same_value(p, g->output, h->output);
}

clarke_status
clarke_twins_find(clarke_twins *t, bool *same, const clarke_graph *g, const clarke_graph *h, clarke_error *err)
{
  pairing p = {g, h, malloc((g->n_values + 1) * sizeof *p.twin)};

  t->step = malloc((g->n_steps + 1) * sizeof *t->step);
  for (size_t v = 0; p.twin != NULL && v < g->n_values; v++)
    p.twin[v] = CLARKE_NONE;
  for (size_t i = 0; t->step != NULL && i < g->n_steps; i++)
    t->step[i] = CLARKE_NONE;
  *same = t->step != NULL && p.twin != NULL && g->values[g->input].count == h->values[h->input].count && pair_steps(t, &p);
  free(p.twin);
  return t->step != NULL && p.twin != NULL ? CLARKE_OK : clarke_no_memory(err);
}
