/* Resize. */
#ifndef CLARKE_KERNEL_RESIZE_H
#define CLARKE_KERNEL_RESIZE_H

#include "check/onnx/builder.h"

void lower_resize(builder *b); /* Resize */

/* share[0] to share[3] become what cubic interpolation takes of the entries around a place, r behind the second of them; of linear
 * interpolation the first two. */
void cubic_shares(rational *share, const rational *r, const rational *coefficient);

#endif
