#include "audit/branch_and_bound.h"

#include "audit/ascent.h"
#include "audit/path.h"
#include "audit/pool.h"
#include "base/verify.h"
#include "exact/mdm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LITTLE 1e-6

typedef struct {
  clarke_bounding answer;
  clarke_tree *tree;
  clarke_search *search;
  size_t *cell;
  const clarke_classes *c;
  const clarke_question *q;
  const clarke_separation *separation;
  clarke_gains gains;
  size_t *chosen;    /* by class; CLARKE_UNCHOSEN */
  clarke_path path;  /* exactly */
  double *row;       /* the path's rows by the classes' columns, in floats */
  double *direction; /* by column */
  uint64_t state;
  clarke_error *err;
} visit;

void
clarke_search_init(clarke_search *s, const clarke_question *q, const clarke_classes *c, size_t work, size_t nodes)
{
  *s = (clarke_search){.q = q, .c = c, .work = work, .nodes = nodes};
  clarke_refutations_init(&s->circuits);
}

void
clarke_search_clear(clarke_search *s)
{
  clarke_refutations_clear(&s->circuits);
}

/* --- the tree ------------------------------------------------------------------------------- */

/* The sides chosen, by touch. */
static clarke_branch *
sides(const visit *v)
{
  clarke_branch *side = calloc(v->q->replay->n_touches + 1, sizeof *side);

  for (size_t i = 0; side != NULL && i < v->c->n; i++)
    for (size_t m = 0; v->chosen[i] != CLARKE_UNCHOSEN && m < v->c->class[i].n; m++) {
      size_t k = v->c->class[i].touch[m];

      side[k] = clarke_side_numbered(&v->q->replay->touch[k], v->chosen[i]);
    }
  return side;
}

/* Are all cells with the sides chosen separated? Then a LEAF has been added. bound: the most that is added, as
 * floats have it. */
static clarke_status
try_leaf(bool *done, visit *v, double bound)
{
  clarke_branch *side;
  clarke_node *node;

  *done = false;
  if (bound >= 0)
    return CLARKE_OK;
  side = sides(v);
  if (side == NULL)
    return clarke_no_memory(v->err);
  *done = v->separation == NULL || clarke_separation_holds(v->separation, side);
  node = *done ? clarke_tree_add(v->tree, CLARKE_LEAF) : NULL;
  if (node == NULL) {
    free(side);
    return *done ? clarke_no_memory(v->err) : CLARKE_OK;
  }
  node->side = side;
  return CLARKE_OK;
}

/* --- the path ------------------------------------------------------------------------------- */

/* What option o asks over p, in floats: of length 1. */
static void
float_row(double *row, const clarke_class *class, size_t o, size_t p, size_t columns)
{
  double length;

  for (size_t j = 0; j < columns; j++)
    row[j] = class->slope[o * columns + j] - class->slope[p * columns + j];
  length = sqrt(clarke_dot(row, row, columns));
  for (size_t j = 0; j < columns && length > 0; j++)
    row[j] /= length;
}

static clarke_status
add_constraints(visit *v, const clarke_class *class, size_t option)
{
  const size_t k = class->touch[0], columns = v->c->n_columns;
  const bool window = v->q->replay->touch[k].n_options > 0;
  clarke_status status = CLARKE_OK;

  for (size_t p = 0; p < class->options && status == CLARKE_OK; p++) {
    if (p == option)
      continue;
    float_row(v->row + v->path.n * columns, class, option, p, columns);
    status = clarke_class_condition(clarke_path_add(&v->path, k, window ? p : 0), class, option, p, v->err);
  }
  return status;
}

/* The direction's moves by the classes' columns, which hold them all, at length 1/2; and a little of a random one: what d
 * itself does not move has no side. */
static void
spread_moves(visit *v, const clarke_direction *d, double little)
{
  const size_t columns = v->c->n_columns;
  double *x = v->direction, length;

  memset(x, 0, columns * sizeof *x);
  for (size_t i = 0; i < d->n; i++) {
    size_t column = clarke_column_base(v->q->g, d->move[i].parameter) + d->move[i].entry;

    for (size_t j = 0; j < columns; j++)
      if (v->c->column[j] == column)
        x[j] += mpq_get_d(d->move[i].coef);
  }
  length = sqrt(clarke_dot(x, x, columns));
  for (size_t j = 0; j < columns; j++)
    x[j] = (length > 0 ? x[j] / (2 * length) : 0) + little * clarke_draw(&v->state);
}

/* Does some direction follow the path? It joins the pool. When none does, a DEAD node has been added, and its vector kept. */
static clarke_status
solve_path(clarke_cone_answer *answer, visit *v, clarke_pool *pool)
{
  clarke_direction d;
  clarke_status status;

  v->search->work -= v->search->work > 0;
  v->search->solved++;
  clarke_direction_init(&d);
  status = clarke_path_solve(answer, &d, v->tree, &v->path, v->q->g, v->err);
  if (status == CLARKE_OK && *answer == CLARKE_CONE_FEASIBLE) {
    spread_moves(v, &d, LITTLE);
    clarke_pool_add(pool, v->direction, v->chosen);
    spread_moves(v, &d, 0); /* in a thin cone */
    clarke_pool_add(pool, v->direction, v->chosen);
  }
  if (status == CLARKE_OK && *answer == CLARKE_CONE_EMPTY)
    status = clarke_refutations_keep(&v->search->circuits, &v->tree->node[v->tree->n - 1].gordan, v->c, v->chosen, v->err);
  clarke_direction_clear(&d);
  return status;
}

/* The same, without a system where a witness or a vector met before will do. */
static clarke_status
follow(clarke_cone_answer *answer, visit *v, clarke_pool *pool)
{
  bool refuted = false;
  clarke_status status = CLARKE_OK;

  *answer = CLARKE_CONE_FEASIBLE;
  if (pool->n > 0)
    return status;
  status = clarke_refutations_refute(&refuted, v->tree, &v->search->circuits, v->chosen, v->err);
  if (status == CLARKE_OK && !refuted)
    return solve_path(answer, v, pool);
  v->search->recalled++;
  *answer = CLARKE_CONE_EMPTY;
  return status;
}

/* --- branch and bound ----------------------------------------------------------------------- */

static clarke_status descend(visit *v, clarke_pool *pool, double bound);

/* from: witnesses of the path before; bound: with the option. */
static clarke_status
take_option(visit *v, const clarke_pool *from, size_t class, size_t option, double bound)
{
  const size_t before = v->path.n;
  clarke_cone_answer answer = CLARKE_CONE_UNKNOWN;
  clarke_pool pool;
  clarke_status status = clarke_pool_init(&pool, v->c, v->err);

  if (status == CLARKE_OK)
    status = add_constraints(v, &v->c->class[class], option);
  v->chosen[class] = option;
  if (status == CLARKE_OK) {
    clarke_pool_take(&pool, from, class, option);
    status = follow(&answer, v, &pool);
  }
  if (status == CLARKE_OK && answer != CLARKE_CONE_EMPTY)
    status = descend(v, &pool, bound);
  v->chosen[class] = CLARKE_UNCHOSEN;
  clarke_path_drop(&v->path, before);
  clarke_pool_clear(&pool);
  return status;
}

static clarke_status
branch(visit *v, const clarke_pool *pool, size_t class, double bound)
{
  clarke_node *node = clarke_tree_add(v->tree, CLARKE_BRANCH);
  clarke_status status = CLARKE_OK;

  if (node == NULL)
    return clarke_no_memory(v->err);
  node->at = v->c->class[class].touch[0];
  node->n_branches = v->c->class[class].options;
  for (size_t o = 0; o < v->c->class[class].options && status == CLARKE_OK && v->answer == CLARKE_BOUNDED; o++)
    status = take_option(v, pool, class, o, bound - v->gains.open[class] + v->gains.option[class][o]);
  return status;
}

/* Is there a witness that v does not separate? Draws more of them first. */
static clarke_status
look_around(visit *v, clarke_pool *pool)
{
  clarke_status status = clarke_pool_fill(pool, v->row, v->path.n, v->chosen, &v->state, v->err);

  if (status == CLARKE_OK && clarke_pool_best(v->cell, pool, &v->gains) >= 0)
    v->answer = CLARKE_VIOLATED;
  return status;
}

static clarke_status
descend(visit *v, clarke_pool *pool, double bound)
{
  size_t class;
  bool done;
  clarke_status status = try_leaf(&done, v, bound);

  if (status == CLARKE_OK && !done)
    status = look_around(v, pool);
  if (status != CLARKE_OK || done || v->answer != CLARKE_BOUNDED)
    return status;
  v->answer = CLARKE_EXHAUSTED;
  v->search->tree_full = v->tree->n > v->search->nodes || v->search->work == 0;
  if (v->search->tree_full)
    return CLARKE_OK;
  status = clarke_pool_choose(&class, pool, &v->gains, v->chosen, bound, v->err);
  if (status != CLARKE_OK || class == CLARKE_NONE)
    return status;
  v->answer = CLARKE_BOUNDED;
  return branch(v, pool, class, bound);
}

static clarke_status
allocate(visit *v)
{
  const size_t n = v->c->n, columns = v->c->n_columns;
  size_t conditions = 0;

  for (size_t i = 0; i < n; i++)
    conditions += v->c->class[i].options;
  v->chosen = malloc((n + 1) * sizeof *v->chosen);
  v->direction = malloc((columns + 1) * sizeof *v->direction);
  v->row = malloc((conditions * columns + 1) * sizeof *v->row);
  for (size_t i = 0; v->chosen != NULL && i < n; i++)
    v->chosen[i] = CLARKE_UNCHOSEN;
  if (v->chosen == NULL || v->direction == NULL || v->row == NULL)
    return clarke_no_memory(v->err);
  return clarke_path_init(&v->path, conditions, v->err);
}

static void
release(visit *v)
{
  clarke_path_clear(&v->path);
  clarke_gains_clear(&v->gains);
  free(v->chosen);
  free(v->direction);
  free(v->row);
}

/* The classes that the tree branches on take their sides together. */
static clarke_status
note_parallel(clarke_tree *tree, const clarke_classes *c, size_t n_touches, clarke_error *err)
{
  tree->parallel = malloc((n_touches + 1) * sizeof *tree->parallel);
  if (tree->parallel == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < n_touches; k++)
    tree->parallel[k] = CLARKE_NONE;
  for (size_t i = 0; i < c->n; i++) {
    bool branched = false;

    for (size_t j = 0; j < tree->n; j++)
      branched = branched || (tree->node[j].kind == CLARKE_BRANCH &&
                              tree->node[j].at == c->class[i].touch[0]);
    for (size_t m = 1; branched && m < c->class[i].n; m++)
      tree->parallel[c->class[i].touch[m]] = c->class[i].touch[0];
  }
  return CLARKE_OK;
}

/* From the root, where all is open. */
static clarke_status
grow(visit *v)
{
  double bound = v->gains.base;
  clarke_pool pool;
  clarke_status status = clarke_pool_init(&pool, v->c, v->err);

  for (size_t i = 0; i < v->c->n; i++)
    bound += v->gains.open[i];
  if (status == CLARKE_OK)
    status = descend(v, &pool, bound);
  clarke_pool_clear(&pool);
  return status;
}

clarke_status
clarke_branch_and_bound(clarke_bounding *answer, clarke_tree *tree, size_t *cell, clarke_search *search,
                        const double *v, const clarke_separation *separation, clarke_error *err)
{
  visit w = {.answer = CLARKE_BOUNDED, .tree = tree, .search = search, .cell = cell, .c = search->c, .q = search->q,
             .separation = separation, .state = 1, .err = err};
  clarke_status status = allocate(&w);

  clarke_tree_clear(tree);
  search->tree_full = false;
  if (status == CLARKE_OK)
    status = clarke_gains_init(&w.gains, w.c, v, separation, err);
  if (status == CLARKE_OK)
    status = grow(&w);
  release(&w);
  *answer = w.answer;
  tree->complete = status == CLARKE_OK && w.answer == CLARKE_BOUNDED;
  if (tree->complete)
    status = note_parallel(tree, w.c, w.q->replay->n_touches, err);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_tree_is_valid(tree, w.q));
  return status;
}
