/* Models written as ONNX. */
#ifndef CLARKE_FORMAT_ONNX_WRITE_H
#define CLARKE_FORMAT_ONNX_WRITE_H

#include "op/model.h"

#include <stdio.h>

/* Writes a model as ONNX: float32 initializers, inputs and outputs (inputs may be int64), attributes that are whole numbers. The same model gives
 * the same bytes; the graph's name is m->file. Whoever closes `out` learns whether the writes succeeded. */
clarke_status clarke_onnx_write(FILE *out, const clarke_model *m, clarke_error *err);

#endif
