/* A product's argument on places of its own, beside those of the pass (docs/filter.md, "Slices"). */
#ifndef CLARKE_NETWORK_PASS_SLICES_ARGUMENT_H
#define CLARKE_NETWORK_PASS_SLICES_ARGUMENT_H

#include "network/pass/slices/slices.h"

/* At least the size of a tail's entry, and the norm of all, in x's lowest places. */
typedef struct {
  double size, norm;
} clarke_tail_bound;

/* Entry e of x is the sum over k of digit[k][e] 2^(cut + width k), integers of width bits, and tail[e] 2^(x's low), if there is one:
 * a double that was rounded joined - 1 times at most. Without a tail cut is x's low. */
typedef struct {
  long cut, width;
  size_t planes, joined;
  clarke_tail_bound bound; /* of the tail */
  float *digit;
  double *tail;
} clarke_recut;

/* Upper bounds of a plane's largest digit, and of the norm of all. */
void clarke_plane_measure(const clarke_slicing *f, const clarke_sliced *x, size_t plane, double *largest, double *norm);
/* The planes below, and the lowest bits of this one: all of them, or less. */
clarke_tail_bound clarke_tail_grow(const clarke_slicing *f, const clarke_sliced *x, clarke_tail_bound below, size_t plane, long bits);

/* The exponent of a power of two above all entries of x, of which largest is that of the highest plane, and 2^(cut + 1) more. */
long clarke_recut_top(const clarke_slicing *f, const clarke_sliced *x, double largest, long cut);
/* The digits, whose places and number, and the tail's, are set. Where these are too few, or the tail exceeds its bound's size, f->lost
 * is set. */
clarke_status clarke_recut_make(clarke_slicing *f, const clarke_sliced *x, clarke_recut *r);
void clarke_recut_clear(clarke_recut *r);

/* The lowest digits of what is pending: of integers that make `unit` of the next place. What is above stays. */
void clarke_digits_take(float *to, double *pending, double unit, size_t n);

#endif
