/* What is added to the products of a sum, and what either is multiplied by (summation.h): y = alpha (a c) + beta b, of which y alone was
 * recorded. The graph has alpha and beta as a SUM's coefficients, or as steps that multiply by one number. */
#include "trace/sums/summation.h"

#include <stdlib.h>

const double *
clarke_sum_numbers(clarke_sum_operands *o, size_t value)
{
  const clarke_graph *g = o->c->g;
  const clarke_tensor *x = o->c->x;
  const size_t n = g->samples, rows = g->values[value].count;

  if (value != g->input && o->c->recorded[value] == NULL && n == 1 && clarke_sum_lifted(g, value) != value)
    return g->values[clarke_sum_lifted(g, value)].real;
  if (value != g->input)
    return o->c->recorded[value];
  if (o->own != NULL || x->real == NULL || x->count != n * rows)
    return o->own;
  o->own = malloc((x->count + 1) * sizeof *o->own);
  for (size_t k = 0; o->own != NULL && k < x->count; k++)
    o->own[k % rows * n + k / rows] = x->real[k];
  return o->own;
}

/* The step that makes the value; NULL: none does. */
static const clarke_step *
maker(const clarke_graph *g, size_t value)
{
  return g->values[value].producer != CLARKE_NONE ? &g->steps[g->values[value].producer] : NULL;
}

const clarke_step *
clarke_sum_only_reader(const clarke_graph *g, size_t value)
{
  const clarke_step *found = NULL;
  size_t n = 0;

  for (size_t i = 0; i < g->n_steps; i++)
    if (clarke_sum_reads(&g->steps[i], value) > 0) {
      found = &g->steps[i];
      n++;
    }
  return n == 1 ? found : NULL;
}

/* Does the step multiply all entries by one number that is not trained? */
static bool
is_factor(double *factor, const clarke_graph *g, const clarke_step *s)
{
  const clarke_value *by = s->kind == CLARKE_SCALE ? &g->values[s->in[1].value] : NULL;

  if (by == NULL || s->divide || s->root || s->in[0].map != NULL || by->count != 1
      || by->parameter != CLARKE_NONE || by->negated || by->real == NULL)
    return false;
  *factor = by->real[0];
  return true;
}

/* Was the value not recorded, and does one step alone read it? */
static bool
is_inside(const clarke_certify *c, size_t value)
{
  return value != c->g->output && c->recorded[value] == NULL && clarke_sum_only_reader(c->g, value) != NULL;
}

/* The product that the value is, or a factor of which it is. */
static const clarke_step *
product_inside(double *factor, const clarke_certify *c, size_t value)
{
  const clarke_step *s = is_inside(c, value) ? maker(c->g, value) : NULL;

  *factor = 1;
  if (s != NULL && is_factor(factor, c->g, s))
    s = is_inside(c, s->in[0].value) ? maker(c->g, s->in[0].value) : NULL;
  if (s == NULL || s->kind == CLARKE_PRODUCT)
    return s;
  return s->kind == CLARKE_DENSE && !c->g->values[s->dense.weight].negated
           && c->g->values[s->dense.weight].real != NULL ? s : NULL;
}

/* Finds the first operand of a SUM of one or two that is a product. With two factors it would not be known which rounds
 * first. */
static bool
find_side(clarke_added *a, const clarke_certify *c, const clarke_step *s)
{
  for (size_t side = 0; side < s->n_in; side++) {
    double factor;

    if (s->in[side].map != NULL)
      continue;
    a->product = product_inside(&factor, c, s->in[side].value);
    a->alpha = factor * s->in[side].coef;
    a->other = s->n_in == 2 ? &s->in[1 - side] : NULL;
    if (a->product != NULL)
      return factor == 1 || s->in[side].coef == 1;
  }
  return false;
}

bool
clarke_sum_added(clarke_added *a, const clarke_certify *c, const clarke_step *s)
{
  const clarke_step *before;

  *a = (clarke_added){.alpha = 1, .beta = 1};
  if (is_factor(&a->alpha, c->g, s)) { /* and nothing is added */
    double inner;

    a->product = product_inside(&inner, c, s->in[0].value);
    return a->product != NULL && inner == 1;
  }
  if (s->kind != CLARKE_SUM || s->n_in > 2 || (s->n_in == 2 && s->in[0].value == s->in[1].value) || !find_side(a, c, s))
    return false;
  if (a->other == NULL)
    return true;
  before = maker(c->g, a->other->value);
  a->beta = a->other->coef;
  if (a->beta == 1 && before != NULL && is_inside(c, a->other->value) && is_factor(&a->beta, c->g, before))
    a->between = &before->in[0];
  return true;
}

/* A constant becomes an activation as a sum, in which no entry of the network's input is. */
size_t
clarke_sum_lifted(const clarke_graph *g, size_t value)
{
  const clarke_step *s = maker(g, value);
  const clarke_value *v = s != NULL && s->kind == CLARKE_SUM && s->n_in == 2 && s->in[0].map != NULL ? &g->values[s->in[1].value] : NULL;

  if (v == NULL || !v->constant || v->negated || v->real == NULL || s->in[1].map != NULL || s->in[1].coef != 1)
    return value;
  for (size_t f = 0; f < g->values[value].count; f++)
    if (s->in[0].map[f] != CLARKE_NONE)
      return value;
  return s->in[1].value;
}

void
clarke_sum_added_set(clarke_sum_operands *o, const char **why, const clarke_added *a)
{
  const clarke_operand *from = a->between != NULL ? a->between : a->other;
  const clarke_value *v;

  o->alpha = a->alpha;
  if (from == NULL)
    return;
  o->beta = a->beta;
  o->added = a->other;
  o->addend = clarke_sum_lifted(o->c->g, from->value);
  v = &o->c->g->values[o->addend];
  o->addends = !v->constant ? clarke_sum_numbers(o, o->addend) : v->negated ? NULL : v->real;
  if (o->addends == NULL)
    *why = "what is added was not recorded";
}

void
clarke_sum_added_take(double *p, double *q, const clarke_sum_operands *o, size_t f, size_t sample)
{
  const size_t e = o->added != NULL ? clarke_operand_entry(o->added, f) : CLARKE_NONE;

  if (o->added == NULL)
    return;
  p[o->leaves - 1] = e == CLARKE_NONE ? 0 : o->addends[o->c->g->values[o->addend].constant ? e : e * o->c->g->samples + sample];
  q[o->leaves - 1] = 1;
}

size_t
clarke_sum_added_behind(double *factor, const clarke_certify *c, size_t value)
{
  const clarke_step *s = clarke_sum_only_reader(c->g, value);
  double by = 1;
  size_t side = 0;

  if (value == c->g->output || s == NULL)
    return CLARKE_NONE;
  if (s->kind == CLARKE_SUM) {
    while (s->in[side].value != value)
      side++;
    for (size_t k = side + 1; k < s->n_in; k++)
      if (s->in[k].value == value)
        return CLARKE_NONE;
    by = s->in[side].coef;
  } else if (s->in[0].value != value || !is_factor(&by, c->g, s))
    return CLARKE_NONE;
  if (s->in[side].map != NULL || (by != 1 && *factor != 1))
    return CLARKE_NONE;
  *factor *= by;
  return s->out;
}
