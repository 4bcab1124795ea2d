#include "audit/branch_and_bound.h"

#include "audit/ascent.h"
#include "audit/path.h"
#include "base/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPEN ((size_t)-1)
#define LITTLE 1e-6

/* How much the gains of a class's options differ. */
typedef struct {
  double spread;
  size_t class;
} ranked;

typedef struct {
  clarke_bounding answer;
  clarke_tree *tree;
  size_t *cell, *work;
  const clarke_classes *c;
  const clarke_question *q;
  const clarke_separation *separation;
  double **gain;   /* by class and option: what it adds to the loss's derivative along v, as AD has it */
  double *open;    /* by class: the most that its touches gain, each for itself */
  ranked *order;   /* classes, those whose gains differ most first */
  size_t *chosen;  /* by class; OPEN */
  double *direction, *scratch;
  double base;     /* what the touches outside the classes add at most */
  clarke_path path;
  clarke_error *err;
} visit;

/* --- the tree ------------------------------------------------------------------------------- */

/* The sides chosen, by touch. */
static int8_t *
sides(const visit *v)
{
  int8_t *side = calloc(v->q->replay->n_touches + 1, sizeof *side);

  for (size_t i = 0; side != NULL && i < v->c->n; i++)
    for (size_t m = 0; v->chosen[i] != OPEN && m < v->c->class[i].n; m++) {
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
  int8_t *side;
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

static clarke_status
add_constraints(visit *v, const clarke_class *class, size_t option)
{
  const size_t k = class->touch[0];
  const bool window = v->q->replay->touch[k].n_options > 0;
  clarke_status status = CLARKE_OK;

  for (size_t p = 0; p < class->options && status == CLARKE_OK; p++)
    if (p != option)
      status = clarke_class_condition(clarke_path_add(&v->path, k, window ? p : 0), class, option,
                                         p, v->err);
  return status;
}

/* The direction's moves by the classes' columns, which hold them all; and a little of a random one, for what d itself does
 * not move would have no side. */
static void
spread_moves(double *x, const clarke_direction *d, const clarke_classes *c, const clarke_graph *g)
{
  uint64_t state = 1;
  double most = 0;

  memset(x, 0, c->n_columns * sizeof *x);
  for (size_t i = 0; i < d->n; i++) {
    size_t column = clarke_column_base(g, d->move[i].parameter) + d->move[i].entry;

    for (size_t j = 0; j < c->n_columns; j++)
      if (c->column[j] == column)
        x[j] += mpq_get_d(d->move[i].coef);
  }
  for (size_t j = 0; j < c->n_columns; j++)
    most = fabs(x[j]) > most ? fabs(x[j]) : most;
  for (size_t j = 0; j < c->n_columns; j++)
    x[j] += LITTLE * most * clarke_draw(&state);
}

/* Does some direction follow the path, and one that it leads to a cell that v does not separate? When none
 * does, a DEAD node has been added. */
static clarke_status
follow(clarke_cone_answer *answer, visit *v)
{
  clarke_direction d;
  double sum;
  clarke_status status;

  *v->work -= *v->work > 0;
  clarke_direction_init(&d);
  status = clarke_path_solve(answer, &d, v->tree, &v->path, v->q->g, v->err);
  if (status == CLARKE_OK && *answer == CLARKE_CONE_FEASIBLE) {
    spread_moves(v->direction, &d, v->c, v->q->g);
    clarke_classes_along(v->cell, v->c, v->direction);
    sum = v->base;
    for (size_t i = 0; i < v->c->n; i++)
      sum += v->gain[i][v->cell[i]];
    if (sum >= 0)
      v->answer = CLARKE_VIOLATED;
  }
  clarke_direction_clear(&d);
  return status;
}

/* --- branch and bound ----------------------------------------------------------------------- */

static clarke_status descend(visit *v, size_t depth, double bound);

static clarke_status
take_option(visit *v, size_t depth, size_t option, double bound)
{
  const size_t before = v->path.n, class = v->order[depth].class;
  clarke_cone_answer answer = CLARKE_CONE_UNKNOWN;
  clarke_status status = add_constraints(v, &v->c->class[class], option);

  if (status == CLARKE_OK)
    status = follow(&answer, v);
  v->chosen[class] = option;
  if (status == CLARKE_OK && answer != CLARKE_CONE_EMPTY && v->answer == CLARKE_BOUNDED)
    status = descend(v, depth + 1, bound);
  v->chosen[class] = OPEN;
  clarke_path_drop(&v->path, before);
  return status;
}

static clarke_status
descend(visit *v, size_t depth, double bound)
{
  clarke_node *node;
  size_t class;
  bool done;
  clarke_status status = try_leaf(&done, v, bound);

  if (status != CLARKE_OK || done)
    return status;
  if (v->tree->n > CLARKE_TREE_NODES || *v->work == 0 || depth == v->c->n ||
      v->order[depth].spread == 0) {
    v->answer = CLARKE_EXHAUSTED;
    return CLARKE_OK;
  }
  class = v->order[depth].class;
  node = clarke_tree_add(v->tree, CLARKE_BRANCH);
  if (node == NULL)
    return clarke_no_memory(v->err);
  node->touch = v->c->class[class].touch[0];
  for (size_t o = 0; o < v->c->class[class].options && status == CLARKE_OK &&
                     v->answer == CLARKE_BOUNDED; o++)
    status = take_option(v, depth, o, bound - v->open[class] + v->gain[class][o]);
  return status;
}

static int
compare_spreads(const void *left, const void *right)
{
  const ranked *a = left, *b = right;

  return a->spread != b->spread ? (a->spread < b->spread ? 1 : -1)
                                : (a->class > b->class) - (a->class < b->class);
}

static double
most_of(const double *x, size_t n)
{
  double most = x[0];

  for (size_t i = 1; i < n; i++)
    most = x[i] > most ? x[i] : most;
  return most;
}

/* By the classes' guesses. */
static void
weigh_guesses(visit *v, const double *x)
{
  const clarke_classes *c = v->c;

  for (size_t i = 0; i < c->n; i++) {
    const size_t n = c->class[i].options;

    memset(v->gain[i], 0, n * sizeof **v->gain);
    v->open[i] = 0;
    for (size_t sign = 0; sign < 2; sign++) {
      double *part = v->scratch;

      for (size_t o = 0; o < n; o++) {
        part[o] = 0;
        for (size_t j = 0; j < c->n_columns; j++)
          part[o] += c->class[i].gain[sign][o * c->n_columns + j] * x[j];
        v->gain[i][o] += part[o];
      }
      v->open[i] += most_of(part, n);
    }
  }
}

static double
middle(arb_srcptr x)
{
  return arf_get_d(arb_midref(x), ARF_RND_NEAR);
}

/* By enclosures. Touches outside the classes stay open. */
static void
weigh_separation(visit *v)
{
  const clarke_classes *c = v->c;
  const clarke_separation *m = v->separation;
  arb_t most;

  arb_init(most);
  v->base = 0;
  for (size_t k = 0; k < v->q->replay->n_touches; k++) {
    clarke_separation_open(most, m, k);
    v->base += middle(most);
  }
  for (size_t i = 0; i < c->n; i++) {
    memset(v->gain[i], 0, c->class[i].options * sizeof **v->gain);
    v->open[i] = 0;
    for (size_t e = 0; e < c->class[i].n; e++) {
      size_t k = c->class[i].touch[e];

      clarke_separation_open(most, m, k);
      v->open[i] += middle(most);
      for (size_t o = 0; o < c->class[i].options; o++)
        v->gain[i][o] += middle(clarke_separation_gain(m, k, o));
    }
    v->base -= v->open[i];
  }
  arb_clear(most);
}

/* Orders the classes; *bound: the most that all touches add. */
static void
rank_classes(visit *v, double *bound)
{
  *bound = v->base;
  for (size_t i = 0; i < v->c->n; i++) {
    double least = v->gain[i][0];

    for (size_t o = 1; o < v->c->class[i].options; o++)
      least = v->gain[i][o] < least ? v->gain[i][o] : least;
    v->order[i] = (ranked){.spread = v->open[i] - least, .class = i};
    *bound += v->open[i];
  }
  qsort(v->order, v->c->n, sizeof *v->order, compare_spreads);
}

static clarke_status
allocate(visit *v)
{
  size_t n = v->c->n, conditions = 0, most = 0, done = 0;

  v->gain = calloc(n + 1, sizeof *v->gain);
  for (size_t i = 0; v->gain != NULL && i < n; i++) {
    v->gain[i] = malloc(v->c->class[i].options * sizeof **v->gain);
    done += v->gain[i] != NULL;
    conditions += v->c->class[i].options;
    most = v->c->class[i].options > most ? v->c->class[i].options : most;
  }
  v->open = malloc((n + 1) * sizeof *v->open);
  v->scratch = malloc((most + 1) * sizeof *v->scratch);
  v->order = malloc((n + 1) * sizeof *v->order);
  v->chosen = malloc((n + 1) * sizeof *v->chosen);
  v->direction = malloc((v->c->n_columns + 1) * sizeof *v->direction);
  for (size_t i = 0; v->chosen != NULL && i < n; i++)
    v->chosen[i] = OPEN;
  if (done < n || v->gain == NULL || v->open == NULL || v->scratch == NULL || v->order == NULL ||
      v->chosen == NULL || v->direction == NULL)
    return clarke_no_memory(v->err);
  return clarke_path_init(&v->path, conditions, v->err);
}

static void
release(visit *v)
{
  clarke_path_clear(&v->path);
  for (size_t i = 0; v->gain != NULL && i < v->c->n; i++)
    free(v->gain[i]);
  free(v->gain);
  free(v->open);
  free(v->scratch);
  free(v->order);
  free(v->chosen);
  free(v->direction);
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
                              tree->node[j].touch == c->class[i].touch[0]);
    for (size_t m = 1; branched && m < c->class[i].n; m++)
      tree->parallel[c->class[i].touch[m]] = c->class[i].touch[0];
  }
  return CLARKE_OK;
}

clarke_status
clarke_branch_and_bound(clarke_bounding *answer, clarke_tree *tree, size_t *cell, size_t *work,
             const clarke_classes *c, const double *v, const clarke_separation *separation,
             const clarke_question *q, clarke_error *err)
{
  visit w = {.answer = CLARKE_BOUNDED, .tree = tree, .cell = cell, .work = work, .c = c, .q = q,
             .separation = separation, .err = err};
  clarke_status status = allocate(&w);
  double bound;

  clarke_tree_clear(tree);
  if (status == CLARKE_OK) {
    if (separation != NULL)
      weigh_separation(&w);
    else
      weigh_guesses(&w, v);
    rank_classes(&w, &bound);
    status = descend(&w, 0, bound);
  }
  release(&w);
  *answer = w.answer;
  tree->complete = status == CLARKE_OK && w.answer == CLARKE_BOUNDED;
  if (tree->complete)
    status = note_parallel(tree, c, q->replay->n_touches, err);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_tree_is_valid(tree, q));
  return status;
}
