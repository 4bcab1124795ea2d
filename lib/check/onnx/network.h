/* From the model's nodes to steps. */
#ifndef CLARKE_KERNEL_NETWORK_H
#define CLARKE_KERNEL_NETWORK_H

#include "check/kernel/steps.h"
#include "check/files/tensor_files.h"

void network_build(network *net, const model *m, const arrays *given);
/* Operator i of the table, sorted by name, and its number of kinks; NULL past the end. */
const char *network_operator(size_t i, size_t *kinks);
extern const char *const readings[N_READINGS]; /* in words */
const char *step_operator(const step *st);     /* whose kinks the step has: its node's, but Relu's in an RNN */
/* The name that profiles have for an operator of the model: of Max and Min, which are others in programs, Maximum and Minimum. */
const char *network_rule(const char *op);

#endif
