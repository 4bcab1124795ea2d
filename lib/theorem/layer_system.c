/* Algorithm 1's P_l for a layer, its kinks and windows over the whole minibatch, and the global system:
 * the same rows, cut to the layer's own parameters or not. */
#include "theorem/audit.h"

#include <stdlib.h>

/* The rows of the touches that move: of one layer (its step, and the pointwise one a MAX pools), or of
 * all (step == CLARKE_NONE). */
static clarke_status
make_rows(clarke_row *row, size_t *n, bool *exact, size_t step, const clarke_cell *cell,
          const clarke_question *q, clarke_error *err)
{
  size_t inner = step != CLARKE_NONE ? clarke_graph_inner(q->g, step) : CLARKE_NONE, entries = 0;
  clarke_columns columns;
  clarke_status status = clarke_columns_init(&columns, q, cell->side, err);

  *n = 0;
  *exact = true;
  for (size_t k = 0; k < q->replay->n_touches && status == CLARKE_OK; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    if ((step != CLARKE_NONE && t->step != step && t->step != inner) || cell->flat[k])
      continue;
    for (size_t c = 0; c < clarke_touch_conditions(t) && status == CLARKE_OK; c++) {
      bool one;

      if (t->n_options > 0 && CLARKE_OPTION(c) == cell->side[k])
        continue;
      status = clarke_touch_row(&row[*n], &one, &columns, k, cell->side[k], c, step != CLARKE_NONE,
                                err);
      *exact = *exact && one;
      entries += row[(*n)++].n;
    }
    if (entries > CLARKE_SYSTEM_LIMIT)
      break;
  }
  clarke_columns_clear(&columns);
  if (status == CLARKE_OK && entries > CLARKE_SYSTEM_LIMIT)
    *n = CLARKE_NONE;
  return status;
}

static clarke_status
solve(clarke_cone_answer *answer, clarke_direction *d, size_t step, const clarke_cell *cell,
      const clarke_question *q, clarke_error *err)
{
  size_t most = q->replay->n_conditions, n;
  clarke_row *row = malloc((most + 1) * sizeof *row);
  mpq_t *u = malloc((most + 1) * sizeof *u);
  bool exact;
  clarke_status status;

  *answer = CLARKE_CONE_UNKNOWN;
  if (row == NULL || u == NULL) {
    free(row);
    free(u);
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  }
  for (size_t i = 0; i < most; i++) {
    clarke_row_init(&row[i]);
    mpq_init(u[i]);
  }
  status = make_rows(row, &n, &exact, step, cell, q, err);
  if (status == CLARKE_OK && n != CLARKE_NONE)
    status = clarke_system_solve(answer, d, u, row, n, q->g, err);
  /* Midpoints only guess: the cell's own check decides about a direction. */
  if (!exact && *answer == CLARKE_CONE_EMPTY)
    *answer = CLARKE_CONE_UNKNOWN;
  for (size_t i = 0; i < most; i++) {
    clarke_row_clear(&row[i]);
    mpq_clear(u[i]);
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
