/* The order statistics that programs alone have: the k-th largest of several numbers. They have no kinks of their
 * own but ties, and a tie rule for each profile in place of proxies. Those that files have too are in maximum.c and
 * maxpool.c. */
#include "op/operator.h"

const clarke_op clarke_ops_order[] = {
  {.name = "Kth", .order = true,
   .tie = {[CLARKE_PYTORCH_2_13] = "stable", [CLARKE_JAX_0_10] = "stable",
           [CLARKE_TENSORFLOW_2] = "stable"}},
  {.name = "Sort", .order = true,
   .tie = {[CLARKE_PYTORCH_2_13] = "stable", [CLARKE_JAX_0_10] = "stable",
           [CLARKE_TENSORFLOW_2] = "stable"}},
  {.name = "Median", .order = true,
   .tie = {[CLARKE_PYTORCH_2_13] = "stable", [CLARKE_JAX_0_10] = "stable"}},
  {.name = NULL},
};
