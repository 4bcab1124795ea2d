/* Factors as long integers: in units of 2^-shift, rounded down, at most `slack` from the true ones; the largest |m| of a row add up
 * to norm. */
#include "check/kernel/near_step.h"
#include "check/base/allocate.h"

#include <limits.h>
#include <stdlib.h>

#define WIDE 8 /* terms of a row, from which on slices are quicker than long integers */

unsigned long
digits(const rational *q)
{
  unsigned long n = mpz_sizeinbase(mpq_denref(q), 2) - 1;
  return mpz_scan1(mpq_denref(q), 0) == n ? n : ULONG_MAX;
}

void
larger(integer *y, const integer *z)
{
  if (mpz_cmpabs(z, y) > 0)
    mpz_abs(y, z);
}

bool
is_in_words(const step *st)
{
  return st->kind == LINEAR && st->width >= WIDE && st->in_words.fits && st->in_words.lost == 0;
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

/* A factor that may not be rational. */
static void
factor_interval(const step *st, const factor *t, interval *q)
{
  if (st->kind == LINEAR)
    weigh(st, t, false, &q->lo);
  interval_set(q, st->kind == LINEAR ? &q->lo : &st->root[t->at].lo, st->kind == LINEAR ? &q->lo : &st->root[t->at].hi);
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

static void
prepare_factors(step *st)
{
  INTERVAL(q);
  INTEGER(z);
  INTEGER(row);
  for (size_t i = 0; i < st->n_factors; i++) {
    factor_interval(st, &st->factors[i], &q);
    unsigned long n = digits(&q.lo) < NEAR_BITS ? digits(&q.lo) : NEAR_BITS;
    st->shift = n > st->shift ? n : st->shift;
  }
  st->m = allocate(st->n_factors, sizeof *st->m);
  for (size_t i = 0; i < st->n_factors; i++) {
    factor_interval(st, &st->factors[i], &q);
    st->m[i] = integer_zero();
    fixed(&st->m[i], &q.lo, st->shift, false);
    fixed(&z, &q.hi, st->shift, true);
    mpz_sub(&z, &z, &st->m[i]);
    larger(&st->slack, &z);
    if (i % st->width == 0)
      mpz_set_ui(&row, 0);
    mpz_abs(&z, &st->m[i]);
    mpz_add(&row, &row, &z);
    larger(&st->norm, &row);
  }
}

static void
prepare_step(step *st)
{
  if (st->prepared)
    return;
  st->prepared = true;
  st->norm = integer_zero();
  st->slack = integer_zero();
  st->shift = 0;
  if (st->kind == PIECEWISE)
    steepest(st);
  if (st->kind == WINDOW)
    mpz_set_ui(&st->norm, 1);
  if (st->kind == LINEAR || st->kind == OVER_ROOT)
    prepare_factors(st);
}

void
near_prepare_beside_words(network *net)
{
  for (size_t s = 0; s < net->n_steps; s++)
    if (!is_in_words(&net->steps[s]))
      prepare_step(&net->steps[s]);
}

void
near_prepare(network *net)
{
  for (size_t s = 0; s < net->n_steps; s++)
    prepare_step(&net->steps[s]);
}

void
near_forget(network *net)
{
  for (size_t s = 0; s < net->n_steps; s++) {
    step *st = &net->steps[s];
    if (!st->prepared)
      continue;
    for (size_t i = 0; i < st->n_factors && st->m != NULL; i++)
      mpz_clear(&st->m[i]);
    free(st->m);
    st->m = NULL;
    mpz_clears(&st->norm, &st->slack, NULL);
    st->prepared = false;
  }
}
