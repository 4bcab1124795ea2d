/* Operators that jump: comparisons, what is made of truth values, rounding to whole numbers. */
#ifndef CLARKE_ONNX_JUMP_H
#define CLARKE_ONNX_JUMP_H

#include "check/onnx/builder.h"

/* Sign, Floor, Ceil, Round. */
void lower_rounded(builder *b);
/* Equal, Less, LessOrEqual, Greater, GreaterOrEqual, And, Or, Not, where an input is an activation, or a constant of floats. */
void lower_truths(builder *b);
/* Is one input a constant of minus infinity alone, and the other an activation without a batch axis? Which; 2: no. */
size_t bottom_input(const builder *b);
/* Where by a mask that is an activation. */
void lower_chosen(builder *b, held_kind holds);
/* An activation of floats as truth values, or integers. */
void lower_cast_activation(builder *b, bool truths);

/* May the operator take truth values, or integers, that nodes compute of activations? */
void check_held(const builder *b);
/* What is moved stays what it is. */
void keep_held(builder *b);

#endif
