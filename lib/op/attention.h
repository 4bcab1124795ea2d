/* What attentions share. */
#ifndef CLARKE_OP_ATTENTION_H
#define CLARKE_OP_ATTENTION_H

#include "op/operator.h"

#define CLARKE_HEAD_AXES 4 /* batch, heads, length, size */

/* A value of axes (batch, length, heads size) with those axes; CLARKE_NONE when it fails. */
size_t clarke_attention_heads(clarke_lowering *low, size_t value, size_t batch, size_t length, size_t heads, size_t size,
                              clarke_error *err);
/* And back. */
size_t clarke_attention_joined(clarke_lowering *low, size_t value, size_t batch, size_t length, size_t heads, size_t size,
                               clarke_error *err);

/* Times scale; with NaN for it, divided by the root of a head's size. */
size_t clarke_attention_scaled(clarke_lowering *low, double scale, size_t size, size_t value, clarke_error *err);

#endif
