/* NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss, as nodes: minus the logarithm of each target's share, by its weight. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <stdlib.h>
#include <string.h>

enum { X, TARGET, WEIGHT };

typedef struct {
  size_t rank, dims[CLARKE_MAX_WHOLE]; /* of the input: (samples, classes, ...) */
  size_t classes, behind, targets;     /* entries behind the classes; all targets */
  const int64_t *target;
  bool ignores, mean, sum;
  int64_t ignored;
  size_t counted, each,
      all; /* targets that are not ignored; values: 1 where the input's entry is a target's; how many of each class */
} loss;

static clarke_status
read_reduction(loss *l, const clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, "reduction");
  const char *reduction = attr != NULL ? attr->s : "mean";

  l->mean = strcmp(reduction, "mean") == 0;
  l->sum = strcmp(reduction, "sum") == 0;
  l->ignores = clarke_model_attr(low->node, "ignore_index") != NULL;
  l->ignored = clarke_lower_int(low, "ignore_index", 0);
  if (!l->mean && !l->sum && strcmp(reduction, "none") != 0)
    return clarke_lower_fail(low, err, "reduction is '%.40s'; expected mean, sum or none", reduction);
  return CLARKE_OK;
}

static clarke_status
read_shapes(loss *l, const clarke_lowering *low, clarke_error *err)
{
  const clarke_value *t;
  size_t n, weight[CLARKE_MAX_WHOLE];
  clarke_status status = clarke_lower_integers(low, TARGET, &l->target, &n, err);

  if (status != CLARKE_OK)
    return status;
  t = clarke_lower_value(low, TARGET);
  l->rank = clarke_axes_of_run(low, X, l->dims);
  if (l->rank < 2 || l->rank > CLARKE_MAX_RANK || t->rank + 1 != l->rank || l->dims[0] == 0 || l->dims[1] == 0)
    return clarke_lower_fail(low, err,
                             "an input of %zu axes and a target of %zu; expected (samples, classes, ...) and (samples, ...)",
                             l->rank, t->rank);
  l->classes = l->dims[1];
  l->behind = 1;
  for (size_t a = 0; a < t->rank; a++)
    if (t->dims[a] != l->dims[a == 0 ? 0 : a + 1])
      return clarke_lower_fail(low, err, "axis %zu of the target has %zu entries; expected %zu", a, t->dims[a],
                               l->dims[a == 0 ? 0 : a + 1]);
  for (size_t a = 2; a < l->rank; a++)
    l->behind *= l->dims[a];
  l->targets = l->dims[0] * l->behind;
  if (clarke_lower_has(low, WEIGHT) && (clarke_axes_of_run(low, WEIGHT, weight) != 1 || weight[0] != l->classes))
    return clarke_lower_fail(low, err, "a weight that is not one of each of %zu classes", l->classes);
  if (clarke_lower_has(low, WEIGHT) && clarke_axes_batch(low, WEIGHT) != CLARKE_NONE)
    return clarke_lower_fail(low, err, "the weights are of each sample; expected the same for all of them");
  return CLARKE_OK;
}

/* The constants that the targets are. */
static clarke_status
read_targets(loss *l, clarke_lowering *low, clarke_error *err)
{
  const size_t column[2] = {l->classes, 1};
  clarke_graph *g = low->graph;
  clarke_status status = clarke_lower_made(low, l->rank, l->dims, &l->each, err);

  if (status == CLARKE_OK && !clarke_lower_affordable(g, g->values[l->each].count))
    return clarke_lower_too_large(low, err);
  if (status == CLARKE_OK)
    status = clarke_lower_made(low, 2, column, &l->all, err);
  for (size_t i = 0; i < l->targets && status == CLARKE_OK; i++) {
    const int64_t t = l->target[i];

    if (l->ignores && t == l->ignored)
      continue;
    if (t < 0 || (size_t)t >= l->classes)
      return clarke_lower_fail(low, err, "target %zu is class %lld of %zu", i, (long long)t, l->classes);
    g->values[l->each].real[(i / l->behind * l->classes + (size_t)t) * l->behind + i % l->behind] = 1;
    g->values[l->all].real[t]++;
    l->counted++;
  }
  if (status != CLARKE_OK)
    return status;
  g->activations += g->values[l->each].count;
  return l->mean && l->counted == 0 ? clarke_lower_fail(low, err, "all targets are ignored: the mean would be 0 / 0")
                                    : CLARKE_OK;
}

/* The sum over the axes: the classes; or all. */
static size_t
summed(clarke_lowering *low, size_t value, const int64_t *axes, size_t n, clarke_error *err)
{
  const clarke_attr keep = clarke_inner_int("keepdims", 0);
  const size_t list = value != CLARKE_NONE ? clarke_inner_integers(low, axes, n, err) : CLARKE_NONE;

  return list != CLARKE_NONE ? clarke_inner_node(low, "ReduceSum", (size_t[]){value, list}, 2, &keep, 1, err) : CLARKE_NONE;
}

/* What a mean's sum is divided by: the number of targets, or their weights' sum. */
static size_t
share(const loss *l, clarke_lowering *low, clarke_error *err)
{
  const int64_t row[2] = {1, (int64_t)l->classes};
  size_t weights;

  if (!clarke_lower_has(low, WEIGHT))
    return clarke_inner_number(low, (double)l->counted, err);
  weights = clarke_inner_of(low, "MatMul", clarke_inner_reshaped(low, low->in[WEIGHT], row, 2, err), l->all, err);
  return clarke_inner_reshaped(low, weights, NULL, 0, err);
}

/* Each target's loss, and what the reduction makes of them, of the logarithms. */
static size_t
reduced(const loss *l, clarke_lowering *low, size_t logarithms, clarke_error *err)
{
  const int64_t axes[CLARKE_MAX_WHOLE] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, by_class = 1;
  int64_t shape[CLARKE_MAX_WHOLE] = {1, (int64_t)l->classes, 1, 1, 1, 1, 1, 1, 1};
  size_t y = clarke_inner_of(low, "Mul", logarithms, l->each, err);

  if (clarke_lower_has(low, WEIGHT) && y != CLARKE_NONE)
    y = clarke_inner_of(low, "Mul", y, clarke_inner_reshaped(low, low->in[WEIGHT], shape, l->rank, err), err);
  y = clarke_inner_function(low, "Neg", y, err);
  if (!l->mean && !l->sum)
    return summed(low, y, &by_class, 1, err);
  y = summed(low, y, axes, l->rank, err);
  return l->mean && y != CLARKE_NONE ? clarke_inner_of(low, "Div", y, share(l, low, err), err) : y;
}

static clarke_status
lower_loss(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr axis = clarke_inner_int("axis", 1);
  loss l = {0};
  size_t logarithms;
  clarke_status status = clarke_lower_lift_first(low, err);

  if (status == CLARKE_OK)
    status = read_reduction(&l, low, err);
  if (status == CLARKE_OK)
    status = read_shapes(&l, low, err);
  if (status == CLARKE_OK)
    status = read_targets(&l, low, err);
  if (status != CLARKE_OK)
    return status;
  logarithms = low->in[X];
  if (low->node->op_type[0] == 'S')
    logarithms = clarke_inner_node(low, "LogSoftmax", &logarithms, 1, &axis, 1, err);
  status = clarke_inner_done(low, 0, logarithms != CLARKE_NONE ? reduced(&l, low, logarithms, err) : logarithms, err);
  if (status == CLARKE_OK && low->node->n_out > 1 && low->node->out[1][0] != '\0')
    status = clarke_inner_done(low, 1, logarithms, err);
  return status;
}

const clarke_op clarke_ops_loss[] = {
    {.name = "NegativeLogLikelihoodLoss",
     .forms = {{12, 2, 3, 1, "ignore_index:i reduction:s"}},
     .lower = lower_loss,
     .batch = CLARKE_BATCH_FIRST},
    {.name = "SoftmaxCrossEntropyLoss",
     .forms = {{12, 2, 3, 2, "ignore_index:i reduction:s"}},
     .lower = lower_loss,
     .batch = CLARKE_BATCH_FIRST},
    {.name = NULL},
};
