#include "op/recurrent.h"
#include "op/axes.h"
#include "op/computed.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/pieces.h"
#include "op/sigmoid.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- Parts and steps */

clarke_recurrent_part
clarke_recurrence_gate(const clarke_recurrence *c, size_t value, size_t gates, size_t gate)
{
  return (clarke_recurrent_part){value, 0, gates * c->hidden, gate * c->hidden};
}

clarke_recurrent_part
clarke_recurrence_all(const clarke_recurrence *c, size_t value)
{
  return clarke_recurrence_gate(c, value, 1, 0);
}

clarke_recurrent_part
clarke_recurrence_x(const clarke_recurrence *c, size_t time, size_t gate)
{
  clarke_recurrent_part p = clarke_recurrence_gate(c, c->x, c->gates, gate);

  p.base = time * c->rows * p.width;
  return p;
}

clarke_recurrent_part
clarke_recurrence_b(const clarke_recurrence *c, size_t b, size_t gate)
{
  return (clarke_recurrent_part){c->b[b], 0, 0, gate * c->hidden};
}

static void
fail(clarke_recurrence *c)
{
  c->status = c->status != CLARKE_OK ? c->status : c->err != NULL ? c->err->code : CLARKE_ENOMEM;
}

/* A step of `units` a row; NULL after a failure. */
static clarke_step *
new_step(clarke_recurrence *c, clarke_step_kind kind, size_t n_in, size_t units)
{
  clarke_step *s = c->status == CLARKE_OK
                     ? clarke_lower_step(c->low, kind, n_in, 2, (size_t[]){c->rows, units}, c->err)
                     : NULL;

  if (s == NULL)
    fail(c);
  return s;
}

/* Operand i of the step is a part, of `units` a row; a constant's is read once more. */
static void
set_operand(clarke_recurrence *c, clarke_step *s, size_t i, clarke_recurrent_part part, size_t units)
{
  const clarke_value *v = &c->low->graph->values[part.value];
  const size_t n = c->rows * units;
  size_t *map;

  s->in[i].value = part.value;
  if (v->constant)
    c->status = clarke_lower_read(c->low, part.value, c->err);
  if (c->status != CLARKE_OK || (v->count == n && part.width == units && part.base == 0 && part.offset == 0))
    return;
  map = clarke_lower_map(c->low, s, i, n, c->err);
  if (map == NULL)
    fail(c);
  for (size_t f = 0; map != NULL && f < n; f++)
    map[f] = part.base + f / units * part.width + part.offset + f % units;
}

size_t
clarke_recurrence_sum(clarke_recurrence *c, const clarke_recurrent_part *part, size_t n, size_t gates)
{
  size_t given = 0, at = 0;
  clarke_step *s;

  for (size_t i = 0; i < n; i++)
    given += part[i].value != CLARKE_NONE;
  s = new_step(c, CLARKE_SUM, given, gates * c->hidden);
  for (size_t i = 0; i < n && s != NULL && c->status == CLARKE_OK; i++)
    if (part[i].value != CLARKE_NONE)
      set_operand(c, s, at++, part[i], gates * c->hidden);
  return s != NULL ? s->out : 0;
}

size_t
clarke_recurrence_product(clarke_recurrence *c, clarke_recurrent_part a, clarke_recurrent_part b)
{
  clarke_step *s = new_step(c, CLARKE_PRODUCT, 2, c->hidden);

  if (s == NULL)
    return 0;
  s->contraction = (clarke_contraction){c->rows * c->hidden, 1, 1, 1};
  set_operand(c, s, 0, a, c->hidden);
  if (c->status == CLARKE_OK)
    set_operand(c, s, 1, b, c->hidden);
  return s->out;
}

size_t
clarke_recurrence_difference(clarke_recurrence *c, size_t a, size_t b)
{
  clarke_step *s = new_step(c, CLARKE_SUM, 2, c->hidden);

  if (s == NULL)
    return 0;
  s->in[0].value = a;
  s->in[1].value = b;
  s->in[1].coef = -1;
  return s->out;
}

size_t
clarke_recurrence_peephole(clarke_recurrence *c, size_t gate, size_t value)
{
  clarke_step *s = new_step(c, CLARKE_SCALE, 2, c->hidden);

  if (s == NULL)
    return 0;
  s->in[0].value = value;
  set_operand(c, s, 1, (clarke_recurrent_part){c->p, 0, 0, gate * c->hidden}, c->hidden);
  return s->out;
}

/* The weight's rows times the value's `blocks` vectors. */
static size_t
dense(clarke_recurrence *c, size_t weight, size_t value, size_t blocks)
{
  const size_t outer = c->low->graph->values[weight].dims[0], inner = c->low->graph->values[weight].dims[1];
  clarke_step *s;

  if (c->status == CLARKE_OK && c->low->graph->values[weight].constant)
    c->status = clarke_lower_read(c->low, weight, c->err);
  s = c->status == CLARKE_OK
        ? clarke_computed_dense(c->low, value,
                                (clarke_dense){.weight = weight, .blocks = blocks, .inner = inner, .outer = outer, .repeat = 1}, 2,
                                (size_t[]){blocks, outer}, c->err)
        : NULL;
  if (s == NULL)
    fail(c);
  return s != NULL ? s->out : 0;
}

size_t
clarke_recurrence_dense(clarke_recurrence *c, size_t weight, size_t value)
{
  return c->status == CLARKE_OK ? dense(c, weight, value, c->rows) : 0;
}

size_t
clarke_recurrence_function(clarke_recurrence *c, clarke_function f, size_t value)
{
  const clarke_step *s = c->status == CLARKE_OK ? clarke_lower_function(c->low, f, value, c->err) : NULL;

  if (s == NULL)
    fail(c);
  return s != NULL ? s->out : 0;
}

size_t
clarke_recurrence_relu(clarke_recurrence *c, size_t time, size_t value)
{
  clarke_step *s = new_step(c, CLARKE_PIECEWISE, 1, c->hidden);
  char *name = s != NULL ? clarke_text_print("%s@%zu", s->name, c->direction * c->time + time + 1) : NULL;

  if (name == NULL) {
    fail(c);
    return 0;
  }
  free(s->name);
  s->name = name;
  s->in[0].value = value;
  s->op = clarke_operator_find("Relu");
  s->pieces.n_kinks = 1;
  s->op->pieces(&s->pieces, NULL);
  return s->out;
}

/* A weight: rows first to first + n - 1 of the direction's matrix in input i, whose rows have `width` entries. Width 0: so many
 * entries of its vector. */
static size_t
part_of_input(clarke_recurrence *c, size_t i, size_t first, size_t n, size_t width)
{
  const bool vector = width == 0;
  const size_t all = clarke_lower_value(c->low, i)->count / c->directions, count = n * (vector ? 1 : width);
  size_t value = 0, *map = NULL;

  if (c->status != CLARKE_OK)
    return 0;
  map = malloc((count + 1) * sizeof *map);
  if (map == NULL)
    c->status = clarke_lower_no_memory(c->low, c->err);
  for (size_t e = 0; map != NULL && e < count; e++)
    map[e] = c->direction * all + first * (vector ? 1 : width) + e;
  if (map != NULL)
    c->status = clarke_computed_moved(c->low, i, vector ? 1 : 2, (size_t[]){n, width}, map, &value, c->err);
  return value;
}

/* ---- What a node is given */

/* X: (time, batch, inputs). */
static clarke_status
read_input(clarke_recurrence *c, clarke_error *err)
{
  clarke_lowering *low = c->low;
  size_t dims[CLARKE_MAX_WHOLE];
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  if (clarke_axes_whole(low, 0, dims) != 3)
    return clarke_lower_fail(low, err, "input 0 must have three axes: time, batch, features");
  if (low->graph->batched && clarke_axes_batch(low, 0) == CLARKE_NONE)
    return clarke_lower_fail(low, err, "input 0 is computed of constants alone; expected the batch on axis 1, after time");
  if (low->graph->batched && clarke_axes_batch(low, 0) != 1)
    return clarke_lower_fail(low, err, "input 0 has the batch on axis %zu; expected it on axis 1, after time. (In PyTorch: "
                                       "batch_first=True, where the model's input has the batch first)", clarke_axes_batch(low, 0));
  c->time = dims[0];
  c->rows = dims[1];
  c->inputs = dims[2];
  return CLARKE_OK;
}

static clarke_status
check_shape(const clarke_lowering *low, size_t i, size_t rank, const size_t *dims, clarke_error *err)
{
  const clarke_value *v;
  clarke_status status = clarke_computed_check(low, i, err);

  if (status != CLARKE_OK)
    return status;
  v = clarke_lower_value(low, i);
  if (v->rank != rank || memcmp(v->dims, dims, rank * sizeof *dims) != 0)
    return clarke_lower_fail(low, err, "input %zu, '%s', has not the shape that the others ask for: %zu x %zu%s%.0zu", i,
                             low->node->in[i], dims[0], dims[1], rank > 2 ? " x " : "", rank > 2 ? dims[2] : 0);
  return CLARKE_OK;
}

/* W, R, B, and the lengths of the samples, which must be the whole. */
static clarke_status
read_weights(clarke_recurrence *c, clarke_error *err)
{
  const clarke_lowering *low = c->low;
  const int64_t *length = NULL;
  size_t n = 0;
  clarke_status status = clarke_computed_check(low, 2, err);

  if (status != CLARKE_OK)
    return status;
  c->hidden = clarke_lower_value(low, 2)->rank == 3 ? clarke_lower_value(low, 2)->dims[2] : 0;
  if (c->hidden == 0 || c->hidden > CLARKE_MAX_ENTRIES / (2 * c->gates) ||
      clarke_lower_int(low, "hidden_size", (int64_t)c->hidden) != (int64_t)c->hidden)
    return clarke_lower_fail(low, err, "hidden_size and the last axis of input 2 differ, or it has not three axes");
  status = check_shape(low, 1, 3, (size_t[]){c->directions, c->gates * c->hidden, c->inputs}, err);
  if (status == CLARKE_OK)
    status = check_shape(low, 2, 3, (size_t[]){c->directions, c->gates * c->hidden, c->hidden}, err);
  if (status == CLARKE_OK && clarke_lower_has(low, 3))
    status = check_shape(low, 3, 2, (size_t[]){c->directions, 2 * c->gates * c->hidden}, err);
  if (status == CLARKE_OK && clarke_lower_has(low, 7))
    status = clarke_lower_constant(low, 7, err);
  if (status == CLARKE_OK && clarke_lower_has(low, 7))
    status = check_shape(low, 7, 2, (size_t[]){c->directions, 3 * c->hidden}, err);
  if (status == CLARKE_OK && clarke_lower_has(low, 4))
    status = clarke_lower_integers(low, 4, &length, &n, err);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++)
    if (length[i] != (int64_t)c->time)
      status = clarke_lower_fail(low, err, "sequence_lens (input 4) has %lld of %zu times: samples of several lengths are not "
                                           "supported; audit those of one length together", (long long)length[i], c->time);
  return status;
}

static bool
is_zero(const clarke_value *v)
{
  for (size_t e = 0; e < v->count; e++)
    if (v->real[e] != 0)
      return false;
  return true;
}

/* The entries of an initial state, of all directions. A constant must be the same for all samples. */
static clarke_status
check_state(clarke_recurrence *c, size_t i, clarke_error *err)
{
  clarke_lowering *low = c->low;
  const bool constant = clarke_lower_value(low, i)->constant;
  const size_t samples = constant ? c->rows * low->graph->together : c->rows;
  const clarke_batch_axis x = clarke_lower_value(low, 0)->batch, s = clarke_lower_value(low, i)->batch;
  size_t dims[CLARKE_MAX_WHOLE];
  bool shared = true;
  clarke_status status;

  if (constant && clarke_lower_value(low, i)->real == NULL)
    return clarke_lower_constant(low, i, err);
  if (clarke_axes_whole(low, i, dims) != 3 || dims[0] != c->directions || dims[1] != samples || dims[2] != c->hidden)
    return clarke_lower_fail(low, err, "the initial state '%s' must have the shape %zu x %zu x %zu", low->node->in[i],
                             c->directions, samples, c->hidden);
  if (!constant && low->graph->batched && (s.none || s.axis != 1 || s.merged != x.merged || (s.merged && s.inner != x.inner)))
    return clarke_lower_fail(low, err, "the initial state '%s' has the batch on another axis than the second", low->node->in[i]);
  if (!constant || is_zero(clarke_lower_value(low, i)) || low->graph->together == 1)
    return CLARKE_OK;
  status = clarke_axes_shared(low, i, 1, &shared, err);
  if (status == CLARKE_OK && !shared)
    status = clarke_lower_fail(low, err, "the initial state '%s' has entries for each sample: export with a batch of one, or record "
                                         "the step (clarke.record)", low->node->in[i]);
  return status;
}

/* A state of zeros: a gathering of nothing. */
static size_t
zero_state(clarke_recurrence *c)
{
  const size_t n = c->rows * c->hidden;
  clarke_step *s = new_step(c, CLARKE_GATHER, 1, c->hidden);
  size_t *map = s != NULL ? clarke_lower_map(c->low, s, 0, n, c->err) : NULL;

  if (map == NULL)
    fail(c);
  for (size_t f = 0; map != NULL && f < n; f++)
    map[f] = CLARKE_NONE;
  return s != NULL ? s->out : 0;
}

/* State k of the direction at the beginning. Zeros in the file are no parameter. */
static size_t
initial_state(clarke_recurrence *c, size_t k)
{
  const size_t i = 5 + k, n = c->rows * c->hidden;
  clarke_recurrent_part part[2] = {{.value = 0}};

  if (c->status == CLARKE_OK && clarke_lower_has(c->low, i))
    c->status = check_state(c, i, c->err);
  if (c->status != CLARKE_OK)
    return 0;
  if (!clarke_lower_has(c->low, i))
    return zero_state(c);
  part[1] = (clarke_recurrent_part){c->low->in[i], c->direction * n, c->hidden, 0};
  if (!clarke_lower_value(c->low, i)->constant)
    return clarke_recurrence_sum(c, &part[1], 1, 1);
  part[0] = clarke_recurrence_all(c, zero_state(c));
  if (!is_zero(clarke_lower_value(c->low, i)))
    return clarke_recurrence_sum(c, part, 2, 1);
  c->low->graph->values[c->low->in[i]].bound = true;
  return part[0].value;
}

/* ---- From states to outputs */

#define MOST_JOINED 32

/* n values, one after another: one value. Of many first some, whose maps are short. */
static size_t
join(clarke_recurrence *c, size_t *values, size_t n)
{
  const clarke_graph *g = c->low->graph;
  size_t groups = 0, entries = 0, start = 0;
  clarke_step *s;

  for (size_t first = 0; n > MOST_JOINED && first < n && c->status == CLARKE_OK; first += MOST_JOINED)
    values[groups++] = join(c, values + first, n - first < MOST_JOINED ? n - first : MOST_JOINED);
  if (groups > 0)
    return join(c, values, groups);
  if (c->status != CLARKE_OK)
    return 0;
  for (size_t i = 0; i < n; i++)
    entries += g->values[values[i]].count;
  s = clarke_lower_step(c->low, CLARKE_SUM, n, 1, &entries, c->err);
  if (s == NULL)
    fail(c);
  for (size_t i = 0; s != NULL && i < n && c->status == CLARKE_OK; start += g->values[values[i++]].count) {
    size_t *map = n > 1 ? clarke_lower_map(c->low, s, i, entries, c->err) : NULL;

    s->in[i].value = values[i];
    if (n > 1 && map == NULL)
      fail(c);
    for (size_t f = 0; map != NULL && f < entries; f++)
      map[f] = f >= start && f - start < g->values[values[i]].count ? f - start : CLARKE_NONE;
  }
  return s != NULL ? s->out : 0;
}

/* Output k of the node: n states, as (times, directions, batch, hidden) or, times being 0, without the first axis. */
static void
put_output(clarke_recurrence *c, size_t k, size_t *values, size_t n, size_t times)
{
  clarke_lowering *low = c->low;
  size_t dims[4] = {times, c->directions, c->rows, c->hidden}, rank = 4, value = 0;
  clarke_batch_axis batch = clarke_lower_value(low, 0)->batch;
  clarke_value *v;

  if (k >= low->node->n_out || low->node->out[k][0] == '\0' || c->status != CLARKE_OK)
    return;
  value = join(c, values, n);
  if (c->status != CLARKE_OK)
    return;
  rank = times > 0 ? 4 : 3;
  memmove(dims, dims + 4 - rank, rank * sizeof *dims);
  batch.axis = rank - 2;
  if (low->graph->batched)
    rank = clarke_axes_of_sample(&batch, rank, dims);
  v = &low->graph->values[value];
  v->rank = rank;
  memcpy(v->dims, dims, rank * sizeof *dims);
  v->batch = batch;
  c->status = clarke_lower_output(low, k, value, c->err);
}

/* ---- The batch first: layout 1 */

/* X and the states at the beginning, their first two axes exchanged. */
static clarke_status
turn_inputs(clarke_lowering *low, clarke_error *err)
{
  static const int64_t order[3] = {1, 0, 2};
  static const size_t inputs[] = {0, 5, 6};

  for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++) {
    if (!clarke_lower_has(low, inputs[k]))
      continue;
    low->in[inputs[k]] = clarke_inner_transposed(low, low->in[inputs[k]], order, 3, err);
    if (low->in[inputs[k]] == CLARKE_NONE)
      return clarke_inner_failed(err);
  }
  return CLARKE_OK;
}

/* All states have (batch, time, directions, hidden), the last ones (batch, directions, hidden). */
static clarke_status
turn_outputs(clarke_lowering *low, clarke_error *err)
{
  static const int64_t all[4] = {2, 0, 1, 3}, last[3] = {1, 0, 2};
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < low->node->n_out && status == CLARKE_OK; k++) {
    const size_t value = low->out[k];
    size_t turned;

    if (value == CLARKE_NONE)
      continue;
    free(low->graph->values[value].name); /* the other value has it */
    low->graph->values[value].name = NULL;
    turned = clarke_inner_transposed(low, value, k == 0 ? all : last, k == 0 ? 4 : 3, err);
    status = turned != CLARKE_NONE ? clarke_lower_output(low, k, turned, err) : clarke_inner_failed(err);
  }
  return status;
}

/* ---- The whole */

#define MOST_STATES 2

/* One direction: its states at all times go to `at`, whose entry [time * directions + direction] is of the first state; the last
 * ones to `last`, [state * directions + direction]. */
static void
run_direction(clarke_recurrence *c, bool reversed, const clarke_recurrence_kind *kind, size_t *at, size_t *last)
{
  const size_t units = c->gates * c->hidden, first = kind->gates[0] * c->hidden, n_states = kind->n_states;
  size_t state[MOST_STATES], w = part_of_input(c, 1, 0, units, c->inputs);

  c->r[0] = part_of_input(c, 2, 0, first, c->hidden);
  c->r[1] = first < units ? part_of_input(c, 2, first, units - first, c->hidden) : CLARKE_NONE;
  for (size_t b = 0; b < 2; b++)
    c->b[b] = clarke_lower_has(c->low, 3) ? part_of_input(c, 3, b * units, units, 0) : CLARKE_NONE;
  c->p = clarke_lower_has(c->low, 7) ? part_of_input(c, 7, 0, 3 * c->hidden, 0) : CLARKE_NONE;
  c->x = c->status == CLARKE_OK ? dense(c, w, c->low->in[0], c->time * c->rows) : 0;
  for (size_t k = 0; k < n_states; k++)
    state[k] = initial_state(c, k);
  for (size_t t = 0; t < c->time && c->status == CLARKE_OK; t++) {
    const size_t time = reversed ? c->time - 1 - t : t;

    kind->cell(c, time, state);
    at[time * c->directions + c->direction] = state[0];
  }
  for (size_t k = 0; k < n_states; k++)
    last[k * c->directions + c->direction] = state[k];
}

clarke_status
clarke_recurrence_lower(clarke_lowering *low, const clarke_recurrence_kind *kind, clarke_error *err)
{
  clarke_recurrence c = {.low = low, .err = err, .gates = kind->gates[0] + kind->gates[1]};
  size_t *at, last[2 * MOST_STATES];
  bool reversed, turned;

  c.status = clarke_recurrence_attributes(low, err);
  turned = c.status == CLARKE_OK && clarke_lower_int(low, "layout", 0) == 1;
  if (turned)
    c.status = turn_inputs(low, err);
  if (c.status == CLARKE_OK)
    c.status = clarke_recurrence_direction(low, &c.directions, &reversed, err);
  if (c.status == CLARKE_OK)
    c.status = read_input(&c, err);
  if (c.status == CLARKE_OK)
    c.status = read_weights(&c, err);
  if (c.status != CLARKE_OK)
    return c.status;
  at = malloc((c.time * c.directions + 1) * sizeof *at);
  if (at == NULL)
    return clarke_lower_no_memory(low, err);
  for (; c.direction < c.directions; c.direction++)
    run_direction(&c, c.directions == 2 ? c.direction == 1 : reversed, kind, at, last);
  for (size_t k = 0; k < kind->n_states; k++)
    put_output(&c, 1 + k, last + k * c.directions, c.directions, 0);
  put_output(&c, 0, at, c.time * c.directions, c.time);
  free(at);
  return turned && c.status == CLARKE_OK ? turn_outputs(low, err) : c.status;
}
