/* A network as a program: one instruction for each entry of its steps, of one sample (docs/proof-format.md, "Regions"). */
#ifndef CLARKE_KERNEL_UNROLL_H
#define CLARKE_KERNEL_UNROLL_H

#include "onnx.h"
#include "program.h"

/* The program's one input has the name of the model's, as proofs write it. What is no sum, piecewise function or maximum is refused. Says on the account what is
 * read of the model. */
void unroll_network(program *p, bytes file);

#endif
