/* The summation trees of kernels.h's orders, as the file of trees in a run folder has them (docs/run-format.md). */
#ifndef CLARKE_CUDA_DENSE_ORDERS_H
#define CLARKE_CUDA_DENSE_ORDERS_H

#include "kernels.h"

#include <stdbool.h>
#include <stdio.h>

/* The tree of a sum of k products, at least one; bias: leaf k is added at the end. Not of ORDER_CUBLAS. */
void order_write(FILE *to, sum_order order, size_t k, bool bias);

#endif
