#include "op/lower.h"
#include "base/limit.h"
#include "base/room.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

clarke_status
clarke_lower_fail(const clarke_lowering *low, clarke_error *err, const char *format, ...)
{
  char text[512];
  va_list args;

  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return clarke_fail(err, CLARKE_EINPUT, "%s: node %zu '%s' (%s%s%s): %s", low->graph->file, low->place, low->node->name,
                     low->of != NULL ? low->of : "", low->of != NULL ? ", its " : "", low->node->op_type, text);
}

clarke_status
clarke_lower_no_memory(const clarke_lowering *low, clarke_error *err)
{
  return clarke_fail(err, CLARKE_ENOMEM, "%s: out of memory", low->graph->file);
}

bool
clarke_lower_has(const clarke_lowering *low, size_t i)
{
  return i < low->n_in && low->in[i] != CLARKE_NONE;
}

const clarke_value *
clarke_lower_value(const clarke_lowering *low, size_t i)
{
  return &low->graph->values[low->in[i]];
}

clarke_status
clarke_lower_activation(const clarke_lowering *low, size_t i, clarke_error *err)
{
  if (!clarke_lower_has(low, i) || clarke_lower_value(low, i)->constant)
    return clarke_lower_fail(low, err, "input %zu must be an activation, not a constant. torch.onnx.export(dynamo=True) folds constants; what "
                                       "is computed of parameters alone is in a recorded step (clarke.record)", i);
  return CLARKE_OK;
}

clarke_status
clarke_lower_constant(const clarke_lowering *low, size_t i, clarke_error *err)
{
  if (!clarke_lower_has(low, i))
    return clarke_lower_fail(low, err, "input %zu is missing", i);
  if (!clarke_lower_value(low, i)->constant)
    return clarke_lower_fail(low, err, "input %zu must be a constant, and is an activation", i);
  if (clarke_lower_value(low, i)->real == NULL)
    return clarke_lower_fail(low, err, "input %zu must hold floats", i);
  if (clarke_lower_value(low, i)->odd)
    return clarke_lower_fail(low, err, "input %zu holds an infinite number or NaN", i);
  return CLARKE_OK;
}

clarke_status
clarke_lower_integers(const clarke_lowering *low, size_t i, const int64_t **list, size_t *n,
                      clarke_error *err)
{
  const clarke_value *v;

  if (!clarke_lower_has(low, i))
    return clarke_lower_fail(low, err, "input %zu is missing", i);
  v = clarke_lower_value(low, i);
  if (!v->constant || v->integer == NULL)
    return clarke_lower_fail(low, err, "input %zu must be a constant of integers", i);
  *list = v->integer;
  *n = v->count;
  return CLARKE_OK;
}

/* A new parameter of an initializer's entries, which are `like` those of its value; *at: its place. */
static clarke_status
add_parameter(clarke_lowering *low, const char *name, const clarke_parameter *like, bool statistic, size_t *at, clarke_error *err)
{
  clarke_graph *g = low->graph;
  clarke_parameter *grown = realloc(g->parameters, (g->n_parameters + 1) * sizeof *grown);

  if (grown == NULL)
    return clarke_lower_no_memory(low, err);
  g->parameters = grown;
  *at = g->n_parameters++;
  grown[*at] = *like;
  grown[*at].uses = 0;
  grown[*at].statistic = statistic;
  grown[*at].name = strdup(name);
  return grown[*at].name != NULL ? CLARKE_OK : clarke_lower_no_memory(low, err);
}

/* The parameter of that name, a weight or a statistic; CLARKE_NONE. */
static size_t
find_parameter(const clarke_graph *g, const char *name, bool statistic)
{
  size_t i = 0;

  while (i < g->n_parameters && (g->parameters[i].statistic != statistic || strcmp(g->parameters[i].name, name) != 0))
    i++;
  return i < g->n_parameters ? i : CLARKE_NONE;
}

clarke_status
clarke_lower_parameter(clarke_lowering *low, size_t value, clarke_error *err)
{
  clarke_value *v = &low->graph->values[value];
  clarke_parameter like = {.rank = v->rank, .count = v->count, .real = v->real};

  v->parameter = find_parameter(low->graph, v->name, false);
  if (v->parameter != CLARKE_NONE)
    return CLARKE_OK;
  memcpy(like.dims, v->dims, sizeof like.dims);
  return add_parameter(low, v->name, &like, false, &v->parameter, err);
}

/* Where it was rearranged from. */
static clarke_value *
root_of(clarke_graph *g, size_t value)
{
  while (g->values[value].made_of != CLARKE_NONE)
    value = g->values[value].made_of;
  return &g->values[value];
}

/* A step more reads the constant: as a parameter, if it is an initializer. */
clarke_status
clarke_lower_read(clarke_lowering *low, size_t value, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  clarke_value *v = &low->graph->values[value];

  root_of(low->graph, value)->weight = !v->initializer && v->parameter == CLARKE_NONE;
  if (v->initializer && v->parameter == CLARKE_NONE)
    status = clarke_lower_parameter(low, value, err);
  if (status == CLARKE_OK && v->parameter != CLARKE_NONE)
    low->graph->parameters[v->parameter].uses++;
  return status;
}

clarke_status
clarke_lower_weight(clarke_lowering *low, size_t i, clarke_error *err)
{
  const clarke_status status = clarke_lower_constant(low, i, err);

  return status == CLARKE_OK ? clarke_lower_read(low, low->in[i], err) : status;
}

/* The initializer may be a weight elsewhere: the statistic is a value and a parameter of its own. */
clarke_status
clarke_lower_statistic(clarke_lowering *low, size_t i, clarke_error *err)
{
  clarke_graph *g = low->graph;
  clarke_status status = clarke_lower_constant(low, i, err);
  size_t dims[CLARKE_MAX_RANK], weight, own;

  if (status != CLARKE_OK || (!clarke_lower_value(low, i)->initializer && clarke_lower_value(low, i)->parameter == CLARKE_NONE))
    return status;
  memcpy(dims, clarke_lower_value(low, i)->dims, sizeof dims);
  status = clarke_lower_rearranged_constant(low, i, clarke_lower_value(low, i)->rank, dims, NULL, &low->in[i], err);
  if (status != CLARKE_OK)
    return status;
  weight = clarke_lower_value(low, i)->parameter;
  own = find_parameter(g, g->parameters[weight].name, true);
  if (own == CLARKE_NONE) {
    const clarke_parameter like = g->parameters[weight];

    status = add_parameter(low, like.name, &like, true, &own, err);
  }
  if (status != CLARKE_OK)
    return status;
  g->parameters[own].uses++;
  g->values[low->in[i]].parameter = own;
  g->values[low->in[i]].made_of = CLARKE_NONE;
  g->values[low->in[i]].name = strdup(g->parameters[own].name);
  return g->values[low->in[i]].name != NULL ? CLARKE_OK : clarke_lower_no_memory(low, err);
}

int64_t
clarke_lower_int(const clarke_lowering *low, const char *name, int64_t absent)
{
  const clarke_attr *a = clarke_model_attr(low->node, name);

  return a != NULL && a->type == CLARKE_ATTR_INT ? a->i : absent;
}

double
clarke_lower_float(const clarke_lowering *low, const char *name, double absent)
{
  const clarke_attr *a = clarke_model_attr(low->node, name);

  return a != NULL && a->type == CLARKE_ATTR_FLOAT ? a->f : absent;
}

static bool
set_shape(clarke_value *v, size_t rank, const size_t *dims)
{
  v->rank = rank;
  v->count = 1;
  for (size_t i = 0; i < rank; i++) {
    v->dims[i] = dims[i];
    if (dims[i] != 0 && v->count > CLARKE_MAX_ENTRIES / dims[i])
      return false;
    v->count *= dims[i];
  }
  return true;
}

/* Whoever still points to a value is found by the address sanitizer. */
static bool
move(clarke_graph *g)
{
#ifdef CLARKE_VERIFY
  clarke_value *moved = malloc(g->capacity_values * sizeof *moved);

  if (moved == NULL)
    return false;
  memcpy(moved, g->values, g->n_values * sizeof *moved);
  free(g->values);
  g->values = moved;
#else
  (void)g;
#endif
  return true;
}

/* The shape is taken first: dims may be a value's, and values move when one is added. In builds with -Dverify=true they always do. */
static clarke_value *
new_value(clarke_graph *g, bool *fits, size_t rank, const size_t *dims)
{
  clarke_value v = {.producer = CLARKE_NONE, .parameter = CLARKE_NONE, .made_of = CLARKE_NONE};

  *fits = set_shape(&v, rank, dims);
  if (!clarke_room(&g->values, &g->capacity_values, g->n_values + 1, sizeof *g->values) || !move(g))
    return NULL;
  g->values[g->n_values] = v;
  return &g->values[g->n_values++];
}

bool
clarke_lower_affordable(const clarke_graph *g, size_t count)
{
  const size_t most = clarke_limit_of(CLARKE_LIMIT_ENTRIES);

  return g->activations <= most && count <= (most - g->activations) / (g->samples != 0 ? g->samples : 1);
}

clarke_status
clarke_lower_too_large(const clarke_lowering *low, clarke_error *err)
{
  return clarke_limit_fail(err, CLARKE_LIMIT_ENTRIES, "%s: node %zu '%s' (%s): with this output the activations of %zu "
                           "samples, with index maps, would have more entries than allowed", low->graph->file, low->place,
                           low->node->name, low->node->op_type, low->graph->samples);
}

static void
pieces_init(clarke_pieces *p)
{
  for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
    mpq_init(p->kink[k]);
  for (size_t i = 0; i <= CLARKE_MAX_KINKS; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_init(p->coef[i][c]);
  p->slope = CLARKE_NONE;
}

char *
clarke_lower_name(const clarke_lowering *low)
{
  char made[128];

  if (low->node->name[0] != '\0')
    return strdup(low->node->name);
  snprintf(made, sizeof made, "%.80s_%zu", low->node->op_type, low->place);
  return strdup(made);
}

clarke_step *
clarke_lower_step(clarke_lowering *low, clarke_step_kind kind, size_t n_in, size_t rank,
                  const size_t *dims, clarke_error *err)
{
  clarke_graph *g = low->graph;
  clarke_step *s = NULL;
  clarke_value *v = NULL;
  bool fits = false;

  if (clarke_room(&g->steps, &g->capacity_steps, g->n_steps + 1, sizeof *g->steps))
    v = new_value(g, &fits, rank, dims);
  if (v == NULL) {
    clarke_lower_no_memory(low, err);
    return NULL;
  }
  v->producer = g->n_steps;
  if (!fits || !clarke_lower_affordable(g, v->count)) {
    clarke_lower_too_large(low, err);
    return NULL;
  }
  if (v->count == 0) {
    clarke_lower_fail(low, err, "the output would have no entries");
    return NULL;
  }
  g->activations += v->count * g->samples;
  s = &g->steps[g->n_steps++];
  memset(s, 0, sizeof *s);
  s->kind = kind;
  s->op = low->op;
  s->node = low->place;
  s->out = g->n_values - 1;
  if (kind == CLARKE_PIECEWISE)
    pieces_init(&s->pieces);
  if (kind == CLARKE_NORMALIZE)
    mpq_init(s->epsilon);
  s->name = clarke_lower_name(low);
  s->in = calloc(n_in, sizeof *s->in);
  if (s->name == NULL || s->in == NULL) {
    clarke_lower_no_memory(low, err);
    return NULL;
  }
  s->n_in = n_in;
  for (size_t i = 0; i < n_in; i++) {
    s->in[i].value = low->in[i < low->n_in ? i : 0];
    s->in[i].coef = 1;
  }
  return s;
}

clarke_step *
clarke_lower_step_like(clarke_lowering *low, clarke_step_kind kind, size_t n_in, size_t value, clarke_error *err)
{
  const clarke_value *v = &low->graph->values[value];
  clarke_step *s = clarke_lower_step(low, kind, n_in, v->rank, v->dims, err);

  if (s != NULL)
    s->in[0].value = value;
  return s;
}

clarke_status
clarke_lower_made(clarke_lowering *low, size_t rank, const size_t *dims, size_t *value,
                  clarke_error *err)
{
  bool fits;
  clarke_value *v = new_value(low->graph, &fits, rank, dims);

  if (v == NULL)
    return clarke_lower_no_memory(low, err);
  v->constant = v->made = true;
  if (!fits || v->count > CLARKE_MAX_MAP)
    return clarke_lower_fail(low, err, "a constant of over %zu entries", CLARKE_MAX_MAP);
  v->name = clarke_lower_name(low);
  v->real = calloc(v->count + 1, sizeof *v->real);
  *value = low->graph->n_values - 1;
  return v->name != NULL && v->real != NULL ? CLARKE_OK : clarke_lower_no_memory(low, err);
}

size_t *
clarke_lower_map(clarke_lowering *low, clarke_step *s, size_t i, size_t n, clarke_error *err)
{
  clarke_graph *g = low->graph;

  if (n > CLARKE_MAX_MAP) {
    clarke_lower_fail(low, err, "an index map of %zu entries; at most %zu are taken", n,
                      CLARKE_MAX_MAP);
    return NULL;
  }
  if (n > clarke_limit_of(CLARKE_LIMIT_ENTRIES) - g->activations) {
    clarke_lower_too_large(low, err);
    return NULL;
  }
  g->activations += n;
  free(s->in[i].map);
  s->in[i].map = malloc((n + 1) * sizeof *s->in[i].map);
  if (s->in[i].map == NULL)
    clarke_lower_no_memory(low, err);
  return s->in[i].map;
}

clarke_status
clarke_lower_periodic(clarke_lowering *low, clarke_step *s, size_t i, size_t repeat, size_t period,
                      clarke_error *err)
{
  size_t count = low->graph->values[s->out].count;
  size_t *map;

  if (repeat == 1 && period == count)
    return CLARKE_OK;
  map = clarke_lower_map(low, s, i, count, err);
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t f = 0; f < count; f++)
    map[f] = f / repeat % period;
  return CLARKE_OK;
}

clarke_status
clarke_lower_output(clarke_lowering *low, size_t k, size_t value, clarke_error *err)
{
  clarke_value *v = &low->graph->values[value];

  low->out[k] = value;
  free(v->name);
  v->name = strdup(low->node->out[k]);
  return v->name != NULL ? CLARKE_OK : clarke_lower_no_memory(low, err);
}

clarke_status
clarke_lower_done(clarke_lowering *low, size_t value, clarke_error *err)
{
  clarke_value *v = &low->graph->values[value];

  free(v->name);
  v->name = strdup(low->node->out[0]);
  return v->name != NULL ? CLARKE_OK : clarke_lower_no_memory(low, err);
}

clarke_status
clarke_lower_done_signed(clarke_lowering *low, size_t value, bool negated, clarke_error *err)
{
  clarke_step *s;

  if (!negated)
    return clarke_lower_done(low, value, err);
  s = clarke_lower_step_like(low, CLARKE_SUM, 1, value, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[0].coef = -1;
  low->graph->values[s->out].batch = low->graph->values[value].batch;
  return clarke_lower_done(low, s->out, err);
}

clarke_status
clarke_lower_rearranged_constant(clarke_lowering *low, size_t i, size_t rank, const size_t *dims, size_t *map, size_t *value,
                                 clarke_error *err)
{
  clarke_graph *g = low->graph;
  clarke_value *v = NULL;
  const clarke_value *x;
  bool fits = false;
  clarke_status status = CLARKE_OK;

  if (clarke_lower_value(low, i)->initializer && clarke_lower_value(low, i)->real != NULL &&
      clarke_lower_value(low, i)->parameter == CLARKE_NONE)
    status = clarke_lower_parameter(low, low->in[i], err);
  if (status == CLARKE_OK)
    v = new_value(g, &fits, rank, dims);
  if (v == NULL) {
    free(map);
    return status != CLARKE_OK ? status : clarke_lower_no_memory(low, err);
  }
  x = clarke_lower_value(low, i);
  v->constant = true;
  v->parameter = x->parameter;
  v->made_of = low->in[i];
  v->negated = x->negated;
  v->dtype = x->dtype;
  if (!fits || (map == NULL && v->count != x->count)) {
    free(map);
    return clarke_lower_fail(low, err, "the shapes do not fit");
  }
  v->origin = malloc((v->count + 1) * sizeof *v->origin);
  if (x->real != NULL)
    v->real = malloc((v->count + 1) * sizeof *v->real);
  else
    v->integer = malloc((v->count + 1) * sizeof *v->integer);
  if (v->origin == NULL || (v->real == NULL && v->integer == NULL)) {
    free(map);
    return clarke_lower_no_memory(low, err);
  }
  for (size_t e = 0; e < v->count; e++) {
    size_t from = map != NULL ? map[e] : e;

    if (v->real != NULL)
      v->real[e] = x->real[from];
    else
      v->integer[e] = x->integer[from];
    v->origin[e] = x->origin != NULL ? x->origin[from] : from;
    v->odd = v->odd || (v->real != NULL && !isfinite(v->real[e]));
  }
  free(map);
  *value = g->n_values - 1;
  return CLARKE_OK;
}
