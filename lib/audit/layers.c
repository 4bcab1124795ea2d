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

/* Marks the wrt parameters that the argument of the step's kinks is made of: all, or those met before the nearest
 * nonlinear functions (the layer's own). false: no memory. */
static bool
mark_parameters(bool *parameter, const clarke_graph *g, size_t step, bool own)
{
  size_t inner = clarke_graph_inner(g, step);
  bool *value = calloc(g->n_values + 1, sizeof *value);

  if (value == NULL)
    return false;
  value[g->steps[step].in[0].value] = true;
  for (size_t i = g->n_steps; i-- > 0;) {
    const clarke_step *s = &g->steps[i];

    if (!value[s->out] || (own && i != inner && clarke_step_ends_layer(s)))
      continue;
    for (size_t k = 0; k < s->n_in; k++) {
      value[s->in[k].value] = true;
      if (clarke_value_is_wrt(g, s->in[k].value))
        parameter[g->values[s->in[k].value].parameter] = true;
    }
    if (s->kind == CLARKE_DENSE && clarke_value_is_wrt(g, s->dense.weight))
      parameter[g->values[s->dense.weight].parameter] = true;
  }
  free(value);
  return true;
}

/* The layer's own wrt entries; and whether one of them moves the arguments of a layer before it (other than the one that it
 * is one with). moves[p]: how many of the layers before it have arguments that wrt parameter p moves; this one is added. */
static clarke_status
read_parameters(clarke_layer *layer, size_t *moves, const clarke_graph *g, clarke_error *err)
{
  const size_t n = g->n_parameters, inner = clarke_graph_inner(g, layer->step);
  bool *own = calloc(n + 1, sizeof *own), *all = calloc(n + 1, sizeof *all), *within = calloc(n + 1, sizeof *within);
  bool known = own != NULL && all != NULL && within != NULL && mark_parameters(own, g, layer->step, true)
               && mark_parameters(all, g, layer->step, false)
               && (inner == CLARKE_NONE || mark_parameters(within, g, inner, false));

  for (size_t p = 0; p < n && known; p++) {
    layer->variables += own[p] ? g->parameters[p].count : 0;
    layer->disturbs = layer->disturbs || (own[p] && moves[p] > (size_t)within[p]);
    moves[p] += all[p];
  }
  free(own);
  free(all);
  free(within);
  return known ? CLARKE_OK : clarke_no_memory(err);
}

/* Have the step's kinks their argument for themselves? */
static bool
is_alone(const clarke_graph *g, size_t step)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (i != step && clarke_step_has_kinks(&g->steps[i]) &&
        g->steps[i].in[0].value == g->steps[step].in[0].value)
      return false;
  return true;
}

static clarke_status
read_layer(clarke_layer *layer, size_t *moves, const clarke_question *q, size_t step, clarke_error *err)
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
  layer->alone = is_alone(g, step);
  layer->bias_covers = layer->bias_covers && layer->alone;
  layer->bias_distinct = layer->bias_distinct && layer->alone;
  layer->fully_connected = layer->fully_connected && layer->alone;
  for (size_t k = 0; k < q->replay->n_touches; k++)
    layer->touched += q->replay->touch[k].step == step;
  return read_parameters(layer, moves, g, err);
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
  size_t *moves = calloc(g->n_parameters + 1, sizeof *moves);
  clarke_status status = CLARKE_OK;

  a->layer = calloc(g->n_steps + 1, sizeof *a->layer);
  if (a->layer == NULL || moves == NULL)
    status = clarke_no_memory(err);
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++)
    if (bends(g, &g->steps[i]))
      status = read_layer(&a->layer[a->n_layers++], moves, q, i, err);
  free(moves);
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
