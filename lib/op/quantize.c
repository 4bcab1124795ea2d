/* QuantizeLinear, DequantizeLinear. An integer q stands for scale (q - zero point); to quantize is to divide, round, and keep within the
 * type's numbers. Both are nodes within the node. */
#include "op/quantize.h"
#include "op/axes.h"
#include "op/float8.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/quotient.h"
#include "op/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Scales and zero points --- */

/* The axes of input i and what a node says of them. */
static clarke_status
read_layout(const clarke_lowering *low, size_t i, clarke_quantized *q, clarke_error *err)
{
  const int64_t axis = clarke_lower_int(low, "axis", 1), block = clarke_lower_int(low, "block_size", 0);
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, i, dims);

  *q = (clarke_quantized){.rank = rank};
  if (rank > CLARKE_MAX_RANK || block < 0 || block > INT32_MAX)
    return clarke_lower_fail(low, err, "more than %d axes, or block_size is below 0, or too large", CLARKE_MAX_RANK);
  q->block = (size_t)block;
  q->axis = axis < 0 ? (size_t)axis + rank : (size_t)axis;
  memcpy(q->dims, dims, rank * sizeof *dims);
  return CLARKE_OK;
}

/* The number that entry e of a constant is. */
static double
number_of(const clarke_value *v, size_t e)
{
  return v->real != NULL ? v->real[e] : (double)v->integer[e];
}

/* A constant of numbers, which no parameter is, that broadcasts to the layout's axes. */
static size_t
spread_constant(clarke_lowering *low, const clarke_quantized *q, size_t i, clarke_error *err)
{
  const clarke_value *v = clarke_lower_value(low, i);
  const char *wrong = clarke_quantized_fits(q, v->rank, v->dims, v->count);
  size_t dims[CLARKE_MAX_RANK], value;

  if (wrong != NULL) {
    clarke_lower_fail(low, err, "%s", wrong);
    return CLARKE_NONE;
  }
  low->graph->values[low->in[i]].bound = low->graph->values[low->in[i]].bound || v->real != NULL;
  if (v->count == 1)
    return clarke_inner_number(low, number_of(v, 0), err);
  for (size_t a = 0; a < q->rank; a++)
    dims[a] = q->block > 0 || a == q->axis ? q->dims[a] : 1;
  if (clarke_lower_made(low, q->rank, dims, &value, err) != CLARKE_OK)
    return CLARKE_NONE;
  v = clarke_lower_value(low, i);
  for (size_t e = 0; e < low->graph->values[value].count; e++)
    low->graph->values[value].real[e] = number_of(v, q->block > 0 ? clarke_quantized_entry(q, v->count, e) : e);
  return value;
}

size_t
clarke_whole_as_floats(clarke_lowering *low, size_t value, clarke_error *err)
{
  const clarke_attr to = clarke_inner_int("to", 1);

  if (value == CLARKE_NONE || low->graph->values[value].holds == CLARKE_HOLDS_FLOATS || low->graph->values[value].holds == CLARKE_HOLDS_TRUTHS)
    return value;
  return clarke_inner_node(low, "Cast", &value, 1, &to, 1, err);
}

/* An activation that is the same for all samples, of one entry or of one for each place along the axis. */
static size_t
spread_activation(clarke_lowering *low, const clarke_quantized *q, size_t i, clarke_error *err)
{
  const clarke_value *v = clarke_lower_value(low, i);
  int64_t dims[CLARKE_MAX_RANK];
  const char *wrong = clarke_quantized_fits(q, v->rank, v->dims, v->count);

  if (q->block > 0 && wrong == NULL)
    wrong = "blocks have scales that are computed of activations";
  if (low->graph->batched && !v->batch.none)
    wrong = "its scale or zero point is not the same for all samples";
  if (wrong != NULL) {
    clarke_lower_fail(low, err, "%s", wrong);
    return CLARKE_NONE;
  }
  for (size_t a = 0; a < q->rank; a++)
    dims[a] = v->count > 1 && a == q->axis ? (int64_t)q->dims[a] : 1;
  return clarke_inner_reshaped(low, clarke_whole_as_floats(low, low->in[i], err), dims, v->count > 1 ? q->rank : 0, err);
}

/* Is every entry of a constant above 0? */
static bool
is_positive(const clarke_value *v)
{
  bool all = true;

  for (size_t e = 0; e < v->count && all; e++)
    all = v->real[e] > 0;
  return all;
}

size_t
clarke_quantized_scale(clarke_lowering *low, const clarke_quantized *q, size_t i, clarke_error *err)
{
  if (!clarke_lower_has(low, i)) {
    clarke_lower_fail(low, err, "input %zu, a scale, is missing", i);
    return CLARKE_NONE;
  }
  if (!clarke_lower_value(low, i)->constant)
    return spread_activation(low, q, i, err);
  if (clarke_lower_constant(low, i, err) != CLARKE_OK)
    return CLARKE_NONE;
  if (!is_positive(clarke_lower_value(low, i))) {
    clarke_lower_fail(low, err, "input %zu, a scale, is not above 0", i);
    return CLARKE_NONE;
  }
  return spread_constant(low, q, i, err);
}

/* Is the zero point, input i, a constant of floats of 8 bits that are all 0? It is no parameter. */
static bool
is_float8_zero(clarke_lowering *low, size_t i)
{
  clarke_value *v = clarke_lower_has(low, i) ? &low->graph->values[low->in[i]] : NULL;
  const bool zero = v != NULL && v->constant && clarke_float8_zero(v->dtype, v->real, v->count);

  if (zero)
    v->bound = true;
  return zero;
}

size_t
clarke_quantized_shift(clarke_lowering *low, const clarke_quantized *q, size_t i, clarke_error *err)
{
  if (!clarke_lower_has(low, i) || is_float8_zero(low, i))
    return clarke_inner_number(low, 0, err);
  if (!clarke_lower_value(low, i)->constant)
    return spread_activation(low, q, i, err);
  if (clarke_lower_value(low, i)->integer == NULL) {
    clarke_lower_fail(low, err, "input %zu, a zero point, holds no integers", i);
    return CLARKE_NONE;
  }
  return spread_constant(low, q, i, err);
}

/* --- Types --- */

static const struct {
  int64_t code; /* in files */
  int bits;
  bool negative;
} types[] = {{2, 8, false}, {3, 8, true}, {4, 16, false}, {5, 16, true}, {21, 4, false}, {22, 4, true}, {25, 2, false}, {26, 2, true}};

#define N_TYPES (sizeof types / sizeof *types)

static int64_t
code_of(clarke_dtype dtype)
{
  static const int64_t code[] = {[CLARKE_U8] = 2, [CLARKE_I8] = 3, [CLARKE_U16] = 4, [CLARKE_I16] = 5, [CLARKE_U4] = 21,
                                 [CLARKE_I4] = 22, [CLARKE_U2] = 25, [CLARKE_I2] = 26};

  return (size_t)dtype < sizeof code / sizeof *code ? code[dtype] : 0;
}

/* The type that it makes: the zero point's (input i), or the attribute's, or uint8. */
clarke_status
clarke_quantized_range(const clarke_lowering *low, size_t i, double *least, double *most, clarke_error *err)
{
  const clarke_value *zero = clarke_lower_has(low, i) ? clarke_lower_value(low, i) : NULL;
  const int64_t named = clarke_lower_int(low, "output_dtype", 0);
  int64_t code = zero != NULL ? code_of(zero->dtype) : named != 0 ? named : 2;
  size_t t = 0;

  if (zero != NULL && !zero->constant)
    return clarke_lower_fail(low, err, "its zero point is computed of activations");
  while (t < N_TYPES && types[t].code != code)
    t++;
  if (t == N_TYPES || (named != 0 && named != code))
    return clarke_lower_fail(low, err, "it makes neither integers of 2, 4, 8 or 16 bits nor floats of 8, or its zero point is of another type");
  *least = types[t].negative ? -ldexp(1, types[t].bits - 1) : 0;
  *most = ldexp(1, types[t].bits - types[t].negative) - 1;
  return CLARKE_OK;
}

/* --- Values --- */

size_t
clarke_compared(clarke_lowering *low, const char *comparison, size_t value, double number, clarke_error *err)
{
  const clarke_attr to = clarke_inner_int("to", 1);
  const size_t truth = clarke_inner_of(low, comparison, value, clarke_inner_number(low, number, err), err);

  return truth != CLARKE_NONE ? clarke_inner_node(low, "Cast", &truth, 1, &to, 1, err) : truth;
}

/* What is above 0 of a value of whole numbers: where that is at 0, both are the same, and as nothing moves whole numbers nothing jumps. */
static size_t
above_zero(clarke_lowering *low, size_t value, clarke_error *err)
{
  return clarke_inner_of(low, "Mul", value, clarke_compared(low, "Greater", value, 0, err), err);
}

size_t
clarke_saturated(clarke_lowering *low, size_t value, double least, double most, clarke_error *err)
{
  const size_t over = above_zero(low, clarke_inner_of(low, "Sub", value, clarke_inner_number(low, most, err), err), err);
  const size_t within = clarke_inner_of(low, "Sub", value, over, err);
  const size_t under = above_zero(low, clarke_inner_of(low, "Sub", clarke_inner_number(low, least, err), within, err), err);

  return clarke_inner_of(low, "Add", within, under, err);
}

/* 0 or 1 where all of a constant's numbers are even, or odd; else 2. */
static unsigned
parity_of(const clarke_value *v)
{
  const unsigned parity = v->constant ? fmod(v->real[0], 2) != 0 : 2;

  for (size_t e = 1; parity < 2 && e < v->count; e++)
    if ((fmod(v->real[e], 2) != 0) != parity)
      return 2;
  return parity;
}

size_t
clarke_surrogate_passed(clarke_lowering *low, size_t u, clarke_surrogate rule, double least, double most, clarke_error *err)
{
  const double end[2] = {least, most}, beyond[2] = {least - 0.5, most + 0.5};
  const bool both[2] = {true, true}, even[2] = {fmod(least, 2) == 0, fmod(most, 2) == 0};

  if (rule == CLARKE_SURROGATE_RANGE)
    return clarke_surrogate_between(low, u, end, both, err);
  return rule == CLARKE_SURROGATE_ROUNDED ? clarke_surrogate_between(low, u, beyond, even, err) : u;
}

/* A quotient's surrogate. Halves are rounded to the even whole number before the zero point is added: where that is odd, u - 1 is rounded
 * to the even one. */
static size_t
passed(clarke_lowering *low, size_t u, size_t shift, double least, double most, clarke_error *err)
{
  const clarke_surrogate rule = clarke_surrogate_of(low->graph, "QuantizeLinear");
  const unsigned parity = rule == CLARKE_SURROGATE_ROUNDED ? parity_of(&low->graph->values[shift]) : 0;

  if (rule == CLARKE_SURROGATE_ALL)
    return u;
  if (parity == 2) {
    clarke_lower_fail(low, err, "surrogate QuantizeLinear rounded: its zero points are even and odd, or computed of activations");
    return CLARKE_NONE;
  }
  u = clarke_inner_of(low, "Add", u, shift, err);
  u = parity == 1 ? clarke_inner_of(low, "Add", u, clarke_inner_number(low, -1, err), err) : u;
  return clarke_surrogate_passed(low, u, rule, least - parity, most - parity, err);
}

size_t
clarke_quantized_value(clarke_lowering *low, size_t x, size_t scale, size_t shift, double least, double most, clarke_error *err)
{
  const bool straight = clarke_surrogate_of(low->graph, "QuantizeLinear") != CLARKE_SURROGATE_NONE;
  const size_t u = clarke_inner_of(low, "Div", x, scale, err), held = straight ? clarke_surrogate_held(low, u, err) : u;
  const size_t r = held != CLARKE_NONE ? clarke_lower_inside(low, CLARKE_ROUND, held, err) : held;
  size_t y = clarke_saturated(low, clarke_inner_of(low, "Add", r, shift, err), least, most, err);

  if (straight && y != CLARKE_NONE)
    y = clarke_surrogate_straight(low, passed(low, u, shift, least, most, err), y, err);

  if (y != CLARKE_NONE)
    low->graph->values[y].holds = CLARKE_HOLDS_INTEGERS;
  return y;
}

/* x / scale, rounded to floats of 8 bits. */
static size_t
float8_value(clarke_lowering *low, size_t scale, clarke_dtype type, clarke_error *err)
{
  if (clarke_lower_has(low, 2) && !is_float8_zero(low, 2)) {
    clarke_lower_fail(low, err, "input 2, a zero point of floats of 8 bits, is not 0");
    return CLARKE_NONE;
  }
  if (clarke_lower_int(low, "saturate", 1) == 0) {
    clarke_lower_fail(low, err, "saturate is 0: numbers beyond the largest become no numbers");
    return CLARKE_NONE;
  }
  return clarke_float8_quantized(low, clarke_inner_of(low, "Div", low->in[0], scale, err), type, err);
}

static clarke_status
lower_quantize(clarke_lowering *low, clarke_error *err)
{
  const clarke_dtype type = clarke_float8_made(low, 2);
  clarke_quantized q;
  double least = 0, most = 0;
  size_t scale, shift;
  clarke_status status = clarke_float8_is(type) ? CLARKE_OK : clarke_quantized_range(low, 2, &least, &most, err);

  if (status == CLARKE_OK)
    status = clarke_lower_first(low, err);
  if (status == CLARKE_OK)
    status = read_layout(low, 0, &q, err);
  if (status != CLARKE_OK)
    return status;
  low->in[0] = clarke_whole_as_floats(low, low->in[0], err);
  scale = low->in[0] != CLARKE_NONE ? clarke_quantized_scale(low, &q, 1, err) : CLARKE_NONE;
  if (clarke_float8_is(type))
    return clarke_inner_done(low, 0, scale != CLARKE_NONE ? float8_value(low, scale, type, err) : scale, err);
  shift = scale != CLARKE_NONE ? clarke_quantized_shift(low, &q, 2, err) : CLARKE_NONE;
  return clarke_inner_done(low, 0, shift != CLARKE_NONE ? clarke_quantized_value(low, low->in[0], scale, shift, least, most, err) : shift, err);
}

/* A constant of constants, which no parameter is. */
static clarke_status
dequantize_constants(clarke_lowering *low, const clarke_quantized *q, clarke_error *err)
{
  const clarke_value *x = clarke_lower_value(low, 0), *scale, *zero = NULL;
  const char *wrong;
  size_t value;

  if (x->initializer)
    return clarke_lower_fail(low, err, "stored integers that are weights have a scale and a zero point among the initializers and Constant "
                                       "nodes, of fitting shapes, and floats that are 0 or normal numbers");
  for (size_t i = 1; i < low->n_in; i++) {
    const clarke_value *v = clarke_lower_has(low, i) ? clarke_lower_value(low, i) : NULL;

    wrong = v != NULL ? clarke_quantized_fits(q, v->rank, v->dims, v->count) : NULL;
    if (wrong == NULL && i == 2 && is_float8_zero(low, 2))
      continue;
    if (wrong != NULL || (v != NULL && (i == 1 ? v->real : NULL) == NULL && v->integer == NULL))
      return clarke_lower_fail(low, err, "%s", wrong != NULL ? wrong : "its zero point holds no integers");
    if (v != NULL && v->real != NULL)
      low->graph->values[low->in[i]].bound = true;
  }
  if (!clarke_lower_affordable(low->graph, x->count))
    return clarke_lower_too_large(low, err);
  if (clarke_lower_made(low, q->rank, q->dims, &value, err) != CLARKE_OK)
    return clarke_inner_failed(err);
  x = clarke_lower_value(low, 0);
  scale = clarke_lower_value(low, 1);
  zero = clarke_lower_has(low, 2) && !is_float8_zero(low, 2) ? clarke_lower_value(low, 2) : NULL;
  low->graph->values[value].dtype = scale->dtype;
  for (size_t e = 0; e < x->count; e++) {
    const double y = clarke_dequantized(number_of(x, e), zero != NULL ? zero->integer[clarke_quantized_entry(q, zero->count, e)] : 0,
                                        scale->real[clarke_quantized_entry(q, scale->count, e)], scale->dtype);

    if (isnan(y))
      return clarke_lower_fail(low, err, "entry %zu is neither 0 nor a normal number of its type, or rounded twice", e);
    low->graph->values[value].real[e] = y;
  }
  return clarke_lower_done(low, value, err);
}

/* Input i, a constant of integers, as numbers that no parameter is, less a zero point that is one, too. */
static size_t
stored_numbers(clarke_lowering *low, const clarke_quantized *q, size_t i, size_t zero, clarke_error *err)
{
  const clarke_value *x = clarke_lower_value(low, i), *z;
  size_t value;

  if (!clarke_lower_affordable(low->graph, x->count / (low->graph->samples != 0 ? low->graph->samples : 1))) {
    clarke_lower_too_large(low, err);
    return CLARKE_NONE;
  }
  if (clarke_lower_made(low, q->rank, q->dims, &value, err) != CLARKE_OK)
    return CLARKE_NONE;
  x = clarke_lower_value(low, i);
  z = zero != CLARKE_NONE ? &low->graph->values[zero] : NULL;
  for (size_t e = 0; e < x->count; e++)
    low->graph->values[value].real[e]
        = number_of(x, e) - (z != NULL ? (double)z->integer[clarke_quantized_entry(q, z->count, e)] : 0);
  return value;
}

size_t
clarke_quantized_difference(clarke_lowering *low, const clarke_quantized *q, size_t i, size_t zero, clarke_error *err)
{
  const bool stored = clarke_lower_value(low, i)->constant, shifted = clarke_lower_has(low, zero);
  const size_t shift = clarke_quantized_shift(low, q, zero, err);
  size_t x = low->in[i];

  if (shift == CLARKE_NONE)
    return shift;
  if (stored && (!shifted || low->graph->values[shift].constant))
    return stored_numbers(low, q, i, shifted && !is_float8_zero(low, zero) ? low->in[zero] : CLARKE_NONE, err);
  x = stored ? stored_numbers(low, q, i, CLARKE_NONE, err) : clarke_whole_as_floats(low, x, err);
  return clarke_inner_of(low, "Sub", x, shift, err);
}

static clarke_status
lower_dequantize(clarke_lowering *low, clarke_error *err)
{
  const clarke_value *x = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;
  clarke_quantized q;
  size_t scale, y;
  clarke_status status = CLARKE_OK;

  if (x == NULL || (x->constant ? !clarke_dequantizes(x->dtype) : x->holds != CLARKE_HOLDS_INTEGERS && x->holds != CLARKE_HOLDS_FLOAT8)
      || clarke_lower_int(low, "output_dtype", 0) != 0)
    return clarke_lower_fail(low, err, "input 0 holds no integers or floats of 8 bits, of a type that is read, or output_dtype is given");
  status = read_layout(low, 0, &q, err);
  if (status != CLARKE_OK)
    return status;
  if (x->constant && clarke_lower_has(low, 1) && clarke_lower_value(low, 1)->constant
      && (!clarke_lower_has(low, 2) || clarke_lower_value(low, 2)->constant))
    return dequantize_constants(low, &q, err);
  scale = clarke_quantized_scale(low, &q, 1, err);
  y = scale != CLARKE_NONE ? clarke_quantized_difference(low, &q, 0, 2, err) : scale;
  return clarke_inner_done(low, 0, clarke_inner_of(low, "Mul", y, scale, err), err);
}

const clarke_op clarke_ops_quantize[] = {
  {.name = "QuantizeLinear",
   .forms = {{10, 2, 3, 1, NULL}, {13, 2, 3, 1, "axis:i saturate:b"}, {21, 2, 3, 1, "axis:i block_size:i output_dtype:i precision:i saturate:b"}},
   .lower = lower_quantize, .batch = CLARKE_BATCH_ANY},
  {.name = "DequantizeLinear",
   .forms = {{10, 2, 3, 1, NULL}, {13, 2, 3, 1, "axis:i"}, {21, 2, 3, 1, "axis:i block_size:i output_dtype:i"}},
   .lower = lower_dequantize, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
