/* Elu: x above 0, alpha (exp(x) - 1) below; a kink at 0 unless alpha is 1. Selu: gamma times that. Celu: alpha (exp(x / alpha) - 1)
 * below 0, without a kink: Elu(x) is Celu of x, or alpha x below 0. Selu's gamma is in both pieces' slopes, so that they are
 * Selu's own. Programs have an instruction for Elu, whose left piece is no polynomial. */
#include "op/lower.h"
#include "op/pieces.h"
#include "op/sigmoid.h"

#include <string.h>

/* The value times, or divided by, a number; CLARKE_NONE when it fails. */
static size_t
scaled(clarke_lowering *low, size_t value, double number, bool divide, clarke_error *err)
{
  const size_t rank = low->graph->values[value].rank, one = 1;
  size_t dims[CLARKE_MAX_RANK], by;
  clarke_step *s;

  if (number == 1)
    return value;
  memcpy(dims, low->graph->values[value].dims, sizeof dims);
  if (clarke_lower_made(low, 1, &one, &by, err) != CLARKE_OK)
    return CLARKE_NONE;
  low->graph->values[by].real[0] = number;
  s = clarke_lower_step(low, CLARKE_SCALE, 2, rank, dims, err);
  if (s == NULL)
    return CLARKE_NONE;
  s->in[0].value = value;
  s->in[1].value = by;
  s->divide = divide;
  return clarke_lower_periodic(low, s, 1, 1, 1, err) == CLARKE_OK ? s->out : CLARKE_NONE;
}

/* alpha ELU(x / alpha) */
static size_t
smooth(clarke_lowering *low, size_t value, double alpha, clarke_error *err)
{
  const clarke_step *s;

  value = scaled(low, value, alpha, true, err);
  s = value != CLARKE_NONE ? clarke_lower_function(low, CLARKE_ELU, value, err) : NULL;
  return s != NULL ? scaled(low, s->out, alpha, false, err) : CLARKE_NONE;
}

/* right x, or left x below 0: a kink, but for equal slopes */
static size_t
bent(clarke_lowering *low, double left, double right, clarke_error *err)
{
  clarke_step *s = clarke_lower_pointwise(low, 1, err);

  if (s == NULL)
    return CLARKE_NONE;
  mpq_set_d(s->pieces.coef[0][1], left);
  mpq_set_d(s->pieces.coef[1][1], right);
  if (left == right)
    s->pieces.n_kinks = 0;
  return s->out;
}

static clarke_status
lower_elu(clarke_lowering *low, clarke_error *err)
{
  const char name = low->node->op_type[0];
  const double alpha = clarke_lower_float(low, "alpha", name == 'S' ? 0x1.ac5afap+0 : 1);
  const double gamma = clarke_lower_float(low, "gamma", name == 'S' ? 0x1.0cfabep+0 : 1);
  clarke_status status = clarke_lower_first(low, err);
  size_t value;

  if (status != CLARKE_OK)
    return status;
  if (!(alpha > 0) || !(gamma > 0))
    return clarke_lower_fail(low, err, "alpha and gamma must be positive");
  value = name == 'C' ? low->in[0] : bent(low, alpha * gamma, gamma, err); /* of two floats, exact */
  if (value != CLARKE_NONE)
    value = smooth(low, value, alpha * gamma, err);
  return value != CLARKE_NONE ? clarke_lower_done(low, value, err) : err != NULL ? err->code : CLARKE_ENOMEM;
}

const clarke_op clarke_ops_elu[] = {
  {.name = "Elu", .forms = {{7, 1, 1, 1, "alpha:f"}}, .lower = lower_elu, .batch = CLARKE_BATCH_KEPT, .n_kinks = 1,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"left"}, [CLARKE_JAX_0_10] = {"left"},
             [CLARKE_TENSORFLOW_2] = {"left"}},
   .spelling = {{.name = "elu", .constants = "1", .n_optional = 1}}},
  {.name = "Selu", .forms = {{7, 1, 1, 1, "alpha:f gamma:f"}}, .lower = lower_elu, .batch = CLARKE_BATCH_KEPT, .n_kinks = 1,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"left"}, [CLARKE_JAX_0_10] = {"left"}}},
  {.name = "Celu", .forms = {{12, 1, 1, 1, "alpha:f"}}, .lower = lower_elu, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
