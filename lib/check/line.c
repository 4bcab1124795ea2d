/* Normalizations. With m entries x in a line, c = m (x - mean) and r = 1 / sqrt(S c^2 / m + m^2 epsilon), S being the sum
 * over the line, a NORMALIZE step has y = c r: the mean of the squares of x - mean is S c^2 / m^3. Its derivative takes
 * tangents g to r (m g - S g - y S(y g)), a symmetric map, which takes adjoints back, too. */
#include "line.h"

#include <stdlib.h>

/* ---- Division by the roots of statistics, in an OVER_ROOT step */

/* To as many bits as near values have. */
void
root_prepare(step *st)
{
  const tensor *w = st->factors[0].w;
  st->root = intervals(w->count);
  session_bits += GUARD;
  for (size_t i = 0; i < w->count; i++) {
    RATIONAL(q);
    INTERVAL(root);
    mpq_add(&q, &w->value[i], &st->at[0]);
    sqrt_end(&root.lo, &q, false);
    sqrt_end(&root.hi, &q, true);
    interval_sign(&root, "whether a root is zero");
    mpq_inv(&st->root[i].lo, &root.hi);
    mpq_inv(&st->root[i].hi, &root.lo);
    interval_round(&st->root[i]);
  }
  session_bits -= GUARD;
}

void
root_pull(const point *p, size_t s, size_t e, rational **adjoint)
{
  const step *st = &p->net->steps[s];
  const term t = term_at(p, st, e, 0);
  size_t apart = p->net->apart;
  add_multiple(&adjoint[t.x.step][entry_of(p, t.x, e) / apart], only(&st->root[t.by.at]), &adjoint[s][e / apart]);
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

static source
read_by(const point *p, const step *st, size_t e)
{
  return term_at(p, st, e, 0).x;
}

static bool
one_function(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  size_t first = line_entry(p, st, e, 0), m = line_length(p, st);
  source top = read_by(p, st, first);
  bool one = true;
  if (e != first && p->degree[s][e] > 0)
    return p->same[s][first] == ZERO; /* which is then no constant's value */
  for (size_t i = 1; i < m && one; i++) {
    size_t other = line_entry(p, st, e, i);
    source x = read_by(p, st, other);
    one = compare_entries(p, x.step, entry_of(p, x, other), top.step, entry_of(p, top, e)) == 0;
  }
  return one;
}

bool
vanishes(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  bool all = st->kind == LINEAR || st->kind == OVER_ROOT;
  for (size_t i = 0; all && i < st->width; i++)
    all = left_out(p, term_at(p, st, e, i).x, e);
  return all || (st->kind == NORMALIZE && one_function(p, s, e));
}

/* ---- Softmax: values and derivatives */

/* Softmax of the arguments of the line that has entry e, or its logarithm. */
static interval *
softmax_line(const point *p, const step *st, size_t e, bool logarithm)
{
  interval *x = intervals(st->length);
  for (size_t j = 0; j < st->length; j++)
    interval_add(&x[j], argument(p, st, line_entry(p, st, e, j)), &plus_one);
  interval_softmax(x, x, st->length, 1, logarithm);
  return x;
}

static void
softmax_values(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  interval *x = softmax_line(p, st, e, st->log);
  for (size_t j = 0; j < st->length; j++) {
    interval_round(&x[j]);
    p->y[s][line_entry(p, st, e, j)] = &x[j];
  }
}

/* The tangent of log softmax(x)[j] is the sum over k of softmax(x)[k] (dx[j] - dx[k]); that of
 * softmax(x)[j], that times softmax(x)[j]. Of all entries of the line that has entry e. */
static void
softmax_tangents(const motion *d, size_t s, size_t e)
{
  const point *p = d->p;
  const step *st = &p->net->steps[s];
  interval *share = softmax_line(p, st, e, false);
  for (size_t j = 0; j < st->length; j++) {
    interval *dy = d->x[s][line_entry(p, st, e, j)] = intervals(1);
    for (size_t k = 0; k < st->length; k++) {
      INTERVAL(t);
      interval_add(&t, argument_tangent(d, st, line_entry(p, st, e, j)), &plus_one);
      interval_add(&t, argument_tangent(d, st, line_entry(p, st, e, k)), &minus_one);
      multiply_add(dy, &t, &share[k]);
    }
    if (!st->log)
      interval_mul(dy, dy, &share[j]);
    interval_round(dy);
  }
  intervals_free(share, st->length);
}

/* ---- Normalizations: values and derivatives */

/* x becomes m (x - mean). */
static void
centre(interval *x, size_t m)
{
  INTERVAL(sum);
  RATIONAL(q);
  mpq_set_ui(&q, m, 1);
  for (size_t i = 0; i < m; i++)
    interval_add(&sum, &x[i], &plus_one);
  for (size_t i = 0; i < m; i++) {
    INTERVAL(c);
    interval_add(&c, &x[i], &q);
    interval_add(&c, &sum, &minus_one);
    interval_set(&x[i], &c.lo, &c.hi);
  }
}

/* r of c, whose root has `more` bits beyond the session's: it is that of 4^more times the number, divided by 2^more. */
static void
inverse_root(interval *r, const interval *c, size_t m, const rational *epsilon, unsigned long more)
{
  INTERVAL(q);
  INTERVAL(root);
  RATIONAL(t);
  for (size_t i = 0; i < m; i++) {
    INTERVAL(square);
    interval_mul(&square, &c[i], &c[i]);
    if (mpq_sgn(&square.lo) < 0)
      mpq_set(&square.lo, &zero);
    interval_add(&q, &square, &plus_one);
  }
  mpq_set_ui(&t, m, 1);
  mpq_div(&q.lo, &q.lo, &t);
  mpq_div(&q.hi, &q.hi, &t);
  mpq_mul(&t, &t, &t);
  mpq_mul(&t, &t, epsilon);
  interval_add(&q, &exactly_one, &t);
  mpq_mul_2exp(&q.lo, &q.lo, 2 * more);
  mpq_mul_2exp(&q.hi, &q.hi, 2 * more);
  sqrt_end(&root.lo, &q.lo, false);
  sqrt_end(&root.hi, &q.hi, true);
  interval_sign(&root, "whether a root is zero");
  mpq_inv(&r->lo, &root.hi);
  mpq_inv(&r->hi, &root.lo);
  mpq_mul_2exp(&r->lo, &r->lo, more);
  mpq_mul_2exp(&r->hi, &r->hi, more);
}

/* The arguments of the line of entry e, centred. */
static interval *
centred(const point *p, const step *st, size_t e)
{
  size_t m = line_length(p, st);
  interval *c = intervals(m);
  for (size_t i = 0; i < m; i++)
    interval_add(&c[i], argument(p, st, line_entry(p, st, e, i)), &plus_one);
  centre(c, m);
  return c;
}

static void
root_of(const point *p, const step *st, size_t e, interval *r)
{
  interval *c = centred(p, st, e);
  inverse_root(r, c, line_length(p, st), &st->at[0], 0);
  intervals_free(c, line_length(p, st));
}

static void
normalize_values(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st);
  interval *y = centred(p, st, e);
  INTERVAL(r);
  inverse_root(&r, y, m, &st->at[0], 0);
  for (size_t i = 0; i < m; i++) {
    interval_mul(&y[i], &y[i], &r);
    interval_round(&y[i]);
    p->y[s][line_entry(p, st, e, i)] = &y[i];
  }
}

static void
normalize_tangents(const motion *d, size_t s, size_t e)
{
  const step *st = &d->p->net->steps[s];
  size_t m = line_length(d->p, st);
  interval *g = intervals(m);
  bool still = true; /* then r does not matter */
  INTERVAL(r);
  INTERVAL(sum);
  for (size_t i = 0; i < m; i++) {
    size_t at = line_entry(d->p, st, e, i);
    interval_add(&g[i], argument_tangent(d, st, at), &plus_one);
    still = still && interval_zero(&g[i]);
    multiply_add(&sum, value_at(d->p, s, at), &g[i]);
  }
  if (!still) {
    centre(g, m);
    root_of(d->p, st, e, &r);
  }
  for (size_t i = 0; i < m; i++) {
    size_t at = line_entry(d->p, st, e, i);
    INTERVAL(t);
    multiply_add(&t, value_at(d->p, s, at), &sum);
    interval_add(&g[i], &t, &minus_one);
    interval_mul(&g[i], &g[i], &r);
    interval_round(&g[i]);
    interval_add(d->x[s][at] = intervals(1), &g[i], &plus_one);
  }
  intervals_free(g, m);
}

void
line_values(const point *p, size_t s, size_t e)
{
  (p->net->steps[s].kind == SOFTMAX ? softmax_values : normalize_values)(p, s, e);
}

void
line_tangents(const motion *d, size_t s, size_t e)
{
  (d->p->net->steps[s].kind == SOFTMAX ? softmax_tangents : normalize_tangents)(d, s, e);
}

/* The column of the derivative at e times e's adjoint, if that is rational. */
void
normalize_pull(const point *p, size_t s, size_t e, rational **adjoint)
{
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st), apart = p->net->apart;
  INTERVAL(r);
  RATIONAL(all);
  root_of(p, st, e, &r);
  mpq_set_ui(&all, m, 1);
  for (size_t i = 0; i < m; i++) {
    size_t at = line_entry(p, st, e, i);
    source x = read_by(p, st, at);
    INTERVAL(by);
    INTERVAL(t);
    if (at == e)
      interval_add(&by, &exactly_one, &all);
    interval_add(&by, &exactly_one, &minus_one);
    multiply_add(&t, value_at(p, s, at), value_at(p, s, e));
    interval_add(&by, &t, &minus_one);
    interval_mul(&by, &by, &r);
    add_multiple(&adjoint[x.step][entry_of(p, x, at) / apart], only(&by), &adjoint[s][e / apart]);
  }
}

/* ---- Near values: c and r in intervals, of the numbers within a few units of those that are read; between the ends of
 * what they give is y. */

void
normalize_near(const point *p, near *v, size_t s, size_t sample, const integer *off)
{
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st);
  unsigned long bits = session_bits + GUARD;
  interval *y = intervals(m);
  INTERVAL(r);
  INTEGER(z);
  mpz_set_ui(&v[s].r, 1);
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    if (e != line_entry(p, st, e, 0))
      continue;
    for (size_t i = 0; i < m; i++) {
      size_t at = line_entry(p, st, e, i);
      const integer *x = center(p, v, read_by(p, st, at), at);
      mpz_sub(&z, x, off);
      unfixed(&y[i].lo, &z, bits);
      mpz_add(&z, x, off);
      unfixed(&y[i].hi, &z, bits);
    }
    centre(y, m);
    inverse_root(&r, y, m, &st->at[0], GUARD);
    for (size_t i = 0; i < m; i++) {
      integer *c = &v[s].c[line_entry(p, st, e, i) / p->net->apart];
      interval_mul(&y[i], &y[i], &r);
      fixed(c, &y[i].lo, bits, false);
      fixed(&z, &y[i].hi, bits, true);
      mpz_sub(&z, &z, c);
      if (mpz_cmp(&z, &v[s].r) > 0)
        mpz_swap(&z, &v[s].r);
    }
  }
  intervals_free(y, m);
}
