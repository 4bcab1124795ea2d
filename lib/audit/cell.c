#include "audit/cell.h"

#include "audit/degree.h"
#include "base/verify.h"

#include <stdlib.h>
#include <string.h>

void
clarke_cell_init(clarke_cell *c)
{
  memset(c, 0, sizeof *c);
}

void
clarke_cell_clear(clarke_cell *c)
{
  for (size_t i = 0; i < c->n; i++)
    clarke_direction_clear(&c->direction[i]);
  free(c->direction);
  free(c->side);
  free(c->flat);
  clarke_cell_init(c);
}

clarke_status
clarke_cell_set(clarke_cell *c, const clarke_question *q, const int8_t *side, clarke_error *err)
{
  size_t n = q->replay->n_touches;

  clarke_cell_clear(c);
  c->n_touches = n;
  c->side = malloc(n + 1);
  c->flat = calloc(n + 1, sizeof *c->flat);
  if (c->side == NULL || c->flat == NULL)
    return clarke_no_memory(err);
  memcpy(c->side, side, n);
  CLARKE_VERIFY_CHECK(clarke_cell_is_valid(c, q));
  return clarke_flat(c->flat, q, c->side, err);
}

clarke_direction *
clarke_cell_direction(clarke_cell *c, clarke_error *err)
{
  clarke_direction *grown = realloc(c->direction, (c->n + 1) * sizeof *grown);

  if (grown == NULL) {
    clarke_no_memory(err);
    return NULL;
  }
  c->direction = grown;
  clarke_direction_init(&c->direction[c->n]);
  return &c->direction[c->n++];
}

clarke_status
clarke_cell_slopes(clarke_slopes *s, const clarke_cell *c, const clarke_question *q,
                   clarke_error *err)
{
  int8_t *choice = malloc(c->n_touches + 1);
  clarke_status status;

  if (choice == NULL)
    return clarke_no_memory(err);
  /* The derivative of a flat argument is zero: any slope will do, any option. */
  for (size_t k = 0; k < c->n_touches; k++)
    choice[k] = c->side[k] != CLARKE_PROXY          ? c->side[k]
                : q->replay->touch[k].n_options > 0 ? CLARKE_OPTION(0)
                                                    : CLARKE_LEFT;
  status = clarke_slopes_choose(s, &q->replay->near, q->replay->touch, c->n_touches, choice,
                                q->profile, err);
  free(choice);
  return status;
}

/* The sign that the side asks of the tangent to be 1, for a condition of the touch: its argument's, or
 * that of the side's option less another; 2 or -2 when an enclosure leaves it open. */
static int
tangent_sign(const clarke_matrix *tangent, const clarke_graph *g, const clarke_touch *t,
             int8_t side, size_t other)
{
  const clarke_matrix *m = &tangent[g->steps[t->step].in[0].value];
  mpq_t zero;
  int sign;

  CLARKE_ASSERT(side != CLARKE_PROXY);
  if (m->rows == 0)
    return 0;
  if (t->n_options > 0)
    return clarke_matrix_compare_entries(m, t->option[CLARKE_OPTION_OF(side)], t->option[other],
                                         t->column);
  mpq_init(zero);
  sign = clarke_matrix_compare(m, t->feature, t->column, zero);
  mpq_clear(zero);
  return sign * side;
}

/* Has the side nothing to ask by this condition of the touch? */
static bool
asks_nothing(const clarke_touch *t, int8_t side, size_t condition)
{
  return t->n_options > 0 && CLARKE_OPTION(condition) == side;
}

/* settled[condition]: 0 while all derivatives were zero, 1 as the side asks, 2 not. */
static void
settle(uint8_t *settled, const clarke_cell *c, const clarke_question *q,
       const clarke_matrix *tangent)
{
  for (size_t k = 0; k < c->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    if (c->flat[k] || c->side[k] == CLARKE_PROXY)
      continue;
    for (size_t i = 0; i < clarke_touch_conditions(t); i++) {
      uint8_t *one = &settled[t->first_condition + i];
      int sign = *one != 0 || asks_nothing(t, c->side[k], i)
                   ? 0
                   : tangent_sign(tangent, q->g, t, c->side[k], i);

      *one = sign == 0 ? *one : sign == 1 ? 1 : 2;
    }
  }
}

static clarke_status
along_direction(uint8_t *settled, const clarke_cell *c, const clarke_question *q,
                const clarke_slopes *slopes, const clarke_direction *direction, clarke_error *err)
{
  const clarke_graph *g = q->g;
  clarke_matrix *d = clarke_matrices_new(g->n_parameters);
  clarke_matrix *t = clarke_matrices_new(g->n_values);
  clarke_status status = d != NULL && t != NULL ? CLARKE_OK
                                                : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = clarke_direction_matrices(d, direction, g, err);
  if (status == CLARKE_OK)
    status = clarke_tangent_run(t, &q->replay->near, slopes, d, err);
  if (status == CLARKE_OK)
    settle(settled, c, q, t);
  clarke_matrices_free(d, g->n_parameters);
  clarke_matrices_free(t, g->n_values);
  return status;
}

/* Is everything settled as the touch's side asks? */
static bool
reached(const uint8_t *settled, const clarke_cell *c, const clarke_touch *t, size_t k)
{
  if (c->flat[k])
    return true;
  if (c->side[k] == CLARKE_PROXY)
    return false;
  for (size_t i = 0; i < clarke_touch_conditions(t); i++)
    if (!asks_nothing(t, c->side[k], i) && settled[t->first_condition + i] != 1)
      return false;
  return true;
}

clarke_status
clarke_cell_verify(bool *realized, bool *missed, const clarke_cell *c, const clarke_question *q,
                   clarke_error *err)
{
  uint8_t *settled = calloc(q->replay->n_conditions + 1, 1);
  clarke_slopes slopes;
  clarke_status status;

  CLARKE_ASSERT(c->n_touches == q->replay->n_touches);
  CLARKE_VERIFY_CHECK(clarke_cell_is_valid(c, q));
  *realized = false;
  if (settled == NULL)
    return clarke_no_memory(err);
  clarke_slopes_init(&slopes);
  status = c->n_touches > 0 ? clarke_cell_slopes(&slopes, c, q, err) : CLARKE_OK;
  for (size_t i = 0; i < c->n && status == CLARKE_OK; i++)
    status = along_direction(settled, c, q, &slopes, &c->direction[i], err);
  if (status == CLARKE_OK) {
    *realized = true;
    for (size_t k = 0; k < c->n_touches; k++) {
      bool bad = !reached(settled, c, &q->replay->touch[k], k);

      if (missed != NULL)
        missed[k] = bad;
      *realized = *realized && !bad;
    }
  }
  clarke_slopes_clear(&slopes);
  free(settled);
  return status;
}
