/* Bounds of NORMALIZE steps, for any way of computing mean and variance, in one pass or in two (docs/rounding-bound.md). */
#include "trace/bound/rounding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Roundings beyond one a term. */
#define SPARE 16

/* One group: means over its entries, bounds of the root r of variance + epsilon. */
typedef struct {
  double size, square, error, error_square; /* means of |x| + error, its square, of the errors and their squares */
  double low;                               /* r is at least this */
  double share;                             /* |1 / computed r - 1 / r| r */
  double middle;                            /* the mean's error */
  double gradient, gradient_error, product, product_error, added; /* of the pass back: below */
} group;

typedef struct {
  const clarke_roundoff *r;
  const clarke_step *s;
  size_t rows, n, members; /* features, columns, entries of a group */
  size_t n_groups;
  group *groups;
} pass;

static group *
group_at(const pass *p, size_t f, size_t j)
{
  const size_t g = clarke_step_group(p->s, f);

  return &p->groups[p->s->grouping.couples ? g : g * p->n + j];
}

static bool
begin(pass *p, const clarke_roundoff *r, const clarke_step *s)
{
  const clarke_matrix *x = &r->f->value[s->in[0].value];

  *p = (pass){.r = r, .s = s, .rows = x->rows, .n = x->cols};
  p->members = clarke_step_group_size(s, x->cols);
  p->n_groups = s->grouping.groups * (s->grouping.couples ? 1 : x->cols);
  p->groups = calloc(p->n_groups + 1, sizeof *p->groups);
  return p->groups != NULL;
}

/* Sums over groups become upper bounds of means. */
static double
mean_of(const pass *p, double sum)
{
  return sum == 0 ? 0 : clarke_up_by(clarke_roundoff_sum(sum, 2 * p->members) / (double)p->members, 4);
}

static void
means(const pass *p)
{
  const size_t x = p->s->in[0].value;

  for (size_t e = 0; e < p->rows * p->n; e++) {
    group *g = group_at(p, e / p->n, e % p->n);
    const double error = p->r->error[x][e], top = p->r->size[x][e] + error;

    g->size += top;
    g->square += top * top;
    g->error += error;
    g->error_square += error * error;
  }
  for (size_t i = 0; i < p->n_groups; i++) {
    group *g = &p->groups[i];

    g->size = mean_of(p, g->size);
    g->square = mean_of(p, g->square);
    g->error = mean_of(p, g->error);
    g->error_square = mean_of(p, g->error_square);
  }
}

/* Deviations in doubles, about a mean in doubles: off by less than (n + 16) 2^-52 of the root mean square, for the deviation
 * is a seminorm. *deviation: by group. */
static double *
deviations(const pass *p)
{
  const clarke_matrix *x = &p->r->f->value[p->s->in[0].value];
  double *middle = calloc(p->n_groups + 1, sizeof *middle), *sum = calloc(p->n_groups + 1, sizeof *sum);

  for (size_t e = 0; middle != NULL && sum != NULL && e < p->rows * p->n; e++)
    middle[group_at(p, e / p->n, e % p->n) - p->groups] += clarke_matrix_get_double(x, e / p->n, e % p->n) / (double)p->members;
  for (size_t e = 0; middle != NULL && sum != NULL && e < p->rows * p->n; e++) {
    const size_t g = (size_t)(group_at(p, e / p->n, e % p->n) - p->groups);
    const double d = clarke_matrix_get_double(x, e / p->n, e % p->n) - middle[g];

    sum[g] += d * d / (double)p->members;
  }
  if (middle == NULL) {
    free(sum);
    return NULL;
  }
  free(middle);
  return sum;
}

/* The errors of mean and root. */
static bool
roots(const pass *p)
{
  const clarke_matrix *x = &p->r->f->value[p->s->in[0].value];
  const double epsilon = mpq_get_d(p->s->epsilon), n = (double)p->members;
  double *deviation = deviations(p), radius = 0;

  for (size_t e = 0; x->radius != NULL && e < p->rows * p->n; e++)
    radius = fmax(radius, x->radius[e]);
  for (size_t i = 0; deviation != NULL && i < p->n_groups; i++) {
    group *g = &p->groups[i];
    const double roundings = 2 * (n + 16), off = clarke_taken(roundings, sqrt(g->square)) + radius;
    const double low = fmax(0, clarke_down_by(sqrt(deviation[i]), roundings) - off);
    const double high = clarke_up_over(sqrt(deviation[i]), roundings, off);
    const double moved = clarke_up_by(sqrt(g->error_square), 4), square = clarke_down_by(low * low + epsilon, 0x1p12);
    const double variance = moved * (2 * high + moved) + clarke_roundoff_by(&p->r->by, 2 * n + SPARE, 2 * g->square);

    g->low = clarke_down_by(sqrt(square), 4);
    g->share = clarke_roundoff_sum(variance / square + SPARE * p->r->by.unit, 8);
    g->middle = clarke_roundoff_sum(g->error + clarke_roundoff_by(&p->r->by, n + SPARE, g->size), 4);
    if (!(g->share < 0.5))
      g->share = INFINITY;
  }
  free(deviation);
  return deviation != NULL;
}

/* Infinity where a product of it with 0 made a NaN. */
static double
bound(double v)
{
  return isnan(v) ? INFINITY : clarke_roundoff_sum(v, 16);
}

bool
clarke_roundoff_normalize(double *error, double *wide, const clarke_roundoff *r, const clarke_step *s)
{
  const size_t x = s->in[0].value;
  pass p;

  if (!begin(&p, r, s) || (means(&p), !roots(&p))) {
    free(p.groups);
    return false;
  }
  for (size_t e = 0; e < p.rows * p.n; e++) {
    const group *g = group_at(&p, e / p.n, e % p.n);
    const double top = r->size[x][e] + r->error[x][e], y = r->size[s->out][e];
    const double apart = r->error[x][e] + g->middle + clarke_roundoff_by(&r->by, SPARE, top + g->size);

    error[e] = bound(apart * (1 + g->share) / g->low + y * g->share
                     + clarke_roundoff_by(&r->by, SPARE, y + (top + g->size) / g->low));
    wide[e] = bound(y + error[e] + (top + g->size) / g->low);
  }
  free(p.groups);
  return true;
}

/* Means of |g|, of its errors, and of their products with y; and with what some formulas add up in y's place. */
static void
means_back(const pass *p, const double *size, const double *error)
{
  const size_t y = p->s->out;

  for (size_t e = 0; e < p->rows * p->n; e++) {
    group *g = group_at(p, e / p->n, e % p->n);
    const double top = p->r->size[y][e] + p->r->error[y][e];

    g->gradient += size[e] + error[e];
    g->gradient_error += error[e];
    g->product += clarke_roundoff_times(top, size[e] + error[e]);
    g->added += clarke_roundoff_times(p->r->wide[y][e], size[e] + error[e]);
    g->product_error += clarke_roundoff_times(top, error[e]) + clarke_roundoff_times(p->r->error[y][e], size[e]);
  }
  for (size_t i = 0; i < p->n_groups; i++) {
    group *g = &p->groups[i];

    g->gradient = mean_of(p, g->gradient);
    g->gradient_error = mean_of(p, g->gradient_error);
    g->product = mean_of(p, g->product);
    g->added = mean_of(p, g->added);
    g->product_error = mean_of(p, g->product_error);
  }
}

bool
clarke_roundoff_normalize_back(double *error, double *mass_of, const clarke_roundoff *r, const clarke_step *s, const double *size,
                              const double *size_error)
{
  const size_t y = s->out;
  pass p;

  if (!begin(&p, r, s) || (means(&p), !roots(&p))) {
    free(p.groups);
    return false;
  }
  means_back(&p, size, size_error);
  for (size_t e = 0; e < p.rows * p.n; e++) {
    const group *g = group_at(&p, e / p.n, e % p.n);
    const double top = r->size[y][e] + r->error[y][e];
    const double mass = size[e] + size_error[e] + g->gradient + clarke_roundoff_times(top, g->product);
    const double added = mass + clarke_roundoff_times(r->wide[y][e], g->added);
    const double apart = size_error[e] + g->gradient_error + clarke_roundoff_times(top, g->product_error)
                         + clarke_roundoff_times(r->error[y][e], g->product)
                         + (added == 0 ? 0 : clarke_roundoff_by(&r->by, 2 * (double)p.members + SPARE, added));

    error[e] = bound((clarke_roundoff_times(apart, 1 + g->share) + clarke_roundoff_times(mass, g->share)) / g->low);
    mass_of[e] = bound(mass / g->low) + error[e];
  }
  free(p.groups);
  return true;
}
