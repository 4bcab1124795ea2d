/* What realizes a pattern: one direction, or an arc. */
#include "base/stop.h"
#include "program/patterns_inside.h"

#include <stdlib.h>
#include <string.h>

#define ARCS 3000
#define ARC_STEPS 3

clarke_status
clarke_search_give(clarke_pattern *p, mpq_t **steps, size_t n, size_t width, clarke_error *err)
{
  p->direction = calloc(n + 1, sizeof *p->direction);
  if (p->direction == NULL)
    return clarke_no_memory(err);
  for (; p->n_directions < n; p->n_directions++) {
    mpq_t *d = clarke_rationals(width);

    if (d == NULL)
      return clarke_no_memory(err);
    for (size_t k = 0; k < width; k++)
      mpq_set(d[k], steps[p->n_directions][k]);
    p->direction[p->n_directions] = d;
  }
  p->realized = true;
  return CLARKE_OK;
}

clarke_status
clarke_search_realize(clarke_pattern *p, clarke_pattern_search *s, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  clarke_search_cone r;

  if (s->n_rows == 0) {
    p->realized = p->first_order = true;
    return CLARKE_OK;
  }
  if (s->witness != NULL && clarke_search_positive(s, s->witness, 0, false))
    status = clarke_search_give(p, &s->witness, 1, s->width, err);
  else {
    status = clarke_search_solve(&r, s, false, err);
    if (status == CLARKE_OK && r.answer == CLARKE_CONE_FEASIBLE && clarke_search_positive(s, r.d, 0, false))
      status = clarke_search_give(p, &r.d, 1, s->width, err);
    clarke_rationals_free(r.d, s->width);
    clarke_gordan_clear(&r.gordan);
  }
  p->first_order = p->realized;
  return status;
}

/* --- arcs -------------------------------------------------------------------------------------- */

bool
clarke_patterns_all_realized(const clarke_patterns *t)
{
  for (size_t i = 0; i < t->n; i++)
    if (!t->pattern[i].realized)
      return false;
  return true;
}

typedef struct {
  const clarke_number *q;
  size_t n;
} vector;

static int
compare_vectors(const void *a, const void *b)
{
  const vector *x = a, *y = b;

  for (size_t k = 0; k < x->n; k++) {
    const int order = mpq_cmp(x->q[k].q, y->q[k].q);

    if (order != 0)
      return order;
  }
  return 0;
}

clarke_status
clarke_patterns_gradients(const clarke_number ***gradient, size_t *n, const clarke_patterns *t, clarke_error *err)
{
  vector *sorted = malloc((t->n + 1) * sizeof *sorted);
  size_t held = 0;

  *n = 0;
  *gradient = malloc((t->n + 1) * sizeof **gradient);
  if (sorted == NULL || *gradient == NULL) {
    free(sorted);
    free(*gradient);
    return clarke_no_memory(err);
  }
  for (size_t i = 0; i < t->n; i++)
    if (t->pattern[i].realized)
      sorted[held++] = (vector){t->pattern[i].gradient, t->dim};
  qsort(sorted, held, sizeof *sorted, compare_vectors);
  for (size_t i = 0; i < held; i++)
    if (i == 0 || compare_vectors(&sorted[i - 1], &sorted[i]) != 0)
      (*gradient)[(*n)++] = sorted[i].q;
  free(sorted);
  return CLARKE_OK;
}

static clarke_pattern *
find_pattern(const clarke_patterns *t, const size_t *path, size_t n)
{
  for (size_t i = 0; i < t->n; i++)
    if (t->pattern[i].n_choices == n &&
        memcmp(t->pattern[i].choice, path, n * sizeof *path) == 0)
      return &t->pattern[i];
  return NULL;
}

/* Which pattern does the arc follow? It is realized then. */
clarke_status
clarke_search_along(bool *ended, clarke_pattern_search *s, clarke_walk *w, mpq_t **arc, clarke_error *err)
{
  clarke_walk_state state = CLARKE_WALK_FORK;
  clarke_status status = clarke_work_check(err);

  *ended = false;
  clarke_walk_restart(w, arc);
  s->n_path = 0;
  while (status == CLARKE_OK && state == CLARKE_WALK_FORK) {
    size_t choice;

    status = clarke_walk_on(w, &state, err);
    if (status != CLARKE_OK || state != CLARKE_WALK_FORK)
      break;
    choice = clarke_walk_arc_choice(w);
    if (choice == CLARKE_NONE)
      return CLARKE_OK;
    clarke_walk_choose(w, choice);
    status = clarke_search_path_append(s, choice, err);
  }
  *ended = status == CLARKE_OK && state == CLARKE_WALK_END;
  return status;
}

static clarke_status
try_arc(clarke_pattern_search *s, clarke_walk *w, mpq_t **arc, clarke_error *err)
{
  bool ended;
  clarke_status status = clarke_search_along(&ended, s, w, arc, err);
  clarke_pattern *p = ended ? find_pattern(s->t, s->path, s->n_path) : NULL;

  return p != NULL && !p->realized ? clarke_search_give(p, arc, ARC_STEPS, s->width, err) : status;
}

/* Small integers in a fixed pseudorandom order: the search proves what it finds, and nothing by
 * failing. */
int
clarke_search_small(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (int)((*state >> 33) % 7) - 3;
}

clarke_status
clarke_search_arcs(clarke_pattern_search *s, clarke_error *err)
{
  mpq_t *arc[ARC_STEPS];
  clarke_walk w;
  uint64_t random = 1;
  clarke_status status = CLARKE_OK;

  for (size_t r = 0; r < ARC_STEPS; r++) {
    arc[r] = clarke_rationals(s->width);
    if (arc[r] == NULL)
      status = clarke_no_memory(err);
  }
  if (status == CLARKE_OK)
    status = clarke_walk_init(&w, s->e, arc, ARC_STEPS, err);
  else
    memset(&w, 0, sizeof w);
  for (size_t n = 0; n < ARCS && status == CLARKE_OK && !clarke_patterns_all_realized(s->t); n++) {
    for (size_t r = 0; r < ARC_STEPS; r++)
      for (size_t k = 0; k < s->width; k++)
        mpq_set_si(arc[r][k], n % 4 == 0 && r > 0 ? 0 : clarke_search_small(&random), 1);
    status = try_arc(s, &w, arc, err);
    if (w.arc_failed)
      break;
  }
  clarke_walk_clear(&w);
  for (size_t r = 0; r < ARC_STEPS; r++)
    clarke_rationals_free(arc[r], s->width);
  return status;
}
