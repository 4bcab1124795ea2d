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

/* A DEAD node with the multipliers that are not zero. */
static clarke_status
add_dead(clarke_tree *t, const clarke_path *p, mpq_t *u, clarke_error *err)
{
  size_t *touch = malloc((p->n + 1) * sizeof *touch), *condition = malloc((p->n + 1) * sizeof *condition);
  clarke_node *node = touch != NULL && condition != NULL ? clarke_tree_add(t, CLARKE_DEAD) : NULL;
  clarke_status status;

  for (size_t i = 0; i < p->n && node != NULL; i++) {
    touch[i] = p->constraint[i].touch;
    condition[i] = p->constraint[i].condition;
  }
  status = node != NULL ? clarke_gordan_read(&node->gordan, u, touch, condition, p->n, err) : clarke_no_memory(err);
  free(touch);
  free(condition);
  return status;
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
