/* Pow with a whole exponent from 1 to 8: products. */
#include "op/identity.h"
#include "op/lower.h"
#include "op/product.h"

#define MOST 8

static clarke_status
lower_pow(clarke_lowering *low, clarke_error *err)
{
  clarke_status status = clarke_lower_activation(low, 0, err);
  const clarke_value *e;
  double exponent;
  size_t power;

  if (status == CLARKE_OK && (!clarke_lower_has(low, 1) || !clarke_lower_value(low, 1)->constant
                              || clarke_lower_value(low, 1)->count != 1 || clarke_lower_value(low, 1)->rank > 1))
    status = clarke_lower_fail(low, err, "the exponent must be one constant number");
  if (status != CLARKE_OK)
    return status;
  e = clarke_lower_value(low, 1);
  exponent = e->real != NULL ? e->real[0] : (double)e->integer[0];
  if (!(exponent >= 1 && exponent <= MOST) || exponent != (double)(int)exponent)
    return clarke_lower_fail(low, err, "the exponent is %g; expected a whole number from 1 to %d", exponent, MOST);
  low->graph->values[low->in[1]].bound = true;
  power = low->in[0];
  for (int k = 1; k < (int)exponent; k++) {
    const clarke_step *s = clarke_lower_entries(low, power, low->in[0], err);

    if (s == NULL)
      return err != NULL ? err->code : CLARKE_ENOMEM;
    power = s->out;
  }
  if (exponent == 1)
    return clarke_lower_copy(low, err);
  return clarke_lower_done(low, power, err);
}

const clarke_op clarke_ops_pow[] = {
  {.name = "Pow", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_pow, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
