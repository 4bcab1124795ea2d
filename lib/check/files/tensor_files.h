/* Files of tensors. */
#ifndef CLARKE_KERNEL_TENSOR_FILES_H
#define CLARKE_KERNEL_TENSOR_FILES_H

#include "check/base/name_index.h"
#include "check/files/tensors.h"

/* Reads an .npy (one tensor, named x), a stored .npz or a safetensors file. Their names are put into an empty index, by their
 * numbers, or none is (NULL). */
tensor *tensors_read(bytes file, size_t *n, name_index *names);
/* Likewise; those of a safetensors file stay packed. */
tensor *tensors_hold(bytes file, size_t *n, name_index *names);
/* A batch: x, y (the target) or NULL, and arrays by the names of further inputs, all of them among the array. */
typedef struct {
  tensor *array;
  size_t n;
  name_index names;
  const tensor *x, *y;
  bool whole; /* each sample is a whole input, which has no batch axis */
} arrays;
arrays batch_read(bytes file);                              /* an .npy or .npz */
tensor *array_named(const arrays *batch, const char *name); /* or NULL */

#endif
