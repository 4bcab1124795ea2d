/* Adagrad, Adam and Momentum of ONNX's domain of training: one update of each tensor, as ONNX states it, on real numbers. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <math.h>
#include <string.h>

enum { RATE, COUNT, TENSORS }; /* inputs: the learning rate, the number of updates, then what is updated */

#define MOST_COUNT 65536 /* updates */

/* One of several tensors: what is updated, its gradient, and the states. */
typedef struct {
  size_t x, gradient, state[2];
} updated;

typedef struct {
  size_t n, states; /* tensors; states of each */
  int64_t count;
  double norm;      /* of the regularization */
  size_t rate;
} update;

/* An activation: a constant becomes one, as it is. */
static size_t
lifted(clarke_lowering *low, size_t value, clarke_error *err)
{
  return value != CLARKE_NONE && low->graph->values[value].constant ? clarke_inner_function(low, "Sum", value, err) : value;
}

static size_t
number(clarke_lowering *low, double x, clarke_error *err)
{
  return lifted(low, clarke_inner_number(low, x, err), err);
}

static size_t
times(clarke_lowering *low, double x, size_t value, clarke_error *err)
{
  return value != CLARKE_NONE ? clarke_inner_of(low, "Mul", clarke_inner_number(low, x, err), value, err) : value;
}

/* share a + (1 - share) b, with no number but the share itself. */
static size_t
between(clarke_lowering *low, double share, size_t a, size_t b, clarke_error *err)
{
  return clarke_inner_of(low, "Add", times(low, share, clarke_inner_of(low, "Sub", a, b, err), err), b, err);
}

static size_t
power(clarke_lowering *low, double base, int64_t n, clarke_error *err)
{
  size_t square = number(low, base, err), y = CLARKE_NONE;

  for (int64_t left = n; left > 0; left /= 2) {
    if (left % 2 == 1)
      y = y == CLARKE_NONE ? square : clarke_inner_of(low, "Mul", y, square, err);
    if (left > 1)
      square = clarke_inner_of(low, "Mul", square, square, err);
    if (y == CLARKE_NONE && square == CLARKE_NONE)
      return y;
  }
  return y;
}

/* One less the base's n-th power. */
static size_t
less_power(clarke_lowering *low, double base, int64_t n, clarke_error *err)
{
  return clarke_inner_of(low, "Sub", clarke_inner_number(low, 1, err), power(low, base, n, err), err);
}

/* x - rate step / (sqrt(sum) + epsilon) */
static size_t
moved(clarke_lowering *low, size_t x, size_t rate, size_t step, size_t sum, clarke_error *err)
{
  const double epsilon = clarke_lower_float(low, "epsilon", 1e-6F);
  const size_t root = clarke_inner_of(low, "Add", clarke_inner_function(low, "Sqrt", sum, err),
                                      clarke_inner_number(low, epsilon, err), err);

  step = clarke_inner_of(low, "Div", clarke_inner_of(low, "Mul", step, rate, err), root, err);
  return clarke_inner_of(low, "Sub", x, step, err);
}

/* Each fills the tensor and its states with what they are updated to. */

static void
update_adagrad(clarke_lowering *low, const update *u, updated *t, clarke_error *err)
{
  const double decay = clarke_lower_float(low, "decay_factor", 0);
  size_t rate = u->rate;

  if (decay != 0 && u->count != 0) {
    const size_t slower = times(low, (double)u->count, number(low, decay, err), err);

    rate = clarke_inner_of(low, "Div", rate, clarke_inner_of(low, "Add", slower, clarke_inner_number(low, 1, err), err), err);
  }
  t->state[0] = clarke_inner_of(low, "Add", t->state[0], clarke_inner_of(low, "Mul", t->gradient, t->gradient, err), err);
  t->x = moved(low, t->x, rate, t->gradient, t->state[0], err);
}

static void
update_adam(clarke_lowering *low, const update *u, updated *t, clarke_error *err)
{
  const double alpha = clarke_lower_float(low, "alpha", 0.9F), beta = clarke_lower_float(low, "beta", 0.999F),
               post = clarke_lower_float(low, "norm_coefficient_post", 0);
  const size_t square = clarke_inner_of(low, "Mul", t->gradient, t->gradient, err);
  size_t rate = u->rate;

  t->state[0] = between(low, alpha, t->state[0], t->gradient, err);
  t->state[1] = between(low, beta, t->state[1], square, err);
  if (u->count > 0) {
    const size_t root = clarke_inner_function(low, "Sqrt", less_power(low, beta, u->count, err), err);

    rate = clarke_inner_of(low, "Div", clarke_inner_of(low, "Mul", rate, root, err), less_power(low, alpha, u->count, err), err);
  }
  t->x = moved(low, t->x, rate, t->state[0], t->state[1], err);
  if (post != 0)
    t->x = clarke_inner_of(low, "Sub", t->x, times(low, post, t->x, err), err);
}

static void
update_momentum(clarke_lowering *low, const update *u, updated *t, clarke_error *err)
{
  const double alpha = clarke_lower_float(low, "alpha", 0), beta = u->count > 0 ? clarke_lower_float(low, "beta", 0) : 1;
  const bool nesterov = strcmp(clarke_model_attr(low->node, "mode")->s, "nesterov") == 0;
  size_t step;

  t->state[0] = clarke_inner_of(low, "Add", times(low, alpha, t->state[0], err), times(low, beta, t->gradient, err), err);
  step = t->state[0];
  if (nesterov)
    step = clarke_inner_of(low, "Add", t->gradient, times(low, alpha, step, err), err);
  t->x = clarke_inner_of(low, "Sub", t->x, clarke_inner_of(low, "Mul", step, u->rate, err), err);
}

/* Momentum's attributes have no defaults, but its regularization; the averages of Adam are such. */
static clarke_status
check_attributes(const clarke_lowering *low, clarke_error *err)
{
  static const char *const all[] = {"alpha", "beta", "norm_coefficient", "norm_coefficient_post", "decay_factor", "epsilon"};
  const clarke_attr *mode = clarke_model_attr(low->node, "mode");
  const bool momentum = strcmp(low->node->op_type, "Momentum") == 0, adam = strcmp(low->node->op_type, "Adam") == 0;

  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const double a = clarke_lower_float(low, all[i], 0);

    if (!isfinite(a) || (adam && i < 2 && !(a >= 0 && a < 1)))
      return clarke_lower_fail(low, err, "%s is %.9g; expected %s", all[i], a, adam && i < 2 ? "0 or more, and below 1" : "a number");
    if (momentum && i < 3 && clarke_model_attr(low->node, all[i]) == NULL)
      return clarke_lower_fail(low, err, "attribute %s is missing", all[i]);
  }
  if (momentum && (mode == NULL || (strcmp(mode->s, "standard") != 0 && strcmp(mode->s, "nesterov") != 0)))
    return clarke_lower_fail(low, err, "mode is '%s'; expected standard or nesterov", mode != NULL ? mode->s : "");
  return CLARKE_OK;
}

static bool
have_one_shape(const clarke_lowering *low, size_t i, size_t j)
{
  size_t a[CLARKE_MAX_WHOLE], b[CLARKE_MAX_WHOLE];
  const size_t rank = clarke_axes_of_run(low, i, a);

  return clarke_axes_of_run(low, j, b) == rank && memcmp(a, b, rank * sizeof *a) == 0;
}

static clarke_status
check_shapes(const clarke_lowering *low, const update *u, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_of_run(low, RATE, dims);

  for (size_t a = 0; a < rank; a++)
    if (dims[a] != 1)
      return clarke_lower_fail(low, err, "the learning rate is no one number");
  for (size_t i = TENSORS; i < low->n_in; i++)
    if (!have_one_shape(low, i, TENSORS + (i - TENSORS) % u->n))
      return clarke_lower_fail(low, err, "input %zu has another shape than the tensor that is updated", i);
  for (size_t i = 0; i < u->n; i++)
    if (clarke_axes_of_run(low, TENSORS + i, dims) < rank)
      return clarke_lower_fail(low, err, "the learning rate has more axes than input %zu", TENSORS + i);
  return CLARKE_OK;
}

static clarke_status
read_update(update *u, clarke_lowering *low, clarke_error *err)
{
  const int64_t *list;
  size_t n;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < low->n_in; i++)
    if (!clarke_lower_has(low, i))
      return clarke_lower_fail(low, err, "input %zu is missing", i);
  u->states = strcmp(low->node->op_type, "Adam") == 0 ? 2 : 1;
  u->n = (low->n_in - TENSORS) / (u->states + 2);
  u->norm = clarke_lower_float(low, "norm_coefficient", 0);
  if (u->n == 0 || low->n_in - TENSORS != u->n * (u->states + 2) || low->node->n_out > u->n * (u->states + 1))
    return clarke_lower_fail(low, err, "%zu inputs and %zu outputs; each tensor has %zu inputs behind the first two, and %zu outputs", low->n_in,
                             low->node->n_out, u->states + 2, u->states + 1);
  status = clarke_lower_integers(low, COUNT, &list, &n, err);
  if (status == CLARKE_OK && (n != 1 || list[0] < 0 || list[0] > MOST_COUNT))
    status = clarke_lower_fail(low, err, "the number of updates is no one number from 0 to %d", MOST_COUNT);
  if (status == CLARKE_OK)
    u->count = list[0];
  if (status == CLARKE_OK)
    status = check_attributes(low, err);
  return status == CLARKE_OK ? check_shapes(low, u, err) : status;
}

static clarke_status
update_one(const update *u, clarke_lowering *low, size_t i, clarke_error *err)
{
  updated t = {.x = lifted(low, low->in[TENSORS + i], err)};
  size_t output = i;
  clarke_status status = CLARKE_OK;

  t.gradient = lifted(low, low->in[TENSORS + u->n + i], err);
  for (size_t k = 0; k < u->states; k++)
    t.state[k] = lifted(low, low->in[TENSORS + (2 + k) * u->n + i], err);
  if (u->norm != 0)
    t.gradient = clarke_inner_of(low, "Add", times(low, u->norm, t.x, err), t.gradient, err);
  if (strcmp(low->node->op_type, "Adam") == 0)
    update_adam(low, u, &t, err);
  else if (strcmp(low->node->op_type, "Momentum") == 0)
    update_momentum(low, u, &t, err);
  else
    update_adagrad(low, u, &t, err);
  if (t.x == CLARKE_NONE)
    return clarke_inner_failed(err);
  for (size_t k = 0; k <= u->states && status == CLARKE_OK; k++, output += u->n)
    if (output < low->node->n_out && low->node->out[output][0] != '\0')
      status = clarke_inner_done(low, output, k == 0 ? t.x : t.state[k - 1], err);
  return status;
}

static clarke_status
lower_update(clarke_lowering *low, clarke_error *err)
{
  update u = {0};
  clarke_status status = read_update(&u, low, err);

  if (status == CLARKE_OK) {
    u.rate = lifted(low, low->in[RATE], err);
    status = u.rate != CLARKE_NONE ? CLARKE_OK : clarke_inner_failed(err);
  }
  for (size_t i = 0; i < u.n && status == CLARKE_OK; i++)
    status = update_one(&u, low, i, err);
  return status;
}

#define UPDATE .domain = CLARKE_DOMAIN_OF_TRAINING, .lower = lower_update, .batch = CLARKE_BATCH_ANY

const clarke_op clarke_ops_optimizer[] = {
  {.name = "Adagrad", .forms = {{1, 5, 1024, 1024, "decay_factor:f epsilon:f norm_coefficient:f"}}, UPDATE},
  {.name = "Adam",
   .forms = {{1, 6, 1024, 1024, "alpha:f beta:f epsilon:f norm_coefficient:f norm_coefficient_post:f"}},
   UPDATE},
  {.name = "Momentum", .forms = {{1, 5, 1024, 1024, "alpha:f beta:f mode:s norm_coefficient:f"}}, UPDATE},
  {.name = NULL},
};
