/* Elu: x above 0, alpha (exp(x) - 1) below; a kink at 0 unless alpha is 1. Its left piece is no
 * polynomial: programs have an instruction for it, and files are not read with it. */
#include "op/operator.h"

const clarke_op clarke_ops_elu[] = {
  {.name = "Elu", .n_kinks = 1,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"left"}, [CLARKE_JAX_0_10] = {"left"},
             [CLARKE_TENSORFLOW_2] = {"left"}},
   .spelling = {{.name = "elu", .constants = "1", .n_optional = 1}}},
  {.name = NULL},
};
