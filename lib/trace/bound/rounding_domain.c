/* Bounds at functions with a domain: what an argument's error makes of 1 / x, of a root, of a logarithm, and of their slopes. */
#include "trace/bound/rounding.h"

#include <math.h>

#define FUNCTION 8

/* At most |exact|, of an entry. */
static double
least(const clarke_roundoff *r, size_t value, size_t e)
{
  const clarke_matrix *m = &r->f->value[value];
  const size_t i = e / m->cols, j = e % m->cols;

  return fmax(0, clarke_down_by(fabs(clarke_matrix_get_double(m, i, j)), 4) - clarke_matrix_radius(m, i, j) - 0x1p-1060);
}

/* At least |x / x' - 1|, x' being off by `off`: infinite where that reaches the domain's border. */
static double
relative(double off, double size)
{
  const double rest = clarke_down_by(size - off, 4);

  return off == 0 ? 0 : rest > 0 ? clarke_up_by(off / rest, 4) : INFINITY;
}

double
clarke_roundoff_inside(const clarke_roundoff *r, const clarke_step *s, size_t e)
{
  const size_t x = s->in[0].value;
  const double off = relative(r->error[x][e], least(r, x, e)), y = r->size[s->out][e];

  return off == 0 ? 0 : clarke_roundoff_sum(s->function == CLARKE_LOG ? off : y * off, 4);
}

double
clarke_roundoff_inside_slope(const clarke_roundoff *r, const clarke_step *s, size_t e, double slope)
{
  const size_t x = s->in[0].value, y = s->out;
  double off = relative(r->error[x][e], least(r, x, e));

  if (s->function != CLARKE_LOG) { /* made of the argument or of the value, which may be computed anew */
    const double anew = r->error[y][e] + clarke_roundoff_by(&r->by, FUNCTION, r->size[y][e]);

    off = fmax(off, relative(anew, least(r, y, e)));
  }
  slope = fmax(slope, 0x1p-1000);
  if (s->function == CLARKE_RECIPROCAL)
    off = off * (2 + off);
  return clarke_roundoff_sum(slope * off, 4) + clarke_roundoff_by(&r->by, 2 * FUNCTION, clarke_roundoff_sum(slope * (1 + off), 4));
}
