/* Sums of products in orders that are known, in float32 and float64: those whose trees are asked for in tests. */
#ifndef CLARKE_TESTS_SUMMATION_KERNELS_H
#define CLARKE_TESTS_SUMMATION_KERNELS_H

#include <stddef.h>

enum { SEQUENTIAL, SEQUENTIAL_FUSED, BACKWARDS_FUSED, PAIRWISE, FOUR_LANES, EIGHT_LANES_FUSED, BLOCKS_FUSED, N_KERNELS };

/* The sum of a[k] b[k]; n is at least 8, a multiple of 8 for the lanes and of 16 for the blocks. */
float kernel_float(int kind, const float *a, const float *b, size_t n);
double kernel_double(int kind, const double *a, const double *b, size_t n);

#endif
