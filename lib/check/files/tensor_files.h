/* Files of tensors. */
#ifndef CLARKE_KERNEL_TENSOR_FILES_H
#define CLARKE_KERNEL_TENSOR_FILES_H

#include "check/files/arrays.h"

/* Reads an .npy (one tensor, named x), a stored .npz or a safetensors file. Their names are put into an empty index, by their
 * numbers, or none is (NULL). */
tensor *tensors_read(bytes file, size_t *n, name_index *names);
/* Likewise; those of a safetensors file stay packed. */
tensor *tensors_hold(bytes file, size_t *n, name_index *names);

#endif
