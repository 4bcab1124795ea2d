/* Loops over rows of doubles, and of pairs of doubles in two rows: they are what most of a gradient's time outside of products takes.
 * Each does for every entry what pair.h has for one. Rows that are written overlap no other. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_ROWS_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_ROWS_H

#include "exact/pair.h"
#include "network/pass/identity.h"

#include <stdbool.h>
#include <stddef.h>

/* to += x, of doubles */
void clarke_rows_add(double *to, const double *x, size_t n);
/* to += factor x, of doubles */
void clarke_rows_add_multiple(double *to, double factor, const double *x, size_t n);
/* high + low += unit x, the unit being a power of two */
void clarke_rows_add_scaled(double *high, double *low, double unit, const double *x, size_t n);
void clarke_rows_add_digits(double *high, double *low, double unit, const float *x, size_t n);
/* high + low += x + x_low */
void clarke_rows_add_pairs(double *high, double *low, const double *x, const double *x_low, size_t n);
/* high + low += factor (x + x_low) */
void clarke_rows_add_pair_multiples(double *high, double *low, clarke_pair factor, const double *x, const double *x_low, size_t n);
/* high + low += (x + x_low) (y + y_low) */
void clarke_rows_add_products(double *high, double *low, const double *x, const double *x_low, const double *y, const double *y_low,
                              size_t n);

/* How many of `left` places, from `place` on, are one behind another, or all CLARKE_NONE. left > 0 */
size_t clarke_rows_run(const size_t *place, size_t left);
/* Rows of n numbers of x, those at so many places, or zeros where there is none. */
void clarke_rows_gather(double *to, const double *x, const size_t *place, size_t places, size_t n);

/* to = x where `piece` is `one`, or `other`; 0 elsewhere. */
void clarke_rows_take(double *to, const double *x, const clarke_branch *piece, clarke_branch one, clarke_branch other, size_t n);
/* to += x where `piece` is `one`. */
void clarke_rows_add_taken(double *to, const double *x, const clarke_branch *piece, clarke_branch one, size_t n);
/* The same of pairs. */
void clarke_rows_add_taken_pairs(double *high, double *low, const double *x, const double *x_low, const clarke_branch *piece,
                                clarke_branch one, size_t n);

/* squares[j] += x[j]^2 of rows of n, that many of them, `stride` apart. */
void clarke_rows_add_squares(double *squares, const double *x, size_t stride, size_t rows, size_t n);

/* The largest |x|: infinity above all numbers, and a NaN above that. */
double clarke_rows_largest(const double *x, size_t n);

/* The digits of n pairs: the nearest multiples of the unit, which the pairs lose. Is one not 0? */
bool clarke_rows_cut(double *slice, double *high, double *low, double unit, size_t n);

#endif
