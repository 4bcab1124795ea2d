/* Mul, Div by a constant: a c, a / c, with NumPy's broadcasting. Mul of two activations is a product. Div by an activation
 * multiplies with its reciprocal. */
#include "op/axes.h"
#include "op/broadcast.h"
#include "op/floats.h"
#include "op/lower.h"
#include "op/product.h"
#include "op/quotient.h"

#include <stdlib.h>
#include <string.h>

/* Which operand is the constant; 2 when neither may be. */
static size_t
constant_operand(const clarke_lowering *low, bool divide)
{
  for (size_t i = 2; i-- > (divide ? 1u : 0u);)
    if (clarke_lower_has(low, i) && clarke_lower_value(low, i)->constant)
      return i;
  return 2;
}

/* Input 1 becomes its reciprocal; else nothing changes. *divide: is there something to divide by still? */
static clarke_status
invert_divisor(clarke_lowering *low, bool *divide, clarke_error *err)
{
  *divide = strcmp(low->node->op_type, "Div") == 0;
  if (!*divide || !clarke_lower_has(low, 1) || clarke_lower_value(low, 1)->constant)
    return CLARKE_OK;
  *divide = false;
  low->in[1] = clarke_lower_inside(low, CLARKE_RECIPROCAL, low->in[1], err);
  return low->in[1] != CLARKE_NONE ? CLARKE_OK : err != NULL ? err->code : CLARKE_ENOMEM;
}

static clarke_status
lower_scale(clarke_lowering *low, clarke_error *err)
{
  size_t c, rank, dims[CLARKE_MAX_WHOLE];
  bool divide, computed;
  clarke_batch_axis batch;
  size_t *map[2], bad;
  clarke_step *s;
  clarke_status status = clarke_lower_computed(low, &computed, err);

  if (computed)
    return status;
  status = clarke_lower_lift(low, err);
  if (status == CLARKE_OK)
    status = invert_divisor(low, &divide, err);
  if (status != CLARKE_OK)
    return status;
  c = constant_operand(low, divide);
  if (c == 2 && !divide && clarke_lower_has(low, 0) && clarke_lower_has(low, 1))
    return clarke_lower_times(low, err);
  if (c == 2)
    return clarke_lower_fail(low, err, "an input is missing");
  status = clarke_lower_weight(low, c, err);
  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 1 - c, err);
  if (status == CLARKE_OK)
    status = clarke_lower_broadcast(low, &rank, dims, &map[0], &map[1], &batch, err);
  if (status != CLARKE_OK)
    return status;
  s = clarke_lower_step(low, CLARKE_SCALE, 2, rank, dims, err);
  if (s == NULL) {
    free(map[0]);
    free(map[1]);
    return err != NULL ? err->code : CLARKE_ENOMEM;
  }
  s->in[0].value = low->in[1 - c];
  s->in[0].map = map[1 - c];
  s->in[1].value = low->in[c];
  s->in[1].map = map[c];
  s->divide = divide;
  low->graph->values[s->out].batch = batch;
  bad = clarke_step_bad_divisor(low->graph, s);
  if (bad != CLARKE_NONE)
    return clarke_lower_fail(low, err, "entry %zu of the divisor is zero", bad);
  return clarke_lower_done_signed(low, s->out, low->graph->values[low->in[c]].negated, err);
}


const clarke_op clarke_ops_scale[] = {
  {.name = "Mul", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_scale, .batch = CLARKE_BATCH_ANY, .takes_negated = true},
  {.name = "Div", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_scale, .batch = CLARKE_BATCH_ANY, .takes_negated = true},
  {.name = NULL},
};
