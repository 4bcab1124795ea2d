/* Operators that normalize, made into steps. */
#include "check/onnx/normalization.h"

#include "check/base/allocate.h"
#include "check/onnx/inner.h"

/* w, which has a number for each of n runs of `apart` features, in turn, spread over all features. */
static value
spread_runs(const builder *b, value w, size_t n, size_t apart)
{
  need((w.constant != NULL ? w.constant->real : !is_batch(b, &w)) && w.rank == 1 && w.count == n,
       "not a constant number for each channel or group");
  w.map = index_map(b, 3, (size_t[]){b->in[0].count / n / apart, n, apart}, (size_t[]){0, 1, 0}, w.map);
  return w;
}

/* The same of input i. */
static value
periodic(const builder *b, size_t i, size_t n, size_t apart)
{
  return spread_runs(b, b->in[i], n, apart);
}

/* The node so far times w; or plus w. */
static void
by_weights(builder *b, value w, bool plus)
{
  const value x = b->out;
  if (w.constant == NULL && !plus) {
    put_products(b, &x, &w, x.rank, x.dims);
    return;
  }
  step *s = add_step(b, LINEAR, 1 + plus, x.rank, x.dims);
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, f * s->width, &x, f);
    operand(b, s, f * s->width + plus, &w, f);
  }
}

/* x less the mean, w, or divided by the root of the variance, w, + epsilon: statistics, which are no parameters. */
static void
by_statistic(builder *b, value x, value w, bool mean)
{
  step *s = add_step(b, mean ? LINEAR : OVER_ROOT, 1 + mean, x.rank, x.dims);
  if (!mean)
    real_attribute(b, "epsilon", &s->at[0], 1e-5f);
  for (size_t i = 0; i < w.constant->count && !mean; i++) {
    RATIONAL(q);
    mpq_add(&q, &w.constant->value[i], &s->at[0]);
    need(mpq_sgn(&q) > 0, "a variance + epsilon is not positive");
  }
  for (size_t f = 0; f < s->n; f++)
    operand(b, s, f * s->width, &x, f)[mean] = (factor){mean ? &minus_one : &plus_one, w.constant, w.map[f]};
}

/* A mean or variance: its entries in a tensor of their own, which does not move with a weight that is the same initializer. */
static value
at_rest(value w)
{
  tensor *t = w.constant;
  t->statistic = true;
  if (t->still == NULL) {
    tensor *still = allocate(1, sizeof *still);
    *still = *t;
    t->still = still;
  }
  w.constant = t->still;
  return w;
}

/* The node so far less the mean, x being the node's input; divided by the root of the variance + epsilon. These are statistics, or what
 * is computed of constants: times 1 / root then. */
static void
by_statistics(builder *b, const value *x, size_t channels, size_t apart)
{
  value mean = periodic(b, 3, channels, apart), variance = b->in[4], y;
  if (mean.constant != NULL)
    by_statistic(b, *x, at_rest(mean), true);
  else {
    step *s = add_step(b, LINEAR, 2, x->rank, x->dims);
    for (size_t f = 0; f < s->n; f++) {
      operand(b, s, 2 * f, x, f);
      operand(b, s, 2 * f + 1, &mean, f)->coef = &minus_one;
    }
  }
  y = b->out;
  if (variance.constant != NULL) {
    by_statistic(b, y, at_rest(periodic(b, 4, channels, apart)), false);
    return;
  }
  rational *epsilon = rationals(1);
  real_attribute(b, "epsilon", epsilon, 1e-5f);
  step *s = add_step(b, LINEAR, 2, 1, &variance.count);
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, 2 * f, &variance, f);
    s->factors[2 * f + 1].coef = epsilon;
  }
  value sum = b->out;
  put_function(b, F_ROOT, &sum);
  sum = b->out;
  put_function(b, F_RECIPROCAL, &sum);
  b->out.shared = true;
  value by = spread_runs(b, b->out, channels, apart);
  put_products(b, &y, &by, y.rank, y.dims);
}

/* Lines of `length` features, one after another. */
static void
add_normalization(builder *b, const value *x, size_t length, bool couples)
{
  step *s = add_function(b, NORMALIZE, x);
  real_attribute(b, "epsilon", &s->at[0], 1e-5f);
  need(mpq_sgn(&s->at[0]) > 0, "epsilon must be above zero");
  s->length = length;
  s->stride = 1;
  s->couples = couples;
}

/* By channel over the whole minibatch: the batch, or where the file has no batch axis of its own all along its first
 * axis, which is put behind the channels and back. */
static void
normalize_channels(builder *b, const value *x, size_t channels, size_t apart)
{
  size_t rows = x->dims[0], dims[] = {rows, channels, apart};
  value turned = *x;
  turned.map = index_map(b, 3, (size_t[]){channels, rows, apart}, (size_t[]){apart, channels * apart, 1}, x->map);
  add_normalization(b, &turned, rows * apart, is_batch(b, x));
  b->out.map = index_map(b, 3, dims, (size_t[]){apart, rows * apart, 1}, b->out.map);
  if (is_batch(b, x)) {
    b->net->apart = 1;
    session_set_threads(1);
  }
}

/* The mean of the entries of each channel: (channels). */
static value
channel_means(builder *b, const value *x)
{
  size_t rows = x->dims[0], channels = x->dims[1], apart = product(x->dims + 2, x->rank - 2);
  rational *share = rationals(1);
  mpq_set_ui(share, 1, rows * apart);
  step *s = add_step(b, LINEAR, rows * apart, 1, &channels);
  for (size_t f = 0; f < channels; f++)
    for (size_t i = 0; i < s->width; i++)
      operand(b, s, f * s->width + i, x, (i / apart * channels + f) * apart + i % apart)->coef = share;
  value y = b->out;
  y.name = "";
  return y;
}

/* Output k: momentum times the file's statistic, which does not move, plus the rest times the minibatch's own. */
static void
give_running(builder *b, size_t k, const value *own)
{
  const value *w = &b->in[2 + k];
  rational *momentum = rationals(2);
  real_attribute(b, "momentum", &momentum[0], 0.9f);
  mpq_sub(&momentum[1], &plus_one, &momentum[0]);
  step *s = add_step(b, LINEAR, 2, 1, &own->count);
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, 2 * f, own, f)->coef = &momentum[1];
    if (w->constant != NULL)
      s->factors[2 * f + 1] = (factor){&momentum[0], at_rest(*w).constant, w->map[f]};
    else
      operand(b, s, 2 * f + 1, w, f)->coef = &momentum[0];
  }
  give_output(b, k, b->out);
}

static void
give_running_ones(builder *b, const value *x)
{
  need(!is_batch(b, x), "running statistics of all samples, which are mixed");
  value mean = channel_means(b, x), each = mean;
  size_t apart = product(x->dims + 2, x->rank - 2);
  each.map = index_map(b, 3, (size_t[]){x->dims[0], mean.count, apart}, (size_t[]){0, 1, 0}, mean.map);
  step *s = add_step(b, LINEAR, 2, x->rank, x->dims);
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, 2 * f, x, f);
    operand(b, s, 2 * f + 1, &each, f)->coef = &minus_one;
  }
  value off = b->out;
  put_products(b, &off, &off, x->rank, x->dims);
  value squares = b->out, variance = channel_means(b, &squares);
  give_running(b, 1, &mean);
  give_running(b, 2, &variance);
}

/* In training mode the statistics are those of the whole minibatch; the file's are for the running ones alone, which are other
 * outputs. */
void
lower_batch(builder *b)
{
  const value *x = &b->in[0];
  bool training = whole_attribute(b, "training_mode", 0) != 0;
  need(x->constant == NULL && x->rank > 1, "its input must be an activation of two axes or more");
  need_rows(b, x);
  need(!training || !is_batch(b, x) || x->inner == 0, "statistics of the minibatch, whose axis is merged with others");
  need(whole_attribute(b, "spatial", 1) == 1, "not for each channel");
  size_t n_out = b->node->n_out;
  need(n_out == 1 || n_out == (b->opset < 14 ? 5 : 3), "an unsupported number of outputs");
  for (size_t i = 1; i < n_out; i++)
    need(training || *b->node->out[i] == '\0', "training mode is off, and without it there is one output");
  size_t channels = x->dims[1], apart = product(x->dims + 2, x->rank - 2);
  for (size_t i = 3; i < 5; i++)
    if (periodic(b, i, channels, apart).constant != NULL)
      at_rest(b->in[i]);
  need(!training || !is_batch(b, x) || b->net->together == b->net->batch,
       "statistics of the minibatch, where the input declares a batch of one");
  b->net->read[MINIBATCH] = b->net->read[MINIBATCH] || training;
  if (training && others_are_read(b))
    give_running_ones(b, x);
  if (training)
    normalize_channels(b, x, channels, apart);
  else
    by_statistics(b, x, channels, apart);
  by_weights(b, periodic(b, 1, channels, apart), false);
  by_weights(b, periodic(b, 2, channels, apart), true);
}

/* Before version 21 GroupNormalization has its weights for groups, else for channels. */
void
lower_groups(builder *b)
{
  const value *x = &b->in[0];
  bool instance = b->op[0] == 'I';
  need(x->constant == NULL && x->rank > (instance ? 2 : 1), "its input must be an activation of enough axes");
  need_rows(b, x);
  size_t channels = x->dims[1], apart = product(x->dims + 2, x->rank - 2);
  long given = instance ? (long)channels : whole_attribute(b, "num_groups", 0);
  need(given > 0 && channels % (size_t)given == 0, "num_groups is no divisor of the channels");
  size_t n = (size_t)given, length = channels / n * apart;
  bool by_group = !instance && b->opset < 21;
  add_normalization(b, x, length, false);
  for (size_t i = 1; i < 3; i++)
    by_weights(b, by_group ? periodic(b, i, n, length) : periodic(b, i, channels, apart), i == 2);
}

/* Each group's mean over the axes from `axis` on, plus epsilon. */
static value
group_mean(builder *b, const value *x, size_t axis, const rational *epsilon)
{
  size_t length = product(x->dims + axis, x->rank - axis), groups = x->count / length, dims[MAX_RANK];
  rational *share = rationals(1);
  mpq_set_ui(share, 1, length);
  for (size_t a = 0; a < x->rank; a++)
    dims[a] = a < axis ? x->dims[a] : 1;
  step *s = add_step(b, LINEAR, length + (epsilon != NULL), x->rank, dims);
  for (size_t f = 0; f < groups; f++) {
    for (size_t i = 0; i < length; i++)
      operand(b, s, f * s->width + i, x, f * length + i)->coef = share;
    if (epsilon != NULL)
      s->factors[f * s->width + length].coef = epsilon;
  }
  value y = b->out;
  y.name = "";
  return y;
}

/* Outputs 1 and 2: the mean, and one over the root of the variance + epsilon. */
static void
give_statistics(builder *b, const value *x, size_t axis)
{
  size_t length = product(x->dims + axis, x->rank - axis);
  rational *epsilon = rationals(1);
  real_attribute(b, "epsilon", epsilon, 1e-5f);
  value mean = group_mean(b, x, axis, NULL), each = mean;
  each.map = index_map(b, 2, (size_t[]){mean.count, length}, (size_t[]){1, 0}, mean.map);
  step *s = add_step(b, LINEAR, 2, x->rank, x->dims);
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, 2 * f, x, f);
    operand(b, s, 2 * f + 1, &each, f)->coef = &minus_one;
  }
  value apart = b->out;
  put_products(b, &apart, &apart, x->rank, x->dims);
  value squares = b->out, variance = group_mean(b, &squares, axis, epsilon);
  put_function(b, F_ROOT, &variance);
  value root = b->out;
  put_function(b, F_RECIPROCAL, &root);
  root = b->out;
  root.name = "";
  mean.at = root.at = x->at;
  mean.inner = root.inner = x->inner;
  give_output(b, 1, mean);
  give_output(b, 2, root);
}

void
lower_layer(builder *b)
{
  const value *x = &b->in[0];
  size_t axis = axis_of(b, whole_attribute(b, "axis", -1), x->rank);
  need(!is_batch(b, x) || axis > x->at, "the batch axis would be mixed");
  if (others_are_read(b))
    give_statistics(b, x, axis);
  add_normalization(b, x, product(x->dims + axis, x->rank - axis), false);
  by_weights(b, spread_over(b, 1, x), false);
  if (b->in[2].name != NULL)
    by_weights(b, spread_over(b, 2, x), true);
}

/* x over the root of the mean of the squares + epsilon, over the axes from `axis` on, times scale. */
void
lower_root_mean(builder *b)
{
  const value *x = &b->in[0];
  size_t axis = axis_of(b, whole_attribute(b, "axis", -1), x->rank);
  size_t length = product(x->dims + axis, x->rank - axis), groups = x->count / length;
  rational *share = rationals(1), *epsilon = rationals(1);
  need(!is_batch(b, x) || axis > x->at, "the batch axis would be mixed");
  mpq_set_ui(share, 1, length);
  real_attribute(b, "epsilon", epsilon, 1e-5f);
  need(mpq_sgn(epsilon) >= 0, "epsilon is below zero");
  put_products(b, x, x, x->rank, x->dims);
  value squares = b->out;
  step *s = add_step(b, LINEAR, length + 1, 1, &groups);
  for (size_t f = 0; f < groups; f++) {
    for (size_t i = 0; i < length; i++)
      operand(b, s, f * s->width + i, &squares, f * length + i)->coef = share;
    s->factors[f * s->width + length].coef = epsilon;
  }
  value sum = b->out;
  put_function(b, F_ROOT, &sum);
  sum = b->out;
  put_function(b, F_RECIPROCAL, &sum);
  value by = b->out;
  by.map = index_map(b, 2, (size_t[]){groups, length}, (size_t[]){1, 0}, by.map);
  put_products(b, x, &by, x->rank, x->dims);
  by_weights(b, spread_over(b, 1, x), false);
}
