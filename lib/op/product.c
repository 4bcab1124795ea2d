/* Products of two activations: bilinear. Mul, MatMul and Pow become them. */
#include "op/product.h"
#include "op/broadcast.h"
#include "op/lower.h"

#include "op/axes.h"

#include <stdlib.h>
#include <string.h>

clarke_step *
clarke_lower_entries(clarke_lowering *low, size_t a, size_t c, clarke_error *err)
{
  clarke_step *s = clarke_lower_step_like(low, CLARKE_PRODUCT, 2, a, err);

  if (s == NULL)
    return NULL;
  s->in[1].value = c;
  s->contraction = (clarke_contraction){low->graph->values[s->out].count, 1, 1, 1};
  return s;
}

clarke_status
clarke_lower_times(clarke_lowering *low, clarke_error *err)
{
  size_t rank, dims[CLARKE_MAX_WHOLE], *map[2];
  clarke_batch_axis batch;
  clarke_status status = clarke_lower_broadcast(low, &rank, dims, &map[0], &map[1], &batch, err);
  clarke_step *s;

  if (status != CLARKE_OK)
    return status;
  s = clarke_lower_step(low, CLARKE_PRODUCT, 2, rank, dims, err);
  if (s == NULL) {
    free(map[0]);
    free(map[1]);
    return err != NULL ? err->code : CLARKE_ENOMEM;
  }
  s->in[0].map = map[0];
  s->in[1].map = map[1];
  s->contraction = (clarke_contraction){low->graph->values[s->out].count, 1, 1, 1};
  low->graph->values[s->out].batch = batch;
  return clarke_lower_done(low, s->out, err);
}

/* Which matrix of an operand block b of the output takes: the axes before the last two broadcast. */
static size_t
block_of(size_t b, size_t rank, const size_t *dims, size_t own_rank, const size_t *own)
{
  size_t at = 0, step = 1;

  for (size_t a = rank - 2; a-- > 0; b /= dims[a]) {
    if (a + own_rank < rank)
      continue;
    at += (own[a + own_rank - rank] == 1 ? 0 : b % dims[a]) * step;
    step *= own[a + own_rank - rank];
  }
  return at;
}

/* The map of an operand, whose matrices have `size` entries. */
static clarke_status
operand_blocks(clarke_lowering *low, clarke_step *s, size_t i, size_t size, size_t rank, const size_t *dims,
               size_t own_rank, const size_t *own, clarke_error *err)
{
  const size_t n = s->contraction.blocks * size;
  size_t *map;

  if (n == clarke_lower_value(low, i)->count)
    return CLARKE_OK;
  map = clarke_lower_map(low, s, i, n, err);
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t e = 0; e < n; e++)
    map[e] = block_of(e / size, rank, dims, own_rank, own) * size + e % size;
  return CLARKE_OK;
}

/* The whole axes of the product. */
static clarke_status
product_dims(const clarke_lowering *low, size_t in[2][CLARKE_MAX_WHOLE], const size_t *ranks, size_t *rank, size_t *dims,
             clarke_error *err)
{
  *rank = ranks[0] > ranks[1] ? ranks[0] : ranks[1];
  for (size_t i = 0; i < 2; i++)
    if (ranks[i] < 2)
      return clarke_lower_fail(low, err, "input %zu has %zu axes and is no constant: unsqueeze it to a matrix, and squeeze the product", i, ranks[i]);
  if (in[0][ranks[0] - 1] != in[1][ranks[1] - 2])
    return clarke_lower_fail(low, err, "a matrix of %zu columns times one of %zu rows", in[0][ranks[0] - 1], in[1][ranks[1] - 2]);
  for (size_t a = 0; a + 2 < *rank; a++) {
    const size_t p = a + ranks[0] < *rank ? 1 : in[0][a + ranks[0] - *rank];
    const size_t q = a + ranks[1] < *rank ? 1 : in[1][a + ranks[1] - *rank];

    if (p != q && p != 1 && q != 1)
      return clarke_lower_fail(low, err, "axes of %zu and %zu do not broadcast", p, q);
    dims[a] = p == 1 ? q : p;
  }
  dims[*rank - 2] = in[0][ranks[0] - 2];
  dims[*rank - 1] = in[1][ranks[1] - 1];
  return CLARKE_OK;
}

/* Is the batch along the rows of the first matrices, or the columns of the second, and the other's has none? Then each sample has
 * rows, or columns, of its own. */
static bool
is_of_rows(const clarke_lowering *low, const size_t *ranks, size_t rank, clarke_batch_axis *batch)
{
  for (size_t i = 0; i < 2; i++) {
    const size_t axis = clarke_axes_batch(low, i);

    if (axis == CLARKE_NONE || clarke_axes_lead(low, 1 - i) == 1 || axis != ranks[i] - 2 + i)
      continue;
    *batch = clarke_lower_value(low, i)->batch;
    batch->axis += rank - ranks[i];
    return true;
  }
  return false;
}

clarke_status
clarke_lower_contraction(clarke_lowering *low, clarke_error *err)
{
  clarke_batch_axis batch = {.inner = 1};
  size_t sample[CLARKE_MAX_WHOLE], n;
  size_t in[2][CLARKE_MAX_WHOLE], ranks[2], rank, dims[CLARKE_MAX_WHOLE], blocks = 1, inner;
  clarke_step *s;
  clarke_status status;

  for (size_t i = 0; i < 2; i++)
    ranks[i] = clarke_axes_whole(low, i, in[i]);
  status = product_dims(low, in, ranks, &rank, dims, err);
  if (status == CLARKE_OK && low->graph->batched && !is_of_rows(low, ranks, rank, &batch))
    status = clarke_axes_agree(low, 2, rank, &batch, err);
  if (status == CLARKE_OK && low->graph->batched && !is_of_rows(low, ranks, rank, &batch) && !batch.none && batch.axis + 2 >= rank)
    status = clarke_lower_fail(low, err, "axis %zu is the batch: samples would be mixed", batch.axis);
  memcpy(sample, dims, sizeof sample);
  n = low->graph->batched ? clarke_axes_of_sample(&batch, rank, sample) : rank;
  if (status != CLARKE_OK)
    return status;
  inner = in[1][ranks[1] - 2];
  s = clarke_lower_step(low, CLARKE_PRODUCT, 2, n, sample, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t a = 0; a + 2 < rank; a++)
    blocks *= dims[a];
  s->contraction = (clarke_contraction){blocks, dims[rank - 2], inner, dims[rank - 1]};
  status = operand_blocks(low, s, 0, dims[rank - 2] * inner, rank, dims, ranks[0], in[0], err);
  if (status == CLARKE_OK)
    status = operand_blocks(low, s, 1, inner * dims[rank - 1], rank, dims, ranks[1], in[1], err);
  low->graph->values[s->out].batch = batch;
  return status == CLARKE_OK ? clarke_lower_done(low, s->out, err) : status;
}
