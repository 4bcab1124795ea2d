/* A function along a segment from A to B: where its pieces part, and the integral of what AD returns.
 *
 * f(A + t (B - A)) is piecewise linear in t. AD's output is a conservative field of f, whatever its numbers at kinks (Bolte and
 * Pauwels): so the integral of <B - A, AD> over t from 0 to 1 is f(B) - f(A), even where the segment runs along kinks. */
#ifndef CLARKE_SESSION_SEGMENT_H
#define CLARKE_SESSION_SEGMENT_H

#include "op/profile.h"
#include "session/regions.h"

typedef struct {
  mpq_t from, to; /* of t; all between strictly follow one pattern */
  mpq_t *slope;   /* n_outputs: <B - A, AD>, AD's output being that at a point inside */
} clarke_segment_piece;

typedef struct {
  size_t n_outputs;
  size_t n, room;
  clarke_segment_piece *piece; /* by t, from 0 to 1 */
  mpq_t *integral;             /* n_outputs; NULL: not all pieces are known, or the work was told to stop before the integral */
  mpq_t *difference;           /* n_outputs: f(B) - f(A), by executing the program there */
  bool agree;                  /* all integrals are the differences, and all slopes those of the pieces */
  clarke_regions regions;
} clarke_segment;

/* a, b: the entries of all the function's inputs. With wrt set these are held (clarke_region_function_hold), and differ in what varies alone. go_on may be NULL; false ends the search, and then no integral is told. Nor
 * is it when the work is told to stop (base/stop.h), which is no error: the pieces found stand. */
clarke_status clarke_segment_find(clarke_segment *s, clarke_region_function *f, mpq_t *a, mpq_t *b, const clarke_profile *profile,
                                  bool (*go_on)(size_t pieces), clarke_error *err);
/* Where the integral is told, and agrees: writes a proof, as clarke_proof_write does. model: the function's file. */
clarke_status clarke_segment_prove(const clarke_segment *s, const clarke_region_function *f, const char *model, mpq_t *a, mpq_t *b,
                                   const char *path, clarke_error *err);
void clarke_segment_clear(clarke_segment *s); /* of one that is zeroed, too */

#endif
