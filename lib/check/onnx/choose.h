/* The line `output`: which of a model's outputs a proof is about. */
#ifndef CLARKE_KERNEL_CHOOSE_H
#define CLARKE_KERNEL_CHOOSE_H

#include "check/files/onnx.h"

/* Reads the line, if it is next, and leaves the model that output and the nodes that it is computed from; initializers that none
 * of these reads are marked. Without the line nothing changes. */
void read_output(model *m);

#endif
