/* Gradients of what parameters were moved or cast to (certify.h). A parameter may be cast, the cast transposed, and only that read:
 * then the gradient in the cast is that in the transposed one, moved back. */
#include "trace/certify/certify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The constant that v was made of, when it is not the parameter itself; else CLARKE_NONE. */
static size_t
between(const clarke_graph *g, size_t v)
{
  const size_t from = g->values[v].made_of;

  return from != CLARKE_NONE && g->values[from].made_of != CLARKE_NONE && clarke_value_is_wrt(g, from) ? from : CLARKE_NONE;
}

bool
clarke_certify_has_chain(const clarke_certify *c)
{
  for (size_t v = 0; v < c->g->n_values; v++) {
    const size_t from = between(c->g, v);

    if (from != CLARKE_NONE && c->g->values[from].name != NULL && clarke_certify_has(c, "gradient", c->g->values[from].name))
      return true;
  }
  return false;
}

clarke_status
clarke_certify_join(clarke_matrix *whole, size_t count, const clarke_matrix *part, const size_t *map, clarke_error *err)
{
  clarke_matrix back;
  clarke_status status;

  clarke_matrix_init(&back);
  status = map != NULL ? clarke_matrix_scatter_rows(&back, part, map, count, err) : clarke_matrix_copy(&back, part, err);
  if (status == CLARKE_OK && whole->rows == 0)
    clarke_matrix_swap(whole, &back);
  else if (status == CLARKE_OK)
    status = clarke_matrix_add(whole, whole, &back, err);
  clarke_matrix_clear(&back);
  return status;
}

static clarke_status
turn_sign(clarke_matrix *m, clarke_error *err)
{
  clarke_status status;
  mpq_t minus;

  mpq_init(minus);
  mpq_set_si(minus, -1, 1);
  status = clarke_matrix_scale(m, m, minus, err);
  mpq_clear(minus);
  return status;
}

/* The record, where there is one, takes the place of what was computed. Else the gradient goes on: entries are only moved. */
static clarke_status
judge(clarke_certify *c, size_t v, clarke_error *err)
{
  const clarke_value *value = &c->g->values[v];
  clarke_matrix *m = &c->grad[v];
  clarke_rounding_sum *s = &c->back.sum[v];
  double *error = NULL;
  clarke_status status;

  if (c->partial[v] || value->name == NULL || strcmp(value->name, c->g->parameters[value->parameter].name) == 0
      || !clarke_certify_has(c, "gradient", value->name))
    return CLARKE_OK;
  status = value->negated ? turn_sign(m, err) : CLARKE_OK;
  if (status == CLARKE_OK)
    status = clarke_certify_gradient(&error, c, v, NULL, m, err);
  if (status == CLARKE_OK && value->negated)
    status = turn_sign(m, err);
  for (size_t e = 0; status == CLARKE_OK && error != NULL && e < value->count; e++) {
    s->error[e] = error[e];
    s->mass[e] = clarke_roundoff_sum(fabs(clarke_matrix_get_double(m, e, 0)), 1);
    s->parts[e] = 1;
  }
  if (error != NULL)
    s->terms = 1;
  free(error);
  return status;
}

/* Where v's entries are in the constant `from` that it was made of: malloc. Both say where theirs are in the parameter; NULL where
 * `from` shows one of these twice, so that it is not known which of the two v took. */
static clarke_status
find_map(size_t **map, const clarke_graph *g, size_t v, size_t from, clarke_error *err)
{
  const clarke_value *a = &g->values[v], *b = &g->values[from];
  const size_t count = g->parameters[a->parameter].count;
  size_t *place = malloc((count + 1) * sizeof *place);
  bool twice = false;
  clarke_status status = CLARKE_OK;

  *map = malloc((a->count + 1) * sizeof **map);
  for (size_t e = 0; place != NULL && e < count; e++)
    place[e] = CLARKE_NONE;
  for (size_t e = 0; place != NULL && e < b->count; e++) {
    const size_t at = b->origin != NULL ? b->origin[e] : e;

    twice = twice || place[at] != CLARKE_NONE;
    place[at] = e;
  }
  for (size_t e = 0; place != NULL && *map != NULL && e < a->count; e++) {
    (*map)[e] = place[a->origin != NULL ? a->origin[e] : e];
    twice = twice || (*map)[e] == CLARKE_NONE;
  }
  if (place == NULL || *map == NULL)
    status = clarke_no_memory(err);
  if (status != CLARKE_OK || twice) {
    free(*map);
    *map = NULL;
  }
  free(place);
  return status;
}

/* The gradient in v joins that in what v was made of, if this is not the parameter, which takes all that is left. */
static clarke_status
hand_on(clarke_certify *c, size_t v, clarke_error *err)
{
  const size_t from = between(c->g, v), count = from != CLARKE_NONE ? c->g->values[from].count : 0;
  size_t *map = NULL;
  clarke_status status;

  if (from == CLARKE_NONE)
    return CLARKE_OK;
  c->partial[from] = c->partial[from] || c->partial[v];
  if (c->grad[v].rows == 0)
    return CLARKE_OK;
  status = find_map(&map, c->g, v, from, err);
  c->partial[from] = c->partial[from] || map == NULL;
  if (map != NULL) {
    clarke_roundback_fold(&c->back.sum[from], count, &c->back, v, map);
    status = clarke_certify_join(&c->grad[from], count, &c->grad[v], map, err);
    clarke_matrix_clear(&c->grad[v]);
    clarke_matrix_init(&c->grad[v]);
  }
  free(map);
  return status;
}

/* By value: how many rearrangements are behind a constant at most, one made of another. The highest number of all. */
static size_t
measure(size_t *height, const clarke_graph *g)
{
  size_t highest = 0;

  for (size_t v = g->n_values; v-- > 0;) { /* what a constant is made of is before it */
    const size_t from = g->values[v].made_of;

    if (from != CLARKE_NONE && height[v] + 1 > height[from])
      height[from] = height[v] + 1;
    highest = height[v] > highest ? height[v] : highest;
  }
  return highest;
}

clarke_status
clarke_certify_constants_back(clarke_certify *c, clarke_error *err)
{
  const clarke_graph *g = c->g;
  size_t *height = calloc(g->n_values + 1, sizeof *height);
  const size_t highest = height != NULL ? measure(height, g) : 0;
  clarke_status status = height != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t h = 0; h <= highest; h++)
    for (size_t v = 0; v < g->n_values && status == CLARKE_OK; v++) {
      if (height[v] != h || !clarke_value_is_wrt(g, v))
        continue;
      status = c->grad[v].rows > 0 ? judge(c, v, err) : CLARKE_OK;
      if (status == CLARKE_OK)
        status = hand_on(c, v, err);
    }
  free(height);
  return status;
}
