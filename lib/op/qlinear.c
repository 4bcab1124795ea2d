/* Products of integers that have scales and zero points: QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger. And DynamicQuantizeLinear,
 * whose scale and zero point are computed. All are nodes within the node, of the numbers that the integers stand for. */
#include "op/qlinear.h"
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/quantize.h"
#include "op/surrogate.h"
#include "op/window.h"

#include <math.h>
#include <string.h>

/* Where an operator has its inputs: a scale, or the bias, may be none. */
typedef struct {
  size_t first, first_zero, second, second_zero;
  size_t first_scale, second_scale, scale, zero, bias;
} places;

static const places of_integers = {0, 2, 1, 3, CLARKE_NONE, CLARKE_NONE, CLARKE_NONE, CLARKE_NONE, CLARKE_NONE};
static const places of_scales = {0, 2, 3, 5, 1, 4, 6, 7, 8};

/* Runtimes add up in 32 bits: beyond that they would wrap around. */
#define MOST_SUM ((double)INT32_MAX)
#define MOST_PRODUCT (255.0 * 255.0)

/* An input that is integers: a constant of them, or what nodes make. */
static bool
has_integers(const clarke_lowering *low, size_t i)
{
  const clarke_value *v = clarke_lower_has(low, i) ? clarke_lower_value(low, i) : NULL;

  return v != NULL && (v->constant ? v->integer != NULL && (v->dtype == CLARKE_U8 || v->dtype == CLARKE_I8) : v->holds == CLARKE_HOLDS_INTEGERS);
}

/* Input i's axes, one of which may have scales of its own; CLARKE_NONE: none has. */
static clarke_quantized
layout_of(const clarke_lowering *low, size_t i, size_t axis)
{
  clarke_quantized q = {.axis = axis};
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, i, dims);

  q.rank = rank < CLARKE_MAX_RANK ? rank : CLARKE_MAX_RANK;
  memcpy(q.dims, dims, q.rank * sizeof *dims);
  return q;
}

/* Are both inputs integers, one of them an activation, of few enough axes? */
static clarke_status
check_operands(const clarke_lowering *low, const places *at, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE];

  if (!has_integers(low, at->first) || !has_integers(low, at->second))
    return clarke_lower_fail(low, err, "its operands are no integers of 8 bits");
  if (clarke_lower_value(low, at->first)->constant && clarke_lower_value(low, at->second)->constant)
    return clarke_lower_fail(low, err, "an input must be an activation");
  for (size_t i = 0; i < 2; i++)
    if (clarke_axes_whole(low, i == 0 ? at->first : at->second, dims) > CLARKE_MAX_RANK)
      return clarke_lower_fail(low, err, "more than %d axes", CLARKE_MAX_RANK);
  return CLARKE_OK;
}

/* Does a sum of so many products, and of a bias, fit into 32 bits whatever the integers are? */
static clarke_status
check_sum(const clarke_lowering *low, size_t terms, size_t bias, clarke_error *err)
{
  const clarke_value *b = bias != CLARKE_NONE && clarke_lower_has(low, bias) ? clarke_lower_value(low, bias) : NULL;
  double most = b == NULL || b->constant ? 0 : b->reach > 0 ? b->reach : MOST_SUM;

  for (size_t e = 0; b != NULL && b->constant && b->integer != NULL && e < b->count; e++)
    most = fmax(most, fabs((double)b->integer[e]));
  if ((double)terms * MOST_PRODUCT + most > MOST_SUM)
    return clarke_lower_fail(low, err, "a sum of %zu products, with its bias, may be no integer of 32 bits", terms);
  return CLARKE_OK;
}

/* The first operand less its zero point, which is one number; the second less its own, of which an axis may have several. */
static size_t
operand_of(clarke_lowering *low, size_t i, size_t zero, size_t axis, clarke_error *err)
{
  const clarke_quantized q = layout_of(low, i, axis);

  return clarke_quantized_difference(low, &q, i, zero, err);
}

/* A sum of products times its scale, as integers of the type that the zero point has. */
static clarke_status
rescaled(clarke_lowering *low, const places *at, size_t y, const clarke_quantized *of, clarke_error *err)
{
  const clarke_quantized one = {.axis = CLARKE_NONE};
  double least, most;
  size_t scale, shift;
  const clarke_status status = clarke_quantized_range(low, at->zero, &least, &most, err);

  if (status != CLARKE_OK)
    return status;
  y = y != CLARKE_NONE ? clarke_inner_of(low, "Mul", y, clarke_quantized_scale(low, &one, at->first_scale, err), err) : y;
  y = y != CLARKE_NONE ? clarke_inner_of(low, "Mul", y, clarke_quantized_scale(low, of, at->second_scale, err), err) : y;
  scale = y != CLARKE_NONE ? clarke_quantized_scale(low, &one, at->scale, err) : y;
  shift = scale != CLARKE_NONE ? clarke_quantized_shift(low, &one, at->zero, err) : scale;
  return clarke_inner_done(low, 0, shift != CLARKE_NONE ? clarke_quantized_value(low, y, scale, shift, least, most, err) : shift, err);
}

/* Integers of 32 bits, none larger than that. */
static clarke_status
summed(clarke_lowering *low, size_t y, double reach, clarke_error *err)
{
  if (y != CLARKE_NONE) {
    low->graph->values[y].holds = CLARKE_HOLDS_INTEGERS;
    low->graph->values[y].reach = reach;
  }
  return clarke_inner_done(low, 0, y, err);
}

/* The bias, integers of the scale that both scales' product is. */
static size_t
with_bias(clarke_lowering *low, size_t y, size_t bias, const clarke_quantized *of, clarke_error *err)
{
  const clarke_value *b = clarke_lower_value(low, bias);

  if (b->rank != 1 || b->count != of->dims[of->axis]) {
    clarke_lower_fail(low, err, "a bias of %zu axes and %zu entries; expected one axis of %zu", b->rank, b->count, of->dims[of->axis]);
    return CLARKE_NONE;
  }
  return y != CLARKE_NONE ? clarke_inner_of(low, "Add", y, clarke_quantized_shift(low, of, bias, err), err) : y;
}

static clarke_status
lower_convolution(clarke_lowering *low, const places *at, clarke_error *err)
{
  const clarke_value *w;
  clarke_quantized of;
  size_t in[2], y, terms;
  clarke_status status = check_operands(low, at, err);

  if (status != CLARKE_OK)
    return status;
  w = clarke_lower_value(low, at->second);
  if (clarke_lower_value(low, at->first)->constant || w->rank < 3 || w->count == 0)
    return clarke_lower_fail(low, err, "its input is no activation, or its weight has less than three axes");
  terms = w->count / w->dims[0];
  status = check_sum(low, terms, at->bias, err);
  if (status != CLARKE_OK)
    return status;
  of = (clarke_quantized){.rank = w->rank, .axis = 1, .dims = {1, w->dims[0]}};
  in[0] = operand_of(low, at->first, at->first_zero, CLARKE_NONE, err);
  in[1] = in[0] != CLARKE_NONE ? operand_of(low, at->second, at->second_zero, 0, err) : in[0];
  y = in[1] != CLARKE_NONE ? clarke_inner_node(low, "Conv", in, 2, low->node->attr, low->node->n_attr, err) : in[1];
  if (at->bias != CLARKE_NONE && clarke_lower_has(low, at->bias))
    y = with_bias(low, y, at->bias, &of, err);
  return at->scale != CLARKE_NONE ? rescaled(low, at, y, &of, err) : summed(low, y, (double)terms * MOST_PRODUCT, err);
}

/* The second operand's columns may have scales of their own. */
static clarke_status
lower_product(clarke_lowering *low, const places *at, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank, terms, x, y;
  clarke_quantized of = {.rank = 1};
  clarke_status status = check_operands(low, at, err);

  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_of_run(low, at->second, dims);
  terms = rank == 0 ? 1 : dims[rank == 1 ? 0 : rank - 2];
  status = check_sum(low, terms, CLARKE_NONE, err);
  if (status != CLARKE_OK)
    return status;
  of.dims[0] = rank > 1 ? dims[rank - 1] : 1;
  x = operand_of(low, at->first, at->first_zero, CLARKE_NONE, err);
  y = x != CLARKE_NONE ? operand_of(low, at->second, at->second_zero, rank > 1 ? rank - 1 : CLARKE_NONE, err) : x;
  y = clarke_inner_of(low, "MatMul", x, y, err);
  return at->scale != CLARKE_NONE ? rescaled(low, at, y, &of, err) : summed(low, y, (double)terms * MOST_PRODUCT, err);
}

static clarke_status
lower_qlinear_conv(clarke_lowering *low, clarke_error *err)
{
  return lower_convolution(low, &of_scales, err);
}

static clarke_status
lower_conv_integer(clarke_lowering *low, clarke_error *err)
{
  return lower_convolution(low, &of_integers, err);
}

static clarke_status
lower_qlinear_matmul(clarke_lowering *low, clarke_error *err)
{
  return lower_product(low, &of_scales, err);
}

static clarke_status
lower_matmul_integer(clarke_lowering *low, clarke_error *err)
{
  return lower_product(low, &of_integers, err);
}

/* --- Sums of such --- */

bool
clarke_adds_integers(const clarke_lowering *low)
{
  bool some = false;

  for (size_t i = 0; i < low->n_in; i++)
    some = some || (clarke_lower_has(low, i) && !clarke_lower_value(low, i)->constant
                    && clarke_lower_value(low, i)->holds == CLARKE_HOLDS_INTEGERS);
  return some;
}

/* Input i as floats, and how large its integers are; CLARKE_NONE when it fails. */
static size_t
addend(clarke_lowering *low, size_t i, double *reach, clarke_error *err)
{
  const clarke_value *v = clarke_lower_has(low, i) ? clarke_lower_value(low, i) : &(const clarke_value){0};
  clarke_quantized q = clarke_lower_has(low, i) ? layout_of(low, i, CLARKE_NONE) : (clarke_quantized){0};

  *reach = v->constant ? 0 : v->reach;
  for (size_t e = 0; v->constant && v->integer != NULL && e < v->count; e++)
    *reach = fmax(*reach, fabs((double)v->integer[e]));
  if (v->constant ? v->integer != NULL && v->dtype == CLARKE_I32 : v->holds == CLARKE_HOLDS_INTEGERS && v->reach > 0)
    return clarke_quantized_difference(low, &q, i, CLARKE_NONE, err);
  clarke_lower_fail(low, err, "input %zu holds no integers of 32 bits of which it is known how large they may be: Cast them to floats before", i);
  return CLARKE_NONE;
}

clarke_status
clarke_lower_integer_sum(clarke_lowering *low, clarke_error *err)
{
  double reach[2] = {0, 0};
  const size_t a = addend(low, 0, &reach[0], err), b = a != CLARKE_NONE ? addend(low, 1, &reach[1], err) : a;

  size_t y = clarke_inner_of(low, "Add", a, b, err);
  const clarke_attr to = clarke_inner_int("to", 6);

  if (y != CLARKE_NONE && reach[0] + reach[1] > MOST_SUM) /* there a Cast is no integer */
    y = clarke_inner_node(low, "Cast", &y, 1, &to, 1, err);
  return summed(low, y, fmin(reach[0] + reach[1], MOST_SUM), err);
}

/* --- Scales that are computed --- */

/* So many entries at most have one largest, or smallest; of more it is that of each such part's. */
#define MOST_COMPARED 4096
#define MOST_PARTS 1024

/* That of each part of a value; CLARKE_NONE when it fails. */
static size_t
of_parts(clarke_lowering *low, size_t value, const char *reduction, size_t n, clarke_error *err)
{
  const size_t parts = (n - 1) / MOST_COMPARED + 1, x = clarke_inner_reshaped(low, value, (const int64_t[]){-1}, 1, err);
  size_t most[MOST_PARTS];

  if (parts > MOST_PARTS) {
    clarke_lower_fail(low, err, "%zu entries; at most %d are compared", n, MOST_COMPARED * MOST_PARTS);
    return CLARKE_NONE;
  }
  for (size_t k = 0; k < parts && x != CLARKE_NONE; k++) {
    const size_t end = (k + 1) * MOST_COMPARED < n ? (k + 1) * MOST_COMPARED : n;

    most[k] = clarke_inner_function(low, reduction, clarke_inner_sliced(low, x, 0, k * MOST_COMPARED, end, err), err);
    if (most[k] == CLARKE_NONE)
      return CLARKE_NONE;
  }
  return x != CLARKE_NONE ? clarke_inner_joined(low, most, parts, 0, err) : x;
}

/* The largest, or smallest, of a value's entries and of 0. */
static size_t
furthest(clarke_lowering *low, size_t value, const char *reduction, const char *op, clarke_error *err)
{
  const clarke_attr flat = clarke_inner_int("keepdims", 0);
  const size_t n = low->graph->values[value].count, x = n > MOST_COMPARED ? of_parts(low, value, reduction, n, err) : value;
  const size_t most = x != CLARKE_NONE ? clarke_inner_node(low, reduction, &x, 1, &flat, 1, err) : x;

  return most != CLARKE_NONE ? clarke_inner_of(low, op, most, clarke_inner_number(low, 0, err), err) : most;
}

/* The scale is (largest - smallest) / 255, 0 being among the entries; the zero point, integers, what the smallest is then less 0, rounded. */
static size_t
quantized(clarke_lowering *low, size_t value, size_t *scale, size_t *zero, clarke_error *err)
{
  const size_t least = furthest(low, value, "ReduceMin", "Min", err), most = furthest(low, value, "ReduceMax", "Max", err);
  const size_t range = least != CLARKE_NONE && most != CLARKE_NONE ? clarke_inner_of(low, "Sub", most, least, err) : CLARKE_NONE;
  size_t y;

  *scale = range != CLARKE_NONE ? clarke_inner_of(low, "Div", range, clarke_inner_number(low, 255, err), err) : range;
  *zero = *scale != CLARKE_NONE ? clarke_inner_function(low, "Neg", least, err) : CLARKE_NONE;
  *zero = *zero != CLARKE_NONE ? clarke_quantized_value(low, *zero, *scale, clarke_inner_number(low, 0, err), 0, 255, err) : *zero;
  y = *zero != CLARKE_NONE ? clarke_whole_as_floats(low, *zero, err) : *zero;
  return y != CLARKE_NONE ? clarke_quantized_value(low, value, *scale, y, 0, 255, err) : y;
}

static clarke_status
check_no_surrogate(const clarke_lowering *low, clarke_error *err)
{
  if (clarke_surrogate_of(low->graph, "QuantizeLinear") != CLARKE_SURROGATE_NONE)
    return clarke_lower_fail(low, err, "a surrogate of QuantizeLinear does not say what passes a scale that is computed");
  return CLARKE_OK;
}

size_t
clarke_dynamic_difference(clarke_lowering *low, size_t value, size_t *scale, clarke_error *err)
{
  size_t zero, y = check_no_surrogate(low, err) == CLARKE_OK ? quantized(low, value, scale, &zero, err) : CLARKE_NONE;

  y = y != CLARKE_NONE ? clarke_whole_as_floats(low, y, err) : y;
  return y != CLARKE_NONE ? clarke_inner_of(low, "Sub", y, clarke_whole_as_floats(low, zero, err), err) : y;
}

static clarke_status
lower_dynamic(clarke_lowering *low, clarke_error *err)
{
  size_t scale, zero, y;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = check_no_surrogate(low, err);
  if (status != CLARKE_OK)
    return status;
  y = quantized(low, low->in[0], &scale, &zero, err);
  status = clarke_inner_done(low, 0, y, err);
  if (status == CLARKE_OK && low->node->n_out > 1 && low->node->out[1][0] != '\0')
    status = clarke_inner_done(low, 1, scale, err);
  if (status == CLARKE_OK && low->node->n_out > 2 && low->node->out[2][0] != '\0')
    status = clarke_inner_done(low, 2, zero, err);
  return status;
}

const clarke_op clarke_ops_qlinear[] = {
  {.name = "QLinearConv", .forms = {{10, 8, 9, 1, CLARKE_WINDOW_ATTRIBUTES " dilations:I group:i"}}, .lower = lower_qlinear_conv,
   .batch = CLARKE_BATCH_ANY, .multiplies = true},
  {.name = "QLinearMatMul", .forms = {{10, 8, 8, 1, NULL}}, .lower = lower_qlinear_matmul, .batch = CLARKE_BATCH_ANY, .multiplies = true},
  {.name = "ConvInteger", .forms = {{10, 2, 4, 1, CLARKE_WINDOW_ATTRIBUTES " dilations:I group:i"}}, .lower = lower_conv_integer,
   .batch = CLARKE_BATCH_ANY, .multiplies = true},
  {.name = "MatMulInteger", .forms = {{10, 2, 4, 1, NULL}}, .lower = lower_matmul_integer, .batch = CLARKE_BATCH_ANY, .multiplies = true},
  {.name = "DynamicQuantizeLinear", .forms = {{11, 1, 1, 3, NULL}}, .lower = lower_dynamic, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
