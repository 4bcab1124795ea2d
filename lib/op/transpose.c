/* Transpose: the axes in another order, the batch staying first. */
#include "op/operator.h"

#include <stdlib.h>
#include <string.h>

/* perm over whole axes; ONNX's default reverses them. */
static clarke_status
permutation(const clarke_lowering *low, size_t rank, size_t *perm, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, "perm");
  bool seen[CLARKE_MAX_RANK + 1] = {false};

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
  size_t stride[CLARKE_MAX_RANK + 1];

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
  size_t dims[CLARKE_MAX_RANK + 1], out[CLARKE_MAX_RANK + 1], perm[CLARKE_MAX_RANK + 1] = {0};
  const clarke_value *x;
  size_t lead, rank;
  size_t *map;
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  x = clarke_lower_value(low, 0);
  lead = !x->constant && low->graph->batched ? 1 : 0;
  rank = x->rank + lead;
  dims[0] = 1;
  memcpy(dims + lead, x->dims, x->rank * sizeof *dims);
  status = permutation(low, rank, perm, err);
  if (status != CLARKE_OK)
    return status;
  if (lead == 1 && perm[0] != 0)
    return clarke_lower_fail(low, err, "the batch axis must stay the first");
  for (size_t a = 0; a < rank; a++)
    out[a] = dims[perm[a]];
  map = transposed_map(rank, dims, perm, x->count);
  if (map == NULL)
    return clarke_no_memory(err);
  return clarke_lower_rearranged(low, rank - lead, out + lead, map, err);
}


const clarke_op clarke_ops_transpose[] = {
  {.name = "Transpose", .forms = {{7, 1, 1, 1, "perm:I"}}, .lower = lower_transpose, .takes_negated = true},
  {.name = NULL},
};
