/* What the files of a derivation share. Private to the files derive*.c. */
#ifndef CLARKE_PROGRAM_DERIVE_INSIDE_H
#define CLARKE_PROGRAM_DERIVE_INSIDE_H

#include "program/derive.h"

/* --- derive_membership.c --- */

/* Sets the verdict, its evidence and why, which is copied. */
void clarke_derive_say(clarke_derivation *d, clarke_verdict verdict, clarke_evidence evidence, const char *why);

/* Have all patterns of a complete tree one rational gradient? Some of them occurs, whichever. */
bool clarke_derive_unanimous(const clarke_derivation *d);

/* The distinct gradients of patterns (realized and rational ones, or the middles of all), with a
 * pattern for each row. */
typedef struct {
  clarke_points points;
  size_t *pattern;
} clarke_gathered;

/* realized: only such. The caller clears g, whatever is returned. */
clarke_status clarke_gather(clarke_gathered *g, const clarke_derivation *d, bool realized, clarke_error *err);
void clarke_gathered_clear(clarke_gathered *g);

/* The verdict and its evidence; AD's output, patterns and lipschitz are known. */
clarke_status clarke_derive_judge(clarke_derivation *d, clarke_error *err);

#endif
