/* Layers that go from time to time. */
#ifndef CLARKE_KERNEL_RECURRENT_H
#define CLARKE_KERNEL_RECURRENT_H

#include "check/onnx/builder.h"

void lower_lstm(builder *b); /* LSTM */
void lower_gru(builder *b);  /* GRU */
void lower_rnn(builder *b);  /* RNN */

#endif
