/* The header of an .npy array, apart from its data: what an archive's reader must know before it
 * allocates room for the rest. */
#ifndef CLARKE_FORMAT_NPY_H
#define CLARKE_FORMAT_NPY_H

#include "format/extent.h"
#include "format/tensors.h"

/* No longer header is read, here or by NumPy; one of a supported array has fewer than 300 bytes. */
#define CLARKE_NPY_MAX_HEADER 10000
/* A buffer this long holds every header that is read, with the magic and lengths before it. */
#define CLARKE_NPY_MAX_START (CLARKE_NPY_MAX_HEADER + 12)

typedef struct {
  clarke_dtype dtype;
  bool big_endian, fortran_order;
  size_t rank, dims[CLARKE_MAX_RANK];
  clarke_extent extent;
  size_t start; /* where the data begins */
} clarke_npy_header;

/* Reads the header at the start of an array of `total` bytes, of which the first `size` are at
 * data, and checks that the rest is just what the shape asks for. */
clarke_status clarke_npy_read_header(clarke_npy_header *h, const void *data, size_t size,
                                     size_t total, clarke_error *err);

/* Fills t (initialized) with the entries, in row-major order, from the bytes at h->start. */
clarke_status clarke_npy_read_data(clarke_tensor *t, const clarke_npy_header *h, const char *name,
                                   const void *entries, clarke_error *err);

/* A whole .npy file, whose header and data are read as above; file: its name, for messages. */
clarke_status clarke_npy_parse(clarke_tensor *t, const void *data, size_t size, const char *file,
                               clarke_error *err);

#endif
