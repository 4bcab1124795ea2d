/* What near values in words need of a step: its factors as words. */
#ifndef CLARKE_KERNEL_WORD_STEP_H
#define CLARKE_KERNEL_WORD_STEP_H

#include "check/kernel/point.h"

#define WORD_BITS 61 /* a word lies between -2^61 and 2^61 */

__extension__ typedef __int128 int128;

/* What a row of sources reads that is not 0: n values, and where they are in the row. */
typedef struct {
  size_t n;
  uint32_t *at;
  int64_t *c;
} patch;

int128 dot(const int64_t *m, const patch *of); /* with a row of factors */

void words_prepare(step *st); /* fills in_words */
bool word_of(int64_t *z, const rational *q, unsigned shift,
             bool up);             /* z = q 2^shift, rounded; is it less than 2^62? */
long magnitude(const rational *q); /* |q| is less than 2 to this; LONG_MIN of 0 */
long longer(long a, long b);       /* the larger of the two */

#endif
