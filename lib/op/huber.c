/* Huber, of a domain of its own: x^2 / 2 between -delta and delta, and beyond its tangents there,
 * delta |x| - delta^2 / 2 (Huber, Robust Estimation of a Location Parameter, 1964). Where the parabola joins a tangent the
 * slopes agree: the step has a place there, but no kink, and no profile a number for it. */
#include "op/lower.h"
#include "op/operator.h"
#include "op/pieces.h"

/* Input 1 as a number that is no parameter: a constant scalar. */
static clarke_status
read_delta(clarke_lowering *low, double *delta, clarke_error *err)
{
  clarke_status status = clarke_lower_constant(low, 1, err);

  if (status != CLARKE_OK)
    return status;
  if (clarke_lower_value(low, 1)->count != 1)
    return clarke_lower_fail(low, err, "delta must be a scalar");
  *delta = clarke_lower_value(low, 1)->real[0];
  low->graph->values[low->in[1]].bound = true;
  return CLARKE_OK;
}

static void
set_huber(clarke_pieces *p, double delta)
{
  mpq_set_d(p->kink[1], delta);
  mpq_neg(p->kink[0], p->kink[1]);
  mpq_set(p->coef[0][1], p->kink[0]);
  mpq_set(p->coef[2][1], p->kink[1]);
  mpq_set_si(p->coef[1][2], 1, 2);
  mpq_mul(p->coef[0][0], p->kink[1], p->kink[0]);
  mpq_mul(p->coef[0][0], p->coef[0][0], p->coef[1][2]);
  mpq_set(p->coef[2][0], p->coef[0][0]);
}

static clarke_status
lower_huber(clarke_lowering *low, clarke_error *err)
{
  double delta = 0;
  clarke_step *s;
  clarke_status status = read_delta(low, &delta, err);

  if (status != CLARKE_OK)
    return status;
  if (!(delta > 0))
    return clarke_lower_fail(low, err, "expected delta > 0, have %.17g", delta);
  s = clarke_lower_pointwise(low, 2, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  set_huber(&s->pieces, delta);
  return clarke_lower_pieces_done(low, s, err);
}

const clarke_op clarke_ops_huber[] = {
  {.name = "Huber", .domain = CLARKE_DOMAIN, .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_huber},
  {.name = NULL},
};
