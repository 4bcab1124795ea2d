/* Identity, and Dropout as inference has it: x. */
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

static clarke_status
lower_dropout(clarke_lowering *low, clarke_error *err)
{
  const int64_t *mode;
  size_t n;

  for (size_t i = 1; i < 3; i++)
    if (clarke_lower_has(low, i) && (!clarke_lower_value(low, i)->constant
                                     || clarke_lower_value(low, i)->rank != 0))
      return clarke_lower_fail(low, err, "input %zu is no constant scalar", i);
  if (clarke_lower_has(low, 2) && (clarke_lower_integers(low, 2, &mode, &n, NULL) != CLARKE_OK ||
                                   n != 1 || mode[0] != 0))
    return clarke_lower_fail(low, err, "training mode is not supported: it draws a mask that the file does not have. Export for "
                                       "inference, or record the training step (clarke.record), with the mask that was drawn");
  return clarke_lower_copy(low, err);
}


const clarke_op clarke_ops_identity[] = {
  {.name = "Identity", .forms = {{7, 1, 1, 1, NULL}}, .lower = clarke_lower_copy, .batch = CLARKE_BATCH_KEPT, .takes_negated = true},
  {.name = "Dropout",
   .forms = {{7, 1, 1, 1, "ratio:f"}, {12, 1, 3, 1, "seed:i"}},
   .lower = lower_dropout, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
