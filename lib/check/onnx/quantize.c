/* To quantize is to divide by the scale, round, add the zero point, and keep what comes within the type's numbers. */
#include "check/onnx/quantize.h"
#include "check/base/allocate.h"
#include "check/files/dequantize.h"
#include "check/onnx/float8.h"
#include "check/onnx/inner.h"
#include "check/onnx/surrogate.h"

#include <string.h>

value
whole_number(const builder *b, long n)
{
  value v = made_numbers(b, 0, (size_t[]){0});
  mpq_set_si(v.constant->value, n, 1);
  return v;
}

value
as_floats(builder *b, value x)
{
  return x.constant == NULL && (x.holds == HOLDS_INTEGERS || x.holds == HOLDS_FLOAT8)
             ? inner_node(b, "Cast", 1, &x, inner_whole("to", FLOAT))
             : x;
}

/* ---- Scales */

static scale_layout
layout_of(const builder *b, const value *x)
{
  long axis = whole_attribute(b, "axis", 1), block = whole_attribute(b, "block_size", 0);
  need(block >= 0 && block <= INT32_MAX, "block_size is below 0, or too large");
  return (scale_layout){x->rank, x->dims, (size_t)(axis < 0 ? axis + (long)x->rank : axis), (size_t)block};
}

/* Input i as numbers that broadcast to the axes. */
static value
spread_numbers(const builder *b, const scale_layout *l, size_t i)
{
  const value *v = &b->in[i];
  size_t dims[MAX_RANK];
  v->constant->number = v->constant->number || v->constant->real;
  for (size_t a = 0; a < l->rank; a++)
    dims[a] = l->block > 0 || a == l->axis ? l->dims[a] : 1;
  value y = made_numbers(b, v->count == 1 ? 0 : l->rank, dims);
  for (size_t e = 0; e < y.count; e++) {
    size_t from = v->count == 1 ? 0 : l->block > 0 ? scale_of(l, v->count, e) : e;
    mpq_set(&y.constant->value[e], &v->constant->value[v->map[from]]);
  }
  return y;
}

static value
spread_activation(builder *b, const scale_layout *l, size_t i)
{
  value v = b->in[i];
  long dims[MAX_RANK];
  need(l->block == 0 && !is_batch(b, &v), "a scale or zero point that is computed has blocks, or the batch's axis");
  for (size_t a = 0; a < l->rank; a++)
    dims[a] = v.count > 1 && a == l->axis ? (long)l->dims[a] : 1;
  v = as_floats(b, v);
  return inner_node(b, "Reshape", 2, (value[]){v, list_of(b, v.count > 1 ? l->rank : 0, dims)}, NULL);
}

/* Is input i a constant zero point of floats of 8 bits? It is no parameter. */
static bool
is_float8_zero(const builder *b, size_t i)
{
  tensor *t = has_input(b, i) ? b->in[i].constant : NULL;
  bool nought = t != NULL && float8_zero(t);
  if (nought)
    t->number = true;
  return nought;
}

value
spread_input(builder *b, const scale_layout *l, size_t i, bool shift)
{
  const value *v = &b->in[i];
  if (shift && (!has_input(b, i) || is_float8_zero(b, i)))
    return whole_number(b, 0);
  need(has_input(b, i) && scales_fit(l, v->rank, v->dims), "a scale is missing, or does not fit the axes");
  if (v->constant == NULL)
    return spread_activation(b, l, i);
  need(v->constant->real != shift && !is_odd(v), "a scale of no floats, or a zero point of no integers");
  for (size_t e = 0; e < v->count && !shift; e++)
    need(mpq_sgn(&v->constant->value[v->map[e]]) > 0, "a scale is not above 0");
  return spread_numbers(b, l, i);
}

/* ---- Quantized */

ends
ends_of(const builder *b, size_t i)
{
  static const signed char bits[27] = {
      [2] = 8, [3] = -8, [4] = 16, [5] = -16, [21] = 4, [22] = -4, [25] = 2, [26] = -2};
  long named = whole_attribute(b, "output_dtype", 0), type = named != 0 ? named : UINT8;
  if (has_input(b, i)) {
    need(b->in[i].constant != NULL, "its zero point is computed of activations");
    type = (long)b->in[i].constant->type;
  }
  need(type > 0 && type < 27 && bits[type] != 0 && (named == 0 || named == type),
       "no integers of 2, 4, 8 or 16 bits, or a zero point of another type");
  long half = 1L << ((bits[type] < 0 ? -bits[type] : bits[type]) - 1);
  return bits[type] < 0 ? (ends){-half, half - 1} : (ends){0, 2 * half - 1};
}

/* What is above 0: of a whole number, which nothing moves. */
static value
above_zero(builder *b, value x)
{
  value share = with(b, "Greater", x, whole_number(b, 0));
  return with(b, "Mul", x, inner_node(b, "Cast", 1, &share, inner_whole("to", FLOAT)));
}

value
saturated(builder *b, value x, ends to)
{
  value within = with(b, "Sub", x, above_zero(b, with(b, "Sub", x, whole_number(b, to.most))));
  return with(b, "Add", within, above_zero(b, with(b, "Sub", whole_number(b, to.least), within)));
}

/* Are all of a constant's numbers even, or all odd? Which; the whole number is rounded before it is added. */
static long
parity_of(const builder *b, const value *shift)
{
  need(shift->constant != NULL, "surrogate rounded: a zero point that is computed");
  long odd = mpz_odd_p(mpq_numref(&shift->constant->value[shift->map[0]]));
  for (size_t e = 1; e < shift->count; e++)
    need(odd == mpz_odd_p(mpq_numref(&shift->constant->value[shift->map[e]])),
         "surrogate rounded: zero points even and odd");
  return odd;
}

value
passes_within(builder *b, value u, surrogate_rule rule, ends to)
{
  INTERVAL(end);
  bool range = rule == PASSES_RANGE;
  if (rule == PASSES_ALL)
    return u;
  mpq_set_si(&end.lo, 2 * to.least - !range, 2);
  mpq_set_si(&end.hi, 2 * to.most + !range, 2);
  mpq_canonicalize(&end.lo);
  mpq_canonicalize(&end.hi);
  return between(b, u, &end.lo, &end.hi, range || to.least % 2 == 0, range || to.most % 2 == 0);
}

/* What of the quotient u AD passes. */
static value
passed(builder *b, value u, value shift, ends to)
{
  surrogate_rule rule = surrogate_of(b->m, "QuantizeLinear");
  if (rule == PASSES_ALL)
    return u;
  long odd = rule == PASSES_ROUNDED ? parity_of(b, &shift) : 0;
  u = with(b, "Add", u, shift);
  if (odd != 0)
    u = with(b, "Add", u, whole_number(b, -1));
  return passes_within(b, u, rule, (ends){to.least - odd, to.most - odd});
}

value
quantized(builder *b, value x, value scale, value shift, ends to)
{
  bool passes = surrogate_of(b->m, "QuantizeLinear") != PASSES_NOTHING;
  value u = with(b, "Div", x, scale), y = passes ? held(b, u) : u;
  put_function(b, F_ROUND, &y);
  y = b->out;
  y.name = "";
  y = saturated(b, with(b, "Add", y, shift), to);
  if (passes)
    y = straight(b, passed(b, u, shift, to), y);
  y.holds = HOLDS_INTEGERS;
  return y;
}

/* The type of floats of 8 bits that is made; 0: it is none. */
static size_t
float8_made(const builder *b)
{
  long named = whole_attribute(b, "output_dtype", 0);
  size_t type = has_input(b, 2) && b->in[2].constant != NULL ? b->in[2].constant->type : named > 0 ? (size_t)named : 0;
  if (!is_float8(type))
    return 0;
  need(named == 0 || (size_t)named == type, "a zero point of another type");
  need(!has_input(b, 2) || is_float8_zero(b, 2), "a zero point of floats of 8 bits that is not 0");
  need(whole_attribute(b, "saturate", 1) != 0, "saturate is 0");
  return type;
}

void
lower_quantize(builder *b)
{
  size_t float8 = float8_made(b);
  ends to = float8 == 0 ? ends_of(b, 2) : (ends){0, 0};
  scale_layout l = layout_of(b, &b->in[0]);
  need(b->in[0].constant == NULL, "its input must be an activation");
  value x = as_floats(b, b->in[0]), scale = spread_input(b, &l, 1, false), shift = spread_input(b, &l, 2, true);
  b->out = float8 != 0 ? float8_quantized(b, with(b, "Div", x, scale), float8) : quantized(b, x, scale, shift, to);
}

/* ---- Dequantized */

/* A constant of constants, which no parameter is. */
static void
dequantize_numbers(builder *b, const scale_layout *l)
{
  const value *x = &b->in[0], *scale = &b->in[1], *shift = has_input(b, 2) && !is_float8_zero(b, 2) ? &b->in[2] : NULL;
  need(!is_initializer(b->m, b->node->in[0]),
       "stored integers have a scale that is not stored, or does not fit, or floats that are not normal");
  for (size_t i = 1; i < b->node->n_in; i++)
    if (has_input(b, i)) {
      const tensor *t = b->in[i].constant;
      need(t != NULL && (t->real == (i == 1) || is_float8_zero(b, i)) && scales_fit(l, b->in[i].rank, b->in[i].dims)
               && !is_odd(&b->in[i]),
           "a scale or zero point is no constant, or does not fit the axes");
      b->in[i].constant->number = t->number || t->real;
    }
  value y = made_numbers(b, x->rank, x->dims);
  y.constant->type = scale->constant->type;
  for (size_t e = 0; e < y.count; e++) {
    rational *q = &y.constant->value[e];
    mpq_set(q, &x->constant->value[x->map[e]]);
    const rational *s = &scale->constant->value[scale->map[scale_of(l, scale->count, e)]];
    const rational *z = shift != NULL ? &shift->constant->value[shift->map[scale_of(l, shift->count, e)]] : NULL;
    need(dequantized(q, z, s, y.constant->type), "a number that is neither 0 nor normal, or rounded twice");
  }
  b->net->read[STORED] = true;
  b->out = y;
}

value
difference(builder *b, const scale_layout *l, size_t i, size_t origin)
{
  const value *x = &b->in[i], *z = &b->in[origin];
  value shift = spread_input(b, l, origin, true);
  if (x->constant == NULL)
    return with(b, "Sub", as_floats(b, *x), shift);
  value stored = made_numbers(b, x->rank, x->dims);
  bool given = has_input(b, origin) && z->constant != NULL && !is_float8_zero(b, origin);
  for (size_t e = 0; e < stored.count; e++) {
    rational *q = &stored.constant->value[e];
    mpq_set(q, &x->constant->value[x->map[e]]);
    if (given)
      mpq_sub(q, q, &z->constant->value[z->map[scale_of(l, z->count, e)]]);
  }
  return shift.constant != NULL ? stored : with(b, "Sub", stored, shift);
}

void
lower_dequantize(builder *b)
{
  value *x = &b->in[0];
  if (b->node->promoted) {
    b->in[1].constant->number = true;
    b->out = *find(b, b->node->out[0]);
    return;
  }
  need(has_input(b, 0)
           && (x->constant != NULL ? dequantizes(x->constant->type)
                                   : x->holds == HOLDS_INTEGERS || x->holds == HOLDS_FLOAT8)
           && whole_attribute(b, "output_dtype", 0) == 0,
       "its input holds no integers or floats of 8 bits, or output_dtype is given");
  scale_layout l = layout_of(b, x);
  bool moves = (has_input(b, 1) && b->in[1].constant == NULL) || (has_input(b, 2) && b->in[2].constant == NULL);
  if (x->constant != NULL && !moves) {
    dequantize_numbers(b, &l);
    return;
  }
  value scale = spread_input(b, &l, 1, false);
  b->out = with(b, "Mul", difference(b, &l, 0, 2), scale);
}
