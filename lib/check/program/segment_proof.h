/* Proofs about a function along a segment. */
#ifndef CLARKE_KERNEL_SEGMENT_PROOF_H
#define CLARKE_KERNEL_SEGMENT_PROOF_H

#include "check/program/program.h"

/* Of a program as region_function_read takes it: the lines behind its file, and the statement written. */
void check_segment(program *of, bool parameters);

#endif
