/* Transcendental functions by their Taylor series about the multiples of a step (docs/filter.md, "Series").
 *
 * The line is cut into cells. Of each a polynomial is made when it is first asked for, and kept with the graph: Arb encloses the
 * coefficients at the cell's middle, and the next one over all of the cell and of as much on either side. That bounds what the polynomial
 * leaves out, wherever an argument lies. What is behind no argument: a function that has a domain or jumps. */
#ifndef CLARKE_NETWORK_PASS_SERIES_H
#define CLARKE_NETWORK_PASS_SERIES_H

#include "base/kept.h"
#include "exact/ball.h"
#include "exact/pair.h"
#include "op/step.h"

/* A function, or its slope, at a double. */
typedef struct {
  double y;
  double off;   /* y is off by at most so much */
  double steep; /* the function of no argument within CLARKE_SERIES_REACH of this one is steeper */
} clarke_point;

#define CLARKE_SERIES_REACH 0x1p-5

/* False: there is no series for it, or not there (SIN, COS, ATAN and EXP far away; where x is not finite). */
bool clarke_series_point(clarke_point *p, clarke_kept *kept, double x, clarke_function function, bool slope);

/* The function at a pair that is off by no more than `reach`, and what it is off by. False: as above; and far away, where its limit says less
 * than pairs have, and of NORMAL_TANH. */
bool clarke_series_pair(clarke_pair *y, double *off, clarke_kept *kept, clarke_pair x, double reach, clarke_function function);

/* y encloses the function on all of x, with an error near 2^-precision beside that of x; y may be x. False, and y as it was: the function is not
 * ERF or NORMAL (of others Arb's own are as fast), x is too wide or too far from 0, or x is exactly 0, where Arb knows more. */
bool clarke_series_ball(arb_t y, clarke_kept *kept, const arb_t x, clarke_function function, long precision);

/* The same of all entries of x, whose denominator is one word, faster: y, not x, has some bits more than the precision, and is rounded to it. Entries
 * that have no series are by Arb. */
bool clarke_series_has_words(const clarke_matrix *x, clarke_function function, long precision);
clarke_status clarke_series_matrix(clarke_matrix *y, clarke_kept *kept, const clarke_matrix *x, clarke_function function, long precision,
                                   clarke_error *err);

#endif
