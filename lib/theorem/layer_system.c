/* Algorithm 1's P_l for a layer, its kinks and windows over the whole minibatch, and the global system:
 * the same rows, cut to the layer's own parameters or not. */
#include "theorem/audit.h"

#include <stdlib.h>
#include <string.h>

/* A row that is not cut, in a graph that couples samples, takes a pass over all of their activations: no
 * more than so many entries in all. */
#define COUPLED_WORK ((size_t)1 << 27)

static bool
within_reach(size_t step, const clarke_question *q)
{
  return step != CLARKE_NONE || !clarke_graph_couples(q->g) ||
         q->replay->n_conditions <= COUPLED_WORK / (q->g->activations + 1);
}

typedef struct {
  size_t touch, condition;
} asked;

typedef struct {
  size_t n, most; /* n == CLARKE_NONE: the rows are too large */
  clarke_row *row;
  asked *owner;
  mpq_t *u;
  bool exact;
} layer_rows;

/* What the touches that move ask: of one layer (its step, and the pointwise one a MAX pools), or of all (step ==
 * CLARKE_NONE). */
static void
list_rows(layer_rows *s, size_t step, const clarke_cell *cell, const clarke_question *q)
{
  size_t inner = step != CLARKE_NONE ? clarke_graph_inner(q->g, step) : CLARKE_NONE;

  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    if ((step != CLARKE_NONE && t->step != step && t->step != inner) || cell->flat[k])
      continue;
    for (size_t c = 0; c < clarke_touch_conditions(t); c++)
      if (t->n_options == 0 || CLARKE_OPTION(c) != cell->side[k])
        s->owner[s->n++] = (asked){.touch = k, .condition = c};
  }
}

static clarke_status
make_rows(layer_rows *s, bool segment, const clarke_cell *cell, const clarke_question *q,
          clarke_error *err)
{
  size_t entries = 0;
  clarke_columns columns;
  clarke_status status = clarke_columns_init(&columns, q, cell->side, err);

  s->exact = true;
  for (size_t j = 0; j < q->replay->near.n; j++)
    for (size_t i = 0; i < s->n && status == CLARKE_OK && entries <= CLARKE_SYSTEM_LIMIT; i++) {
      const asked *o = &s->owner[i];
      bool one;

      if (q->replay->touch[o->touch].column != j)
        continue;
      status = clarke_touch_row(&s->row[i], &one, &columns, o->touch, cell->side[o->touch],
                                o->condition, segment, err);
      s->exact = s->exact && one;
      entries += s->row[i].n;
    }
  clarke_columns_clear(&columns);
  if (status == CLARKE_OK && entries > CLARKE_SYSTEM_LIMIT)
    s->n = CLARKE_NONE;
  return status;
}

static void
rows_clear(layer_rows *s)
{
  for (size_t i = 0; i < s->most; i++) {
    clarke_row_clear(&s->row[i]);
    mpq_clear(s->u[i]);
  }
  free(s->row);
  free(s->owner);
  free(s->u);
}

static clarke_status
rows_init(layer_rows *s, size_t step, const clarke_cell *cell, const clarke_question *q,
            clarke_error *err)
{
  size_t most = q->replay->n_conditions;

  memset(s, 0, sizeof *s);
  if (!within_reach(step, q)) {
    s->n = CLARKE_NONE;
    return CLARKE_OK;
  }
  s->row = malloc((most + 1) * sizeof *s->row);
  s->owner = malloc((most + 1) * sizeof *s->owner);
  s->u = malloc((most + 1) * sizeof *s->u);
  if (s->row == NULL || s->owner == NULL || s->u == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  for (; s->most < most; s->most++) {
    clarke_row_init(&s->row[s->most]);
    mpq_init(s->u[s->most]);
  }
  list_rows(s, step, cell, q);
  return make_rows(s, step != CLARKE_NONE, cell, q, err);
}

static clarke_status
solve(clarke_cone_answer *answer, clarke_direction *d, size_t step, const clarke_cell *cell,
      const clarke_question *q, clarke_error *err)
{
  layer_rows s;
  clarke_status status = rows_init(&s, step, cell, q, err);

  *answer = CLARKE_CONE_UNKNOWN;
  if (status == CLARKE_OK && s.n != CLARKE_NONE)
    status = clarke_system_solve(answer, d, s.u, s.row, s.n, q->g, err);
  /* Midpoints only guess: the cell's own check decides about a direction. */
  if (!s.exact && *answer == CLARKE_CONE_EMPTY)
    *answer = CLARKE_CONE_UNKNOWN;
  rows_clear(&s);
  return status;
}

/* The block of row `first`, alone. */
static clarke_status
solve_one(clarke_cone_answer *answer, const layer_rows *s, const size_t *block, size_t first,
          const clarke_graph *g, clarke_error *err)
{
  clarke_row *row = malloc((s->n + 1) * sizeof *row);
  clarke_direction unused;
  size_t n = 0;
  clarke_status status;

  if (row == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  for (size_t i = 0; i < s->n; i++)
    if (block[i] == block[first])
      row[n++] = s->row[i]; /* borrowed */
  clarke_direction_init(&unused);
  status = clarke_system_solve(answer, &unused, s->u, row, n, g, err);
  clarke_direction_clear(&unused);
  free(row);
  return status;
}

static void
mark_block(bool *touch, const layer_rows *s, const size_t *block, size_t first)
{
  for (size_t i = 0; i < s->n; i++)
    if (block[i] == block[first])
      touch[s->owner[i].touch] = true;
}

clarke_status
clarke_empty_block(bool *found, size_t *from, bool *touch, const clarke_layer *layer,
                   const clarke_cell *cell, const clarke_question *q, clarke_error *err)
{
  layer_rows s;
  size_t *block = NULL;
  clarke_status status = rows_init(&s, layer->step, cell, q, err);

  *found = false;
  if (status == CLARKE_OK && s.n != CLARKE_NONE && s.exact) {
    block = malloc((s.n + 1) * sizeof *block);
    status = block != NULL ? clarke_system_blocks(block, s.row, s.n, err)
                           : clarke_fail(err, CLARKE_ENOMEM, "out of memory");
    for (; status == CLARKE_OK && !*found && *from < s.n; (*from)++) {
      clarke_cone_answer answer;

      if (block[*from] != *from || s.row[*from].n == 0)
        continue;
      status = solve_one(&answer, &s, block, *from, q->g, err);
      *found = status == CLARKE_OK && answer == CLARKE_CONE_EMPTY;
      if (*found)
        mark_block(touch, &s, block, *from);
    }
  }
  free(block);
  rows_clear(&s);
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
