/* DynamicQuantizeLSTM, an operator of ONNX Runtime. */
#ifndef CLARKE_ONNX_QUANTIZED_LSTM_H
#define CLARKE_ONNX_QUANTIZED_LSTM_H

#include "check/onnx/builder.h"

void lower_quantized_lstm(builder *b); /* its outputs: all states h, the last h, the last c */

#endif
