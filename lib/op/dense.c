/* MatMul with a constant of rank 1 or 2 on either side, and Gemm. */
#include "op/operator.h"

#include <stdlib.h>
#include <string.h>

/* The step y = W x once its geometry is known. */
static clarke_status
dense(clarke_lowering *low, size_t x, size_t w, clarke_dense shape, size_t rank,
      const size_t *dims, clarke_step **step, clarke_error *err)
{
  *step = clarke_lower_step(low, CLARKE_DENSE, 1, rank, dims, err);
  if (*step == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  (*step)->in[0].value = low->in[x];
  shape.weight = low->in[w];
  (*step)->dense = shape;
  return CLARKE_OK;
}

/* x W: the last axis of x is contracted; W (inner x outer) is used transposed. */
static clarke_status
weight_on_the_right(clarke_lowering *low, clarke_step **step, clarke_error *err)
{
  const clarke_value *x = clarke_lower_value(low, 0), *w = clarke_lower_value(low, 1);
  size_t dims[CLARKE_MAX_RANK], rank = x->rank;
  clarke_dense shape = {.transposed = true, .repeat = 1, .inner = w->dims[0],
                        .outer = w->rank == 2 ? w->dims[1] : 1};

  if (rank == 0 || x->dims[rank - 1] != w->dims[0])
    return clarke_lower_fail(low, err, "the input's last axis has %zu entries, the weight %zu rows",
                             rank == 0 ? (size_t)1 : x->dims[rank - 1], w->dims[0]);
  memcpy(dims, x->dims, sizeof dims);
  shape.blocks = x->count / (shape.inner != 0 ? shape.inner : 1);
  if (w->rank == 2)
    dims[rank - 1] = shape.outer;
  else
    rank--;
  return dense(low, 0, 1, shape, rank, dims, step, err);
}

/* W x: the last axis but one of x is contracted (its only one, when x is a vector). */
static clarke_status
weight_on_the_left(clarke_lowering *low, clarke_step **step, clarke_error *err)
{
  const clarke_value *w = clarke_lower_value(low, 0), *x = clarke_lower_value(low, 1);
  size_t dims[CLARKE_MAX_RANK], rank = x->rank;
  size_t axis = rank == 1 && !low->graph->batched ? 0 : rank - 2;
  clarke_dense shape = {.repeat = 1, .outer = w->rank == 2 ? w->dims[0] : 1,
                        .inner = w->dims[w->rank - 1]};

  if (rank == 0 || (rank == 1 && low->graph->batched) || x->dims[axis] != shape.inner)
    return clarke_lower_fail(low, err, "the weight has %zu columns; the input has no such axis",
                             shape.inner);
  if (axis + 1 < rank)
    shape.repeat = x->dims[rank - 1];
  shape.blocks = x->count / (shape.inner * shape.repeat != 0 ? shape.inner * shape.repeat : 1);
  memcpy(dims, x->dims, sizeof dims);
  if (w->rank == 2)
    dims[axis] = shape.outer;
  else {
    memmove(dims + axis, dims + axis + 1, (rank - axis - 1) * sizeof *dims);
    rank--;
  }
  return dense(low, 1, 0, shape, rank, dims, step, err);
}

static clarke_status
lower_matmul(clarke_lowering *low, clarke_error *err)
{
  size_t w = clarke_lower_has(low, 1) && clarke_lower_value(low, 1)->constant ? 1 : 0;
  clarke_status status = clarke_lower_weight(low, w, err);
  clarke_step *step;

  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 1 - w, err);
  if (status != CLARKE_OK)
    return status;
  if (clarke_lower_value(low, w)->rank < 1 || clarke_lower_value(low, w)->rank > 2)
    return clarke_lower_fail(low, err, "a constant of %zu axes; 1 or 2 are supported",
                             clarke_lower_value(low, w)->rank);
  status = w == 1 ? weight_on_the_right(low, &step, err) : weight_on_the_left(low, &step, err);
  return status != CLARKE_OK ? status
                             : clarke_lower_done_signed(low, step->out, low->graph->values[low->in[w]].negated, err);
}

/* The map of a bias of shape (outer), (1, outer), (1), (1, 1) or () onto `count` features, outer of them in a row. */
static clarke_status
bias_map(const clarke_lowering *low, size_t outer, size_t count, size_t **map, clarke_error *err)
{
  const clarke_value *b = clarke_lower_value(low, 2);

  *map = NULL;
  if (b->rank > 2 || (b->count != outer && b->count != 1) || (b->rank == 2 && b->dims[0] != 1))
    return clarke_lower_fail(low, err, "a bias of %zu entries for %zu outputs", b->count, outer);
  if (b->count == count)
    return CLARKE_OK;
  *map = malloc((count + 1) * sizeof **map);
  if (*map == NULL)
    return clarke_no_memory(err);
  for (size_t f = 0; f < count; f++)
    (*map)[f] = b->count == 1 ? 0 : f % outer;
  return CLARKE_OK;
}

/* y = alpha (W x) + beta b, when it is more than W x. */
static clarke_status
gemm_sum(clarke_lowering *low, size_t product, bool bias, double alpha, double beta,
         clarke_error *err)
{
  const clarke_value *made = &low->graph->values[product];
  size_t rank = made->rank, outer = made->dims[rank - 1], count = made->count, dims[CLARKE_MAX_RANK];
  size_t *map = NULL;
  clarke_step *s;
  clarke_status status = CLARKE_OK;

  memcpy(dims, made->dims, sizeof dims);
  if (bias)
    status = clarke_lower_weight(low, 2, err);
  if (bias && status == CLARKE_OK)
    status = bias_map(low, outer, count, &map, err);
  if (status != CLARKE_OK)
    return status;
  s = clarke_lower_step(low, CLARKE_SUM, bias ? 2 : 1, rank, dims, err);
  if (s == NULL) {
    free(map);
    return err != NULL ? err->code : CLARKE_ENOMEM;
  }
  s->in[0].value = product;
  s->in[0].coef = alpha;
  if (bias) {
    s->in[1].value = low->in[2];
    s->in[1].coef = beta;
    s->in[1].map = map;
  }
  return clarke_lower_done(low, s->out, err);
}

/* The product of x, (batch, features), with the weight: the batch is the graph's axis of samples, or one of x's own. */
static clarke_status
gemm_product(clarke_lowering *low, clarke_step **step, clarke_error *err)
{
  bool transposed = clarke_lower_int(low, "transB", 0) == 0;
  const clarke_value *x = clarke_lower_value(low, 0), *w = clarke_lower_value(low, 1);
  size_t lead = low->graph->batched ? 0 : 1, dims[CLARKE_MAX_RANK];

  if (clarke_lower_int(low, "transA", 0) != 0 || x->rank != 1 + lead || w->rank != 2)
    return clarke_lower_fail(low, err, "expected transA = 0, an input of shape (batch, features) "
                                       "and a weight of two axes");
  clarke_dense shape = {.transposed = transposed, .blocks = lead == 1 ? x->dims[0] : 1, .repeat = 1,
                        .inner = w->dims[transposed ? 0 : 1],
                        .outer = w->dims[transposed ? 1 : 0]};
  if (x->dims[lead] != shape.inner)
    return clarke_lower_fail(low, err, "the input has %zu features, the weight takes %zu", x->dims[lead],
                             shape.inner);
  dims[0] = shape.blocks;
  dims[lead] = shape.outer;
  return dense(low, 0, 1, shape, 1 + lead, dims, step, err);
}

static clarke_status
lower_gemm(clarke_lowering *low, clarke_error *err)
{
  double alpha = clarke_lower_float(low, "alpha", 1), beta = clarke_lower_float(low, "beta", 1);
  bool bias = clarke_lower_has(low, 2); /* a parameter, whatever beta */
  clarke_step *step;
  clarke_status status = clarke_lower_activation(low, 0, err);

  if (status == CLARKE_OK)
    status = clarke_lower_weight(low, 1, err);
  if (status != CLARKE_OK)
    return status;
  alpha = clarke_lower_value(low, 1)->negated ? -alpha : alpha;
  beta = bias && clarke_lower_value(low, 2)->negated ? -beta : beta;
  status = gemm_product(low, &step, err);
  if (status != CLARKE_OK)
    return status;
  return bias || alpha != 1 ? gemm_sum(low, step->out, bias, alpha, beta, err)
                            : clarke_lower_done(low, step->out, err);
}

const clarke_op clarke_ops_dense[] = {
  {.name = "MatMul", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_matmul, .takes_negated = true},
  {.name = "Gemm",
   .forms = {{7, 3, 3, 1, "alpha:f beta:f transA:i transB:i"},
             {11, 2, 3, 1, "alpha:f beta:f transA:i transB:i"}},
   .lower = lower_gemm, .takes_negated = true},
  {.name = NULL},
};
