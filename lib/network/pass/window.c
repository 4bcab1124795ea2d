/* MAX steps: which entries of a window are the largest. */
#include "network/pass/window.h"

#include "network/pass/combination.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One window: entry[i] is the feature of the i-th place, CLARKE_NONE where there is padding. */
typedef struct {
  const clarke_forward *f;
  const clarke_matrix *x;
  clarke_identities *ids;
  const size_t *entry;
  size_t value, width, column; /* value: x's */
} window;

static window
window_at(const clarke_forward *f, size_t step, size_t feature, size_t column)
{
  const clarke_step *s = &f->g->steps[step];
  size_t x = s->in[0].value;

  return (window){f, &f->value[x], f->identities, s->in[0].map + feature * s->width, x, s->width,
                  column};
}

static bool
identical(const window *w, size_t i, size_t k)
{
  return clarke_identity_same(w->ids, w->value, w->entry[i], w->entry[k], w->column);
}

/* Midpoints of enclosures that differ by more, as a part of the larger, are not of identical entries as a rule, however far radii
 * reach. Before the exact pass identities of these are not asked for: that costs more than what finer enclosures tell. */
#define ALIKE 0x1p-24

static bool
alike(const window *w, size_t i, size_t k)
{
  const double a = clarke_matrix_get_double(w->x, w->entry[i], w->column), b = clarke_matrix_get_double(w->x, w->entry[k], w->column);

  return !w->f->refining || fabs(a - b) <= ALIKE * fmax(fabs(a), fabs(b));
}

/* As clarke_matrix_compare_entries; identical entries are equal, and those whose difference cancels but for a root. */
static int
compare(const window *w, size_t i, size_t k)
{
  int sign = w->entry[i] != w->entry[k] ? clarke_matrix_compare_entries(w->x, w->entry[i], w->entry[k], w->column) : 0;

  if (sign == 2 && w->ids != NULL && alike(w, i, k) && identical(w, i, k))
    return 0;
  return sign == 2 && !w->f->refining && clarke_cancels(w->f, w->value, w->entry[i], w->entry[k], NULL, w->column) ? 0 : sign;
}

/* The first place than which none is certainly larger. */
static size_t
largest(const window *w)
{
  size_t best = 0;

  while (w->entry[best] == CLARKE_NONE)
    best++;
  for (size_t i = best + 1; i < w->width; i++)
    if (w->entry[i] != CLARKE_NONE && compare(w, i, best) == 1)
      best = i;
  for (size_t i = 0; i < w->width; i++)
    if (w->entry[i] != CLARKE_NONE && compare(w, i, best) == 1) {
      best = i;
      i = CLARKE_NONE; /* again from the beginning: enclosures need not be ordered */
    }
  return best;
}

/* The places that equal the largest; *open: some place may be larger, equal or smaller. */
static size_t
tied_places(size_t *tied, bool *open, const window *w)
{
  size_t best = largest(w), n = 0;

  *open = false;
  for (size_t i = 0; i < w->width; i++) {
    int sign = w->entry[i] == CLARKE_NONE ? -1 : i == best ? 0 : compare(w, i, best);

    if (sign == 0)
      tied[n++] = i;
    *open = *open || sign == 2;
  }
  return n;
}

static bool
all_identical(const window *w, const size_t *tied, size_t n)
{
  for (size_t i = 1; i < n; i++)
    if (!identical(w, tied[i], tied[0]))
      return false;
  return true;
}

/* What a strict comparison settles; else CLARKE_OPEN: identities are wanted. */
static clarke_branch
alone(const window *w)
{
  size_t tied[CLARKE_MAX_WIDTH];
  bool open;

  return tied_places(tied, &open, w) == 1 && !open ? (clarke_branch)tied[0] : CLARKE_OPEN;
}

static clarke_branch
settle(const window *w, size_t *ties, size_t *n_open)
{
  size_t tied[CLARKE_MAX_WIDTH], n;
  bool open;

  n = tied_places(tied, &open, w);
  if (open) {
    (*n_open)++;
    return CLARKE_OPEN;
  }
  *ties += n > 1;
  return all_identical(w, tied, n) ? (clarke_branch)tied[0] : CLARKE_AT(0);
}

/* Open windows: decided where one entry is the largest, or the largest are all identical. */
static clarke_status
refine_windows(clarke_forward *f, size_t step, clarke_error *err)
{
  size_t entries = f->g->values[f->g->steps[step].out].count * f->n, open;

  for (size_t e = 0; e < entries; e++)
    if (f->piece[step][e] == CLARKE_OPEN) {
      window w = window_at(f, step, e / f->n, e % f->n);
      size_t ties = 0;
      clarke_branch code = settle(&w, &ties, &open);

      if (code < 0)
        continue;
      f->piece[step][e] = code;
      f->ties[step][e % f->n] += ties;
      clarke_forward_measure(f, step, e / f->n, e % f->n);
    }
  return clarke_identities_failed(f->identities) ? clarke_no_memory(err)
                                                 : CLARKE_OK;
}

clarke_status
clarke_window_decide(clarke_forward *f, size_t step, clarke_error *err)
{
  const clarke_step *s = &f->g->steps[step];
  size_t entries = f->g->values[s->out].count * f->n, left = 0;

  if (f->refining)
    return refine_windows(f, step, err);
  f->piece[step] = malloc((entries + 1) * sizeof **f->piece);
  f->ties[step] = calloc(f->n + 1, sizeof **f->ties);
  if (f->piece[step] == NULL || f->ties[step] == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < entries; e++) {
    window w = window_at(f, step, e / f->n, e % f->n);

    f->piece[step][e] = alone(&w);
    left += f->piece[step][e] == CLARKE_OPEN;
  }
  if (left > 0 && f->identities == NULL)
    f->identities = clarke_identities_new(f->g, f->n, f->piece, f->value, NULL);
  if (left > 0 && f->identities == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < entries && left > 0; e++)
    if (f->piece[step][e] == CLARKE_OPEN) {
      window w = window_at(f, step, e / f->n, e % f->n);

      f->piece[step][e] = settle(&w, &f->ties[step][e % f->n], &f->open);
    }
  return f->identities != NULL && clarke_identities_failed(f->identities)
           ? clarke_no_memory(err)
           : CLARKE_OK;
}

size_t
clarke_window_tied(size_t *tied, const clarke_forward *f, size_t step, size_t feature,
                   size_t column)
{
  window w = window_at(f, step, feature, column);
  bool open;

  return tied_places(tied, &open, &w);
}

size_t
clarke_window_candidates(size_t *place, const clarke_forward *f, size_t step, size_t feature, size_t column)
{
  window w = window_at(f, step, feature, column);
  size_t best = largest(&w), n = 0;

  for (size_t i = 0; i < w.width; i++)
    if (i == best || (w.entry[i] != CLARKE_NONE && compare(&w, i, best) != -1))
      place[n++] = i;
  return n;
}

size_t
clarke_window_options(size_t *option, const clarke_forward *f, size_t step, size_t feature,
                      size_t column)
{
  window w = window_at(f, step, feature, column);
  size_t tied[CLARKE_MAX_WIDTH], n = clarke_window_tied(tied, f, step, feature, column), m = 0;

  for (size_t i = 0; i < n; i++) {
    bool seen = false;

    for (size_t k = 0; k < m && !seen; k++)
      seen = all_identical(&w, (size_t[]){option[k], tied[i]}, 2);
    if (!seen)
      option[m++] = tied[i];
  }
  return m;
}

size_t
clarke_window_parted(const clarke_forward *f, size_t step, size_t feature, size_t column)
{
  window w = window_at(f, step, feature, column);
  size_t tied[CLARKE_MAX_WIDTH], n = clarke_window_tied(tied, f, step, feature, column), parted = 0;

  for (size_t i = 1; i < n; i++)
    parted += !identical(&w, tied[i], tied[0]);
  return parted;
}

/* The option that a tied place belongs to. */
static size_t
option_of(const window *w, const size_t *option, size_t place)
{
  size_t o = 0;

  while (!identical(w, option[o], place))
    o++;
  return o;
}

void
clarke_window_count_options(size_t *count, const clarke_forward *f, size_t step, size_t feature, size_t column)
{
  window w = window_at(f, step, feature, column);
  size_t tied[CLARKE_MAX_WIDTH], option[CLARKE_MAX_WIDTH];
  const size_t n = clarke_window_tied(tied, f, step, feature, column);

  clarke_window_options(option, f, step, feature, column);
  for (size_t i = 0; i < n; i++)
    count[option_of(&w, option, tied[i])]++;
}

size_t
clarke_window_last_option(const clarke_forward *f, size_t step, size_t feature, size_t column)
{
  window w = window_at(f, step, feature, column);
  size_t tied[CLARKE_MAX_WIDTH], option[CLARKE_MAX_WIDTH];
  size_t n = clarke_window_tied(tied, f, step, feature, column);

  clarke_window_options(option, f, step, feature, column);
  return option_of(&w, option, tied[n - 1]);
}
