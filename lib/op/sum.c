/* Add, Sub: a + b, a - b, with NumPy's broadcasting. Neg: -a. */
#include "op/operator.h"

#include <stdlib.h>
#include <string.h>

static clarke_status
lower_sum(clarke_lowering *low, clarke_error *err)
{
  size_t rank, dims[CLARKE_MAX_RANK];
  size_t *map[2];
  clarke_step *s;
  clarke_status status = CLARKE_OK;
  bool activation = false;

  for (size_t i = 0; i < 2 && status == CLARKE_OK; i++) {
    if (!clarke_lower_has(low, i))
      return clarke_lower_fail(low, err, "input %zu is missing", i);
    if (clarke_lower_value(low, i)->constant)
      status = clarke_lower_weight(low, i, err);
    else
      activation = true;
  }
  if (status != CLARKE_OK)
    return status;
  if (!activation)
    return clarke_lower_fail(low, err, "arithmetic between constants is not supported: fold it");
  status = clarke_lower_broadcast(low, &rank, dims, &map[0], &map[1], err);
  if (status != CLARKE_OK)
    return status;
  s = clarke_lower_step(low, CLARKE_SUM, 2, rank, dims, err);
  if (s == NULL) {
    free(map[0]);
    free(map[1]);
    return err != NULL ? err->code : CLARKE_ENOMEM;
  }
  for (size_t i = 0; i < 2; i++)
    s->in[i].map = map[i];
  s->in[1].coef = strcmp(low->node->op_type, "Sub") == 0 ? -1 : 1;
  return clarke_lower_done(low, s->out, err);
}

static clarke_status
lower_negation(clarke_lowering *low, clarke_error *err)
{
  clarke_status status = clarke_lower_activation(low, 0, err);
  const clarke_value *x;
  clarke_step *s;

  if (status != CLARKE_OK)
    return status;
  x = clarke_lower_value(low, 0);
  s = clarke_lower_step(low, CLARKE_SUM, 1, x->rank, x->dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[0].coef = -1;
  return clarke_lower_done(low, s->out, err);
}

const clarke_op clarke_ops_sum[] = {
  {.name = "Add", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_sum},
  {.name = "Sub", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_sum},
  {.name = "Neg", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_negation},
  {.name = NULL},
};
