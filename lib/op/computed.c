#include "op/computed.h"
#include "op/axes.h"
#include "op/lower.h"

#include <stdlib.h>

clarke_status
clarke_computed_check(const clarke_lowering *low, size_t i, clarke_error *err)
{
  if (!clarke_lower_has(low, i) || clarke_lower_value(low, i)->constant)
    return clarke_lower_constant(low, i, err);
  if (clarke_axes_lead(low, i) == 1)
    return clarke_lower_fail(low, err, "input %zu must be a constant, or computed of constants alone; '%s' is another one for each sample. Record "
                                       "the training step (clarke.record): there the batch is an axis as any other", i, low->node->in[i]);
  return CLARKE_OK;
}

clarke_status
clarke_computed_weight(clarke_lowering *low, size_t i, clarke_error *err)
{
  const clarke_status status = clarke_computed_check(low, i, err);

  return status == CLARKE_OK && clarke_lower_value(low, i)->constant ? clarke_lower_read(low, low->in[i], err) : status;
}

clarke_status
clarke_computed_moved(clarke_lowering *low, size_t i, size_t rank, const size_t *dims, size_t *map, size_t *value, clarke_error *err)
{
  clarke_step *s;

  if (clarke_lower_value(low, i)->constant)
    return clarke_lower_rearranged_constant(low, i, rank, dims, map, value, err);
  s = clarke_lower_step(low, CLARKE_GATHER, 1, rank, dims, err);
  if (s == NULL || !clarke_lower_affordable(low->graph, low->graph->values[s->out].count)) {
    free(map);
    return s != NULL ? clarke_lower_too_large(low, err) : err != NULL ? err->code : CLARKE_ENOMEM;
  }
  low->graph->activations += low->graph->values[s->out].count; /* the map */
  s->in[0].value = low->in[i];
  s->in[0].map = map;
  *value = s->out;
  return CLARKE_OK;
}

/* The map of the weight, blocks of outer x inner; or, turned, one of inner x outer. */
static clarke_status
lay_weight(clarke_lowering *low, clarke_step *s, size_t i, const clarke_dense *d, bool turned, clarke_error *err)
{
  const size_t rows = turned ? d->inner : d->outer, columns = turned ? d->outer : d->inner, one = rows * columns;
  const size_t n = (turned ? 1 : d->blocks) * one;
  const bool across = turned != d->transposed;
  size_t *map;

  if (!across && n == low->graph->values[s->in[i].value].count)
    return CLARKE_OK;
  map = clarke_lower_map(low, s, i, n, err);
  for (size_t e = 0; map != NULL && e < n; e++) {
    const size_t at = across ? e % columns * rows + e % one / columns : e % one;

    map[e] = (d->grouped ? e / one * one : 0) + at;
  }
  return map != NULL ? CLARKE_OK : err != NULL ? err->code : CLARKE_ENOMEM;
}

/* Vectors one after another are the rows of a matrix, which is multiplied by the weight turned round; else each block is. */
clarke_step *
clarke_computed_dense(clarke_lowering *low, size_t x, clarke_dense shape, size_t rank, const size_t *dims, clarke_error *err)
{
  const bool constant = low->graph->values[shape.weight].constant, rows = shape.repeat == 1 && !shape.grouped;
  clarke_step *s = clarke_lower_step(low, constant ? CLARKE_DENSE : CLARKE_PRODUCT, constant ? 1 : 2, rank, dims, err);

  if (s == NULL)
    return NULL;
  s->in[rows || constant ? 0 : 1].value = x;
  if (constant) {
    s->dense = shape;
    return s;
  }
  s->in[rows ? 1 : 0].value = shape.weight;
  s->contraction = rows ? (clarke_contraction){1, shape.blocks, shape.inner, shape.outer}
                        : (clarke_contraction){shape.blocks, shape.outer, shape.inner, shape.repeat};
  return lay_weight(low, s, rows ? 1 : 0, &shape, rows, err) == CLARKE_OK ? s : NULL;
}

clarke_step *
clarke_computed_scale(clarke_lowering *low, size_t x, size_t w, size_t rank, const size_t *dims, clarke_error *err)
{
  const bool constant = low->graph->values[w].constant;
  clarke_step *s = clarke_lower_step(low, constant ? CLARKE_SCALE : CLARKE_PRODUCT, 2, rank, dims, err);

  if (s == NULL)
    return NULL;
  s->in[0].value = x;
  s->in[1].value = w;
  if (!constant)
    s->contraction = (clarke_contraction){low->graph->values[s->out].count, 1, 1, 1};
  return s;
}
