/* Theorem 4 of the thesis: p directional derivatives cost as much as a product of matrices.
 *
 * F(x, B, M) = (1/p) sum |U B^T M x| with entries of U 1 or -1 and U^T U = p I; such a U is known here for p a power of 2 (Sylvester).
 * From p derivatives of F in directions a_i the product B A^T follows, so the ratio of their costs is at least
 * (c(p) - 5 p) / (5 cost(P_F)), where c(p) is the least cost of a product of p x p matrices. */
#ifndef CLARKE_COST_DIRECTIONS_H
#define CLARKE_COST_DIRECTIONS_H

#include "base/status.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>

/* cost(P_F) = 6 p^2 + 2 p; the naive product's 2 p^3 - p^2. */
void clarke_directions_cost(mpz_t cost, size_t p);
void clarke_product_naive(mpz_t cost, size_t p);

/* By seven products of halves and so many additions of blocks (18: Strassen; 15: Winograd), p a power of 2 times what the naive product
 * is left with: p is halved while it is even and above the cut-off. */
void clarke_product_by_seven(mpz_t cost, size_t p, size_t additions, size_t cutoff);

/* (c - 5 p) / (5 cost(P_F)), and (2.7)'s (c - 5 p) / (40 p^2), which is smaller. */
void clarke_directions_ratio(mpq_t ratio, mpq_t stated, const mpz_t c, size_t p);

/* Is there a matrix of 1 and -1 with U^T U = p I? For p up to 2 and powers of 2 yes; for other p that 4 does not divide no (three rows
 * that are orthogonal need it). Else it is not said. */
typedef enum { CLARKE_SIGNS_NONE, CLARKE_SIGNS_SYLVESTER, CLARKE_SIGNS_NOT_SAID } clarke_signs;
clarke_signs clarke_orthogonal_signs(size_t p);
/* Entry of Sylvester's. */
int clarke_sylvester(size_t i, size_t j);

#endif
