/* Pow: products for whole exponents from 1 to 8, a root for 1/2, and the reciprocals of these; of other exponents the exponential of
 * them times the logarithm. */
#include "op/axes.h"
#include "op/floats.h"
#include "op/identity.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/product.h"
#include "op/quotient.h"

#include <math.h>
#include <string.h>

#define MOST 8

/* One constant number, whatever it is; else NULL. */
static const clarke_value *
one_number(const clarke_lowering *low)
{
  const clarke_value *e = clarke_lower_has(low, 1) ? clarke_lower_value(low, 1) : NULL;

  return e != NULL && e->constant && e->count == 1 && e->rank <= 1 ? e : NULL;
}

/* 0: it is not such an exponent. */
static double
read_exponent(clarke_lowering *low)
{
  const clarke_value *e = one_number(low);
  const double exponent = e == NULL ? 0 : e->real != NULL ? e->real[0] : (double)e->integer[0];

  if (!(fabs(exponent) == 0.5 || (fabs(exponent) >= 1 && fabs(exponent) <= MOST && exponent == (double)(int)exponent)))
    return 0;
  low->graph->values[low->in[1]].bound = true;
  return exponent;
}

#define MOST_WHOLE ((int64_t)1 << 53) /* as doubles have them */

/* The exponents as floats: a number that no parameter is, where there is one, and of integers the same. */
static size_t
exponents(clarke_lowering *low, clarke_error *err)
{
  const bool one = one_number(low) != NULL;
  const clarke_value *e = clarke_lower_value(low, 1);
  size_t dims[CLARKE_MAX_RANK], value;

  if (!one && (!e->constant || e->integer == NULL))
    return low->in[1];
  low->graph->values[low->in[1]].bound = e->real != NULL;
  memcpy(dims, e->dims, sizeof dims);
  if (clarke_lower_made(low, e->rank, dims, &value, err) != CLARKE_OK)
    return CLARKE_NONE;
  e = clarke_lower_value(low, 1);
  for (size_t i = 0; i < e->count; i++) {
    if (e->integer != NULL && (e->integer[i] > MOST_WHOLE || e->integer[i] < -MOST_WHOLE)) {
      clarke_lower_fail(low, err, "exponent %zu is %lld, which is too large", i, (long long)e->integer[i]);
      return CLARKE_NONE;
    }
    low->graph->values[value].real[i] = e->real != NULL ? e->real[i] : (double)e->integer[i];
  }
  return value;
}

/* exp(e log(x)), x above 0. */
static clarke_status
by_logarithm(clarke_lowering *low, clarke_error *err)
{
  size_t e, y;

  if (!clarke_lower_has(low, 1))
    return clarke_lower_fail(low, err, "input 1 is missing");
  e = exponents(low, err);
  y = e != CLARKE_NONE ? clarke_inner_of(low, "Mul", clarke_inner_function(low, "Log", low->in[0], err), e, err) : e;
  y = clarke_inner_function(low, "Exp", y, err);
  if (y == CLARKE_NONE)
    return clarke_inner_failed(err);
  low->in[0] = y; /* whose batch axis the node's output has */
  return clarke_inner_done(low, 0, y, err);
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
  clarke_status status;
  double exponent = 0;
  size_t power;

  if (clarke_lower_is_power(low))
    return clarke_lower_floats_computed(low, err);
  status = clarke_lower_lift_first(low, err);
  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 0, err);
  if (status != CLARKE_OK)
    return status;
  exponent = read_exponent(low);
  if (exponent == 0)
    return by_logarithm(low, err);
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
