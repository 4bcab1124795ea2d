#include "audit/slope_hull.h"

#include "audit/ray.h"
#include "base/verify.h"
#include "exact/number.h"
#include "network/pass/window.h"

#include <stdlib.h>
#include <string.h>

#define MOST ((size_t)1 << 20) /* entries of the program's points */

/* Points have an entry for each side of the touches that count: its weight. */
typedef struct {
  const clarke_question *q;
  const clarke_cell *cell;
  size_t n;
  const bool *effect; /* by touch; NULL: all may have one */
  mpq_t *ad;   /* by gain: AD's weights */
  bool *split; /* by touch: has a cell other weights there? */
  size_t dim;
} slope_hull;

/* What AD takes of each option. *known: false where options have several entries. */
static void
window_weights(mpq_t *of, bool *known, const clarke_question *q, const clarke_touch *t)
{
  const clarke_tie_rule *rule = clarke_profile_tie(q->profile, q->g->steps[t->step].op);
  size_t place[CLARKE_MAX_WIDTH], n = clarke_window_tied(place, &q->replay->near, t->step, t->feature, t->column);

  *known = *known && n == t->n_options;
  for (size_t o = 0; o < t->n_options && n == t->n_options; o++)
    clarke_tie_share(of[o], rule, o, n);
}

static bool
ad_weights(slope_hull *h)
{
  const clarke_question *q = h->q;
  bool known = true;

  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];
    mpq_t *of = &h->ad[q->touch[k].first_gain];

    if (q->touch[k].ad_side != CLARKE_PROXY)
      mpq_set_ui(of[clarke_side_number(t, q->touch[k].ad_side)], 1, 1);
    else if (t->n_options > 0)
      window_weights(of, &known, q, t);
    else {
      mpq_set(of[0], q->touch[k].lambda);
      mpq_set_ui(of[1], 1, 1);
      mpq_sub(of[1], of[1], of[0]);
    }
  }
  return known;
}

/* The weight of side o in cell i: 1 or 0; a flat touch's slope does not matter, AD's will do. */
static void
cell_weight(mpq_t weight, const slope_hull *h, size_t i, size_t k, size_t o)
{
  const clarke_cell *c = &h->cell[i];

  if (c->flat[k])
    mpq_set(weight, h->ad[h->q->touch[k].first_gain + o]);
  else
    mpq_set_ui(weight, clarke_side_number(&h->q->replay->touch[k], c->side[k]) == o, 1);
}

static void
find_split(slope_hull *h)
{
  mpq_t weight;

  mpq_init(weight);
  for (size_t k = 0; k < h->q->replay->n_touches; k++) {
    const size_t sides = clarke_touch_sides(&h->q->replay->touch[k]);

    for (size_t i = 0; i < h->n && (h->effect == NULL || h->effect[k]); i++)
      for (size_t o = 0; o < sides && !h->split[k]; o++) {
        cell_weight(weight, h, i, k, o);
        h->split[k] = !mpq_equal(weight, h->ad[h->q->touch[k].first_gain + o]);
      }
    h->dim += h->split[k] ? sides : 0;
  }
  mpq_clear(weight);
}

static bool
reads_marked(const clarke_step *s, const bool *marked)
{
  for (size_t i = 0; i < s->n_in; i++)
    if (marked[s->in[i].value])
      return true;
  return false;
}

/* Does a touch of the sample (CLARKE_NONE: of any) read a value that another of its may be behind? */
static clarke_status
sample_behind(bool *behind, const slope_hull *h, size_t sample, clarke_error *err)
{
  const clarke_graph *g = h->q->g;
  bool *marked = calloc(g->n_values + 1, sizeof *marked), *own = calloc(g->n_steps + 1, sizeof *own);

  for (size_t k = 0; own != NULL && k < h->q->replay->n_touches; k++)
    if (h->split[k] && (sample == CLARKE_NONE || h->q->replay->touch[k].sample == sample))
      own[h->q->replay->touch[k].step] = true;
  for (size_t s = 0; marked != NULL && own != NULL && s < g->n_steps; s++) {
    const bool any = reads_marked(&g->steps[s], marked);

    *behind = *behind || (any && own[s]);
    marked[g->steps[s].out] = any || own[s];
  }
  free(own);
  if (marked == NULL || own == NULL) {
    free(marked);
    return clarke_no_memory(err);
  }
  free(marked);
  return CLARKE_OK;
}

static clarke_status
one_behind_another(bool *behind, const slope_hull *h, clarke_error *err)
{
  const size_t apart = clarke_graph_couples(h->q->g) ? 1 : h->q->replay->samples;
  clarke_status status = CLARKE_OK;

  *behind = false;
  for (size_t b = 0; b < apart && status == CLARKE_OK && !*behind; b++)
    status = sample_behind(behind, h, apart == 1 ? CLARKE_NONE : b, err);
  return status;
}

/* The weights of cell i, or AD's (i == n), where they differ. */
static void
fill_point(mpq_t *to, const slope_hull *h, size_t i)
{
  size_t at = 0;

  for (size_t k = 0; k < h->q->replay->n_touches; k++)
    for (size_t o = 0; h->split[k] && o < clarke_touch_sides(&h->q->replay->touch[k]); o++, at++)
      if (i == h->n)
        mpq_set(to[at], h->ad[h->q->touch[k].first_gain + o]);
      else
        cell_weight(to[at], h, i, k, o);
}

/* The program: of cells with the same slopes the first has the weight. */
static clarke_status
solve(clarke_membership *m, const slope_hull *h, clarke_error *err)
{
  mpq_t *row = clarke_rationals(h->n * h->dim), *ad = clarke_rationals(h->dim), *by_point = clarke_rationals(h->n),
        *separator = clarke_rationals(h->dim), *weight = clarke_rationals(h->n);
  clarke_points points;
  clarke_status status = CLARKE_OK;

  clarke_points_init(&points, h->dim);
  if (row == NULL || ad == NULL || by_point == NULL || separator == NULL || weight == NULL)
    status = clarke_no_memory(err);
  for (size_t i = 0; i < h->n && status == CLARKE_OK; i++)
    fill_point(&row[i * h->dim], h, i);
  if (status == CLARKE_OK)
    fill_point(ad, h, h->n);
  if (status == CLARKE_OK)
    status = clarke_points_set(&points, h->n, row, err);
  if (status == CLARKE_OK)
    status = clarke_points_place(&m->place, by_point, separator, &points, ad, err);
  if (m->place != CLARKE_HULL_INSIDE)
    m->place = CLARKE_HULL_UNKNOWN;
  for (size_t i = 0; i < h->n && status == CLARKE_OK && m->place == CLARKE_HULL_INSIDE; i++) {
    const size_t point = clarke_points_find(&points, &row[i * h->dim]);

    mpq_swap(weight[i], by_point[point]);
  }
  if (status == CLARKE_OK && m->place == CLARKE_HULL_INSIDE) {
    m->weight = weight;
    weight = NULL;
  }
  clarke_points_clear(&points);
  clarke_rationals_free(row, h->n * h->dim);
  clarke_rationals_free(ad, h->dim);
  clarke_rationals_free(by_point, h->n);
  clarke_rationals_free(separator, h->dim);
  clarke_rationals_free(weight, h->n);
  return status;
}

/* All cells have AD's slopes, wherever they matter. */
static clarke_status
first_alone(clarke_membership *m, size_t n, clarke_error *err)
{
  m->weight = clarke_rationals(n);
  if (m->weight == NULL)
    return clarke_no_memory(err);
  mpq_set_ui(m->weight[0], 1, 1);
  m->place = CLARKE_HULL_INSIDE;
  return CLARKE_OK;
}

clarke_status
clarke_slope_hull_find(clarke_membership *m, const clarke_question *q, const clarke_cell *cell, size_t n,
                       const bool *effect, clarke_error *err)
{
  slope_hull h = {.q = q, .cell = cell, .n = n, .effect = effect, .ad = clarke_rationals(q->n_gains),
                  .split = calloc(q->replay->n_touches + 1, sizeof *h.split)};
  clarke_status status = h.ad != NULL && h.split != NULL ? CLARKE_OK : clarke_no_memory(err);
  bool asked = status == CLARKE_OK && ad_weights(&h), behind = false;

  if (asked)
    find_split(&h);
  if (asked && h.dim == 0)
    status = first_alone(m, n, err);
  asked = asked && h.dim > 0 && h.dim <= MOST / n;
  if (asked)
    status = one_behind_another(&behind, &h, err);
  if (asked && status == CLARKE_OK && !behind)
    status = solve(m, &h, err);
  clarke_rationals_free(h.ad, q->n_gains);
  free(h.split);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_membership_is_valid(m, n));
  return status;
}

clarke_status
clarke_slopes_split(bool *split, bool *behind, bool *known, const clarke_question *q, const clarke_cell *cell, size_t n, const bool *effect,
                    clarke_error *err)
{
  slope_hull h = {.q = q, .cell = cell, .n = n, .effect = effect, .ad = clarke_rationals(q->n_gains), .split = split};
  clarke_status status = h.ad != NULL ? CLARKE_OK : clarke_no_memory(err);

  *behind = true;
  memset(split, 0, q->replay->n_touches * sizeof *split);
  *known = status == CLARKE_OK && ad_weights(&h);
  if (*known) {
    find_split(&h);
    status = one_behind_another(behind, &h, err);
  }
  clarke_rationals_free(h.ad, q->n_gains);
  return status;
}

/* --- opposites ------------------------------------------------------------------------------- */

/* Takes AD a slope at some touch that moves which is on none of its sides? Else no other cell has a part in a mean that gives AD's
 * slopes. */
static clarke_status
is_between(bool *between, const clarke_question *q, clarke_error *err)
{
  clarke_cell own;
  clarke_status status;

  *between = false;
  for (size_t k = 0; k < q->replay->n_touches; k++)
    *between = *between || q->touch[k].ad_side == CLARKE_PROXY;
  if (!*between)
    return CLARKE_OK;
  *between = false;
  clarke_cell_init(&own);
  status = clarke_cell_set(&own, q, NULL, err);
  for (size_t k = 0; k < q->replay->n_touches && status == CLARKE_OK; k++)
    *between = *between || (q->touch[k].ad_side == CLARKE_PROXY && clarke_cell_moves(&own, q, k));
  clarke_cell_clear(&own);
  return status;
}

clarke_status
clarke_slope_hull_of_opposites(clarke_membership *m, clarke_cell *cell, const clarke_question *q, clarke_error *err)
{
  uint64_t state = 1;
  bool between;
  clarke_status status = is_between(&between, q, err);

  for (size_t i = 0; i < CLARKE_LINES && between && status == CLARKE_OK && m->place != CLARKE_HULL_INSIDE; i++) {
    uint64_t again = state;
    bool realized = false;

    status = clarke_ray_cell(&realized, &cell[0], &state, false, q, err);
    if (status == CLARKE_OK && realized)
      status = clarke_ray_cell(&realized, &cell[1], &again, true, q, err);
    if (status == CLARKE_OK && realized)
      status = clarke_slope_hull_find(m, q, cell, 2, NULL, err);
  }
  return status;
}
