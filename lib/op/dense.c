/* MatMul with a constant of rank 1 or 2 on either side, or of two activations; and Gemm. */
#include "op/axes.h"
#include "op/computed.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/product.h"

#include <stdlib.h>
#include <string.h>

/* The step y = W x once its geometry is known. */
static clarke_status
dense(clarke_lowering *low, size_t x, size_t w, clarke_dense shape, size_t rank,
      const size_t *dims, clarke_step **step, clarke_error *err)
{
  shape.weight = low->in[w];
  *step = clarke_computed_dense(low, low->in[x], shape, rank, dims, err);
  return *step != NULL ? CLARKE_OK : err != NULL ? err->code : CLARKE_ENOMEM;
}

/* Finishes the shape of an output that has input x's axes, but that `axis` has `outer` entries, or is gone (CLARKE_NONE). */
static clarke_status
replaced_axis(clarke_lowering *low, size_t x, size_t w, clarke_dense shape, size_t axis, size_t outer, clarke_step **step,
              clarke_error *err)
{
  clarke_batch_axis batch = clarke_lower_value(low, x)->batch;
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, x, dims);
  clarke_status status;

  if (outer != CLARKE_NONE)
    dims[axis] = outer;
  else {
    memmove(dims + axis, dims + axis + 1, (rank - axis - 1) * sizeof *dims);
    batch.axis -= clarke_axes_lead(low, x) == 1 && batch.axis > axis ? 1 : 0;
    rank--;
  }
  if (clarke_axes_lead(low, x) == 1)
    rank = clarke_axes_of_sample(&batch, rank, dims);
  status = dense(low, x, w, shape, rank, dims, step, err);
  if (status == CLARKE_OK)
    low->graph->values[(*step)->out].batch = batch;
  return status;
}

/* The weight does not multiply x: it wants so many entries along the axis. */
static clarke_status
misfit(const clarke_lowering *low, size_t x, size_t w, size_t want, const char *axis, clarke_error *err)
{
  char shape[2][CLARKE_SHAPE_TEXT];

  clarke_axes_text(low, x, shape[0]);
  clarke_axes_text(low, w, shape[1]);
  return clarke_lower_fail(low, err, "an input of shape %s and a weight of shape %s, which takes %zu entries along the input's %s: "
                                     "Reshape or Transpose the input to that", shape[0], shape[1], want, axis);
}

/* x W: the last axis of x is contracted; W (inner x outer) is used transposed. */
static clarke_status
weight_on_the_right(clarke_lowering *low, clarke_step **step, clarke_error *err)
{
  const clarke_value *x = clarke_lower_value(low, 0), *w = clarke_lower_value(low, 1);
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, 0, dims);
  clarke_dense shape = {.transposed = true, .repeat = 1, .inner = w->dims[0],
                        .outer = w->rank == 2 ? w->dims[1] : 1};

  if (rank > 0 && clarke_axes_apart(low, 0, rank - 1, err) != CLARKE_OK)
    return CLARKE_EINPUT;
  if (rank == 0 || dims[rank - 1] != w->dims[0])
    return misfit(low, 0, 1, w->dims[0], "last axis", err);
  shape.blocks = x->count / (shape.inner != 0 ? shape.inner : 1);
  return replaced_axis(low, 0, 1, shape, rank - 1, w->rank == 2 ? shape.outer : CLARKE_NONE, step, err);
}

/* W x: the last axis but one of x is contracted (its only one, when x is a vector). */
static clarke_status
weight_on_the_left(clarke_lowering *low, clarke_step **step, clarke_error *err)
{
  const clarke_value *w = clarke_lower_value(low, 0), *x = clarke_lower_value(low, 1);
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, 1, dims), axis = rank == 1 ? 0 : rank - 2;
  clarke_dense shape = {.repeat = 1, .outer = w->rank == 2 ? w->dims[0] : 1,
                        .inner = w->dims[w->rank - 1]};

  if (rank > 0 && clarke_axes_apart(low, 1, axis, err) != CLARKE_OK)
    return CLARKE_EINPUT;
  if (rank == 0 || dims[axis] != shape.inner)
    return misfit(low, 1, 0, shape.inner, "last axis but one", err);
  if (axis + 1 < rank)
    shape.repeat = dims[rank - 1];
  shape.blocks = x->count / (shape.inner * shape.repeat != 0 ? shape.inner * shape.repeat : 1);
  return replaced_axis(low, 1, 0, shape, axis, w->rank == 2 ? shape.outer : CLARKE_NONE, step, err);
}

/* A constant of more axes than a matrix becomes an activation, the same for all samples. */
static clarke_status
multiply_lifted(clarke_lowering *low, size_t w, clarke_error *err)
{
  const clarke_value *v = clarke_lower_value(low, w);
  const size_t rank = v->rank;
  size_t dims[CLARKE_MAX_RANK], value;
  clarke_status status;

  memcpy(dims, v->dims, sizeof dims);
  status = clarke_lower_lifted(low, w, rank, dims, NULL, &value, err);
  if (status != CLARKE_OK)
    return status;
  low->graph->values[value].batch = (clarke_batch_axis){.inner = 1, .none = low->graph->batched};
  low->in[w] = value;
  return clarke_lower_contraction(low, err);
}

static clarke_status
lower_matmul(clarke_lowering *low, clarke_error *err)
{
  size_t w = clarke_lower_has(low, 1) && clarke_lower_value(low, 1)->constant ? 1 : 0;
  clarke_step *step;
  clarke_status status = clarke_lower_lift(low, err);

  if (status == CLARKE_OK && clarke_lower_activation(low, 0, NULL) == CLARKE_OK && clarke_lower_activation(low, 1, NULL) == CLARKE_OK)
    return clarke_lower_contraction(low, err);
  if (status == CLARKE_OK)
    status = clarke_lower_constant(low, w, err);
  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 1 - w, err);
  if (status == CLARKE_OK && clarke_lower_value(low, w)->rank > 2)
    return multiply_lifted(low, w, err);
  if (status == CLARKE_OK)
    status = clarke_lower_weight(low, w, err);
  if (status != CLARKE_OK)
    return status;
  if (clarke_lower_value(low, w)->rank < 1)
    return clarke_lower_fail(low, err, "a constant of 0 axes; 1 or 2 are supported");
  status = w == 1 ? weight_on_the_right(low, &step, err) : weight_on_the_left(low, &step, err);
  return status != CLARKE_OK ? status
                             : clarke_lower_done_signed(low, step->out, low->graph->values[low->in[w]].negated, err);
}

/* The map of a bias of shape (outer), (1, outer), (1), (1, 1) or () onto rows of outer features, `count` in all. */
static clarke_status
bias_map(const clarke_lowering *low, size_t outer, size_t count, size_t **map, clarke_error *err)
{
  const clarke_value *b = clarke_lower_value(low, 2);

  *map = NULL;
  if (b->rank > 2 || (b->count != outer && b->count != 1) || (b->rank == 2 && b->dims[0] != 1))
    return clarke_lower_fail(low, err, "a bias of %zu entries for %zu outputs", b->count, outer);
  if (b->count == count)
    return CLARKE_OK;
  *map = calloc(count, sizeof **map);
  for (size_t f = 0; *map != NULL && f < count && b->count == outer; f++)
    (*map)[f] = f % outer;
  return *map != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* y = alpha (W x) + beta b, when it is more than W x. */
static clarke_status
gemm_sum(clarke_lowering *low, size_t product, bool bias, double alpha, double beta,
         clarke_error *err)
{
  const clarke_value *y = &low->graph->values[product];
  const clarke_batch_axis batch = y->batch;
  const size_t rank = y->rank, outer = y->dims[rank - 1], count = y->count;
  size_t dims[CLARKE_MAX_RANK], *map = NULL;
  clarke_step *s;
  clarke_status status = CLARKE_OK;

  if (bias)
    status = clarke_computed_weight(low, 2, err);
  if (bias && status == CLARKE_OK)
    status = bias_map(low, outer, count, &map, err);
  if (status != CLARKE_OK)
    return status;
  memcpy(dims, low->graph->values[product].dims, sizeof dims);
  s = clarke_lower_step(low, CLARKE_SUM, bias ? 2 : 1, rank, dims, err);
  if (s == NULL) {
    free(map);
    return err != NULL ? err->code : CLARKE_ENOMEM;
  }
  low->graph->values[s->out].batch = batch;
  s->in[0].value = product;
  s->in[0].coef = alpha;
  if (bias) {
    s->in[1].value = low->in[2];
    s->in[1].coef = beta;
    s->in[1].map = map;
  }
  return clarke_lower_done(low, s->out, err);
}

/* Is the first factor turned round, or the bias a matrix of several rows? */
static bool
is_general(const clarke_lowering *low)
{
  size_t dims[CLARKE_MAX_WHOLE];

  if (!clarke_lower_has(low, 0) || !clarke_lower_has(low, 1))
    return false;
  if (clarke_lower_int(low, "transA", 0) != 0)
    return clarke_axes_whole(low, 0, dims) == 2;
  return clarke_lower_has(low, 2) && clarke_axes_of_run(low, 2, dims) == 2 && dims[0] > 1;
}

/* Then it is others: a Transpose, a Gemm, and an Add. */
static clarke_status
by_others(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *passed[] = {clarke_model_attr(low->node, "alpha"), clarke_model_attr(low->node, "transB")};
  const double beta = clarke_lower_float(low, "beta", 1);
  size_t whole[CLARKE_MAX_WHOLE], bias[CLARKE_MAX_WHOLE], n = 0, rank, y;
  clarke_attr attr[2];
  clarke_status status = clarke_lower_lift_first(low, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < 2; i++)
    if (passed[i] != NULL)
      attr[n++] = *passed[i];
  y = clarke_lower_int(low, "transA", 0) != 0 ? clarke_inner_transposed(low, low->in[0], (int64_t[]){1, 0}, 2, err) : low->in[0];
  y = y != CLARKE_NONE ? clarke_inner_node(low, "Gemm", (size_t[]){y, low->in[1]}, 2, attr, n, err) : y;
  if (y == CLARKE_NONE || !clarke_lower_has(low, 2))
    return clarke_inner_done(low, 0, y, err);
  low->in[0] = y;
  clarke_axes_of_run(low, 0, whole);
  rank = clarke_axes_of_run(low, 2, bias);
  for (size_t a = 0; a < rank; a++)
    if (rank > 2 || (bias[a] != 1 && bias[a] != whole[a + 2 - rank]))
      return clarke_lower_fail(low, err, "a bias that does not broadcast to the product");
  if (beta != 1 && clarke_lower_value(low, 2)->constant)
    low->in[2] = clarke_inner_function(low, "Sum", low->in[2], err);
  if (beta != 1 && low->in[2] != CLARKE_NONE)
    low->in[2] = clarke_inner_of(low, "Mul", low->in[2], clarke_inner_number(low, beta, err), err);
  return clarke_inner_done(low, 0, clarke_inner_of(low, "Add", y, low->in[2], err), err);
}

static clarke_status
lower_gemm(clarke_lowering *low, clarke_error *err)
{
  bool transposed = clarke_lower_int(low, "transB", 0) == 0;
  double alpha = clarke_lower_float(low, "alpha", 1), beta = clarke_lower_float(low, "beta", 1);
  bool bias = clarke_lower_has(low, 2); /* a parameter, whatever beta */
  const clarke_value *w;
  size_t dims[CLARKE_MAX_WHOLE], rank;
  clarke_step *step;
  clarke_status status;

  if (is_general(low))
    return by_others(low, err);
  status = clarke_lower_lift_first(low, err);
  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 0, err);
  if (status == CLARKE_OK)
    status = clarke_computed_weight(low, 1, err);
  if (status != CLARKE_OK)
    return status;
  w = clarke_lower_value(low, 1);
  alpha = w->negated ? -alpha : alpha;
  beta = bias && clarke_lower_value(low, 2)->negated ? -beta : beta;
  rank = clarke_axes_whole(low, 0, dims);
  if (clarke_lower_int(low, "transA", 0) != 0 || rank != 2 || (clarke_axes_lead(low, 0) == 1 && clarke_axes_batch(low, 0) != 0) ||
      w->rank != 2)
    return clarke_lower_fail(low, err, "expected transA = 0, an input of shape (batch, features) "
                                       "and a weight of two axes");
  clarke_dense shape = {.transposed = transposed, .blocks = dims[0], .repeat = 1,
                        .inner = w->dims[transposed ? 0 : 1],
                        .outer = w->dims[transposed ? 1 : 0]};
  if (dims[1] != shape.inner)
    return clarke_lower_fail(low, err, "the input has %zu features, the weight takes %zu", dims[1],
                             shape.inner);
  status = replaced_axis(low, 0, 1, shape, 1, shape.outer, &step, err);
  if (status != CLARKE_OK)
    return status;
  return bias || alpha != 1 ? gemm_sum(low, step->out, bias, alpha, beta, err)
                            : clarke_lower_done(low, step->out, err);
}

const clarke_op clarke_ops_dense[] = {
  {.name = "MatMul", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_matmul, .batch = CLARKE_BATCH_ANY,
   .takes_negated = true, .multiplies = true},
  {.name = "Gemm",
   .forms = {{7, 3, 3, 1, "alpha:f beta:f transA:b transB:b"},
             {11, 2, 3, 1, "alpha:f beta:f transA:b transB:b"}},
   .lower = lower_gemm, .batch = CLARKE_BATCH_ANY, .takes_negated = true, .multiplies = true},
  {.name = NULL},
};
