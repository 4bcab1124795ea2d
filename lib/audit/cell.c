#include "audit/cell.h"

#include "audit/degree.h"
#include "audit/touch_row.h"
#include "base/verify.h"
#include "network/derive/tangent.h"

#include <stdlib.h>
#include <string.h>

#define FEW 200 /* touches */

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
  free(c->rests);
  clarke_cell_init(c);
}

clarke_status
clarke_cell_set(clarke_cell *c, const clarke_question *q, const clarke_branch *side, clarke_error *err)
{
  size_t n = q->replay->n_touches;

  clarke_cell_clear(c);
  c->side = malloc((n + 1) * sizeof *c->side);
  c->flat = calloc(n + 1, sizeof *c->flat);
  c->rests = calloc(q->replay->n_conditions + 1, sizeof *c->rests);
  if (c->side == NULL || c->flat == NULL || c->rests == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < n; k++)
    c->side[k] = side != NULL ? side[k] : q->touch[k].ad_side;
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

/* The side, or one to begin with. */
static clarke_branch
some_side(const clarke_touch *t, clarke_branch side)
{
  return side != CLARKE_PROXY ? side : clarke_side_numbered(t, 0);
}

static clarke_status
slopes_of(clarke_slopes *s, const clarke_cell *c, const clarke_question *q,
                   clarke_error *err)
{
  const clarke_replay *r = q->replay;
  clarke_branch *choice = malloc((r->n_touches + 1) * sizeof *choice);
  clarke_status status;

  if (choice == NULL)
    return clarke_no_memory(err);
  /* The derivative of an argument that is flat or at rest is zero: any slope will do, any option. */
  for (size_t k = 0; k < r->n_touches; k++)
    choice[k] = some_side(&r->touch[k], c->side[k]);
  status = clarke_question_slopes(s, q, choice, err);
  free(choice);
  return status;
}

/* The sign that the side asks of the tangent to be 1, for a condition of the touch: its argument's, or
 * that of the side's option less another; 2 or -2 when an enclosure leaves it open. */
static int
tangent_sign(const clarke_matrix *tangent, const clarke_graph *g, const clarke_touch *t,
             clarke_branch side, size_t other)
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

/* --- at rest --------------------------------------------------------------------------------- */

/* What something in its own layer moves is not at rest, as a rule: such rows are short. But an activation may be compared with
 * what is made of it, as in max(relu(y), y): of few touches whole rows are asked, too. */
static clarke_status
condition_rests(bool *rests, clarke_columns *columns, size_t k, clarke_branch side, size_t condition, bool few,
                clarke_error *err)
{
  clarke_row row;
  clarke_status status;
  bool exact;

  clarke_row_init(&row);
  status = clarke_touch_row(&row, &exact, columns, k, side, condition, true, err);
  if (status == CLARKE_OK && (row.n == 0 || few))
    status = clarke_touch_rests(rests, columns, k, side, condition, err);
  clarke_row_clear(&row);
  return status;
}

clarke_status
clarke_cell_rest(bool *any, clarke_cell *c, const clarke_question *q, clarke_error *err)
{
  const bool few = q->replay->n_touches <= FEW;
  clarke_columns columns;
  clarke_status status;

  *any = false;
  if (!clarke_whole_rows_reachable(q))
    return CLARKE_OK;
  status = clarke_columns_init(&columns, q, c->side, err);
  for (size_t j = 0; j < q->replay->near.n; j++)
    for (size_t k = 0; k < q->replay->n_touches && status == CLARKE_OK; k++) {
      const clarke_touch *t = &q->replay->touch[k];

      for (size_t i = 0; t->column == j && i < clarke_touch_conditions(t) && status == CLARKE_OK; i++) {
        bool *rests = &c->rests[t->first_condition + i];

        if (clarke_cell_asks(c, q, k, i))
          status = condition_rests(rests, &columns, k, some_side(t, c->side[k]), i, few, err);
        *any = *any || *rests;
      }
    }
  clarke_columns_clear(&columns);
  return status;
}

bool
clarke_cell_asks(const clarke_cell *c, const clarke_question *q, size_t k, size_t condition)
{
  const clarke_touch *t = &q->replay->touch[k];

  return !c->flat[k] && !c->rests[t->first_condition + condition] &&
         (t->n_options == 0 || CLARKE_OPTION(condition) != some_side(t, c->side[k]));
}

bool
clarke_cell_moves(const clarke_cell *c, const clarke_question *q, size_t k)
{
  for (size_t i = 0; i < clarke_touch_conditions(&q->replay->touch[k]); i++)
    if (clarke_cell_asks(c, q, k, i))
      return true;
  return false;
}

/* --- what directions do ---------------------------------------------------------------------- */

/* settled[condition]: 0 while all derivatives were zero, 1 as the side asks, 2 not. */
static void
settle(uint8_t *settled, const clarke_cell *c, const clarke_question *q,
       const clarke_matrix *tangent)
{
  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    for (size_t i = 0; i < clarke_touch_conditions(t) && c->side[k] != CLARKE_PROXY; i++) {
      uint8_t *one = &settled[t->first_condition + i];
      int sign = *one != 0 || !clarke_cell_asks(c, q, k, i)
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
    status = clarke_tangent_of_touched(t, q->replay, slopes, d, err);
  if (status == CLARKE_OK)
    settle(settled, c, q, t);
  clarke_matrices_free(d, g->n_parameters);
  clarke_matrices_free(t, g->n_values);
  return status;
}

/* Is everything settled as the touch's side asks, or at rest? */
static bool
reached(const uint8_t *settled, const clarke_cell *c, const clarke_question *q, size_t k)
{
  const clarke_touch *t = &q->replay->touch[k];

  for (size_t i = 0; i < clarke_touch_conditions(t); i++)
    if (clarke_cell_asks(c, q, k, i) && settled[t->first_condition + i] != 1)
      return false;
  return true;
}

clarke_status
clarke_cell_verify(bool *realized, size_t step, const clarke_cell *c, const clarke_question *q, clarke_error *err)
{
  const clarke_replay *r = q->replay;
  const size_t inner = step != CLARKE_NONE ? clarke_graph_inner(q->g, step) : CLARKE_NONE;
  uint8_t *settled = calloc(r->n_conditions + 1, 1);
  clarke_slopes slopes;
  clarke_status status;

  CLARKE_VERIFY_CHECK(clarke_cell_is_valid(c, q));
  *realized = false;
  if (settled == NULL)
    return clarke_no_memory(err);
  clarke_slopes_init(&slopes);
  status = r->n_touches > 0 && c->n > 0 ? slopes_of(&slopes, c, q, err) : CLARKE_OK; /* no direction asks for any */
  for (size_t i = 0; i < c->n && status == CLARKE_OK; i++)
    status = along_direction(settled, c, q, &slopes, &c->direction[i], err);
  *realized = status == CLARKE_OK;
  for (size_t k = 0; k < r->n_touches && *realized; k++)
    *realized = (step != CLARKE_NONE && r->touch[k].step != step && r->touch[k].step != inner) ||
                reached(settled, c, q, k);
  clarke_slopes_clear(&slopes);
  free(settled);
  return status;
}
