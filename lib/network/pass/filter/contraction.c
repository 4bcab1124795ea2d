/* Bounds of products of two activations. With a and c off by at most p and q, a c is by |a| q + p |c| + p q; a sum of n
 * products rounds by n U of the sum of their sizes (docs/filter.md). */
#include "network/pass/filter/filter.h"
#include "network/pass/filter/norms.h"

#include <stdlib.h>

/* One row of the output, with the errors of its entries. */
static void
product_row(const clarke_filter *f, const clarke_step *s, size_t i, double *y, double *error)
{
  const clarke_enclosure *a = &f->value[s->in[0].value], *c = &f->value[s->in[1].value];
  const double n = (double)s->contraction.inner, roundings = n + 4;

  for (size_t j = 0; j < f->n; j++) {
    double sum = 0, size = 0, off = 0;

    for (size_t k = 0; k < s->contraction.inner; k++) {
      const size_t e = clarke_step_factor(s, 0, i, k), g = clarke_step_factor(s, 1, i, k);
      const double p = clarke_enclosure_bound_at(f, a, e, j), q = clarke_enclosure_bound_at(f, c, g, j);
      const double x = a->y[e * f->n + j], z = c->y[g * f->n + j];

      sum += x * z;
      size += fabs(x) * fabs(z);
      off += fabs(x) * q + p * (fabs(z) + q);
    }
    y[j] = sum;
    error[j] = clarke_up_over(off + clarke_taken(roundings, size) + n * CLARKE_TINY, 2 * n + 8, 8 * CLARKE_TINY);
  }
}

clarke_status
clarke_filter_product(clarke_filter *f, const clarke_step *s)
{
  clarke_enclosure *y = &f->value[s->out];
  double *error = calloc(f->n + 1, sizeof *error);
  clarke_status status = clarke_enclosure_alloc(f, y, f->g->values[s->out].count);

  if (error == NULL)
    status = clarke_no_memory(f->err);
  for (size_t j = 0; j < f->n && status == CLARKE_OK && !f->fine; j++)
    y->col[j] = 0;
  for (size_t i = 0; i < y->rows && status == CLARKE_OK; i++) {
    product_row(f, s, i, y->y + i * f->n, error);
    if (!f->fine)
      y->row[i] = 1;
    for (size_t j = 0; j < f->n; j++)
      if (f->fine)
        y->each[i * f->n + j] = clarke_up_float(error[j]);
      else
        y->col[j] = clarke_larger(y->col[j], error[j]);
  }
  if (status == CLARKE_OK)
    clarke_norms_of_rows(f, y);
  free(error);
  return status;
}
