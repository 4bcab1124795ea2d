/* NumPy's files, and batches, which are such. */
#ifndef CLARKE_FILES_ARRAYS_H
#define CLARKE_FILES_ARRAYS_H

#include "check/base/name_index.h"
#include "check/files/tensors.h"

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

/* ---- For files of tensors of any format */

bool is_of_arrays(bytes file);                                   /* is it such a file? */
tensor *arrays_read(bytes file, size_t *n);                      /* an .npy (one tensor, named x) or a stored .npz */
void tensors_name(const tensor *t, size_t n, name_index *names); /* puts their names into an empty index */
/* The type that has that name in .npy (format 0) or safetensors (1); 0, which is unsupported, when there is none. */
size_t type_named(const char *name, int format);

#endif
