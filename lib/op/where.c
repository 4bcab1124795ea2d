/* Where: entries of one or the other, by a constant mask. */
#include "op/axes.h"
#include "op/broadcast.h"
#include "op/floats.h"
#include "op/integers.h"
#include "op/jump.h"
#include "op/lower.h"
#include "op/masked.h"

#include <stdlib.h>

/* Operand k of the step, 1 or 2 of the node, stands where the mask says so. */
static clarke_status
place(clarke_lowering *low, clarke_step *s, size_t k, size_t *const map[3], clarke_error *err)
{
  const int64_t *mask = clarke_lower_value(low, 0)->integer;
  const size_t count = low->graph->values[s->out].count;
  size_t *own = clarke_lower_map(low, s, k - 1, count, err);

  if (own == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t f = 0; f < count; f++) {
    const bool first = mask[map[0] != NULL ? map[0][f] : f] != 0;

    own[f] = first != (k == 1) ? CLARKE_NONE : map[k] != NULL ? map[k][f] : f;
  }
  s->in[k - 1].value = low->in[k];
  return clarke_lower_value(low, k)->odd || clarke_lower_value(low, k)->excluded != NULL ? clarke_lower_exclude(low, s, k - 1, err) : CLARKE_OK;
}

/* What is chosen is of one type: that of either of the inputs that tells. */
static clarke_holds
chosen_kind(const clarke_lowering *low)
{
  for (size_t i = 1; i < 3; i++) {
    const clarke_value *v = clarke_lower_has(low, i) ? clarke_lower_value(low, i) : NULL;

    if (v != NULL && v->integer != NULL)
      return v->dtype == CLARKE_BOOL ? CLARKE_HOLDS_TRUTHS : CLARKE_HOLDS_INTEGERS;
    if (v != NULL && !v->constant && v->holds != CLARKE_HOLDS_FLOATS)
      return v->holds;
  }
  return CLARKE_HOLDS_FLOATS;
}

static clarke_status
choose(clarke_lowering *low, clarke_holds holds, clarke_error *err)
{
  size_t rank, dims[CLARKE_MAX_WHOLE], *map[3];
  clarke_batch_axis batch;
  clarke_step *s;
  clarke_status status = clarke_lower_broadcast_all(low, 3, &rank, dims, map, &batch, err);

  if (status != CLARKE_OK)
    return status;
  s = clarke_lower_step(low, CLARKE_SUM, 2, rank, dims, err);
  status = s != NULL ? CLARKE_OK : err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t k = 1; k < 3 && status == CLARKE_OK; k++)
    status = place(low, s, k, map, err);
  for (size_t i = 0; i < 3; i++)
    free(map[i]);
  if (status != CLARKE_OK)
    return status;
  low->graph->values[s->out].batch = batch;
  low->graph->values[s->out].holds = holds;
  return clarke_lower_done(low, s->out, err);
}

static clarke_status
lower_where(clarke_lowering *low, clarke_error *err)
{
  bool activation = false, computed;
  clarke_holds holds;
  clarke_status status = clarke_lower_computed(low, &computed, err);

  if (computed)
    return status;
  holds = chosen_kind(low);
  if (clarke_lower_has(low, 0) && !clarke_lower_value(low, 0)->constant && clarke_lower_value(low, 0)->holds == CLARKE_HOLDS_TRUTHS) {
    for (size_t i = 1; i < 3; i++)
      if (clarke_lower_has(low, i) && clarke_lower_value(low, i)->excluded != NULL)
        return clarke_lower_fail(low, err, "input %zu has entries that are minus infinity or NaN, and the mask is no constant", i);
    return clarke_lower_chosen(low, holds, err);
  }
  if (!clarke_lower_of_truths(low, 0))
    return clarke_lower_fail(low, err, "input 0 is no constant of truth values, and no comparison of activations");
  for (size_t i = 1; i < 3 && status == CLARKE_OK; i++) {
    if (!clarke_lower_has(low, i))
      return clarke_lower_fail(low, err, "input %zu is missing", i);
    if (clarke_lower_value(low, i)->constant && !clarke_lower_value(low, i)->odd)
      status = clarke_lower_weight(low, i, err);
    activation = activation || !clarke_lower_value(low, i)->constant;
  }
  if (status == CLARKE_OK && !activation)
    status = clarke_lower_fail(low, err, "arithmetic between constants is not supported: fold it");
  return status == CLARKE_OK ? choose(low, holds, err) : status;
}

const clarke_op clarke_ops_where[] = {
  {.name = "Where", .forms = {{9, 3, 3, 1, NULL}}, .lower = lower_where, .batch = CLARKE_BATCH_ANY, .takes_odd = true},
  {.name = NULL},
};
