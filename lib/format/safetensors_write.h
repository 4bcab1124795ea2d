/* Tensors written as safetensors. */
#ifndef CLARKE_FORMAT_SAFETENSORS_WRITE_H
#define CLARKE_FORMAT_SAFETENSORS_WRITE_H

#include "format/tensors.h"

#include <jansson.h>

/* Writes float64 tensors as safetensors: to a temporary file beside path, then renamed. metadata: an object of texts, or NULL. */
clarke_status clarke_safetensors_write(const char *path, const clarke_tensors *ts, json_t *metadata, clarke_error *err);

#endif
