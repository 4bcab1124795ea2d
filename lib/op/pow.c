/* Pow: products for whole exponents from 1 to 8, a root for 1/2, and the reciprocals of these. */
#include "op/floats.h"
#include "op/identity.h"
#include "op/lower.h"
#include "op/product.h"
#include "op/quotient.h"

#include <math.h>

#define MOST 8

static clarke_status
read_exponent(clarke_lowering *low, double *exponent, clarke_error *err)
{
  const clarke_value *e;

  if (!clarke_lower_has(low, 1) || !clarke_lower_value(low, 1)->constant || clarke_lower_value(low, 1)->count != 1
      || clarke_lower_value(low, 1)->rank > 1)
    return clarke_lower_fail(low, err, "the exponent must be one constant number");
  e = clarke_lower_value(low, 1);
  *exponent = e->real != NULL ? e->real[0] : (double)e->integer[0];
  if (!(fabs(*exponent) == 0.5 || (fabs(*exponent) >= 1 && fabs(*exponent) <= MOST && *exponent == (double)(int)*exponent)))
    return clarke_lower_fail(low, err, "the exponent is %g; expected a whole number from 1 to %d, 1/2, or minus one of these",
                             *exponent, MOST);
  low->graph->values[low->in[1]].bound = true;
  return CLARKE_OK;
}

/* x^n; CLARKE_NONE when it fails. */
static size_t
whole_power(clarke_lowering *low, int n, clarke_error *err)
{
  size_t power = low->in[0];

  for (int k = 1; k < n && power != CLARKE_NONE; k++) {
    const clarke_step *s = clarke_lower_entries(low, power, low->in[0], err);

    power = s != NULL ? s->out : CLARKE_NONE;
  }
  return power;
}

static clarke_status
lower_pow(clarke_lowering *low, clarke_error *err)
{
  bool computed;
  clarke_status status = clarke_lower_computed(low, &computed, err);
  double exponent = 0;
  size_t power;

  if (computed)
    return status;
  status = clarke_lower_lift(low, err);
  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 0, err);
  if (status == CLARKE_OK)
    status = read_exponent(low, &exponent, err);
  if (status != CLARKE_OK)
    return status;
  if (exponent == 1)
    return clarke_lower_copy(low, err);
  power = fabs(exponent) == 0.5 ? clarke_lower_inside(low, CLARKE_SQRT, low->in[0], err)
                                : whole_power(low, (int)fabs(exponent), err);
  if (exponent < 0 && power != CLARKE_NONE)
    power = clarke_lower_inside(low, CLARKE_RECIPROCAL, power, err);
  return power != CLARKE_NONE ? clarke_lower_done(low, power, err) : err != NULL ? err->code : CLARKE_ENOMEM;
}

const clarke_op clarke_ops_pow[] = {
  {.name = "Pow", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_pow, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
