/* Would a wrong gradient be explained, too? */
#ifndef CLARKE_SESSION_VAGUE_H
#define CLARKE_SESSION_VAGUE_H

#include "session/record.h"

#include <stdbool.h>

/* So large a part of the whole gradient's norm may the bound of one be that is 0 exactly. */
#define CLARKE_VAGUE_ZERO 0x1p-6

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

/* The parameters of which it would; the first are named. */
typedef struct {
  size_t n;
  char named[1024];
} clarke_vague;

/* One more, of whose gradient so much is allowed, or explained: `how`. Then the answer about the record. */
void clarke_vague_add(clarke_vague *v, const char *parameter, double norm, double allowed, const char *how);
clarke_status clarke_vague_say(const clarke_vague *v, clarke_record *r, clarke_error *err);

#endif
