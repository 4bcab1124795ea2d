/* The rays of a pointed cone in two or three dimensions: of a segment its ends, of a polygon its corners.
 *
 * The closed cone is all sums of multiples >= 0 of its rays. So a row has one sign inside when it has it, or 0, on all rays. That
 * decides without a program which hyperplanes cross a region of one or two variables. */
#ifndef CLARKE_REGION_RAYS_H
#define CLARKE_REGION_RAYS_H

#include "base/status.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>

#include <flint/flint.h>
#include <flint/fmpz_mat.h>

typedef struct {
  size_t n, width; /* width 2: n = 2; width 3: n >= 3, in order around the cone. n = 0: none are known */
  fmpz *ray;       /* n x width, primitive */
  double *unit;    /* the same over their norms, about */
  double *bounds;  /* of more than two variables: below and above each, in a box around the cone; or NULL */
  fmpz *box;       /* the same exactly, times a number above 0, which comes last; or NULL */
  bool owns_bounds;
} clarke_rays;

void clarke_rays_clear(clarke_rays *r); /* of rays that are zeroed, too */

/* The rays of the cone {x : rows of `cone` positive}, bounds of z as of clarke_regions_inside: pairs of rows that bound one variable
 * each, below and above. For more than two variables bounds alone; nothing where the rows are others. */
clarke_status clarke_rays_of_box(clarke_rays *r, const fmpz_mat_t cone, clarke_error *err);

/* Bounds alone, exact ones and (unless they are too large) doubles, whatever the number of variables: what a proof may rest on. */
clarke_status clarke_rays_of_bounds(clarke_rays *r, const fmpz_mat_t cone, clarke_error *err);

/* What of the cone of `from` lies where the row is positive (`turn` -1: negative). It does not vanish. r is zeroed. */
clarke_status clarke_rays_clip(clarke_rays *r, const clarke_rays *from, const fmpz *row, int turn, clarke_error *err);

/* The row's sign inside the cone: -1, 1, or 0 when it takes both. It is not 0 on all rays. */
int clarke_rays_sign(const clarke_rays *r, const fmpz *row);

/* The same over the box of the bounds: 0 when it may take both there. unit: room for the row. */
int clarke_bounds_sign(const clarke_rays *r, const fmpz *row, double *unit);

/* The same by the exact bounds: -1 or 1 when it takes just this sign inside the box, else 0. The row varies with z. */
int clarke_box_sign(const clarke_rays *r, const fmpz *row);

/* Is the row 0 on a facet of the cone? */
bool clarke_rays_bounded_by(const clarke_rays *r, const fmpz *row);

#endif
