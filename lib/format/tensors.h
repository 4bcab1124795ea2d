/* Named tensors, as in a safetensors or .npz file. */
#ifndef CLARKE_FORMAT_TENSORS_H
#define CLARKE_FORMAT_TENSORS_H

#include "exact/tensor.h"

/* Named tensors, as in a safetensors or .npz file. */
typedef struct {
  size_t n;
  clarke_tensor *tensor;
} clarke_tensors;

void clarke_tensors_init(clarke_tensors *ts);
void clarke_tensors_clear(clarke_tensors *ts);
/* Decodes all that are packed. */
clarke_status clarke_tensors_unpack(clarke_tensors *ts, clarke_error *err);
const clarke_tensor *clarke_tensors_find(const clarke_tensors *ts, const char *name);

/* --- for the readers of files that hold many --- */

/* Makes room for n initialized tensors in an empty collection. */
clarke_status clarke_tensors_alloc(clarke_tensors *ts, size_t n, clarke_error *err);

/* Sorts by name (bytes), which makes the order independent of the file's; refuses two tensors of
 * one name. Every tensor has a name. */
clarke_status clarke_tensors_sort(clarke_tensors *ts, clarke_error *err);

#endif
