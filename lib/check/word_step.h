/* What near values in words need of a step: its factors as words. */
#ifndef CLARKE_KERNEL_WORD_STEP_H
#define CLARKE_KERNEL_WORD_STEP_H

#include "point.h"

#define WORD_BITS 61 /* a word lies between -2^61 and 2^61 */

void words_prepare(step *st); /* fills in_words */
bool word_of(int64_t *z, const rational *q, unsigned shift,
             bool up);             /* z = q 2^shift, rounded; is it less than 2^62? */
long magnitude(const rational *q); /* |q| is less than 2 to this; LONG_MIN of 0 */
long longer(long a, long b);

#endif
