/* Where a matrix's entries lie in the registers of a warp, or in shared memory, when one instruction multiplies them.
 *
 * mma.sync multiplies A (16 rows, k columns) and B (k rows, 8 columns) and adds C (16 x 8); wgmma has 64 rows. Each takes
 * eight dot products here: the factors of product s are row s of A and column s of B, c is C's entry (s, s), and D's is the
 * result. Everything else is zero. Layouts are those of the PTX ISA ("Matrix Fragments for mma", "Shared Memory Matrix Layout",
 * no swizzling). */
#ifndef CLARKE_CUDA_PACK_H
#define CLARKE_CUDA_PACK_H

#include "products.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PACK_PRODUCTS 8 /* in one instruction */

/* The words of a warp's registers: register r of lane l is word [4 * l + r] for A, C and D, [2 * l + r] for B. */
typedef struct {
  uint32_t a[32 * 4], b[32 * 2], c[32 * 4];
} mma_input;

/* The words of shared memory for A (64 rows of 32 bytes) and B (8 columns of 32 bytes), and of the first warp's C. */
typedef struct {
  uint32_t a[64 * 8], b[8 * 8], c[32 * 4];
} wgmma_input;

/* half: C and D are float16, c rounded to nearest. k factors fill whole registers: k times the width is 4 or 8 times 32 bits. */
void mma_pack(mma_input *to, const product p[PACK_PRODUCTS], const number_format *f, int k, int half);
/* k factors are 32 bytes. */
void wgmma_pack(wgmma_input *to, const product p[PACK_PRODUCTS], const number_format *f, int half);

/* The results, as the bits of float32 numbers, from the registers of D of the first warp: of mma.sync and of wgmma alike. */
void pack_results(uint32_t d[PACK_PRODUCTS], const uint32_t registers[32 * 4], int half);

#ifdef __cplusplus
}
#endif

#endif
