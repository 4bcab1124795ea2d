/* Layers as the papers have them, read off the graph: Condition 1's f_l, u_l and b_l. */
#include "audit/layers.h"

#include "audit/tie_counts.h"
#include "network/derive/reverse.h"

#include <stdlib.h>
#include <string.h>

/* Does the map, which has no holes, send every feature to an entry of its own? */
static bool
injective(const size_t *map, size_t n, size_t entries)
{
  bool *seen, distinct = true;

  if (map == NULL)
    return true;
  seen = calloc(entries + 1, sizeof *seen);
  if (seen == NULL)
    return false;
  for (size_t f = 0; f < n; f++) {
    distinct = distinct && !seen[map[f]];
    seen[map[f]] = true;
  }
  free(seen);
  return distinct;
}

static size_t
weight_of(const clarke_step *s)
{
  return s->kind == CLARKE_DENSE                  ? s->dense.weight
         : s->kind == CLARKE_SCALE && !s->divide ? s->in[1].value
                                                  : CLARKE_NONE;
}

/* Has every neuron a bias? */
static bool
covers(const size_t *map, size_t n)
{
  for (size_t f = 0; map != NULL && f < n; f++)
    if (map[f] == CLARKE_NONE)
      return false;
  return true;
}

/* The step that makes a value out of another and a wrt weight of its own, linear in it: DENSE, or
 * SCALE (BatchNormalization's scale). CLARKE_NONE when there is none. */
static size_t
linear_before(const clarke_graph *g, size_t value)
{
  size_t step = g->values[value].producer;

  return step != CLARKE_NONE && weight_of(&g->steps[step]) != CLARKE_NONE &&
             clarke_value_is_wrt(g, weight_of(&g->steps[step]))
           ? step
           : CLARKE_NONE;
}

static void
set_linear(clarke_layer *layer, const clarke_graph *g, size_t step)
{
  const clarke_step *s = &g->steps[step];

  layer->dense = step;
  layer->weight = g->values[weight_of(s)].parameter;
  layer->fully_connected = s->kind == CLARKE_DENSE && s->dense.blocks == 1 &&
                           s->dense.repeat == 1 && g->parameters[layer->weight].uses == 1;
}

static void
set_bias(clarke_layer *layer, const clarke_graph *g, const clarke_operand *o)
{
  const clarke_value *v = &g->values[o->value];

  layer->bias = v->parameter;
  layer->bias_coef = o->coef;
  layer->bias_covers = g->parameters[v->parameter].uses == 1 && covers(o->map, layer->neurons);
  layer->bias_distinct = layer->bias_covers && injective(o->map, layer->neurons, v->count);
}

/* The sum just before the kinks: W z, a bias, and perhaps other things. */
static void
read_sum(clarke_layer *layer, const clarke_graph *g, const clarke_step *sum)
{
  size_t activations = 0;

  layer->plain_sum = true;
  for (size_t i = 0; i < sum->n_in; i++) {
    const clarke_operand *o = &sum->in[i];

    if (o->coef == 0) { /* alpha or beta of a Gemm: a weight that moves nothing */
      layer->plain_sum = false;
      continue;
    }
    if (!g->values[o->value].constant) {
      size_t dense = o->coef != 0 ? linear_before(g, o->value) : CLARKE_NONE;

      if (dense != CLARKE_NONE && o->map == NULL && activations == 0)
        set_linear(layer, g, dense);
      layer->plain_sum = layer->plain_sum && dense != CLARKE_NONE && o->map == NULL;
      activations++;
    } else if (clarke_value_is_wrt(g, o->value) && layer->bias == CLARKE_NONE)
      set_bias(layer, g, o);
    else
      layer->plain_sum = false;
  }
  layer->plain_sum = layer->plain_sum && activations == 1;
  layer->fully_connected = layer->fully_connected && layer->plain_sum;
}

/* What the layers so far have told: walks go back from a layer's arguments, and two that meet a value are enough. A network that is
 * unrolled has many layers, and each value is walked through a few times. */
typedef struct {
  const clarke_graph *g;
  size_t *stack, n;    /* values whose producers are to be walked through */
  size_t walk;         /* which walk it is */
  size_t *met;         /* by value: the last walk that met it */
  size_t *of;          /* by parameter, the same */
  unsigned char *seen; /* by value: so many layers' arguments are made of it; 2: or more */
  size_t *first;       /* by parameter: the first layer whose arguments it moves, by its step; CLARKE_NONE */
  bool *again;         /* by parameter: does it move another one's, too? */
  size_t *kinked;      /* by value: the steps whose kinks have it as their argument */
} reading;

static clarke_status
begin_reading(reading *r, const clarke_graph *g, clarke_error *err)
{
  const size_t n = g->n_values + 1, p = g->n_parameters + 1;

  *r = (reading){.g = g, .stack = calloc(n, sizeof *r->stack), .met = calloc(n, sizeof *r->met), .of = calloc(p, sizeof *r->of),
                 .seen = calloc(n, 1), .first = malloc(p * sizeof *r->first), .again = calloc(p, sizeof *r->again),
                 .kinked = calloc(n, sizeof *r->kinked)};
  if (r->stack == NULL || r->met == NULL || r->of == NULL || r->seen == NULL || r->first == NULL || r->again == NULL || r->kinked == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < p; i++)
    r->first[i] = CLARKE_NONE;
  for (size_t i = 0; i < g->n_steps; i++)
    if (clarke_step_has_kinks(&g->steps[i]))
      r->kinked[g->steps[i].in[0].value]++;
  return CLARKE_OK;
}

static void
end_reading(reading *r)
{
  free(r->stack);
  free(r->met);
  free(r->of);
  free(r->seen);
  free(r->first);
  free(r->again);
  free(r->kinked);
}

/* A walk to the nearest nonlinear functions meets it: it is the layer's own. Does it move the arguments of a layer before it, other
 * than the one that it is one with? */
static void
own_parameter(const reading *r, clarke_layer *layer, size_t p, size_t inner)
{
  layer->variables += r->g->parameters[p].count;
  layer->disturbs = layer->disturbs || r->again[p] || (r->first[p] != CLARKE_NONE && r->first[p] != inner);
}

/* A walk all the way meets it: it moves the arguments of the layer at this step. */
static void
moving_parameter(reading *r, size_t p, size_t step)
{
  if (r->first[p] == CLARKE_NONE)
    r->first[p] = step;
  else
    r->again[p] = true;
}

static void
meet_value(reading *r, size_t value, bool own)
{
  if (r->met[value] == r->walk || (!own && r->seen[value] == 2))
    return;
  r->met[value] = r->walk;
  r->seen[value] += !own;
  r->stack[r->n++] = value;
}

static void
meet_parameter(reading *r, clarke_layer *layer, size_t value, size_t inner, bool own)
{
  const size_t p = clarke_value_is_wrt(r->g, value) ? r->g->values[value].parameter : CLARKE_NONE;

  if (p == CLARKE_NONE || r->of[p] == r->walk)
    return;
  r->of[p] = r->walk;
  if (own)
    own_parameter(r, layer, p, inner);
  else
    moving_parameter(r, p, layer->step);
}

/* Goes back from the argument of the layer's kinks, all the way, or to the nearest nonlinear functions (`own`). */
static void
walk_back(reading *r, clarke_layer *layer, bool own)
{
  const clarke_graph *g = r->g;
  const size_t inner = clarke_graph_inner(g, layer->step);

  r->walk++;
  meet_value(r, g->steps[layer->step].in[0].value, own);
  while (r->n > 0) {
    const size_t step = g->values[r->stack[--r->n]].producer;
    const clarke_step *s = step != CLARKE_NONE ? &g->steps[step] : NULL;

    if (s == NULL || (own && step != inner && clarke_step_ends_layer(s)))
      continue;
    for (size_t k = 0; k < s->n_in; k++) {
      meet_value(r, s->in[k].value, own);
      meet_parameter(r, layer, s->in[k].value, inner, own);
    }
    if (s->kind == CLARKE_DENSE)
      meet_parameter(r, layer, s->dense.weight, inner, own);
  }
}

static void
read_layer(clarke_layer *layer, reading *r, const clarke_question *q, size_t step)
{
  const clarke_graph *g = q->g;
  size_t input = g->steps[step].in[0].value, producer = g->values[input].producer;

  memset(layer, 0, sizeof *layer);
  layer->step = step;
  layer->neurons = g->values[g->steps[step].out].count;
  clarke_layer_count_ties(layer, q);
  layer->weight = layer->dense = layer->bias = CLARKE_NONE;
  layer->pool = CLARKE_NONE;
  layer->feasible = CLARKE_UNKNOWN;
  layer->columns = q->replay->samples;
  if (g->steps[step].kind == CLARKE_MAX)
    ; /* no bias of its own, no weight */
  else if (producer != CLARKE_NONE && g->steps[producer].kind == CLARKE_SUM)
    read_sum(layer, g, &g->steps[producer]);
  else if (linear_before(g, input) != CLARKE_NONE) {
    set_linear(layer, g, producer);
    layer->plain_sum = true;
  }
  layer->alone = r->kinked[input] == (size_t)clarke_step_has_kinks(&g->steps[step]);
  layer->bias_covers = layer->bias_covers && layer->alone;
  layer->bias_distinct = layer->bias_distinct && layer->alone;
  layer->fully_connected = layer->fully_connected && layer->alone;
  for (size_t k = 0; k < q->replay->n_touches; k++)
    layer->touched += q->replay->touch[k].step == step;
  walk_back(r, layer, true);
  walk_back(r, layer, false);
}

/* Has the step's function a kink at all? A Clip without bounds, an Elu or a LeakyRelu with alpha 1 have none; nor has a PRelu whose
 * slopes are 1 and stay so. */
static bool
bends(const clarke_graph *g, const clarke_step *s)
{
  const size_t slope = s->kind == CLARKE_PIECEWISE ? s->pieces.slope : CLARKE_NONE;
  bool straight = slope != CLARKE_NONE && !clarke_value_is_wrt(g, slope);

  if (s->kind != CLARKE_PIECEWISE)
    return clarke_step_has_kinks(s);
  for (size_t e = 0; straight && e < g->values[slope].count; e++)
    straight = g->values[slope].real[e] == 1;
  return s->pieces.n_kinks > 0 && !straight;
}

clarke_status
clarke_layers_read(clarke_audit *a, const clarke_question *q, clarke_error *err)
{
  const clarke_graph *g = q->g;
  reading r;
  clarke_status status = begin_reading(&r, g, err);

  a->layer = calloc(g->n_steps + 1, sizeof *a->layer);
  if (a->layer == NULL && status == CLARKE_OK)
    status = clarke_no_memory(err);
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++)
    if (bends(g, &g->steps[i]))
      read_layer(&a->layer[a->n_layers++], &r, q, i);
  end_reading(&r);
  return status;
}

clarke_status
clarke_graph_is_piecewise(bool *piecewise, const clarke_graph *g, clarke_error *err)
{
  bool *carries = malloc(g->n_values + 1);

  *piecewise = false;
  if (carries == NULL)
    return clarke_no_memory(err);
  clarke_reverse_carriers(carries, g, CLARKE_NONE);
  *piecewise = true;
  for (size_t i = 0; i < g->n_steps && *piecewise; i++)
    *piecewise = !carries[g->steps[i].out] ||
          (g->steps[i].kind != CLARKE_ANALYTIC && g->steps[i].kind != CLARKE_SOFTMAX &&
           g->steps[i].kind != CLARKE_NORMALIZE);
  free(carries);
  return CLARKE_OK;
}
