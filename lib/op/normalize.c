/* LayerNormalization, InstanceNormalization, GroupNormalization: the entries of a sample's groups less
 * their mean, divided by sqrt(variance + epsilon), then times scale, plus B. Real numbers are not rounded:
 * stash_type, the type of the mean and deviation, means nothing here. */
#include "op/normalize.h"
#include "op/computed.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/product.h"
#include "op/quotient.h"

#include <math.h>
#include <string.h>

enum { X, SCALE, B };

clarke_status
clarke_chain_begin(clarke_chain *c, clarke_lowering *low, size_t least, clarke_error *err)
{
  clarke_status status = clarke_lower_lift_first(low, err);

  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, X, err);
  if (status == CLARKE_OK && least > 1)
    status = clarke_axes_rows(low, X, err);
  if (status != CLARKE_OK)
    return status;
  memset(c, 0, sizeof *c);
  c->axes = clarke_axes_whole(low, X, c->whole);
  if (c->axes < least)
    return clarke_lower_fail(low, err, "an input of %zu axes; expected %s", c->axes,
                             least > 2    ? "a batch, channels and one axis or more"
                             : least == 2 ? "a batch and channels"
                                          : "one axis or more");
  if (clarke_lower_value(low, X)->count == 0)
    return clarke_lower_fail(low, err, "the input has no entries");
  c->rank = clarke_lower_value(low, X)->rank;
  memcpy(c->dims, clarke_lower_value(low, X)->dims, sizeof c->dims);
  c->space = 1;
  for (size_t a = 2; a < c->axes; a++)
    c->space *= c->whole[a];
  c->value = low->in[X];
  return CLARKE_OK;
}

clarke_status
clarke_chain_normalize(clarke_chain *c, clarke_lowering *low, clarke_grouping grouping,
                       clarke_error *err)
{
  double epsilon = clarke_lower_float(low, "epsilon", (double)1e-5f);
  clarke_step *s;

  if (!(epsilon > 0) || !isfinite(epsilon))
    return clarke_lower_fail(low, err, "epsilon is %.17g; expected a number above zero", epsilon);
  s = clarke_lower_step(low, CLARKE_NORMALIZE, 1, c->rank, c->dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  mpq_set_d(s->epsilon, epsilon);
  s->grouping = grouping;
  s->in[0].value = c->value;
  c->value = s->out;
  return CLARKE_OK;
}

clarke_step *
clarke_chain_step(clarke_chain *c, clarke_lowering *low, clarke_step_kind kind, size_t i,
                  clarke_error *err)
{
  clarke_step *s = kind == CLARKE_SCALE ? clarke_computed_scale(low, c->value, low->in[i], c->rank, c->dims, err)
                                        : clarke_lower_step(low, kind, 2, c->rank, c->dims, err);

  if (s == NULL)
    return NULL;
  s->in[0].value = c->value;
  s->in[1].value = low->in[i];
  c->value = s->out;
  return s;
}

clarke_status
clarke_chain_weight(clarke_lowering *low, size_t i, const char *name, size_t n, const char *per,
                    clarke_error *err)
{
  clarke_status status = clarke_computed_weight(low, i, err);
  const clarke_value *v;

  if (status != CLARKE_OK)
    return status;
  v = clarke_lower_value(low, i);
  return v->rank == 1 && v->count == n
           ? CLARKE_OK
           : clarke_lower_fail(low, err, "%s has %zu axes and %zu entries; expected one axis of %zu %s",
                               name, v->rank, v->count, n, per);
}

clarke_status
clarke_chain_affine(clarke_chain *c, clarke_lowering *low, size_t repeat, size_t period,
                    clarke_error *err)
{
  for (size_t i = SCALE; i <= B; i++) {
    clarke_step *s = clarke_chain_step(c, low, i == SCALE ? CLARKE_SCALE : CLARKE_SUM, i, err);

    if (s == NULL || clarke_lower_periodic(low, s, 1, repeat, period, err) != CLARKE_OK)
      return err != NULL ? err->code : CLARKE_ENOMEM;
  }
  return clarke_lower_done(low, c->value, err);
}

/* By groups of channels, each over all of space; opsets before 21 have one scale and B for a group of a
 * GroupNormalization. */
static clarke_status
lower_channels(clarke_lowering *low, size_t groups, bool by_group, clarke_chain *c,
               clarke_error *err)
{
  size_t channels = c->whole[1], each = by_group ? channels / groups * c->space : c->space;
  size_t n = by_group ? groups : channels;
  clarke_grouping grouping = {1, c->whole[0] * groups, channels / groups * c->space, false};
  clarke_status status = CLARKE_OK;

  for (size_t i = SCALE; i <= B && status == CLARKE_OK; i++)
    status = clarke_chain_weight(low, i, i == SCALE ? "scale" : "B", n,
                                 by_group ? "groups" : "channels", err);
  if (status == CLARKE_OK)
    status = clarke_chain_normalize(c, low, grouping, err);
  return status == CLARKE_OK ? clarke_chain_affine(c, low, each, n, err) : status;
}

static clarke_status
lower_instance(clarke_lowering *low, clarke_error *err)
{
  clarke_chain c;
  clarke_status status = clarke_chain_begin(&c, low, 3, err);

  return status == CLARKE_OK ? lower_channels(low, c.whole[1], false, &c, err) : status;
}

static clarke_status
lower_group(clarke_lowering *low, clarke_error *err)
{
  int64_t groups = clarke_lower_int(low, "num_groups", 0);
  clarke_chain c;
  clarke_status status = clarke_chain_begin(&c, low, 2, err);

  if (status != CLARKE_OK)
    return status;
  if (groups < 1 || (uint64_t)groups > c.whole[1] || c.whole[1] % (size_t)groups != 0)
    return clarke_lower_fail(low, err, "num_groups is %lld; expected a divisor of the %zu channels",
                             (long long)groups, c.whole[1]);
  return lower_channels(low, (size_t)groups, low->opset < 21, &c, err);
}

/* The map of a constant of these axes, which must fit the last ones of input 0, each of its size or 1. */
static clarke_status
fill_fitted(clarke_lowering *low, clarke_step *s, const clarke_chain *c, const clarke_value *v,
            clarke_error *err)
{
  size_t count = 1, rank = v->rank, dims[CLARKE_MAX_RANK], *map;

  memcpy(dims, v->dims, sizeof dims);
  for (size_t a = 0; a < c->axes; a++)
    count *= c->whole[a];
  map = clarke_lower_map(low, s, 1, count, err);
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t f = 0; f < count; f++) {
    size_t rest = f, entry = 0, step = 1;

    for (size_t a = 0; a < rank; a++) {
      size_t extent = dims[rank - 1 - a], whole = c->whole[c->axes - 1 - a];

      entry += (extent == 1 ? 0 : rest % whole) * step;
      step *= extent;
      rest /= whole;
    }
    map[f] = entry;
  }
  return CLARKE_OK;
}

static clarke_status
check_fitted(clarke_lowering *low, const clarke_chain *c, size_t i, const char *name,
             clarke_error *err)
{
  clarke_status status = clarke_computed_weight(low, i, err);
  const clarke_value *v;
  bool fits;

  if (status != CLARKE_OK)
    return status;
  v = clarke_lower_value(low, i);
  fits = v->rank <= c->axes;
  for (size_t a = 0; a < v->rank && fits; a++)
    fits = v->dims[v->rank - 1 - a] == 1 ||
           (v->dims[v->rank - 1 - a] == c->whole[c->axes - 1 - a]
            && (c->axes - 1 - a != clarke_axes_batch(low, X) || low->graph->together == 1));
  return fits ? CLARKE_OK
              : clarke_lower_fail(low, err, "%s, of %zu entries on %zu axes, does not broadcast to a "
                                            "sample of the input", name, v->count, v->rank);
}

static clarke_status
add_fitted(clarke_chain *c, clarke_lowering *low, clarke_step_kind kind, size_t i, clarke_error *err)
{
  clarke_step *s = clarke_chain_step(c, low, kind, i, err);

  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  return fill_fitted(low, s, c, clarke_lower_value(low, i), err);
}

/* The mean over the axes from `axis` on, each with one entry then. */
static size_t
mean_from(clarke_lowering *low, size_t value, size_t axis, size_t rank, clarke_error *err)
{
  int64_t list[CLARKE_MAX_WHOLE];
  size_t axes = CLARKE_NONE;

  for (size_t a = axis; a < rank; a++)
    list[a - axis] = (int64_t)a;
  if (value != CLARKE_NONE)
    axes = clarke_inner_integers(low, list, rank - axis, err);
  return axes != CLARKE_NONE ? clarke_inner_node(low, "ReduceMean", (size_t[]){value, axes}, 2, NULL, 0, err) : CLARKE_NONE;
}

/* The outputs behind the first, where they are read: the mean, and 1 / sqrt(variance + epsilon). */
static clarke_status
give_statistics(clarke_lowering *low, size_t x, size_t axis, size_t rank, clarke_error *err)
{
  const size_t mean = mean_from(low, x, axis, rank, err), apart = clarke_inner_of(low, "Sub", x, mean, err);
  const size_t variance = mean_from(low, clarke_inner_of(low, "Mul", apart, apart, err), axis, rank, err);
  const size_t epsilon = clarke_inner_number(low, clarke_lower_float(low, "epsilon", (double)1e-5f), err);
  size_t root = clarke_inner_function(low, "Sqrt", clarke_inner_of(low, "Add", variance, epsilon, err), err);
  clarke_status status = CLARKE_OK;

  root = clarke_inner_function(low, "Reciprocal", root, err);
  if (mean == CLARKE_NONE || root == CLARKE_NONE)
    return clarke_inner_failed(err);
  for (size_t k = 1; k < low->node->n_out && status == CLARKE_OK; k++)
    if (low->node->out[k][0] != '\0')
      status = clarke_inner_done(low, k, k == 1 ? mean : root, err);
  return status;
}

/* What is normalized begins at the attribute `axis`, which must lie behind the batch. */
static clarke_status
begin_behind(clarke_chain *c, clarke_lowering *low, size_t *axis, clarke_error *err)
{
  clarke_status status = clarke_chain_begin(c, low, 1, err);

  if (status == CLARKE_OK)
    status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", -1), c->axes, axis, err);
  if (status == CLARKE_OK && clarke_axes_lead(low, X) == 1 && *axis <= clarke_axes_batch(low, X))
    status = clarke_lower_fail(low, err, "axis %zu is the batch; expected axes behind it", clarke_axes_batch(low, X));
  return status;
}

static clarke_status
lower_layer(clarke_lowering *low, clarke_error *err)
{
  clarke_grouping grouping = {1, 1, 1, false};
  size_t axis;
  clarke_chain c;
  clarke_status status = begin_behind(&c, low, &axis, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t a = 0; a < c.axes; a++)
    *(a < axis ? &grouping.groups : &grouping.length) *= c.whole[a];
  status = check_fitted(low, &c, SCALE, "Scale", err);
  if (status == CLARKE_OK && clarke_lower_has(low, B))
    status = check_fitted(low, &c, B, "B", err);
  if (status == CLARKE_OK)
    status = clarke_chain_normalize(&c, low, grouping, err);
  if (status == CLARKE_OK)
    status = add_fitted(&c, low, CLARKE_SCALE, SCALE, err);
  if (status == CLARKE_OK && clarke_lower_has(low, B))
    status = add_fitted(&c, low, CLARKE_SUM, B, err);
  if (status == CLARKE_OK && low->others)
    status = give_statistics(low, low->in[X], axis, c.axes, err);
  low->graph->values[c.value].batch = clarke_lower_value(low, X)->batch;
  return status == CLARKE_OK ? clarke_lower_output(low, 0, c.value, err) : status;
}

/* The mean of squares + epsilon of each group of `length` entries; CLARKE_NONE when it fails. */
static size_t
mean_of_squares(clarke_lowering *low, const clarke_chain *c, size_t length, double epsilon, clarke_error *err)
{
  const size_t one = 1, row[2] = {1, length}, groups = low->graph->values[c->value].count / length;
  size_t number[3], sum; /* the row of ones, their count, epsilon */
  clarke_step *s = clarke_lower_entries(low, c->value, c->value, err);

  sum = s != NULL ? s->out : CLARKE_NONE;
  for (size_t k = 0; k < 3 && sum != CLARKE_NONE; k++) {
    if (clarke_lower_made(low, k == 0 ? 2 : 1, k == 0 ? row : &one, &number[k], err) != CLARKE_OK)
      return CLARKE_NONE;
    for (size_t e = 0; e < (k == 0 ? length : 1); e++)
      low->graph->values[number[k]].real[e] = k == 0 ? 1 : k == 1 ? (double)length : epsilon;
  }
  for (size_t k = 0; k < 3 && sum != CLARKE_NONE; k++) {
    s = clarke_lower_step(low, k == 0 ? CLARKE_DENSE : k == 1 ? CLARKE_SCALE : CLARKE_SUM, k == 0 ? 1 : 2, 1, &groups, err);
    if (s == NULL)
      return CLARKE_NONE;
    s->in[0].value = sum;
    sum = s->out;
    if (k == 0) {
      s->dense = (clarke_dense){.weight = number[0], .blocks = groups, .inner = length, .outer = 1, .repeat = 1};
      continue;
    }
    s->in[1].value = number[k];
    s->divide = k == 1;
    if (clarke_lower_periodic(low, s, 1, 1, 1, err) != CLARKE_OK)
      return CLARKE_NONE;
  }
  return sum;
}

/* x / sqrt(mean(x^2) + epsilon) scale, the mean over the axes from `axis` on. */
static clarke_status
lower_root_mean(clarke_lowering *low, clarke_error *err)
{
  const double epsilon = clarke_lower_float(low, "epsilon", (double)1e-5f);
  size_t axis, length = 1, root;
  clarke_chain c;
  clarke_step *s;
  clarke_status status = begin_behind(&c, low, &axis, err);

  if (status == CLARKE_OK && !(epsilon >= 0 && isfinite(epsilon)))
    status = clarke_lower_fail(low, err, "epsilon is %.17g; expected a number from zero on", epsilon);
  if (status == CLARKE_OK)
    status = check_fitted(low, &c, SCALE, "Scale", err);
  if (status != CLARKE_OK)
    return status;
  for (size_t a = axis; a < c.axes; a++)
    length *= c.whole[a];
  root = mean_of_squares(low, &c, length, epsilon, err);
  root = root != CLARKE_NONE ? clarke_lower_inside(low, CLARKE_SQRT, root, err) : root;
  root = root != CLARKE_NONE ? clarke_lower_inside(low, CLARKE_RECIPROCAL, root, err) : root;
  s = root != CLARKE_NONE ? clarke_computed_scale(low, c.value, root, c.rank, c.dims, err) : NULL;
  if (s == NULL || clarke_lower_periodic(low, s, 1, length, low->graph->values[root].count, err) != CLARKE_OK)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  c.value = s->out;
  status = add_fitted(&c, low, CLARKE_SCALE, SCALE, err);
  return status == CLARKE_OK ? clarke_lower_done(low, c.value, err) : status;
}

const clarke_op clarke_ops_normalize[] = {
  {.name = "LayerNormalization",
   .forms = {{17, 2, 3, 3, "axis:i epsilon:f stash_type:i"}},
   .lower = lower_layer, .batch = CLARKE_BATCH_ANY},
  {.name = "RMSNormalization", .forms = {{23, 2, 2, 1, "axis:i epsilon:f stash_type:i"}}, .lower = lower_root_mean, .batch = CLARKE_BATCH_KEPT},
  {.name = "InstanceNormalization", .forms = {{7, 3, 3, 1, "epsilon:f"}}, .lower = lower_instance, .batch = CLARKE_BATCH_KEPT},
  {.name = "GroupNormalization",
   .forms = {{18, 3, 3, 1, "epsilon:f num_groups:i"},
             {21, 3, 3, 1, "epsilon:f num_groups:i stash_type:i"}},
   .lower = lower_group, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
