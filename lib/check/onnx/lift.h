/* Constants that are read as activations, in a single run. */
#ifndef CLARKE_ONNX_LIFT_H
#define CLARKE_ONNX_LIFT_H

#include "check/onnx/builder.h"

void lower_lift(builder *b); /* Lift: all of it */
void lower_rows(builder *b); /* Gather of a constant */

#endif
