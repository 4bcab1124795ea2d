/* Blocks of a layer's system share no parameters: a convolution's filters are apart from each other. Where
 * one has no direction, AD's output may be separated in its own parameters, whatever all other touches
 * do: a few of the block's are branched on, the rest is bounded.
 *
 * The vector is the point of a hull nearest to the origin: of what cells change in AD's output, as floats have it. Every
 * cell that it turns out not to separate joins the hull, until a tree covers all of them (or none can). */
#include "audit/blocks.h"

#include "audit/block_hulls.h"

#include "audit/branch_and_bound.h"
#include "audit/layer_system.h"
#include "audit/layers.h"
#include "audit/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 64
#define MOST_TOUCHES ((size_t)1 << 14)
#define MOST_CLASSES 1024 /* with more no tree is small */
#define LARGEST 4096 /* entry of v */
#define FIRST 16 /* parts of a tree's nodes */
#define SYSTEMS 4 /* solved for a block, a node of one tree */

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
cover(clarke_bounding *answer, clarke_audit *a, clarke_sample *s, clarke_search *search, clarke_error *err)
{
  clarke_separation separation;
  clarke_status status = clarke_branch_and_bound(answer, &a->tree, s->option, search, s->v, NULL, err);

  if (status != CLARKE_OK || *answer != CLARKE_BOUNDED)
    return status;
  status = clarke_separation_init(&separation, search->q, &a->membership.v, err);
  if (status == CLARKE_OK)
    status = clarke_branch_and_bound(answer, &a->tree, s->option, search, s->v, &separation, err);
  clarke_separation_clear(&separation);
  return status;
}

/* *answer: COVERED, or what the last search ended with. *inside: floats cannot tell AD's output from the hull of the
 * cells found. A cell that is found again says that v separates it, but not what is open outside of the block. */
static clarke_status
separate_block(clarke_bounding *answer, bool *inside, clarke_audit *a, clarke_sample *s, clarke_search *search,
               clarke_error *err)
{
  bool found = true;
  clarke_status status = CLARKE_OK;

  *answer = CLARKE_VIOLATED;
  while (status == CLARKE_OK && found && *answer == CLARKE_VIOLATED && s->n < s->most &&
         s->classes.n > 0 && s->classes.n <= MOST_CLASSES) {
    status = find_vector(&found, &a->membership.v, s, err);
    if (status == CLARKE_OK && found)
      status = cover(answer, a, s, search, err);
    if (status != CLARKE_OK || !found || *answer != CLARKE_VIOLATED)
      continue;
    if (clarke_sample_has(s))
      *answer = CLARKE_EXHAUSTED;
    else
      clarke_sample_add(s);
  }
  *inside = !found;
  return status;
}

/* Why the block is neither separated nor surrounded. */
static void
note_obstacle(clarke_obstacle *o, const clarke_sample *s, const clarke_search *search, bool inside, size_t touches)
{
  const size_t classes = s->classes.n;
  size_t affine = 0;

  for (size_t i = 0; i < classes; i++)
    affine += s->classes.class[i].n;
  o->separated += classes > 0 && classes <= MOST_CLASSES && !inside;
  if (inside ? affine < touches : classes == 0)
    clarke_obstacle_meet(o, CLARKE_OBSTACLE_CURVED, touches);
  else if (classes > MOST_CLASSES)
    clarke_obstacle_meet(o, CLARKE_OBSTACLE_CLASSES, touches);
  else if (!inside)
    clarke_obstacle_meet(o, search->tree_full ? CLARKE_OBSTACLE_TREE : CLARKE_OBSTACLE_OUTSIDE, touches);
  else
    clarke_obstacle_meet(o, CLARKE_OBSTACLE_SIMPLEX, touches);
}

/* What has no side before any block was looked at: all that moves in layers without a direction. */
static clarke_status
begin_sides(clarke_audit *a, const clarke_question *q, clarke_error *err)
{
  bool *sideless = calloc(q->replay->n_touches + 1, sizeof *sideless);

  if (sideless == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < a->n_layers; i++)
    for (size_t k = 0; k < q->replay->n_touches && a->layer[i].feasible != CLARKE_YES; k++)
      if (q->replay->touch[k].step == a->layer[i].step)
        sideless[k] = clarke_cell_moves(&a->cell[0], q, k);
  a->obstacle.sideless = sideless;
  return CLARKE_OK;
}

/* Touches of a system whose blocks are looked at one by one: those that are not in a block without a direction have one. */
static void
set_sides(clarke_obstacle *o, const bool *among, size_t n_touches, bool sideless)
{
  for (size_t k = 0; k < n_touches; k++)
    o->sideless[k] = among[k] ? sideless : o->sideless[k];
}

static size_t
mark_sideless(clarke_obstacle *o, const bool *among, size_t n_touches)
{
  size_t touches = 0;

  o->blocks++;
  for (size_t k = 0; k < n_touches; k++)
    touches += among[k];
  set_sides(o, among, n_touches, true);
  return touches;
}

/* The block of the marked touches: is AD's output separated there, or surrounded? */
static clarke_status
settle_block(bool *separated, clarke_audit *a, const bool *among, clarke_block_hulls *surrounding,
             size_t nodes, clarke_error *err)
{
  const size_t touches = mark_sideless(&a->obstacle, among, surrounding->q->replay->n_touches);
  clarke_bounding answer = CLARKE_EXHAUSTED;
  bool inside = false, surrounded = false;
  clarke_sample s;
  clarke_search search;
  clarke_status status = clarke_sample_init(&s, surrounding->q, among, err);

  clarke_search_init(&search, surrounding->q, &s.classes, SYSTEMS * nodes, nodes);
  if (status == CLARKE_OK)
    status = separate_block(&answer, &inside, a, &s, &search, err);
  *separated = status == CLARKE_OK && answer == CLARKE_BOUNDED;
  if (status == CLARKE_OK && !*separated)
    status = clarke_block_hulls_add(&surrounded, surrounding, a, among, inside ? &s : NULL, err);
  if (status == CLARKE_OK && !*separated && !surrounded)
    note_obstacle(&a->obstacle, &s, &search, inside, touches);
  a->obstacle.systems += search.solved;
  a->obstacle.recalled += search.recalled;
  clarke_search_clear(&search);
  clarke_sample_clear(&s);
  return status;
}

static clarke_status
settle_layer(bool *separated, clarke_audit *a, const clarke_layer *layer,
             clarke_block_hulls *surrounding, size_t nodes, clarke_error *err)
{
  const clarke_question *q = surrounding->q;
  size_t attempts = 0;
  bool *among = malloc(q->replay->n_touches + 1), found = true;
  clarke_blocks *blocks = NULL;
  clarke_status status = among != NULL ? clarke_blocks_begin(&blocks, layer, &a->cell[0], q, err)
                                       : clarke_no_memory(err);

  if (status == CLARKE_OK) {
    clarke_blocks_touches(among, blocks);
    set_sides(&a->obstacle, among, q->replay->n_touches, false);
  }
  while (found && !*separated && attempts++ < ATTEMPTS && status == CLARKE_OK) {
    status = clarke_blocks_next(&found, among, blocks, err);
    if (status == CLARKE_OK && found)
      status = settle_block(separated, a, among, surrounding, nodes, err);
  }
  if (status == CLARKE_OK && found) { /* not to the end */
    clarke_blocks_touches(among, blocks);
    set_sides(&a->obstacle, among, q->replay->n_touches, true);
  }
  surrounding->whole = surrounding->whole && !found;
  clarke_blocks_end(blocks);
  free(among);
  return status;
}

static clarke_status
settle_layers(clarke_audit *a, const clarke_question *q, size_t nodes, clarke_error *err)
{
  bool separated = false, inside = false;
  clarke_block_hulls surrounding;
  clarke_status status = clarke_block_hulls_init(&surrounding, q, err);

  for (size_t i = 0; i < a->n_layers && !separated && status == CLARKE_OK; i++) {
    if (a->layer[i].feasible != CLARKE_NO || a->layer[i].moving == 0)
      continue;
    if (a->layer[i].moving <= MOST_TOUCHES)
      status = settle_layer(&separated, a, &a->layer[i], &surrounding, nodes, err);
    else {
      surrounding.whole = false;
      clarke_obstacle_meet(&a->obstacle, CLARKE_OBSTACLE_CLASSES, a->layer[i].moving);
    }
  }
  if (status == CLARKE_OK && !separated)
    status = clarke_block_hulls_finish(&inside, &surrounding, a, err);
  if (status == CLARKE_OK && !separated && !inside && surrounding.whole && a->n_simplices > 0)
    clarke_obstacle_meet(&a->obstacle, CLARKE_OBSTACLE_BEHIND, 0);
  if (separated || inside)
    a->membership.place = separated ? CLARKE_HULL_OUTSIDE : CLARKE_HULL_INSIDE;
  clarke_block_hulls_clear(&surrounding);
  return status;
}

void
clarke_audit_drop_simplices(clarke_audit *a)
{
  for (size_t i = 0; i < a->n_simplices; i++)
    clarke_simplex_clear(&a->simplex[i]);
  free(a->simplex);
  clarke_cell_clear(&a->others);
  a->simplex = NULL;
  a->n_simplices = 0;
}

/* First by small trees: another block may need no large one. */
static clarke_status
settle_twice(clarke_audit *a, const clarke_question *q, clarke_error *err)
{
  clarke_status status = settle_layers(a, q, clarke_tree_nodes() / FIRST + 1, err);

  if (status != CLARKE_OK || a->obstacle.kind != CLARKE_OBSTACLE_TREE || a->membership.place != CLARKE_HULL_UNKNOWN)
    return status;
  clarke_obstacle_clear(&a->obstacle);
  clarke_audit_drop_simplices(a);
  status = begin_sides(a, q, err);
  return status == CLARKE_OK ? settle_layers(a, q, clarke_tree_nodes(), err) : status;
}

clarke_status
clarke_settle_blocks(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  bool piecewise;
  clarke_status status = clarke_graph_is_piecewise(&piecewise, q->g, err);

  if (status == CLARKE_OK && !piecewise)
    clarke_obstacle_meet(&a->obstacle, CLARKE_OBSTACLE_SMOOTH, 0);
  if (status != CLARKE_OK || !piecewise)
    return status;
  status = begin_sides(a, q, err);
  if (status == CLARKE_OK)
    status = clarke_adjoints_find(q, err);
  if (status == CLARKE_OK)
    status = settle_twice(a, q, err);
  if (a->membership.place != CLARKE_HULL_OUTSIDE)
    clarke_tree_clear(&a->tree);
  return status;
}
