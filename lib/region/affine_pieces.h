/* Maximal affine pieces: the regions of one affine function that hang together.
 *
 * Two regions are neighbours when their closures share a facet, a part of a hyperplane of one dimension less. A maximal affine
 * piece is what neighbours of one function make up, joined as long as there are any. Regions of one function that meet in less than
 * a facet, as two squares in a corner, are not joined by that.
 *
 * Some hyperplanes are fixed: those of kinks that no other kink is before. No region is on both sides of one. So of two regions
 * that share a facet on some hyperplane, all fixed ones but that have both regions on one side. By this regions are sorted, and
 * only few are compared. */
#ifndef CLARKE_REGION_AFFINE_PIECES_H
#define CLARKE_REGION_AFFINE_PIECES_H

#include "region/regions.h"
#include "region/vector_set.h"

#include <stdint.h>

/* A region's row: a hyperplane's number, twice, plus 1 where the region is on its negative side. */
typedef uint32_t clarke_side;

typedef struct {
  size_t function, piece; /* piece: of a forest of regions, the one above; a root is its own */
  size_t n;
  clarke_side *side; /* ascending; each hyperplane once */
  uint64_t place;    /* of its sides of the fixed hyperplanes */
} clarke_piece_region;

typedef struct {
  clarke_vector_set plane; /* primitive, the first entry that is not 0 above 0 */
  fmpz *row;               /* width of these */
  size_t fixed;            /* the first so many hyperplanes */
  size_t n, room;
  clarke_piece_region *region;
} clarke_affine_pieces;

/* width: of the rows of the regions' cones; around a point that is the forms' variables, else one more. */
clarke_status clarke_affine_pieces_init(clarke_affine_pieces *s, const clarke_forms *forms, size_t width, clarke_error *err);
void clarke_affine_pieces_clear(clarke_affine_pieces *s); /* of one that is zeroed, too */

/* A region, whose affine function has that number. */
clarke_status clarke_affine_pieces_add(clarke_affine_pieces *s, const clarke_region *region, size_t function, clarke_error *err);

/* How many pieces the regions added make up. *decided false: a system was left undecided by integers, and *n is no answer. */
clarke_status clarke_affine_pieces_count(size_t *n, bool *decided, clarke_affine_pieces *s, clarke_error *err);

#endif
