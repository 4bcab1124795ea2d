/* On which piece an argument lies, and which entry is a window's largest. */
#ifndef CLARKE_KERNEL_PLACE_H
#define CLARKE_KERNEL_PLACE_H

#include "check/kernel/point.h"

/* The place of entry e of a PIECEWISE step: its piece; or TOUCHED + that left of the kink, which is then noted. */
size_t locate(point *p, size_t s, size_t e);
/* The value of what entry e reads from x is c / 2^digits: it is kept, unless there is one. */
void note_value(const point *p, source x, size_t e, const integer *c, unsigned long digits);
/* What entry e of a FUNCTION step reads lies in the function's domain, or the check ends. */
void expect_domain(const point *p, size_t s, size_t e);
/* Finds the places of all entries, and the touched kinks: by the network's near values, or by exact ones where it has none. */
void point_evaluate(point *p);

#endif
