/* Identity, and Dropout that drops nothing: x. Dropout by a mask: x where it is 1, divided by what share stays. */
#include "op/identity.h"
#include "op/axes.h"
#include "op/computed.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

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

clarke_status
clarke_lower_copy_marked(clarke_lowering *low, clarke_error *err)
{
  const clarke_value *x = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;
  const size_t n = x != NULL && x->excluded != NULL ? x->count : 0;
  clarke_status status = clarke_lower_copy(low, err);
  clarke_value *y = &low->graph->values[low->graph->n_values - 1];

  if (n == 0 || status != CLARKE_OK)
    return status;
  y->excluded = malloc(n * sizeof *y->excluded);
  if (y->excluded == NULL)
    return clarke_lower_no_memory(low, err);
  memcpy(y->excluded, clarke_lower_value(low, 0)->excluded, n * sizeof *y->excluded);
  y->undefined = clarke_lower_value(low, 0)->undefined;
  return CLARKE_OK;
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

/* The share that stays, 1 - ratio: a number of the file's, which no parameter may change. */
static clarke_status
share_kept(clarke_lowering *low, double *share, clarke_error *err)
{
  clarke_value *ratio = clarke_lower_has(low, 1) ? &low->graph->values[low->in[1]] : NULL;
  const double dropped = ratio == NULL ? 0.5 : ratio->real != NULL ? ratio->real[0] : -1;

  *share = 1 - dropped;
  if (!(dropped > 0 && dropped < 1) || 1 - *share != dropped)
    return clarke_lower_fail(low, err, "a mask, and a ratio of %.17g; expected a number above 0 and below 1, of float32's size", dropped);
  if (ratio != NULL)
    ratio->bound = true;
  return CLARKE_OK;
}

/* The mask, input 3, was put there by clarke_masks_take. */
static clarke_status
check_mask(const clarke_lowering *low, bool training, clarke_error *err)
{
  const clarke_value *x = clarke_lower_value(low, 0), *mask = clarke_lower_value(low, 3);

  if (!training)
    return clarke_lower_fail(low, err, "the batch has a mask for it, array '%s', and it is not in training mode", low->node->out[0]);
  if (x->constant || x->batch.merged || clarke_axes_lead(low, 0) != clarke_axes_lead(low, 3)
      || (clarke_axes_lead(low, 0) == 1 && x->batch.axis != 0) || x->rank != mask->rank
      || memcmp(x->dims, mask->dims, x->rank * sizeof *x->dims) != 0)
    return clarke_lower_fail(low, err, "the mask '%s' of the batch has not the shape of the output, with the samples on its first axis if they "
                                       "are on one", low->node->out[0]);
  return CLARKE_OK;
}

static clarke_status
drop_by_mask(clarke_lowering *low, bool training, clarke_error *err)
{
  const size_t one = 1;
  size_t rank, dims[CLARKE_MAX_RANK], kept, share;
  clarke_step *s;
  double number;
  clarke_status status = check_mask(low, training, err);

  if (status == CLARKE_OK)
    status = share_kept(low, &number, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_lower_value(low, 0)->rank;
  memcpy(dims, clarke_lower_value(low, 0)->dims, sizeof dims);
  s = clarke_computed_scale(low, low->in[0], low->in[3], rank, dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  kept = s->out;
  status = clarke_lower_made(low, 1, &one, &share, err);
  if (status != CLARKE_OK)
    return status;
  low->graph->values[share].real[0] = number;
  s = clarke_lower_step(low, CLARKE_SCALE, 2, rank, dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[0].value = kept;
  s->in[1].value = share;
  s->divide = true;
  status = clarke_lower_periodic(low, s, 1, 1, 1, err);
  return status == CLARKE_OK ? clarke_lower_done(low, s->out, err) : status;
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
  if (low->node->masked)
    return drop_by_mask(low, training, err);
  if (training && !drops_nothing(low))
    return clarke_lower_fail(low, err, "in training mode it draws a mask, which the file does not have. Put the mask that was drawn into the "
                                       "batch, as array '%s' of zeros and ones in the shape of the output; or export for inference, or with a ratio of 0; or record the training step (clarke.record)", low->node->out[0]);
  return clarke_lower_copy(low, err);
}


const clarke_op clarke_ops_identity[] = {
  {.name = "Identity", .forms = {{7, 1, 1, 1, NULL}}, .lower = clarke_lower_copy_marked, .batch = CLARKE_BATCH_KEPT, .takes_negated = true,
   .takes_odd = true},
  {.name = "Dropout",
   .forms = {{7, 1, 1, 2, "ratio:f"}, {12, 1, 3, 2, "seed:i"}},
   .lower = lower_dropout, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
