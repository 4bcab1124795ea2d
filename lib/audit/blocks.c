/* Blocks of a layer's system share no parameters: a convolution's filters are apart from each other. Where
 * one has no direction, AD's output may be separated in its own parameters, whatever all other touches
 * do: a few of the block's are branched on, the rest is bounded.
 *
 * The vector is the point of a hull nearest to the origin: of what cells change in AD's output, as floats have it. Every
 * cell that it turns out not to separate joins the hull, until a tree covers all of them (or none can). */
#include "audit/block_hulls.h"

#include "audit/branch_and_bound.h"
#include "audit/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 64
#define MOST_TOUCHES ((size_t)1 << 14)
#define MOST_CLASSES 1024 /* with more no tree is small */
#define LARGEST 4096 /* entry of v */
#define WORK 8192 /* systems solved for a block */

/* A vector that separates the cells so far, rounded to small integers. */
static clarke_status
find_vector(bool *found, clarke_row *row, clarke_sample *s, clarke_error *err)
{
  const clarke_classes *c = &s->classes;
  clarke_status status = clarke_sample_separate(found, s, err);
  double most = 0;
  mpq_t x;

  for (size_t j = 0; j < c->n_columns && status == CLARKE_OK; j++)
    most = fabs(s->v[j]) > most ? fabs(s->v[j]) : most;
  mpq_init(x);
  row->n = 0;
  for (size_t j = 0; j < c->n_columns && status == CLARKE_OK && *found; j++) {
    s->v[j] = rint(s->v[j] / most * LARGEST);
    mpq_set_d(x, s->v[j]);
    if (s->v[j] != 0)
      status = clarke_row_add(row, c->column[j], x, err);
  }
  mpq_clear(x);
  return status;
}

/* First by guesses alone; then every leaf is proved. */
static clarke_status
cover(clarke_bounding *answer, size_t *work, clarke_audit *a, clarke_sample *s,
      const clarke_question *q, clarke_error *err)
{
  clarke_separation separation;
  clarke_status status =
    clarke_branch_and_bound(answer, &a->tree, s->option, work, &s->classes, s->v, NULL, q, err);

  if (status != CLARKE_OK || *answer != CLARKE_BOUNDED)
    return status;
  status = clarke_separation_init(&separation, q, &a->membership.v, err);
  if (status == CLARKE_OK)
    status = clarke_branch_and_bound(answer, &a->tree, s->option, work, &s->classes, s->v, &separation, q, err);
  clarke_separation_clear(&separation);
  return status;
}

/* *answer: COVERED, or what the last search ended with. *inside: floats cannot tell AD's output from the hull of the
 * cells found. */
static clarke_status
separate_block(clarke_bounding *answer, bool *inside, clarke_audit *a, clarke_sample *s,
               const clarke_question *q, clarke_error *err)
{
  size_t work = WORK;
  bool found = true;
  clarke_status status = CLARKE_OK;

  *answer = CLARKE_VIOLATED;
  while (status == CLARKE_OK && found && *answer == CLARKE_VIOLATED && s->n < s->most &&
         s->classes.n > 0 && s->classes.n <= MOST_CLASSES) {
    status = find_vector(&found, &a->membership.v, s, err);
    if (status == CLARKE_OK && found)
      status = cover(answer, &work, a, s, q, err);
    if (status == CLARKE_OK && found && *answer == CLARKE_VIOLATED)
      clarke_sample_add(s);
  }
  *inside = !found;
  return status;
}

/* The block of the marked touches: is AD's output separated there, or surrounded? */
static clarke_status
settle_block(bool *separated, clarke_audit *a, const bool *among, clarke_block_hulls *surrounding,
             clarke_error *err)
{
  clarke_bounding answer = CLARKE_EXHAUSTED;
  bool inside = false;
  clarke_sample s;
  clarke_status status = clarke_sample_init(&s, surrounding->q, among, err);

  if (status == CLARKE_OK)
    status = separate_block(&answer, &inside, a, &s, surrounding->q, err);
  *separated = status == CLARKE_OK && answer == CLARKE_BOUNDED;
  if (status == CLARKE_OK && !*separated)
    status = clarke_block_hulls_add(surrounding, a, among, inside ? &s : NULL, err);
  clarke_sample_clear(&s);
  return status;
}

static clarke_status
settle_layer(bool *separated, clarke_audit *a, const clarke_layer *layer,
             clarke_block_hulls *surrounding, clarke_error *err)
{
  const clarke_question *q = surrounding->q;
  size_t attempts = 0;
  bool *among = malloc(q->replay->n_touches + 1), found = true;
  clarke_blocks *blocks = NULL;
  clarke_status status = among != NULL ? clarke_blocks_begin(&blocks, layer, &a->cell[0], q, err)
                                       : clarke_no_memory(err);

  while (found && !*separated && attempts++ < ATTEMPTS && status == CLARKE_OK) {
    status = clarke_blocks_next(&found, among, blocks, err);
    if (status == CLARKE_OK && found)
      status = settle_block(separated, a, among, surrounding, err);
  }
  surrounding->whole = surrounding->whole && !found;
  clarke_blocks_end(blocks);
  free(among);
  return status;
}

static clarke_status
settle_layers(clarke_audit *a, const clarke_question *q, clarke_error *err)
{
  bool separated = false, inside = false;
  clarke_block_hulls surrounding;
  clarke_status status = clarke_block_hulls_init(&surrounding, q, err);

  for (size_t i = 0; i < a->n_layers && !separated && status == CLARKE_OK; i++) {
    if (a->layer[i].feasible != CLARKE_NO || a->layer[i].moving == 0)
      continue;
    if (a->layer[i].moving <= MOST_TOUCHES)
      status = settle_layer(&separated, a, &a->layer[i], &surrounding, err);
    else
      surrounding.whole = false;
  }
  if (status == CLARKE_OK && !separated)
    status = clarke_block_hulls_finish(&inside, &surrounding, a, err);
  if (separated || inside)
    a->membership.place = separated ? CLARKE_HULL_OUTSIDE : CLARKE_HULL_INSIDE;
  clarke_block_hulls_clear(&surrounding);
  return status;
}

clarke_status
clarke_settle_blocks(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  bool piecewise;
  clarke_status status = clarke_graph_is_piecewise(&piecewise, q->g, err);

  if (status != CLARKE_OK || !piecewise)
    return status;
  status = clarke_adjoints_find(q, err);
  if (status == CLARKE_OK)
    status = settle_layers(a, q, err);
  if (a->membership.place != CLARKE_HULL_OUTSIDE)
    clarke_tree_clear(&a->tree);
  return status;
}
