/* The sums of LINEAR steps in doubles (record_filter.h), as products of matrices: many at a time. */
#ifndef CLARKE_CHECK_RECORD_PRODUCT_H
#define CLARKE_CHECK_RECORD_PRODUCT_H

#include "check/record/record.h"
#include "check/record/record_filter.h"

/* Does each term have a weight, with 1 or -1, and are there so many that it pays? */
bool product_fits(const record *r, const step *st);
/* The sums of its features: entry f * batch + b. */
filter *product_forward(const record *r, const step *st);
/* What gradients t of its output w hand back: to feature f of step s, entry f * batch + b; to term i of factors' row j, entry j * width + i,
 * over all samples, the coefficient being taken for 1. */
filter *product_inputs(const record *r, const step *st, const graph_value *w, const tensor *t, size_t s);
filter *product_weights(const record *r, const step *st, const graph_value *w, const tensor *t);

#endif
