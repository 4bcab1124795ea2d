/* Algorithm 1's P_l for a layer, its kinks and windows over the whole minibatch, and the global system:
 * the same rows, cut to the layer's own parameters or not. */
#include "audit/layer_system.h"

#include "audit/touch_row.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  size_t touch, condition;
} asked;

typedef struct {
  size_t n, most; /* n == CLARKE_NONE: the rows are too large */
  clarke_row *row;
  asked *owner;
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

    if (step != CLARKE_NONE && t->step != step && t->step != inner)
      continue;
    for (size_t c = 0; c < clarke_touch_conditions(t); c++)
      if (clarke_cell_asks(cell, q, k, c))
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
  columns.frugal = true;
  for (size_t j = 0; j < q->replay->near.n; j++)
    for (size_t i = 0; i < s->n && status == CLARKE_OK && !columns.far && entries <= CLARKE_SYSTEM_LIMIT; i++) {
      const asked *o = &s->owner[i];
      bool one;

      if (q->replay->touch[o->touch].column != j)
        continue;
      status = clarke_touch_row(&s->row[i], &one, &columns, o->touch, cell->side[o->touch],
                                o->condition, segment, err);
      s->exact = s->exact && one;
      entries += s->row[i].n;
    }
  if (status == CLARKE_OK && (entries > CLARKE_SYSTEM_LIMIT || columns.far))
    s->n = CLARKE_NONE;
  clarke_columns_clear(&columns);
  return status;
}

static void
rows_clear(layer_rows *s)
{
  for (size_t i = 0; i < s->most; i++)
    clarke_row_clear(&s->row[i]);
  free(s->row);
  free(s->owner);
}

static clarke_status
rows_init(layer_rows *s, size_t step, const clarke_cell *cell, const clarke_question *q,
            clarke_error *err)
{
  size_t most = q->replay->n_conditions;

  memset(s, 0, sizeof *s);
  s->row = malloc((most + 1) * sizeof *s->row);
  s->owner = malloc((most + 1) * sizeof *s->owner);
  if (s->row == NULL || s->owner == NULL)
    return clarke_no_memory(err);
  for (; s->most < most; s->most++)
    clarke_row_init(&s->row[s->most]);
  list_rows(s, step, cell, q);
  return make_rows(s, step != CLARKE_NONE, cell, q, err);
}

/* The block of row `first`, alone. */
static clarke_status
solve_one(clarke_cone_answer *answer, const layer_rows *s, const size_t *block, size_t first,
          const clarke_graph *g, clarke_error *err)
{
  clarke_row *row = malloc((s->n + 1) * sizeof *row);
  size_t n = 0;
  clarke_status status;

  if (row == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < s->n; i++)
    if (block[i] == block[first])
      row[n++] = s->row[i]; /* borrowed */
  status = clarke_system_solve(answer, NULL, NULL, row, n, g, err);
  free(row);
  return status;
}

/* The blocks, each by its first row that is not 0; rows that are 0 are one block, without a direction. */
static clarke_status
count_blocks(clarke_block_counts *counts, const layer_rows *s, clarke_cone_answer all,
             const clarke_graph *g, clarke_error *err)
{
  size_t *block = malloc((s->n + 1) * sizeof *block);
  bool zero = false;
  clarke_status status = block != NULL ? clarke_system_blocks(block, s->row, s->n, err)
                                       : clarke_no_memory(err);

  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++) {
    clarke_cone_answer answer = CLARKE_CONE_EMPTY;

    if (s->row[i].n == 0 ? zero : block[i] != i)
      continue;
    zero = zero || s->row[i].n == 0;
    if (all == CLARKE_CONE_FEASIBLE)
      answer = CLARKE_CONE_FEASIBLE;
    else if (s->row[i].n > 0)
      status = solve_one(&answer, s, block, i, g, err);
    counts->n++;
    counts->empty += answer == CLARKE_CONE_EMPTY && s->exact;
    counts->open += answer == CLARKE_CONE_UNKNOWN || (answer == CLARKE_CONE_EMPTY && !s->exact);
  }
  counts->known = status == CLARKE_OK;
  counts->exact = s->exact;
  free(block);
  return status;
}

static clarke_status
solve(clarke_cone_answer *answer, clarke_direction *d, clarke_block_counts *counts, size_t step,
      const clarke_cell *cell, const clarke_question *q, clarke_error *err)
{
  layer_rows s;
  clarke_status status = rows_init(&s, step, cell, q, err);

  *answer = CLARKE_CONE_UNKNOWN;
  if (status == CLARKE_OK && s.n != CLARKE_NONE)
    status = clarke_system_solve(answer, d, NULL, s.row, s.n, q->g, err);
  if (status == CLARKE_OK && s.n != CLARKE_NONE && counts != NULL)
    status = count_blocks(counts, &s, *answer, q->g, err);
  /* Midpoints only guess: the cell's own check decides about a direction. */
  if (!s.exact && *answer == CLARKE_CONE_EMPTY)
    *answer = CLARKE_CONE_UNKNOWN;
  rows_clear(&s);
  return status;
}

/* --- one block after another ---------------------------------------------------------------- */

struct clarke_blocks {
  layer_rows rows;
  size_t *block, next;
  const clarke_question *q;
};

clarke_status
clarke_blocks_begin(clarke_blocks **b, const clarke_layer *layer, const clarke_cell *cell,
                    const clarke_question *q, clarke_error *err)
{
  clarke_status status;

  *b = calloc(1, sizeof **b);
  if (*b == NULL)
    return clarke_no_memory(err);
  (*b)->q = q;
  status = rows_init(&(*b)->rows, layer->step, cell, q, err);
  if (status != CLARKE_OK || (*b)->rows.n == CLARKE_NONE || !(*b)->rows.exact)
    return status;
  (*b)->block = malloc(((*b)->rows.n + 1) * sizeof *(*b)->block);
  return (*b)->block != NULL
           ? clarke_system_blocks((*b)->block, (*b)->rows.row, (*b)->rows.n, err)
           : clarke_no_memory(err);
}

void
clarke_blocks_end(clarke_blocks *b)
{
  if (b == NULL)
    return;
  free(b->block);
  rows_clear(&b->rows);
  free(b);
}

void
clarke_blocks_touches(bool *touch, const clarke_blocks *b)
{
  const layer_rows *s = &b->rows;

  memset(touch, 0, b->q->replay->n_touches);
  for (size_t i = 0; b->block != NULL && i < s->n; i++)
    touch[s->owner[i].touch] = true;
  for (size_t i = 0; b->block != NULL && i < s->n; i++)
    if (s->row[i].n == 0)
      touch[s->owner[i].touch] = false;
}

clarke_status
clarke_blocks_next(bool *found, bool *touch, clarke_blocks *b, clarke_error *err)
{
  const layer_rows *s = &b->rows;
  clarke_status status = CLARKE_OK;

  *found = false;
  for (; b->block != NULL && !*found && b->next < s->n && status == CLARKE_OK; b->next++) {
    clarke_cone_answer answer;
    size_t first = b->next;

    if (b->block[first] != first || s->row[first].n == 0)
      continue;
    status = solve_one(&answer, s, b->block, first, b->q->g, err);
    *found = status == CLARKE_OK && answer == CLARKE_CONE_EMPTY;
    memset(touch, 0, b->q->replay->n_touches);
    for (size_t i = 0; i < s->n; i++)
      if (b->block[i] == first)
        touch[s->owner[i].touch] = true;
  }
  return status;
}

clarke_status
clarke_layer_system(clarke_cone_answer *answer, clarke_direction *d, clarke_block_counts *counts,
                    const clarke_layer *layer, const clarke_cell *cell, const clarke_question *q,
                    clarke_error *err)
{
  return solve(answer, d, counts, layer->step, cell, q, err);
}

clarke_status
clarke_first_order(clarke_cone_answer *answer, clarke_direction *d, const clarke_cell *cell,
                   const clarke_question *q, clarke_error *err)
{
  return solve(answer, d, NULL, CLARKE_NONE, cell, q, err);
}
