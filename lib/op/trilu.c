/* Trilu: of a constant of numbers the entries on one side of a diagonal, and zeros. So exporters write the mask of causal attention. */
#include "op/floats.h"
#include "op/integers.h"
#include "op/lower.h"

#include <string.h>

/* The diagonal: the main one, or so many places above it. */
static clarke_status
read_diagonal(const clarke_lowering *low, int64_t *k, clarke_error *err)
{
  const int64_t *list;
  size_t n;
  clarke_status status;

  *k = 0;
  if (!clarke_lower_has(low, 1))
    return CLARKE_OK;
  status = clarke_lower_integers(low, 1, &list, &n, err);
  if (status == CLARKE_OK && (n != 1 || list[0] > INT32_MAX || list[0] < INT32_MIN))
    status = clarke_lower_fail(low, err, "the diagonal is not one number of 32 bits");
  if (status == CLARKE_OK)
    *k = list[0];
  return status;
}

static clarke_status
lower_trilu(clarke_lowering *low, clarke_error *err)
{
  const bool upper = clarke_lower_int(low, "upper", 1) != 0;
  const clarke_value *x = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;
  const bool number = x != NULL && x->constant && x->real != NULL && clarke_floats_are(x->dtype) && !x->initializer && x->parameter == CLARKE_NONE;
  size_t rank, dims[CLARKE_MAX_RANK], rows, columns;
  int64_t k, *out = NULL;
  clarke_status status = read_diagonal(low, &k, err);

  if (status != CLARKE_OK)
    return status;
  if (x == NULL || x->rank < 2 || !(number || (x->constant && x->integer != NULL)))
    return clarke_lower_fail(low, err, "input 0 is no constant of two axes or more, of integers, truth values, or floats that no parameter "
                                       "is: only masks are computed so. Write it as a product with a mask, or record the training step "
                                       "(clarke.record)");
  rank = x->rank;
  memcpy(dims, x->dims, sizeof dims);
  rows = dims[rank - 2];
  columns = dims[rank - 1];
  if (number)
    status = clarke_lower_floats_filled(low, x->dtype, rank, dims, 0, err);
  else
    out = clarke_lower_integers_made(low, x->dtype, rank, dims, err);
  if (status != CLARKE_OK || (!number && out == NULL))
    return err != NULL ? err->code : CLARKE_EINPUT;
  x = clarke_lower_value(low, 0);
  for (size_t e = 0; e < x->count; e++) {
    const int64_t above = (int64_t)(e % columns) - (int64_t)(e / columns % rows);
    const bool kept = upper ? above >= k : above <= k;

    if (kept && number)
      low->graph->values[low->graph->n_values - 1].real[e] = x->real[e];
    else if (kept)
      out[e] = x->integer[e];
  }
  return CLARKE_OK;
}

const clarke_op clarke_ops_trilu[] = {
  {.name = "Trilu", .forms = {{14, 1, 2, 1, "upper:b"}}, .lower = lower_trilu, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
