/* A point on the other side of one more hyperplane. */
#ifndef CLARKE_REGION_CROSS_H
#define CLARKE_REGION_CROSS_H

#include "region/circuits.h"
#include "region/widest.h"

/* What the search for points needs; private to lib/region. */
typedef struct {
  const clarke_rows *rows;
  clarke_widest widest;
  const double **point; /* rows->n: of a program */
  double *turned;       /* rows->n x dim: unit rows turned to their sides */
  double *span;         /* CLARKE_SLIDES x dim: orthonormal */
  double *direction, *target; /* dim */
  size_t *member;       /* rows->n */
  signed char *turn;    /* rows->n */
  fmpz *value;          /* rows->n: of a circuit */
  size_t programs, exact;
} clarke_crossing;

#define CLARKE_SLIDES 16

clarke_status clarke_crossing_init(clarke_crossing *c, const clarke_rows *rows, clarke_error *err);
void clarke_crossing_clear(clarke_crossing *c); /* of one that is zeroed, too */

/* Tries to step from w to a point with the trail's signs and with `sign` in `row`. product[i]: <unit_i, w> over |w|, for
 * all rows. False: no such step was found, which proves nothing. */
bool clarke_cross_step(clarke_crossing *c, clarke_witness *to, const clarke_trail *t, const double *product, const clarke_witness *w,
                       size_t row, int sign);

typedef enum { CLARKE_CROSS_POINT, CLARKE_CROSS_CIRCUIT, CLARKE_CROSS_UNKNOWN } clarke_cross_kind;

/* The same by a program: a point, or a circuit among the trail's rows and this one, with coefficients of the signs given
 * (`sign` in `row`): c->member[0..n), c->value. row SIZE_MAX: of the trail's rows alone. */
clarke_status clarke_cross_program(clarke_cross_kind *kind, clarke_witness *to, size_t *n, clarke_crossing *c,
                                   const clarke_trail *t, size_t row, int sign, clarke_error *err);

#endif
