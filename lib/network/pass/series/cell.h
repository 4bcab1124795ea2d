/* The cells of a series: their polynomials, and what these are off by. */
#ifndef CLARKE_NETWORK_PASS_SERIES_CELL_H
#define CLARKE_NETWORK_PASS_SERIES_CELL_H

#include "network/pass/series.h"

/* Cell k has its middle at k / CLARKE_CELLS_A_UNIT, -CLARKE_CELL_LAST <= k <= CLARKE_CELL_LAST. An argument is no farther from it than HALF,
 * which is a little more than half of a cell, because k is found in doubles; and one that is off by CLARKE_SERIES_REACH no farther than WHOLE. */
#define CLARKE_CELLS_A_UNIT 16
#define CLARKE_CELL_HALF 0x1.0001p-5
#define CLARKE_CELL_WHOLE 0x1.0001p-4
#define CLARKE_CELL_LAST 512

#define CLARKE_POINT_TERMS 14
typedef struct {
  double coef[CLARKE_POINT_TERMS];
  double off, off_by; /* Horner's value at t is off by off + off_by |t| */
  double steep;       /* of the function, on all that is within WHOLE */
} clarke_point_cell;

/* With pairs as coefficients. Its value at t + x, |x| at most 2^-40, is off by off + off_by |x| + bend x^2: x's own share is by the slope at t
 * in doubles. */
#define CLARKE_PAIR_TERMS 20
typedef struct {
  clarke_pair coef[CLARKE_PAIR_TERMS];
  double off, off_by, bend;
  double steep; /* as above */
} clarke_pair_cell;

/* Numbers of limbs + 1 words in two's complement, whose lowest `limbs` words are behind the point. */
typedef struct {
  size_t terms, limbs;
  double off;   /* Horner's value is off by so much, where t is by no more than a unit of the last place */
  double steep; /* as above */
  mp_limb_t word[];
} clarke_ball_cell;

/* Horner's rule in words needs fewer of them for coefficients that are multiplied by a high power of t, |t| < 2^-4.99: from coefficient i on
 * `level` words behind the point do, as what these cut is multiplied by t^i. With the cell's own words: from 0 on. */
static inline size_t
clarke_ball_cell_first(size_t limbs, size_t level)
{
  return level >= limbs ? 0 : (64 * (limbs - level) + 12) / 5;
}

/* So many precisions have cells of their own: 2, 3, ... words behind the point. */
#define CLARKE_LEVELS 4

/* Is there a series of the function? */
bool clarke_series_known(clarke_function function);

/* The cell of that number, which is `kept`'s and the same for all threads; where that is NULL it is the caller's, who frees it. NULL: out of
 * memory. */
const clarke_point_cell *clarke_series_point_cell(clarke_kept *kept, clarke_function function, bool slope, long k);
const clarke_pair_cell *clarke_series_pair_cell(clarke_kept *kept, clarke_function function, long k);
/* For ERF and NORMAL; limbs <= CLARKE_LEVELS + 1, at least 2. */
const clarke_ball_cell *clarke_series_ball_cell(clarke_kept *kept, clarke_function function, long k, size_t limbs);

/* Words behind the point for that precision: two at least. */
size_t clarke_series_limbs(long precision);
/* The cell whose middle is nearest; false where there is none. */
bool clarke_series_find_cell(long *k, double x);

#endif
