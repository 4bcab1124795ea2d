/* One walk of a program near a point: its instructions in demand order, each with value, gradient and degree. */
#include "program/walk_inside.h"
#include "base/stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Begins a walk of that many variables; the rest of what *w begins with is set. */
static clarke_status
begin(clarke_walk *w, const clarke_execution *e, size_t width, clarke_error *err)
{
  size_t n = e->p->n, n_arc = w->n_arc;
  clarke_status status;

  w->e = e;
  w->width = width;
  w->value = clarke_numbers(n);
  w->gradient = calloc(n + 1, sizeof *w->gradient);
  w->degree = calloc(n + 1, sizeof *w->degree);
  w->part = calloc(n + 1, sizeof *w->part);
  if (w->width > 0 && w->width <= CLARKE_POLYNOMIAL_VARIABLES) {
    w->polynomial = calloc(n + 1, sizeof *w->polynomial);
    fmpq_mpoly_ctx_init(w->ring, (slong)w->width, ORD_LEX);
  }
  w->series = n_arc > 0 ? calloc(n + 1, sizeof *w->series) : NULL;
  w->lost = calloc(n + 1, sizeof *w->lost);
  w->fork.y = malloc((n + 2) * sizeof *w->fork.y);
  w->local = malloc((n + 2) * sizeof *w->local);
  status = clarke_demand_init(&w->demand, e->p, err);
  if (w->value == NULL || w->gradient == NULL || w->degree == NULL ||
      w->part == NULL || w->lost == NULL ||
      w->fork.y == NULL || w->local == NULL || (n_arc > 0 && w->series == NULL))
    return clarke_no_memory(err);
  return status;
}

clarke_status
clarke_walk_init(clarke_walk *w, const clarke_execution *e, mpq_t **arc, size_t n_arc, clarke_error *err)
{
  *w = (clarke_walk){.arc = arc, .n_arc = n_arc};
  return begin(w, e, clarke_code_wrt_count(e->p), err);
}

clarke_status
clarke_walk_init_lines(clarke_walk *w, const clarke_execution *e, mpq_t **line, size_t n, clarke_error *err)
{
  *w = (clarke_walk){.line = line, .n_lines = n};
  return begin(w, e, n, err);
}

static void
forget(clarke_walk *w)
{
  for (size_t i = 0; i < w->e->p->n; i++) {
    clarke_walk_polynomial_drop(w, i);
    if (w->gradient != NULL && w->gradient[i] != NULL) {
      clarke_numbers_free(w->gradient[i], w->width);
      w->gradient[i] = NULL;
    }
    if (w->series != NULL)
      clarke_walk_series_free(&w->series[i]);
  }
  if (w->lost != NULL)
    memset(w->lost, 0, w->e->p->n * sizeof *w->lost);
  w->n_local = w->asked = 0;
}

void
clarke_walk_clear(clarke_walk *w)
{
  if (w->e == NULL)
    return;
  forget(w);
  clarke_demand_clear(&w->demand);
  clarke_numbers_free(w->value, w->e->p->n);
  free(w->fork.y);
  free(w->gradient);
  free(w->degree);
  free(w->part);
  if (w->polynomial != NULL)
    fmpq_mpoly_ctx_clear(w->ring);
  free(w->polynomial);
  free(w->series);
  free(w->lost);
  free(w->local);
  memset(w, 0, sizeof *w);
}

void
clarke_walk_restart(clarke_walk *w, mpq_t **arc)
{
  forget(w);
  w->arc = arc;
  w->arc_failed = false;
  w->n_enclosed = w->n_open = 0;
  clarke_demand_restart(&w->demand);
}

/* --- gradients and degrees --------------------------------------------------------------------- */

static bool
all_zero(const clarke_number *g, size_t n)
{
  for (size_t k = 0; g != NULL && k < n; k++)
    if (!clarke_walk_is_zero(&g[k]))
      return false;
  return true;
}

clarke_status
clarke_walk_gradient_addmul(clarke_walk *w, size_t at, const clarke_number *d, size_t from, clarke_error *err)
{
  if (w->gradient[from] == NULL || clarke_walk_is_zero(d))
    return CLARKE_OK;
  if (w->gradient[at] == NULL)
    w->gradient[at] = clarke_numbers(w->width);
  if (w->gradient[at] == NULL)
    return clarke_no_memory(err);
  clarke_work_spend(16 * w->width);
  for (size_t k = 0; k < w->width; k++)
    clarke_number_addmul(&w->gradient[at][k], d, &w->gradient[from][k], w->e->precision);
  for (size_t k = 0; k < w->width; k++)
    if (clarke_number_is_large(&w->gradient[at][k]))
      return clarke_code_past(w->e->p, at, err, CLARKE_LIMIT_BITS, "a derivative of more bits");
  return CLARKE_OK;
}

void
clarke_walk_settle(clarke_walk *w, size_t at, uint8_t degree)
{
  if (degree <= 1 && all_zero(w->gradient[at], w->width)) {
    clarke_numbers_free(w->gradient[at], w->width);
    w->gradient[at] = NULL;
    degree = 0;
  }
  w->degree[at] = degree;
}

static uint8_t
highest(const clarke_walk *w, const clarke_instruction *i)
{
  uint8_t degree = 0;

  for (size_t k = 0; k < i->n_in; k++)
    if (i->kind != CLARKE_DO_LINEAR || mpq_sgn(i->coef[k]) != 0)
      degree = w->degree[i->in[k]] > degree ? w->degree[i->in[k]] : degree;
  return degree;
}

/* The degree of a smooth instruction from its arguments'. */
static uint8_t
smooth_degree(const clarke_walk *w, const clarke_instruction *i)
{
  uint8_t top = highest(w, i), a, b;

  if (top == 0 || i->kind == CLARKE_DO_LINEAR)
    return top;
  if (i->kind != CLARKE_DO_PRODUCT && i->kind != CLARKE_DO_QUOTIENT)
    return 2;
  a = w->degree[i->in[0]];
  b = w->degree[i->in[1]];
  if ((a == 0 && clarke_walk_is_zero(&w->value[i->in[0]])) ||
      (i->kind == CLARKE_DO_PRODUCT && b == 0 && clarke_walk_is_zero(&w->value[i->in[1]])))
    return 0;
  if (b == 0)
    return a;
  return i->kind == CLARKE_DO_PRODUCT && a == 0 ? b : 2;
}

/* --- instructions ------------------------------------------------------------------------------ */

clarke_status
clarke_walk_stuck(clarke_walk *w, clarke_walk_state *state, size_t at, const char *why)
{
  const clarke_instruction *i = &w->e->p->instruction[at];

  *state = CLARKE_WALK_STUCK;
  snprintf(w->why, sizeof w->why, "line %zu, column %zu: %s", i->line, i->column, why);
  return CLARKE_OK;
}

static clarke_status
walk_input(clarke_walk *w, size_t at, clarke_error *err)
{
  size_t entry = clarke_code_wrt_entry(w->e->p, at);

  clarke_number_set_q(&w->value[at], w->e->at[clarke_code_entry(w->e->p, at)]);
  w->degree[at] = 0;
  if (entry == CLARKE_NONE)
    return CLARKE_OK;
  w->gradient[at] = clarke_numbers(w->width);
  if (w->gradient[at] == NULL)
    return clarke_no_memory(err);
  w->degree[at] = 1;
  for (size_t k = 0; k < w->n_lines; k++)
    clarke_number_set_q(&w->gradient[at][k], w->line[k][entry]);
  if (w->n_lines > 0)
    clarke_walk_settle(w, at, 1);
  else
    clarke_number_set_si(&w->gradient[at][entry], 1);
  return w->series != NULL ? clarke_walk_series_input(w, at, err) : CLARKE_OK;
}

static clarke_status
walk_smooth(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  clarke_number *d = clarke_numbers(i->n_in);
  clarke_error inner = {CLARKE_OK, ""};
  bool open = false;
  clarke_status status;

  if (d == NULL)
    return clarke_no_memory(err);
  status = clarke_smooth_value(&w->value[at], highest(w, i) > 0 ? d : NULL, &open, w->e->p, at,
                               w->value, w->e->precision, &inner);
  if (status == CLARKE_EINPUT) { /* in an arm that is not taken at the point, or sqrt at 0; the text names its place */
    *state = CLARKE_WALK_STUCK;
    snprintf(w->why, sizeof w->why, "%s", inner.text);
    status = CLARKE_OK;
  } else if (open)
    status = clarke_walk_stuck(w, state, at, "no precision tells whether this is defined");
  for (size_t k = 0; k < i->n_in && status == CLARKE_OK && *state == CLARKE_WALK_END; k++)
    status = clarke_walk_gradient_addmul(w, at, &d[k], i->in[k], err);
  clarke_walk_settle(w, at, smooth_degree(w, i));
  if (status == CLARKE_OK && *state == CLARKE_WALK_END)
    status = clarke_walk_refine(w, at, err);
  if (status == CLARKE_OK && w->series != NULL && *state == CLARKE_WALK_END)
    status = clarke_walk_series_smooth(w, at, err);
  clarke_numbers_free(d, i->n_in);
  return status;
}

static clarke_status
walk_instruction(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];

  switch (i->kind) {
  case CLARKE_DO_INPUT:
    return walk_input(w, at, err);
  case CLARKE_DO_PIECEWISE:
  case CLARKE_DO_ELU:
    return clarke_walk_pointwise(w, state, at, err);
  case CLARKE_DO_ORDER:
    return clarke_walk_order(w, state, at, err);
  case CLARKE_DO_BRANCH:
    return clarke_walk_branch(w, state, at, err);
  case CLARKE_DO_NORM:
    if (clarke_norm_at_zero(i, w->value)) {
      clarke_number_set_si(&w->value[at], 0);
      w->degree[at] = 0;
      return highest(w, i) == 0 ? CLARKE_OK : clarke_walk_norm(w, state, at, err);
    }
    return walk_smooth(w, state, at, err);
  default:
    return walk_smooth(w, state, at, err);
  }
}

clarke_status
clarke_walk_on(clarke_walk *w, clarke_walk_state *state, clarke_error *err)
{
  size_t at;

  *state = CLARKE_WALK_END;
  while ((at = clarke_demand_next(&w->demand)) != CLARKE_NONE) {
    bool branch = w->e->p->instruction[at].kind == CLARKE_DO_BRANCH;
    bool armed = w->demand.arm[at] != 0;
    clarke_status status;

    w->asked = 0;
    status = clarke_work_check(err);
    if (status == CLARKE_OK)
      status = walk_instruction(w, state, at, err);
    if (status != CLARKE_OK || *state != CLARKE_WALK_END)
      return status;
    w->n_local = 0;
    w->demand.done[at] = !branch || armed;
  }
  return CLARKE_OK;
}
