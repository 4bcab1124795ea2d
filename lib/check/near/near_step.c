/* Factors as integers: in units of 2^-shift, rounded down, at most `slack` from the true ones; the largest |m| of a row add up
 * to norm. */
#include "check/near/near_step.h"
#include "check/base/allocate.h"

#include <limits.h>
#include <stdlib.h>

#define WIDE 8 /* terms of a row, from which on machine words are quicker than long integers */

unsigned long
digits(const rational *q)
{
  unsigned long n = mpz_sizeinbase(mpq_denref(q), 2) - 1;
  return mpz_scan1(mpq_denref(q), 0) == n ? n : ULONG_MAX;
}

long
magnitude(const rational *q)
{
  long n = (long)mpz_sizeinbase(mpq_numref(q), 2), d = (long)mpz_sizeinbase(mpq_denref(q), 2);
  return mpq_sgn(q) == 0 ? LONG_MIN : n - d + 1;
}

void
larger(integer *y, const integer *z)
{
  if (mpz_cmpabs(z, y) > 0)
    mpz_abs(y, z);
}

const near *
near_read(const point *p, const near *v, source x)
{
  return &v[x.step == NONE ? p->net->n_steps : x.step];
}

const integer *
center(const point *p, const near *v, source x, size_t e)
{
  return x.step == NONE ? v[p->net->n_steps].c : &v[x.step].c[entry_of(p, x, e) / p->net->apart];
}

void
near_interval(const point *p, const near *v, source x, size_t e, interval *y)
{
  const integer *c = center(p, v, x, e), *r = &near_read(p, v, x)->r;
  INTEGER(z);
  mpz_sub(&z, c, r);
  unfixed(&y->lo, &z, p->net->near_bits);
  mpz_add(&z, c, r);
  unfixed(&y->hi, &z, p->net->near_bits);
}

void
near_put(const point *p, near *v, size_t e, const interval *y)
{
  integer *c = &v->c[e / p->net->apart];
  INTEGER(z);
  fixed(c, &y->lo, p->net->near_bits, false);
  fixed(&z, &y->hi, p->net->near_bits, true);
  mpz_sub(&z, &z, c);
  larger(&v->r, &z);
}

/* The factor, of OVER_ROOT an interval. A weight alone is read where it is, others are put into room. */
static void
factor_ends(const step *st, const factor *t, rational *room, const rational **lo, const rational **hi)
{
  if (st->kind == OVER_ROOT) {
    *lo = &st->root[t->at].lo;
    *hi = &st->root[t->at].hi;
    return;
  }
  bool plain = t->coef == &plus_one && !st->divide;
  if (!plain)
    weigh(st, t, false, room);
  *lo = *hi = !plain ? room : t->w != NULL ? &t->w->value[t->at] : &plus_one;
}

/* The norm of a PIECEWISE step is a whole number not less than the size of any slope, but for those of parabolas. */
static void
steepest(step *st)
{
  INTEGER(z);
  for (size_t i = 0; i < 3 + st->n_factors; i++) {
    const factor *t = i < 3 ? NULL : &st->factors[i - 3];
    const rational *q = t == NULL ? &st->piece[i][1] : t->w != NULL ? &t->w->value[t->at] : &zero;
    mpz_cdiv_q(&z, mpq_numref(q), mpq_denref(q));
    larger(&st->norm, &z);
    mpz_fdiv_q(&z, mpq_numref(q), mpq_denref(q));
    larger(&st->norm, &z);
  }
}

/* Chooses shift: the digits that factors have, bits at most. Are they machine words? With the digits of which a row of factors that are
 * less than 2^top has a sum of at most 2^61. */
static bool
choose_shift(step *st, unsigned long bits, bool few)
{
  const rational *lo, *hi;
  RATIONAL(room);
  long top = LONG_MIN, left = WORD_BITS;
  for (size_t i = 0; i < st->n_factors; i++) {
    factor_ends(st, &st->factors[i], &room, &lo, &hi);
    unsigned long n = digits(lo) < bits ? digits(lo) : bits;
    st->shift = n > st->shift ? n : st->shift;
    top = magnitude(hi) > top ? magnitude(hi) : top; /* of a root's reciprocal lo is below it, and of others the same */
  }
  for (size_t n = st->width; n > 0; n /= 2)
    left--;
  left -= top == LONG_MIN ? 0 : top;
  bool exact = st->kind == LINEAR && left >= (long)st->shift;
  if (st->width < WIDE || st->width > UINT32_MAX || left < 0 || !(exact || few))
    return false;
  st->shift = exact ? st->shift : (unsigned long)left;
  return true;
}

static void
prepare_factors(step *st, unsigned long bits, bool few)
{
  const rational *lo, *hi;
  RATIONAL(room);
  INTEGER(m);
  INTEGER(z);
  INTEGER(row);
  bool words = choose_shift(st, bits, few);
  st->words = words ? allocate(st->n_factors, sizeof *st->words) : NULL;
  st->m = words ? NULL : allocate(st->n_factors, sizeof *st->m);
  for (size_t i = 0; i < st->n_factors; i++) {
    factor_ends(st, &st->factors[i], &room, &lo, &hi);
    fixed(&m, lo, st->shift, false);
    fixed(&z, hi, st->shift, true);
    mpz_sub(&z, &z, &m);
    larger(&st->slack, &z);
    if (i % st->width == 0)
      mpz_set_ui(&row, 0);
    mpz_abs(&z, &m);
    mpz_add(&row, &row, &z);
    larger(&st->norm, &row);
    if (words)
      st->words[i] = mpz_get_si(&m);
    else
      mpz_init_set(&st->m[i], &m);
  }
}

static void
forget(step *st)
{
  for (size_t i = 0; st->m != NULL && i < st->n_factors; i++)
    mpz_clear(&st->m[i]);
  free(st->m);
  free(st->words);
  mpz_clears(&st->norm, &st->slack, NULL);
  st->m = NULL;
  st->words = NULL;
  st->norm = integer_zero();
  st->slack = integer_zero();
  st->shift = 0;
}

void
near_prepare(network *net, unsigned long bits, bool few)
{
  net->near_bits = bits;
  for (size_t s = 0; s < net->n_steps; s++) {
    step *st = &net->steps[s];
    forget(st);
    if (st->kind == PIECEWISE)
      steepest(st);
    if (st->kind == WINDOW)
      mpz_set_ui(&st->norm, 1);
    if (st->kind == LINEAR || st->kind == OVER_ROOT)
      prepare_factors(st, bits, few);
  }
}
