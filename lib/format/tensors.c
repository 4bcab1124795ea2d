/* Collections of named tensors. */

#include "format/tensors.h"

#include <stdlib.h>
#include <string.h>

void
clarke_tensors_init(clarke_tensors *ts)
{
  ts->n = 0;
  ts->tensor = NULL;
}

void
clarke_tensors_clear(clarke_tensors *ts)
{
  for (size_t i = 0; i < ts->n; i++)
    clarke_tensor_clear(&ts->tensor[i]);
  free(ts->tensor);
  clarke_tensors_init(ts);
}

clarke_status
clarke_tensors_unpack(clarke_tensors *ts, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < ts->n && status == CLARKE_OK; i++)
    status = clarke_tensor_unpack(&ts->tensor[i], err);
  return status;
}

const clarke_tensor *
clarke_tensors_find(const clarke_tensors *ts, const char *name)
{
  for (size_t i = 0; i < ts->n; i++)
    if (ts->tensor[i].name != NULL && strcmp(ts->tensor[i].name, name) == 0)
      return &ts->tensor[i];
  return NULL;
}

clarke_status
clarke_tensors_alloc(clarke_tensors *ts, size_t n, clarke_error *err)
{
  clarke_tensors_clear(ts);
  if (n == 0)
    return CLARKE_OK;
  ts->tensor = calloc(n, sizeof *ts->tensor);
  if (ts->tensor == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu tensors", n);
  ts->n = n;
  for (size_t i = 0; i < n; i++)
    clarke_tensor_init(&ts->tensor[i]);
  return CLARKE_OK;
}

static int
by_name(const void *a, const void *b)
{
  return strcmp(((const clarke_tensor *)a)->name, ((const clarke_tensor *)b)->name);
}

clarke_status
clarke_tensors_sort(clarke_tensors *ts, clarke_error *err)
{
  if (ts->n > 1)
    qsort(ts->tensor, ts->n, sizeof *ts->tensor, by_name);
  for (size_t i = 1; i < ts->n; i++)
    if (strcmp(ts->tensor[i - 1].name, ts->tensor[i].name) == 0)
      return clarke_fail(err, CLARKE_EINPUT, "two tensors are named \"%s\"", ts->tensor[i].name);
  return CLARKE_OK;
}
