/* Bounds of the errors of a sample's activations together: of their Euclidean norm, and of the largest (docs/filter.md,
 * "Norms"). Each is a double above what is meant, by a factor and an addend that cover its own rounding. */
#include "network/pass/filter/norms.h"

#include <string.h>

static double
above(double v)
{
  return clarke_up_over(v, 0x1p12, 0x1p-500);
}

/* What rows and columns say of all entries, where it is less. */
static void
compare_rows(const clarke_filter *f, clarke_enclosure *y)
{
  const double row = clarke_largest_of(y->row, y->rows), root = sqrt((double)y->rows);

  for (size_t j = 0; j < f->n; j++) {
    y->most[j] = fmin(y->most[j], above(row * y->col[j]));
    y->norm[j] = fmin(y->norm[j], above(root * y->most[j]));
    y->most[j] = fmin(y->most[j], y->norm[j]);
    y->before[j] = fmin(y->before[j], y->norm[j]);
  }
}

static void
forget(const clarke_filter *f, clarke_enclosure *y)
{
  for (size_t j = 0; j < f->n; j++)
    y->norm[j] = y->most[j] = y->before[j] = INFINITY;
}

void
clarke_norms_of_rows(const clarke_filter *f, clarke_enclosure *y)
{
  if (y->norm == NULL)
    return;
  forget(f, y);
  compare_rows(f, y);
}

void
clarke_norms_of_step(const clarke_filter *f, const clarke_step *s, clarke_enclosure *y, const double *rounding)
{
  const size_t i = (size_t)(s - f->g->steps);
  const bool apart = s->kind == CLARKE_SUM && f->growths != NULL && f->growths->apart[i];
  const double root = sqrt((double)y->rows);

  if (y->norm != NULL && f->growths->growth[i] == NULL) {
    forget(f, y);
    return;
  }
  for (size_t j = 0; j < f->n && y->norm != NULL; j++) {
    const double own = rounding != NULL ? rounding[j] : 0;
    double norm = 0, square = 0, most = 0;

    for (size_t k = 0; k < (s->kind == CLARKE_SUM ? s->n_in : 1); k++) {
      const clarke_enclosure *x = &f->value[s->in[k].value];
      const clarke_growth *g = &f->growths->growth[i][k];

      if (f->g->values[s->in[k].value].constant)
        continue;
      norm += g->norm * x->norm[j];
      square += g->norm * x->norm[j] * (g->norm * x->norm[j]);
      most = apart ? clarke_larger(most, g->most * x->most[j]) : most + g->most * x->most[j];
    }
    y->norm[j] = above((apart ? above(sqrt(above(square))) : norm) + root * own);
    y->most[j] = above(most + own);
    y->before[j] = s->kind == CLARKE_GATHER ? f->value[s->in[0].value].norm[j] : y->norm[j];
  }
  if (y->norm != NULL && s->kind != CLARKE_MAX) /* its rows are not there yet */
    compare_rows(f, y);
}

void
clarke_norms_of_pieces(const clarke_filter *f, const clarke_step *s, clarke_enclosure *y, double steepest,
                       const double *rounding)
{
  const clarke_enclosure *x = &f->value[s->in[0].value];
  const double root = sqrt((double)y->rows);

  for (size_t j = 0; j < f->n && y->norm != NULL; j++) {
    const double own = rounding != NULL ? rounding[j] : 0;

    y->norm[j] = y->before[j] = above(steepest * x->norm[j] + root * own);
    y->most[j] = above(steepest * x->most[j] + own);
  }
  if (y->norm != NULL)
    compare_rows(f, y);
}

void
clarke_norms_of_product(const clarke_filter *f, const clarke_step *s, clarke_enclosure *y, double gamma,
                        const double *largest, const double *all)
{
  const size_t i = (size_t)(s - f->g->steps);
  const clarke_enclosure *x = &f->value[s->in[0].value];
  const double inner = (double)s->dense.inner;

  for (size_t j = 0; j < f->n && y->norm != NULL; j++) {
    const clarke_growth *g = &f->growths->growth[i][0];
    const double row = f->growths->row[i], size = f->growths->size[i];
    const double column = fmin(f->growths->column[i] * x->before[j], sqrt(inner) * x->most[j]);
    const double most = fmin(row * column, g->most * x->most[j]);

    y->most[j] = above(above(most) + above(gamma * above(row * largest[j])));
    y->norm[j] = y->before[j] = above(above(g->norm * x->norm[j]) + above(gamma * above(size * all[j])));
    if (!(row * largest[j] <= CLARKE_FILTER_FAR))
      y->most[j] = y->norm[j] = y->before[j] = INFINITY;
  }
  if (y->norm != NULL)
    compare_rows(f, y);
}
