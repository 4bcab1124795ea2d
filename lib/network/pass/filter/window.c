/* Which entry of a window is the largest, as far as bounds tell; windows whose largest are identical. */
#include "network/pass/filter/filter.h"
#include "network/pass/filter/measure.h"
#include "network/pass/filter/norms.h"

#include "base/wide.h"

#include <string.h>

/* The bounds of one row of windows: a maximum is off by no more than the worst of its entries. */
static void
window_bounds(clarke_filter *f, const clarke_enclosure *x, const size_t *entry, size_t width, clarke_enclosure *y,
              size_t i)
{
  float *each = f->fine ? y->each + i * f->n : NULL;

  y->row[i] = 0;
  for (size_t j = 0; f->fine && j < f->n; j++)
    each[j] = 0;
  for (size_t p = 0; p < width; p++) {
    const float *in = f->fine && entry[p] != CLARKE_NONE ? x->each + entry[p] * f->n : NULL;

    if (!f->fine && entry[p] != CLARKE_NONE)
      y->row[i] = clarke_larger(y->row[i], x->row[entry[p]]);
    for (size_t j = 0; in != NULL && j < f->n; j++)
      each[j] = in[j] > each[j] ? in[j] : each[j];
  }
  clarke_enclosure_row_bounds(f, y, i, f->bound);
}

/* One row of windows: the largest entry of each column, and its place; open where another's upper end
 * reaches its lower end. */
CLARKE_WIDE static size_t
decide_windows(clarke_filter *f, const clarke_enclosure *x, const size_t *entry, size_t width, double *y,
               clarke_branch *piece)
{
  double *near = f->near, *place = near + f->n; /* entries that may be the largest; the largest's place */
  double *away = f->bound;
  size_t begun = 0;

  for (size_t i = 0; i < width; i++) {
    const double *in = entry[i] == CLARKE_NONE ? NULL : x->y + entry[i] * f->n;

    if (in == NULL)
      continue;
    for (size_t j = 0; begun == 0 && j < f->n; j++) {
      y[j] = in[j];
      place[j] = (double)i;
    }
    for (size_t j = 0; begun > 0 && j < f->n; j++) { /* no branch is guessed */
      const double above = in[j] > y[j] ? 1 : 0;

      place[j] += above * ((double)i - place[j]);
    }
    for (size_t j = 0; begun > 0 && j < f->n; j++)
      y[j] = in[j] > y[j] ? in[j] : y[j];
    begun++;
  }
  for (size_t j = 0; j < f->n; j++) {
    away[j] = clarke_up_over(2 * away[j], 8, 8 * CLARKE_TINY);
    near[j] = 0;
  }
  for (size_t i = 0; i < width; i++) {
    const double *in = entry[i] == CLARKE_NONE ? NULL : x->y + entry[i] * f->n;

    for (size_t j = 0; in != NULL && j < f->n; j++) {
      double distance = y[j] - in[j];

      near[j] += distance > away[j] + clarke_taken(1, distance) ? 0 : 1;
    }
  }
  for (size_t j = 0; j < f->n; j++) /* the largest is near itself */
    place[j] = near[j] > 1 ? CLARKE_OPEN : place[j];
  return begun > 0 ? clarke_store_places(piece, place, f->n) : 0;
}

/* Where the argument is an activation that is 0 left of its first kink: its places. */
static const clarke_branch *
places_of_zeros(const clarke_filter *f, const clarke_step *s)
{
  size_t step = f->g->values[s->in[0].value].producer;

  return step != CLARKE_NONE && clarke_step_begins_with_zero(&f->g->steps[step]) ? f->piece[step] : NULL;
}

/* Open windows of one row that hold nothing but such zeros, which are identical: the first is taken. How
 * many there are. */
static size_t
settle_zeros(clarke_filter *f, const clarke_branch *zero, const size_t *entry, size_t width, clarke_branch *piece,
             size_t *ties)
{
  size_t first = width, settled = 0;
  clarke_branch *other = f->other;

  memset(other, 0, f->n * sizeof *other);
  for (size_t p = width; p-- > 0;) {
    const clarke_branch *in = entry[p] == CLARKE_NONE ? NULL : zero + entry[p] * f->n;

    for (size_t j = 0; in != NULL && j < f->n; j++)
      other[j] |= in[j];
    first = in != NULL ? p : first;
  }
  for (size_t j = 0; j < f->n; j++)
    other[j] = other[j] == 0 && piece[j] == CLARKE_OPEN;
  for (size_t j = 0; j < f->n; j++)
    piece[j] = other[j] ? (clarke_branch)first : piece[j];
  for (size_t j = 0; j < f->n; j++) {
    ties[j] += (size_t)other[j];
    settled += (size_t)other[j];
  }
  return settled;
}

/* Are the entries that may be the largest of an open window identical? Then the window is decided, with
 * the first of them, and tied. */
static bool
identical_entries(clarke_filter *f, const clarke_step *s, const clarke_enclosure *y, size_t i, size_t j,
                  clarke_branch *piece)
{
  size_t x = s->in[0].value;
  const size_t *entry = s->in[0].map + i * s->width;
  double away = clarke_up_over(2 * clarke_enclosure_bound_at(f, y, i, j), 8, 8 * CLARKE_TINY);
  size_t first = CLARKE_NONE;

  for (size_t p = 0; p < s->width; p++) {
    double distance;

    if (entry[p] == CLARKE_NONE)
      continue;
    distance = y->y[i * f->n + j] - f->value[x].y[entry[p] * f->n + j];
    if (distance > away + clarke_taken(1, distance))
      continue;
    if (first == CLARKE_NONE) {
      first = p;
      *piece = (clarke_branch)p;
    } else if (!clarke_identity_same(f->ids, x, entry[first], entry[p], j)) {
      *piece = CLARKE_OPEN;
      return false;
    }
  }
  return true;
}

/* All bits of mark[j]: may the entry be the largest of its window? away: how far below that others are. */
static void
mark_near(uint64_t *mark, const double *largest, const double *entry, const double *away, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    double distance = largest[j] - entry[j];

    mark[j] = distance > away[j] + clarke_taken(1, distance) ? 0 : ~(uint64_t)0;
  }
}

static bool
any_marked(const uint64_t *mark, size_t n)
{
  uint64_t any = 0;

  for (size_t j = 0; j < n; j++)
    any |= mark[j];
  return any != 0;
}

/* Windows of one row that are in other[], whose entries that may be the largest are the same, as far as rows tell: the first of
 * these is taken. How many there are. */
static size_t
settle_rows(clarke_filter *f, const clarke_step *s, const double *y, const size_t *entry, clarke_branch *piece,
            size_t *ties)
{
  const clarke_enclosure *x = &f->value[s->in[0].value];
  const double *input = f->value[f->g->input].y, *away = f->bound;
  uint64_t *same = f->mark, *open = same + f->n, *near = open + f->n, *both = near + f->n;
  size_t settled = 0;

  for (size_t j = 0; j < f->n; j++)
    open[j] = f->other[j] ? ~(uint64_t)0 : 0;
  for (size_t p = 0; p < s->width && any_marked(open, f->n); p++) {
    if (entry[p] == CLARKE_NONE)
      continue;
    mark_near(same, y, x->y + entry[p] * f->n, away, f->n);
    for (size_t j = 0; j < f->n; j++) {
      same[j] &= open[j];
      open[j] &= ~same[j];
    }
    for (size_t q = p + 1; q < s->width && any_marked(same, f->n); q++) {
      if (entry[q] == CLARKE_NONE)
        continue;
      mark_near(near, y, x->y + entry[q] * f->n, away, f->n);
      memcpy(both, same, f->n * sizeof *both);
      clarke_identity_compare(both, f->ids, input, s->in[0].value, entry[p], entry[q]);
      for (size_t j = 0; j < f->n; j++)
        same[j] &= both[j] | ~near[j];
    }
    for (size_t j = 0; j < f->n; j++)
      if (same[j] != 0) {
        piece[j] = (clarke_branch)p;
        ties[j]++;
        settled++;
      }
  }
  return settled;
}

/* Entries of doubles that differ by more, as a part of the larger, are not identical as a rule, however far their bounds
 * reach: what doubles round is much less. */
#define ALIKE 0x1p-24

/* other[j]: is the window open, and are the entries that may be its largest alike? Of others identities would be asked for in
 * vain: what is not alike is left to finer bounds. zeros: those that are known have been settled, and others are open before
 * the windows. How many. */
static size_t
find_alike(clarke_filter *f, const clarke_enclosure *x, const size_t *entry, size_t width, const double *y,
           const clarke_branch *piece, bool zeros)
{
  size_t alike = 0;

  for (size_t j = 0; j < f->n; j++)
    f->other[j] = piece[j] == CLARKE_OPEN && (y[j] != 0 || !zeros);
  for (size_t p = 0; p < width; p++) {
    const double *in = entry[p] == CLARKE_NONE ? y : x->y + entry[p] * f->n;

    for (size_t j = 0; j < f->n; j++) {
      const double distance = y[j] - in[j];

      f->other[j] &= distance > f->bound[j] + clarke_taken(1, distance) || distance <= ALIKE * fabs(y[j]);
    }
  }
  for (size_t j = 0; j < f->n; j++)
    alike += (size_t)f->other[j];
  return alike;
}

/* One row of windows. */
static clarke_status
settle_windows(clarke_filter *f, const clarke_step *s, const clarke_enclosure *y, size_t i, clarke_branch *piece,
               size_t *ties, size_t *open)
{
  const clarke_enclosure *x = &f->value[s->in[0].value];

  if (find_alike(f, x, s->in[0].map + i * s->width, s->width, y->y + i * f->n, piece,
                 places_of_zeros(f, s) != NULL) == 0)
    return CLARKE_OK;
  if (f->ids == NULL)
    f->ids = clarke_identities_new(f->g, f->n, f->piece, NULL, f->x);
  if (f->ids == NULL)
    return clarke_no_memory(f->err);
  *open -= settle_rows(f, s, y->y + i * f->n, s->in[0].map + i * s->width, piece, ties);
  for (size_t j = 0; j < f->n && *open > 0; j++)
    if (f->other[j] && piece[j] == CLARKE_OPEN && identical_entries(f, s, y, i, j, &piece[j])) {
      ties[j]++;
      (*open)--;
    }
  return clarke_identities_failed(f->ids) ? clarke_no_memory(f->err)
                                          : CLARKE_OK;
}

clarke_status
clarke_filter_max(clarke_filter *f, const clarke_step *s)
{
  clarke_branch *piece = f->piece[s - f->g->steps];
  size_t *ties = f->ties[s - f->g->steps];
  const clarke_enclosure *x = &f->value[s->in[0].value];
  const clarke_branch *zero = places_of_zeros(f, s);
  clarke_enclosure *y = &f->value[s->out];
  clarke_status status = clarke_enclosure_alloc(f, y, f->g->values[s->out].count);

  if (status != CLARKE_OK)
    return status;
  if (!f->fine)
    memcpy(y->col, x->col, f->n * sizeof *y->col);
  clarke_norms_of_step(f, s, y, NULL);
  for (size_t i = 0; i < y->rows && status == CLARKE_OK; i++, piece += f->n) {
    const size_t *entry = s->in[0].map + i * s->width;
    size_t left;

    window_bounds(f, x, entry, s->width, y, i);
    left = decide_windows(f, x, entry, s->width, y->y + i * f->n, piece);
    if (left > 0 && zero != NULL)
      left -= settle_zeros(f, zero, entry, s->width, piece, ties);
    if (left > 0)
      status = settle_windows(f, s, y, i, piece, ties, &left);
    clarke_measure_windows(f, s, y->y + i * f->n, piece, i);
    *f->open += left;
  }
  return status;
}
