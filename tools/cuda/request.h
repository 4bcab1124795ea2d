/* What mma is asked for on its command line. */
#ifndef CLARKE_CUDA_REQUEST_H
#define CLARKE_CUDA_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Products of one instruction: of a million the host holds a third of a GiB, and the GPU as much. */
#define REQUEST_MOST ((size_t)1000000)

typedef struct {
  const char *out, *only; /* only: one set of instructions; NULL: all that the GPU has */
  size_t n;
  uint64_t seed;
} mma_request;

/* Reads it; sets has the n_sets names that --only may say, some of them twice. Returns 0, or -1 after a message on standard error. */
int mma_request_read(mma_request *r, int argc, char *const *argv, const char *const *sets, size_t n_sets);

#ifdef __cplusplus
}
#endif

#endif
