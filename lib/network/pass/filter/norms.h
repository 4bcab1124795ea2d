/* Norms of errors (docs/filter.md, "Norms"). */
#ifndef CLARKE_NETWORK_PASS_FILTER_NORMS_H
#define CLARKE_NETWORK_PASS_FILTER_NORMS_H

#include "network/pass/filter/enclosure.h"

/* y's norms, where there are some (nothing is done elsewhere). By its rows and columns alone: */
void clarke_norms_of_rows(const clarke_filter *f, clarke_enclosure *y);
/* of a GATHER, SUM, SCALE or MAX, by those of its operands; rounding: NULL, or by sample what an entry is rounded by */
void clarke_norms_of_step(const clarke_filter *f, const clarke_step *s, clarke_enclosure *y, const double *rounding);
/* of pieces that are nowhere steeper */
void clarke_norms_of_pieces(const clarke_filter *f, const clarke_step *s, clarke_enclosure *y, double steepest,
                            const double *rounding);
/* of a product, an entry of which is rounded by gamma |w| |x|; by sample the largest norm of a column of its argument, and
 * the norm of all of them. */
void clarke_norms_of_product(const clarke_filter *f, const clarke_step *s, clarke_enclosure *y, double gamma,
                             const double *largest, const double *all);

#endif
