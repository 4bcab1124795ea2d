/* Sign, Floor, Ceil, Round, and Mod by constants; comparisons, logic and Where of activations. */
#include "op/jump.h"
#include "op/axes.h"
#include "op/broadcast.h"
#include "op/integers.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/quotient.h"
#include "op/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Activations of one shape, that which a node's inputs broadcast to. */
typedef struct {
  size_t rank, dims[CLARKE_MAX_WHOLE], value[3];
  clarke_batch_axis batch;
} spread;

static clarke_status
failed(const clarke_error *err)
{
  return err != NULL ? err->code : CLARKE_ENOMEM;
}

/* A constant of integers or truth values becomes one of the same numbers. */
static clarke_status
make_numbers(clarke_lowering *low, size_t i, clarke_error *err)
{
  const clarke_value *x = clarke_lower_value(low, i);
  size_t dims[CLARKE_MAX_RANK], value;
  clarke_status status;

  if (!x->constant || x->integer == NULL)
    return CLARKE_OK;
  if (!clarke_lower_affordable(low->graph, x->count))
    return clarke_lower_too_large(low, err);
  memcpy(dims, x->dims, sizeof dims);
  status = clarke_lower_made(low, x->rank, dims, &value, err);
  x = clarke_lower_value(low, i);
  for (size_t e = 0; status == CLARKE_OK && e < x->count; e++) {
    if (x->integer[e] > 1LL << 53 || x->integer[e] < -(1LL << 53))
      return clarke_lower_fail(low, err, "input %zu has an integer beyond 2^53", i);
    low->graph->values[value].real[e] = (double)x->integer[e];
  }
  low->in[i] = value;
  return status;
}

/* Input i, where the map takes its entries from, as an activation of the shape. */
static clarke_status
spread_input(clarke_lowering *low, spread *all, size_t i, size_t *map, clarke_error *err)
{
  clarke_step *s;

  if (clarke_lower_value(low, i)->constant)
    return clarke_lower_lifted(low, i, all->rank, all->dims, map, &all->value[i], err);
  all->value[i] = low->in[i];
  if (map == NULL)
    return CLARKE_OK;
  s = clarke_lower_step(low, CLARKE_GATHER, 1, all->rank, all->dims, err);
  if (s == NULL) {
    free(map);
    return failed(err);
  }
  s->in[0].value = low->in[i];
  s->in[0].map = map;
  all->value[i] = s->out;
  return CLARKE_OK;
}

static clarke_status
spread_inputs(clarke_lowering *low, spread *all, clarke_error *err)
{
  size_t *map[3];
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < low->n_in && status == CLARKE_OK; i++) {
    if (!clarke_lower_has(low, i))
      return clarke_lower_fail(low, err, "input %zu is missing", i);
    status = make_numbers(low, i, err);
    if (status == CLARKE_OK && clarke_lower_value(low, i)->constant)
      status = clarke_lower_constant(low, i, err);
  }
  if (status == CLARKE_OK)
    status = clarke_lower_lift(low, err);
  if (status == CLARKE_OK)
    status = clarke_lower_broadcast_all(low, low->n_in, &all->rank, all->dims, map, &all->batch, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < low->n_in; i++)
    if (status == CLARKE_OK)
      status = spread_input(low, all, i, map[i], err);
    else
      free(map[i]);
  return status;
}

/* number + a x + b y, of values of the shape, y perhaps none; CLARKE_NONE when it fails. */
static size_t
add_sum(clarke_lowering *low, const spread *all, double number, double a, size_t x, double b, size_t y, clarke_error *err)
{
  const size_t n = y != CLARKE_NONE ? 2 : 1, one = 1;
  size_t constant = CLARKE_NONE;
  clarke_step *s;

  if (number != 0) {
    if (clarke_lower_made(low, 1, &one, &constant, err) != CLARKE_OK)
      return CLARKE_NONE;
    low->graph->values[constant].real[0] = number;
  }
  s = clarke_lower_step(low, CLARKE_SUM, n + (number != 0), all->rank, all->dims, err);
  if (s == NULL)
    return CLARKE_NONE;
  s->in[0] = (clarke_operand){.value = x, .coef = a};
  if (n > 1)
    s->in[1] = (clarke_operand){.value = y, .coef = b};
  if (number == 0)
    return s->out;
  s->in[n].value = constant;
  return clarke_lower_periodic(low, s, n, 1, 1, err) == CLARKE_OK ? s->out : CLARKE_NONE;
}

static size_t
add_function(clarke_lowering *low, clarke_function function, size_t x, clarke_error *err)
{
  return x != CLARKE_NONE ? clarke_lower_inside(low, function, x, err) : CLARKE_NONE;
}

static size_t
add_product(clarke_lowering *low, const spread *all, size_t x, size_t y, clarke_error *err)
{
  clarke_step *s;

  if (x == CLARKE_NONE || y == CLARKE_NONE)
    return CLARKE_NONE;
  s = clarke_lower_step(low, CLARKE_PRODUCT, 2, all->rank, all->dims, err);
  if (s == NULL)
    return CLARKE_NONE;
  s->in[0] = (clarke_operand){.value = x, .coef = 1};
  s->in[1] = (clarke_operand){.value = y, .coef = 1};
  s->contraction = (clarke_contraction){low->graph->values[s->out].count, 1, 1, 1};
  return s->out;
}

/* Is x above y? */
static size_t
add_above(clarke_lowering *low, const spread *all, size_t x, size_t y, clarke_error *err)
{
  return add_function(low, CLARKE_ABOVE, add_sum(low, all, 0, 1, x, -1, y, err), err);
}

/* Greater; less, which is that turned; or equal, which is not the other of the two; equal, which is neither. */
static size_t
add_comparison(clarke_lowering *low, const spread *all, const char *op, clarke_error *err)
{
  const bool or_equal = strstr(op, "OrEqual") != NULL, turned = (op[0] == 'L') != or_equal;
  size_t x = add_above(low, all, all->value[turned], all->value[!turned], err), y = CLARKE_NONE;

  if (x != CLARKE_NONE && op[0] == 'E')
    y = add_above(low, all, all->value[1], all->value[0], err);
  if (x == CLARKE_NONE || (op[0] == 'E' && y == CLARKE_NONE))
    return CLARKE_NONE;
  return or_equal || op[0] == 'E' ? add_sum(low, all, 1, -1, x, -1, y, err) : x;
}

static clarke_status
finish(clarke_lowering *low, const clarke_batch_axis *batch, size_t value, clarke_holds holds, clarke_error *err)
{
  if (value == CLARKE_NONE)
    return failed(err);
  low->graph->values[value].batch = *batch;
  low->graph->values[value].holds = holds;
  return clarke_lower_done(low, value, err);
}

/* Which input is a constant of minus infinity alone, the other being an activation without a batch axis; 2: none is so. */
static size_t
find_bottom(const clarke_lowering *low)
{
  for (size_t i = 0; i < 2 && low->n_in == 2 && clarke_lower_has(low, 0) && clarke_lower_has(low, 1); i++) {
    const clarke_value *v = clarke_lower_value(low, i), *x = clarke_lower_value(low, 1 - i);
    bool all = v->constant && v->real != NULL && v->count > 0 && !v->negated && !x->constant && x->holds == CLARKE_HOLDS_FLOATS;

    for (size_t e = 0; e < v->count && all; e++)
      all = v->real[e] == -INFINITY;
    if (all && (!low->graph->batched || x->batch.none))
      return i;
  }
  return 2;
}

/* An activation is a number, which is above minus infinity, or marked as equal to it: a constant. */
static clarke_status
compare_with_bottom(clarke_lowering *low, size_t bottom, clarke_error *err)
{
  const char *op = low->node->op_type;
  const bool holds = op[0] == 'G' ? bottom == 1 : op[0] == 'L' && bottom == 0, equal = strstr(op, "Equal") != NULL;
  const clarke_value *x;
  size_t rank, dims[CLARKE_MAX_WHOLE], count = 1;
  int64_t *out;

  low->graph->values[low->in[bottom]].bound = true; /* a number that is read here */
  if (!clarke_lower_constants_shape(low, &rank, dims))
    return clarke_lower_fail(low, err, "the shapes do not broadcast");
  out = clarke_lower_integers_made(low, CLARKE_BOOL, rank, dims, err);
  for (size_t a = 0; a < rank; a++)
    count *= dims[a];
  x = clarke_lower_value(low, 1 - bottom);
  for (size_t f = 0; out != NULL && f < count; f++)
    out[f] = x->excluded != NULL && x->excluded[clarke_lower_constants_entry(x, rank, dims, f)] ? equal : holds;
  return out != NULL ? CLARKE_OK : failed(err);
}

clarke_status
clarke_lower_truths(clarke_lowering *low, clarke_error *err)
{
  const char *op = low->node->op_type;
  const size_t bottom = strchr("EGL", op[0]) != NULL ? find_bottom(low) : 2;
  spread all = {0};
  clarke_status status = bottom < 2 ? compare_with_bottom(low, bottom, err) : spread_inputs(low, &all, err);
  size_t x = all.value[0], y = all.value[1];

  if (bottom < 2 || status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < low->n_in; i++)
    if (clarke_lower_value(low, i)->excluded != NULL)
      return clarke_lower_fail(low, err, "input %zu has entries that are minus infinity: only with that they are compared", i);
  if (strcmp(op, "Not") == 0)
    x = add_sum(low, &all, 1, -1, x, 0, CLARKE_NONE, err);
  else if (strcmp(op, "And") == 0)
    x = add_product(low, &all, x, y, err);
  else if (strcmp(op, "Or") == 0) { /* unless both are not */
    x = add_sum(low, &all, 1, -1, x, 0, CLARKE_NONE, err);
    y = x != CLARKE_NONE ? add_sum(low, &all, 1, -1, y, 0, CLARKE_NONE, err) : x;
    x = add_product(low, &all, x, y, err);
    x = x != CLARKE_NONE ? add_sum(low, &all, 1, -1, x, 0, CLARKE_NONE, err) : x;
  } else
    x = add_comparison(low, &all, op, err);
  return finish(low, &all.batch, x, CLARKE_HOLDS_TRUTHS, err);
}

clarke_status
clarke_lower_chosen(clarke_lowering *low, clarke_holds holds, clarke_error *err)
{
  spread all = {0};
  clarke_status status = spread_inputs(low, &all, err);
  size_t other, x, y;

  if (status != CLARKE_OK)
    return status;
  other = add_sum(low, &all, 1, -1, all.value[0], 0, CLARKE_NONE, err);
  x = add_product(low, &all, all.value[0], all.value[1], err);
  y = x != CLARKE_NONE ? add_product(low, &all, other, all.value[2], err) : x;
  x = y != CLARKE_NONE ? add_sum(low, &all, 0, 1, x, 1, y, err) : y;
  return finish(low, &all.batch, x, holds, err);
}

clarke_status
clarke_lower_cast_activation(clarke_lowering *low, bool to_truths, clarke_error *err)
{
  const clarke_value *v = clarke_lower_value(low, 0);
  spread all = {.rank = v->rank, .batch = v->batch};
  size_t x = low->in[0], minus;

  memcpy(all.dims, v->dims, v->rank * sizeof *v->dims);
  if (!to_truths) { /* truth values are whole, and stay */
    x = add_function(low, CLARKE_TRUNCATE, x, err);
    if (x != CLARKE_NONE)
      low->graph->values[x].reach = INT32_MAX; /* beyond there is no answer */
    return finish(low, &all.batch, x, CLARKE_HOLDS_INTEGERS, err);
  }
  minus = add_function(low, CLARKE_ABOVE, add_sum(low, &all, 0, -1, x, 0, CLARKE_NONE, err), err);
  x = minus != CLARKE_NONE ? add_function(low, CLARKE_ABOVE, x, err) : minus;
  x = x != CLARKE_NONE ? add_sum(low, &all, 0, 1, x, 1, minus, err) : x;
  return finish(low, &all.batch, x, CLARKE_HOLDS_TRUTHS, err);
}

/* Sign: above 0, less below 0. Ceil: minus the floor of minus. */
static clarke_status
lower_rounded(clarke_lowering *low, clarke_error *err)
{
  const char *op = low->node->op_type;
  clarke_status status = clarke_lower_lift(low, err);
  spread all = {0};
  size_t x, minus = CLARKE_NONE, straight = CLARKE_NONE;

  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 0, err);
  if (status != CLARKE_OK)
    return status;
  if (low->of == NULL && clarke_surrogate_of(low->graph, op) != CLARKE_SURROGATE_NONE) {
    straight = low->in[0];
    low->in[0] = clarke_surrogate_held(low, straight, err);
    if (low->in[0] == CLARKE_NONE)
      return failed(err);
  }
  x = low->in[0];
  all.rank = low->graph->values[x].rank;
  all.batch = low->graph->values[x].batch;
  memcpy(all.dims, low->graph->values[x].dims, all.rank * sizeof *all.dims);
  if (op[0] == 'S' || op[0] == 'C')
    minus = add_sum(low, &all, 0, -1, x, 0, CLARKE_NONE, err);
  if (op[0] == 'S') {
    minus = add_function(low, CLARKE_ABOVE, minus, err);
    x = minus != CLARKE_NONE ? add_function(low, CLARKE_ABOVE, x, err) : minus;
    x = x != CLARKE_NONE ? add_sum(low, &all, 0, 1, x, -1, minus, err) : x;
  } else if (op[0] == 'C') {
    x = add_function(low, CLARKE_FLOOR, minus, err);
    x = x != CLARKE_NONE ? add_sum(low, &all, 0, -1, x, 0, CLARKE_NONE, err) : x;
  } else
    x = add_function(low, op[0] == 'F' ? CLARKE_FLOOR : CLARKE_ROUND, x, err);
  if (straight != CLARKE_NONE && x != CLARKE_NONE) {
    low->graph->values[x].batch = all.batch;
    x = clarke_surrogate_straight(low, straight, x, err);
    low->in[0] = straight;
    return clarke_inner_done(low, 0, x, err);
  }
  return finish(low, &all.batch, x, CLARKE_HOLDS_FLOATS, err);
}

const clarke_op clarke_ops_jump[] = {
  {.name = "Sign", .forms = {{9, 1, 1, 1, NULL}}, .lower = lower_rounded, .batch = CLARKE_BATCH_KEPT},
  {.name = "Floor", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_rounded, .batch = CLARKE_BATCH_KEPT},
  {.name = "Ceil", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_rounded, .batch = CLARKE_BATCH_KEPT},
  {.name = "Round", .forms = {{11, 1, 1, 1, NULL}}, .lower = lower_rounded, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
