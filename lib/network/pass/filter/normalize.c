/* Bounds of normalizations, group by group (docs/filter.md has the argument). */
#include "network/pass/filter/filter.h"
#include "network/pass/filter/norms.h"

#include <stdlib.h>
#include <string.h>

/* A group of a NORMALIZE step as it was computed, and what its entries' bounds have in common. */
typedef struct {
  double mean, deviation;
  double shift; /* >= the error of an entry less the mean that is not the entry's own */
  double off;   /* >= |deviation - the true one| */
  double least; /* <= the true deviation */
} float_group;

/* Sums over a group's entries: of x, |x|, their bounds, the squares of these. */
typedef struct {
  double x, size, bound, square;
} group_sums;

/* The i-th feature of a group. */
static size_t
group_feature(const clarke_grouping *o, size_t group, size_t i)
{
  return (i / o->length * o->groups + group) * o->length + i % o->length;
}

static group_sums
sum_group(const clarke_filter *f, const clarke_grouping *o, const clarke_enclosure *x, size_t group, size_t from,
          size_t to)
{
  group_sums sums = {0};

  for (size_t i = 0; i < o->blocks * o->length; i++) {
    size_t feature = group_feature(o, group, i);

    for (size_t j = from; j < to; j++) {
      double y = x->y[feature * f->n + j], bound = clarke_enclosure_bound_at(f, x, feature, j);

      sums.x += y;
      sums.size += fabs(y);
      sums.bound += bound;
      sums.square += bound * bound;
    }
  }
  return sums;
}

/* The squares of a group's entries less a mean. */
static double
sum_squares(const clarke_filter *f, const clarke_grouping *o, const clarke_enclosure *x, size_t group, double mean,
            size_t from, size_t to)
{
  double sum = 0;

  for (size_t i = 0; i < o->blocks * o->length; i++)
    for (size_t j = from; j < to; j++) {
      double c = x->y[group_feature(o, group, i) * f->n + j] - mean;

      sum += c * c;
    }
  return sum;
}

/* docs/filter.md has the bounds. An overflow, or an epsilon near which underflow would count, leaves none:
 * they are NaN. */
static float_group
measure_group(const clarke_filter *f, const clarke_step *s, const clarke_enclosure *x, size_t group, size_t from,
              size_t to)
{
  const clarke_grouping *o = &s->grouping;
  group_sums sums = sum_group(f, o, x, group, from, to);
  double m = (double)clarke_step_group_size(s, f->n), epsilon = mpq_get_d(s->epsilon);
  double gamma = clarke_gamma(m + 8, CLARKE_UNIT), up = clarke_up_by(1 + gamma, 0x1p12), moved;
  float_group g = {.mean = sums.x / m};

  g.deviation = sqrt(sum_squares(f, o, x, group, g.mean, from, to) / m + epsilon);
  g.shift = gamma * up * (sums.size / m) + CLARKE_TINY;
  moved = sqrt((sums.square + m * CLARKE_TINY) * up / m) * up + g.shift + clarke_taken(1, g.deviation);
  g.shift = (g.shift + sums.bound / m * up) * up;
  g.off = (moved + 2 * gamma * g.deviation) * up;
  g.least = fmax(clarke_down_by(g.deviation - g.off, 4), clarke_down_by(sqrt(epsilon), 4));
  if (!(g.deviation <= DBL_MAX) || !(epsilon >= 0x1p-500) || !(m <= 0x1p30))
    g.off = NAN;
  return g;
}

/* The values of a group, and a bound of each. */
static void
normalize_group(const clarke_filter *f, const clarke_step *s, const clarke_enclosure *x, double *y, double *bound,
                size_t group, size_t from, size_t to)
{
  const clarke_grouping *o = &s->grouping;
  float_group g = measure_group(f, s, x, group, from, to);

  for (size_t i = 0; i < o->blocks * o->length; i++)
    for (size_t j = from; j < to; j++) {
      size_t feature = group_feature(o, group, i), e = feature * f->n + j;
      double c = x->y[e] - g.mean, q = c / g.deviation;
      double own = clarke_enclosure_bound_at(f, x, feature, j) + g.shift + clarke_taken(1, fabs(c));

      y[e] = q;
      bound[e] = clarke_up_by((own + clarke_up_over(fabs(q), 4, 0x1p-500) * g.off) / g.least, 0x1p12) +
                 clarke_taken(1, fabs(q)) + 0x1p-500;
    }
}

/* Bounds of every entry as those of the enclosure: rows and columns that are nowhere below them. */
static void
fit_bounds(const clarke_filter *f, clarke_enclosure *y, const double *bound)
{
  if (f->fine) {
    for (size_t e = 0; e < y->rows * f->n; e++)
      y->each[e] = clarke_up_float(bound[e]);
    return;
  }
  memset(y->row, 0, y->rows * sizeof *y->row);
  memset(y->col, 0, f->n * sizeof *y->col);
  for (size_t e = 0; e < y->rows * f->n; e++)
    y->col[e % f->n] = clarke_larger(y->col[e % f->n], bound[e]);
  for (size_t e = 0; e < y->rows * f->n; e++)
    y->row[e / f->n] =
      clarke_larger(y->row[e / f->n], clarke_up_over(bound[e] / y->col[e % f->n], 2, 0x1p-500));
}

clarke_status
clarke_filter_normalize(clarke_filter *f, const clarke_step *s)
{
  const clarke_enclosure *x = &f->value[s->in[0].value];
  clarke_enclosure *y = &f->value[s->out];
  double *bound = malloc((x->rows * f->n + 1) * sizeof *bound);
  size_t each = s->grouping.couples ? f->n : 1;
  clarke_status status = clarke_enclosure_alloc(f, y, x->rows);

  if (bound == NULL)
    status = clarke_no_memory(f->err);
  for (size_t group = 0; group < s->grouping.groups && status == CLARKE_OK; group++)
    for (size_t from = 0; from < f->n; from += each)
      normalize_group(f, s, x, y->y, bound, group, from, from + each);
  if (status == CLARKE_OK)
    fit_bounds(f, y, bound);
  if (status == CLARKE_OK)
    clarke_norms_of_rows(f, y);
  free(bound);
  return status;
}
