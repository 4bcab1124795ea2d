/* A picture of the regions in a box of two dimensions. */
#ifndef CLARKE_TOOLS_PATTERNS_PICTURE_H
#define CLARKE_TOOLS_PATTERNS_PICTURE_H

#include "base/output.h"
#include "region/regions.h"

typedef struct {
  clarke_text svg;
  double low[2], high[2];
  double *x; /* corners of a polygon: room for 2 * most of x, y */
  size_t room;
} clarke_picture;

/* first, second: the lower and upper bound of the first variable, and of the second. */
clarke_status clarke_picture_init(clarke_picture *p, mpq_t *first, mpq_t *second, clarke_error *err);
void clarke_picture_clear(clarke_picture *p); /* of one that is zeroed, too */

/* A region, coloured by the number of its affine function: regions of one function look alike. */
clarke_status clarke_picture_add(clarke_picture *p, const clarke_region *region, size_t function, clarke_error *err);
void clarke_picture_mark(clarke_picture *p, const mpq_t x, const mpq_t y);
/* Regions are missing: a frame and a text say so, and why. */
void clarke_picture_unfinished(clarke_picture *p, const char *why);
clarke_status clarke_picture_save(clarke_picture *p, const char *path, clarke_error *err);

#endif
