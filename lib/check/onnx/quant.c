/* x / scale + zero point, rounded, no more than so many bits have; that less the zero point, times the scale. */
#include "check/onnx/quant.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"
#include "check/onnx/quantize.h"
#include "check/onnx/surrogate.h"

#include <string.h>
#include <strings.h>

#define MOST_BITS 32

/* Input i: the numbers of a constant, which no parameter is, or an activation. */
static value
scale_input(builder *b, size_t i, bool above)
{
  const value *v = &b->in[i];
  need(has_input(b, i), "a scale or a zero point is missing");
  if (v->constant == NULL)
    return *v;
  need(v->constant->real && !is_odd(v), "a scale or a zero point of no floats");
  value y = made_numbers(b, v->rank, v->dims);
  for (size_t e = 0; e < y.count; e++) {
    mpq_set(&y.constant->value[e], &v->constant->value[v->map[e]]);
    need(!above || mpq_sgn(&y.constant->value[e]) > 0, "a scale is not above 0");
  }
  v->constant->number = true;
  return y;
}

/* 1 where x is not below 0, and -1 where it is. */
static value
sign_of(builder *b, value x)
{
  value below = with(b, "Less", x, whole_number(b, 0));
  below = inner_node(b, "Cast", 1, &below, inner_whole("to", FLOAT));
  return with(b, "Add", with(b, "Mul", below, whole_number(b, -2)), whole_number(b, 1));
}

static const char *
rounding_of(const builder *b)
{
  static const char *const modes[][2] = {
      {"ROUND", "Round"}, {"HALF_EVEN", "Round"}, {"FLOOR", "Floor"}, {"CEIL", "Ceil"}};
  const char *mode = text_attribute(b, "rounding_mode", "ROUND"), *op = NULL;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (strcasecmp(modes[i][0], mode) == 0)
      op = modes[i][1];
  need(op != NULL, "its rounding_mode is not ROUND, HALF_EVEN, FLOOR or CEIL");
  return op;
}

static long
bits_of(const builder *b)
{
  const value *v = &b->in[3];
  need(has_input(b, 3) && v->constant != NULL && v->count == 1 && !is_odd(v), "its bit width is no constant number");
  const rational *q = &v->constant->value[v->map[0]];
  need(mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpq_sgn(q) > 0 && mpq_cmp_ui(q, MOST_BITS, 1) <= 0,
       "its bit width is no whole number, or too large");
  v->constant->number = v->constant->number || v->constant->real;
  return mpz_get_si(mpq_numref(q));
}

void
lower_quant(builder *b)
{
  surrogate_rule rule = surrogate_of(b->m, "Quant");
  const char *round = rounding_of(b);
  long bits = bits_of(b), half = 1L << (bits - 1), narrow = whole_attribute(b, "narrow", 0);
  bool negative = whole_attribute(b, "signed", 1) != 0, sign = bits == 1 && negative;
  ends to = sign ? (ends){-1, 1} : negative ? (ends){narrow - half, half - 1} : (ends){0, 2 * half - 1 - narrow};
  need(b->in[0].constant == NULL, "its input must be an activation");
  need(rule != PASSES_ROUNDED || (!sign && strcmp(round, "Round") == 0),
       "surrogate Quant rounded: it does not round to the nearest number");
  value scale = scale_input(b, 1, true), shift = scale_input(b, 2, false);
  value u = with(b, "Add", with(b, "Div", b->in[0], scale), shift);
  value x = rule != PASSES_NOTHING ? held(b, u) : u;
  value y = sign ? sign_of(b, x) : saturated(b, inner_of(b, round, &x, NULL), to);
  if (rule != PASSES_NOTHING)
    y = straight(b, passes_within(b, u, rule, to), y);
  b->out = with(b, "Mul", with(b, "Sub", y, shift), scale);
}

void
lower_bipolar(builder *b)
{
  surrogate_rule rule = surrogate_of(b->m, "BipolarQuant");
  need(b->in[0].constant == NULL, "its input must be an activation");
  value x = b->in[0], scale = scale_input(b, 1, true), y = sign_of(b, rule != PASSES_NOTHING ? held(b, x) : x);
  if (rule == PASSES_RANGE)
    x = with(b, "Mul", between(b, with(b, "Div", x, scale), &minus_one, &plus_one, true, true), scale);
  if (rule != PASSES_NOTHING)
    y = straight(b, x, y);
  b->out = with(b, "Mul", y, scale);
}
