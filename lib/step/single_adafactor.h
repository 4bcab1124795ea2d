/* PyTorch's program of Adafactor: is there an order of its sums in which it gives the recorded numbers, bit for bit? A norm and a mean may be any of
 * the floats that such a sum may be rounded to; all else is computed operation by operation. */
#ifndef CLARKE_STEP_SINGLE_ADAFACTOR_H
#define CLARKE_STEP_SINGLE_ADAFACTOR_H

#include "step/judge.h"

/* False: there is none, or more to try than is tried. */
bool clarke_adafactor_is_program(const clarke_step_question *q, const clarke_step_tensor *t);

#endif
