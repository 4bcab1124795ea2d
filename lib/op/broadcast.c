/* NumPy broadcasting. */
#include "op/broadcast.h"
#include "op/axes.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

/* Does the operand have the whole shape? */
static bool
is_whole(size_t rank, const size_t *dims, size_t in_rank, const size_t *in_dims)
{
  return rank == in_rank && (rank == 0 || memcmp(dims, in_dims, rank * sizeof *dims) == 0);
}

/* The operand's entry that entry f of the whole shape reads. */
static size_t
entry_of(size_t f, size_t rank, const size_t *dims, size_t in_rank, const size_t *in_dims)
{
  size_t rest = f, entry = 0, step = 1;

  for (size_t a = rank; a-- > 0; rest /= dims[a]) {
    size_t at = rest % dims[a];

    if (a + in_rank < rank)
      continue;
    size_t extent = in_dims[a + in_rank - rank];
    entry += (extent == 1 ? 0 : at) * step;
    step *= extent;
  }
  return entry;
}

/* The map from a whole broadcast shape to an operand's entries; NULL when it is the identity. Along the last axis entries follow each other,
 * or are one. */
static size_t *
broadcast_map(size_t rank, const size_t *dims, size_t count, size_t in_rank, const size_t *in_dims,
              bool *failed)
{
  const bool whole = is_whole(rank, dims, in_rank, in_dims);
  const size_t line = rank > 0 && dims[rank - 1] > 0 ? dims[rank - 1] : 1;
  const size_t on = in_rank > 0 && in_dims[in_rank - 1] != 1;
  size_t *map = whole ? NULL : malloc((count + 1) * sizeof *map);
  bool identity = true;

  *failed = !whole && map == NULL;
  if (map == NULL)
    return NULL;
  for (size_t f = 0; f < count; f += line) {
    const size_t first = entry_of(f, rank, dims, in_rank, in_dims);

    for (size_t k = 0; k < line; k++) {
      map[f + k] = first + k * on;
      identity = identity && map[f + k] == f + k;
    }
  }
  if (identity) {
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

/* The shape that inputs 0 to n - 1 broadcast to, whole; its axes. */
static clarke_status
broadcast_dims(const clarke_lowering *low, size_t n, size_t *rank, size_t *dims, clarke_error *err)
{
  size_t in[CLARKE_MAX_WHOLE], r = 0, count = 1;

  for (size_t i = 0; i < n; i++) {
    const size_t own = clarke_axes_whole(low, i, in);

    r = own > r ? own : r;
  }
  for (size_t a = 0; a < r; a++)
    dims[a] = 1;
  for (size_t i = 0; i < n; i++) {
    const size_t own = clarke_axes_whole(low, i, in);

    for (size_t a = 0; a < own; a++) {
      size_t *to = &dims[r - own + a];

      if (*to != in[a] && *to != 1 && in[a] != 1)
        return clarke_lower_fail(low, err, "axes of %zu and %zu do not broadcast", *to, in[a]);
      *to = *to == 1 ? in[a] : *to;
    }
  }
  for (size_t a = 0; a < r; a++) {
    if (dims[a] != 0 && count > CLARKE_MAX_ENTRIES / dims[a])
      return clarke_lower_too_large(low, err);
    count *= dims[a];
  }
  *rank = r;
  return clarke_lower_affordable(low->graph, count) ? CLARKE_OK : clarke_lower_too_large(low, err);
}

/* Constants that have one sample's entries for each of all samples become one sample's. */
static clarke_status
share_constants(clarke_lowering *low, size_t n, size_t rank, clarke_error *err)
{
  size_t first = 0, whole[CLARKE_MAX_WHOLE], axis;
  clarke_status status = CLARKE_OK;
  bool shared;

  while (first < n && clarke_axes_lead(low, first) == 0)
    first++;
  if (first == n || clarke_lower_value(low, first)->batch.merged || low->graph->together == 1)
    return CLARKE_OK;
  axis = clarke_axes_batch(low, first) + rank - clarke_axes_whole(low, first, whole);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++)
    if (clarke_lower_value(low, i)->constant && axis + clarke_lower_value(low, i)->rank >= rank)
      status = clarke_axes_shared(low, i, axis + clarke_lower_value(low, i)->rank - rank, &shared, err);
  return status;
}

clarke_status
clarke_lower_broadcast_all(clarke_lowering *low, size_t n, size_t *rank, size_t *dims, size_t **map, clarke_batch_axis *batch,
                           clarke_error *err)
{
  size_t in[CLARKE_MAX_WHOLE], out[CLARKE_MAX_WHOLE], r = 0, count = 1;
  bool failed = false;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < n; i++) {
    const size_t own = clarke_axes_whole(low, i, in);

    r = own > r ? own : r;
    map[i] = NULL;
  }
  *batch = (clarke_batch_axis){.inner = 1};
  if (low->graph->batched) /* before the shape is read: along the batch a constant has one entry then */
    status = share_constants(low, n, r, err);
  if (status == CLARKE_OK)
    status = broadcast_dims(low, n, &r, out, err);
  if (status == CLARKE_OK && low->graph->batched)
    status = clarke_axes_agree(low, n, r, batch, err);
  if (status != CLARKE_OK)
    return status;
  memcpy(dims, out, r * sizeof *dims);
  *rank = low->graph->batched ? clarke_axes_of_sample(batch, r, dims) : r;
  if (*rank > CLARKE_MAX_RANK)
    return clarke_lower_fail(low, err, "more than %d axes", CLARKE_MAX_RANK);
  for (size_t a = 0; a < r; a++)
    count *= out[a];
  for (size_t i = 0; i < n && !failed; i++) {
    const size_t own = clarke_axes_whole(low, i, in);

    map[i] = broadcast_map(r, out, count, own, in, &failed);
  }
  for (size_t i = 0; i < n && failed; i++) {
    free(map[i]);
    map[i] = NULL;
  }
  return failed ? clarke_lower_no_memory(low, err) : CLARKE_OK;
}

clarke_status
clarke_lower_broadcast(clarke_lowering *low, size_t *rank, size_t *dims, size_t **map0,
                       size_t **map1, clarke_batch_axis *batch, clarke_error *err)
{
  size_t *map[2];
  clarke_status status = clarke_lower_broadcast_all(low, 2, rank, dims, map, batch, err);

  *map0 = map[0];
  *map1 = map[1];
  return status;
}
