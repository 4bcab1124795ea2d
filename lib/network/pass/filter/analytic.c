/* Bounds behind transcendental functions: by their series (docs/filter.md, "Series"). */
#include "network/pass/filter/filter.h"
#include "network/pass/filter/norms.h"

#include "network/pass/analytic.h"
#include "network/pass/series.h"

#include <stdlib.h>
#include <string.h>

/* The function at a double, and how steep it is as far as the argument is off; nothing is known where there is no series. */
static clarke_point
function_at(const clarke_filter *f, double x, double off, clarke_function function)
{
  clarke_point p;

  if (!clarke_series_point(&p, f->g->kept, x, function, false))
    return (clarke_point){.y = 0, .off = INFINITY, .steep = INFINITY};
  if (!(off <= CLARKE_SERIES_REACH))
    p.steep = function == CLARKE_EXP ? INFINITY : clarke_analytic_steepest(function);
  return p;
}

/* A row in a fine pass: each entry with its own slope and rounding. */
static void
row_finely(const clarke_filter *f, const clarke_enclosure *x, clarke_enclosure *y, clarke_function function, size_t first, size_t n)
{
  for (size_t e = first; e < first + n; e++) {
    const double off = (double)x->each[e];
    const clarke_point p = function_at(f, x->y[e], off, function);

    y->y[e] = p.y;
    y->each[e] = clarke_up_float(clarke_up_add(clarke_up_mul(p.steep, off), p.off));
  }
}

/* A row: the steepest slope is the row's; largest[j] grows by what an entry's value is off by. */
static void
row_coarsely(clarke_filter *f, const clarke_enclosure *x, clarke_enclosure *y, clarke_function function, size_t i, double *largest)
{
  double steepest = 0;

  clarke_enclosure_row_bounds(f, x, i, f->bound);
  for (size_t j = 0; j < f->n; j++) {
    const clarke_point p = function_at(f, x->y[i * f->n + j], f->bound[j], function);

    y->y[i * f->n + j] = p.y;
    largest[j] = clarke_larger(largest[j], p.off);
    steepest = clarke_larger(steepest, p.steep);
  }
  y->row[i] = clarke_up_mul(steepest, x->row[i]);
}

clarke_status
clarke_filter_analytic(clarke_filter *f, const clarke_step *s)
{
  const clarke_enclosure *x = &f->value[s->in[0].value];
  clarke_enclosure *y = &f->value[s->out];
  double *largest;
  clarke_status status;

  if (clarke_step_has_domain(s)) /* not known */
    return CLARKE_OK;
  largest = calloc(f->n + 1, sizeof *largest);
  status = largest != NULL ? clarke_enclosure_alloc(f, y, x->rows) : clarke_no_memory(f->err);
  for (size_t i = 0; i < x->rows && status == CLARKE_OK; i++)
    if (f->fine)
      row_finely(f, x, y, s->function, i * f->n, f->n);
    else
      row_coarsely(f, x, y, s->function, i, largest);
  if (status == CLARKE_OK && !f->fine) {
    memcpy(y->col, x->col, f->n * sizeof *y->col);
    clarke_enclosure_add_rounding(f, y, largest);
    clarke_norms_of_rows(f, y);
  }
  free(largest);
  return status;
}
