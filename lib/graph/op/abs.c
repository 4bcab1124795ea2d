/* Abs: |x|, one kink at 0. */
#include "graph/operator.h"

static clarke_status
lower_abs(clarke_lowering *low, clarke_error *err)
{
  clarke_step *s = clarke_lower_pointwise(low, 1, err);

  if (s == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  mpq_set_si(s->pieces.coef[0][1], -1, 1);
  mpq_set_si(s->pieces.coef[1][1], 1, 1);
  return clarke_lower_pieces_done(low, s, err);
}

const clarke_op clarke_ops_abs[] = {
  {.name = "Abs", .min_in = 1, .max_in = 1, .lower = lower_abs, .n_kinks = 1,
   .pytorch_2_13 = {"0"}},
  {.name = NULL},
};
