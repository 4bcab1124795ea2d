/* Proofs about the patterns around a point, of a function that is polynomial on pieces. */
#ifndef CLARKE_KERNEL_PATTERN_PROOF_H
#define CLARKE_KERNEL_PATTERN_PROOF_H

#include "check/program/program.h"

/* Checks the patterns of a program, as region_function_read takes it: reads the lines behind its file, and writes the
 * statement. */
void check_patterns(program *of, bool parameters);

#endif
