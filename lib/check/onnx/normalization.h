/* Operators that normalize (docs/operators.md, "Normalizations"). */
#ifndef CLARKE_KERNEL_NORMALIZATION_H
#define CLARKE_KERNEL_NORMALIZATION_H

#include "check/onnx/builder.h"

void lower_batch(builder *b);     /* BatchNormalization */
void lower_groups(builder *b);    /* GroupNormalization, InstanceNormalization */
void lower_layer(builder *b);     /* LayerNormalization */
void lower_root_mean(builder *b); /* RMSNormalization */

#endif
