/* Vectors lowered. */
#ifndef CLARKE_PROGRAM_PROG_VECTOR_H
#define CLARKE_PROGRAM_PROG_VECTOR_H

#include "program/prog_lower.h"

/* An entry or a slice of a vector, as the node says. (clarke_prog_join: prog_lower.h.) */
clarke_status clarke_prog_part(prog_value *v, prog_lowering *low, const clarke_prog_node *node);

/* The entries of a list of nodes, vectors joined. */
clarke_status clarke_prog_join(prog_value *v, prog_lowering *low, uint32_t child);

#endif
