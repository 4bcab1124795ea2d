/* Transpose: the axes in another order. */
#include "op/axes.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

/* perm over whole axes; ONNX's default reverses them. */
static clarke_status
permutation(const clarke_lowering *low, size_t rank, size_t *perm, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, "perm");
  bool seen[CLARKE_MAX_WHOLE] = {false};

  if (attr != NULL && attr->n != rank)
    return clarke_lower_fail(low, err, "perm has %zu entries for %zu axes", attr->n, rank);
  for (size_t a = 0; a < rank; a++) {
    int64_t p = attr != NULL ? attr->ints[a] : (int64_t)(rank - 1 - a);

    if (p < 0 || (size_t)p >= rank || seen[p])
      return clarke_lower_fail(low, err, "perm is no permutation of %zu axes", rank);
    seen[p] = true;
    perm[a] = (size_t)p;
  }
  return CLARKE_OK;
}

static size_t *
transposed_map(size_t rank, const size_t *dims, const size_t *perm, size_t count)
{
  size_t *map = malloc((count + 1) * sizeof *map);
  size_t stride[CLARKE_MAX_WHOLE];

  if (map == NULL)
    return NULL;
  for (size_t a = rank, s = 1; a-- > 0; s *= dims[a])
    stride[a] = s;
  for (size_t f = 0; f < count; f++) {
    size_t rest = f, from = 0;

    for (size_t a = rank; a-- > 0; rest /= dims[perm[a]])
      from += rest % dims[perm[a]] * stride[perm[a]];
    map[f] = from;
  }
  return map;
}

static clarke_status
lower_transpose(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], out[CLARKE_MAX_WHOLE], perm[CLARKE_MAX_WHOLE] = {0}, rank;
  clarke_batch_axis batch = {.inner = 1};
  size_t *map;
  bool batched;
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  batched = clarke_axes_lead(low, 0) == 1;
  rank = clarke_axes_whole(low, 0, dims);
  status = permutation(low, rank, perm, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t a = 0; a < rank; a++) {
    out[a] = dims[perm[a]];
    if (batched && perm[a] == clarke_axes_batch(low, 0)) {
      batch = clarke_lower_value(low, 0)->batch;
      batch.axis = a;
    }
  }
  map = transposed_map(rank, dims, perm, clarke_lower_value(low, 0)->count);
  if (map == NULL)
    return clarke_no_memory(err);
  if (batched)
    rank = clarke_axes_of_sample(&batch, rank, out);
  return clarke_lower_moved(low, rank, out, map, &batch, err);
}

const clarke_op clarke_ops_transpose[] = {
  {.name = "Transpose", .forms = {{7, 1, 1, 1, "perm:I"}}, .lower = lower_transpose, .batch = CLARKE_BATCH_ANY,
   .takes_negated = true, .takes_odd = true},
  {.name = NULL},
};
