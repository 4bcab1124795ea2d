/* Steps whose entries depend on those of a whole line: softmax; and normalizations (docs/operators.md,
 * "Normalizations"). */
#ifndef CLARKE_KERNEL_LINE_H
#define CLARKE_KERNEL_LINE_H

#include "window.h"

/* ---- Of an OVER_ROOT step */

void root_prepare(step *st);                                            /* what multiplies x */
void root_pull(const point *p, size_t s, size_t e, rational **adjoint); /* as pull_back */

/* ---- Lines of a SOFTMAX or NORMALIZE step */

size_t line_length(const point *p, const step *st);
size_t line_entry(const point *p, const step *st, size_t e, size_t j); /* entry j of the line that has entry e */
void line_values(const point *p, size_t s, size_t e); /* fill in those of all entries of the line that has entry e */
void line_tangents(const motion *d, size_t s, size_t e);

/* ---- Of a NORMALIZE step */

void normalize_pull(const point *p, size_t s, size_t e, rational **adjoint); /* as pull_back */
/* Is the entry 0, a sum of places left out, or in a NORMALIZE step's line of one function, which is its mean? (Of such
 * a line the entries before e have what same holds.) */
bool vanishes(const point *p, size_t s, size_t e);
/* Near values, from those it reads, which are within r units. */
void normalize_near(const point *p, near *v, size_t s, size_t sample, const integer *r);

#endif
