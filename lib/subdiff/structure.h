/* How entries depend on the parameters near w, read off the graph and the sides chosen.
 * docs/proof-format.md states both rules; clarke-check applies them by its own code. */
#ifndef CLARKE_SUBDIFF_STRUCTURE_H
#define CLARKE_SUBDIFF_STRUCTURE_H

#include "subdiff/question.h"

/* flat[k]: is touch k's argument constant near w within the cell of these sides (CLARKE_LEFT or
 * CLARKE_RIGHT by touch; CLARKE_PROXY: not chosen)? */
clarke_status clarke_flat(bool *flat, const clarke_question *q, const int8_t *side,
                          clarke_error *err);

/* affine[k]: is touch k's argument affine in the wrt parameters, given the sides chosen? */
clarke_status clarke_affine(bool *affine, const clarke_question *q, const int8_t *side,
                            clarke_error *err);

#endif
