/* Softmax, LogSoftmax. Before opset 13 over all axes from `axis` (default 1) as one; from it over
 * `axis` alone (default the last). */
#include "op/operator.h"

#include <string.h>

static clarke_status
lower_softmax(clarke_lowering *low, clarke_error *err)
{
  bool flattened = low->opset < 13;
  int64_t axis = clarke_lower_int(low, "axis", flattened ? 1 : -1);
  size_t lead = low->graph->batched ? 1 : 0, rank, dims[CLARKE_MAX_RANK];
  clarke_step *s;
  clarke_status status = clarke_lower_activation(low, 0, err);

  if (status != CLARKE_OK)
    return status;
  rank = clarke_lower_value(low, 0)->rank;
  memcpy(dims, clarke_lower_value(low, 0)->dims, sizeof dims);
  if (axis < 0)
    axis += (int64_t)(rank + lead);
  if (axis < (int64_t)lead || (size_t)axis >= rank + lead)
    return clarke_lower_fail(low, err, "axis %lld is the batch or out of range", (long long)axis);
  s = clarke_lower_step(low, CLARKE_SOFTMAX, 1, rank, dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->log = strcmp(low->node->op_type, "LogSoftmax") == 0;
  s->groups = s->length = s->stride = 1;
  for (size_t a = 0; a < rank; a++) {
    size_t whole = a + lead;

    if (whole < (size_t)axis)
      s->groups *= dims[a];
    else if (whole == (size_t)axis || flattened)
      s->length *= dims[a];
    else
      s->stride *= dims[a];
  }
  return clarke_lower_done(low, s->out, err);
}

const clarke_op clarke_ops_softmax[] = {
  {.name = "Softmax", .forms = {{7, 1, 1, 1, "axis:i"}}, .lower = lower_softmax},
  {.name = "LogSoftmax", .forms = {{7, 1, 1, 1, "axis:i"}}, .lower = lower_softmax},
  {.name = NULL},
};
