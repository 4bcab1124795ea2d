/* Steps with kinks in slices: places that the filter left open, and the values of the pieces that are known. */
#include "network/pass/slices/slices.h"

#include "base/wide.h"
#include "exact/upward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Roundings of which a value, which is off by a factor 1 + 2^-48 at most, and a kink as doubles are off by less. */
#define ROUGH 0x1p8

/* At most a distance that is off as those of sliced_difference are. */
static inline double
less(double distance)
{
  return clarke_down_by(distance, 0x1p12);
}

static size_t
lane_of(const clarke_slicing *f, size_t entry)
{
  return f->lanes == 1 ? 0 : entry % f->n;
}

/* A distance of the feature that is off by no more than `off`. */
static void
measure(const clarke_slicing *f, size_t column, double distance, double off, size_t feature)
{
  if (f->margin != NULL)
    clarke_margin_take(&f->margin[f->step][column], less(less(distance - off)),
                       clarke_slice_up(clarke_slice_up(distance + off)), feature);
}

/* --- pieces ----------------------------------------------------------------------------------- */

typedef struct {
  size_t n_kinks;
  clarke_digits kink[CLARKE_MAX_KINKS], constant[CLARKE_MAX_KINKS + 1];
  bool slope[CLARKE_MAX_KINKS + 1]; /* 1 or 0 */
  double near[CLARKE_MAX_KINKS]; /* the kinks, which are doubles */
  double unit;                   /* of the lowest place */
  bool at_zero[CLARKE_MAX_KINKS];
  bool constants;                   /* some piece has one */
  double worst;                     /* the largest error of an argument */
} sliced_pieces;

/* On the places of x: kinks and constants are off by half a lowest place. */
static bool
pieces_set(const clarke_slicing *f, sliced_pieces *p, const clarke_pieces *exact, long low)
{
  bool fits = true;

  *p = (sliced_pieces){.n_kinks = exact->n_kinks, .unit = ldexp(1, (int)low)};
  for (size_t k = 0; k < exact->n_kinks; k++) {
    p->at_zero[k] = mpq_sgn(exact->kink[k]) == 0;
    p->near[k] = mpq_get_d(exact->kink[k]);
    fits = fits && clarke_digits_of_double(&p->kink[k], mpq_get_d(exact->kink[k]), low, f->plan->width);
  }
  for (size_t i = 0; i <= exact->n_kinks; i++) {
    p->slope[i] = mpq_sgn(exact->coef[i][1]) != 0;
    p->constants = p->constants || mpq_sgn(exact->coef[i][0]) != 0;
    fits = fits && clarke_digits_of_double(&p->constant[i], mpq_get_d(exact->coef[i][0]), low, f->plan->width);
  }
  return fits;
}

/* The distance of entry e from kink k: roughly, where it exceeds `off` even so; else within a factor 1 + 2^-45. v: the entry
 * as a double, within a factor 1 + 2^-48. */
static double
distance_of(const clarke_slicing *f, const clarke_sliced *x, const sliced_pieces *p, size_t k, size_t e, double v, double off)
{
  const double rough = v - p->near[k], slack = clarke_taken(ROUGH, fabs(v) + fabs(p->near[k]));

  if (p->at_zero[k])
    return v;
  return less(fabs(rough) - slack) > off ? rough : clarke_sliced_difference(f, x, e, CLARKE_NONE, &p->kink[k]);
}

/* The same where doubles tell: the entry is farther from every kink than errors and their own rounding. */
static inline bool
is_plain(const sliced_pieces *p, double v, double bound, size_t *piece)
{
  bool plain = true;

  *piece = 0;
  for (size_t k = 0; k < p->n_kinks; k++) {
    const double off = p->at_zero[k] ? bound : clarke_slice_up(bound + p->unit), distance = v - p->near[k];
    const double slack = p->at_zero[k] ? 0 : clarke_taken(ROUGH, fabs(v) + fabs(p->near[k]));

    plain = plain && less(fabs(distance) - slack) > off;
    *piece = distance > 0 ? k + 1 : *piece;
  }
  return plain;
}

/* The piece that the entry lies in, going by its digits; *known: and its true value, too. v: it as a double. */
static size_t
find_piece(const clarke_slicing *f, const clarke_sliced *x, const sliced_pieces *p, size_t e, double v, bool *known)
{
  const double bound = x->most[lane_of(f, e)];
  size_t piece = 0;

  *known = true;
  for (size_t k = 0; k < p->n_kinks; k++) {
    const double off = p->at_zero[k] ? bound : clarke_slice_up(bound + p->unit);
    const double distance = distance_of(f, x, p, k, e, v, off);

    *known = *known && less(fabs(distance)) > off;
    piece = distance > 0 ? k + 1 : piece;
  }
  return piece;
}

/* An entry of the column whose distances exceed both ends of the nearest is passed by. */
static void
measure_entry(const clarke_slicing *f, const clarke_sliced *x, const sliced_pieces *p, size_t e, size_t column, double v)
{
  const double bound = x->most[f->lanes == 1 ? 0 : column];

  for (size_t k = 0; k < p->n_kinks && f->margin != NULL; k++) {
    const clarke_margin *nearest = &f->margin[f->step][column];
    const double off = p->at_zero[k] ? bound : clarke_slice_up(bound + p->unit);
    const double rough = fabs(v - p->near[k]) - clarke_taken(ROUGH, fabs(v) + fabs(p->near[k]));

    if (clarke_down_by(rough - off, 0x1p14) > fmax(nearest->least, nearest->most))
      continue;
    measure(f, column, fabs(p->at_zero[k] ? v : clarke_sliced_difference(f, x, e, CLARKE_NONE, &p->kink[k])), off, e / f->n);
  }
}

/* Entries that are not farther from the kink than `off`, as doubles tell, of so many roundings. */
CLARKE_WIDE static size_t
count_near(const double *v, double kink, double off, double roundings, size_t len)
{
  size_t near = 0;

  for (size_t e = 0; e < len; e++)
    near += !(less(fabs(v[e] - kink) - clarke_taken(roundings, fabs(v[e]) + fabs(kink))) > off);
  return near;
}

CLARKE_WIDE static void
count_below(clarke_branch *to, const double *v, double kink, size_t len)
{
  for (size_t e = 0; e < len; e++)
    to[e] = (clarke_branch)(to[e] + (v[e] > kink));
}

/* Where every entry of a block is open, and plainly farther from every kink than any error: its piece is told by doubles. */
static bool
decide_plainly(const sliced_pieces *p, const double *v, clarke_branch *piece, clarke_branch *taken, size_t len)
{
  for (size_t e = 0; e < len; e++)
    if (taken[e] != CLARKE_OPEN)
      return false;
  for (size_t k = 0; k < p->n_kinks; k++)
    if (count_near(v, p->near[k], p->at_zero[k] ? p->worst : clarke_slice_up(p->worst + p->unit), p->at_zero[k] ? 0 : ROUGH, len) > 0)
      return false;
  memset(taken, 0, len * sizeof *taken);
  for (size_t k = 0; k < p->n_kinks; k++)
    count_below(taken, v, p->near[k], len);
  memcpy(piece, taken, len * sizeof *taken);
  return true;
}

/* Open places of a block, as far as bounds tell; taken: the piece of each entry, the nearest where it stays open. */
static void
decide_block(const clarke_slicing *f, const clarke_sliced *x, const sliced_pieces *p, clarke_branch *piece, clarke_branch *taken,
             size_t at, size_t len)
{
  double v[CLARKE_SLICE_BLOCK];

  for (size_t e = 0; e < len; e++) /* at a kink the piece left of it will do */
    taken[e] = piece[at + e] < 0 && piece[at + e] != CLARKE_OPEN ? (clarke_branch)CLARKE_KINK_OF(piece[at + e]) : piece[at + e];
  if (!clarke_branches_open(taken, len))
    return;
  clarke_sliced_doubles(f, x, at, len, v);
  if (f->margin == NULL && decide_plainly(p, v, piece + at, taken, len))
    return;
  for (size_t e = 0, column = at % f->n; e < len; e++, column = column + 1 < f->n ? column + 1 : 0) {
    bool known = true;
    size_t found;

    if (taken[e] != CLARKE_OPEN)
      continue;
    if (!is_plain(p, v[e], x->most[f->lanes == 1 ? 0 : column], &found))
      found = find_piece(f, x, p, at + e, v[e], &known);
    taken[e] = (clarke_branch)found;
    if (!known)
      continue;
    piece[at + e] = taken[e];
    measure_entry(f, x, p, at + e, column, v[e]);
  }
}

CLARKE_WIDE static void
keep_digits(float *digit, const float *keep, size_t len)
{
  for (size_t e = 0; e < len; e++)
    digit[e] = keep[e] * digit[e];
}

CLARKE_WIDE static void
put_constant(float *digit, const clarke_branch *taken, clarke_branch piece, float constant, size_t len)
{
  for (size_t e = 0; e < len; e++)
    digit[e] = taken[e] == piece ? constant : digit[e];
}

/* The pieces' values in place of their arguments. */
static void
apply_block(const clarke_slicing *f, clarke_sliced *y, const sliced_pieces *p, const clarke_branch *taken, size_t at, size_t len)
{
  float keep[CLARKE_SLICE_BLOCK];

  for (size_t e = 0; e < len; e++)
    keep[e] = taken[e] >= 0 && p->slope[(size_t)taken[e]] ? 1 : 0;
  for (size_t k = 0; k < y->planes; k++) {
    float *digit = y->digit + k * y->rows * f->n + at;

    keep_digits(digit, keep, len);
    for (size_t i = 0; i <= p->n_kinks; i++)
      if (!p->slope[i] && k < p->constant[i].planes)
        put_constant(digit, taken, (clarke_branch)i, (float)p->constant[i].digit[k], len);
  }
}

/* Planes of zeros above, where a constant has more than the argument. */
static clarke_status
widen(clarke_slicing *f, clarke_sliced *y, const sliced_pieces *p)
{
  const size_t entries = y->rows * f->n;
  size_t planes = y->planes;
  float *grown;

  for (size_t i = 0; i <= p->n_kinks; i++)
    planes = p->constant[i].planes > planes ? p->constant[i].planes : planes;
  if (planes == y->planes)
    return CLARKE_OK;
  grown = realloc(y->digit, (planes * entries + 1) * sizeof *grown);
  if (grown == NULL)
    return clarke_no_memory(f->err);
  memset(grown + y->planes * entries, 0, (planes - y->planes) * entries * sizeof *grown);
  y->digit = grown;
  y->planes = planes;
  return CLARKE_OK;
}

/* Slopes are 1 or 0: errors of each segment are those of the argument's, and `off` an entry. In scalings not even that is said. */
static void
keep_segments(const clarke_slicing *f, const clarke_step *s, clarke_sliced *y, double off)
{
  const clarke_segments *from = clarke_segments_in(f, s->in[0].value), *to = clarke_segments_in(f, s->out);
  const bool kept = from != NULL && to != NULL && from->n == to->n;
  const bool scaled = clarke_scaling_of(f, s->in[0].value) != NULL || clarke_scaling_of(f, s->out) != NULL;

  if (y->segment == NULL)
    return;
  for (size_t k = 0; kept && k < to->n; k++)
    y->segment[k] = clarke_slice_up(y->segment[k] + clarke_slice_up(off * sqrt((double)y->rows * (double)f->n)));
  if (kept && !scaled)
    return;
  free(y->segment);
  y->segment = NULL;
}

clarke_status
clarke_slices_piecewise(clarke_slicing *f, const clarke_step *s)
{
  clarke_sliced *y = &f->value[s->out];
  clarke_branch taken[CLARKE_SLICE_BLOCK];
  sliced_pieces p;
  clarke_status status;

  if (!pieces_set(f, &p, &s->pieces, f->value[s->in[0].value].low)) {
    f->lost = true;
    return CLARKE_EINPUT;
  }
  status = clarke_sliced_inherit(f, y, s->in[0].value);
  if (status == CLARKE_OK)
    status = widen(f, y, &p);
  for (size_t j = 0; j < f->lanes && status == CLARKE_OK; j++)
    p.worst = clarke_larger(p.worst, y->most[j]);
  for (size_t e = 0; e < y->rows * f->n && status == CLARKE_OK; e += CLARKE_SLICE_BLOCK) {
    const size_t left = y->rows * f->n - e, len = left < CLARKE_SLICE_BLOCK ? left : CLARKE_SLICE_BLOCK;

    decide_block(f, y, &p, f->piece[f->step], taken, e, len);
    apply_block(f, y, &p, taken, e, len);
  }
  if (status == CLARKE_OK)
    keep_segments(f, s, y, p.constants ? p.unit : 0);
  if (status == CLARKE_OK && p.constants) /* half a place each */
    clarke_sliced_bound(f, y, y, 1, 1, 1);
  if (status == CLARKE_OK)
    clarke_sliced_trim(f, y);
  return status;
}

/* --- windows ---------------------------------------------------------------------------------- */

/* A window of one column: its entries are rows[place]. */
typedef struct {
  const clarke_sliced *x;
  const size_t *rows;
  size_t width, feature, column;
} sliced_window;

static double
above(const clarke_slicing *f, const sliced_window *w, size_t p, size_t q)
{
  return clarke_sliced_difference(f, w->x, w->rows[p] * f->n + w->column, w->rows[q] * f->n + w->column, NULL);
}

/* The place of the largest entry, going by digits: the first of them. */
static size_t
largest_place(const clarke_slicing *f, const sliced_window *w)
{
  size_t best = CLARKE_NONE;

  for (size_t p = 0; p < w->width; p++)
    if (w->rows[p] != CLARKE_NONE && (best == CLARKE_NONE || above(f, w, p, best) > 0))
      best = p;
  return best;
}

/* The first of the entries that may be the largest, where those are identical; else CLARKE_OPEN. *several: are they
 * more than one? */
static clarke_branch
settle(clarke_slicing *f, const clarke_step *s, const sliced_window *w, size_t best, bool *several)
{
  const double bound = clarke_slice_up(2 * w->x->most[lane_of(f, w->column)]);
  clarke_branch place = CLARKE_OPEN;
  size_t near = 0;

  for (size_t p = 0; p < w->width; p++) {
    if (w->rows[p] == CLARKE_NONE || (p != best && less(above(f, w, best, p)) > bound))
      continue;
    near++;
    if (place == CLARKE_OPEN)
      place = (clarke_branch)p;
  }
  *several = near > 1;
  for (size_t p = 0; p < w->width && near > 1; p++) {
    if (w->rows[p] == CLARKE_NONE || (p != best && less(above(f, w, best, p)) > bound))
      continue;
    if (!clarke_identity_same(f->ids, s->in[0].value, w->rows[place], w->rows[p], w->column))
      return CLARKE_OPEN;
  }
  return place;
}

static void
measure_window(const clarke_slicing *f, const sliced_window *w, size_t best)
{
  const double bound = clarke_slice_up(2 * w->x->most[lane_of(f, w->column)]);

  for (size_t p = 0; p < w->width && f->margin != NULL; p++)
    if (w->rows[p] != CLARKE_NONE && p != best) {
      const double distance = above(f, w, best, p);

      if (less(distance) > bound)
        measure(f, w->column, distance, bound, w->feature);
    }
}

/* The place whose entry exceeds all others by more than errors, even by doubles; CLARKE_NONE: none that is known. rough: the
 * value as doubles, within a factor 1 + 2^-48. */
static size_t
largest_roughly(const clarke_slicing *f, const sliced_window *w, const double *rough)
{
  const double bound = clarke_slice_up(2 * w->x->most[lane_of(f, w->column)]);
  double most = -INFINITY;
  size_t best = CLARKE_NONE;

  for (size_t p = 0; p < w->width; p++)
    if (w->rows[p] != CLARKE_NONE && rough[w->rows[p] * f->n + w->column] > most) {
      best = p;
      most = rough[w->rows[p] * f->n + w->column];
    }
  for (size_t p = 0; p < w->width && best != CLARKE_NONE; p++) {
    const double v = p == best || w->rows[p] == CLARKE_NONE ? -INFINITY : rough[w->rows[p] * f->n + w->column];

    if (v > -INFINITY && !(less(most - v - clarke_taken(ROUGH, fabs(most) + fabs(v))) > bound))
      return CLARKE_NONE;
  }
  return best;
}

/* The place whose entry is the window's value: the known one or, of an open one, that of the largest digits. */
static size_t
decide_window(clarke_slicing *f, const clarke_step *s, const sliced_window *w, const double *rough)
{
  clarke_branch *piece = &f->piece[f->step][w->feature * f->n + w->column];
  bool several;
  size_t best;

  if (*piece >= 0)
    return (size_t)*piece;
  best = *piece == CLARKE_OPEN ? largest_roughly(f, w, rough) : CLARKE_NONE;
  if (best != CLARKE_NONE) {
    *piece = (clarke_branch)best;
    measure_window(f, w, best);
    return best;
  }
  best = largest_place(f, w);
  if (*piece != CLARKE_OPEN)
    return best;
  *piece = settle(f, s, w, best, &several);
  if (*piece != CLARKE_OPEN) {
    f->ties[f->step][w->column] += several;
    measure_window(f, w, best);
  }
  return best;
}

clarke_status
clarke_slices_max(clarke_slicing *f, const clarke_step *s)
{
  const clarke_sliced *x = &f->value[s->in[0].value];
  const clarke_growth *g = &f->plan->growths->growth[f->step][0];
  clarke_sliced *y = &f->value[s->out];
  const size_t rows = f->g->values[s->out].count;
  size_t *from = malloc((rows * f->n + 1) * sizeof *from);
  double *rough = malloc((x->rows * f->n + 1) * sizeof *rough);
  clarke_status status = from != NULL && rough != NULL ? clarke_sliced_alloc(f, y, rows, x->planes, x->low)
                                                       : clarke_no_memory(f->err);

  if (status == CLARKE_OK && f->ids == NULL)
    f->ids = clarke_identities_new(f->g, f->n, f->piece, NULL, f->x);
  if (status == CLARKE_OK && f->ids == NULL)
    status = clarke_no_memory(f->err);
  if (status == CLARKE_OK)
    clarke_sliced_doubles(f, x, 0, x->rows * f->n, rough);
  for (size_t e = 0; e < rows * f->n && status == CLARKE_OK; e++) {
    const sliced_window w = {.x = x, .rows = s->in[0].map + e / f->n * s->width, .width = s->width,
                             .feature = e / f->n, .column = e % f->n};
    const size_t place = decide_window(f, s, &w, rough);

    from[e] = w.rows[place] * f->n + w.column;
  }
  for (size_t k = 0; k < x->planes && status == CLARKE_OK; k++)
    for (size_t e = 0; e < rows * f->n; e++)
      y->digit[k * rows * f->n + e] = x->digit[k * x->rows * f->n + from[e]];
  if (status == CLARKE_OK)
    clarke_sliced_bound(f, y, x, g->norm, g->most, 0);
  free(from);
  free(rough);
  return status == CLARKE_OK && clarke_identities_failed(f->ids) ? clarke_no_memory(f->err) : status;
}
