/* What a softmax makes of what its arguments are off by. An entry so far below the largest that its exponential is less than `tiny`,
 * whatever rounding does, has a share below that; of the others it changes nothing else (docs/rounding-bound.md). Masks are such. */
#ifndef CLARKE_TRACE_ROUNDING_LINE_H
#define CLARKE_TRACE_ROUNDING_LINE_H

#include "trace/bound/rounding.h"

/* Arguments of one sample: entries first, first + apart, ... of n, in row-major order (feature, sample). */
typedef struct {
  double error, size; /* the largest error, the largest size with its error, of those that are not far */
  double lost;        /* at least the sum of what the far ones' exponentials are */
  double least;       /* an entry that is less is far */
} clarke_rounding_line;

/* The line of n entries of a value: first, first + apart, ...; and is entry e of it far? */
void clarke_roundoff_line(clarke_rounding_line *l, const clarke_roundoff *r, size_t value, size_t first, size_t apart, size_t n);
bool clarke_roundoff_is_far(const clarke_rounding_line *l, const clarke_roundoff *r, size_t value, size_t e);

/* Shares of a SOFTMAX step, m, that are far have narrower enclosures than those of so many digits: from 0 to what underflow takes. */
clarke_status clarke_roundoff_shrink(clarke_matrix *m, const clarke_roundoff *r, size_t step, clarke_error *err);

/* At least what the share of an entry that is far is off by. */
double clarke_roundoff_far(const clarke_roundoff *r);

#endif
