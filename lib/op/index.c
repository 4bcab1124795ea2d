#include "op/index.h"

#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <stdlib.h>

bool
clarke_index_is_computed(const clarke_lowering *low, size_t i)
{
  return clarke_lower_has(low, i) && !clarke_lower_value(low, i)->constant && clarke_lower_value(low, i)->holds == CLARKE_HOLDS_INTEGERS;
}

/* Is the value, entry by entry, first, first + 1, and so on? */
static size_t
equals(clarke_lowering *low, size_t value, int64_t first, size_t n, clarke_error *err)
{
  int64_t *list = calloc(n + 1, sizeof *list);
  size_t numbers;

  if (list == NULL) {
    clarke_lower_no_memory(low, err);
    return CLARKE_NONE;
  }
  for (size_t k = 0; k < n; k++)
    list[k] = first + (int64_t)k;
  numbers = clarke_inner_integers(low, list, n, err);
  free(list);
  return clarke_inner_of(low, "Equal", value, numbers, err);
}

size_t
clarke_index_ones(clarke_lowering *low, size_t i, size_t n, clarke_error *err)
{
  const clarke_attr to = clarke_inner_int("to", 1);
  const size_t behind = clarke_inner_integers(low, &(int64_t){-1}, 1, err);
  const size_t place = clarke_inner_of(low, "Unsqueeze", low->in[i], behind, err);
  const size_t there = place != CLARKE_NONE ? equals(low, place, 0, n, err) : place;
  const size_t from_end = there != CLARKE_NONE ? equals(low, place, -(int64_t)n, n, err) : there;
  const size_t either = clarke_inner_of(low, "Or", there, from_end, err);

  return either != CLARKE_NONE ? clarke_inner_node(low, "Cast", &either, 1, &to, 1, err) : either;
}

/* What is taken along the axis, as a matrix with a row for each place. */
static size_t
rows_of(clarke_lowering *low, size_t axis, size_t rank, size_t n, clarke_error *err)
{
  int64_t order[CLARKE_MAX_WHOLE] = {(int64_t)axis};
  size_t x = low->in[0];

  for (size_t a = 0, k = 1; a < rank; a++)
    if (a != axis)
      order[k++] = (int64_t)a;
  if (axis > 0)
    x = clarke_inner_transposed(low, x, order, rank, err);
  return clarke_inner_reshaped(low, x, (int64_t[]){(int64_t)n, -1}, 2, err);
}

/* Rows of the places become what the node makes: the places' axes, `many` of them, stand where the axis was. */
static size_t
put_axes(clarke_lowering *low, size_t y, size_t axis, size_t rank, const size_t *dims, clarke_error *err)
{
  int64_t shape[2 * CLARKE_MAX_WHOLE], order[2 * CLARKE_MAX_WHOLE];
  size_t places[CLARKE_MAX_WHOLE], many = clarke_axes_of_run(low, 1, places), n = 0;

  if (many + rank - 1 > CLARKE_MAX_RANK) {
    clarke_lower_fail(low, err, "a result of %zu axes", many + rank - 1);
    return CLARKE_NONE;
  }
  for (size_t a = 0; a < many; a++)
    shape[n++] = (int64_t)places[a];
  for (size_t a = 0; a < rank; a++)
    if (a != axis)
      shape[n++] = (int64_t)dims[a];
  y = clarke_inner_reshaped(low, y, shape, n, err);
  if (axis == 0 || many == 0)
    return y;
  for (size_t k = 0; k < n; k++)
    order[k] = (int64_t)(k < axis ? many + k : k < axis + many ? k - axis : k);
  return clarke_inner_transposed(low, y, order, n, err);
}

clarke_status
clarke_index_take(clarke_lowering *low, clarke_error *err)
{
  const clarke_value *x = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;
  const double reach = clarke_lower_value(low, 1)->reach;
  size_t dims[CLARKE_MAX_WHOLE], rank, axis, y;
  clarke_status status;

  if (x == NULL || (x->constant ? x->real == NULL : low->graph->batched && !x->batch.none))
    return clarke_lower_fail(low, err, "places that are computed are taken of floats without a batch axis");
  rank = clarke_axes_of_run(low, 0, dims);
  status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", 0), rank, &axis, err);
  if (status == CLARKE_OK && !(reach > 0 && reach < (double)dims[axis]))
    status = clarke_lower_fail(low, err, "it is not known that each place, which is computed, is one of %zu", dims[axis]);
  if (status != CLARKE_OK)
    return status;
  y = rows_of(low, axis, rank, dims[axis], err);
  y = y != CLARKE_NONE ? clarke_inner_of(low, "MatMul", clarke_index_ones(low, 1, dims[axis], err), y, err) : y;
  return y != CLARKE_NONE ? clarke_inner_done(low, 0, put_axes(low, y, axis, rank, dims, err), err) : clarke_inner_failed(err);
}
