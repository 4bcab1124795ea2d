/* Hyperplane arrangements, central and affine.
 *
 * Given are the columns v_0, ..., v_(p-1) of an n x p matrix of rationals, and perhaps offsets t. Asked are the sign vectors of
 * the points that lie on no hyperplane {x : <v_j, x> = t_j}: sign j is that of <v_j, x> - t_j. A column 0 is no hyperplane: its
 * sign is the same everywhere, that of -t_j. Each sign vector belongs to one region, one connected component of what the
 * hyperplanes leave.
 *
 * An affine arrangement is one of rows (v_j, -t_j) with the last row (0, 1) positive, in one dimension more. Of a central one
 * s and -s occur together, so one row is taken positive and all is doubled. Columns that are multiples of one another make one
 * row. The dimension is lowered to the rank: coordinates on which the rows depend through others are 0. */
#ifndef CLARKE_REGION_ARRANGEMENT_H
#define CLARKE_REGION_ARRANGEMENT_H

#include "region/sign_vectors.h"

typedef struct {
  size_t n, p;
  bool affine;
  size_t rank;       /* of the rows */
  clarke_rows rows;  /* in `rank` dimensions; row 0 is positive, if there is one */
  size_t *row;       /* p: by column, or CLARKE_NO_ROW */
  signed char *turn; /* p: the row times this has the column's direction (1 for its first); without a row: the sign everywhere */
  size_t *first;     /* by row: its first column; p for (0, 1) */
  size_t *kept;      /* rank: the coordinates that are kept; n for the last of an affine one */
} clarke_arrangement;

#define CLARKE_NO_ROW SIZE_MAX
#define CLARKE_ARRANGEMENT_ROWS ((size_t)512)     /* n, at most */
#define CLARKE_ARRANGEMENT_COLUMNS ((size_t)4096) /* p, at most */

/* v: n x p, by rows; t: p, or NULL for a central one. CLARKE_ENOMEM when there are more rows or columns than above. */
clarke_status clarke_arrangement_init(clarke_arrangement *a, size_t n, size_t p, mpq_t *v, mpq_t *t, clarke_error *err);
void clarke_arrangement_clear(clarke_arrangement *a); /* of one that is zeroed, too */

/* All sign vectors, up to s and -s for a central one. The tree speaks of rows. */
clarke_status clarke_arrangement_enumerate(clarke_sign_tree *tree, const clarke_arrangement *a, const clarke_sign_visitor *visitor,
                                           clarke_error *err);

/* How many sign vectors are there for that many leaves of a tree? */
size_t clarke_arrangement_count(const clarke_arrangement *a, size_t leaves);

/* The sign of a column under the rows' signs. */
int clarke_arrangement_sign(const clarke_arrangement *a, const signed char *row_sign, size_t column);

/* The point (n integers; of an affine one n + 1, the last of them a common denominator above 0) that a witness stands for. */
void clarke_arrangement_point(fmpz *point, const clarke_arrangement *a, const clarke_witness *w);

#endif
