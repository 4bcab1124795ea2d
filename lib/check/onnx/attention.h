/* Attentions, and the turning of pairs by places. */
#ifndef CLARKE_ONNX_ATTENTION_H
#define CLARKE_ONNX_ATTENTION_H

#include "check/onnx/builder.h"

void lower_attention(builder *b);        /* Attention */
void lower_linear_attention(builder *b); /* LinearAttention */
void lower_rotary(builder *b);           /* RotaryEmbedding */

#endif
