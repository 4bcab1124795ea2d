/* Would a wrong gradient be explained, too? */
#ifndef CLARKE_SESSION_VAGUE_H
#define CLARKE_SESSION_VAGUE_H

#include <stdbool.h>

/* Euclidean norms of a parameter's gradient: the exact one (at least; 0 where each enclosure holds 0), what was recorded, how far they
 * are apart (at most), and what bounds allow. */
typedef struct {
  double exact, recorded, apart, bound;
} clarke_norms;

/* One more entry: known within a radius, recorded, and what its bound allows. */
void clarke_norms_add(clarke_norms *n, double near, double radius, double recorded, double bound);

/* allowed: what the answer lets the gradient be off by. Where the exact gradient is 0, rounding's noise is measured by the whole gradient's
 * norm. */
bool clarke_norms_are_vague(const clarke_norms *n, double allowed, double whole);

#endif
