/* From the model's nodes to steps. */
#ifndef CLARKE_KERNEL_NETWORK_H
#define CLARKE_KERNEL_NETWORK_H

#include "check/files/onnx.h"
#include "check/files/tensor_files.h"
#include "check/kernel/steps.h"

void network_build(network *net, const model *m, const arrays *given);
extern const char *const readings[N_READINGS]; /* in words */

#endif
