/* Attentions, and the turning of pairs by places. */
#ifndef CLARKE_ONNX_ATTENTION_H
#define CLARKE_ONNX_ATTENTION_H

#include "check/onnx/builder.h"

void lower_attention(builder *b);
void lower_linear_attention(builder *b);
void lower_rotary(builder *b);

#endif
