/* Sigmoid, Tanh: analytic, no kinks. */
#include "op/operator.h"

#include <string.h>

static clarke_status
lower_analytic(clarke_lowering *low, clarke_error *err)
{
  size_t rank, dims[CLARKE_MAX_RANK];
  clarke_step *s;
  clarke_status status = clarke_lower_activation(low, 0, err);

  if (status != CLARKE_OK)
    return status;
  rank = clarke_lower_value(low, 0)->rank;
  memcpy(dims, clarke_lower_value(low, 0)->dims, sizeof dims);
  s = clarke_lower_step(low, CLARKE_ANALYTIC, 1, rank, dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->function = strcmp(low->node->op_type, "Tanh") == 0 ? CLARKE_TANH : CLARKE_SIGMOID;
  return clarke_lower_done(low, s->out, err);
}

const clarke_op clarke_ops_sigmoid[] = {
  {.name = "Sigmoid", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_analytic},
  {.name = "Tanh", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_analytic},
  {.name = NULL},
};
