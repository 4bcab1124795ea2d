/* Archives of NumPy arrays. */
#ifndef CLARKE_FORMAT_NPZ_H
#define CLARKE_FORMAT_NPZ_H

#include "format/tensors.h"

/* Members NAME.npy become tensors NAME. *stored: were all members stored uncompressed? */
clarke_status clarke_npz_parse(clarke_tensors *ts, bool *stored, const void *data, size_t size,
                               const char *file, clarke_error *err);
/* Either, by the ending of the file's name: an .npy is one array, named after the file, and stored. */
clarke_status clarke_arrays_parse(clarke_tensors *ts, bool *stored, const void *data, size_t size, const char *file,
                                  clarke_error *err);

#endif
