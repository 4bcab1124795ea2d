/* The function of a proof: a program; or a network as one, with an instruction for each entry of its steps, of one sample
 * (docs/proof-format.md, "Regions"). */
#ifndef CLARKE_KERNEL_UNROLL_H
#define CLARKE_KERNEL_UNROLL_H

#include "check/onnx/operators.h"
#include "check/program/program.h"

/* Behind the keyword, `NAME HASH`: the file in that folder, a network's of those operators, or with NULL a program's. Says on the account what is read.
 *
 * A network's first input has the name of the model's, as proofs write it. What is no sum, piecewise function or maximum is
 * refused. Where the line `wrt` is next, the parameters that it names are inputs too, in the order of the file, at their stored
 * values; and products of two entries are taken. Is it so? */
bool read_function(program *p, const char *folder, const operator_set *operators);

#endif
