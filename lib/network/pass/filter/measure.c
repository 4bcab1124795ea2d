#include "network/pass/filter/measure.h"

#include "base/wide.h"

/* A difference of two numbers of that size, rounded, and the bound's own rounding. At least so much that what is made of it is no subnormal
 * number: those take processors a hundred times as long, and behind a ReLU most windows are zeros. */
static double
slack(double bound, double a, double b)
{
  return clarke_up_by(bound, 8) + clarke_taken(2, fabs(a) + fabs(b)) + 4 * DBL_MIN;
}

/* Columns at a time. */
#define BLOCK 64

/* A row of arguments, or of windows, by column: the smallest bounds of distances, INFINITY where there is none, and the largest size. */
typedef struct {
  double least[BLOCK], most[BLOCK], size[BLOCK];
} row;

/* Arguments' distances from a kink. A NULL piece: it is open where the distance is within its bound. */
CLARKE_WIDE static void
measure_arguments(row *restrict r, double kink, const double *restrict x, const double *restrict bound,
                  const clarke_branch *restrict piece, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    const double d = fabs(x[j] - kink), off = slack(bound[j], x[j], kink);
    const bool open = piece != NULL ? piece[j] == CLARKE_OPEN : !(d > bound[j]);

    r->least[j] = open ? INFINITY : clarke_down_by(d - off, 2) - CLARKE_TINY;
    r->most[j] = open ? INFINITY : clarke_up_over(d + off, 2, CLARKE_TINY);
    r->size[j] = clarke_up_by(fabs(x[j]) + off, 2);
  }
}

/* What is in the row goes into the columns' margins. kinked: distances, too; kink: no less than its size. */
static void
take_row(clarke_margin *m, const row *r, bool kinked, double kink, size_t i, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    clarke_margin_hold(&m[j], r->size[j]);
    clarke_margin_hold(&m[j], kink);
    if (kinked)
      clarke_margin_take(&m[j], r->least[j], r->most[j], i);
  }
}

void
clarke_measure_arguments(clarke_filter *f, const clarke_step *s, const double *kinks, bool smooth, const double *x,
                         const clarke_branch *piece, size_t i)
{
  clarke_margin *m = f->margin != NULL ? f->margin[f->step] : NULL;
  const bool kinked = m != NULL && !smooth && clarke_margin_bends(f->g, s, i);

  for (size_t k = 0; m != NULL && k < s->pieces.n_kinks; k++)
    for (size_t from = 0; from < f->n; from += BLOCK) {
      const size_t n = f->n - from < BLOCK ? f->n - from : BLOCK;
      row r;

      measure_arguments(&r, kinks[k], x + from, f->bound + from, piece != NULL ? piece + from : NULL, n);
      take_row(m + from, &r, kinked, clarke_up_by(fabs(kinks[k]), 2), i, n);
    }
}

/* The windows' largest entries less an entry of theirs each. What clarke_margin_hold and _take would find of one entry after another, but
 * without branches: all entries of a row are one feature's. */
CLARKE_WIDE static void
measure_entry(row *restrict r, const double *restrict y, const double *restrict in, const double *restrict bound,
              const clarke_branch *restrict piece, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    const double d = y[j] - in[j], off = slack(bound[j], y[j], in[j]), size = clarke_up_by(fabs(in[j]) + off, 2);
    const double open = piece[j] == CLARKE_OPEN ? INFINITY : 0, close = d > bound[j] + clarke_taken(1, d) ? open : INFINITY;
    const double least = clarke_down_by(d - off, 2) - CLARKE_TINY + close, most = clarke_up_over(d + off, 2, CLARKE_TINY) + close;
    const double larger = size > r->size[j] ? size : INFINITY; /* a NaN is no bound */

    r->least[j] = least < r->least[j] ? least : r->least[j];
    r->most[j] = most < r->most[j] ? most : r->most[j];
    r->size[j] = size <= r->size[j] ? r->size[j] : larger;
  }
}

void
clarke_measure_windows(clarke_filter *f, const clarke_step *s, const double *y, const clarke_branch *piece, size_t i)
{
  clarke_margin *m = f->margin != NULL ? f->margin[f->step] : NULL;
  const clarke_enclosure *x = &f->value[s->in[0].value];
  const size_t *entry = s->in[0].map + i * s->width;

  for (size_t from = 0; m != NULL && from < f->n; from += BLOCK) {
    const size_t n = f->n - from < BLOCK ? f->n - from : BLOCK;
    row r;

    for (size_t j = 0; j < n; j++) {
      r.least[j] = r.most[j] = INFINITY;
      r.size[j] = 0;
    }
    for (size_t p = 0; p < s->width; p++)
      if (entry[p] != CLARKE_NONE)
        measure_entry(&r, y + from, x->y + entry[p] * f->n + from, f->bound + from, piece + from, n);
    for (size_t j = 0; j < n; j++) {
      clarke_margin_hold(&m[from + j], r.size[j]);
      clarke_margin_take(&m[from + j], r.least[j], r.most[j], i);
    }
  }
}
