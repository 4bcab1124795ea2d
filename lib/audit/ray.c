#include "audit/ray.h"

#include "audit/ascent.h"
#include "network/derive/tangent.h"

#include <stdlib.h>

enum { STEPS = 2 }; /* directions: the first dominates */

typedef struct {
  const clarke_question *q;
  clarke_direction direction[STEPS];
  clarke_matrix *moved[STEPS], *tangent[STEPS]; /* by parameter; by value */
  clarke_branch *side;
  clarke_error *err;
} ray;

typedef struct {
  uint64_t *state;
  bool turned; /* coefficients have the other sign */
  bool sparse; /* half of the moves are left out */
} drawing;

/* A move of parameter p by a small whole number; or none. */
static clarke_status
draw_move(clarke_direction *d, clarke_move_kind kind, size_t p, size_t e, const drawing *of, clarke_error *err)
{
  const long by = (long)(10 * clarke_draw(of->state));
  clarke_status status;
  mpq_t coef;

  if (by == 0 || (of->sparse && clarke_draw(of->state) > 0))
    return CLARKE_OK;
  mpq_init(coef);
  mpq_set_si(coef, of->turned ? -by : by, 1);
  status = clarke_direction_move(d, kind, p, e, coef, err);
  mpq_clear(coef);
  return status;
}

/* Moves of single entries; of many entries, moves of whole parameters. */
static clarke_status
draw(clarke_direction *d, uint64_t *state, bool turned, const clarke_graph *g, clarke_error *err)
{
  const bool whole = clarke_graph_wrt_count(g) > CLARKE_RAY_ENTRIES;
  const drawing of = {state, turned, !whole && clarke_draw(state) > 0};
  clarke_status status = CLARKE_OK;

  for (size_t p = 0; p < g->n_parameters && status == CLARKE_OK; p++) {
    if (!g->parameters[p].wrt)
      continue;
    for (size_t e = 0; !whole && e < g->parameters[p].count && status == CLARKE_OK; e++)
      status = draw_move(d, CLARKE_MOVE_AT, p, e, &of, err);
    if (whole)
      status = draw_move(d, CLARKE_MOVE_COPY, p, 0, &of, err);
    if (whole && status == CLARKE_OK)
      status = draw_move(d, CLARKE_MOVE_ADD, p, 0, &of, err);
  }
  return status;
}

static void
end(ray *r)
{
  for (size_t i = 0; i < STEPS; i++) {
    clarke_direction_clear(&r->direction[i]);
    clarke_matrices_free(r->moved[i], r->q->g->n_parameters);
    clarke_matrices_free(r->tangent[i], r->q->g->n_values);
  }
  free(r->side);
}

/* A ray without directions. */
static clarke_status
begin(ray *r, const clarke_question *q, clarke_error *err)
{
  const clarke_replay *replay = q->replay;

  *r = (ray){.q = q, .err = err, .side = malloc((replay->n_touches + 1) * sizeof(clarke_branch))};
  for (size_t i = 0; i < STEPS; i++)
    clarke_direction_init(&r->direction[i]);
  if (r->side == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < replay->n_touches; k++)
    r->side[k] = clarke_side_numbered(&replay->touch[k], 0);
  return CLARKE_OK;
}

/* How two entries of a touch's argument part, or one and 0 (b == CLARKE_NONE): the sign of the first derivative that tells. */
static int
compare(const ray *r, const clarke_touch *t, size_t a, size_t b)
{
  const size_t value = r->q->g->steps[t->step].in[0].value;
  int sign = 0;
  mpq_t zero;

  mpq_init(zero);
  for (size_t i = 0; i < STEPS && sign == 0; i++) {
    const clarke_matrix *m = &r->tangent[i][value];

    if (m->rows == 0)
      continue;
    sign = b == CLARKE_NONE ? clarke_matrix_compare(m, a, t->column, zero)
                            : clarke_matrix_compare_entries(m, a, b, t->column);
    sign = sign == 2 ? 0 : sign;
  }
  mpq_clear(zero);
  return sign;
}

/* The side to which the directions move touch k; the one it has where they do not move it. */
static clarke_branch
side_taken(const ray *r, size_t k)
{
  const clarke_touch *t = &r->q->replay->touch[k];
  size_t best = 0;
  int sign;

  if (t->n_options == 0) {
    sign = compare(r, t, t->feature, CLARKE_NONE);
    return sign == 0 ? r->side[k] : sign > 0 ? CLARKE_RIGHT : CLARKE_LEFT;
  }
  for (size_t o = 1; o < t->n_options; o++)
    if (compare(r, t, t->option[o], t->option[best]) > 0)
      best = o;
  return clarke_side_numbered(t, best);
}

static clarke_status
run_tangents(ray *r)
{
  const clarke_graph *g = r->q->g;
  clarke_slopes slopes;
  clarke_status status;

  clarke_slopes_init(&slopes);
  status = clarke_question_slopes(&slopes, r->q, r->side, r->err);
  for (size_t i = 0; i < STEPS && status == CLARKE_OK; i++) {
    clarke_matrices_free(r->tangent[i], g->n_values);
    r->tangent[i] = clarke_matrices_new(g->n_values);
    status = r->tangent[i] != NULL
               ? clarke_tangent_of_touched(r->tangent[i], r->q->replay, &slopes, r->moved[i], r->err)
               : clarke_no_memory(r->err);
  }
  clarke_slopes_clear(&slopes);
  return status;
}

/* Corrects the sides of the first step that has wrong ones: what lies before it is right. *settled: none has. */
static void
correct(bool *settled, ray *r)
{
  size_t first = CLARKE_NONE;

  for (size_t k = 0; k < r->q->replay->n_touches; k++) {
    const size_t step = r->q->replay->touch[k].step;
    const clarke_branch side = first == CLARKE_NONE || first == step ? side_taken(r, k) : r->side[k];

    if (side != r->side[k])
      first = step;
    r->side[k] = side;
  }
  *settled = first == CLARKE_NONE;
}

/* The directions go to the cell. */
static clarke_status
hand_over(clarke_cell *c, ray *r)
{
  clarke_status status = clarke_cell_set(c, r->q, r->side, r->err);

  for (size_t i = 0; i < STEPS && status == CLARKE_OK; i++) {
    clarke_direction *d = r->direction[i].n > 0 ? clarke_cell_direction(c, r->err) : NULL;

    if (r->direction[i].n > 0 && d == NULL)
      return CLARKE_ENOMEM;
    if (d == NULL)
      continue;
    *d = r->direction[i];
    clarke_direction_init(&r->direction[i]);
  }
  return status;
}

/* The cell to which the ray's directions lead, if they do. */
static clarke_status
follow(bool *realized, clarke_cell *c, ray *r)
{
  bool settled = false, any = false;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < STEPS && status == CLARKE_OK; i++) {
    r->moved[i] = clarke_matrices_new(r->q->g->n_parameters);
    status = r->moved[i] != NULL ? clarke_direction_matrices(r->moved[i], &r->direction[i], r->q->g, r->err) : clarke_no_memory(r->err);
  }
  for (size_t turn = 0; turn <= r->q->g->n_steps && !settled && status == CLARKE_OK; turn++) {
    status = run_tangents(r);
    if (status == CLARKE_OK)
      correct(&settled, r);
  }
  if (status == CLARKE_OK && settled)
    status = hand_over(c, r);
  if (status == CLARKE_OK && settled)
    status = clarke_cell_verify(realized, CLARKE_NONE, c, r->q, r->err);
  if (status == CLARKE_OK && settled && !*realized)
    status = clarke_cell_rest(&any, c, r->q, r->err);
  if (status == CLARKE_OK && any)
    status = clarke_cell_verify(realized, CLARKE_NONE, c, r->q, r->err);
  return status;
}

clarke_status
clarke_ray_cell(bool *realized, clarke_cell *c, uint64_t *state, bool turned, const clarke_question *q,
                clarke_error *err)
{
  ray r;
  clarke_status status = begin(&r, q, err);

  *realized = false;
  for (size_t i = 0; i < STEPS && status == CLARKE_OK; i++)
    status = draw(&r.direction[i], state, turned, q->g, err);
  if (status == CLARKE_OK)
    status = follow(realized, c, &r);
  end(&r);
  return status;
}

clarke_status
clarke_ray_along(bool *realized, clarke_cell *c, clarke_direction *d, const clarke_question *q, clarke_error *err)
{
  ray r;
  clarke_status status = begin(&r, q, err);

  *realized = false;
  r.direction[0] = *d;
  clarke_direction_init(d);
  if (status == CLARKE_OK)
    status = follow(realized, c, &r);
  end(&r);
  return status;
}
