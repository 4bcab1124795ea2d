/* The function of a proof about regions or a segment: a program, or a network as one. */
#ifndef CLARKE_KERNEL_REGION_FUNCTION_H
#define CLARKE_KERNEL_REGION_FUNCTION_H

#include "check/program/program.h"

typedef enum { VARIES_INPUT, VARIES_NAMED, VARIES_PARAMETERS } what_varies;

/* Takes a program that was read, whose inputs but the first are parameters that vary, or are not, and reads the lines `wrt
 * NAME ...` (not of parameters) and `held V ...`, if they follow. Then what is not named is held, and the program's inputs
 * are those named alone. Returns the number of entries of all inputs. */
size_t region_function_read(program *p, bool parameters, what_varies *varies);

/* Entry e of all inputs, in their order. */
instruction *region_function_entry(program *p, size_t e);

/* After `at`: a value for each entry, or, of parameters, `stored`. Entry k is then the k-th that varies. Returns how many. */
size_t region_function_read_point(program *p, what_varies varies);

#endif
