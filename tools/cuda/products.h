/* Dot products for a tensor core, d = a . b + c: random ones, and ones that are hard to get right. */
#ifndef CLARKE_CUDA_PRODUCTS_H
#define CLARKE_CUDA_PRODUCTS_H

#include "number.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PRODUCT_MOST 32 /* factors */

typedef struct {
  uint32_t a[PRODUCT_MOST], b[PRODUCT_MOST]; /* bits in the format */
  uint32_t c;                                /* bits of a float32 */
} product;

/* The i-th of the products of a seed, of k factors each. Eight kinds take turns: about normal; of any size; of neighbouring sizes;
 * cancelling; subnormal factors; products about the least float32; near overflow; with many zeros. The same arguments give the same
 * product. */
void product_make(product *p, const number_format *f, int k, uint64_t seed, uint64_t i);
#define PRODUCT_KINDS 8

#ifdef __cplusplus
}
#endif

#endif
