/* DynamicQuantizeLSTM, ONNX Runtime's: an LSTM whose matrices are stored integers. What they are multiplied with is quantized as by
 * DynamicQuantizeLinear, the input at once and the state at each time. Nodes within the node. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/qlinear.h"
#include "op/recurrent.h"

#include <string.h>

enum { X, W, R, B, LENGTHS, H, C, P, W_SCALE, W_ZERO, R_SCALE, R_ZERO };

#define GATES 4
#define MOST_TIMES 1024

typedef struct {
  clarke_lowering *low;
  clarke_error *err;
  size_t time, inputs, hidden, directions, direction;
  bool reversed;
} quantized;

/* An integer matrix for each direction, rows x 4 hidden, with a scale for each direction or each column. */
static clarke_status
check_matrix(const clarke_lowering *low, const quantized *q, size_t i, size_t rows, clarke_error *err)
{
  const clarke_value *w = clarke_lower_has(low, i) ? clarke_lower_value(low, i) : NULL;
  const size_t columns = GATES * q->hidden, scale = i == W ? W_SCALE : R_SCALE;

  if (w == NULL || !w->constant || w->integer == NULL || (w->dtype != CLARKE_U8 && w->dtype != CLARKE_I8) || w->rank != 3
      || w->dims[0] != q->directions || w->dims[1] != rows || w->dims[2] != columns)
    return clarke_lower_fail(low, err, "input %zu is no constant of integers of 8 bits, %zu x %zu x %zu", i, q->directions, rows, columns);
  for (size_t k = scale; k <= scale + 1; k++) {
    const clarke_value *v = clarke_lower_has(low, k) ? clarke_lower_value(low, k) : NULL;
    const bool each = v != NULL && v->rank == 2 && v->dims[1] == columns && v->dims[0] == q->directions;

    if (v == NULL || !v->constant || (k == scale ? v->real == NULL || v->odd : v->integer == NULL)
        || !(each || (v->rank == 1 && v->dims[0] == q->directions)))
      return clarke_lower_fail(low, err, "input %zu is no constant with an entry for each direction, or for each of its columns", k);
    for (size_t e = 0; k == scale && e < v->count; e++)
      if (!(v->real[e] > 0))
        return clarke_lower_fail(low, err, "input %zu, entry %zu: a scale of %g", k, e, v->real[e]);
  }
  return CLARKE_OK;
}

/* A state at the beginning: none, or (directions, 1, hidden). */
static clarke_status
check_state(const clarke_lowering *low, const quantized *q, size_t i, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE];

  if (clarke_lower_has(low, i)
      && (clarke_axes_of_run(low, i, dims) != 3 || dims[0] != q->directions || dims[1] != 1 || dims[2] != q->hidden))
    return clarke_lower_fail(low, err, "input %zu has not the shape %zu x 1 x %zu", i, q->directions, q->hidden);
  return CLARKE_OK;
}

static clarke_status
check_lengths(const clarke_lowering *low, const quantized *q, clarke_error *err)
{
  const int64_t *length;
  size_t n;
  const clarke_status status = clarke_lower_has(low, LENGTHS) ? clarke_lower_integers(low, LENGTHS, &length, &n, err) : CLARKE_OK;

  if (status == CLARKE_OK && clarke_lower_has(low, LENGTHS) && (n != 1 || length[0] != (int64_t)q->time))
    return clarke_lower_fail(low, err, "sequence_lens (input 4) is not the number of times, %zu", q->time);
  return status;
}

static clarke_status
read_node(quantized *q, clarke_error *err)
{
  clarke_lowering *low = q->low;
  size_t dims[CLARKE_MAX_WHOLE];
  bool other;
  clarke_status status = clarke_recurrence_attributes(low, err);

  if (status == CLARKE_OK && clarke_lower_has(low, 7))
    status = clarke_lower_fail(low, err, "peepholes (input 7) are not supported: those of an LSTM are");
  if (status == CLARKE_OK)
    status = clarke_recurrence_activations(low, "Sigmoid Tanh Tanh", NULL, &other, err);
  if (status == CLARKE_OK)
    status = clarke_recurrence_direction(low, &q->directions, &q->reversed, err);
  if (status == CLARKE_OK)
    status = clarke_lower_first(low, err);
  if (status != CLARKE_OK)
    return status;
  if (clarke_axes_of_run(low, X, dims) != 3 || dims[1] != 1 || (low->graph->batched && !clarke_lower_value(low, X)->batch.none))
    return clarke_lower_fail(low, err, "input 0 is not of (times, 1, inputs) without the samples on an axis: ONNX Runtime's scales of several "
                             "samples depend on its threads. Give it one sample, with --batch-axis none");
  q->time = dims[0];
  q->inputs = dims[2];
  q->hidden = clarke_lower_has(low, R) && clarke_lower_value(low, R)->rank == 3 ? clarke_lower_value(low, R)->dims[1] : 0;
  if (q->hidden == 0 || q->hidden > INT16_MAX || q->time > MOST_TIMES || clarke_lower_int(low, "hidden_size", (int64_t)q->hidden) != (int64_t)q->hidden)
    return clarke_lower_fail(low, err, "hidden_size and the rows of input 2 differ, or it is too large, or there are over %d times", MOST_TIMES);
  status = check_matrix(low, q, W, q->inputs, err);
  for (size_t i = 0; i < 3 && status == CLARKE_OK; i++)
    status = i == 0 ? check_matrix(low, q, R, q->hidden, err) : check_state(low, q, i == 1 ? H : C, err);
  if (status == CLARKE_OK && clarke_lower_has(low, B)
      && (clarke_axes_of_run(low, B, dims) != 2 || dims[0] != q->directions || dims[1] != 2 * GATES * q->hidden))
    status = clarke_lower_fail(low, err, "input 3 has not the shape %zu x %zu", q->directions, 2 * GATES * q->hidden);
  return status == CLARKE_OK ? check_lengths(low, q, err) : status;
}

/* ---- Products */

/* The direction's matrix less its zero points: numbers, rows x 4 hidden. */
static size_t
matrix_of(const quantized *q, size_t i, size_t rows)
{
  clarke_graph *g = q->low->graph;
  const size_t columns = GATES * q->hidden, from = q->low->in[i], zero = q->low->in[i == W ? W_ZERO : R_ZERO];
  size_t value;

  if (clarke_lower_made(q->low, 2, (const size_t[]){rows, columns}, &value, q->err) != CLARKE_OK)
    return CLARKE_NONE;
  for (size_t e = 0; e < rows * columns; e++) {
    const size_t place = q->direction * (g->values[zero].rank == 2 ? columns : 1) + (g->values[zero].rank == 2 ? e % columns : 0);

    g->values[value].real[e] = (double)(g->values[from].integer[q->direction * rows * columns + e] - g->values[zero].integer[place]);
  }
  return value;
}

static size_t
scales_of(const quantized *q, size_t i)
{
  clarke_graph *g = q->low->graph;
  const size_t from = q->low->in[i], columns = GATES * q->hidden;
  size_t value;

  g->values[from].bound = true;
  if (clarke_lower_made(q->low, 1, &columns, &value, q->err) != CLARKE_OK)
    return CLARKE_NONE;
  for (size_t e = 0; e < columns; e++)
    g->values[value].real[e] = g->values[from].real[g->values[from].rank == 2 ? q->direction * columns + e : q->direction];
  return value;
}

/* x, rows of so many entries, times matrix and scales. */
static size_t
product(const quantized *q, size_t x, size_t matrix, size_t scales)
{
  size_t scale, y = x != CLARKE_NONE ? clarke_dynamic_difference(q->low, x, &scale, q->err) : x;

  y = clarke_inner_of(q->low, "MatMul", y, matrix, q->err);
  y = y != CLARKE_NONE ? clarke_inner_of(q->low, "Mul", y, scale, q->err) : y;
  return clarke_inner_of(q->low, "Mul", y, scales, q->err);
}

/* ---- Times */

static size_t
of(const quantized *q, const char *op, size_t a, size_t b)
{
  return clarke_inner_of(q->low, op, a, b, q->err);
}

static size_t
gate(const quantized *q, const char *function, size_t sums, size_t k)
{
  return clarke_inner_function(q->low, function, clarke_inner_sliced(q->low, sums, 1, k * q->hidden, (k + 1) * q->hidden, q->err), q->err);
}

static bool
is_zero(const clarke_value *v)
{
  bool zero = v->constant && v->real != NULL && !v->odd;

  for (size_t e = 0; zero && e < v->count; e++)
    zero = v->real[e] == 0;
  return zero;
}

/* The state h of all directions, a constant, as an activation. */
static size_t
lifted_state(const quantized *q)
{
  const size_t dims[3] = {q->directions, 1, q->hidden};
  size_t value;

  return clarke_lower_lifted(q->low, H, 3, dims, NULL, &value, q->err) == CLARKE_OK ? value : CLARKE_NONE;
}

/* The direction's state i at the beginning, (1, hidden); CLARKE_NONE: zeros, and *failed where it is not that. */
static size_t
beginning(const quantized *q, size_t i, bool *failed)
{
  const int64_t row[2] = {1, (int64_t)q->hidden};
  size_t value;

  if (!clarke_lower_has(q->low, i))
    return CLARKE_NONE;
  if (is_zero(clarke_lower_value(q->low, i))) {
    q->low->graph->values[q->low->in[i]].bound = true;
    return CLARKE_NONE;
  }
  value = q->low->in[i];
  if (i == H && clarke_lower_value(q->low, i)->constant)
    value = lifted_state(q);
  value = clarke_inner_sliced(q->low, value, 0, q->direction, q->direction + 1, q->err);
  value = clarke_inner_reshaped(q->low, value, row, 2, q->err);
  *failed = value == CLARKE_NONE;
  return value;
}

/* W x + b + b' of all times, (times, 4 hidden). */
static size_t
input_sums(const quantized *q)
{
  const int64_t rows[2] = {(int64_t)q->time, (int64_t)q->inputs}, flat[1] = {-1};
  const size_t columns = GATES * q->hidden, matrix = matrix_of(q, W, q->inputs), scales = matrix != CLARKE_NONE ? scales_of(q, W_SCALE) : matrix;
  size_t y = scales != CLARKE_NONE ? product(q, clarke_inner_reshaped(q->low, q->low->in[X], rows, 2, q->err), matrix, scales) : scales, bias;

  for (size_t k = 0; k < 2 && y != CLARKE_NONE && clarke_lower_has(q->low, B); k++) {
    bias = clarke_inner_sliced(q->low, q->low->in[B], 0, q->direction, q->direction + 1, q->err);
    bias = clarke_inner_sliced(q->low, bias, 1, k * columns, (k + 1) * columns, q->err);
    y = of(q, "Add", y, clarke_inner_reshaped(q->low, bias, flat, 1, q->err));
  }
  return y;
}

/* Gates i, o, f, g: c becomes f c + i g, h becomes o tanh(c); NULL for h or c are zeros. */
static bool
next_state(const quantized *q, size_t sums, size_t *h, size_t *c, size_t matrix, size_t scales)
{
  size_t i, o, kept = CLARKE_NONE;

  if (*h != CLARKE_NONE && (sums = of(q, "Add", sums, product(q, *h, matrix, scales))) == CLARKE_NONE)
    return false;
  i = gate(q, "Sigmoid", sums, 0);
  o = gate(q, "Sigmoid", sums, 1);
  if (*c != CLARKE_NONE && (kept = of(q, "Mul", gate(q, "Sigmoid", sums, 2), *c)) == CLARKE_NONE)
    return false;
  *c = of(q, "Mul", i, gate(q, "Tanh", sums, 3));
  if (kept != CLARKE_NONE)
    *c = of(q, "Add", kept, *c);
  *h = *c != CLARKE_NONE ? of(q, "Mul", o, clarke_inner_function(q->low, "Tanh", *c, q->err)) : *c;
  return *h != CLARKE_NONE;
}

/* One direction's states at all times, (times, 1, 1, hidden), and the last ones; false when it fails. */
static bool
run_direction(const quantized *q, size_t *all, size_t *last_h, size_t *last_c)
{
  const int64_t shape[4] = {(int64_t)q->time, 1, 1, (int64_t)q->hidden};
  bool failed = false;
  const size_t sums = input_sums(q), matrix = sums != CLARKE_NONE ? matrix_of(q, R, q->hidden) : sums;
  const size_t scales = matrix != CLARKE_NONE ? scales_of(q, R_SCALE) : matrix;
  size_t at[MOST_TIMES], h = scales != CLARKE_NONE ? beginning(q, H, &failed) : scales, c = failed ? CLARKE_NONE : beginning(q, C, &failed);

  if (scales == CLARKE_NONE || failed)
    return false;
  for (size_t t = 0; t < q->time; t++) {
    const size_t time = q->reversed || q->direction == 1 ? q->time - 1 - t : t;
    const size_t own = clarke_inner_sliced(q->low, sums, 0, time, time + 1, q->err);

    if (own == CLARKE_NONE || !next_state(q, own, &h, &c, matrix, scales))
      return false;
    at[time] = h;
  }
  *all = clarke_inner_reshaped(q->low, clarke_inner_joined(q->low, at, q->time, 0, q->err), shape, 4, q->err);
  *last_h = clarke_inner_reshaped(q->low, h, shape + 1, 3, q->err);
  *last_c = clarke_inner_reshaped(q->low, c, shape + 1, 3, q->err);
  return *all != CLARKE_NONE && *last_h != CLARKE_NONE && *last_c != CLARKE_NONE;
}

static clarke_status
lower_quantized(clarke_lowering *low, clarke_error *err)
{
  quantized q = {.low = low, .err = err};
  size_t out[3][2];
  clarke_status status = read_node(&q, err);

  for (; q.direction < q.directions && status == CLARKE_OK; q.direction++)
    if (!run_direction(&q, &out[0][q.direction], &out[1][q.direction], &out[2][q.direction]))
      status = clarke_inner_failed(err);
  for (size_t k = 0; k < 3 && status == CLARKE_OK; k++)
    if (k < low->node->n_out && low->node->out[k][0] != '\0')
      status = clarke_inner_done(low, k, q.directions == 1 ? out[k][0] : clarke_inner_joined(low, out[k], 2, k == 0, err), err);
  return status;
}

const clarke_op clarke_ops_lstm_quantized[] = {
  {.name = "DynamicQuantizeLSTM",
   .forms = {{7, 12, 12, 3, "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:b"}},
   .lower = lower_quantized, .batch = CLARKE_BATCH_ANY, .may_omit = true, .multiplies = true, .domain = CLARKE_DOMAIN_OF_RUNTIME},
  {.name = NULL},
};
