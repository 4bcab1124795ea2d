#include "trace/certify/branches.h"

#include "base/room.h"
#include "network/pass/piecewise.h"
#include "network/pass/window.h"

#include <stdlib.h>
#include <string.h>

#define PRECISION 128

void
clarke_branches_init(clarke_branches *p)
{
  memset(p, 0, sizeof *p);
}

void
clarke_branches_clear(clarke_branches *p)
{
  free(p->parted);
  clarke_branches_init(p);
}

typedef struct {
  clarke_branches *p;
  const clarke_certify *c;
  clarke_replay *r;
  clarke_forward exact; /* made when winners differ: over the samples where they do */
  size_t *column;       /* a sample's place there; NULL: it is not made */
  clarke_error *err;
} work;

static clarke_status
add(work *w, clarke_divergence kind, size_t step, size_t e, bool alike)
{
  clarke_branches *p = w->p;
  const size_t n = w->c->pass.n;

  if (!clarke_room(&p->parted, &p->capacity, p->n + 1, sizeof *p->parted))
    return clarke_no_memory(w->err);
  p->parted[p->n++] = (clarke_parted){kind, step, e / n, e % n, alike, w->r->piece[step][e] < 0};
  return CLARKE_OK;
}

/* --- kinks --- */

/* Is the profile's number at the kink the slope of the straight piece beside it? */
static clarke_status
takes_slope(bool *takes, const work *w, size_t step, size_t e, size_t kink, size_t piece)
{
  const clarke_step *s = &w->c->g->steps[step];
  const clarke_touch t = {.step = step, .feature = e / w->c->pass.n, .kink = kink};
  clarke_status status;
  mpq_t proxy, slope;

  *takes = false;
  /* of PRelu, the gradient in its slope is another */
  if (piece < kink || piece > kink + 1 || mpq_sgn(s->pieces.coef[piece][2]) != 0 || s->pieces.slope != CLARKE_NONE)
    return CLARKE_OK;
  mpq_inits(proxy, slope, NULL);
  status = clarke_touch_proxy(proxy, w->c->g, &t, w->c->profile, w->err);
  clarke_touch_side(slope, w->c->g, &t, piece == kink + 1);
  *takes = status == CLARKE_OK && mpq_equal(proxy, slope);
  mpq_clears(proxy, slope, NULL);
  return status;
}

/* Do all places between two pieces join them, so that there is no kink? Then AD's slope at the one argument and at the other differ by
 * no more than the function's curvature makes of what rounding moved it by, as bounds have it. */
static bool
one_branch(const clarke_pieces *p, clarke_branch a, clarke_branch b)
{
  bool joined = a >= 0 && b >= 0;

  for (clarke_branch k = a < b ? a : b; joined && k < (a < b ? b : a); k++)
    joined = clarke_pieces_joined(p, (size_t)k);
  return joined;
}

static clarke_status
compare_kink(work *w, size_t step, size_t e, clarke_branch exact, clarke_branch recorded)
{
  const bool touched = exact < 0, at = recorded < 0;
  bool alike = false;
  clarke_status status = CLARKE_OK;

  if (exact == recorded || one_branch(&w->c->g->steps[step].pieces, exact, recorded))
    return CLARKE_OK;
  if (touched != at)
    status = takes_slope(&alike, w, step, e, CLARKE_KINK_OF(touched ? exact : recorded), (size_t)(touched ? recorded : exact));
  if (status != CLARKE_OK)
    return status;
  return add(w, at && !touched ? CLARKE_AT_RECORDED : touched && !at ? CLARKE_AT_EXACTLY : CLARKE_OTHER_SIDE, step, e, alike);
}

/* --- windows --- */

/* The feature that the record made the winner. */
static size_t
recorded_winner(const clarke_certify *c, size_t step, size_t e)
{
  if (c->by_doubles)
    return c->winner[step][e];
  return c->slopes.route[step].n > 0 && c->slopes.route[step].from[0][e] != CLARKE_NONE
           ? c->slopes.route[step].from[0][e]
           : clarke_certify_winner(c, &c->g->steps[step], e);
}

/* Touches are in order: that of an entry; NULL: none. */
static const clarke_touch *
touch_at(const clarke_replay *r, size_t step, size_t feature, size_t sample)
{
  size_t low = 0, high = r->n_touches;

  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const clarke_touch *t = &r->touch[middle];
    const bool before = t->step != step         ? t->step < step
                        : t->feature != feature ? t->feature < feature
                                                : t->sample < sample;

    if (before)
      low = middle + 1;
    else
      high = middle;
  }
  return low < r->n_touches && r->touch[low].step == step && r->touch[low].feature == feature && r->touch[low].sample == sample
           ? &r->touch[low]
           : NULL;
}

/* The feature that is exactly a window's winner; CLARKE_NONE: that is not known. */
static size_t
exact_winner(const work *w, size_t step, size_t e)
{
  const clarke_step *s = &w->c->g->steps[step];
  const size_t n = w->c->pass.n;
  const clarke_branch exact = w->r->piece[step][e];
  const clarke_touch *t = exact < 0 ? touch_at(w->r, step, e / n, e % n) : NULL;

  if (exact >= 0)
    return s->in[0].map[e / n * s->width + (size_t)exact];
  return t != NULL ? t->option[0] : CLARKE_NONE;
}

static bool
shares(const work *w, size_t step)
{
  return clarke_profile_shares(w->c->profile, w->c->g->steps[step].op);
}

/* The samples of all windows whose winners may differ, or where equal entries share; of coupled ones all. */
static size_t
find_samples(size_t *sample, bool *mark, const work *w)
{
  const clarke_graph *g = w->c->g;
  const size_t n = w->c->pass.n;
  const bool all = clarke_graph_couples(g);
  size_t found = 0;

  for (size_t i = 0; i < g->n_steps && !all; i++) {
    const size_t entries = g->steps[i].kind == CLARKE_MAX ? g->values[g->steps[i].out].count * n : 0;

    for (size_t e = 0; e < entries; e++)
      mark[e % n] = mark[e % n] || exact_winner(w, i, e) != recorded_winner(w->c, i, e)
                    || (shares(w, i) && (w->r->piece[i][e] < 0 || w->c->pass.piece[i][e] < 0));
  }
  for (size_t j = 0; j < n; j++)
    if (mark[j] || all)
      sample[found++] = j;
  return found;
}

static clarke_status
make_exact(work *w)
{
  const size_t n = w->c->pass.n;
  size_t *sample = malloc((n + 1) * sizeof *sample), found = 0;
  bool *mark = calloc(n + 1, sizeof *mark);
  clarke_status status = CLARKE_OK;

  w->column = calloc(n + 1, sizeof *w->column);
  if (sample == NULL || mark == NULL || w->column == NULL)
    status = clarke_no_memory(w->err);
  if (status == CLARKE_OK)
    found = find_samples(sample, mark, w);
  for (size_t k = 0; k < found; k++)
    w->column[sample[k]] = k;
  if (status == CLARKE_OK)
    status = clarke_replay_some(&w->exact, w->r, sample, found, false, PRECISION, w->err);
  free(sample);
  free(mark);
  return status;
}

/* -1, 0, 1 as two entries of what a window pools compare exactly; 2: that is not known. */
static clarke_status
compare_entries(int *sign, work *w, size_t step, size_t a, size_t b, size_t j)
{
  const size_t x = w->c->g->steps[step].in[0].value;
  const clarke_status status = w->column == NULL ? make_exact(w) : CLARKE_OK;

  if (status == CLARKE_OK)
    *sign = clarke_matrix_compare_entries(&w->exact.value[x], a, b, w->column[j]);
  return status;
}

/* Do two entries of a window tie in the record? */
static bool
tie_recorded(const work *w, size_t step, size_t a, size_t b, size_t j)
{
  return clarke_matrix_compare_entries(&w->c->pass.value[w->c->g->steps[step].in[0].value], a, b, j) == 0;
}

/* The same of a touch, whose ties are known: perhaps by what the entries are, and not by numbers. */
static bool
same_touch(const work *w, const clarke_touch *t, size_t winner)
{
  const clarke_step *s = &w->c->g->steps[t->step];
  size_t place[CLARKE_MAX_WIDTH], at = 0;
  const size_t n = clarke_window_tied(place, &w->r->near, t->step, t->feature, t->column);
  bool same = true;

  for (size_t i = 0; i < s->width && same; i++) {
    const size_t f = s->in[0].map[t->feature * s->width + i];
    const bool tied = at < n && place[at] == i;

    at += tied;
    same = f == CLARKE_NONE || tied == tie_recorded(w, t->step, f, winner, t->sample);
  }
  return same;
}

/* Are the entries of a window that tie in the record those that tie exactly? */
static clarke_status
compare_ties(bool *same, work *w, size_t step, size_t e)
{
  const clarke_step *s = &w->c->g->steps[step];
  const size_t n = w->c->pass.n, winner = recorded_winner(w->c, step, e), *map = &s->in[0].map[e / n * s->width];
  const clarke_touch *t = w->r->piece[step][e] < 0 ? touch_at(w->r, step, e / n, e % n) : NULL;
  clarke_status status = CLARKE_OK;

  *same = !w->c->by_doubles && (t == NULL || same_touch(w, t, winner));
  for (size_t i = 0; i < s->width && t == NULL && *same && status == CLARKE_OK; i++) {
    int sign = 0;

    if (map[i] == CLARKE_NONE || map[i] == winner)
      continue;
    status = compare_entries(&sign, w, step, map[i], winner, e % n);
    *same = sign != 2 && (sign == 0) == tie_recorded(w, step, map[i], winner, e % n);
  }
  return status;
}

static clarke_status
compare_window(work *w, size_t step, size_t e, clarke_branch exact, clarke_branch recorded)
{
  const size_t n = w->c->pass.n, winner = recorded_winner(w->c, step, e), largest = exact_winner(w, step, e);
  int sign = 0;
  bool same = true;
  clarke_status status = CLARKE_OK;

  if (shares(w, step) && (exact < 0 || recorded < 0)) {
    status = compare_ties(&same, w, step, e);
    w->p->doubtful += !same;
    return status;
  }
  if (largest != winner && largest != CLARKE_NONE)
    status = compare_entries(&sign, w, step, winner, largest, e % n);
  if (status != CLARKE_OK)
    return status;
  if (sign == 2) {
    w->p->open++;
    return CLARKE_OK;
  }
  if (sign < 0)
    return add(w, CLARKE_OTHER_SIDE, step, e, false);
  if (exact >= 0 && recorded < 0)
    return add(w, CLARKE_AT_RECORDED, step, e, true); /* a tie that is none; its first is the winner */
  return exact < 0 && recorded >= 0 ? add(w, CLARKE_AT_EXACTLY, step, e, winner == largest) : CLARKE_OK;
}

/* Is an argument that was not recorded, but follows from what was, farther from kinks, or other entries of its window, than
 * rounding may have taken it? */
static clarke_status
follows(bool *known, const work *w, size_t step, size_t e)
{
  const clarke_step *s = &w->c->g->steps[step];
  const clarke_operand *o = &s->in[0];
  clarke_roundoff rounded = w->c->rounded;
  const size_t n = w->c->pass.n;
  clarke_reach reach;
  clarke_status status;
  size_t best;

  if (s->kind != CLARKE_MAX) {
    status = clarke_roundoff_reach(&reach, &rounded, step, e, w->err);
    *known = status == CLARKE_OK && !reach.open;
    return status;
  }
  best = w->c->slopes.route[step].n > 0 ? w->c->slopes.route[step].from[0][e] : CLARKE_NONE;
  *known = best != CLARKE_NONE;
  for (size_t i = 0; i < s->width && *known; i++) {
    const size_t f = o->map[e / n * s->width + i];

    *known = f == CLARKE_NONE || f == best || !clarke_roundoff_may_win(&rounded, o->value, best, f, e % n);
  }
  return CLARKE_OK;
}

/* The first entry from e on whose argument is not at one side in both, or is at a kink: as few are. */
static size_t
find_other(const clarke_branch *exact, const clarke_branch *recorded, size_t e, size_t n)
{
  while (e < n && exact[e] == recorded[e] && exact[e] >= 0)
    e++;
  return e;
}

/* Is a window's place, which is the same in both, that of the recorded winner? */
static bool
is_winner(const work *w, const clarke_step *s, size_t step, size_t e)
{
  return w->c->by_doubles && w->c->winner[step][e] == s->in[0].map[e / w->c->pass.n * s->width + (size_t)w->r->piece[step][e]];
}

static clarke_status
compare_step(work *w, size_t step)
{
  const clarke_step *s = &w->c->g->steps[step];
  const size_t entries = w->c->g->values[s->out].count * w->c->pass.n;
  clarke_status status = CLARKE_OK;

  const size_t x = s->in[0].value;
  /* by doubles all that has a name was recorded, and what has none follows without an error */
  const bool shown = w->c->by_doubles ? w->c->g->values[x].name != NULL : w->c->recorded[x] != NULL;
  const bool unrecorded = !shown && x != w->c->g->input && (w->c->by_doubles || s->kind != CLARKE_MAX || !clarke_certify_is_known(w->c, x));

  w->p->asked += entries;
  w->p->unrecorded += unrecorded ? entries : 0;
  for (size_t e = 0; e < entries && status == CLARKE_OK; e++) {
    const bool skips = s->kind != CLARKE_MAX && (!unrecorded || w->c->by_doubles);
    clarke_branch exact, recorded;
    bool known = true;

    e = skips ? find_other(w->r->piece[step], w->c->pass.piece[step], e, entries) : e;
    if (e == entries)
      break;
    exact = w->r->piece[step][e];
    recorded = w->c->pass.piece[step][e];
    if (s->kind == CLARKE_MAX && exact >= 0 && exact == recorded && is_winner(w, s, step, e))
      continue;
    if (unrecorded && !w->c->by_doubles)
      status = follows(&known, w, step, e);
    w->p->open += !unrecorded && (exact == CLARKE_OPEN || recorded == CLARKE_OPEN);
    if (!known || exact == CLARKE_OPEN || recorded == CLARKE_OPEN)
      w->p->doubtful++;
    else if (status == CLARKE_OK)
      status = s->kind == CLARKE_MAX ? compare_window(w, step, e, exact, recorded) : compare_kink(w, step, e, exact, recorded);
  }
  return status;
}

clarke_status
clarke_branches_compare(clarke_branches *p, const clarke_certify *c, clarke_replay *r, clarke_error *err)
{
  work w = {.p = p, .c = c, .r = r, .err = err};
  clarke_status status = CLARKE_OK;

  clarke_forward_init(&w.exact);
  for (size_t i = 0; i < c->g->n_steps && status == CLARKE_OK; i++)
    if (clarke_step_has_kinks(&c->g->steps[i]))
      status = compare_step(&w, i);
  clarke_forward_clear(&w.exact);
  free(w.column);
  return status;
}

/* --- sides --- */

static bool
identical(const clarke_replay *r, const clarke_touch *t, size_t a, size_t b)
{
  clarke_identities *ids = r->near.identities;
  const size_t x = r->g->steps[t->step].in[0].value;
  clarke_identity one, other;

  if (a == b || ids == NULL)
    return a == b;
  one = clarke_identity_of(ids, x, a, t->column);
  other = clarke_identity_of(ids, x, b, t->column);
  return !clarke_identities_failed(ids) && one == other;
}

/* Entries of one identity are one option; the record's winner may be any of them. */
static clarke_branch
option_of(bool *known, const clarke_touch *t, const clarke_replay *r, size_t winner)
{
  for (size_t o = 0; o < t->n_options; o++)
    if (identical(r, t, t->option[o], winner))
      return CLARKE_OPTION(o);
  *known = false;
  return CLARKE_PROXY;
}

clarke_branch
clarke_branches_side(bool *known, const clarke_certify *c, const clarke_replay *r, size_t k)
{
  const clarke_touch *t = &r->touch[k];
  const size_t e = t->feature * c->pass.n + t->sample;
  const clarke_branch recorded = c->pass.piece[t->step][e];

  *known = true;
  if (t->n_options > 0)
    return option_of(known, t, r, recorded_winner(c, t->step, e));
  if (recorded == CLARKE_AT(t->kink))
    return CLARKE_PROXY;
  *known = recorded == (clarke_branch)t->kink || recorded == (clarke_branch)(t->kink + 1);
  return recorded == (clarke_branch)t->kink ? CLARKE_LEFT : CLARKE_RIGHT;
}

/* --- two records --- */

bool
clarke_branches_fork(clarke_bifurcation *fork, const clarke_certify *a, const clarke_certify *b, const size_t *twin)
{
  for (size_t i = 0; i < a->g->n_steps; i++) {
    const clarke_step *s = &a->g->steps[i];
    const size_t entries = clarke_step_has_kinks(s) ? a->g->values[s->out].count * a->pass.n : 0;

    for (size_t e = 0; e < entries; e++) {
      if (s->kind == CLARKE_MAX ? recorded_winner(a, i, e) == recorded_winner(b, twin[i], e)
                                : a->pass.piece[i][e] == b->pass.piece[twin[i]][e]
                                    || one_branch(&s->pieces, a->pass.piece[i][e], b->pass.piece[twin[i]][e]))
        continue;
      *fork = (clarke_bifurcation){i, e / a->pass.n, e % a->pass.n};
      return true;
    }
  }
  return false;
}
