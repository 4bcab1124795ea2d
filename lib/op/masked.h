/* Entries that are minus infinity: an attention's mask. Exactly nothing is left of them behind a Softmax. */
#ifndef CLARKE_OP_MASKED_H
#define CLARKE_OP_MASKED_H

#include "op/operator.h"

/* Operand i of the step, a SUM that is the node's last, is a constant with infinite numbers. Where it is minus infinity the
 * step's output is, which no step then reads: it is left out, and marked. The other entries become a constant of their own,
 * which no parameter moves. Fails at what is infinity or NaN. */
clarke_status clarke_lower_exclude(clarke_lowering *low, clarke_step *s, size_t i, clarke_error *err);

/* The softmax of input 0, some entries of which are marked, in lines of `length` entries, `stride` apart: of the others of each
 * line, and 0 at those. A line without others is NaN, and marked so; but within an Attention, which has zeros there. */
clarke_status clarke_lower_masked_softmax(clarke_lowering *low, size_t length, size_t stride, clarke_error *err);

#endif
