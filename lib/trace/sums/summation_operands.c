/* Which products a recorded tensor's entries are sums of (summation.h). */
#include "trace/sums/summation.h"

#include <stdlib.h>
#include <string.h>

void
clarke_sum_operands_clear(clarke_sum_operands *o)
{
  for (size_t i = 0; i < o->n_parts; i++)
    clarke_sum_operands_clear(&o->part[i]);
  free(o->part);
  free(o->own);
  free(o->made);
  free(o->start);
  free(o->reader);
  free(o->laid[0]);
  free(o->laid[1]);
  free(o->place);
  free(o->entry);
  memset(o, 0, sizeof *o);
}

/* --- looking up --- */

/* Constants that no file has, such as the ones of a sum, may have their node's name. */
static size_t
value_named(const clarke_graph *g, const char *name)
{
  for (size_t v = 0; v < g->n_values; v++)
    if (g->values[v].name != NULL && (!g->values[v].constant || g->values[v].parameter != CLARKE_NONE) && strcmp(g->values[v].name, name) == 0)
      return v;
  return CLARKE_NONE;
}

/* Does the step add a constant to what is before it, and nothing else? */
static bool
adds_bias(const clarke_graph *g, const clarke_step *s)
{
  return s->kind == CLARKE_SUM && s->n_in == 2 && s->in[0].map == NULL
         && !g->values[s->in[0].value].constant && g->values[s->in[1].value].constant && !g->values[s->in[1].value].negated
         && g->values[s->in[1].value].real != NULL;
}

/* A product with a constant as it is stored. */
static bool
is_product(const clarke_graph *g, const clarke_step *s)
{
  return s->kind == CLARKE_DENSE && !g->values[s->dense.weight].negated
         && g->values[s->dense.weight].real != NULL;
}

/* The step that makes a value; NULL: none does. */
static const clarke_step *
maker(const clarke_graph *g, size_t value)
{
  return g->values[value].producer != CLARKE_NONE ? &g->steps[g->values[value].producer] : NULL;
}

/* --- numbers --- */

/* Finds the numbers of the product's input as they were recorded: x stays NULL when they were not. The value that has
 * them, behind patches. */
static size_t
find_input(clarke_sum_operands *o)
{
  const clarke_graph *g = o->c->g;
  size_t v = o->product->in[0].value;
  const clarke_step *s = maker(g, v);

  if (g->values[v].name == NULL && s != NULL && s->kind == CLARKE_GATHER) { /* a convolution's patches */
    o->map = s->in[0].map;
    v = s->in[0].value;
  }
  o->x = clarke_sum_numbers(o, v);
  return v;
}

/* Finds the gradient in a value as it was recorded; where it was not, that in what the value is added to or a factor of,
 * the factor being alpha. */
static void
find_gradient(clarke_sum_operands *o, size_t value)
{
  const clarke_graph *g = o->c->g;
  const clarke_tensor *t = NULL;

  while (value != CLARKE_NONE && t == NULL) {
    o->features = g->values[value].count;
    if (g->values[value].name != NULL)
      t = clarke_certify_find((clarke_certify *)o->c, "gradient", g->values[value].name);
    value = clarke_sum_added_behind(&o->alpha, o->c, value);
  }
  if (t != NULL && t->real != NULL && t->count == o->features * g->samples)
    o->gradient = t->real;
}

/* --- their kinds --- */

/* The sums that a mean divides by how many they are of; the step itself, if it is another. */
static const clarke_step *
divided(clarke_sum_operands *o, const clarke_step *s)
{
  const clarke_graph *g = o->c->g;
  const clarke_value *by = s != NULL && s->kind == CLARKE_SCALE ? &g->values[s->in[1].value] : NULL;

  if (by == NULL || !s->divide || s->root || s->in[0].map != NULL || by->count != 1
      || by->parameter != CLARKE_NONE || by->real == NULL || o->c->recorded[s->in[0].value] != NULL)
    return s;
  o->divisor = by->real[0];
  return maker(g, s->in[0].value);
}

static clarke_status
find_product(clarke_sum_operands *o, const char **why, size_t value, clarke_error *err)
{
  const clarke_graph *g = o->c->g;
  const clarke_step *s = divided(o, maker(g, value));
  const char *added = NULL;
  clarke_added a;
  clarke_status status = CLARKE_OK;

  if (s != NULL && clarke_sum_added(&a, o->c, s)) {
    clarke_sum_added_set(o, &added, &a);
    s = a.product;
  }
  o->kind = CLARKE_SUM_OF_PRODUCT;
  *why = "it is no product with a constant";
  if (s != NULL && s->kind == CLARKE_PRODUCT)
    status = clarke_sum_contraction_find(o, why, s, s->out, err);
  else if (s != NULL && is_product(g, s)) {
    o->product = s;
    o->weight = g->values[s->dense.weight].real;
    o->leaves = s->dense.inner;
    value = find_input(o);
    if (o->x == NULL && !clarke_sum_terms_find(o, why, value))
      *why = "what it multiplies was not recorded";
    else if (o->x != NULL)
      *why = NULL;
  }
  if (status != CLARKE_OK || *why != NULL)
    return status;
  o->leaves += o->added != NULL;
  *why = added;
  return CLARKE_OK;
}

/* How many taps a convolution's kernel has; 0: it is none. */
static size_t
taps_of(const clarke_graph *g, const clarke_step *s)
{
  const clarke_value *w = &g->values[s->dense.weight];
  size_t taps = w->rank > 2 && !s->dense.transposed ? 1 : 0;

  for (size_t a = 2; a < w->rank; a++)
    taps *= w->dims[a];
  return taps > 0 && s->dense.inner % taps == 0 ? taps : 0;
}

/* Does an entry meet each tap in one window at most, and only those of one group? */
static bool
are_taps(const clarke_sum_operands *o, const size_t *reader, size_t n)
{
  const clarke_dense *d = &o->product->dense;

  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++)
      if (reader[i] / d->repeat % d->inner == reader[j] / d->repeat % d->inner
          || reader[i] / d->repeat / o->taps != reader[j] / d->repeat / o->taps)
        return false;
  return true;
}

/* Where the patches have each entry of the input. */
static clarke_status
list_readers(clarke_sum_operands *o, const char **why, const size_t *map, size_t count, clarke_error *err)
{
  const clarke_dense *d = &o->product->dense;
  const size_t laid = d->blocks * d->inner * d->repeat;

  o->start = calloc(count + 2, sizeof *o->start);
  o->reader = malloc((laid + 1) * sizeof *o->reader);
  if (o->start == NULL || o->reader == NULL)
    return clarke_no_memory(err);
  for (size_t f = 0; f < laid; f++)
    if (map[f] != CLARKE_NONE)
      o->start[map[f] + 2]++;
  for (size_t f = 2; f < count + 2; f++)
    o->start[f] += o->start[f - 1];
  for (size_t f = 0; f < laid; f++)
    if (map[f] != CLARKE_NONE)
      o->reader[o->start[map[f] + 1]++] = f;
  for (size_t f = 0; f < count; f++)
    if (!are_taps(o, o->reader + o->start[f], o->start[f + 1] - o->start[f]))
      *why = "it is not the input of a convolution alone";
  return CLARKE_OK;
}

/* For the gradient in an activation whose entries a sum reads several times each, or a product of entries: the sum of
 * those in its own, or of these times the other factors. */
static clarke_status
find_of_copies(clarke_sum_operands *o, const char **why, size_t value, const clarke_step *s, clarke_error *err)
{
  const size_t side = s->in[0].value == value ? 0 : 1, count = o->c->g->values[value].count, all = o->c->g->values[s->out].count;

  o->kind = CLARKE_SUM_OF_COPIES;
  o->count = count;
  *why = "not one product or sum reads it, and nothing else";
  if (s->n_in != 2 || s->in[0].value == s->in[1].value || count == 0 || all % count != 0)
    return CLARKE_OK;
  o->leaves = all / count;
  o->reader = malloc((all + 1) * sizeof *o->reader);
  o->start = calloc(count + 1, sizeof *o->start);
  if (o->reader == NULL || o->start == NULL)
    return clarke_no_memory(err);
  for (size_t f = 0; f < all; f++) {
    const size_t e = clarke_operand_entry(&s->in[side], f);

    if (e == CLARKE_NONE || o->start[e] == o->leaves)
      return CLARKE_OK; /* not each as often */
    o->reader[e * o->leaves + o->start[e]++] = f;
  }
  o->alpha *= s->in[side].coef;
  find_gradient(o, s->out);
  *why = o->gradient == NULL ? "the gradient behind it was not recorded" : NULL;
  return CLARKE_OK;
}

/* What is only multiplied by a number, alpha, and then added several times, is as it is then. */
static size_t
behind_factor(clarke_sum_operands *o, size_t value, const clarke_step *s)
{
  const clarke_step *next;
  double factor = 1;
  size_t behind;

  if (s == NULL || s->kind != CLARKE_SCALE)
    return value;
  behind = clarke_sum_added_behind(&factor, o->c, value);
  next = behind != CLARKE_NONE && o->c->recorded[behind] == NULL ? clarke_sum_only_reader(o->c->g, behind) : NULL;
  if (next == NULL || next->kind != CLARKE_SUM)
    return value;
  o->alpha = factor;
  return behind;
}

/* What the step, one of those that read an activation, adds to its gradient. */
static clarke_status
find_of_input(clarke_sum_operands *o, const char **why, size_t value, const clarke_step *reader, clarke_error *err)
{
  const clarke_graph *g = o->c->g;
  const size_t scaled = behind_factor(o, value, reader);
  const clarke_step *first = scaled == value ? reader : clarke_sum_only_reader(g, scaled), *s = first;
  const bool patches = first != NULL && first->kind == CLARKE_GATHER && g->values[first->out].name == NULL && first->in[0].map != NULL;

  o->kind = CLARKE_SUM_OF_INPUT;
  s = patches ? clarke_sum_only_reader(g, first->out) : first;
  if (s != NULL && s == first && value != g->output && clarke_sum_copies_factor(o, s, value))
    return find_of_copies(o, why, value, s, err);
  if (s != NULL && s->kind == CLARKE_PRODUCT && value != g->output) {
    find_gradient(o, s->out);
    return clarke_sum_contraction_find(o, why, s, value, err);
  }
  if (s != NULL && s->kind == CLARKE_SUM && s == first && value != g->output)
    return find_of_copies(o, why, scaled, s, err);
  o->taps = !patches ? 1 : s != NULL && is_product(g, s) ? taps_of(g, s) : 0;
  if (value == g->output || s == NULL || !is_product(g, s) || s->in[0].value != (patches ? first->out : value) || o->taps == 0) {
    *why = "not one product with a constant reads it, and nothing else";
    return CLARKE_OK;
  }
  o->product = s;
  o->weight = g->values[s->dense.weight].real;
  o->leaves = s->dense.outer * o->taps;
  find_gradient(o, s->out);
  *why = o->gradient == NULL ? "the gradient behind it was not recorded" : NULL;
  return patches && *why == NULL ? list_readers(o, why, first->in[0].map, g->values[value].count, err) : CLARKE_OK;
}

/* Is it a transposed convolution, whose weight the graph has turned round? */
static bool
is_turned(const clarke_step *s)
{
  return s->kind == CLARKE_DENSE && strcmp(s->op->name, "ConvTranspose") == 0;
}

/* The same of a constant. */
static clarke_status
find_of_constant(clarke_sum_operands *o, const char **why, size_t value, const clarke_step *s, clarke_error *err)
{
  const clarke_graph *g = o->c->g;
  const bool weight = s != NULL && is_product(g, s) && s->dense.weight == value;
  const bool factor = s != NULL && clarke_sum_copies_factor(o, s, value);

  if (s != NULL && clarke_sum_lifted(g, s->out) == value)
    return find_of_input(o, why, s->out, clarke_sum_only_reader(g, s->out), err);
  *why = "not one product or sum reads it, and nothing else";
  if (s == NULL || g->values[value].negated || (!weight && !factor && !(adds_bias(g, s) && s->in[1].value == value)))
    return CLARKE_OK;
  o->alpha = weight ? 1 : s->in[1].coef;
  find_gradient(o, s->out);
  if (weight) {
    o->kind = CLARKE_SUM_OF_WEIGHT;
    o->product = s;
    o->leaves = (s->dense.grouped ? 1 : s->dense.blocks) * s->dense.repeat * g->samples;
    find_input(o);
    if (is_turned(s))
      return clarke_sum_turned_find(o, why, err);
  } else {
    o->kind = CLARKE_SUM_OF_BIAS;
    o->sum = s;
    o->leaves = g->values[value].count > 0 ? o->features / g->values[value].count * g->samples : 0;
    if (g->values[value].count == 0 || o->features % g->values[value].count != 0)
      return CLARKE_OK;
  }
  *why = o->gradient == NULL || (weight && o->x == NULL) ? "what its gradient is made of was not recorded" : NULL;
  return CLARKE_OK;
}

clarke_status
clarke_sum_of_reader(clarke_sum_operands *o, const char **why, size_t value, const clarke_step *s, clarke_error *err)
{
  return (o->c->g->values[value].constant ? find_of_constant : find_of_input)(o, why, value, s, err);
}

/* A parameter's gradient is its constant's, where there is one, in the same order, or a transposed convolution's. */
static size_t
constant_of(const clarke_graph *g, const char *name)
{
  const clarke_step *reader;
  size_t found = CLARKE_NONE, n = 0;

  for (size_t v = 0; v < g->n_values; v++)
    if (clarke_sum_is_parameter(g, v, name)) {
      found = v;
      n++;
    }
  reader = n == 1 ? clarke_sum_only_reader(g, found) : NULL;
  return n == 1 && (g->values[found].origin == NULL || (reader != NULL && is_turned(reader))) ? found : CLARKE_NONE;
}

/* The type of a recorded output; else one that no terms are rounded to. */
static clarke_dtype
type_of(clarke_certify *c, clarke_part part, const char *name)
{
  const clarke_tensor *t = part == CLARKE_OUTPUT && c->trace != NULL ? clarke_certify_find(c, "output", name) : NULL;

  return t != NULL ? t->dtype : CLARKE_I64;
}

clarke_status
clarke_sum_operands_find(clarke_sum_operands *o, const char **why, clarke_certify *c, clarke_part part, const char *name,
                         clarke_error *err)
{
  const size_t v = part == CLARKE_PARAMETER ? constant_of(c->g, name) : value_named(c->g, name);
  const clarke_step *reader = v != CLARKE_NONE && part != CLARKE_OUTPUT ? clarke_sum_only_reader(c->g, v) : NULL;
  clarke_status status = CLARKE_OK;

  memset(o, 0, sizeof *o);
  o->c = c;
  o->divisor = o->alpha = o->beta = 1;
  o->type = type_of(c, part, name);
  *why = "it is no sum of products of the graph";
  if (part == CLARKE_INDICES || (v == CLARKE_NONE && part != CLARKE_PARAMETER))
    return CLARKE_OK;
  if (part == CLARKE_OUTPUT)
    status = find_product(o, why, v, err);
  else if (reader != NULL)
    status = clarke_sum_of_reader(o, why, v, reader, err);
  else
    status = clarke_sum_parts_find(o, why, v, part == CLARKE_PARAMETER ? name : NULL, err);
  return status;
}
