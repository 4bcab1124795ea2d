/* Functions called. */
#ifndef CLARKE_PROGRAM_PROG_CALL_H
#define CLARKE_PROGRAM_PROG_CALL_H

#include "program/prog_lower.h"

/* The value of a call. Names that are unknown, and arguments that do not fit, are errors at their place. */
clarke_status clarke_prog_call(prog_value *v, prog_lowering *low, uint32_t node);

/* Names of all functions of the language in turn, NULL past the end. */
const char *clarke_prog_function_name(size_t i);

#endif
