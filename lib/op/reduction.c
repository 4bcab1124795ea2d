#include "op/reduction.h"
#include "op/lower.h"

#include <string.h>

clarke_status
clarke_reduction_read(clarke_reduced_axes *r, clarke_lowering *low, const char *what, clarke_error *err)
{
  const int64_t *list;
  size_t n;
  bool given;
  clarke_status status = clarke_lower_lift(low, err);

  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 0, err);
  if (status != CLARKE_OK)
    return status;
  r->keep = clarke_lower_int(low, "keepdims", 1) != 0;
  r->rank = clarke_axes_whole(low, 0, r->dims);
  status = clarke_axes_agree(low, 1, r->rank, &r->batch, err);
  if (status == CLARKE_OK)
    status = clarke_axes_list(low, "axes", 1, &list, &n, &given, err);
  if (status == CLARKE_OK)
    status = clarke_axes_chosen(low, list, n, r->rank, r->reduced, err);
  if (status != CLARKE_OK)
    return status;
  r->none = n == 0 && (r->rank == 0 || clarke_lower_int(low, "noop_with_empty_axes", 0) != 0);
  for (size_t a = 0; a < r->rank && n == 0 && !r->none; a++)
    r->reduced[a] = true;
  if (!r->none && !r->batch.none && r->reduced[r->batch.axis])
    return clarke_lower_fail(low, err, "a %s over the batch axis%s; expected axes of a sample", what,
                             n == 0 ? " (no axes are all axes)" : "");
  return CLARKE_OK;
}

size_t
clarke_reduction_offset(const clarke_reduced_axes *r, size_t first, bool reduced, size_t index)
{
  size_t entry = 0, step = 1;

  for (size_t a = r->rank; a-- > first; step *= r->dims[a])
    if (r->reduced[a] == reduced) {
      entry += index % r->dims[a] * step;
      index /= r->dims[a];
    }
  return entry;
}

size_t
clarke_reduction_shape(const clarke_reduced_axes *r, size_t *dims)
{
  const clarke_batch_axis batch = clarke_reduction_batch(r);
  size_t rank = 0;

  for (size_t a = 0; a < r->rank; a++)
    if (r->keep || !r->reduced[a])
      dims[rank++] = r->reduced[a] ? 1 : r->dims[a];
  return clarke_axes_of_sample(&batch, rank, dims);
}

clarke_status
clarke_reduction_none(const clarke_reduced_axes *r, clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE];

  memcpy(dims, r->dims, sizeof dims);
  return clarke_lower_moved(low, clarke_axes_of_sample(&r->batch, r->rank, dims), dims, NULL, &r->batch, err);
}

clarke_batch_axis
clarke_reduction_batch(const clarke_reduced_axes *r)
{
  clarke_batch_axis batch = r->batch;

  for (size_t a = 0; a < r->batch.axis && !r->keep; a++)
    batch.axis -= r->reduced[a] ? 1 : 0;
  return batch;
}
