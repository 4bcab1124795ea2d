/* The lines of a proof that say what AD passes through operators that jump (surrogate.h). */
#ifndef CLARKE_ONNX_SURROGATE_LINE_H
#define CLARKE_ONNX_SURROGATE_LINE_H

#include "check/files/onnx.h"

/* The lines `surrogate OPERATOR RULE`, if they are next, in the operators' order. */
void read_surrogates(model *m);
void state_surrogates(const model *m);                       /* what they say, on `account` */
surrogate_rule surrogate_of(const model *m, const char *op); /* the rule that the operator has */

#endif
