#include "summation_kernels.h"

#include <math.h>

/* Compiled with -ffp-contract=off: what is fused is fused by fma. */
#define KERNELS(type, fused)                                                                      \
  static type pairwise_##type(const type *a, const type *b, size_t n)                             \
  {                                                                                               \
    return n == 1 ? a[0] * b[0]                                                                   \
                  : pairwise_##type(a, b, n / 2) + pairwise_##type(a + n / 2, b + n / 2, n - n / 2); \
  }                                                                                               \
                                                                                                  \
  static type chain_##type(const type *a, const type *b, size_t n, size_t by, int fuses)          \
  {                                                                                               \
    type sum = a[0] * b[0];                                                                       \
                                                                                                  \
    for (size_t k = by; k < n; k += by)                                                           \
      sum = fuses ? fused(a[k], b[k], sum) : sum + a[k] * b[k];                                   \
    return sum;                                                                                   \
  }                                                                                               \
                                                                                                  \
  static type backwards_##type(const type *a, const type *b, size_t n)                            \
  {                                                                                               \
    type sum = a[n - 1] * b[n - 1];                                                               \
                                                                                                  \
    for (size_t k = n - 1; k-- > 0;)                                                              \
      sum = fused(a[k], b[k], sum);                                                               \
    return sum;                                                                                   \
  }                                                                                               \
                                                                                                  \
  static type lanes_##type(const type *a, const type *b, size_t n, size_t lanes, int fuses)       \
  {                                                                                               \
    type sum[8];                                                                                  \
                                                                                                  \
    for (size_t l = 0; l < lanes; l++)                                                            \
      sum[l] = chain_##type(a + l, b + l, n - l, lanes, fuses);                                   \
    for (; lanes > 1; lanes /= 2)                                                                 \
      for (size_t l = 0; l < lanes / 2; l++)                                                      \
        sum[l] = sum[l] + sum[l + lanes / 2];                                                     \
    return sum[0];                                                                                \
  }                                                                                               \
                                                                                                  \
  static type blocks_##type(const type *a, const type *b, size_t n)                               \
  {                                                                                               \
    type sum = chain_##type(a, b, 16, 1, 1);                                                      \
                                                                                                  \
    for (size_t k = 16; k < n; k += 16)                                                           \
      sum = sum + chain_##type(a + k, b + k, 16, 1, 1);                                           \
    return sum;                                                                                   \
  }                                                                                               \
                                                                                                  \
  type kernel_##type(int kind, const type *a, const type *b, size_t n)                            \
  {                                                                                               \
    switch (kind) {                                                                               \
    case BACKWARDS_FUSED:                                                                         \
      return backwards_##type(a, b, n);                                                           \
    case PAIRWISE:                                                                                \
      return pairwise_##type(a, b, n);                                                            \
    case FOUR_LANES:                                                                              \
      return lanes_##type(a, b, n, 4, 0);                                                         \
    case EIGHT_LANES_FUSED:                                                                       \
      return lanes_##type(a, b, n, 8, 1);                                                         \
    case BLOCKS_FUSED:                                                                            \
      return blocks_##type(a, b, n);                                                              \
    default:                                                                                      \
      return chain_##type(a, b, n, 1, kind == SEQUENTIAL_FUSED);                                  \
    }                                                                                             \
  }

KERNELS(float, fmaf)
KERNELS(double, fma)
