/* Clip: min(max(x, lo), hi), as ReLU6 and Hardtanh export to; kinks at lo and at hi. The bounds
 * are attributes before opset 11 and constant scalars from it; they are never parameters. A file
 * cannot tell these activations from torch.clamp, whose proxies are 1: docs/operators.md. */
#include "graph/operator.h"

#include <float.h>

static clarke_status
bound(clarke_lowering *low, size_t input, const char *name, bool *given, double *value,
      clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, name);
  clarke_status status;

  if (low->opset < 11 ? clarke_lower_has(low, input) : attr != NULL)
    return clarke_lower_fail(low, err, "the bound '%s' is an attribute before opset 11, an input "
                                       "from it", name);
  if (low->opset < 11) {
    *given = attr != NULL && attr->type == CLARKE_ATTR_FLOAT;
    *value = *given ? attr->f : 0;
    /* The defaults of opset 6 are the largest floats: no bound. */
    *given = *given && *value > -(double)FLT_MAX && *value < (double)FLT_MAX;
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

static clarke_status
lower_clip(clarke_lowering *low, clarke_error *err)
{
  bool has[2];
  double at[2] = {0, 0};
  size_t k = 0, p = 0;
  clarke_step *s;
  clarke_status status = bound(low, 1, "min", &has[0], &at[0], err);

  if (status == CLARKE_OK)
    status = bound(low, 2, "max", &has[1], &at[1], err);
  if (status != CLARKE_OK)
    return status;
  if (has[0] && has[1] && at[0] >= at[1])
    return clarke_lower_fail(low, err, "expected min < max, have %.17g and %.17g", at[0], at[1]);
  s = clarke_lower_pointwise(low, (size_t)has[0] + (size_t)has[1], err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  s->pieces.first_kink = has[0] ? 0 : 1;
  if (has[0]) {
    mpq_set_d(s->pieces.kink[k++], at[0]);
    mpq_set_d(s->pieces.coef[p++][0], at[0]);
  }
  mpq_set_si(s->pieces.coef[p++][1], 1, 1);
  if (has[1]) {
    mpq_set_d(s->pieces.kink[k], at[1]);
    mpq_set_d(s->pieces.coef[p][0], at[1]);
  }
  return clarke_lower_pieces_done(low, s, err);
}

const clarke_op clarke_ops_clip[] = {
  {.name = "Clip", .min_in = 1, .max_in = 3, .lower = lower_clip,
   .attributes = "min:f max:f", .n_kinks = 2,
   .pytorch_2_13 = {"0", "0"}},
  {.name = NULL},
};
