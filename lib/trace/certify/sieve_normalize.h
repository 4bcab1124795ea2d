/* Groups of a NORMALIZE step and their entries in doubles (sieve_normalize.c), for those who pass some entries at a time. */
#ifndef CLARKE_TRACE_SIEVE_NORMALIZE_H
#define CLARKE_TRACE_SIEVE_NORMALIZE_H

#include "trace/certify/sieve_wide.h"

/* Entries of a run that are looked at together. */
#define CLARKE_SIEVE_CHUNK 256
/* Roundings beside those of a group's sums. */
#define CLARKE_SIEVE_SPARE_MOMENTS 16

typedef struct clarke_sieve_group {
  double mean, size, square; /* means of x, |x|, x^2 */
  double mean_off;
  double root, root_off; /* the latter in parts of the root */
  double share, middle;  /* of the exact pass: what the root, and the mean, may be off by */
  /* of the way back: means of g and of g y; of their absolute values; what the former are off by; of g's errors, and those of products */
  double gradient, product, size_of_gradient, size_of_product, gradient_off, product_off, gradient_may, product_may;
} clarke_sieve_group;

/* The moments of all groups of x, in a room. False: out of memory. */
bool clarke_sieve_take_moments(clarke_sieve_group **of, clarke_sieve *s, const clarke_step *step, const float *x);

/* Sets near, off and may to n entries of one group, normalized; gamma: what so many spare roundings take. */
void clarke_sieve_normalize_run(const clarke_sieve_sums *to, const clarke_sieve_group *of, const float *x, double gamma, size_t n);

/* The way back: n entries, a chunk at most, of a gradient g and of what was normalized, y, join their group's sums; of all its
 * members, these become means; which are then handed on, to sums. True: some is too large. */
void clarke_sieve_add_terms(clarke_sieve_group *to, const clarke_sieve_line *g, const clarke_sieve_line *y, size_t n);
void clarke_sieve_divide_sums(clarke_sieve_group *g, double members);
bool clarke_sieve_hand_line(const clarke_sieve_sums *to, const clarke_sieve_group *of, const clarke_sieve_line *g, const clarke_sieve_line *y,
                            double gamma, size_t n);

#endif
