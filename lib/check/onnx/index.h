/* Places that are integers which nodes compute of activations. */
#ifndef CLARKE_ONNX_INDEX_H
#define CLARKE_ONNX_INDEX_H

#include "check/onnx/builder.h"

bool is_computed(const value *v);                  /* is it such an activation? */
value ones_at(builder *b, value places, size_t n); /* of each place a last axis: 1 at it, 0 at the others of n */
void take_computed(builder *b);                    /* Gather by such an input 1 */

#endif
