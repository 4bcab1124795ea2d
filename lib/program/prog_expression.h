/* Expressions lowered. */
#ifndef CLARKE_PROGRAM_PROG_EXPRESSION_H
#define CLARKE_PROGRAM_PROG_EXPRESSION_H

#include "program/prog_lower.h"

/* The value of an expression, which the caller clears. */
clarke_status clarke_prog_value_of(prog_value *v, prog_lowering *low, uint32_t node);
/* The node's value must be a scalar; what names it in the message. */
clarke_status clarke_prog_scalar_of(prog_scalar *s, prog_lowering *low, uint32_t node,
                                    const char *what);
/* The same, and a constant: copied to value. */
clarke_status clarke_prog_constant_of(mpq_t value, prog_lowering *low, uint32_t node,
                                      const char *what);
/* a OPERATOR b, entry by entry; at: the operator's place. */
clarke_status clarke_prog_apply(prog_value *out, prog_lowering *low, char operator,
                                const prog_value *a, const prog_value *b, size_t at);
/* The sum of n instructions: one instruction, of a single one itself. */
clarke_status clarke_prog_sum(prog_scalar *sum, prog_lowering *low, const size_t *in, size_t n,
                              size_t at);

#endif
