/* Products by cuBLAS (kernels.h). Compiled where nvcc finds its header. */
#include "kernels.h"

#include "../narrow.h"

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdio.h>
#include <stdlib.h>

static void
must(int status, const char *what)
{
  if (status == 0)
    return;
  fprintf(stderr, "cuBLAS: %s: status %d\n", what, status);
  exit(2);
}

/* The factors packed, row-major, in 16 bits or 32. */
static __global__ void
pack(void *to, const float *from, size_t rows, size_t cols, size_t by_row, size_t by_col, numbers type)
{
  const size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (e >= rows * cols)
    return;
  const float x = from[e / cols * by_row + e % cols * by_col];
  if (type == NUMBERS_FLOAT16)
    ((uint16_t *)to)[e] = narrow_float16(__float_as_uint(x));
  else if (type == NUMBERS_BFLOAT16)
    ((uint16_t *)to)[e] = narrow_bfloat16(__float_as_uint(x));
  else
    ((float *)to)[e] = x;
}

static __global__ void
finish(product_task task)
{
  const size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (e >= task.rows * task.cols)
    return;
  float x = task.c[e];
  if (task.bias != NULL)
    x = x + task.bias[e % task.cols];
  if (task.result == NUMBERS_FLOAT16)
    x = __uint_as_float(widen_float16(narrow_float16(__float_as_uint(x))));
  else if (task.result == NUMBERS_BFLOAT16)
    x = __uint_as_float(widen_bfloat16(narrow_bfloat16(__float_as_uint(x))));
  task.c[e] = x;
}

static void
packed(void **to, const float *from, size_t rows, size_t cols, size_t by_row, size_t by_col, numbers type)
{
  must(cudaMalloc(to, rows * cols * sizeof(float)), "memory of the GPU");
  pack<<<(unsigned)((rows * cols + 127) / 128), 128>>>(*to, from, rows, cols, by_row, by_col, type);
  must(cudaGetLastError(), "the factors' kernel was not launched");
}

void
cublas_product(numbers factors, const product_task *task)
{
  static cublasHandle_t handle;
  const float one = 1, zero = 0;
  const cudaDataType_t type = factors == NUMBERS_FLOAT16 ? CUDA_R_16F : factors == NUMBERS_BFLOAT16 ? CUDA_R_16BF : CUDA_R_32F;
  const cublasComputeType_t compute = factors == NUMBERS_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const size_t entries = task->rows * task->cols;
  void *a, *b;

  if (handle == NULL) {
    must(cublasCreate(&handle), "beginning");
    must(cublasSetMathMode(handle, factors == NUMBERS_FLOAT32 ? CUBLAS_PEDANTIC_MATH : CUBLAS_DEFAULT_MATH), "its mode");
  }
  packed(&a, task->a, task->rows, task->inner, task->ai, task->ak, factors);
  packed(&b, task->b, task->inner, task->cols, task->bk, task->bj, factors);
  /* row-major c = a b is column-major c' = b' a' */
  must(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)task->cols, (int)task->rows, (int)task->inner, &one, b, type, (int)task->cols,
                    a, type, (int)task->inner, &zero, task->c, CUDA_R_32F, (int)task->cols, compute, CUBLAS_GEMM_DEFAULT),
       "a product");
  finish<<<(unsigned)((entries + 127) / 128), 128>>>(*task);
  must(cudaGetLastError(), "the result's kernel was not launched");
  must(cudaDeviceSynchronize(), "a product");
  must(cudaFree(a), "memory of the GPU");
  must(cudaFree(b), "memory of the GPU");
}
