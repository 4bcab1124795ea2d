/* Operators that take some entries along axes: Slice, Split, Gather, GatherND and GatherElements by constant
 * indices. */
#ifndef CLARKE_KERNEL_TAKE_H
#define CLARKE_KERNEL_TAKE_H

#include "check/onnx/builder.h"

void lower_slice(builder *b);           /* Slice */
void lower_split(builder *b);           /* Split */
void lower_blocks(builder *b);          /* DepthToSpace, SpaceToDepth */
void lower_gather(builder *b);          /* Gather */
void lower_gather_elements(builder *b); /* GatherElements */
void lower_gather_rows(builder *b);     /* GatherND */

#endif
