#include "op/axes.h"

#include <string.h>

size_t
clarke_axes_lead(const clarke_lowering *low, size_t i)
{
  return !clarke_lower_value(low, i)->constant && low->graph->batched ? 1 : 0;
}

size_t
clarke_axes_whole(const clarke_lowering *low, size_t i, size_t *dims)
{
  const clarke_value *v = clarke_lower_value(low, i);
  size_t lead = clarke_axes_lead(low, i);

  dims[0] = 1;
  memcpy(dims + lead, v->dims, v->rank * sizeof *dims);
  return v->rank + lead;
}

clarke_status
clarke_axes_resolve(const clarke_lowering *low, int64_t number, size_t rank, size_t *axis,
                    clarke_error *err)
{
  int64_t a = number < 0 ? number + (int64_t)rank : number;

  if (a < 0 || (size_t)a >= rank)
    return clarke_lower_fail(low, err, "axis %lld is out of range for %zu axes", (long long)number,
                             rank);
  *axis = (size_t)a;
  return CLARKE_OK;
}

clarke_status
clarke_axes_list(const clarke_lowering *low, const char *name, size_t i, const int64_t **list,
                 size_t *n, bool *given, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, name);

  *list = attr != NULL ? attr->ints : NULL;
  *n = attr != NULL ? attr->n : 0;
  *given = attr != NULL || clarke_lower_has(low, i);
  return attr == NULL && *given ? clarke_lower_integers(low, i, list, n, err) : CLARKE_OK;
}

clarke_status
clarke_axes_chosen(const clarke_lowering *low, const int64_t *list, size_t n, size_t rank,
                   bool *chosen, clarke_error *err)
{
  for (size_t a = 0; a < rank; a++)
    chosen[a] = false;
  for (size_t i = 0; i < n; i++) {
    int64_t a = list[i] < 0 ? list[i] + (int64_t)rank : list[i];

    if (a < 0 || (size_t)a >= rank || chosen[a])
      return clarke_lower_fail(low, err, "axis %lld is out of range or given twice",
                               (long long)list[i]);
    chosen[a] = true;
  }
  return CLARKE_OK;
}
