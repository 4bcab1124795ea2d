/* NumPy broadcasting of two inputs. */
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

/* The dims of operand i as broadcasting sees them: whole, the batch axis being 1. */
static size_t
whole_dims(const clarke_lowering *low, size_t i, size_t *dims)
{
  const clarke_value *v = clarke_lower_value(low, i);
  size_t lead = !v->constant && low->graph->batched ? 1 : 0;

  for (size_t k = 0; k < lead; k++)
    dims[k] = 1;
  memcpy(dims + lead, v->dims, v->rank * sizeof *dims);
  return v->rank + lead;
}

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
                       size_t **map1, clarke_error *err)
{
  size_t in[2][CLARKE_MAX_RANK + 1], out[CLARKE_MAX_RANK + 1];
  size_t r0 = whole_dims(low, 0, in[0]), r1 = whole_dims(low, 1, in[1]);
  size_t r = r0 > r1 ? r0 : r1, lead = low->graph->batched ? 1 : 0, count = 1;
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
  for (size_t i = 0; i < 2; i++)
    if (!clarke_lower_value(low, i)->constant && (i == 0 ? r0 : r1) != r)
      return clarke_lower_fail(low, err, "broadcasting would add axes before the batch axis");
  if (lead == 1 && (r == 0 || out[0] != 1))
    return clarke_lower_fail(low, err, "a constant of %zu entries along the batch axis", out[0]);
  *rank = r - lead;
  if (*rank > CLARKE_MAX_RANK)
    return clarke_lower_fail(low, err, "more than %d axes", CLARKE_MAX_RANK);
  memcpy(dims, out + lead, *rank * sizeof *dims);
  *map0 = broadcast_map(r, out, count, r0, in[0], &failed[0]);
  *map1 = broadcast_map(r, out, count, r1, in[1], &failed[1]);
  if (!failed[0] && !failed[1])
    return CLARKE_OK;
  free(*map0);
  free(*map1);
  *map0 = *map1 = NULL;
  return clarke_lower_no_memory(low, err);
}
