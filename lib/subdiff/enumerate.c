#include "subdiff/enumerate.h"

#include "subdiff/structure.h"

#include <stdlib.h>
#include <string.h>

void
clarke_tree_init(clarke_tree *t)
{
  memset(t, 0, sizeof *t);
}

void
clarke_tree_clear(clarke_tree *t)
{
  for (size_t i = 0; i < t->n; i++) {
    clarke_node *node = &t->node[i];

    for (size_t k = 0; node->u != NULL && k < t->n_touches; k++)
      mpq_clear(node->u[k]);
    free(node->u);
    free(node->side);
  }
  free(t->node);
  clarke_tree_init(t);
}

/* The visit: sides chosen so far, and the rows of the touches branched on. */
typedef struct {
  clarke_tree *tree;
  const clarke_question *q;
  int8_t *side;     /* CLARKE_PROXY: not reached */
  size_t *path;     /* touches branched on */
  clarke_row *row;  /* their rows times their side; empty when not affine */
  size_t depth;
  clarke_error *err;
} visit;

static clarke_node *
add_node(visit *v, clarke_node_kind kind)
{
  clarke_tree *t = v->tree;

  if (t->n == t->capacity) {
    size_t wanted = 2 * t->capacity + 16;
    clarke_node *grown = realloc(t->node, wanted * sizeof *grown);

    if (grown == NULL)
      return NULL;
    t->node = grown;
    t->capacity = wanted;
  }
  memset(&t->node[t->n], 0, sizeof *t->node);
  t->node[t->n].kind = kind;
  return &t->node[t->n++];
}

static clarke_status
add_leaf(visit *v)
{
  clarke_node *leaf = add_node(v, CLARKE_LEAF);
  size_t n = v->tree->n_touches;

  if (leaf != NULL)
    leaf->side = malloc(n + 1);
  if (leaf == NULL || leaf->side == NULL)
    return clarke_fail(v->err, CLARKE_ENOMEM, "out of memory");
  for (size_t k = 0; k < n; k++)
    leaf->side[k] = v->side[k];
  return CLARKE_OK;
}

/* Is the path refuted by its affine rows? Then a DEAD node has been added. */
static clarke_status
refute(bool *dead, visit *v)
{
  mpq_t *u = malloc((v->tree->n_touches + v->depth + 1) * sizeof *u);
  mpq_t *by_row = u + v->tree->n_touches;
  clarke_row *affine = malloc((v->depth + 1) * sizeof *affine);
  size_t *from = malloc((v->depth + 1) * sizeof *from), n = 0;
  clarke_cone_answer answer = CLARKE_CONE_UNKNOWN;
  clarke_direction unused;
  clarke_node *node = NULL;
  clarke_status status = CLARKE_OK;

  *dead = false;
  if (u == NULL || affine == NULL || from == NULL) {
    free(u);
    free(affine);
    free(from);
    return clarke_fail(v->err, CLARKE_ENOMEM, "out of memory");
  }
  for (size_t i = 0; i < v->tree->n_touches + v->depth; i++)
    mpq_init(u[i]);
  clarke_direction_init(&unused);
  for (size_t i = 0; i < v->depth; i++)
    if (v->row[i].n > 0) {
      affine[n] = v->row[i]; /* borrowed */
      from[n++] = v->path[i];
    }
  if (n > 1)
    status = clarke_system_solve(&answer, &unused, by_row, affine, n, v->q->g, v->err);
  if (status == CLARKE_OK && n > 1 && answer == CLARKE_CONE_EMPTY) {
    *dead = true;
    for (size_t i = 0; i < n; i++)
      mpq_set(u[from[i]], by_row[i]);
    node = add_node(v, CLARKE_DEAD);
    status = node != NULL ? status : clarke_fail(v->err, CLARKE_ENOMEM, "out of memory");
  }
  for (size_t i = 0; i < v->depth; i++)
    mpq_clear(by_row[i]);
  if (node != NULL)
    node->u = u;
  else {
    for (size_t i = 0; i < v->tree->n_touches; i++)
      mpq_clear(u[i]);
    free(u);
  }
  clarke_direction_clear(&unused);
  free(affine);
  free(from);
  return status;
}

/* Touch k's derivative under the sides chosen so far; row->n == 0 with affine: it is zero. */
static clarke_status
derivative(clarke_row *row, bool *affine, visit *v, size_t k)
{
  uint8_t *degree = malloc(v->tree->n_touches + 1);
  bool exact = false;
  clarke_columns columns;
  clarke_status status;

  if (degree == NULL)
    return clarke_fail(v->err, CLARKE_ENOMEM, "out of memory");
  status = clarke_degrees(degree, v->q, v->side, v->err);
  if (status == CLARKE_OK && degree[k] == 1) {
    status = clarke_columns_init(&columns, v->q, v->side, v->err);
    if (status == CLARKE_OK)
      status = clarke_touch_row(row, &exact, &columns, k, false, 1, v->err);
    clarke_columns_clear(&columns);
  }
  *affine = degree[k] == 0 || (degree[k] == 1 && exact);
  free(degree);
  return status;
}

static void
negate_row(clarke_row *row)
{
  for (size_t e = 0; e < row->n; e++)
    mpq_neg(row->value[e], row->value[e]);
}

static clarke_status descend(visit *v, size_t k);

/* Branches on touch k, whose row (left empty when it is not affine) is given. */
static clarke_status
branch(visit *v, size_t k, clarke_row *row)
{
  clarke_node *node = add_node(v, CLARKE_BRANCH);
  clarke_status status = CLARKE_OK;

  if (node == NULL)
    return clarke_fail(v->err, CLARKE_ENOMEM, "out of memory");
  node->touch = k;
  v->path[v->depth] = k;
  negate_row(row); /* the side - first */
  for (int8_t side = CLARKE_LEFT; side <= CLARKE_RIGHT && status == CLARKE_OK; side += 2) {
    bool dead = false;

    v->side[k] = side;
    v->row[v->depth] = *row;
    v->depth++;
    if (row->n > 0)
      status = refute(&dead, v);
    if (status == CLARKE_OK && !dead)
      status = descend(v, k + 1);
    v->depth--;
    negate_row(row);
  }
  return status;
}

static clarke_status
descend(visit *v, size_t k)
{
  clarke_row row;
  bool affine = false;
  clarke_status status;

  if (v->tree->n > CLARKE_TREE_NODES) {
    v->tree->complete = false;
    return CLARKE_OK;
  }
  if (k == v->tree->n_touches)
    return add_leaf(v);
  clarke_row_init(&row);
  status = derivative(&row, &affine, v, k);
  if (status == CLARKE_OK && affine && row.n == 0) {
    /* The argument is constant: its side does not matter, but what follows must have one. */
    v->side[k] = CLARKE_LEFT;
    status = descend(v, k + 1);
  }
  else if (status == CLARKE_OK) {
    if (!affine)
      row.n = 0;
    status = branch(v, k, &row);
  }
  v->side[k] = CLARKE_PROXY;
  clarke_row_clear(&row);
  return status;
}

clarke_status
clarke_enumerate(clarke_tree *t, const clarke_question *q, clarke_error *err)
{
  size_t n = q->replay->n_touches;
  visit v = {.tree = t, .q = q, .err = err};
  clarke_status status;

  clarke_tree_clear(t);
  t->n_touches = n;
  /* Every touch may double the tree: past the limit's logarithm only refutations could help. */
  t->complete = n <= 200 && clarke_graph_wrt_count(q->g) <= 1 << 20;
  if (!t->complete)
    return CLARKE_OK;
  v.side = calloc(n + 1, 1);
  v.path = malloc((n + 1) * sizeof *v.path);
  v.row = malloc((n + 1) * sizeof *v.row);
  status = v.side != NULL && v.path != NULL && v.row != NULL
             ? descend(&v, 0)
             : clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  free(v.side);
  free(v.path);
  free(v.row);
  return status;
}
