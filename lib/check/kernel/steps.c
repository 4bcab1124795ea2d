/* Steps and values, looked up by names. */
#include "check/kernel/steps.h"

#include <string.h>

const graph_value *
network_value(const network *net, const char *name)
{
  size_t i = name_find(&net->named, name);
  return i != NONE ? &net->values[i] : NULL;
}

bool
network_has(const network *net, const char *op)
{
  bool used = false;
  for (size_t s = 1; s < net->n_steps; s++)
    used = used || strcmp(step_operator(&net->steps[s]), op) == 0;
  return used;
}

const char *
step_operator(const step *st)
{
  bool other = st->kind == PIECEWISE, places = other && strcmp(st->op, "DeformConv") == 0;
  return places ? "GridSample" : other && strcmp(st->op, "RNN") == 0 ? "Relu" : st->op;
}

const char *
network_rule(const char *op)
{
  return strcmp(op, "Max") == 0 ? "Maximum" : strcmp(op, "Min") == 0 ? "Minimum" : op;
}

const char *
function_name(function f)
{
  static const char *const names[] = {"exp",   "erf",   "softplus", "normal",     "normal-tanh", "elu",
                                      "sin",   "cos",   "atan",     "reciprocal", "root",        "log",
                                      "above", "floor", "round",    "truncate",   "held"};
  return names[f];
}
