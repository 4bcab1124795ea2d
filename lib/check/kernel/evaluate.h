/* Values and tangents of entries. */
#ifndef CLARKE_KERNEL_EVALUATE_H
#define CLARKE_KERNEL_EVALUATE_H

#include "check/kernel/point.h"

const interval *value_at(const point *p, size_t s, size_t e);                      /* of entry e of step s */
const rational *input_at(const point *p, const step *st, size_t e);                /* of an INPUT step */
bool zero_at(const point *p, size_t s, size_t e);                                  /* is its value exactly 0? */
const interval *argument(const point *p, const step *st, size_t e);                /* x of its first term */
void piece_slope(const point *p, const step *st, size_t e, size_t i, interval *d); /* of piece i of a PIECEWISE step */

/* Tangents of all outputs along the tensors' moves, under the slopes; both must stay as they are. */
typedef struct motion {
  const point *p;
  const rational *slope;
  interval ***x; /* as y; read by tangent_at */
} motion;

motion tangents(const point *p, const rational *slope);          /* along the network's move, under those slopes */
const interval *tangent_at(const motion *d, size_t s, size_t e); /* of entry e of step s */
void tangents_free(motion *d);
const interval *argument_tangent(const motion *d, const step *st, size_t e); /* of argument() */
/* The slope of a PIECEWISE entry: of its piece, or of its touched kink the one that is chosen; slope NULL: all between its sides'. */
void slope_at(const point *p, size_t s, size_t e, const rational *slope, interval *d);

#endif
