/* Discrete Fourier transforms: of an axis, and of frames of a signal. */
#ifndef CLARKE_ONNX_FOURIER_H
#define CLARKE_ONNX_FOURIER_H

#include "check/onnx/builder.h"

void lower_fourier(builder *b); /* DFT */
void lower_frames(builder *b);  /* STFT */

#endif
