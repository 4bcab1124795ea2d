/* BatchNormalization: (x - mean) / sqrt(var + epsilon) * scale + B, in that order, by channel. In
 * inference mean and var are statistics of the file, about which no question is; in training those of the
 * whole minibatch, and the file's only go into the running ones. These are outputs of a single run. */
#include "op/axes.h"
#include "op/computed.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/normalize.h"
#include "op/quotient.h"

enum { X, SCALE, B, MEAN, VAR };

/* A statistic, or in training a number that nothing reads: a checkpoint brings it along. Or it is computed of constants, of the
 * weights that are normalized by it, say. */
static clarke_status
check_statistic(const clarke_chain *c, clarke_lowering *low, size_t i, const char *name,
                clarke_error *err)
{
  clarke_status status = clarke_computed_check(low, i, err);
  const clarke_value *v;

  if (status == CLARKE_OK && clarke_lower_value(low, i)->constant)
    status = clarke_lower_statistic(low, i, err);
  if (status != CLARKE_OK)
    return status;
  v = clarke_lower_value(low, i);
  return v->rank == 1 && v->count == c->whole[1]
           ? CLARKE_OK
           : clarke_lower_fail(low, err, "%s has %zu axes and %zu entries; expected one axis of %zu "
                                         "channels", name, v->rank, v->count, c->whole[1]);
}

/* Before opset 14 a node with running statistics among its outputs is one of training. */
static clarke_status
check_outputs(const clarke_lowering *low, bool training, clarke_error *err)
{
  if (low->node->n_out != 1 && low->node->n_out != low->form->max_out)
    return clarke_lower_fail(low, err, "%zu outputs; expected 1 or %zu", low->node->n_out,
                             low->form->max_out);
  for (size_t i = 1; i < low->node->n_out; i++)
    if (low->node->out[i][0] != '\0' && (!training || i > 2))
      return clarke_lower_fail(low, err, "only the first output is supported%s",
                               low->opset < 14 ? "; others mean training, which is read from opset 14 on"
                                               : "");
  return CLARKE_OK;
}

static clarke_status
check(const clarke_chain *c, clarke_lowering *low, bool training, clarke_error *err)
{
  clarke_status status = check_outputs(low, training, err);

  if (status != CLARKE_OK)
    return status;
  if (training && clarke_axes_lead(low, X) == 1 && clarke_lower_value(low, X)->batch.merged)
    return clarke_lower_fail(low, err, "training, by the statistics of the minibatch, where its axis is merged with others");
  if (training && clarke_axes_lead(low, X) == 1 && low->graph->together < low->graph->samples)
    return clarke_lower_fail(low, err, "training, by the statistics of the minibatch, where the input declares "
                                       "a batch of one");
  if (clarke_lower_int(low, "spatial", 1) != 1)
    return clarke_lower_fail(low, err, "spatial is %lld; expected 1: statistics by channel",
                             (long long)clarke_lower_int(low, "spatial", 1));
  status = clarke_chain_weight(low, SCALE, "scale", c->whole[1], "channels", err);
  if (status == CLARKE_OK)
    status = clarke_chain_weight(low, B, "B", c->whole[1], "channels", err);
  if (status == CLARKE_OK)
    status = check_statistic(c, low, MEAN, "mean", err);
  return status == CLARKE_OK ? check_statistic(c, low, VAR, "var", err) : status;
}

/* One more step on the last one's value, with constant i by channel. */
static clarke_step *
add_step(clarke_chain *c, clarke_lowering *low, clarke_step_kind kind, size_t i, clarke_error *err)
{
  clarke_step *s = clarke_chain_step(c, low, kind, i, err);

  return s != NULL && clarke_lower_periodic(low, s, 1, c->space, c->whole[1], err) == CLARKE_OK ? s
                                                                                               : NULL;
}

/* 1 / sqrt(var + epsilon), var being computed; CLARKE_NONE when it fails. */
static size_t
root_of_computed(clarke_lowering *low, double epsilon, clarke_error *err)
{
  const size_t one = 1;
  size_t number, value;
  clarke_step *s;

  if (clarke_lower_made(low, 1, &one, &number, err) != CLARKE_OK)
    return CLARKE_NONE;
  low->graph->values[number].real[0] = epsilon;
  s = clarke_lower_step_like(low, CLARKE_SUM, 2, low->in[VAR], err);
  if (s == NULL)
    return CLARKE_NONE;
  s->in[1].value = number;
  if (clarke_lower_periodic(low, s, 1, 1, 1, err) != CLARKE_OK)
    return CLARKE_NONE;
  value = clarke_lower_inside(low, CLARKE_SQRT, s->out, err);
  return value != CLARKE_NONE ? clarke_lower_inside(low, CLARKE_RECIPROCAL, value, err) : CLARKE_NONE;
}

/* Times that. */
static clarke_status
by_computed(clarke_chain *c, clarke_lowering *low, double epsilon, clarke_error *err)
{
  const size_t root = root_of_computed(low, epsilon, err);
  clarke_step *s = root != CLARKE_NONE ? clarke_computed_scale(low, c->value, root, c->rank, c->dims, err) : NULL;

  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  c->value = s->out;
  return clarke_lower_periodic(low, s, 1, c->space, c->whole[1], err);
}

/* / sqrt(var + epsilon) */
static clarke_status
add_root(clarke_chain *c, clarke_lowering *low, clarke_error *err)
{
  double epsilon = clarke_lower_float(low, "epsilon", (double)1e-5f);
  clarke_step *s;
  size_t bad;

  if (!clarke_lower_value(low, VAR)->constant)
    return by_computed(c, low, epsilon, err);
  s = add_step(c, low, CLARKE_SCALE, VAR, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  mpq_init(s->epsilon);
  mpq_set_d(s->epsilon, epsilon);
  s->root = true;
  bad = clarke_step_bad_divisor(low->graph, s);
  if (bad != CLARKE_NONE)
    return clarke_lower_fail(low, err, "entry %zu of var is %.17g and epsilon %.17g; expected a sum "
                                       "above zero", bad,
                             clarke_lower_value(low, VAR)->real[bad], epsilon);
  return CLARKE_OK;
}

/* By the file's mean and var. */
static clarke_status
by_statistics(clarke_chain *c, clarke_lowering *low, clarke_error *err)
{
  clarke_step *s = add_step(c, low, CLARKE_SUM, MEAN, err);

  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[1].coef = -1;
  return add_root(c, low, err);
}

/* By the minibatch's: all samples together when each is a column of its own. */
static clarke_status
by_minibatch(clarke_chain *c, clarke_lowering *low, clarke_error *err)
{
  clarke_grouping grouping = {c->whole[0], c->whole[1], c->space, clarke_axes_lead(low, X) == 1};

  return clarke_chain_normalize(c, low, grouping, err);
}

/* The mean of all entries of each channel, along the axes of all others. */
static size_t
mean_by_channel(clarke_lowering *low, size_t value, bool keep, clarke_error *err)
{
  const clarke_attr kept = clarke_inner_int("keepdims", keep);
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, X, dims), axes;
  int64_t list[CLARKE_MAX_WHOLE];

  for (size_t a = 0; a + 1 < rank; a++)
    list[a] = a == 0 ? 0 : (int64_t)a + 1;
  axes = clarke_inner_integers(low, list, rank - 1, err);
  return value != CLARKE_NONE && axes != CLARKE_NONE ? clarke_inner_node(low, "ReduceMean", (size_t[]){value, axes}, 2, &kept, 1, err)
                                                     : CLARKE_NONE;
}

/* Output k: momentum of the file's statistic, and the rest of the minibatch's. */
static clarke_status
give_running(clarke_lowering *low, size_t k, size_t own, clarke_error *err)
{
  const double momentum = clarke_lower_float(low, "momentum", (double)0.9f);
  size_t y;

  if (k >= low->node->n_out || low->node->out[k][0] == '\0')
    return CLARKE_OK;
  y = clarke_inner_of(low, "Sub", low->in[k == 1 ? MEAN : VAR], own, err);
  y = clarke_inner_of(low, "Mul", y, clarke_inner_number(low, momentum, err), err);
  return clarke_inner_done(low, k, clarke_inner_of(low, "Add", y, own, err), err);
}

static clarke_status
give_statistics(clarke_lowering *low, clarke_error *err)
{
  size_t apart, variance;
  clarke_status status;

  if (clarke_axes_lead(low, X) == 1)
    return clarke_lower_fail(low, err, "the running statistics are of all samples, which are mixed: ask so (--batch-axis none)");
  apart = clarke_inner_of(low, "Sub", low->in[X], mean_by_channel(low, low->in[X], true, err), err);
  variance = mean_by_channel(low, clarke_inner_of(low, "Mul", apart, apart, err), false, err);
  status = variance != CLARKE_NONE ? give_running(low, 1, mean_by_channel(low, low->in[X], false, err), err) : clarke_inner_failed(err);
  return status == CLARKE_OK ? give_running(low, 2, variance, err) : status;
}

static clarke_status
lower_batchnorm(clarke_lowering *low, clarke_error *err)
{
  bool training = clarke_lower_int(low, "training_mode", 0) != 0;
  clarke_chain c;
  clarke_status status = clarke_chain_begin(&c, low, 2, err);

  if (status == CLARKE_OK)
    status = check(&c, low, training, err);
  if (status == CLARKE_OK && training && low->others)
    status = give_statistics(low, err);
  if (status == CLARKE_OK)
    status = training ? by_minibatch(&c, low, err) : by_statistics(&c, low, err);
  return status == CLARKE_OK ? clarke_chain_affine(&c, low, c.space, c.whole[1], err) : status;
}

const clarke_op clarke_ops_batchnorm[] = {
  {.name = "BatchNormalization",
   .forms = {{7, 5, 5, 5, "epsilon:f momentum:f spatial:b"}, {9, 5, 5, 5, "epsilon:f momentum:f"},
             {14, 5, 5, 3, "epsilon:f momentum:f training_mode:b"}},
   .lower = lower_batchnorm, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
