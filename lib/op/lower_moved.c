/* Entries that are moved, of a constant or of an activation. */
#include "op/axes.h"
#include "op/decided.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

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

clarke_status
clarke_lower_lifted(clarke_lowering *low, size_t i, size_t rank, const size_t *dims, size_t *map, size_t *value, clarke_error *err)
{
  clarke_graph *g = low->graph;
  size_t *none, constant = low->in[i];
  clarke_status status = clarke_lower_weight(low, i, err);
  clarke_step *s = status == CLARKE_OK ? clarke_lower_step(low, CLARKE_SUM, 2, rank, dims, err) : NULL;

  if (s == NULL) {
    free(map);
    return status != CLARKE_OK ? status : err != NULL ? err->code : CLARKE_ENOMEM;
  }
  s->in[0].value = g->input;
  s->in[1].value = constant;
  s->in[1].coef = g->values[constant].negated ? -1 : 1;
  s->in[1].map = map;
  none = clarke_lower_map(low, s, 0, g->values[s->out].count, err);
  if (none == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t f = 0; f < g->values[s->out].count; f++)
    none[f] = CLARKE_NONE;
  *value = s->out;
  return CLARKE_OK;
}

/* A constant of one sample's entries for each of all samples has the batch there. Of several such axes any will do: the entries are
 * those of the file, wherever the batch is said to be. */
clarke_status
clarke_lower_lift_first(clarke_lowering *low, clarke_error *err)
{
  const clarke_graph *g = low->graph;
  clarke_batch_axis batch = {.inner = 1, .none = g->batched};
  size_t dims[CLARKE_MAX_WHOLE], rank, value;
  clarke_status status = CLARKE_OK;
  bool shared = false;

  if (clarke_lower_has(low, 0) && !clarke_lower_value(low, 0)->constant)
    return CLARKE_OK;
  status = clarke_lower_constant(low, 0, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_lower_value(low, 0)->rank;
  for (size_t a = 0; a < rank && g->batched && g->together > 1 && !shared && status == CLARKE_OK; a++) {
    status = clarke_axes_shared(low, 0, a, &shared, err);
    if (shared)
      batch = (clarke_batch_axis){.axis = a, .inner = 1};
  }
  memcpy(dims, clarke_lower_value(low, 0)->dims, rank * sizeof *dims);
  if (shared)
    rank = clarke_axes_of_sample(&batch, rank, dims);
  if (status == CLARKE_OK)
    status = clarke_lower_lifted(low, 0, rank, dims, NULL, &value, err);
  if (status != CLARKE_OK)
    return status;
  low->graph->values[value].batch = batch;
  status = clarke_lower_know_lifted(low, value, err);
  low->in[0] = value;
  return status;
}

clarke_status
clarke_lower_first(clarke_lowering *low, clarke_error *err)
{
  const clarke_status status = clarke_lower_lift_first(low, err);

  return status == CLARKE_OK ? clarke_lower_activation(low, 0, err) : status;
}

clarke_status
clarke_lower_lift(clarke_lowering *low, clarke_error *err)
{
  for (size_t i = 0; i < low->n_in; i++)
    if (!clarke_lower_has(low, i))
      return CLARKE_OK;
  return clarke_lower_lift_given(low, err);
}

clarke_status
clarke_lower_lift_given(clarke_lowering *low, clarke_error *err)
{
  for (size_t i = 0; i < low->n_in; i++)
    if (clarke_lower_has(low, i) && !clarke_lower_value(low, i)->constant)
      return CLARKE_OK;
  return clarke_lower_lift_first(low, err);
}
