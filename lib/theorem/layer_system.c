/* Algorithm 1's P_l for a pointwise layer, and the global system: the same rows, cut to the layer's
 * own parameters or not. */
#include "theorem/audit.h"

#include <stdlib.h>

/* Solves for the moving touches of one step (or of all: step == CLARKE_NONE). */
static clarke_status
solve(clarke_cone_answer *answer, clarke_direction *d, size_t step, const clarke_cell *cell,
      const clarke_question *q, clarke_error *err)
{
  size_t n_touches = q->replay->n_touches, n = 0, entries = 0;
  clarke_row *row = malloc((n_touches + 1) * sizeof *row);
  mpq_t *u = malloc((n_touches + 1) * sizeof *u);
  clarke_columns columns;
  bool exact = true, too_large = false;
  clarke_status status;

  *answer = CLARKE_CONE_UNKNOWN;
  if (row == NULL || u == NULL) {
    free(row);
    free(u);
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  }
  for (size_t k = 0; k < n_touches; k++) {
    clarke_row_init(&row[k]);
    mpq_init(u[k]);
  }
  status = clarke_columns_init(&columns, q, cell->side, err);
  for (size_t k = 0; k < n_touches && status == CLARKE_OK && !too_large; k++) {
    if ((step != CLARKE_NONE && q->replay->touch[k].step != step) || cell->flat[k])
      continue;
    status = clarke_touch_row(&row[n], &exact, &columns, k, step != CLARKE_NONE, cell->side[k],
                              err);
    entries += row[n++].n;
    too_large = entries > CLARKE_SYSTEM_LIMIT;
  }
  clarke_columns_clear(&columns);
  if (status == CLARKE_OK && !too_large)
    status = clarke_system_solve(answer, d, u, row, n, q->g, err);
  /* Midpoints only guess: the cell's own check decides about a direction. */
  if (!exact && *answer == CLARKE_CONE_EMPTY)
    *answer = CLARKE_CONE_UNKNOWN;
  for (size_t k = 0; k < n_touches; k++) {
    clarke_row_clear(&row[k]);
    mpq_clear(u[k]);
  }
  free(row);
  free(u);
  return status;
}

clarke_status
clarke_layer_system(clarke_cone_answer *answer, clarke_direction *d, const clarke_layer *layer,
                    const clarke_cell *cell, const clarke_question *q, clarke_error *err)
{
  return solve(answer, d, layer->step, cell, q, err);
}

clarke_status
clarke_first_order(clarke_cone_answer *answer, clarke_direction *d, const clarke_cell *cell,
                   const clarke_question *q, clarke_error *err)
{
  return solve(answer, d, CLARKE_NONE, cell, q, err);
}
