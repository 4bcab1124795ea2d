/* The extent of a tensor in a file (extent.h). */
#include "format/extent.h"

#include <stdio.h>
#include <string.h>

static void
describe(clarke_extent *e, clarke_dtype dtype, size_t rank, const size_t *dims)
{
  int used = snprintf(e->text, sizeof e->text, "%s [", clarke_dtype_name(dtype));

  for (size_t k = 0; k < rank; k++)
    used += snprintf(e->text + used, sizeof e->text - (size_t)used, "%s%zu", k ? ", " : "",
                     dims[k]);
  snprintf(e->text + used, sizeof e->text - (size_t)used, "]");
}

clarke_status
clarke_extent_of(clarke_extent *e, clarke_dtype dtype, size_t rank, const size_t *dims,
                 clarke_error *err)
{
  bool empty = false;

  describe(e, dtype, rank, dims);
  e->count = 1;
  for (size_t k = 0; k < rank; k++)
    empty = empty || dims[k] == 0;
  if (empty)
    e->count = 0;
  for (size_t k = 0; k < rank && !empty; k++) {
    if (dims[k] > CLARKE_MAX_ENTRIES / e->count)
      return clarke_fail(err, CLARKE_ENOMEM, "%s has more than the %zu entries that are read",
                         e->text, CLARKE_MAX_ENTRIES);
    e->count *= dims[k];
  }
  e->bytes = e->count * clarke_dtype_size(dtype);
  return CLARKE_OK;
}

void
clarke_extent_gather(void *to, const void *from, const clarke_extent *e, size_t width, size_t rank,
                     const size_t *dims, const size_t *strides)
{
  size_t index[CLARKE_MAX_RANK] = { 0 };
  size_t at = 0;

  for (size_t i = 0; i < e->count; i++) {
    memcpy((unsigned char *)to + i * width, (const unsigned char *)from + at * width, width);
    for (size_t k = rank; k-- > 0;) {
      at += strides[k];
      if (++index[k] < dims[k])
        break;
      at -= strides[k] * dims[k];
      index[k] = 0;
    }
  }
}
