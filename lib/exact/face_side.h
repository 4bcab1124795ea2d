/* Has a face points on the other side of a form, too? */
#ifndef CLARKE_EXACT_FACE_SIDE_H
#define CLARKE_EXACT_FACE_SIDE_H

#include "exact/cone.h"
#include "exact/face.h"

/* Is there a point of f where the reduced form has the sign side? */
clarke_status clarke_face_side(clarke_cone_answer *answer, mpq_t *point, const clarke_face *f, mpq_t *reduced, int side,
                               clarke_error *err);

#endif
