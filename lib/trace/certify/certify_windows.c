/* Recorded winners of pools, and AD's slopes along the record (certify.h). */
#include "trace/certify/certify.h"
#include "base/room.h"
#include "network/pass/window.h"

#include <stdlib.h>
#include <string.h>

/* Do entries that are one function of the parameters tie, among which AD divides? They are no touch, and each has a part. */
static bool
divides(const clarke_forward *f, size_t step, size_t e, const clarke_profile *profile)
{
  size_t place[CLARKE_MAX_WIDTH];

  return f->g->steps[step].kind == CLARKE_MAX && clarke_profile_shares(profile, f->g->steps[step].op)
         && clarke_window_tied(place, f, step, e / f->n, e % f->n) > 1;
}

/* Every kink that the record is at, and every tied window. */
static clarke_status
collect_touches(clarke_touch **touch, size_t *n, const clarke_forward *f, const clarke_profile *profile, clarke_error *err)
{
  size_t capacity = 0;

  for (size_t i = 0; i < f->g->n_steps; i++) {
    const size_t entries = f->piece[i] != NULL ? f->g->values[f->g->steps[i].out].count * f->n : 0;

    for (size_t e = 0; e < entries; e++) {
      const clarke_branch code = f->piece[i][e];

      if (code == CLARKE_OPEN || (code >= 0 && !divides(f, i, e, profile)))
        continue;
      if (!clarke_room(touch, &capacity, *n + 1, sizeof **touch))
        return clarke_no_memory(err);
      (*touch)[(*n)++] = (clarke_touch){.step = i, .feature = e / f->n, .sample = e % f->n, .kink = CLARKE_KINK_OF(code),
                                        .column = e % f->n};
    }
  }
  return CLARKE_OK;
}

typedef struct {
  clarke_certify *c;
  size_t step;
  const clarke_tensor *t;
  clarke_certificate *made;
} windows;

/* Entries of a value along its last axes, so many. */
static size_t
plane_of(const clarke_value *v, size_t axes)
{
  size_t n = 1;

  for (size_t a = v->rank - axes; a < v->rank; a++)
    n *= v->dims[a];
  return n;
}

/* The operand's feature that an index names: a place in a channel's plane. CLARKE_NONE: none of the window's. The record has axes
 * for samples and channels; of them a single run's value has both, another's the channels alone. */
static size_t
named_feature(const windows *w, size_t f, int64_t index)
{
  const clarke_graph *g = w->c->g;
  const clarke_step *s = &g->steps[w->step];
  const clarke_value *x = &g->values[s->in[0].value], *y = &g->values[s->out];
  const size_t axes = w->t->rank - 2, plane = plane_of(x, axes);
  size_t from;

  if (index < 0 || (size_t)index >= plane)
    return CLARKE_NONE;
  from = f / plane_of(y, axes) * plane + (size_t)index;
  for (size_t i = 0; i < s->width; i++)
    if (s->in[0].map[f * s->width + i] == from)
      return from;
  return CLARKE_NONE;
}

bool
clarke_certify_is_known(const clarke_certify *c, size_t v)
{
  const clarke_matrix *m = &c->pass.value[v];

  for (size_t e = 0; e < m->rows * m->cols; e++)
    if (c->rounded.error[v] == NULL || c->rounded.error[v][e] != 0)
      return false;
  return m->radius == NULL;
}

size_t
clarke_certify_winner(const clarke_certify *c, const clarke_step *s, size_t e)
{
  const clarke_operand *o = &s->in[0];
  const clarke_matrix *x = &c->pass.value[o->value];
  size_t best = CLARKE_NONE;

  if (c->recorded[o->value] != NULL)
    return clarke_roundoff_winner(&c->rounded, s, e);
  for (size_t i = 0; i < s->width; i++) {
    const size_t f = o->map[e / x->cols * s->width + i];

    if (f != CLARKE_NONE && (best == CLARKE_NONE || clarke_matrix_compare_entries(x, f, best, e % x->cols) > 0))
      best = f;
  }
  return best;
}

static clarke_status
refute(const windows *w, size_t k, size_t named, size_t winner, clarke_error *err)
{
  const clarke_step *s = &w->c->g->steps[w->step];
  const clarke_value *x = &w->c->g->values[s->in[0].value];
  const size_t j = k / w->c->g->values[s->out].count;
  const clarke_matrix *m = &w->c->pass.value[s->in[0].value];
  char place[256], taken[256], larger[256];

  clarke_put_index(place, sizeof place, w->t->dims, w->t->rank, k);
  if (named == CLARKE_NONE)
    return clarke_certificate_say(w->made, CLARKE_IS_REFUTED, err, "index %lld at %s is of no entry of its window",
                                  (long long)w->t->integer[k], place);
  clarke_put_index(taken, sizeof taken, x->dims, x->rank, named);
  clarke_put_index(larger, sizeof larger, x->dims, x->rank, winner);
  if (clarke_matrix_compare_entries(m, named, winner, j) == 0)
    return clarke_certificate_say(w->made, CLARKE_IS_REFUTED, err, "at %s the winner is entry %s, which is not the first of the "
                                  "largest: %s is", place, taken, larger);
  return clarke_certificate_say(w->made, CLARKE_IS_REFUTED, err, "a loser was taken as winner: at %s entry %s, %.9g; entry %s is %.9g",
                                place, taken, clarke_matrix_get_double(m, named, j), larger, clarke_matrix_get_double(m, winner, j));
}

/* The gradient goes to whom the record names. */
static void
reroute(const windows *w, size_t e, size_t to)
{
  clarke_route *route = &w->c->slopes.route[w->step];

  for (size_t r = 1; r < route->n; r++)
    route->from[r][e] = CLARKE_NONE;
  if (route->n > 0)
    route->from[0][e] = to;
}

static clarke_status
judge(windows *w, clarke_error *err)
{
  clarke_certify *c = w->c;
  const clarke_step *s = &c->g->steps[w->step];
  const size_t rows = c->g->values[s->out].count, n = c->pass.n;
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < w->t->count && status == CLARKE_OK; k++) {
    const size_t f = k % rows, j = k / rows, named = named_feature(w, f, w->t->integer[k]);
    const size_t winner = clarke_certify_winner(c, s, f * n + j);

    if (named != CLARKE_NONE)
      reroute(w, f * n + j, named);
    if (named == winner)
      w->made->exact++;
    else if (w->made->beyond++ == 0)
      status = refute(w, k, named, winner, err);
  }
  return status;
}

/* A pool's winners have no record. Where all that it pools is known, they are: the first of the largest. Gradients go along them
 * (clarke_slopes_choose), and a recorded one before the pool has none but them. Else nothing was checked of the winners. */
static clarke_status
miss(clarke_certify *c, const clarke_step *s, size_t entries, clarke_error *err)
{
  clarke_certificate *made = clarke_certify_add(c, CLARKE_INDICES, c->g->values[s->out].name, s->op->name, err);
  bool leads = false;

  if (made == NULL || clarke_certify_leads_back(&leads, c, s->out, err) != CLARKE_OK)
    return CLARKE_ENOMEM;
  made->entries = entries;
  if (leads && clarke_certify_is_known(c, s->in[0].value))
    return clarke_certificate_say(made, CLARKE_FOLLOWED, err, "its winners were not recorded: gradients before it are compared with "
                                  "what goes to the first of the largest");
  made->open = entries;
  return clarke_certificate_say(made, CLARKE_CANNOT_SAY, err, "its winners were not recorded");
}

static clarke_status
certify_step(clarke_certify *c, size_t step, clarke_error *err)
{
  const clarke_step *s = &c->g->steps[step];
  const clarke_value *y = &c->g->values[s->out];
  windows w = {.c = c, .step = step};

  if (s->kind != CLARKE_MAX || y->name == NULL)
    return CLARKE_OK;
  w.t = clarke_certify_find(c, "indices", y->name);
  if (w.t == NULL)
    return strcmp(s->op->name, "MaxPool") == 0 ? miss(c, s, y->count * c->pass.n, err) : CLARKE_OK;
  if (w.t->integer == NULL || w.t->count != y->count * c->pass.n || w.t->rank < 3 || w.t->rank - 2 > y->rank
      || w.t->rank - 2 > c->g->values[s->in[0].value].rank)
    return clarke_fail(err, CLARKE_EINPUT, "%s: tensor '%s': expected %zu indices", c->trace_file, w.t->name, y->count * c->pass.n);
  w.made = clarke_certify_add(c, CLARKE_INDICES, y->name, s->op->name, err);
  if (w.made == NULL)
    return CLARKE_ENOMEM;
  w.made->entries = w.t->count;
  if (c->recorded[s->in[0].value] == NULL && !clarke_certify_is_known(c, s->in[0].value)) {
    w.made->open = w.t->count;
    return clarke_certificate_say(w.made, CLARKE_CANNOT_SAY, err, "what it pools was not recorded");
  }
  return judge(&w, err);
}

clarke_status
clarke_certify_windows(clarke_certify *c, clarke_error *err)
{
  clarke_touch *touch = NULL;
  size_t n = 0;
  clarke_status status = collect_touches(&touch, &n, &c->pass, c->profile, err);

  if (status == CLARKE_OK)
    status = clarke_slopes_choose(&c->slopes, &c->pass, touch, n, NULL, c->profile, err);
  free(touch);
  for (size_t i = 0; i < c->g->n_steps && status == CLARKE_OK; i++)
    status = certify_step(c, i, err);
  return status;
}
