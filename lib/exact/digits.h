/* Matrices cut into digits, and their products by dgemm without error (docs/exact.md, "Products by dgemm, exactly").
 *
 * An entry is the sum over s of digit_s 2^(low + width s), plane 0 being the lowest, and each digit is an integer that a double
 * holds. Planes s of A and t of B carry the weight 2^(width_a s + width_b t), and sums of products of one weight are made in one
 * matrix of doubles.
 *
 * The bound. Let the sizes of A's digits in a sum add up to at most `mass`, and let B's be at most 2^(width_b - 1). Then every
 * partial sum, in any order and grouping, fused or not, is an integer of at most mass 2^(width_b - 1). Doubles hold all integers of
 * at most 2^53: so all is exact where mass is at most clarke_digits_room(width_b, false). A sum that begins with what is carried
 * from the weight below, at most 2^(53 - width_b), has a little less room. Whoever cuts A says what its masses are; the product
 * hands a sum on before it would hold more. */
#ifndef CLARKE_EXACT_DIGITS_H
#define CLARKE_EXACT_DIGITS_H

#include "base/status.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* What is known of one plane. A plane of few digits may be a list: place[k] is row * inner + column, in increasing order. */
typedef struct {
  bool used;    /* has it a digit that is not 0? */
  size_t reach; /* of A: a row's sums are made in parts of so many products, */
  double mass;  /* none of which has digits whose sizes add up to more than this */
  size_t n, capacity, *place;
  double *number; /* NULL: it is no list */
} clarke_digit_plane;

/* Entry (i, j)'s digit of plane s, first <= s, is at digit[(s - first) * apart + i * stride + j]. Planes below the first are lists. */
typedef struct {
  double *digit;
  ptrdiff_t apart;
  size_t stride, planes, first;
  long low, width;
  clarke_digit_plane *plane; /* planes of them; NULL, of B: any may have digits that are not 0 */
} clarke_digit_matrix;

/* The mass that a sum holds of A's digits by B's of so many bits; carried: with what comes from the weight below. */
static inline double
clarke_digits_room(long width, bool carried)
{
  return ldexp(1, 54 - (int)width) - (carried ? ldexp(1, 54 - 2 * (int)width) : 0);
}

/* What a digit of plane s counts for. */
static inline double
clarke_digits_unit(const clarke_digit_matrix *m, size_t s)
{
  return ldexp(1, (int)(m->low + m->width * (long)s));
}

/* Row r of plane s: first <= s. */
static inline double *
clarke_digits_row(const clarke_digit_matrix *m, size_t s, size_t r)
{
  return m->digit + ((ptrdiff_t)s - (ptrdiff_t)m->first) * m->apart + (ptrdiff_t)(r * m->stride);
}

/* The nearest integer, of at most 2^51. */
static inline double
clarke_nearest_integer(double v)
{
  return v + 0x1.8p52 - 0x1.8p52;
}

/* Room for `count` doubles, and for what is known of the m->planes planes: nothing yet. false: there is none. */
bool clarke_digits_alloc(clarke_digit_matrix *m, size_t count);
void clarke_digits_clear(clarke_digit_matrix *m);

/* --- numbers that are cut --------------------------------------------------------------------- */

/* How many of n numbers have something left below m's highest planes, so many of them? */
size_t clarke_digits_left(const clarke_digit_matrix *m, size_t planes, const double *x, size_t n);

/* Blocks of rows x inner numbers, one behind another; transposed: of inner x rows. */
typedef struct {
  bool transposed;
  size_t rows, inner;
} clarke_digit_layout;

/* The numbers of some blocks, row by row, whatever their own layout: m's planes, places and strides are set. The highest planes,
 * `dense` of them, become digits, those below lists, and what is left below all planes is dropped: *whole: nothing was. No digit of
 * the highest plane may exceed 2^51. No mass is known yet. */
clarke_status clarke_digits_cut(clarke_digit_matrix *m, bool *whole, const double *x, clarke_digit_layout l, size_t blocks, size_t dense,
                                clarke_error *err);
/* mass[i * pieces + b] += the sizes of the digits of row i's b-th piece of plane s: exact below 2^53, and at least that where
 * they are more. A row has `pieces` pieces, all but the last of `piece` numbers. */
void clarke_digits_measure(double *mass, const clarke_digit_matrix *m, size_t s, size_t rows, size_t inner, size_t piece);
/* Plane s, rows of `inner` digits, becomes a list where no more than `most` are not 0; a list becomes digits. */
clarke_status clarke_digits_list(clarke_digit_matrix *m, size_t s, size_t rows, size_t inner, size_t most, clarke_error *err);
void clarke_digits_spread(clarke_digit_matrix *m, size_t s, size_t rows, size_t inner);

/* --- products --------------------------------------------------------------------------------- */

/* C = A B, of rows x inner and inner x cols digits, weight by weight. A transposed factor is stored as it is, and has no lists; nor
 * has B. */
typedef struct {
  const clarke_digit_matrix *a, *b;
  bool a_transposed, b_transposed;
  size_t rows, cols, inner;
  size_t a_row; /* that of A's lists which is its first */
  double room;  /* mass that a sum holds; INFINITY: it is known that all of one weight fit, and sums are added to what is there */
  double *sum;  /* rows * cols */
  void (*take)(void *context, size_t weight); /* what is done with full sums, which are begun anew; not called with all that room */
  void *context;
} clarke_digit_product;

/* All products of planes of this weight, counted from that of the lowest two: those of A's high planes first. */
void clarke_digits_multiply(const clarke_digit_product *p, size_t weight);

#endif
