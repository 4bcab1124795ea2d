/* What the library reads of models and batches, in one text that others' readings are compared with. */
#ifndef CLARKE_TESTS_INTEROP_READING_H
#define CLARKE_TESTS_INTEROP_READING_H

#include <stdio.h> /* before gmp.h, for its printing */

#include "network/graph/graph.h"
#include "format/file.h"
#include "format/tensors.h"

/* Prints nothing unless all is accepted; with values also what each node gives, as `clarke-check --values`. */
clarke_status reading_show(FILE *out, const clarke_file *model, const char *model_path, const clarke_file *batch,
                           const char *batch_path, bool values, clarke_error *err);

/* An .npy as one array called x, or a stored .npz, which must hold x and may hold y besides. ts must be initialized. */
clarke_status reading_batch(clarke_tensors *ts, const clarke_file *f, const char *path, clarke_error *err);

#endif
