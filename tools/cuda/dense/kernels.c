/* Compiled by nvcc as CUDA, or as C (kernels.h). Nothing is fused but by fmaf: -ffp-contract=off, --fmad=false. */
#include "kernels.h"

#include "../narrow.h"
#include "device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const order_names[N_ORDERS] = {"sequential", "tree", "warp", "split", "cublas"};
const char *const numbers_names[N_NUMBERS] = {"float32", "float16", "bfloat16", "tf32"};

#define THREADS_OF_ALL 128

NARROW float
rounded(float x, numbers to)
{
  uint32_t bits;

  memcpy(&bits, &x, sizeof bits);
  if (to == NUMBERS_FLOAT16)
    bits = widen_float16(narrow_float16(bits));
  else if (to == NUMBERS_BFLOAT16)
    bits = widen_bfloat16(narrow_bfloat16(bits));
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The products first, first + by, ... below end of entry e, from one of them on: never empty. */
NARROW float
chain(const product_task *t, size_t e, size_t first, size_t by, size_t end)
{
  const float *a = t->a + e / t->cols * t->ai, *b = t->b + e % t->cols * t->bj;
  float sum = a[first * t->ak] * b[first * t->bk];

  for (size_t k = first + by; k < end; k += by)
    sum = fmaf(a[k * t->ak], b[k * t->bk], sum);
  return sum;
}

NARROW void
finish(const product_task *t, size_t e, float sum)
{
  if (t->bias != NULL)
    sum = sum + t->bias[e % t->cols];
  t->c[e] = rounded(sum, t->result);
}

KERNEL(product_sequential, product_task)
{
  FOR_THREADS
  {
    const size_t e = (size_t)BLOCK * THREADS + THREAD;

    if (e < task.rows * task.cols)
      finish(&task, e, chain(&task, e, 0, 1, task.inner));
  }
}

/* A block an entry. Threads beyond K have 0, which changes no sum. */
KERNEL(product_tree, product_task)
{
  SHARED(float, sum, TREE_LANES);

  FOR_THREADS
  {
    sum[THREAD] = THREAD < task.inner ? chain(&task, BLOCK, THREAD, TREE_LANES, task.inner) : 0;
  }
  for (unsigned half = TREE_LANES / 2; half > 0; half /= 2) {
    BARRIER
    FOR_THREADS
    {
      if (THREAD < half)
        sum[THREAD] = sum[THREAD] + sum[THREAD + half];
    }
  }
  FOR_THREADS
  {
    if (THREAD == 0)
      finish(&task, BLOCK, sum[0]);
  }
}

KERNEL(product_warp, product_task)
{
  PER_THREAD(float, sum);

  FOR_THREADS
  {
    MINE(sum) = THREAD < task.inner ? chain(&task, BLOCK, THREAD, WARP, task.inner) : 0;
  }
  for (unsigned half = WARP / 2; half > 0; half /= 2)
    ADD_FROM_ABOVE(sum, half);
  FOR_THREADS
  {
    if (THREAD == 0)
      finish(&task, BLOCK, MINE(sum));
  }
}

/* A thread for each piece of each entry; a piece may be empty. */
KERNEL(product_pieces, product_task)
{
  FOR_THREADS
  {
    const size_t at = (size_t)BLOCK * THREADS + THREAD, entries = task.rows * task.cols;
    const size_t length = (task.inner + PIECES - 1) / PIECES, first = at / entries * length;

    if (at < PIECES * entries && first < task.inner)
      task.pieces[at] = chain(&task, at % entries, first, 1, first + length < task.inner ? first + length : task.inner);
  }
}

KERNEL(add_pieces, product_task)
{
  FOR_THREADS
  {
    const size_t e = (size_t)BLOCK * THREADS + THREAD, entries = task.rows * task.cols;
    const size_t length = (task.inner + PIECES - 1) / PIECES;

    if (e < entries) {
      float sum = task.pieces[e];

      for (size_t p = 1; p * length < task.inner; p++)
        sum = sum + task.pieces[p * entries + e];
      finish(&task, e, sum);
    }
  }
}

typedef struct {
  float *to;
  const float *from, *where;
  size_t n;
  float rate;
  numbers result;
} each_task;

KERNEL(cast_each, each_task)
{
  FOR_THREADS
  {
    const size_t e = (size_t)BLOCK * THREADS + THREAD;

    if (e < task.n)
      task.to[e] = rounded(task.from[e], task.result);
  }
}

KERNEL(gate_each, each_task)
{
  FOR_THREADS
  {
    const size_t e = (size_t)BLOCK * THREADS + THREAD;

    if (e < task.n)
      task.to[e] = task.where[e] > 0 ? task.from[e] : 0;
  }
}

KERNEL(descend_each, each_task)
{
  FOR_THREADS
  {
    const size_t e = (size_t)BLOCK * THREADS + THREAD;

    if (e < task.n)
      task.to[e] = fmaf(-task.rate, task.from[e], task.to[e]);
  }
}

KERNEL(loss_each, loss_task)
{
  FOR_THREADS
  {
    const size_t row = (size_t)BLOCK * THREADS + THREAD, at = row * task.classes;

    if (row < task.n) {
      float most = task.logits[at], sum = 0, part = task.scale / (float)task.n;

      for (size_t i = 1; i < task.classes; i++)
        most = fmaxf(most, task.logits[at + i]);
      for (size_t i = 0; i < task.classes; i++)
        sum = sum + expf(task.logits[at + i] - most);
      sum = logf(sum);
      for (size_t i = 0; i < task.classes; i++) {
        task.log_softmax[at + i] = task.logits[at + i] - most - sum;
        task.gradient[at + i] =
          rounded((expf(task.log_softmax[at + i]) - ((float)i == task.labels[row] ? 1.0f : 0.0f)) * part, task.result);
      }
    }
  }
}

/* --- launches --- */

#define BLOCKS(n) (((n) + THREADS_OF_ALL - 1) / THREADS_OF_ALL)

void
device_product(sum_order order, numbers factors, product_task task)
{
  const size_t entries = task.rows * task.cols;

  (void)factors;
  switch (order) {
  case ORDER_SEQUENTIAL:
    LAUNCH(product_sequential, BLOCKS(entries), THREADS_OF_ALL, task);
    break;
  case ORDER_TREE:
    LAUNCH(product_tree, entries, TREE_LANES, task);
    break;
  case ORDER_WARP:
    LAUNCH(product_warp, entries, WARP, task);
    break;
  case ORDER_SPLIT:
    LAUNCH(product_pieces, BLOCKS(PIECES * entries), THREADS_OF_ALL, task);
    LAUNCH(add_pieces, BLOCKS(entries), THREADS_OF_ALL, task);
    break;
  default:
#ifdef HAVE_CUBLAS
    cublas_product(factors, &task);
#endif
    break;
  }
}

void
device_cast(float *to, const float *from, size_t n, numbers to_numbers)
{
  each_task task = {to, from, NULL, n, 0, to_numbers};

  LAUNCH(cast_each, BLOCKS(n), THREADS_OF_ALL, task);
}

void
device_gate(float *to, const float *from, const float *where, size_t n)
{
  each_task task = {to, from, where, n, 0, NUMBERS_FLOAT32};

  LAUNCH(gate_each, BLOCKS(n), THREADS_OF_ALL, task);
}

void
device_descend(float *w, const float *g, size_t n, float rate)
{
  each_task task = {w, g, NULL, n, rate, NUMBERS_FLOAT32};

  LAUNCH(descend_each, BLOCKS(n), THREADS_OF_ALL, task);
}

void
device_loss(loss_task task)
{
  LAUNCH(loss_each, BLOCKS(task.n), THREADS_OF_ALL, task);
}

int
device_has_cublas(void)
{
#ifdef HAVE_CUBLAS
  return 1;
#else
  return 0;
#endif
}

/* --- the device --- */

#ifdef __CUDACC__

static int
said(cudaError_t e, const char *what)
{
  if (e == cudaSuccess)
    return 0;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  return -1;
}

float *
device_new(size_t n)
{
  void *p = NULL;

  if (said(cudaMallocManaged(&p, (n + 1) * sizeof(float), cudaMemAttachGlobal), "memory of the GPU") != 0)
    return NULL;
  memset(p, 0, (n + 1) * sizeof(float));
  return (float *)p;
}

void
device_free(float *p)
{
  cudaFree(p);
}

int
device_wait(void)
{
  int launched = said(cudaGetLastError(), "a kernel");

  return said(cudaDeviceSynchronize(), "the GPU") != 0 || launched != 0 ? -1 : 0;
}

const char *
device_type(void)
{
  return "cuda";
}

const char *
device_name(void)
{
  static struct cudaDeviceProp device;

  return said(cudaGetDeviceProperties(&device, 0), "no GPU") == 0 ? device.name : NULL;
}

#else

float *
device_new(size_t n)
{
  return (float *)calloc(n + 1, sizeof(float));
}

void
device_free(float *p)
{
  free(p);
}

int
device_wait(void)
{
  return 0;
}

const char *
device_type(void)
{
  return "cpu";
}

const char *
device_name(void)
{
  return "a CPU: the CUDA kernels of tools/cuda/dense, compiled as C";
}

#endif
