/* Normalizations. With m entries x in a line, c = m (x - mean) and r = 1 / sqrt(S c^2 / m + m^2 epsilon), S being the sum
 * over the line, a NORMALIZE step has y = c r: the mean of the squares of x - mean is S c^2 / m^3. Its derivative takes
 * tangents g to r (m g - S g - y S(y g)), a symmetric map, which takes adjoints back, too. */
#include "check/kernel/line.h"
#include "check/base/elementary.h"

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

void
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

bool
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
