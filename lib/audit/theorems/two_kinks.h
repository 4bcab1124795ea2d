/* Where each neuron of a layer has two kinks at most: a direction of closed form (docs/two-kinks.md). */
#ifndef CLARKE_AUDIT_THEOREMS_TWO_KINKS_H
#define CLARKE_AUDIT_THEOREMS_TWO_KINKS_H

#include "audit/audit.h"

/* N-1: a direction in the layer's own parameters that brings the
 * cell's moving touches of this layer to their sides, when there is one of closed form. */
clarke_status clarke_two_kinks(bool *found, clarke_direction *d, const clarke_layer *layer,
                               const clarke_cell *cell, const clarke_question *q,
                               clarke_error *err);

#endif
