/* What the files of products share: matrices cut into slices of digits, and the product at work. Private to
 * matrix_product.c, matrix_product_radius.c and matrix_slices.c. */
#ifndef CLARKE_EXACT_MATRIX_SLICES_H
#define CLARKE_EXACT_MATRIX_SLICES_H

#include "exact/digits.h"
#include "exact/matrix_inside.h"

/* The fewest bits of a digit; the most slices of a matrix. */
#define CLARKE_SLICE_MIN_WIDTH 12
#define CLARKE_MAX_SLICES (64 * CLARKE_MAX_LIMBS / CLARKE_SLICE_MIN_WIDTH + 2)

/* A rectangle of a matrix in digits: its rows one behind another, plane by plane. */
typedef struct {
  clarke_digit_matrix m;
  size_t rows, cols;
  size_t bits; /* of the integers cut */
} clarke_panel;

typedef struct {
  clarke_matrix *c;
  const clarke_matrix *a, *b;
  bool a_transposed, b_transposed;
  size_t k0, k1; /* the range of the inner index */
  clarke_panel pa, pb;
  size_t limit; /* products of digits in one sum of doubles */
  size_t i0, j0, rows, cols; /* the block of C at work */
  double *sum;               /* rows * cols */
  int64_t *carry;            /* rows * cols; unused for one or two words */
} clarke_matrix_product;

/* Sets widths, slices and limit from the bits of both panels, of C's shape and the inner size; k1 is the inner size then. */
void clarke_product_choose_widths(clarke_matrix_product *p, size_t inner);

/* The inner size up to which all sums of one weight, from `pairs` pairs, stay below 2^61. The carry
 * loses a bit or more between weights, so it stays below 2^61 + 1, and the two fit in 63 bits. */
size_t clarke_product_carry_limit(size_t u, size_t v, size_t pairs);

/* The digits of rows r0.. (p->rows of them) and columns c0.. (p->cols) of m; p has its width, planes, and room for them. */
void clarke_panel_cut(clarke_panel *p, const clarke_matrix *m, size_t r0, size_t c0);

#endif
