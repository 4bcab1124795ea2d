/* HardSigmoid: max(0, min(1, alpha x + beta)); HardSwish: x hardsigmoid(x) with 1/6 and 1/2. */
#include "op/lower.h"
#include "op/operator.h"
#include "op/pieces.h"

/* constant: alpha and beta; the kinks are at -beta/alpha and (1 - beta)/alpha. */
static const char *
pieces_hardsigmoid(clarke_pieces *p, mpq_t *constant)
{
  if (mpq_sgn(constant[0]) <= 0)
    return "expected alpha > 0";
  mpq_set(p->coef[1][1], constant[0]);
  mpq_set(p->coef[1][0], constant[1]);
  mpq_set_si(p->coef[2][0], 1, 1);
  mpq_neg(p->kink[0], constant[1]);
  mpq_sub(p->kink[1], p->coef[2][0], constant[1]);
  for (size_t k = 0; k < 2; k++)
    mpq_div(p->kink[k], p->kink[k], constant[0]);
  return NULL;
}

static clarke_status
lower_hardsigmoid(clarke_lowering *low, clarke_error *err)
{
  double alpha = clarke_lower_float(low, "alpha", (double)0.2f);
  mpq_t constant[2];
  clarke_status status;

  if (!(alpha > 0))
    return clarke_lower_fail(low, err, "expected alpha > 0, have %.17g", alpha);
  mpq_inits(constant[0], constant[1], NULL);
  mpq_set_d(constant[1], clarke_lower_float(low, "beta", 0.5));
  /* The one reading rule of docs/operators.md: relu6(x + 3) / 6 is exported with this float. */
  if (alpha == (double)(1.0f / 6.0f))
    mpq_set_si(constant[0], 1, 6);
  else
    mpq_set_d(constant[0], alpha);
  status = clarke_lower_pieces(low, constant, err);
  mpq_clears(constant[0], constant[1], NULL);
  return status;
}

static const char *
pieces_hardswish(clarke_pieces *p, mpq_t *constant)
{
  (void)constant;
  mpq_set_si(p->kink[0], -3, 1);
  mpq_set_si(p->kink[1], 3, 1);
  mpq_set_si(p->coef[1][1], 1, 2);
  mpq_set_si(p->coef[1][2], 1, 6);
  mpq_set_si(p->coef[2][1], 1, 1);
  return NULL;
}

static clarke_status
lower_hardswish(clarke_lowering *low, clarke_error *err)
{
  return clarke_lower_pieces(low, NULL, err);
}

const clarke_op clarke_ops_hard[] = {
  {.name = "HardSigmoid",
   .forms = {{7, 1, 1, 1, "alpha:f beta:f"}},
   .lower = lower_hardsigmoid, .batch = CLARKE_BATCH_KEPT, .n_kinks = 2,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"0", "0"}, [CLARKE_JAX_0_10] = {"0", "0"},
             [CLARKE_TENSORFLOW_2] = {"0", "0"}},
   .spelling = {{.name = "hardsigmoid", .constants = "1/6 1/2"}}, .pieces = pieces_hardsigmoid},
  {.name = "HardSwish", .forms = {{14, 1, 1, 1, NULL}}, .lower = lower_hardswish, .batch = CLARKE_BATCH_KEPT, .n_kinks = 2,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"left", "right"}, [CLARKE_JAX_0_10] = {"0", "1"},
             [CLARKE_TENSORFLOW_2] = {"0", "1"}},
   .spelling = {{.name = "hardswish"}}, .pieces = pieces_hardswish},
  {.name = NULL},
};
