/* Loops over entries with their bounds (sieve_entries.c), many at once: no branch and no call in them, so that compilers make vectors of them. */
#ifndef CLARKE_TRACE_SIEVE_WIDE_H
#define CLARKE_TRACE_SIEVE_WIDE_H

#include "trace/certify/sieve.h"

/* Entries that lie side by side: near what they should be, off by so much at most, and what errors are allowed at least. */
typedef struct {
  const double *near, *off, *may;
} clarke_sieve_line;

/* Numbers at .. at + n; buffer: room for 2 n doubles. */
clarke_sieve_line clarke_sieve_line_of(const clarke_sieve_numbers *x, size_t at, size_t n, double *buffer);
/* Such a room of the sieve's; NULL: out of memory. */
double *clarke_sieve_line_room(clarke_sieve *s, size_t n);

/* Sums to which n numbers are added, each with what doubles round: they do not overlap. */
typedef struct {
  double *near, *off, *may, *mass;
} clarke_sieve_sums;

/* Those of an activation or a gradient, from entry e on. */
clarke_sieve_sums clarke_sieve_sums_of(const clarke_sieved *v, size_t e);

/* Adds coef x, coef being 1 or -1; of its errors so many parts join the absolute values. */
void clarke_sieve_add_line(const clarke_sieve_sums *to, const clarke_sieve_line *x, double coef, double errors, size_t n);
/* Adds coef x, which was recorded, and is moved: each joins as clarke_sieve_join_moved has it. */
void clarke_sieve_join_moved_line(const clarke_sieve_sums *to, unsigned char *joined, const double *x, double coef, size_t n);
/* Adds one number to all. */
void clarke_sieve_add_number(const clarke_sieve_sums *to, double number, size_t n);

/* A factor, or a divisor, of a row; gamma: what its roundings take; part: so much of itself the exact one is off by, at most. */
typedef struct {
  double c, gamma, part;
  bool divide;
} clarke_sieve_factor;

/* Sets near, off and may to x scaled. */
void clarke_sieve_scale_line(const clarke_sieve_sums *to, const clarke_sieve_line *x, const clarke_sieve_factor *by, size_t n);
/* Adds it, and what rounding takes of it. */
void clarke_sieve_join_scaled(const clarke_sieve_sums *to, const clarke_sieve_line *x, const clarke_sieve_factor *by, size_t n);
/* Adds products of two: of a gradient and a factor. */
void clarke_sieve_join_products(const clarke_sieve_sums *to, const clarke_sieve_line *g, const clarke_sieve_line *x, size_t n);

/* What is judged, of which all sizes were checked. joined and mass: NULL, where it is no sum; gamma: what its roundings take of mass. */
typedef struct {
  const double *near, *off, *may, *mass;
  const unsigned char *joined;
  const float *recorded;
  double gamma;
  bool enclosed;
} clarke_sieve_judged;

/* What was found of entries: some lie beyond their bounds; the largest error in parts of its bound; how many are exact, how many are
 * another number. Squares of bounds, of those that may be other numbers, and of those that are. */
typedef struct {
  bool beyond;
  double worst, squares, least;
  size_t exact, wrong;
} clarke_sieve_found;

/* Finds more of n entries; none behind one that lies beyond its bound. */
void clarke_sieve_judge_line(clarke_sieve_found *to, const clarke_sieve_judged *j, size_t n);

/* x c in doubles, which is off by a unit: of two float32 numbers by nothing, and where one is a power of 2. */
double clarke_sieve_times(double *lost, double x, double c);

#endif
