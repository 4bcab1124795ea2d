#include "op/decided.h"
#include "op/lower.h"

#include <stdlib.h>

const double *
clarke_lower_known(const clarke_lowering *low, size_t i)
{
  const clarke_value *v = clarke_lower_has(low, i) ? clarke_lower_value(low, i) : NULL;

  if (v == NULL || (v->constant && (v->odd || v->negated)))
    return NULL;
  return v->constant ? v->real : v->known;
}

static double *
make_known(clarke_lowering *low, size_t value, clarke_error *err)
{
  clarke_value *v = &low->graph->values[value];

  v->known = calloc(v->count + 1, sizeof *v->known);
  if (v->known == NULL)
    clarke_lower_no_memory(low, err);
  return v->known;
}

clarke_status
clarke_lower_know_lifted(clarke_lowering *low, size_t value, clarke_error *err)
{
  const double *from = clarke_lower_known(low, 0);
  double *to;

  if (from == NULL || low->graph->values[value].count != clarke_lower_value(low, 0)->count)
    return CLARKE_OK;
  to = make_known(low, value, err);
  for (size_t e = 0; to != NULL && e < low->graph->values[value].count; e++)
    to[e] = from[e];
  return to != NULL ? CLARKE_OK : CLARKE_ENOMEM;
}

/* Is a + b this double exactly? (Knuth's two-sum: what was rounded off is a double, too.) */
static bool
add_exactly(double a, double b, double *sum)
{
  double rest;

  *sum = a + b;
  rest = *sum - a;
  return (a - (*sum - rest)) + (b - rest) == 0;
}

clarke_status
clarke_lower_know_sum(clarke_lowering *low, size_t value, bool subtract, clarke_error *err)
{
  const double *a = clarke_lower_known(low, 0), *b = clarke_lower_known(low, 1);
  const size_t count = low->graph->values[value].count;
  bool exact = true;
  double *to;

  if (a == NULL || b == NULL || clarke_lower_value(low, 0)->count != count || clarke_lower_value(low, 1)->count != count)
    return CLARKE_OK;
  to = make_known(low, value, err);
  if (to == NULL)
    return CLARKE_ENOMEM;
  for (size_t e = 0; e < count; e++)
    exact = add_exactly(a[e], subtract ? -b[e] : b[e], &to[e]) && exact;
  if (exact)
    return CLARKE_OK;
  free(to);
  low->graph->values[value].known = NULL;
  return CLARKE_OK;
}

/* Through the sums that it was followed by. */
static clarke_status
mark(clarke_lowering *low, size_t value, clarke_error *err)
{
  const clarke_value *v = &low->graph->values[value];
  clarke_status status = CLARKE_OK;

  if (v->constant && (v->initializer || v->parameter != CLARKE_NONE)) {
    status = v->parameter == CLARKE_NONE ? clarke_lower_parameter(low, value, err) : CLARKE_OK;
    if (status == CLARKE_OK) {
      low->graph->parameters[low->graph->values[value].parameter].compared = true;
      low->graph->decided = true;
    }
    return status;
  }
  for (size_t k = 0; v->known != NULL && k < low->graph->steps[v->producer].n_in && status == CLARKE_OK; k++) {
    status = mark(low, low->graph->steps[v->producer].in[k].value, err);
    v = &low->graph->values[value];
  }
  return status;
}

clarke_status
clarke_lower_compared(clarke_lowering *low, size_t i, clarke_error *err)
{
  return mark(low, low->in[i], err);
}
