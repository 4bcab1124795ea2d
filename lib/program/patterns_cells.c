/* Gradients near norms of zeros: limits along arcs, on which a norm's derivative is a rational unit vector. */
#include "program/patterns_inside.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

#define CELLS 32
#define DRAWN 400
#define CELL_STEPS 2

bool
clarke_patterns_enclose(const clarke_patterns *t)
{
  for (size_t i = 0; i < t->n; i++)
    if (t->pattern[i].enclosed)
      return true;
  return false;
}

static bool
is_new(const clarke_pattern *p, const clarke_patterns *t)
{
  for (size_t i = t->n - t->n_cells; i < t->n; i++)
    if (clarke_numbers_equal(p->gradient, t->pattern[i].gradient, t->dim))
      return false;
  return true;
}

/* Appends where the walk along the arc has come to its end, if its gradient is rational and new. */
static clarke_status
append(clarke_pattern_search *s, const clarke_walk *w, mpq_t **arc, clarke_error *err)
{
  clarke_patterns *t = s->t;
  clarke_pattern p = {.n_choices = s->n_path};
  clarke_status status = clarke_search_outputs(&p, w, t, err);

  if (status == CLARKE_OK && p.exact && is_new(&p, t)) {
    p.choice = malloc((s->n_path + 1) * sizeof *p.choice);
    if (p.choice == NULL)
      status = clarke_no_memory(err);
    else if (s->n_path > 0)
      memcpy(p.choice, s->path, s->n_path * sizeof *s->path);
    if (status == CLARKE_OK)
      status = clarke_search_give(&p, arc, CELL_STEPS, s->width, err);
    if (status == CLARKE_OK)
      status = clarke_make_room(&t->pattern, &t->capacity, t->n + 1, sizeof *t->pattern, err);
    if (status == CLARKE_OK) {
      t->pattern[t->n++] = p;
      t->n_cells++;
      return CLARKE_OK;
    }
  }
  clarke_pattern_clear(&p, t);
  return status;
}

static clarke_status
follow_arc(clarke_pattern_search *s, clarke_walk *w, mpq_t **arc, clarke_error *err)
{
  bool ended;
  clarke_status status = clarke_search_along(&ended, s, w, arc, err);

  return ended ? append(s, w, arc, err) : status;
}

static void
clear_steps(mpq_t **arc, size_t width)
{
  for (size_t r = 0; r < CELL_STEPS; r++)
    for (size_t k = 0; k < width; k++)
      mpq_set_si(arc[r][k], 0, 1);
}

/* Along the axes, both ways. */
static clarke_status
follow_axes(clarke_pattern_search *s, clarke_walk *w, mpq_t **arc, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < 2 * s->width && s->t->n_cells < CELLS && status == CLARKE_OK; k++) {
    clear_steps(arc, s->width);
    mpq_set_si(arc[0][k / 2], k % 2 == 0 ? 1 : -1, 1);
    status = follow_arc(s, w, arc, err);
  }
  return status;
}

/* Directions (3, 4) and (4, 3) in two entries, with all signs; those of a draw in a fixed order in others, every second time
 * with a second step. */
static clarke_status
follow_drawn(clarke_pattern_search *s, clarke_walk *w, mpq_t **arc, clarke_error *err)
{
  uint64_t random = 1;
  clarke_status status = CLARKE_OK;

  for (size_t n = 0; n < DRAWN && s->t->n_cells < CELLS && status == CLARKE_OK; n++) {
    size_t first = n / 8 % s->width, second = (first + 1 + n / 8 / s->width % s->width) % s->width;

    clear_steps(arc, s->width);
    for (size_t r = n % 2; n >= DRAWN / 2 && r < 2; r++)
      for (size_t k = 0; k < s->width; k++)
        mpq_set_si(arc[n % 2 == 0 ? r : 0][k], clarke_search_small(&random), 1);
    if (n < DRAWN / 2) {
      mpq_set_si(arc[0][first], (n & 1 ? -1 : 1) * (n & 4 ? 3 : 4), 1);
      mpq_set_si(arc[0][second], (n & 2 ? -1 : 1) * (n & 4 ? 4 : 3), 1);
    }
    status = follow_arc(s, w, arc, err);
  }
  return status;
}

clarke_status
clarke_search_cells(clarke_pattern_search *s, clarke_error *err)
{
  mpq_t *arc[CELL_STEPS];
  clarke_walk w;
  clarke_status status = CLARKE_OK;

  memset(&w, 0, sizeof w);
  for (size_t r = 0; r < CELL_STEPS; r++) {
    arc[r] = clarke_rationals(s->width);
    if (arc[r] == NULL)
      status = clarke_no_memory(err);
  }
  if (status == CLARKE_OK)
    status = clarke_walk_init(&w, s->e, arc, CELL_STEPS, err);
  if (status == CLARKE_OK)
    status = follow_axes(s, &w, arc, err);
  if (status == CLARKE_OK)
    status = follow_drawn(s, &w, arc, err);
  clarke_walk_clear(&w);
  for (size_t r = 0; r < CELL_STEPS; r++)
    clarke_rationals_free(arc[r], s->width);
  return status;
}
