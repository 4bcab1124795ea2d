/* From directions to assignments, and back. */
#ifndef CLARKE_SAT_DECODE_H
#define CLARKE_SAT_DECODE_H

#include "sat/three.h"

#include <gmp.h>

/* F(d), of the formula's network at a direction with an entry for each variable of t: the least over all clauses of relu of
 * the largest of its literals. */
void clarke_three_value(mpq_t value, const clarke_three *t, mpq_t *d);

/* The assignment that d is: a variable is true where its entry is positive. Where F(d) > 0 it satisfies t, for every clause
 * has a literal that is positive at d (thesis, section 2.9.3); so the formula's own variables satisfy the formula. */
void clarke_direction_assignment(bool *value, const clarke_three *t, mpq_t *d);

#endif
