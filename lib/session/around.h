/* All patterns around a point where parameters of several layers vary, or inputs that multiply: the function is polynomial on pieces
 * there, and no longer linear. The tree of patterns is that of derive (program/patterns.h). A pattern is what regions list: a side
 * for each kink that an output depends on, and a largest entry for each maximum, followed on open sets as near to the point as one
 * likes. It is realized by a direction or an arc; it is refuted where a combination of decisions above it is nowhere positive; or it
 * is undecided. */
#ifndef CLARKE_SESSION_AROUND_H
#define CLARKE_SESSION_AROUND_H

#include "program/patterns.h"
#include "session/regions.h"

typedef struct {
  const clarke_code *p;
  bool *needed; /* by instruction: an output depends on it */
  size_t kinks; /* that are needed */
  clarke_execution execution;
  clarke_patterns patterns;
  size_t realized, undecided; /* of the patterns */
  bool stopped;               /* work was told to; they are what was found before, and the rest is not known */
  clarke_walk walk;           /* at the end of the pattern shown last */
  bool walks;
} clarke_around;

void clarke_around_init(clarke_around *a);
void clarke_around_clear(clarke_around *a);

/* p's inputs in wrt vary, and nothing else does (program/hold.h); point: all entries, kept by reference. An instruction that is no
 * sum, product, maximum, nor a function with pieces of degree 1, is an error. */
clarke_status clarke_around_find(clarke_around *a, const clarke_code *p, mpq_t *point, clarke_error *err);

/* The walk is that of the pattern. */
clarke_status clarke_around_show(clarke_around *a, const clarke_pattern *pattern, clarke_error *err);
/* What the pattern shown takes at a needed kink or maximum: its piece, or its largest entry's place; or CLARKE_NONE: the
 * argument is constant at a kink. */
size_t clarke_around_choice(const clarke_around *a, size_t instruction);

/* Where it is whole, without an undecided pattern: writes a proof, as clarke_proof_write does. model: the function's file. */
clarke_status clarke_around_prove(const clarke_around *a, const clarke_region_function *f, const char *model, mpq_t *point, const char *path,
                                  clarke_error *err);

#endif
