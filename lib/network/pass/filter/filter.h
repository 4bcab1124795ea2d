/* The steps of a filter, a kind each. */
#ifndef CLARKE_NETWORK_PASS_FILTER_FILTER_H
#define CLARKE_NETWORK_PASS_FILTER_FILTER_H

#include "network/pass/filter/enclosure.h"

/* A step of each kind: f->value[s->out] is made of the operands' enclosures, which are known. */
clarke_status clarke_filter_gather(clarke_filter *f, const clarke_step *s);
clarke_status clarke_filter_sum(clarke_filter *f, const clarke_step *s);
clarke_status clarke_filter_scale(clarke_filter *f, const clarke_step *s);
clarke_status clarke_filter_dense(clarke_filter *f, const clarke_step *s);
/* In a fine pass: y, whose room is there, from an operand that may be a deferred GATHER's. */
clarke_status clarke_filter_dense_fine(clarke_filter *f, const clarke_step *s, clarke_enclosure *y);
clarke_status clarke_filter_product(clarke_filter *f, const clarke_step *s);
/* Nothing becomes known behind a function that has a domain. */
clarke_status clarke_filter_analytic(clarke_filter *f, const clarke_step *s);
clarke_status clarke_filter_normalize(clarke_filter *f, const clarke_step *s);
/* With kinks: the step's places (entries, feature-major), which are all open, are filled, and *f->open grows by the entries left
 * open; its ties, of each sample, by the windows that are decided because their largest entries are identical. */
clarke_status clarke_filter_piecewise(clarke_filter *f, const clarke_step *s);
clarke_status clarke_filter_max(clarke_filter *f, const clarke_step *s);

#endif
