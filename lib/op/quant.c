/* Quant and BipolarQuant of QONNX, as Brevitas, FINN and hls4ml have them: x / scale + zero point, rounded within so many bits, and that
 * as a float again. */
#include "op/lower.h"
#include "op/node.h"
#include "op/quantize.h"
#include "op/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_BITS 32

/* Input i, a constant of floats, as numbers that no parameter is; or the activation that it is. */
static size_t
take(clarke_lowering *low, size_t i, bool positive, clarke_error *err)
{
  const clarke_value *v = clarke_lower_has(low, i) ? clarke_lower_value(low, i) : NULL;
  size_t dims[CLARKE_MAX_RANK], value;
  bool all = true;

  if (v != NULL && !v->constant)
    return low->in[i];
  if (clarke_lower_constant(low, i, err) != CLARKE_OK)
    return CLARKE_NONE;
  for (size_t e = 0; e < v->count && positive && all; e++)
    all = v->real[e] > 0;
  if (!all) {
    clarke_lower_fail(low, err, "input %zu, a scale, is not above 0", i);
    return CLARKE_NONE;
  }
  low->graph->values[low->in[i]].bound = true;
  memcpy(dims, v->dims, v->rank * sizeof *dims);
  if (clarke_lower_made(low, v->rank, dims, &value, err) != CLARKE_OK)
    return CLARKE_NONE;
  v = clarke_lower_value(low, i);
  memcpy(low->graph->values[value].real, v->real, v->count * sizeof *v->real);
  return value;
}

/* 1 from 0 on, else -1. */
static size_t
sign_of(clarke_lowering *low, size_t x, clarke_error *err)
{
  const size_t below = clarke_inner_of(low, "Mul", clarke_compared(low, "Less", x, 0, err), clarke_inner_number(low, -2, err), err);

  return clarke_inner_of(low, "Add", below, clarke_inner_number(low, 1, err), err);
}

static const struct {
  const char *mode, *op;
} modes[] = {{"ROUND", "Round"}, {"HALF_EVEN", "Round"}, {"FLOOR", "Floor"}, {"CEIL", "Ceil"}};

/* The operator that rounds so; NULL. Modes are called in capitals or not. */
static const char *
rounding(const clarke_lowering *low)
{
  const clarke_attr *a = clarke_model_attr(low->node, "rounding_mode");

  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (a == NULL || strcasecmp(a->s, modes[i].mode) == 0)
      return modes[i].op;
  return NULL;
}

/* What a quantizer does to x / scale + zero point. */
typedef struct {
  bool sign;        /* one bit with a sign: 1 or -1 */
  double end[2];    /* of the range */
  const char *round;
} quantizer;

static clarke_status
read_quantizer(clarke_lowering *low, quantizer *q, clarke_error *err)
{
  const bool negative = clarke_lower_int(low, "signed", 1) != 0, narrow = clarke_lower_int(low, "narrow", 0) != 0;
  const clarke_value *v = clarke_lower_has(low, 3) ? clarke_lower_value(low, 3) : NULL;
  double bits = v != NULL && v->constant && v->count == 1 ? (v->real != NULL ? v->real[0] : (double)v->integer[0]) : 0;

  q->round = rounding(low);
  if (!(bits >= 1 && bits <= MOST_BITS && bits == rint(bits)))
    return clarke_lower_fail(low, err, "its bit width is no constant whole number from 1 to %d", MOST_BITS);
  if (q->round == NULL)
    return clarke_lower_fail(low, err, "its rounding_mode is not ROUND, HALF_EVEN, FLOOR or CEIL");
  low->graph->values[low->in[3]].bound = low->graph->values[low->in[3]].bound || v->real != NULL;
  q->sign = bits == 1 && negative;
  q->end[0] = q->sign ? -1 : negative ? -ldexp(1, (int)bits - 1) + narrow : 0;
  q->end[1] = q->sign ? 1 : negative ? ldexp(1, (int)bits - 1) - 1 : ldexp(1, (int)bits) - 1 - narrow;
  return CLARKE_OK;
}

/* What AD passes of u = x / scale + zero point. */
static size_t
passed(clarke_lowering *low, size_t u, const quantizer *q, clarke_surrogate rule, clarke_error *err)
{
  if (rule == CLARKE_SURROGATE_ROUNDED && (q->sign || strcmp(q->round, "Round") != 0)) {
    clarke_lower_fail(low, err, "surrogate Quant rounded: it does not round to the nearest number");
    return CLARKE_NONE;
  }
  return clarke_surrogate_passed(low, u, rule, q->end[0], q->end[1], err);
}

static clarke_status
lower_quant(clarke_lowering *low, clarke_error *err)
{
  const clarke_surrogate rule = clarke_surrogate_of(low->graph, "Quant");
  size_t scale, shift, u, held, y;
  quantizer q = {0};
  clarke_status status = read_quantizer(low, &q, err);

  if (status == CLARKE_OK)
    status = clarke_lower_first(low, err);
  if (status != CLARKE_OK)
    return status;
  scale = take(low, 1, true, err);
  shift = scale != CLARKE_NONE ? take(low, 2, false, err) : CLARKE_NONE;
  u = clarke_inner_of(low, "Add", clarke_inner_of(low, "Div", low->in[0], scale, err), shift, err);
  held = rule != CLARKE_SURROGATE_NONE ? clarke_surrogate_held(low, u, err) : u;
  y = q.sign ? sign_of(low, held, err) : clarke_saturated(low, clarke_inner_function(low, q.round, held, err), q.end[0], q.end[1], err);
  if (rule != CLARKE_SURROGATE_NONE)
    y = clarke_surrogate_straight(low, passed(low, u, &q, rule, err), y, err);
  y = clarke_inner_of(low, "Sub", y, shift, err);
  return clarke_inner_done(low, 0, clarke_inner_of(low, "Mul", y, scale, err), err);
}

/* AD's derivative is the scale, with `range` between minus the scale and the scale. */
static clarke_status
lower_bipolar(clarke_lowering *low, clarke_error *err)
{
  const clarke_surrogate rule = clarke_surrogate_of(low->graph, "BipolarQuant");
  const double end[2] = {-1, 1};
  const bool both[2] = {true, true};
  size_t scale, c, y;
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  c = low->in[0];
  scale = take(low, 1, true, err);
  y = scale != CLARKE_NONE ? sign_of(low, rule != CLARKE_SURROGATE_NONE ? clarke_surrogate_held(low, c, err) : c, err) : scale;
  if (rule == CLARKE_SURROGATE_RANGE)
    c = clarke_inner_of(low, "Mul", clarke_surrogate_between(low, clarke_inner_of(low, "Div", c, scale, err), end, both, err), scale, err);
  if (rule != CLARKE_SURROGATE_NONE)
    y = clarke_surrogate_straight(low, c, y, err);
  return clarke_inner_done(low, 0, clarke_inner_of(low, "Mul", y, scale, err), err);
}

const clarke_op clarke_ops_quant[] = {
  {.name = "Quant", .domain = CLARKE_DOMAIN_OF_QONNX, .forms = {{7, 4, 4, 1, "narrow:b rounding_mode:s signed:b"}}, .lower = lower_quant,
   .batch = CLARKE_BATCH_ANY},
  {.name = "BipolarQuant", .domain = CLARKE_DOMAIN_OF_QONNX, .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_bipolar, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
