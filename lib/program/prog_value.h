/* What expressions stand for, as they are lowered. */
#ifndef CLARKE_PROGRAM_PROG_VALUE_H
#define CLARKE_PROGRAM_PROG_VALUE_H

#include "program/prog_lower.h"

const clarke_prog_node *clarke_prog_node_at(const prog_lowering *low, uint32_t node); /* the node of that number */
prog_scalar clarke_prog_entry(const prog_value *v, size_t i); /* a scalar's entries are all itself */
void clarke_prog_value_clear(prog_value *v);
/* Counts n more entries of vectors, of one vector. */
clarke_status clarke_prog_count(prog_lowering *low, size_t n, size_t at);
/* A vector of n entries yet to be set. */
clarke_status clarke_prog_vector(prog_value *v, prog_lowering *low, size_t n, size_t at);
/* *out: a vector of n entries or, when `vector` is false, a scalar. */
clarke_status clarke_prog_result(prog_value *out, prog_lowering *low, bool vector, size_t n,
                                 size_t at);
void clarke_prog_set(prog_value *v, size_t i, prog_scalar s);

/* The constant of a scalar that is one. */
mpq_t *clarke_prog_constant(const prog_lowering *low, prog_scalar s);
/* Counts the limbs of one more constant that is kept or computed with. */
clarke_status clarke_prog_charge(prog_lowering *low, const mpq_t value, size_t at);
/* Puts a copy of value in the pool. */
clarke_status clarke_prog_new_constant(prog_scalar *s, prog_lowering *low, const mpq_t value,
                                       size_t at);
/* Fails when so many more instructions or arguments are past the program's limits. */
clarke_status clarke_prog_room(prog_lowering *low, size_t instructions, size_t arguments,
                               size_t at);
/* The scalar's instruction; a constant becomes one. */
clarke_status clarke_prog_solid(size_t *instruction, prog_lowering *low, prog_scalar s, size_t at);
/* The last instruction added comes from this place: as a scalar. */
prog_scalar clarke_prog_added(prog_lowering *low, size_t at);
/* The status of adding an instruction, its message given a place. */
clarke_status clarke_prog_add_status(prog_lowering *low, clarke_status status,
                                     const clarke_error *err, size_t at);

#endif
