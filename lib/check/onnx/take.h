/* Operators that take some entries along axes: Slice, Split, Gather, GatherND and GatherElements by constant
 * indices. */
#ifndef CLARKE_KERNEL_TAKE_H
#define CLARKE_KERNEL_TAKE_H

#include "check/onnx/builder.h"

void lower_slice(builder *b);
void lower_split(builder *b);
void lower_blocks(builder *b); /* DepthToSpace, SpaceToDepth */
void lower_gather(builder *b);
void lower_gather_elements(builder *b);
void lower_gather_rows(builder *b); /* GatherND */

#endif
