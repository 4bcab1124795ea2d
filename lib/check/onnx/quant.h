/* Quant and BipolarQuant, operators of QONNX. */
#ifndef CLARKE_ONNX_QUANT_H
#define CLARKE_ONNX_QUANT_H

#include "check/onnx/builder.h"

void lower_quant(builder *b);   /* Quant */
void lower_bipolar(builder *b); /* BipolarQuant */

#endif
