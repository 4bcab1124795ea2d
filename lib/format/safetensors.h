/* Safetensors files. */
#ifndef CLARKE_FORMAT_SAFETENSORS_H
#define CLARKE_FORMAT_SAFETENSORS_H

#include "format/tensors.h"

/* Reads all tensors of a file. file: its name, for messages. */
clarke_status clarke_safetensors_parse(clarke_tensors *ts, const void *data, size_t size,
                                       const char *file, clarke_error *err);
/* The same, but float32 tensors stay packed (exact/tensor.h): data must outlive them, and is theirs. */
clarke_status clarke_safetensors_parse_packed(clarke_tensors *ts, const void *data, size_t size, const char *file, clarke_error *err);

#endif
