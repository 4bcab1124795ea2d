/* Where entries are, and what is read for them. */
#include "check/kernel/point.h"

size_t
rows_of_factors(const step *st)
{
  return st->n_factors / st->width;
}

size_t
rows_of_sources(const step *st)
{
  return st->width > 0 ? st->n_sources / st->width : st->n;
}

void
weigh(const step *st, const factor *t, bool derivative, rational *q)
{
  const rational *w = t->w != NULL ? &t->w->value[t->at] : NULL;
  mpq_set(q, t->coef == &plus_one && w != NULL && !derivative && !st->divide ? w : t->coef);
  if (w == NULL || derivative > st->divide || (t->coef == &plus_one && !st->divide))
    return;
  (st->divide ? mpq_div : mpq_mul)(q, q, w);
  if (derivative) {
    mpq_div(q, q, w);
    mpq_neg(q, q);
  }
}

bool
loss_ignores(const point *p, size_t sample)
{
  const tensor *ignored = p->net->own.ignored;
  return ignored != NULL && mpq_equal(&p->target->value[sample], ignored->value);
}

size_t
loss_counted(const point *p)
{
  size_t n = 0;
  for (size_t b = 0; b < p->net->batch; b++)
    n += !loss_ignores(p, b);
  return n;
}

/* ---- Windows */

size_t
options(const point *p, size_t s, size_t e, const rational *slope, const size_t **at, const rational **by,
        size_t *alone)
{
  const step *st = &p->net->steps[s];
  size_t place = p->place[s][e];
  if (place < TOUCHED) {
    *alone = entry_of(p, term_at(p, st, e, place).x, e);
    *at = alone;
    *by = &plus_one;
    return 1;
  }
  const touch *t = &p->touched[place - TOUCHED];
  *at = t->at;
  *by = slope != NULL ? slope + t->slope : NULL;
  return t->n;
}

size_t
read_step(const step *st)
{
  const source *x = st->sources;
  while (x->step == PADDING)
    x++;
  return x->step;
}

/* ---- Lines */

size_t
line_length(const point *p, const step *st)
{
  return st->couples ? st->length * p->net->batch : st->length;
}

size_t
line_entry(const point *p, const step *st, size_t e, size_t j)
{
  size_t apart = st->couples ? 1 : st->stride * p->net->batch, length = line_length(p, st);
  return (e / (apart * length) * length + j) * apart + e % apart;
}

source
read_by(const point *p, const step *st, size_t e)
{
  return term_at(p, st, e, 0).x;
}

bool
same_root(const point *p, const step *st, size_t e, size_t e2)
{
  if (st->kind == NORMALIZE)
    return line_entry(p, st, e, 0) == line_entry(p, st, e2, 0);
  return term_at(p, st, e, 0).by.at == term_at(p, st, e2, 0).by.at;
}
