#include "trace/bound/rounding_line.h"

#include <math.h>

/* The exact entry, and how far its enclosure and its computed number may be away. */
static double
entry(double *off, const clarke_roundoff *r, size_t value, size_t e)
{
  const clarke_matrix *m = &r->f->value[value];
  const double x = clarke_matrix_get_double(m, e / m->cols, e % m->cols);

  *off = clarke_roundoff_sum(r->error[value][e] + clarke_matrix_radius(m, e / m->cols, e % m->cols) + clarke_taken(8, fabs(x)), 4);
  return x;
}

/* The difference from the largest, or from the logarithm of the sum, is rounded twice: by less than half of itself, and by what the
 * largest's and the logarithm's sizes bring. So its exponential is at most exp(-half the gap), below 2^-bits where the gap is twice that. */
static double
gap_of(const clarke_roundoff *r, double top, size_t n)
{
  return 2 * (2 - ilogb(r->by.tiny)) + clarke_roundoff_by(&r->by, 4, top + log((double)n + 1) + 1);
}

void
clarke_roundoff_line(clarke_rounding_line *l, const clarke_roundoff *r, size_t value, size_t first, size_t apart, size_t n)
{
  double low = -INFINITY, high = -INFINITY, off;

  for (size_t i = 0; i < n; i++) {
    const double x = entry(&off, r, value, first + i * apart);

    low = fmax(low, x - off);
    high = fmax(high, x + off);
  }
  *l = (clarke_rounding_line){.least = low - gap_of(r, fmax(fabs(low), fabs(high)), n)};
  for (size_t i = 0; i < n; i++) {
    const size_t e = first + i * apart;

    if (clarke_roundoff_is_far(l, r, value, e)) {
      l->lost += r->by.tiny;
      continue;
    }
    l->error = fmax(l->error, r->error[value][e]);
    l->size = fmax(l->size, r->size[value][e] + r->error[value][e]);
  }
}

bool
clarke_roundoff_is_far(const clarke_rounding_line *l, const clarke_roundoff *r, size_t value, size_t e)
{
  double off;
  const double x = entry(&off, r, value, e);

  return x + off < l->least;
}

clarke_status
clarke_roundoff_shrink(clarke_matrix *m, const clarke_roundoff *r, size_t step, clarke_error *err)
{
  const clarke_step *s = &r->f->g->steps[step];
  const size_t block = s->length * s->stride, n = r->f->n, x = s->in[0].value;
  clarke_status status = CLARKE_OK;
  clarke_rounding_line l;
  mpz_t zero;

  if (s->kind != CLARKE_SOFTMAX || s->log || m->radius == NULL)
    return CLARKE_OK;
  mpz_init(zero);
  for (size_t e = 0; e < m->rows * n && status == CLARKE_OK; e++) {
    if (clarke_matrix_get_double(m, e / n, e % n) > 2 * m->radius[e]) /* more than any that is far */
      continue;
    clarke_roundoff_line(&l, r, x, (e / n / block * block + e / n % s->stride) * n + e % n, s->stride * n, s->length);
    if (m->radius[e] <= r->by.tiny || !clarke_roundoff_is_far(&l, r, x, e))
      continue;
    status = clarke_matrix_store(m, e / n, e % n, zero, err);
    m->radius[e] = r->by.tiny;
  }
  mpz_clear(zero);
  return status;
}

double
clarke_roundoff_far(const clarke_roundoff *r)
{
  return 2 * r->by.tiny;
}
