/* Blocks of a layer's system share no parameters: a convolution's filters are apart from each other. Where
 * one has no direction, AD's output may be separated in its own parameters, whatever all other touches
 * do, as long as none of them moves along the separating vector. */
#include "theorem/audit.h"

#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 64

static int8_t **
leaf_sides(const clarke_tree *t, size_t *n)
{
  int8_t **side = malloc((t->n + 1) * sizeof *side);

  *n = 0;
  for (size_t i = 0; side != NULL && i < t->n; i++)
    if (t->node[i].kind == CLARKE_LEAF)
      side[(*n)++] = t->node[i].side;
  return side;
}

/* The touches that move along v under some leaf though it does not branch on them join the others;
 * *more: there are some. */
static clarke_status
add_movers(bool *more, bool *among, int8_t *const *side, size_t n, const clarke_row *v,
           const clarke_question *q, clarke_error *err)
{
  bool *moves = malloc(q->replay->n_touches + 1);
  clarke_status status = moves != NULL ? CLARKE_OK
                                       : clarke_fail(err, CLARKE_ENOMEM, "out of memory");

  *more = false;
  for (size_t i = 0; i < n && status == CLARKE_OK && !*more; i++) {
    status = clarke_moves_along(moves, q, side[i], v, err);
    for (size_t k = 0; k < q->replay->n_touches && status == CLARKE_OK; k++)
      if (moves[k]) {
        among[k] = *more = true;
      }
  }
  free(moves);
  return status;
}

/* One attempt: *done when AD's output is separated; else *more when other touches have joined. */
static clarke_status
attempt(bool *done, bool *more, bool *among, const bool *within, clarke_audit *a,
        const clarke_question *q, clarke_error *err)
{
  int8_t **side = NULL;
  size_t n = 0;
  clarke_status status;

  *done = *more = false;
  clarke_tree_clear(&a->tree);
  clarke_membership_clear(&a->membership, 0);
  status = clarke_enumerate(&a->tree, q, among, err);
  if (status != CLARKE_OK || !a->tree.complete)
    return status;
  side = leaf_sides(&a->tree, &n);
  if (side == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  status = clarke_membership_find(&a->membership, q, side, n, within, err);
  if (status == CLARKE_OK && a->membership.place == CLARKE_OUTSIDE) {
    status = add_movers(more, among, side, n, &a->membership.v, q, err);
    *done = status == CLARKE_OK && !*more;
  }
  free(side);
  return status;
}

static clarke_status
separate_layer(bool *done, clarke_audit *a, const clarke_layer *layer, const clarke_question *q,
               clarke_error *err)
{
  size_t columns = clarke_column_base(q->g, q->g->n_parameters), from = 0;
  bool *among = malloc(q->replay->n_touches + 1), *within = malloc(columns + 1), found = true;
  clarke_status status = among != NULL && within != NULL
                           ? CLARKE_OK
                           : clarke_fail(err, CLARKE_ENOMEM, "out of memory");

  *done = false;
  for (size_t i = 0; i < ATTEMPTS && found && !*done && status == CLARKE_OK; i++) {
    bool more = true;

    memset(among, 0, q->replay->n_touches);
    memset(within, 0, columns);
    status = clarke_empty_block(&found, &from, among, within, layer, &a->cell[0], q, err);
    while (status == CLARKE_OK && found && more && !*done)
      status = attempt(done, &more, among, within, a, q, err);
  }
  free(among);
  free(within);
  return status;
}

clarke_status
clarke_separate_blocks(clarke_audit *a, const clarke_question *q, clarke_error *err)
{
  bool done = false;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < a->n_layers && !done && status == CLARKE_OK; i++)
    if (a->layer[i].feasible == CLARKE_NO && a->layer[i].moving > 0)
      status = separate_layer(&done, a, &a->layer[i], q, err);
  if (!done) {
    clarke_tree_clear(&a->tree);
    clarke_membership_clear(&a->membership, 0);
  }
  return status;
}
