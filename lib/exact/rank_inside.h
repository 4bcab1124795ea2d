/* The first half of the rank: pivots modulo a prime below 2^30, which prove a rank from below and
 * guess it from above. Private to lib/exact. */
#ifndef CLARKE_EXACT_RANK_INSIDE_H
#define CLARKE_EXACT_RANK_INSIDE_H

#include "exact/rank.h"

#define CLARKE_RANK_PRIME 1073741789u

/* Sets r's prime, rank and pivots (nothing else). Rows are looked at only until the rank is full. */
clarke_status clarke_rank_eliminate(clarke_rank *r, const clarke_matrix *a, uint64_t p,
                                    clarke_error *err);

/* When the rank modulo the prime is cols - 1: sets r->null to the one null vector, if it is one.
 * Leaves r->null without columns otherwise. */
clarke_status clarke_rank_only_null(clarke_rank *r, const clarke_matrix *a, clarke_error *err);

#endif
