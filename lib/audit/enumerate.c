#include "audit/enumerate.h"

#include "audit/factor.h"
#include "audit/path.h"
#include "audit/obstacle.h"
#include "audit/touch_row.h"
#include "base/verify.h"

#include <stdlib.h>
#include <string.h>

clarke_branch **
clarke_tree_leaves(const clarke_tree *t, size_t *n)
{
  clarke_branch **side = malloc((t->n + 1) * sizeof *side);

  *n = 0;
  for (size_t i = 0; side != NULL && i < t->n; i++)
    if (t->node[i].kind == CLARKE_LEAF)
      side[(*n)++] = t->node[i].side;
  return side;
}

/* The visit: sides chosen so far, and what they ask. */
typedef struct {
  clarke_tree *tree;
  const clarke_question *q;
  clarke_branch *side;     /* CLARKE_PROXY: not reached */
  clarke_path path;
  clarke_error *err;
} visit;

static clarke_status
add_leaf(visit *v)
{
  clarke_node *leaf = clarke_tree_add(v->tree, CLARKE_LEAF);
  size_t n = v->q->replay->n_touches;

  if (leaf != NULL)
    leaf->side = malloc((n + 1) * sizeof *leaf->side);
  if (leaf == NULL || leaf->side == NULL)
    return clarke_no_memory(v->err);
  memcpy(leaf->side, v->side, n * sizeof *leaf->side);
  return CLARKE_OK;
}

/* Is the path refuted by what it asks? Then a DEAD node has been added. */
static clarke_status
refute(bool *dead, visit *v)
{
  clarke_cone_answer answer;
  clarke_status status = clarke_path_solve(&answer, NULL, v->tree, &v->path, v->q->g, v->err);

  *dead = status == CLARKE_OK && answer == CLARKE_CONE_EMPTY;
  return status;
}

/* Does a condition of a side have a row? Not if it is constant, nor if it is neither affine nor so but for a factor:
 * then *open, too. */
static clarke_status
has_row(bool *row, bool *open, const clarke_marking *m, size_t k, clarke_branch side, size_t condition, clarke_error *err)
{
  const bool window = m->q->replay->touch[k].n_options > 0;
  const uint8_t own = window ? clarke_marking_degree(m, k, CLARKE_OPTION_OF(side)) : 0;
  const uint8_t other = clarke_marking_degree(m, k, condition);

  *row = (own > 0 || other > 0) && !(window && CLARKE_OPTION(condition) == side);
  if (!*row || (own < 2 && other < 2))
    return CLARKE_OK;
  *open = true;
  return clarke_affine_but_for_a_factor(row, m, k, side, condition, err);
}

/* What this side of touch k asks, as rows added to the path: those that are not zero. *open: one is not affine, or not
 * zero. */
static clarke_status
add_constraints(bool *open, visit *v, size_t k, clarke_branch side)
{
  clarke_marking m;
  clarke_columns columns = {0};
  clarke_status status = clarke_marking_run(&m, v->q, v->side, v->err);

  *open = false;
  for (size_t c = 0; status == CLARKE_OK && c < clarke_touch_conditions(&v->q->replay->touch[k]); c++) {
    bool exact = false, wanted;
    clarke_row *row;

    status = has_row(&wanted, open, &m, k, side, c, v->err);
    if (status != CLARKE_OK || !wanted)
      continue;
    row = clarke_path_add(&v->path, k, c);
    if (columns.q == NULL)
      status = clarke_columns_init(&columns, v->q, v->side, v->err);
    if (status == CLARKE_OK)
      status = clarke_touch_row(row, &exact, &columns, k, side, c, false, v->err);
    *open = *open || !exact || row->n > 0;
    if (!exact || row->n == 0)
      clarke_path_drop(&v->path, v->path.n - 1);
  }
  if (columns.q != NULL)
    clarke_columns_clear(&columns);
  clarke_marking_clear(&m);
  return status;
}

static clarke_status descend(visit *v, size_t k);

/* One side of touch k, and what is below it. */
static clarke_status
take_side(visit *v, size_t k, clarke_branch side)
{
  size_t before = v->path.n;
  bool open, dead = false;
  clarke_status status = add_constraints(&open, v, k, side);

  v->side[k] = side;
  if (status == CLARKE_OK && v->path.n > before && v->path.n > 1)
    status = refute(&dead, v);
  if (status == CLARKE_OK && !dead)
    status = descend(v, k + 1);
  v->side[k] = CLARKE_PROXY;
  clarke_path_drop(&v->path, before);
  return status;
}

static clarke_status
branch(visit *v, size_t k)
{
  const clarke_touch *t = &v->q->replay->touch[k];
  clarke_node *node = clarke_tree_add(v->tree, CLARKE_BRANCH);
  clarke_status status = CLARKE_OK;

  if (node == NULL)
    return clarke_no_memory(v->err);
  node->at = k;
  node->n_branches = clarke_touch_sides(t);
  for (size_t o = 0; o < clarke_touch_sides(t) && status == CLARKE_OK; o++)
    status = take_side(v, k, clarke_side_numbered(t, o));
  return status;
}

static clarke_status
descend(visit *v, size_t k)
{
  clarke_branch first;
  size_t before = v->path.n;
  bool open = false;
  clarke_status status;

  if (v->tree->n > clarke_list_nodes()) {
    v->tree->complete = false;
    return CLARKE_OK;
  }
  if (k == v->q->replay->n_touches)
    return add_leaf(v);
  first = clarke_side_numbered(&v->q->replay->touch[k], 0);
  status = add_constraints(&open, v, k, first);
  clarke_path_drop(&v->path, before);
  if (status != CLARKE_OK || open)
    return status == CLARKE_OK ? branch(v, k) : status;
  /* The argument is constant, or the options are equal: the side does not matter, but what follows
   * must have one. */
  v->side[k] = first;
  status = descend(v, k + 1);
  v->side[k] = CLARKE_PROXY;
  return status;
}

/* May the tree be built? Every touch may double it: past the limit's logarithm only refutations could
 * help. */
static bool
within_reach(const clarke_question *q)
{
  for (size_t k = 0; k < q->replay->n_touches; k++)
    if (q->replay->touch[k].n_options > CLARKE_TREE_OPTIONS)
      return false;
  return q->replay->n_touches <= 200 && clarke_graph_wrt_count(q->g) <= 1 << 20;
}

clarke_status
clarke_enumerate(clarke_tree *t, const clarke_question *q, clarke_error *err)
{
  visit v = {.tree = t, .q = q, .err = err};
  clarke_status status;

  clarke_tree_clear(t);
  t->complete = within_reach(q);
  if (!t->complete)
    return CLARKE_OK;
  v.side = calloc(q->replay->n_touches + 1, sizeof *v.side);
  status = v.side != NULL ? clarke_path_init(&v.path, q->replay->n_conditions, err)
                          : clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = descend(&v, 0);
  clarke_path_clear(&v.path);
  free(v.side);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_tree_is_valid(t, q));
  return status;
}
