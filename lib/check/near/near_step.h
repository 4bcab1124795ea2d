/* What near values need of a step: its factors as long integers, or as machine words. */
#ifndef CLARKE_NEAR_STEP_H
#define CLARKE_NEAR_STEP_H

#include "check/kernel/point.h"

#define WORD_BITS 61 /* a word lies between -2^61 and 2^61 */

/* What is known to be near a step's values of one sample, or of all when they are coupled: the value of entry e is within r
 * units of c[e / apart], a unit being 2^-near_bits. */
typedef struct near {
  integer *c, r;
  size_t n;
  bool known;
} near;

/* Prepares the factors of all steps, for units of 2^-bits. With `few` bits factors of wide rows are machine words, rounded where
 * they must be; else they are where these have them exactly. */
void near_prepare(network *net, unsigned long bits, bool few);
unsigned long digits(const rational *q);   /* binary ones after the point: ULONG_MAX, when they do not end */
long magnitude(const rational *q);         /* |q| is less than 2 to this; LONG_MIN of 0 */
void larger(integer *y, const integer *z); /* y = |z|, if that is more */
/* Near what a source is at entry e. Of NONE, which is 1, the entry behind the steps. */
const integer *center(const point *p, const near *v, source x, size_t e);
const near *near_read(const point *p, const near *v, source x);
void near_interval(const point *p, const near *v, source x, size_t e, interval *y); /* all that it may be */
void near_put(const point *p, near *v, size_t e, const interval *y);                /* entry e of a step is in y */

#endif
