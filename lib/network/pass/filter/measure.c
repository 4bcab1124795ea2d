#include "network/pass/filter/measure.h"

/* A difference of two numbers of that size, rounded, and the bound's own rounding. */
static double
slack(double bound, double a, double b)
{
  return clarke_up_by(bound, 8) + clarke_taken(2, fabs(a) + fabs(b)) + 4 * CLARKE_TINY;
}

/* The distance d, which is off by no more than `off`. */
static void
take(clarke_margin *m, double d, double off, size_t i)
{
  clarke_margin_take(m, clarke_down_by(d - off, 2) - CLARKE_TINY, clarke_up_over(d + off, 2, CLARKE_TINY), i);
}

void
clarke_measure_arguments(clarke_filter *f, const clarke_step *s, const double *x, const clarke_branch *piece, size_t i)
{
  clarke_margin *m = f->margin != NULL ? f->margin[f->step] : NULL;
  const bool kinked = m != NULL && clarke_margin_has_kink(f->g, s, i);

  for (size_t k = 0; m != NULL && k < s->pieces.n_kinks; k++) {
    const double kink = mpq_get_d(s->pieces.kink[k]);

    for (size_t j = 0; j < f->n; j++) {
      const double d = fabs(x[j] - kink), off = slack(f->bound[j], x[j], kink);

      clarke_margin_hold(&m[j], clarke_up_by(fabs(x[j]) + off, 2));
      clarke_margin_hold(&m[j], clarke_up_by(fabs(kink), 2));
      if (kinked && (piece != NULL ? piece[j] != CLARKE_OPEN : d > f->bound[j]))
        take(&m[j], d, off, i);
    }
  }
}

/* The windows' largest entries less an entry of theirs each. */
static void
measure_entry(clarke_filter *f, clarke_margin *m, const double *y, const double *in, const clarke_branch *piece, size_t i)
{
  for (size_t j = 0; j < f->n; j++) {
    const double d = y[j] - in[j], off = slack(f->bound[j], y[j], in[j]);

    clarke_margin_hold(&m[j], clarke_up_by(fabs(in[j]) + off, 2));
    if (piece[j] != CLARKE_OPEN && d > f->bound[j] + clarke_taken(1, d))
      take(&m[j], d, off, i);
  }
}

void
clarke_measure_windows(clarke_filter *f, const clarke_step *s, const double *y, const clarke_branch *piece, size_t i)
{
  clarke_margin *m = f->margin != NULL ? f->margin[f->step] : NULL;
  const clarke_enclosure *x = &f->value[s->in[0].value];
  const size_t *entry = s->in[0].map + i * s->width;

  for (size_t p = 0; m != NULL && p < s->width; p++)
    if (entry[p] != CLARKE_NONE)
      measure_entry(f, m, y, x->y + entry[p] * f->n, piece, i);
}
