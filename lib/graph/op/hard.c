/* HardSigmoid: max(0, min(1, alpha x + beta)); HardSwish: x hardsigmoid(x) with 1/6 and 1/2. */
#include "graph/operator.h"

/* alpha x + beta between its two kinks, -beta/alpha and (1 - beta)/alpha. */
static void
kinks(clarke_pieces *p, const mpq_t alpha, const mpq_t beta)
{
  mpq_t rest;

  mpq_init(rest);
  mpq_neg(rest, beta);
  mpq_div(p->kink[0], rest, alpha);
  mpq_set_si(rest, 1, 1);
  mpq_sub(rest, rest, beta);
  mpq_div(p->kink[1], rest, alpha);
  mpq_clear(rest);
}

static clarke_status
lower_hardsigmoid(clarke_lowering *low, clarke_error *err)
{
  double alpha = clarke_lower_float(low, "alpha", (double)0.2f);
  double beta = clarke_lower_float(low, "beta", 0.5);
  clarke_step *s;

  if (!(alpha > 0))
    return clarke_lower_fail(low, err, "expected alpha > 0, have %.17g", alpha);
  s = clarke_lower_pointwise(low, 2, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  mpq_set_d(s->pieces.coef[1][0], beta);
  /* The one reading rule of docs/operators.md: relu6(x + 3) / 6 is exported with this float. */
  if (alpha == (double)(1.0f / 6.0f))
    mpq_set_si(s->pieces.coef[1][1], 1, 6);
  else
    mpq_set_d(s->pieces.coef[1][1], alpha);
  kinks(&s->pieces, s->pieces.coef[1][1], s->pieces.coef[1][0]);
  mpq_set_si(s->pieces.coef[2][0], 1, 1);
  return clarke_lower_pieces_done(low, s, err);
}

static clarke_status
lower_hardswish(clarke_lowering *low, clarke_error *err)
{
  clarke_step *s = clarke_lower_pointwise(low, 2, err);

  if (s == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  mpq_set_si(s->pieces.kink[0], -3, 1);
  mpq_set_si(s->pieces.kink[1], 3, 1);
  mpq_set_si(s->pieces.coef[1][1], 1, 2);
  mpq_set_si(s->pieces.coef[1][2], 1, 6);
  mpq_set_si(s->pieces.coef[2][1], 1, 1);
  return clarke_lower_pieces_done(low, s, err);
}

const clarke_op clarke_ops_hard[] = {
  {.name = "HardSigmoid", .min_in = 1, .max_in = 1, .lower = lower_hardsigmoid,
   .attributes = "alpha:f beta:f", .n_kinks = 2,
   .pytorch_2_13 = {"0", "0"}},
  {.name = "HardSwish", .min_in = 1, .max_in = 1, .lower = lower_hardswish, .n_kinks = 2,
   .pytorch_2_13 = {"left", "right"}},
  {.name = NULL},
};
