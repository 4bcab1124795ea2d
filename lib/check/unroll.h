/* A network as a program: one instruction for each entry of its steps, of one sample (docs/proof-format.md, "Regions"). */
#ifndef CLARKE_KERNEL_UNROLL_H
#define CLARKE_KERNEL_UNROLL_H

#include "check/files/onnx.h"
#include "check/program/program.h"

/* The program's first input has the name of the model's, as proofs write it. What is no sum, piecewise function or maximum is
 * refused. Says on the account what is read of the model.
 *
 * Where the line `wrt` is next, the parameters that it names are inputs too, in the order of the file, at their stored values; and
 * products of two entries are taken. Is it so? */
bool unroll_network(program *p, bytes file);

#endif
