/* Arrays of the device as files: safetensors and .npz. */
#ifndef CLARKE_CUDA_DENSE_TENSORS_H
#define CLARKE_CUDA_DENSE_TENSORS_H

#include "kernels.h"

#include "base/status.h"

#define MOST_TENSORS 80

typedef struct {
  char name[64];
  const float *at;
  numbers type; /* NUMBERS_TF32 as NUMBERS_FLOAT32 */
  size_t rank, dims[2];
} tensor;

typedef struct {
  size_t n;
  tensor tensor[MOST_TENSORS];
} tensor_list;

/* cols 0: a vector. More than MOST_TENSORS are an error of the program's. */
void tensor_add(tensor_list *l, const char *name, const float *at, numbers type, size_t rows, size_t cols);

size_t tensor_entries(const tensor *t);

/* Are all numbers finite? */
clarke_status tensors_check(const tensor_list *l, clarke_error *err);

/* Numbers in half precision, which the floats must hold, take two bytes. */
clarke_status tensors_write(const char *path, const tensor_list *l, clarke_error *err);

/* x (rows x cols, float32) and y (rows, int64). */
clarke_status batch_write(const char *path, const float *x, const float *y, size_t rows, size_t cols, clarke_error *err);

#endif
