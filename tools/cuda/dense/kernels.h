/* What a dense network is trained with: matrix products in an order of summation that is chosen, ReLU, the loss. On a GPU, or, as
 * the same code compiled as C, on the CPU. Arrays are made here; the host reads and writes them when nothing runs. */
#ifndef CLARKE_CUDA_DENSE_KERNELS_H
#define CLARKE_CUDA_DENSE_KERNELS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In which order a product's K terms are added; each by a fused multiplication and addition in float32, but where sums are added:
 *   SEQUENTIAL  one thread: 0, 1, 2, ...
 *   TREE        64 threads, each every 64th term; then halves are added in shared memory: t and t + 32, t and t + 16, ...
 *   WARP        32 threads, likewise, by shuffles
 *   SPLIT       four pieces of K, a thread each; then the pieces' sums, the first to the last. No atomic additions
 *   CUBLAS      cuBLAS's own order, which is not known; where this was compiled with it */
typedef enum { ORDER_SEQUENTIAL, ORDER_TREE, ORDER_WARP, ORDER_SPLIT, ORDER_CUBLAS, N_ORDERS } sum_order;
extern const char *const order_names[N_ORDERS];
#define TREE_LANES 64
#define PIECES 4

/* What factors were, and results are, rounded to: the numbers lie in float arrays. TF32: by cuBLAS alone, results are float32. */
typedef enum { NUMBERS_FLOAT32, NUMBERS_FLOAT16, NUMBERS_BFLOAT16, NUMBERS_TF32, N_NUMBERS } numbers;
extern const char *const numbers_names[N_NUMBERS];

/* c[i, j] = the sum over k of a[i ai + k ak] b[k bk + j bj], and then bias[j], unless it is NULL; c is rows x cols, row-major. */
typedef struct {
  const float *a, *b, *bias;
  float *c;
  size_t rows, cols, inner, ai, ak, bk, bj;
  numbers result;
  float *pieces; /* of SPLIT: PIECES rows cols */
} product_task;

void device_product(sum_order order, numbers factors, product_task task);
/* The product by CUBLAS, where this was compiled with it. */
void cublas_product(numbers factors, const product_task *task);

/* to[e] = from[e], rounded. */
void device_cast(float *to, const float *from, size_t n, numbers to_numbers);
/* to[e] = where[e] > 0 ? from[e] : 0 */
void device_gate(float *to, const float *from, const float *where, size_t n);
/* w[e] -= rate g[e] */
void device_descend(float *w, const float *g, size_t n, float rate);

/* The log-softmax of n rows of logits, and the gradient of the loss times scale in the logits: the mean over rows of
 * -log_softmax at the label. */
typedef struct {
  const float *logits, *labels;
  float *log_softmax, *gradient;
  size_t n, classes;
  float scale;
  numbers result;
} loss_task;
void device_loss(loss_task task);

/* Zeros; NULL: no memory. */
float *device_new(size_t n);
void device_free(float *p);
/* Until all that was begun is done. 0; else what went wrong was said on standard error. */
int device_wait(void);
/* "cuda" or "cpu", and the device's own name; why: no GPU can be used, and what was said of it. */
const char *device_type(void);
const char *device_name(void);
/* Was this compiled with it? */
int device_has_cublas(void);

#ifdef __cplusplus
}
#endif
#endif
