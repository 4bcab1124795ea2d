/* The loss that a model's own last nodes are. */
#ifndef CLARKE_KERNEL_TAIL_H
#define CLARKE_KERNEL_TAIL_H

#include "check/files/onnx.h"
#include "check/kernel/steps.h"

/* docs/operators.md, "Losses in the graph". An input of the model that is no initializer is x, or the loss's. */
tail tail_of(const model *m);

#endif
