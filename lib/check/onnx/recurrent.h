/* Layers that go from time to time. */
#ifndef CLARKE_KERNEL_RECURRENT_H
#define CLARKE_KERNEL_RECURRENT_H

#include "check/onnx/builder.h"

void lower_lstm(builder *b);
void lower_gru(builder *b);
void lower_rnn(builder *b);

#endif
