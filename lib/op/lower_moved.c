/* Entries that are moved, of a constant or of an activation. */
#include "op/lower.h"

#include <stdlib.h>

/* The integers of a single run's input, moved, stay known. */
static clarke_status
keep_integers(const clarke_lowering *low, const clarke_step *s)
{
  const clarke_value *x = clarke_lower_value(low, 0);
  clarke_value *y = &low->graph->values[s->out];

  y->dtype = x->dtype;
  y->integer = calloc(y->count + 1, sizeof *y->integer);
  for (size_t f = 0; y->integer != NULL && f < y->count; f++)
    if (clarke_operand_entry(&s->in[0], f) < x->count)
      y->integer[f] = x->integer[clarke_operand_entry(&s->in[0], f)];
  return y->integer != NULL ? CLARKE_OK : CLARKE_ENOMEM;
}

clarke_status
clarke_lower_rearranged(clarke_lowering *low, size_t rank, const size_t *dims, size_t *map,
                        clarke_error *err)
{
  clarke_step *s;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  if (clarke_lower_value(low, 0)->constant) {
    size_t value;
    const clarke_status status = clarke_lower_rearranged_constant(low, 0, rank, dims, map, &value, err);

    return status == CLARKE_OK ? clarke_lower_done(low, value, err) : status;
  }
  s = clarke_lower_step(low, CLARKE_GATHER, 1, rank, dims, err);
  if (s == NULL) {
    free(map);
    return err != NULL ? err->code : CLARKE_EINPUT;
  }
  s->in[0].map = map;
  if (clarke_lower_value(low, 0)->integer != NULL && keep_integers(low, s) != CLARKE_OK)
    return clarke_lower_no_memory(low, err);
  if (map == NULL && low->graph->values[s->out].count != clarke_lower_value(low, 0)->count)
    return clarke_lower_fail(low, err, "%zu entries a sample cannot take a shape of %zu",
                             clarke_lower_value(low, 0)->count, low->graph->values[s->out].count);
  return clarke_lower_done(low, s->out, err);
}

clarke_status
clarke_lower_moved(clarke_lowering *low, size_t rank, const size_t *dims, size_t *map, const clarke_batch_axis *batch,
                   clarke_error *err)
{
  clarke_status status;

  if (rank > CLARKE_MAX_RANK) {
    free(map);
    return clarke_lower_fail(low, err, "more than %d axes", CLARKE_MAX_RANK);
  }
  status = clarke_lower_rearranged(low, rank, dims, map, err);
  if (status == CLARKE_OK)
    low->graph->values[low->graph->n_values - 1].batch = *batch;
  return status;
}
