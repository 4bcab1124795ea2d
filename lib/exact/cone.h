/* Strict cones: is there d with A d > 0 in every row? (Gordan: if not, some u >= 0, u != 0 has
 * A^T u = 0, and never both.) All strict systems of the library come here.
 *
 * A float simplex guesses; whatever is returned has been verified in integers. When nothing
 * verifies the answer is CLARKE_CONE_UNKNOWN, never a guess. */
#ifndef CLARKE_EXACT_CONE_H
#define CLARKE_EXACT_CONE_H

#include "base/status.h"

#include <gmp.h>
#include <stdint.h>
#include <flint/flint.h>
#include <flint/fmpz_mat.h>

typedef enum {
  CLARKE_CONE_FEASIBLE, /* d is set: A d > 0 */
  CLARKE_CONE_EMPTY,    /* u is set: u >= 0, u != 0, A^T u = 0 */
  CLARKE_CONE_UNKNOWN,
} clarke_cone_answer;

typedef struct {
  clarke_cone_answer answer;
  fmpz_mat_t d; /* n x 1 */
  fmpz_mat_t u; /* m x 1 */
  size_t blocks; /* independent blocks (row sets sharing no column) it split into */
} clarke_cone;

void clarke_cone_init(clarke_cone *cone);
void clarke_cone_clear(clarke_cone *cone);

/* How long a linear program is tried before its answer is UNKNOWN: operations on its entries, counted pivot by
 * pivot. No clock decides, so that one input always has one answer. Some 10^8 of them take a second. */
#define CLARKE_CONE_WORK ((uint64_t)1000000000)
#define CLARKE_CONE_LITTLE_WORK (CLARKE_CONE_WORK / 10) /* for searches with many cones */

/* A: m x n integers (scale each rational row to integers first: the sign of a row's product is
 * all that matters). m == 0 is feasible (d = 0). Cheap certificates come first: a zero row, an
 * opposite pair; one row or independent rows; then the linear program, block by block, on distinct
 * primitive rows; last the element of least norm of the rows' hull. work bounds each float solve, and
 * the search for that element. */
clarke_status clarke_cone_solve(clarke_cone *cone, const fmpz_mat_t a, uint64_t work,
                                clarke_error *err);

/* The same for many rows of few columns: of those few decide, and they are looked for one by one, beginning with row `first`. The
 * whole system is solved where that comes to nothing, and where there are no more rows than would be looked for. */
clarke_status clarke_cone_solve_few(clarke_cone *cone, const fmpz_mat_t a, slong first, uint64_t work, clarke_error *err);

/* Frees what the linear solver keeps for the calling thread, which is to end. */
void clarke_cone_end_thread(void);

/* Is the cone's certificate right for A? (UNKNOWN is never.) */
int clarke_cone_verify(const clarke_cone *cone, const fmpz_mat_t a);

#endif
