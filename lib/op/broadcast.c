/* NumPy broadcasting of two inputs. */
#include "op/broadcast.h"
#include "op/axes.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

/* The map from a whole broadcast shape to an operand's entries; NULL when it is the identity. */
static size_t *
broadcast_map(size_t rank, const size_t *dims, size_t count, size_t in_rank, const size_t *in_dims,
              bool *failed)
{
  size_t *map = malloc((count + 1) * sizeof *map);
  bool identity = true;

  *failed = map == NULL;
  for (size_t f = 0; !*failed && f < count; f++) {
    size_t rest = f, entry = 0, step = 1;

    for (size_t a = rank; a-- > 0; rest /= dims[a]) {
      size_t at = rest % dims[a];

      if (a + in_rank < rank)
        continue;
      size_t extent = in_dims[a + in_rank - rank];
      entry += (extent == 1 ? 0 : at) * step;
      step *= extent;
    }
    map[f] = entry;
    identity = identity && entry == f;
  }
  if (identity && !*failed) {
    size_t in_count = 1;

    for (size_t a = 0; a < in_rank; a++)
      in_count *= in_dims[a];
    if (in_count == count) {
      free(map);
      return NULL;
    }
  }
  return map;
}

clarke_status
clarke_lower_broadcast(const clarke_lowering *low, size_t *rank, size_t *dims, size_t **map0,
                       size_t **map1, clarke_batch_axis *batch, clarke_error *err)
{
  size_t in[2][CLARKE_MAX_WHOLE], out[CLARKE_MAX_WHOLE];
  size_t r0 = clarke_axes_whole(low, 0, in[0]), r1 = clarke_axes_whole(low, 1, in[1]);
  size_t r = r0 > r1 ? r0 : r1, count = 1;
  clarke_status status;
  bool failed[2];

  *map0 = *map1 = NULL;
  for (size_t a = 0; a < r; a++) {
    size_t d0 = a + r0 < r ? 1 : in[0][a + r0 - r], d1 = a + r1 < r ? 1 : in[1][a + r1 - r];

    if (d0 != d1 && d0 != 1 && d1 != 1)
      return clarke_lower_fail(low, err, "axes of %zu and %zu do not broadcast", d0, d1);
    out[a] = d0 == 1 ? d1 : d0;
    if (out[a] != 0 && count > CLARKE_MAX_ENTRIES / out[a])
      return clarke_lower_too_large(low, err);
    count *= out[a];
  }
  if (!clarke_lower_affordable(low->graph, count))
    return clarke_lower_too_large(low, err);
  *batch = (clarke_batch_axis){.inner = 1};
  status = low->graph->batched ? clarke_axes_agree(low, r, batch, err) : CLARKE_OK;
  if (status != CLARKE_OK)
    return status;
  memcpy(dims, out, r * sizeof *dims);
  *rank = low->graph->batched ? clarke_axes_of_sample(batch, r, dims) : r;
  if (*rank > CLARKE_MAX_RANK)
    return clarke_lower_fail(low, err, "more than %d axes", CLARKE_MAX_RANK);
  *map0 = broadcast_map(r, out, count, r0, in[0], &failed[0]);
  *map1 = broadcast_map(r, out, count, r1, in[1], &failed[1]);
  if (!failed[0] && !failed[1])
    return CLARKE_OK;
  free(*map0);
  free(*map1);
  *map0 = *map1 = NULL;
  return clarke_lower_no_memory(low, err);
}
