/* Polynomials of cells in fixed point. */
#ifndef CLARKE_NETWORK_PASS_SERIES_WORDS_H
#define CLARKE_NETWORK_PASS_SERIES_WORDS_H

#include "network/pass/series/cell.h"

/* The polynomial at t, c->limbs words behind the point, of that sign, by Horner's rule: y has a word more, in two's complement. */
void clarke_ball_cell_evaluate(mp_limb_t *y, const clarke_ball_cell *c, const mp_limb_t *t, bool negative);

/* The function at entry e of x, whose denominator is one word: limbs + 1 words in two's complement, `limbs` of them behind the point, and what they are
 * off by. False: as for a ball. limbs: as cells have them. */
bool clarke_series_words(uint64_t *y, double *radius, clarke_kept *kept, clarke_function function, const clarke_matrix *x, size_t e, size_t limbs);

#endif
