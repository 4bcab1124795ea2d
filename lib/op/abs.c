/* Abs: |x|, one kink at 0. */
#include "op/operator.h"
#include "op/pieces.h"

static const char *
pieces_abs(clarke_pieces *p, mpq_t *constant)
{
  (void)constant;
  mpq_set_si(p->coef[0][1], -1, 1);
  mpq_set_si(p->coef[1][1], 1, 1);
  return NULL;
}

static clarke_status
lower_abs(clarke_lowering *low, clarke_error *err)
{
  return clarke_lower_pieces(low, NULL, err);
}

const clarke_op clarke_ops_abs[] = {
  {.name = "Abs", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_abs, .batch = CLARKE_BATCH_KEPT, .n_kinks = 1,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"0"}, [CLARKE_JAX_0_10] = {"1"},
             [CLARKE_TENSORFLOW_2] = {"0"}},
   .spelling = {{.name = "abs"}}, .pieces = pieces_abs},
  {.name = NULL},
};
