/* Steps whose entries depend on those of a whole line: softmax; and normalizations (docs/operators.md,
 * "Normalizations"). */
#ifndef CLARKE_KERNEL_LINE_H
#define CLARKE_KERNEL_LINE_H

#include "check/kernel/point.h"

size_t line_length(const point *p, const step *st);                    /* how many entries a line of that step has */
size_t line_entry(const point *p, const step *st, size_t e, size_t j); /* entry j of the line that has entry e */
source read_by(const point *p, const step *st, size_t e);              /* what entry e reads */

/* ---- An OVER_ROOT step */

void root_prepare(step *st); /* what multiplies x */
/* Are entries e and e2 divided by one root? Of a NORMALIZE step, too. */
bool same_root(const point *p, const step *st, size_t e, size_t e2);

/* ---- A line of a NORMALIZE step, whose m entries are x */

void centre(interval *x, size_t m);                                                     /* x becomes m (x - mean) */
void inverse_square(interval *r, const interval *c, size_t m, const rational *epsilon); /* r^2 of c */
bool is_root_known(const interval *c, size_t m, const rational *epsilon);               /* to be above 0? */
void inverse_root(interval *r, const interval *c, size_t m, const rational *epsilon);   /* r of c */

#endif
