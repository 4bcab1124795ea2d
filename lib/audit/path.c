#include "audit/path.h"
#include "base/verify.h"
#include "exact/number.h"

#include <stdlib.h>

clarke_status
clarke_path_init(clarke_path *p, size_t most, clarke_error *err)
{
  *p = (clarke_path){.constraint = malloc((most + 1) * sizeof *p->constraint)};
  return p->constraint != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_path_clear(clarke_path *p)
{
  clarke_path_drop(p, 0);
  free(p->constraint);
}

clarke_row *
clarke_path_add(clarke_path *p, size_t touch, size_t condition)
{
  clarke_constraint *one = &p->constraint[p->n++];

  *one = (clarke_constraint){.touch = touch, .condition = condition};
  clarke_row_init(&one->row);
  return &one->row;
}

void
clarke_path_drop(clarke_path *p, size_t n)
{
  CLARKE_ASSERT(n <= p->n);
  while (p->n > n)
    clarke_row_clear(&p->constraint[--p->n].row);
}

static int
compare_multipliers(const void *left, const void *right)
{
  const clarke_multiplier *a = left, *b = right;

  return a->touch != b->touch ? (a->touch > b->touch) - (a->touch < b->touch)
                              : (a->condition > b->condition) - (a->condition < b->condition);
}

/* A DEAD node with the multipliers that are not zero. */
static clarke_status
add_dead(clarke_tree *t, const clarke_path *p, mpq_t *u, clarke_error *err)
{
  clarke_node *node = clarke_tree_add(t, CLARKE_DEAD);

  if (node != NULL)
    node->multiplier = malloc((p->n + 1) * sizeof *node->multiplier);
  if (node == NULL || node->multiplier == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < p->n; i++) {
    clarke_multiplier *one = &node->multiplier[node->n];

    if (mpq_sgn(u[i]) == 0)
      continue;
    one->touch = p->constraint[i].touch;
    one->condition = p->constraint[i].condition;
    mpq_init(one->u);
    mpq_set(one->u, u[i]);
    node->n++;
  }
  qsort(node->multiplier, node->n, sizeof *node->multiplier, compare_multipliers);
  return CLARKE_OK;
}

/* The path's system. u: a multiplier for each constraint. */
static clarke_status
solve(clarke_cone_answer *answer, clarke_direction *d, mpq_t *u, const clarke_path *p, const clarke_graph *g,
      clarke_error *err)
{
  clarke_row *row = malloc((p->n + 1) * sizeof *row);
  clarke_status status;

  *answer = CLARKE_CONE_UNKNOWN;
  for (size_t i = 0; row != NULL && i < p->n; i++)
    row[i] = p->constraint[i].row; /* borrowed */
  status = row != NULL ? clarke_system_solve(answer, d, u, row, p->n, g, err) : clarke_no_memory(err);
  free(row);
  return status;
}

clarke_status
clarke_path_solve(clarke_cone_answer *answer, clarke_direction *d, clarke_tree *t,
                  const clarke_path *p, const clarke_graph *g, clarke_error *err)
{
  mpq_t *u = clarke_rationals(p->n);
  clarke_status status = u != NULL ? solve(answer, d, u, p, g, err) : clarke_no_memory(err);

  if (status == CLARKE_OK && *answer == CLARKE_CONE_EMPTY)
    status = add_dead(t, p, u, err);
  clarke_rationals_free(u, p->n);
  return status;
}
