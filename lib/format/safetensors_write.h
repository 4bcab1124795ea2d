/* Tensors written as safetensors. */
#ifndef CLARKE_FORMAT_SAFETENSORS_WRITE_H
#define CLARKE_FORMAT_SAFETENSORS_WRITE_H

#include "format/tensors.h"

/* Writes float64 tensors as safetensors: to a temporary file beside path, then renamed. */
clarke_status clarke_safetensors_write(const char *path, const clarke_tensors *ts,
                                       clarke_error *err);

#endif
