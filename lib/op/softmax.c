/* Softmax, LogSoftmax. Before opset 13 over all axes from `axis` (default 1) as one; from it over
 * `axis` alone (default the last). */
#include "op/axes.h"
#include "op/lower.h"
#include "op/masked.h"

#include <string.h>

static clarke_status
lower_softmax(clarke_lowering *low, clarke_error *err)
{
  bool flattened = low->opset < 13;
  int64_t axis = clarke_lower_int(low, "axis", flattened ? 1 : -1);
  size_t whole[CLARKE_MAX_WHOLE], n, at, rank, dims[CLARKE_MAX_RANK], groups = 1, length = 1, stride = 1;
  clarke_step *s;
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  rank = clarke_lower_value(low, 0)->rank;
  memcpy(dims, clarke_lower_value(low, 0)->dims, sizeof dims);
  n = clarke_axes_whole(low, 0, whole);
  status = clarke_axes_resolve(low, axis, n, &at, err);
  for (size_t a = at; status == CLARKE_OK && a < (flattened ? n : at + 1); a++)
    status = clarke_axes_apart(low, 0, a, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t a = 0; a < n; a++)
    *(a < at ? &groups : a == at || flattened ? &length : &stride) *= whole[a];
  if (clarke_lower_value(low, 0)->excluded != NULL)
    return clarke_lower_masked_softmax(low, length, stride, err);
  s = clarke_lower_step(low, CLARKE_SOFTMAX, 1, rank, dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->log = strcmp(low->node->op_type, "LogSoftmax") == 0;
  s->groups = groups;
  s->length = length;
  s->stride = stride;
  return clarke_lower_done(low, s->out, err);
}

const clarke_op clarke_ops_softmax[] = {
  {.name = "Softmax", .forms = {{7, 1, 1, 1, "axis:i"}}, .lower = lower_softmax,
   .batch = CLARKE_BATCH_KEPT},
  {.name = "LogSoftmax", .forms = {{7, 1, 1, 1, "axis:i"}}, .lower = lower_softmax,
   .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
