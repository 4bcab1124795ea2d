/* Proofs about a function along a segment. */
#ifndef CLARKE_KERNEL_SEGMENT_PROOF_H
#define CLARKE_KERNEL_SEGMENT_PROOF_H

#include "check/program/program.h"

/* Checks what is said of a segment for a program, as region_function_read takes it: reads the lines behind its file, and
 * writes the statement. */
void check_segment(program *of, bool parameters);

#endif
