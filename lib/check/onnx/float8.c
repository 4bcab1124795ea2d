/* For each positive number s of the type there is a gap below it, and one above -s, as wide. What is beyond the middle of a gap has its
 * width more; in the middle itself it has so if that leads to the even number. */
#include "check/onnx/float8.h"
#include "check/base/allocate.h"
#include "check/files/tensors.h"
#include "check/onnx/inner.h"
#include "check/onnx/surrogate.h"

#define MOST_CODE 0x7f

/* Number `code`, and the middle of the gap below it; false: there is no such number. */
static bool
gap_below(rational *middle, rational *width, size_t type, unsigned code)
{
  RATIONAL(below);
  if (!float8_number(middle, type, code) || !float8_number(&below, type, code - 1))
    return false;
  mpq_sub(width, middle, &below);
  mpq_add(middle, middle, &below);
  mpq_div_2exp(middle, middle, 1);
  return true;
}

static unsigned
largest(size_t type)
{
  RATIONAL(q);
  unsigned code = MOST_CODE;
  while (!float8_number(&q, type, code))
    code--;
  return code;
}

void
float8_nearest(rational *q, size_t type)
{
  RATIONAL(middle);
  RATIONAL(width);
  int sign = mpq_sgn(q);
  unsigned code = 0;
  mpq_abs(q, q);
  while (gap_below(&middle, &width, type, code + 1)
         && mpq_cmp(q, &middle) >= (code % 2 == 0)) /* an odd number gives way in the middle */
    code++;
  float8_number(q, type, code);
  if (sign < 0)
    mpq_neg(q, q);
}

/* The gaps of which u, with one more axis, is beyond the middle: the sum of their widths. inclusive: or in it. */
static value
beyond(builder *b, value u, size_t type, bool inclusive)
{
  unsigned most = largest(type);
  size_t n = 0;
  value middles = made_numbers(b, 1, (size_t[]){most}), widths = made_numbers(b, 2, (size_t[]){most, 1});
  RATIONAL(middle);
  RATIONAL(width);
  for (unsigned code = 1; code <= most; code++) { /* of a gap and its mirror image one leads up to the even number */
    gap_below(&middle, &width, type, code);
    if ((code % 2 == 0) != inclusive)
      mpq_neg(&middle, &middle);
    mpq_set(&middles.constant->value[n], &middle);
    mpq_set(&widths.constant->value[n++], &width);
  }
  value truth = with(b, inclusive ? "GreaterOrEqual" : "Greater", u, middles);
  return with(b, "MatMul", inner_node(b, "Cast", 1, &truth, inner_whole("to", FLOAT)), widths);
}

/* What AD passes: all, what is in the range, or what is rounded to a number in it if there were larger ones. */
static value
passed(builder *b, value u, size_t type)
{
  surrogate_rule rule = surrogate_of(b->m, "QuantizeLinear");
  unsigned most = largest(type);
  INTERVAL(end);
  RATIONAL(middle);
  RATIONAL(width);
  bool at_end = rule == PASSES_RANGE || most % 2 == 0;
  if (rule == PASSES_ALL)
    return u;
  gap_below(&middle, &width, type, most);
  float8_number(&end.hi, type, most);
  mpq_div_2exp(&width, &width, 1);
  if (rule != PASSES_RANGE)
    mpq_add(&end.hi, &end.hi, &width);
  mpq_neg(&end.lo, &end.hi);
  return between(b, u, &end.lo, &end.hi, at_end, at_end);
}

value
float8_quantized(builder *b, value u, size_t type)
{
  bool passes = surrogate_of(b->m, "QuantizeLinear") != PASSES_NOTHING;
  value last = list_of(b, 1, (long[]){-1}), least = made_numbers(b, 0, (size_t[]){0});
  value column = with(b, "Unsqueeze", passes ? held(b, u) : u, last);
  value y = with(b, "Add", beyond(b, column, type, true), beyond(b, column, type, false));
  float8_number(least.constant->value, type, 0x80 + largest(type));
  y = with(b, "Add", with(b, "Squeeze", y, last), least);
  if (passes)
    y = straight(b, passed(b, u, type), y);
  y.holds = HOLDS_FLOAT8;
  return y;
}
