/* From the model's nodes to steps. */
#ifndef CLARKE_KERNEL_NETWORK_H
#define CLARKE_KERNEL_NETWORK_H

#include "check/files/onnx.h"
#include "check/files/tensor_files.h"
#include "check/kernel/steps.h"

/* Makes the steps of a model with these parameters given beside it; what it does not take is refused. */
void network_build(network *net, const model *m, const arrays *given);
extern const char *const readings[N_READINGS]; /* in words */

#endif
