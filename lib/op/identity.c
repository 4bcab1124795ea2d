/* Identity, and Dropout that drops nothing: x. */
#include "op/identity.h"
#include "op/lower.h"

clarke_status
clarke_lower_copy(clarke_lowering *low, clarke_error *err)
{
  size_t rank, dims[CLARKE_MAX_RANK];
  clarke_batch_axis batch;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  batch = clarke_lower_value(low, 0)->batch;
  rank = clarke_lower_value(low, 0)->rank;
  for (size_t a = 0; a < rank; a++)
    dims[a] = clarke_lower_value(low, 0)->dims[a];
  return clarke_lower_moved(low, rank, dims, NULL, &batch, err);
}

/* Is the share of what is dropped given as a constant 0? It is then a number of the file's, which no parameter may change. */
static bool
drops_nothing(clarke_lowering *low)
{
  clarke_value *ratio = clarke_lower_has(low, 1) ? &low->graph->values[low->in[1]] : NULL;
  const bool none = ratio != NULL && ratio->real != NULL && ratio->count == 1 && ratio->real[0] == 0;

  if (none)
    ratio->bound = true;
  return none;
}

static clarke_status
lower_dropout(clarke_lowering *low, clarke_error *err)
{
  const int64_t *mode;
  bool training;
  size_t n;

  for (size_t i = 1; i < 3; i++)
    if (clarke_lower_has(low, i) && (!clarke_lower_value(low, i)->constant
                                     || clarke_lower_value(low, i)->rank != 0))
      return clarke_lower_fail(low, err, "input %zu is no constant scalar", i);
  training = clarke_lower_has(low, 2) && (clarke_lower_integers(low, 2, &mode, &n, NULL) != CLARKE_OK || n != 1 || mode[0] != 0);
  if (training && !drops_nothing(low))
    return clarke_lower_fail(low, err, "training mode is not supported: it draws a mask that the file does not have. Export for "
                                       "inference, or with a ratio of 0, or record the training step (clarke.record), with the mask that was drawn");
  return clarke_lower_copy(low, err);
}


const clarke_op clarke_ops_identity[] = {
  {.name = "Identity", .forms = {{7, 1, 1, 1, NULL}}, .lower = clarke_lower_copy, .batch = CLARKE_BATCH_KEPT, .takes_negated = true, .takes_odd = true},
  {.name = "Dropout",
   .forms = {{7, 1, 1, 2, "ratio:f"}, {12, 1, 3, 2, "seed:i"}},
   .lower = lower_dropout, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
