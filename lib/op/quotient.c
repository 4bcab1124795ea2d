/* Functions with a domain: Reciprocal, Sqrt, Log. Div by an activation is a product with a reciprocal (scale.c), ReduceL2 a root
 * (mean.c). */
#include "op/quotient.h"
#include "op/floats.h"
#include "op/lower.h"
#include "op/sigmoid.h"

size_t
clarke_lower_inside(clarke_lowering *low, clarke_function function, size_t value, clarke_error *err)
{
  const clarke_step *s = clarke_lower_function(low, function, value, err);

  if (s == NULL)
    return CLARKE_NONE;
  low->graph->values[s->out].batch = low->graph->values[value].batch;
  return s->out;
}

static clarke_status
lower_with_domain(clarke_lowering *low, clarke_error *err)
{
  const char name = low->node->op_type[0];
  bool computed = false;
  clarke_status status = name == 'S' ? clarke_lower_computed(low, &computed, err) : CLARKE_OK;
  size_t y;

  if (computed)
    return status;
  status = clarke_lower_lift(low, err);
  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 0, err);
  if (status != CLARKE_OK)
    return status;
  y = clarke_lower_inside(low, name == 'R' ? CLARKE_RECIPROCAL : name == 'S' ? CLARKE_SQRT : CLARKE_LOG, low->in[0], err);
  return y != CLARKE_NONE ? clarke_lower_done(low, y, err) : err != NULL ? err->code : CLARKE_ENOMEM;
}

const clarke_op clarke_ops_quotient[] = {
  {.name = "Reciprocal", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_with_domain, .batch = CLARKE_BATCH_KEPT},
  {.name = "Sqrt", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_with_domain, .batch = CLARKE_BATCH_KEPT},
  {.name = "Log", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_with_domain, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
