/* What near values need of a step: its factors as long integers. */
#ifndef CLARKE_KERNEL_NEAR_STEP_H
#define CLARKE_KERNEL_NEAR_STEP_H

#include "check/kernel/word_step.h"

#define NEAR_BITS (session_bits + GUARD)

/* What is known to be near a step's values of one sample, or of all when they are coupled: the value of entry e is within r
 * units of c[e / apart], a unit being 2^-NEAR_BITS. */
typedef struct {
  integer *c, r;
  size_t n;
  bool known;
} near;

/* What near values need beside words, once for each number of bits. */
void near_prepare_beside_words(network *net);
/* Prepares the factors of all steps; bounds and simplices take them from there, too. */
void near_prepare(network *net);
void near_forget(network *net);            /* makes it be prepared anew, with other bits */
bool is_in_words(const step *st);          /* a LINEAR step of wide rows, whose factors words hold exactly */
unsigned long digits(const rational *q);   /* binary ones after the point: ULONG_MAX, when they do not end */
void larger(integer *y, const integer *z); /* y = |z|, if that is more */
/* Near what a source is at entry e. Of NONE, which is 1, the entry behind the steps. */
const integer *center(const point *p, const near *v, source x, size_t e);
const near *near_read(const point *p, const near *v, source x);

#endif
