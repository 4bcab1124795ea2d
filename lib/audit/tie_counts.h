/* What is counted of a layer's windows with several largest entries: S_j and T_j of Park, Chun and Lee's Algorithms 1 and 2. */
#ifndef CLARKE_AUDIT_TIE_COUNTS_H
#define CLARKE_AUDIT_TIE_COUNTS_H

#include "audit/audit.h"

/* Sets ties, parted and by_identity; and zeros_known and ties_of_zeros, of a function whose windows may hold zeros alone. */
void clarke_layer_count_ties(clarke_layer *layer, const clarke_question *q);

/* Sets by_derivative of the layers, where it is known: not where an enclosure leaves a derivative open, where AD takes no single entry of
 * a tied window, or where the work would be too much. */
clarke_status clarke_audit_count_derivatives(clarke_audit *a, const clarke_question *q, clarke_error *err);

#endif
