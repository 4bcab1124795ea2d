/* BatchNormalization as inference has it: (x - mean) / sqrt(var + epsilon) * scale + B, in that order,
 * by channel. mean and var are statistics: no question is about them. */
#include "graph/op/axes.h"

#include <string.h>

enum { X, SCALE, B, MEAN, VAR };

typedef struct {
  size_t rank, dims[CLARKE_MAX_RANK]; /* of a sample */
  size_t channels, repeat;            /* entries of a channel in a row */
  size_t value;                       /* the last step's */
} normalization;

static clarke_status
read_input(normalization *n, const clarke_lowering *low, clarke_error *err)
{
  const clarke_value *x = clarke_lower_value(low, X);
  size_t dims[CLARKE_MAX_WHOLE], whole = clarke_axes_whole(low, X, dims);

  if (whole < 2)
    return clarke_lower_fail(low, err, "an input of %zu axes; expected a batch and channels", whole);
  n->rank = x->rank;
  memcpy(n->dims, x->dims, sizeof n->dims);
  n->channels = dims[1];
  n->repeat = 1;
  for (size_t a = 2; a < whole; a++)
    n->repeat *= dims[a];
  n->value = low->in[X];
  return CLARKE_OK;
}

static clarke_status
check(const normalization *n, clarke_lowering *low, clarke_error *err)
{
  static const char *const names[] = {[SCALE] = "scale", [B] = "B", [MEAN] = "mean", [VAR] = "var"};

  if (clarke_lower_int(low, "training_mode", 0) != 0)
    return clarke_lower_fail(low, err, "training statistics are not supported: expected "
                                       "training_mode 0, an export for inference");
  if (clarke_lower_int(low, "spatial", 1) != 1)
    return clarke_lower_fail(low, err, "spatial is %lld; expected 1: statistics by channel",
                             (long long)clarke_lower_int(low, "spatial", 1));
  for (size_t i = SCALE; i <= VAR; i++) {
    clarke_status status = i < MEAN ? clarke_lower_weight(low, i, err)
                                    : clarke_lower_statistic(low, i, err);
    const clarke_value *v;

    if (status != CLARKE_OK)
      return status;
    v = clarke_lower_value(low, i);
    if (v->rank != 1 || v->count != n->channels)
      return clarke_lower_fail(low, err, "%s has %zu axes and %zu entries; expected one axis of %zu "
                                         "channels", names[i], v->rank, v->count, n->channels);
  }
  return CLARKE_OK;
}

/* One more step on the last one's value, with constant i by channel. */
static clarke_step *
add_step(normalization *n, clarke_lowering *low, clarke_step_kind kind, size_t i,
         clarke_error *err)
{
  clarke_step *s = clarke_lower_step(low, kind, 2, n->rank, n->dims, err);

  if (s == NULL)
    return NULL;
  s->in[0].value = n->value;
  s->in[1].value = low->in[i];
  n->value = s->out;
  return clarke_lower_periodic(low, s, 1, n->repeat, n->channels, err) == CLARKE_OK ? s : NULL;
}

/* / sqrt(var + epsilon) */
static clarke_status
add_root(normalization *n, clarke_lowering *low, clarke_error *err)
{
  double epsilon = clarke_lower_float(low, "epsilon", (double)1e-5f);
  clarke_step *s = add_step(n, low, CLARKE_SCALE, VAR, err);
  size_t bad;

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

static clarke_status
lower_batchnorm(clarke_lowering *low, clarke_error *err)
{
  normalization n = {.rank = 0};
  clarke_step *s;
  clarke_status status = clarke_lower_activation(low, X, err);

  if (status == CLARKE_OK)
    status = read_input(&n, low, err);
  if (status == CLARKE_OK)
    status = check(&n, low, err);
  if (status != CLARKE_OK)
    return status;
  s = add_step(&n, low, CLARKE_SUM, MEAN, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[1].coef = -1;
  status = add_root(&n, low, err);
  if (status != CLARKE_OK)
    return status;
  if (add_step(&n, low, CLARKE_SCALE, SCALE, err) == NULL ||
      add_step(&n, low, CLARKE_SUM, B, err) == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  return clarke_lower_done(low, n.value, err);
}

const clarke_op clarke_ops_batchnorm[] = {
  {.name = "BatchNormalization", .min_in = 5, .max_in = 5, .lower = lower_batchnorm,
   .attributes = "epsilon:f momentum:f spatial:i training_mode:i"},
  {.name = NULL},
};
