/* The parameters of a graph that is built: in the file's order, and none of them a bound. */
#include "network/graph/build.h"

#include <stdlib.h>
#include <string.h>

/* A Clip's bound is a number of the file's, which no parameter may change. */
static clarke_status
check_bounds(const clarke_builder *b, clarke_error *err)
{
  const clarke_graph *g = b->g;

  for (size_t v = 0; v < g->n_values; v++)
    if (g->values[v].bound && g->values[v].parameter != CLARKE_NONE)
      return clarke_fail(err, CLARKE_EINPUT, "%s: '%s' is both a weight and a bound of Clip or the "
                         "value of a Pad, a ratio of Dropout, or another number that a node reads. "
                         "The exporter made equal initializers one: torch.onnx.export(dynamo=True, optimize=False) "
                         "leaves them apart; or record the training step (clarke.record)", b->m->file, g->parameters[g->values[v].parameter].name);
  return CLARKE_OK;
}

/* Parameters in the order of the file's initializers, whatever the order of use; those only
 * rearranged, and never used as weights, are none. */
clarke_status
clarke_builder_parameters(clarke_builder *b, clarke_error *err)
{
  clarke_graph *g = b->g;
  size_t n = g->n_parameters, placed = 0;
  clarke_parameter *sorted = malloc((n + 1) * sizeof *sorted);
  size_t *now = malloc((n + 1) * sizeof *now);

  if (sorted == NULL || now == NULL) {
    free(sorted);
    free(now);
    return clarke_fail(err, CLARKE_ENOMEM, "%s: out of memory", b->m->file);
  }
  for (size_t p = 0; p < n; p++)
    now[p] = CLARKE_NONE;
  for (size_t t = 0; t < b->m->n_tensors; t++)
    for (size_t p = 0; p < n; p++)
      if (g->parameters[p].uses > 0 &&
          strcmp(g->parameters[p].name, b->m->tensors[t].name) == 0) {
        now[p] = placed;
        sorted[placed] = g->parameters[p];
        sorted[placed++].promoted = t >= b->m->n_tensors - b->m->n_promoted;
      }
  for (size_t p = 0; p < n; p++) /* what is a statistic alone is that one's, by whatever value */
    for (size_t q = 0; q < n && now[p] == CLARKE_NONE; q++)
      now[p] = g->parameters[q].uses > 0 && strcmp(g->parameters[p].name, g->parameters[q].name) == 0 ? now[q] : CLARKE_NONE;
  for (size_t p = 0; p < n; p++)
    if (g->parameters[p].uses == 0)
      free(g->parameters[p].name);
  for (size_t v = 0; v < g->n_values; v++)
    if (g->values[v].parameter != CLARKE_NONE)
      g->values[v].parameter = now[g->values[v].parameter];
  free(g->parameters);
  free(now);
  g->parameters = sorted;
  g->n_parameters = placed;
  return check_bounds(b, err);
}
