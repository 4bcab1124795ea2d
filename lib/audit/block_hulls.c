#include "audit/block_hulls.h"

#include "audit/realize.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BLOCKS 256

clarke_status
clarke_block_hulls_init(clarke_block_hulls *s, const clarke_question *q, clarke_error *err)
{
  const clarke_graph *g = q->g;

  s->q = q;
  s->whole = true;
  s->column = calloc(clarke_column_base(g, g->n_parameters) + 1, sizeof *s->column);
  return s->column != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_block_hulls_clear(clarke_block_hulls *s)
{
  free(s->column);
}

/* Marks the classes' columns; false when one is another block's too. */
static bool
take_columns(clarke_block_hulls *s, const clarke_classes *c)
{
  for (size_t j = 0; j < c->n_columns; j++) {
    if (s->column[c->column[j]])
      return false;
    s->column[c->column[j]] = true;
  }
  return true;
}

/* Are all touches of the block in its classes, and affine themselves? */
static bool
is_complete(const clarke_block_hulls *s, const bool *among, const clarke_classes *c)
{
  size_t all = 0;

  for (size_t k = 0; k < s->q->replay->n_touches; k++)
    all += among[k];
  for (size_t i = 0; i < c->n; i++)
    all -= c->class[i].plain ? c->class[i].n : 0;
  return all == 0;
}

clarke_status
clarke_block_hulls_add(bool *surrounded, clarke_block_hulls *s, clarke_audit *a, const bool *among,
                       clarke_sample *sample, clarke_error *err)
{
  const bool whole = s->whole;
  clarke_simplex *grown;
  clarke_status status;

  *surrounded = !whole && sample != NULL;
  s->whole = s->whole && sample != NULL && a->n_simplices < MOST_BLOCKS &&
             is_complete(s, among, &sample->classes) && take_columns(s, &sample->classes);
  if (!s->whole)
    return CLARKE_OK;
  grown = realloc(a->simplex, (a->n_simplices + 1) * sizeof *grown);
  if (grown == NULL)
    return clarke_no_memory(err);
  a->simplex = grown;
  clarke_simplex_init(&grown[a->n_simplices++]);
  status = clarke_simplex_find(&s->whole, &grown[a->n_simplices - 1], sample, s->q, err);
  *surrounded = s->whole;
  return status;
}

/* Does the direction leave the blocks' columns alone? */
static bool
spares(const clarke_block_hulls *s, const clarke_direction *d)
{
  const clarke_graph *g = s->q->g;

  for (size_t i = 0; i < d->n; i++) {
    const clarke_move *move = &d->move[i];
    const bool *column = s->column + clarke_column_base(g, move->parameter);
    bool one = move->kind == CLARKE_MOVE_AT;

    for (size_t e = one ? move->entry : 0;
         e < (one ? move->entry + 1 : g->parameters[move->parameter].count); e++)
      if (column[e])
        return false;
  }
  return true;
}

clarke_status
clarke_block_hulls_finish(bool *found, clarke_block_hulls *s, clarke_audit *a, clarke_error *err)
{
  const clarke_question *q = s->q;
  clarke_cell *cell = &a->others;
  clarke_branch *side;
  clarke_status status;

  *found = false;
  if (!s->whole || a->n_simplices == 0)
    return CLARKE_OK;
  side = malloc((q->replay->n_touches + 1) * sizeof *side);
  if (side == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < q->replay->n_touches; k++)
    side[k] = q->touch[k].ad_side;
  /* What is in a block is not asked for; with no side it makes nothing flat that lies behind it. */
  for (size_t i = 0; i < a->n_simplices; i++)
    for (size_t k = 0; k < a->simplex[i].n_touches; k++)
      side[a->simplex[i].touch[k]] = CLARKE_PROXY;
  status = clarke_cell_set(cell, q, side, err);
  for (size_t i = 0; i < a->n_simplices && status == CLARKE_OK; i++)
    for (size_t k = 0; k < a->simplex[i].n_touches; k++)
      cell->flat[a->simplex[i].touch[k]] = true;
  if (status == CLARKE_OK)
    status = clarke_realize_by_layers(found, cell, a, q, err);
  for (size_t i = 0; i < cell->n; i++)
    *found = *found && spares(s, &cell->direction[i]);
  free(side);
  return status;
}
