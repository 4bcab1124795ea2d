/* A folder of recorded products, as `clarke certify --mma` reads it. */
#ifndef CLARKE_CUDA_RECORD_H
#define CLARKE_CUDA_RECORD_H

#include "products.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RECORD_NAME 64 /* characters of a GPU's name in names of files, its NUL too */

/* "H100" of "NVIDIA H100 80GB HBM3", "RTX4090" of "NVIDIA GeForce RTX 4090": the model as the device itself states it. */
void record_gpu_name(char to[RECORD_NAME], const char *device);

/* What one instruction computed. */
typedef struct {
  const char *instruction; /* in PTX; NULL: none */
  const uint32_t *d;       /* results, as bits of float32 numbers */
} record_results;

/* Writes FOLDER/a_GPU_FORMAT.txt and its companions, and FOLDER/instruction.txt with the comment; makes the folder. Returns 0, or
 * -1 after a message on standard error. */
int record_write(const char *folder, const char *gpu, const number_format *f, int k, size_t n, const product *p,
                 const record_results *fp32, const record_results *fp16, const char *comment);

#ifdef __cplusplus
}
#endif

#endif
