/* Steps whose entries depend on those of a whole line: softmax; and normalizations (docs/operators.md,
 * "Normalizations"). */
#ifndef CLARKE_SMOOTH_LINE_H
#define CLARKE_SMOOTH_LINE_H

#include "check/kernel/smooth.h"

/* As smooth.h has them. */
void line_values(const point *p, size_t s, size_t e);
void line_tangents(const struct motion *d, size_t s, size_t e);
void line_row(const struct jacobian *j, size_t s, size_t e, bool rootless);
void lines_back(const struct jacobian *j, size_t s, size_t sample, rational *adjoint, const bool *unknown,
                const cell *c);
bool line_near(const point *p, struct near *v, size_t s, size_t sample);
void root_prepare(step *st);
void inverse_root_at(const point *p, const step *st, size_t e, interval *r);

/* A line of a NORMALIZE step, whose m entries are x. These become m (x - mean); and, with such c, the root's inverse. */
void centre(interval *x, size_t m);
void inverse_root(interval *r, const interval *c, size_t m, const rational *epsilon);

#endif
