/* Clip: min(max(x, lo), hi), as ReLU6 and Hardtanh export to; kinks at lo and at hi. The bounds
 * are attributes before opset 11 and constant scalars from it; they are never parameters. ONNX's
 * operator cannot tell these activations from torch.clamp, whose proxies are 1 (docs/operators.md).
 * Clamp, of a domain of its own, is that: the same function, of the same inputs as Clip's from opset 11 on. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/operator.h"
#include "op/pieces.h"

/* lo or hi, not both, may be NULL: no bound. */
static void
clip(clarke_pieces *p, const mpq_t *lo, const mpq_t *hi)
{
  size_t piece = 0;

  p->n_kinks = (size_t)(lo != NULL) + (size_t)(hi != NULL);
  p->first_kink = lo != NULL ? 0 : 1;
  if (lo != NULL) {
    mpq_set(p->kink[0], *lo);
    mpq_set(p->coef[piece++][0], *lo);
  }
  mpq_set_si(p->coef[piece++][1], 1, 1);
  if (hi != NULL) {
    mpq_set(p->kink[p->n_kinks - 1], *hi);
    mpq_set(p->coef[piece][0], *hi);
  }
}

/* constant: lo, hi. */
static const char *
pieces_clip(clarke_pieces *p, mpq_t *constant)
{
  if (mpq_cmp(constant[0], constant[1]) >= 0)
    return "expected a lower bound below the upper one";
  clip(p, (const mpq_t *)&constant[0], (const mpq_t *)&constant[1]);
  return NULL;
}

static clarke_status
bound(clarke_lowering *low, size_t input, const char *name, bool *given, double *value,
      clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, name);
  clarke_status status;

  if (low->opset < 11 && low->op->domain == NULL) {
    *given = attr != NULL;
    *value = *given ? attr->f : 0;
    return CLARKE_OK;
  }
  *given = clarke_lower_has(low, input);
  if (!*given)
    return CLARKE_OK;
  status = clarke_lower_constant(low, input, err);
  if (status != CLARKE_OK)
    return status;
  if (clarke_lower_value(low, input)->count != 1)
    return clarke_lower_fail(low, err, "the bound '%s' must be a scalar", name);
  *value = clarke_lower_value(low, input)->real[0];
  low->graph->values[low->in[input]].bound = true;
  return CLARKE_OK;
}

/* Is a bound of ONNX's Clip an activation? */
static bool
has_activation(const clarke_lowering *low)
{
  bool some = false;

  for (size_t i = 1; i < 3 && low->op->domain == NULL && low->opset >= 11; i++)
    some = some || (clarke_lower_has(low, i) && !clarke_lower_value(low, i)->constant);
  return some;
}

/* Bound i; a constant one is a number, which no parameter is. */
static size_t
bound_value(clarke_lowering *low, size_t i, clarke_error *err)
{
  const clarke_value *v = clarke_lower_value(low, i);

  if (!v->constant)
    return low->in[i];
  if (v->real == NULL || v->count != 1) {
    clarke_lower_fail(low, err, "bound %zu is no number", i);
    return CLARKE_NONE;
  }
  low->graph->values[low->in[i]].bound = true;
  return clarke_inner_number(low, v->real[0], err);
}

/* Then it is a Max and a Min, with ties for kinks. */
static clarke_status
by_extremes(clarke_lowering *low, clarke_error *err)
{
  static const char *const op[] = {"", "Max", "Min"};
  size_t x[CLARKE_MAX_WHOLE], b[CLARKE_MAX_WHOLE], y;
  clarke_status status = clarke_lower_constant(low, 0, NULL);

  y = status == CLARKE_OK ? clarke_inner_function(low, "Sum", low->in[0], err) : low->in[0];
  for (size_t i = 1; i < 3 && y != CLARKE_NONE; i++) {
    const size_t rank = clarke_lower_has(low, i) ? clarke_axes_of_run(low, i, b) : 0;
    bool one = rank <= clarke_axes_of_run(low, 0, x);

    for (size_t a = 0; a < rank; a++)
      one = one && b[a] == 1;
    if (!one)
      return clarke_lower_fail(low, err, "bound %zu is no scalar", i);
    if (clarke_lower_has(low, i))
      y = clarke_inner_of(low, op[i], y, bound_value(low, i, err), err);
  }
  if (y == CLARKE_NONE)
    return clarke_inner_failed(err);
  low->in[0] = y; /* whose batch axis the node's output has */
  return clarke_inner_done(low, 0, y, err);
}

static clarke_status
lower_clip(clarke_lowering *low, clarke_error *err)
{
  bool has[2];
  double at[2] = {0, 0};
  mpq_t lo, hi;
  clarke_step *s;
  clarke_status status;

  if (has_activation(low) && clarke_lower_has(low, 0))
    return by_extremes(low, err);
  status = bound(low, 1, "min", &has[0], &at[0], err);

  if (status == CLARKE_OK)
    status = bound(low, 2, "max", &has[1], &at[1], err);
  if (status != CLARKE_OK)
    return status;
  if (has[0] && has[1] && at[0] >= at[1])
    return clarke_lower_fail(low, err, "expected min < max, have %.17g and %.17g", at[0], at[1]);
  s = clarke_lower_pointwise(low, 0, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  mpq_inits(lo, hi, NULL);
  mpq_set_d(lo, at[0]);
  mpq_set_d(hi, at[1]);
  clip(&s->pieces, has[0] ? (const mpq_t *)&lo : NULL, has[1] ? (const mpq_t *)&hi : NULL);
  mpq_clears(lo, hi, NULL);
  return clarke_lower_pieces_done(low, s, err);
}

/* relu6 and hardtanh are one operator, as in files, where PyTorch has one rule for both. JAX and Keras
 * have one for each: under those profiles the rule is not known. */
const clarke_op clarke_ops_clip[] = {
  {.name = "Clip",
   .forms = {{7, 1, 1, 1, "max:f min:f"}, {11, 1, 3, 1, NULL}},
   .lower = lower_clip, .batch = CLARKE_BATCH_KEPT, .n_kinks = 2,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"0", "0"}},
   .spelling = {{.name = "relu6", .constants = "0 6"},
                {.name = "hardtanh", .constants = "-1 1", .n_optional = 2}},
   .pieces = pieces_clip},
  {.name = "Clamp", .domain = CLARKE_DOMAIN, .forms = {{7, 1, 3, 1, NULL}}, .lower = lower_clip, .batch = CLARKE_BATCH_KEPT, .n_kinks = 2,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"1", "1"}, [CLARKE_PYTORCH_2_14] = {"0", "0"},
             [CLARKE_JAX_0_10] = {"1/2", "1/2"}, [CLARKE_TENSORFLOW_2] = {"1", "1"}},
   .spelling = {{.name = "clamp", .n_required = 2}}, .pieces = pieces_clip},
  {.name = NULL},
};
