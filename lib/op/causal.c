/* CausalConvWithState: a Conv by channel over what came before and what comes, of which the last entries are handed on. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <string.h>

enum { X, WEIGHT, BIAS, PAST };

typedef struct {
  size_t batch, channels, length, kernel;
} causal;

static clarke_status
read_shapes(causal *c, const clarke_lowering *low, clarke_error *err)
{
  size_t x[CLARKE_MAX_WHOLE], w[CLARKE_MAX_WHOLE], past[CLARKE_MAX_WHOLE];

  if (!clarke_lower_has(low, X) || !clarke_lower_has(low, WEIGHT))
    return clarke_lower_fail(low, err, "an input is missing");
  if (clarke_axes_of_run(low, X, x) != 3 || clarke_axes_of_run(low, WEIGHT, w) != 3 || w[0] != x[1] || w[1] != 1 || w[2] == 0
      || x[1] == 0 || x[2] == 0)
    return clarke_lower_fail(low, err, "input and weight are not of (batch, channels, length) and (channels, 1, k)");
  *c = (causal){x[0], x[1], x[2], w[2]};
  if (clarke_lower_has(low, PAST)
      && (clarke_axes_of_run(low, PAST, past) != 3 || past[0] != x[0] || past[1] != x[1] || past[2] != w[2] - 1))
    return clarke_lower_fail(low, err, "a past of other axes than (%zu, %zu, %zu)", x[0], x[1], w[2] - 1);
  return CLARKE_OK;
}

/* The input behind its past, or behind zeros. */
static size_t
extended(clarke_lowering *low, const causal *c, clarke_error *err)
{
  const int64_t pads[6] = {0, 0, (int64_t)c->kernel - 1, 0, 0, 0};

  if (c->kernel == 1)
    return low->in[X];
  if (clarke_lower_has(low, PAST))
    return clarke_inner_joined(low, (size_t[]){low->in[PAST], low->in[X]}, 2, 2, err);
  return clarke_inner_of(low, "Pad", low->in[X], clarke_inner_integers(low, pads, 6, err), err);
}

static clarke_status
lower_causal(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, "activation");
  const char *name = attr != NULL ? attr->s : "none";
  const bool gate = strcmp(name, "silu") == 0 || strcmp(name, "swish") == 0;
  clarke_attr group;
  causal c = {0};
  size_t x, y;
  clarke_status status = read_shapes(&c, low, err);

  if (status != CLARKE_OK)
    return status;
  if (!gate && strcmp(name, "none") != 0)
    return clarke_lower_fail(low, err, "activation is '%.40s'; expected none, silu or swish", name);
  x = extended(low, &c, err);
  group = clarke_inner_int("group", (int64_t)c.channels);
  y = x == CLARKE_NONE
          ? x
          : clarke_inner_node(low, "Conv",
                              (size_t[]){x, low->in[WEIGHT], clarke_lower_has(low, BIAS) ? low->in[BIAS] : CLARKE_NONE},
                              clarke_lower_has(low, BIAS) ? 3 : 2, &group, 1, err);
  if (gate)
    y = clarke_inner_of(low, "Mul", y, clarke_inner_function(low, "Sigmoid", y, err), err);
  status = clarke_inner_done(low, 0, y, err);
  if (status == CLARKE_OK && low->node->n_out > 1 && low->node->out[1][0] != '\0')
    status = clarke_inner_done(low, 1, clarke_inner_sliced(low, x, 2, c.length, c.length + c.kernel - 1, err), err);
  return status;
}

const clarke_op clarke_ops_causal[] = {
    {.name = "CausalConvWithState",
     .forms = {{27, 2, 4, 2, "activation:s"}},
     .lower = lower_causal,
     .batch = CLARKE_BATCH_FIRST,
     .multiplies = true},
    {.name = NULL},
};
