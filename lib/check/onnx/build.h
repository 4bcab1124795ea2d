/* From a model's nodes to steps. */
#ifndef CLARKE_KERNEL_BUILD_H
#define CLARKE_KERNEL_BUILD_H

#include "check/files/onnx.h"
#include "check/files/arrays.h"
#include "check/kernel/steps.h"

struct operator_set;

/* Makes the steps of a model with these parameters given beside it; what it does not take is refused. */
void network_build(network *net, const model *m, const arrays *given, const struct operator_set *of);
extern const char *const readings[N_READINGS]; /* in words */

#endif
