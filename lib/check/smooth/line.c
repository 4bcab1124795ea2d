/* Normalizations. With m entries x in a line, c = m (x - mean) and r = 1 / sqrt(S c^2 / m + m^2 epsilon), S being the sum
 * over the line, a NORMALIZE step has y = c r: the mean of the squares of x - mean is S c^2 / m^3. Its derivative takes
 * tangents g to r (m g - S g - y S(y g)), a symmetric map, which takes adjoints back, too. */
#include "check/smooth/line.h"
#include "check/base/elementary.h"
#include "check/kernel/evaluate.h"
#include "check/kernel/jacobian.h"
#include "check/near/near_step.h"

#define FINER 64 /* bits of roots and exponentials beyond those of near values */

/* y = 1 / x, x being a root or its square. */
static void
invert(interval *y, const interval *x)
{
  interval_sign(x, "whether a root is zero");
  mpq_inv(&y->lo, &x->hi);
  mpq_inv(&y->hi, &x->lo);
}

/* ---- Division by the roots of statistics, in an OVER_ROOT step */

/* To as many bits as near values have. */
void
root_prepare(step *st)
{
  const tensor *w = st->factors[0].w;
  st->root = intervals(w->count);
  session_set_bits(session_bits + GUARD);
  for (size_t i = 0; i < w->count; i++) {
    RATIONAL(q);
    INTERVAL(root);
    mpq_add(&q, &w->value[i], &st->at[0]);
    sqrt_end(&root.lo, &q, false);
    sqrt_end(&root.hi, &q, true);
    invert(&st->root[i], &root);
    interval_round(&st->root[i]);
  }
  session_set_bits(session_bits - GUARD);
}

/* ---- A line of a NORMALIZE step, whose m entries are x */

/* An entry that is alone is its mean, whatever is known of it. */
void
centre(interval *x, size_t m)
{
  INTERVAL(sum);
  RATIONAL(q);
  if (m == 1) {
    interval_set(x, &zero, &zero);
    return;
  }
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

/* 1 / r^2 = sum c^2 / m + m^2 epsilon. */
static void
radicand(interval *q, const interval *c, size_t m, const rational *epsilon)
{
  RATIONAL(t);
  for (size_t i = 0; i < m; i++) {
    INTERVAL(square);
    interval_mul(&square, &c[i], &c[i]);
    if (mpq_sgn(&square.lo) < 0)
      mpq_set(&square.lo, &zero);
    interval_add(q, &square, &plus_one);
  }
  mpq_set_ui(&t, m, 1);
  mpq_div(&q->lo, &q->lo, &t);
  mpq_div(&q->hi, &q->hi, &t);
  mpq_mul(&t, &t, &t);
  mpq_mul(&t, &t, epsilon);
  interval_add(q, &exactly_one, &t);
}

/* r^2 of c. */
static void
inverse_square(interval *r, const interval *c, size_t m, const rational *epsilon)
{
  INTERVAL(q);
  radicand(&q, c, m, epsilon);
  invert(r, &q);
}

/* Encloses the root. */
static void
root_of_line(interval *root, const interval *c, size_t m, const rational *epsilon)
{
  INTERVAL(q);
  radicand(&q, c, m, epsilon);
  sqrt_end(&root->lo, &q.lo, false);
  sqrt_end(&root->hi, &q.hi, true);
}

/* Is it known to be above 0? */
static bool
is_root_known(const interval *c, size_t m, const rational *epsilon)
{
  INTERVAL(root);
  INTEGER(z);
  root_of_line(&root, c, m, epsilon);
  fixed(&z, &root.lo, session_bits, false);
  return mpz_sgn(&z) > 0;
}

void
inverse_root(interval *r, const interval *c, size_t m, const rational *epsilon)
{
  INTERVAL(root);
  root_of_line(&root, c, m, epsilon);
  invert(r, &root);
}

/* ---- Values */

/* Softmax of the arguments of the line that has entry e, or its logarithm. */
static interval *
softmax_line(const point *p, const step *st, size_t e, bool logarithm)
{
  interval *x = intervals(st->length);
  for (size_t j = 0; j < st->length; j++)
    interval_add(&x[j], argument(p, st, line_entry(p, st, e, j)), &plus_one);
  interval_softmax(x, x, st->length, 1, logarithm);
  for (size_t j = 0; j < st->length; j++)
    interval_round(&x[j]);
  return x;
}

static void
softmax_values(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  interval *x = softmax_line(p, st, e, st->log);
  for (size_t j = 0; j < st->length; j++)
    p->y[s][line_entry(p, st, e, j)] = &x[j];
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

void
inverse_root_at(const point *p, const step *st, size_t e, interval *r)
{
  if (st->kind == OVER_ROOT) {
    interval_set(r, &st->root[term_at(p, st, e, 0).by.at].lo, &st->root[term_at(p, st, e, 0).by.at].hi);
    return;
  }
  interval *c = centred(p, st, e);
  inverse_root(r, c, line_length(p, st), &st->at[0]);
  intervals_free(c, line_length(p, st));
}

static void
normalize_values(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st);
  interval *y = centred(p, st, e);
  INTERVAL(r);
  inverse_root(&r, y, m, &st->at[0]);
  for (size_t i = 0; i < m; i++) {
    interval_mul(&y[i], &y[i], &r);
    interval_round(&y[i]);
    p->y[s][line_entry(p, st, e, i)] = &y[i];
  }
}

void
line_values(const point *p, size_t s, size_t e)
{
  (p->net->steps[s].kind == SOFTMAX ? softmax_values : normalize_values)(p, s, e);
}

/* ---- Tangents */

/* The tangent of log softmax(x)[j] is dx[j] less the sum over k of softmax(x)[k] dx[k]; that of softmax(x)[j], that times
 * softmax(x)[j]. Of all entries of the line that has entry e. As shares sum up to 1, one dx is taken from each: where all are the
 * same, the tangents are 0. It is that of the largest share, so that the sum has no share near 1. */
static void
softmax_tangents(const motion *d, size_t s, size_t e)
{
  const point *p = d->p;
  const step *st = &p->net->steps[s];
  interval *share = softmax_line(p, st, e, false);
  size_t most = 0;
  INTERVAL(mean);
  for (size_t j = 1; j < st->length; j++)
    most = mpq_cmp(&share[j].lo, &share[most].lo) > 0 ? j : most;
  for (size_t j = 0; j < st->length; j++) {
    interval *dy = d->x[s][line_entry(p, st, e, j)] = intervals(1);
    interval_add(dy, argument_tangent(d, st, line_entry(p, st, e, j)), &plus_one);
    interval_add(dy, argument_tangent(d, st, line_entry(p, st, e, most)), &minus_one);
    multiply_add(&mean, dy, &share[j]);
  }
  interval_round(&mean);
  for (size_t j = 0; j < st->length; j++) {
    interval *dy = d->x[s][line_entry(p, st, e, j)];
    interval_add(dy, &mean, &minus_one);
    if (!st->log)
      interval_mul(dy, dy, &share[j]);
    interval_round(dy);
  }
  intervals_free(share, st->length);
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
    inverse_root_at(d->p, st, e, &r);
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
line_tangents(const motion *d, size_t s, size_t e)
{
  (d->p->net->steps[s].kind == SOFTMAX ? softmax_tangents : normalize_tangents)(d, s, e);
}

/* ---- Derivatives of an entry */

/* The derivatives r (m [i = e] - 1 - y[i] y[e]) by the entries i of e's line. With c = m (x - mean) the product y[i] y[e] is
 * c[i] c[e] r^2, which is rational where c is. */
static void
normalize_row(const jacobian *j, size_t s, size_t e, bool rootless)
{
  const point *p = j->p;
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st), own = 0;
  interval *c = centred(p, st, e);
  INTERVAL(r);
  INTERVAL(square);
  RATIONAL(all);
  while (line_entry(p, st, e, own) != e)
    own++;
  inverse_square(&square, c, m, &st->at[0]);
  if (rootless)
    interval_set(&r, &plus_one, &plus_one);
  else
    inverse_root(&r, c, m, &st->at[0]);
  mpq_set_ui(&all, m, 1);
  for (size_t i = 0; i < m; i++) {
    size_t at = line_entry(p, st, e, i);
    INTERVAL(by);
    INTERVAL(t);
    if (i == own)
      interval_add(&by, &exactly_one, &all);
    interval_add(&by, &exactly_one, &minus_one);
    interval_mul(&t, &c[i], &c[own]);
    interval_mul(&t, &t, &square);
    interval_add(&by, &t, &minus_one);
    interval_mul(&by, &by, &r);
    hand_on(j, s, e, at, read_by(p, st, at), &by);
  }
  intervals_free(c, m);
}

/* y_e ([e = i] - y_i), the derivative of entry e by what entry i reads, which is rational where the line's entries are: where
 * all are equal. Nothing comes from an entry that is alone in its line: it is always 1. That of the logarithm is [e = i] - y_i, never
 * rational: [0, 1] says so where only exact ones count. */
static void
softmax_row(const jacobian *j, size_t s, size_t e)
{
  const step *st = &j->p->net->steps[s];
  interval *share = st->log && !j->exact && st->length > 1 ? softmax_line(j->p, st, e, false) : NULL;
  for (size_t i = 0; st->length > 1 && i < st->length; i++) {
    size_t at = line_entry(j->p, st, e, i);
    INTERVAL(by);
    if (st->log && j->exact)
      mpq_set(&by.hi, &plus_one);
    else {
      if (at == e)
        interval_set(&by, &plus_one, &plus_one);
      interval_add(&by, st->log ? &share[i] : value_at(j->p, s, at), &minus_one);
      if (!st->log)
        interval_mul(&by, &by, value_at(j->p, s, e));
    }
    hand_on(j, s, e, at, read_by(j->p, st, at), &by);
  }
  if (share != NULL)
    intervals_free(share, st->length);
}

void
line_row(const jacobian *j, size_t s, size_t e, bool rootless)
{
  if (j->p->net->steps[s].kind == SOFTMAX)
    softmax_row(j, s, e);
  else
    normalize_row(j, s, e, rootless);
}

/* ---- Lines as a whole */

/* x: the adjoints of the line that has entry e, and their sum. Are all known, and some not 0? */
static bool
read_line(rational *x, rational *sum, const point *p, const step *st, size_t e, rational *adjoint, const bool *unknown)
{
  bool any = false;
  mpq_set(sum, &zero);
  for (size_t i = 0; i < line_length(p, st); i++) {
    size_t at = line_entry(p, st, e, i) / p->net->apart;
    if (unknown[at])
      return false;
    mpq_canonicalize(&adjoint[at]);
    mpq_set(&x[i], &adjoint[at]);
    mpq_add(sum, sum, &x[i]);
    any = any || mpq_sgn(&x[i]) != 0;
  }
  return any;
}

/* They become m x - S x - c S(c x) r^2: what the line hands back, but for its root. False where that is not known. */
static bool
normalize_back(rational *x, const rational *sum, const point *p, const step *st, size_t e)
{
  size_t m = line_length(p, st);
  interval *c = centred(p, st, e);
  bool known = true;
  INTERVAL(square);
  RATIONAL(along);
  RATIONAL(by);
  RATIONAL(t);
  inverse_square(&square, c, m, &st->at[0]);
  for (size_t i = 0; i < m && known; i++) {
    known = interval_exact(&c[i]);
    mpq_mul(&t, &c[i].lo, &x[i]);
    mpq_add(&along, &along, &t);
  }
  mpq_mul(&along, &along, &square.lo);
  mpq_set_ui(&by, m, 1);
  for (size_t i = 0; i < m && known; i++) {
    mpq_mul(&x[i], &x[i], &by);
    mpq_mul(&t, &c[i].lo, &along);
    mpq_add(&t, &t, sum);
    mpq_sub(&x[i], &x[i], &t);
  }
  intervals_free(c, m);
  return known;
}

/* Adjoints of a LogSoftmax are what it hands back where their sum is 0. */
void
lines_back(const jacobian *j, size_t s, size_t sample, rational *adjoint, const bool *unknown, const cell *c)
{
  const point *p = j->p;
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st);
  rational *x = rationals(m);
  RATIONAL(sum);
  for (size_t e = sample; e < entries(p, s) && (st->kind == NORMALIZE || st->log); e += p->net->apart) {
    INTERVAL(root);
    if (e != line_entry(p, st, e, 0) || (c != NULL && c->degree[s][e] == 0)
        || !read_line(x, &sum, p, st, e, adjoint, unknown)
        || !(st->log ? mpq_sgn(&sum) == 0 : normalize_back(x, &sum, p, st, e)))
      continue;
    for (size_t i = 0; i < m; i++) {
      size_t at = line_entry(p, st, e, i), own = at / p->net->apart;
      mpq_swap(&adjoint[own], &x[i]);
      if (mpq_sgn(&adjoint[own]) != 0 && !st->log && interval_zero(&root))
        inverse_root_at(p, st, e, &root);
      if (mpq_sgn(&adjoint[own]) != 0)
        hand_on(j, s, at, at, read_by(p, st, at), st->log ? &exactly_one : &root);
      mpq_set(&adjoint[own], &zero);
    }
  }
  rationals_free(x, m);
}

/* ---- Near values: lines, in intervals of as many bits; each entry that is read lies within r of c */

/* Is it known? */
static bool
normalize_near(interval *x, size_t m, const rational *epsilon)
{
  INTERVAL(r);
  centre(x, m);
  if (!is_root_known(x, m, epsilon))
    return false;
  inverse_root(&r, x, m, epsilon);
  interval_round(&r);
  for (size_t i = 0; i < m; i++)
    interval_mul(&x[i], &x[i], &r);
  return true;
}

bool
line_near(const point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st);
  interval *x = intervals(m);
  const unsigned long own = session_bits;
  bool known = !st->log;
  session_set_bits(p->net->near_bits + FINER);
  for (size_t e = sample; e < entries(p, s) && known; e += p->net->apart) {
    if (e != line_entry(p, st, e, 0))
      continue;
    for (size_t i = 0; i < m; i++) {
      size_t at = line_entry(p, st, e, i);
      near_interval(p, v, read_by(p, st, at), at, &x[i]);
    }
    if (st->kind == SOFTMAX)
      interval_softmax(x, x, m, 1, false);
    else
      known = normalize_near(x, m, &st->at[0]);
    for (size_t i = 0; i < m && known; i++)
      near_put(p, &v[s], line_entry(p, st, e, i), &x[i]);
  }
  session_set_bits(own);
  intervals_free(x, m);
  return known;
}
