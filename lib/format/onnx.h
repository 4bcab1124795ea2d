/* ONNX models. */
#ifndef CLARKE_FORMAT_ONNX_H
#define CLARKE_FORMAT_ONNX_H

#include "op/model.h"

/* Reads a model; one with external data is refused. file: its name, for messages. */
clarke_status clarke_onnx_parse(clarke_model *m, const void *data, size_t size, const char *file,
                                clarke_error *err);
/* The same of the file that lies at `path`, whose base name is used in messages: initializers with
 * external data are read from its folder. */
clarke_status clarke_onnx_parse_at(clarke_model *m, const void *data, size_t size,
                                   const char *path, clarke_error *err);
/* The same of a recorded step's graph, which lies in its run folder. If clarke.record wrote it, values may have the types that the
 * framework gave them, in any mixture: what was recorded says them. */
clarke_status clarke_onnx_parse_step(clarke_model *m, const void *data, size_t size, const char *path, clarke_error *err);

#endif
