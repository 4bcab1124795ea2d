/* What is read of files, as text. */
#ifndef CLARKE_KERNEL_SHOW_H
#define CLARKE_KERNEL_SHOW_H

#include "check/base/session.h"

/* Prints what was read of the model and the batch (NULL: none), which must fit it. */
void clarke_show(const char *model_path, const char *batch_path);
/* The same, and then the value of each node's output, of whole tensors: the batch among their axes, as ONNX has it. */
void clarke_show_values(const char *model_path, const char *batch_path);

#endif
