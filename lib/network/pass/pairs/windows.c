/* Which entry of a window is the largest, as far as bounds tell; windows whose largest are identical. */
#include "network/pass/pairs/pairs.h"

/* A window of one column. */
typedef struct {
  const clarke_enclosed *x;
  const size_t *entry; /* features of its places; CLARKE_NONE: padding */
  size_t width, n, column;
} window;

static inline size_t
entry_of(const window *w, size_t place)
{
  return w->entry[place] * w->n + w->column;
}

/* The place that looks largest: the first of them. */
static size_t
largest_of(const window *w)
{
  size_t best = CLARKE_NONE;

  for (size_t p = 0; p < w->width; p++) {
    if (w->entry[p] == CLARKE_NONE)
      continue;
    if (best == CLARKE_NONE || w->x->high[entry_of(w, p)] > w->x->high[entry_of(w, best)] ||
        (w->x->high[entry_of(w, p)] == w->x->high[entry_of(w, best)] && w->x->low[entry_of(w, p)] > w->x->low[entry_of(w, best)]))
      best = p;
  }
  return best;
}

/* One place's entry less another's, with what that is off by. */
static double
difference(const window *w, size_t p, size_t q, double *off)
{
  const size_t a = entry_of(w, p), b = entry_of(w, q);
  const clarke_pair d = clarke_pair_add(clarke_enclosed_get(w->x, a), clarke_pairs_negative(clarke_enclosed_get(w->x, b)));
  const double size = fabs(w->x->high[a]) + fabs(w->x->high[b]);

  *off = clarke_up_over(w->x->off[a] + w->x->off[b] + 2 * CLARKE_PAIR_UNIT * size + clarke_taken(1, fabs(d.high)), 8, CLARKE_PAIRS_LEAST);
  return d.high;
}

/* May the entry at that place be the largest? */
static bool
is_near(const window *w, size_t best, size_t p)
{
  double off;

  return p == best || !(difference(w, best, p, &off) > off);
}

/* Entries that differ by more, as a part of the larger, are not identical as a rule, however far bounds reach: identities of these are not
 * asked for. */
#define ALIKE 0x1p-24

static bool
alike(const window *w, size_t p, size_t q)
{
  const double a = w->x->high[entry_of(w, p)], b = w->x->high[entry_of(w, q)];

  return fabs(a - b) <= ALIKE * fmax(fabs(a), fabs(b));
}

/* The first of the places that may be the largest, where those are identical, or one alone; else CLARKE_OPEN. Identities are asked for
 * where there are several: *tied. */
static clarke_branch
settle(clarke_pairs_pass *f, const clarke_step *s, const window *w, size_t best, bool *tied)
{
  clarke_branch first = CLARKE_OPEN;

  *tied = false;
  for (size_t p = 0; p < w->width; p++) {
    if (w->entry[p] == CLARKE_NONE || !is_near(w, best, p))
      continue;
    if (first == CLARKE_OPEN) {
      first = (clarke_branch)p;
      continue;
    }
    *tied = true;
    if (!alike(w, (size_t)first, p) || !clarke_identity_same(f->ids, s->in[0].value, w->entry[first], w->entry[p], w->column))
      return CLARKE_OPEN;
  }
  return first;
}

/* A window that has just been decided: its distances are from those that are certainly smaller. */
static void
measure(const clarke_pairs_pass *f, const window *w, size_t feature, size_t best)
{
  for (size_t p = 0; p < w->width && f->margin != NULL; p++) {
    double off, d;

    if (w->entry[p] == CLARKE_NONE || p == best)
      continue;
    d = difference(w, best, p, &off);
    if (d > off)
      clarke_pairs_measure(f, w->column, d, off, feature);
  }
}

/* The sizes of a window's entries, decided or not. */
static void
measure_sizes(const clarke_pairs_pass *f, const window *w)
{
  for (size_t p = 0; p < w->width && f->margin != NULL; p++)
    if (w->entry[p] != CLARKE_NONE)
      clarke_margin_hold(&f->margin[f->step][w->column], clarke_up_by(fabs(w->x->high[entry_of(w, p)]) + w->x->off[entry_of(w, p)], 4));
}

/* The largest that is seen, off by no more than the worst of the window. */
static void
put_largest(clarke_enclosed *y, size_t e, const window *w, size_t best)
{
  double off = 0;

  for (size_t p = 0; p < w->width; p++)
    if (w->entry[p] != CLARKE_NONE)
      off = clarke_larger(off, w->x->off[entry_of(w, p)]);
  clarke_enclosed_put(y, e, clarke_enclosed_get(w->x, entry_of(w, best)), off);
}

clarke_status
clarke_pairs_max(clarke_pairs_pass *f, const clarke_step *s)
{
  clarke_enclosed *y = &f->value[s->out];
  clarke_branch *place = f->piece[f->step];
  clarke_status status = clarke_enclosed_alloc(f, y, f->g->values[s->out].count);

  if (f->ids == NULL)
    f->ids = clarke_identities_new(f->g, f->n, f->piece, NULL, f->x);
  if (f->ids == NULL)
    status = clarke_no_memory(f->err);
  for (size_t e = 0; status == CLARKE_OK && e < y->rows * f->n; e++) {
    const window w = {&f->value[s->in[0].value], s->in[0].map + e / f->n * s->width, s->width, f->n, e % f->n};
    const size_t best = largest_of(&w);
    bool tied;

    if (place[e] == CLARKE_OPEN) {
      place[e] = settle(f, s, &w, best, &tied);
      if (place[e] != CLARKE_OPEN) {
        f->ties[f->step][w.column] += tied;
        measure(f, &w, e / f->n, best);
      } else
        f->vague += !(w.x->off[entry_of(&w, best)] <= CLARKE_PAIRS_CLOSE);
    }
    measure_sizes(f, &w);
    put_largest(y, e, &w, best);
  }
  return status == CLARKE_OK && clarke_identities_failed(f->ids) ? clarke_no_memory(f->err) : status;
}
