/* Order statistics lowered. */
#ifndef CLARKE_PROGRAM_PROG_ORDER_H
#define CLARKE_PROGRAM_PROG_ORDER_H

#include "program/prog_proxy.h"

/* The rank-th largest entry of the list, whose instructions are in; for rank 0 all, from the smallest. */
clarke_status clarke_prog_order(prog_value *v, prog_lowering *low, const prog_call *c, const clarke_op *op, size_t rank,
                                const prog_value *list, const size_t *in);

#endif
