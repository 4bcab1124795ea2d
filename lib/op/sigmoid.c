/* Functions without kinks: Sigmoid, Tanh, Exp, Erf, Softplus, Sin, Cos, Atan; x times one: Gelu, Mish, Swish. */
#include "op/sigmoid.h"
#include "op/lower.h"
#include "op/product.h"

#include <string.h>

clarke_step *
clarke_lower_function(clarke_lowering *low, clarke_function function, size_t value, clarke_error *err)
{
  clarke_step *s = clarke_lower_step_like(low, CLARKE_ANALYTIC, 1, value, err);

  if (s != NULL)
    s->function = function;
  return s;
}

static clarke_status
lower_analytic(clarke_lowering *low, clarke_error *err)
{
  static const struct {
    const char *name;
    clarke_function function;
  } all[] = {{"Sigmoid", CLARKE_SIGMOID}, {"Tanh", CLARKE_TANH}, {"Exp", CLARKE_EXP}, {"Erf", CLARKE_ERF},
             {"Softplus", CLARKE_SOFTPLUS}, {"Sin", CLARKE_SIN}, {"Cos", CLARKE_COS}, {"Atan", CLARKE_ATAN}};
  clarke_status status = clarke_lower_lift(low, err);
  clarke_step *s;
  size_t i = 0;

  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 0, err);
  if (status != CLARKE_OK)
    return status;
  while (strcmp(low->node->op_type, all[i].name) != 0)
    i++;
  s = clarke_lower_function(low, all[i].function, low->in[0], err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  return clarke_lower_done(low, s->out, err);
}

/* x times the function's output, the node's. */
static clarke_status
times_argument(clarke_lowering *low, const clarke_step *function, clarke_error *err)
{
  clarke_step *s = function != NULL ? clarke_lower_entries(low, low->in[0], function->out, err) : NULL;

  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  return clarke_lower_done(low, s->out, err);
}

static clarke_status
lower_gelu(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *approximate = clarke_model_attr(low->node, "approximate");
  const bool tanh = approximate != NULL && strcmp(approximate->s, "tanh") == 0;
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  if (approximate != NULL && !tanh && strcmp(approximate->s, "none") != 0)
    return clarke_lower_fail(low, err, "approximate is '%s'; expected none or tanh", approximate->s);
  return times_argument(low, clarke_lower_function(low, tanh ? CLARKE_NORMAL_TANH : CLARKE_NORMAL, low->in[0], err), err);
}

static clarke_status
lower_mish(clarke_lowering *low, clarke_error *err)
{
  clarke_status status = clarke_lower_first(low, err);
  const clarke_step *softplus;

  if (status != CLARKE_OK)
    return status;
  softplus = clarke_lower_function(low, CLARKE_SOFTPLUS, low->in[0], err);
  if (softplus == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  return times_argument(low, clarke_lower_function(low, CLARKE_TANH, softplus->out, err), err);
}

static clarke_status
lower_swish(clarke_lowering *low, clarke_error *err)
{
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  if (clarke_lower_float(low, "alpha", 1) != 1)
    return clarke_lower_fail(low, err, "alpha must be 1: write x times Sigmoid of alpha x");
  return times_argument(low, clarke_lower_function(low, CLARKE_SIGMOID, low->in[0], err), err);
}

const clarke_op clarke_ops_sigmoid[] = {
  {.name = "Sigmoid", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_analytic, .batch = CLARKE_BATCH_KEPT},
  {.name = "Tanh", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_analytic, .batch = CLARKE_BATCH_KEPT},
  {.name = "Exp", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_analytic, .batch = CLARKE_BATCH_KEPT},
  {.name = "Erf", .forms = {{9, 1, 1, 1, NULL}}, .lower = lower_analytic, .batch = CLARKE_BATCH_KEPT},
  {.name = "Softplus", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_analytic, .batch = CLARKE_BATCH_KEPT},
  {.name = "Sin", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_analytic, .batch = CLARKE_BATCH_KEPT},
  {.name = "Cos", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_analytic, .batch = CLARKE_BATCH_KEPT},
  {.name = "Atan", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_analytic, .batch = CLARKE_BATCH_KEPT},
  {.name = "Gelu", .forms = {{20, 1, 1, 1, "approximate:s"}}, .lower = lower_gelu, .batch = CLARKE_BATCH_KEPT},
  {.name = "Mish", .forms = {{18, 1, 1, 1, NULL}}, .lower = lower_mish, .batch = CLARKE_BATCH_KEPT},
  {.name = "Swish", .forms = {{24, 1, 1, 1, "alpha:f"}}, .lower = lower_swish, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
