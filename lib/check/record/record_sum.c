/* Exact sums, and the bound on rounding. */
#include "check/record/record_sum.h"
#include "check/base/allocate.h"
#include "check/base/span.h"

#include <math.h>
#include <stdlib.h>

/* ---- Recorded numbers */

const integer *
recorded_integer(const recorded *x, const unit *u)
{
  integer *z = (integer *)&x->z;
  int e;
  if (z->_mp_d != NULL)
    return z;
  *z = integer_zero();
  mpz_set_si(z, (long)ldexp(frexp(x->d, &e), 53));
  e += (int)u->bits - 53;
  if (e >= 0)
    mpz_mul_2exp(z, z, (mp_bitcnt_t)e);
  else
    mpz_tdiv_q_2exp(z, z, (mp_bitcnt_t)-e);
  return z;
}

void
recorded_value(rational *q, const recorded *x, const unit *u)
{
  if (isnan(x->d))
    unfixed(q, &x->z, u->bits);
  else
    mpq_set_d(q, x->d);
}

int
recorded_long_order(const recorded *x, bool minus, const recorded *y, const unit *u)
{
  INTEGER(z);
  (minus ? mpz_neg : mpz_set)(&z, recorded_integer(x, u));
  return mpz_cmp(&z, recorded_integer(y, u));
}

/* ---- Types */

/* In a type with e bits of exponent the smallest normal number is 2^-least, and everything is below 2^most. */
unsigned long
type_most(size_t type)
{
  return 1ul << (dtypes[type].exponent - 1);
}

static unsigned long
least_of(size_t type)
{
  return type_most(type) - 2;
}

/* 2^-this: underflow takes at most so much. Numbers of five bits of exponent keep their subnormals. */
unsigned long
type_tiny(size_t type)
{
  return least_of(type) + (dtypes[type].exponent == 5 ? dtypes[type].fraction : 0);
}

/* ---- Sums */

sum *
sums(size_t n)
{
  sum *s = allocate(n, sizeof *s);
  for (size_t i = 0; i < n; i++)
    s[i] = (sum){integer_zero(), integer_zero(), integer_zero(), integer_zero(), integer_zero(), 0, false};
  return s;
}

void
sums_free(sum *s, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    mpz_clear(&s[i].exact);
    mpz_clear(&s[i].mass);
    mpz_clear(&s[i].lost);
    mpz_clear(&s[i].narrow);
    mpz_clear(&s[i].steepest);
  }
  free(s);
}

void
coefficient_set(coefficient *c, const unit *u, const rational *q)
{
  if (c->q == q)
    return;
  if (c->q == NULL)
    c->times = integer_zero();
  c->q = q;
  c->plain = mpz_cmpabs_ui(mpq_numref(q), 1) == 0 && mpz_cmp_ui(mpq_denref(q), 1) == 0;
  c->d = number_in_double(q);
  mpz_divexact(&c->times, &u->common, mpq_denref(q));
  mpz_mul(&c->times, &c->times, mpq_numref(q));
}

bool
is_subnormal(size_t type, const recorded *x, const unit *u)
{
  if (!isnan(x->d))
    return x->d != 0 && fabs(x->d) < ldexp(1, -(int)type_tiny(type));
  const integer *a = recorded_integer(x, u);
  return u->bits > type_tiny(type) && mpz_sgn(a) != 0 && mpz_sizeinbase(a, 2) <= u->bits - type_tiny(type);
}

void
sum_add(sum *s, const unit *u, size_t type, const coefficient *c, const recorded *x, const recorded *y,
        unsigned long narrow)
{
  const integer *a = recorded_integer(x, u), *b = y != NULL ? recorded_integer(y, u) : NULL;
  s->terms++;
  s->rounds = s->rounds || !c->plain || b != NULL;
  if (mpz_sgn(a) == 0 || (b != NULL && mpz_sgn(b) == 0) || mpz_sgn(&c->times) == 0)
    return;
  INTEGER(t);
  if (b != NULL)
    mpz_mul(&t, a, b);
  else
    mpz_mul_2exp(&t, a, u->bits);
  if (mpz_cmp_ui(&c->times, 1) != 0)
    mpz_mul(&t, &t, &c->times);
  mpz_add(&s->exact, &s->exact, &t);
  if (!c->plain && mpz_cmpabs(&c->times, &s->steepest) > 0 && mpz_cmpabs(&c->times, &u->common) > 0)
    mpz_abs(&s->steepest, &c->times);
  mpz_abs(&t, &t);
  mpz_add(&s->mass, &s->mass, &t);
  mpz_addmul_ui(&s->narrow, &t, narrow);
  if (is_subnormal(type, x, u) || (y != NULL && is_subnormal(type, y, u)))
    mpz_add(&s->lost, &s->lost, &t);
}

void
sum_add_number(sum *s, const unit *u, const rational *q)
{
  INTEGER(t);
  s->terms++;
  mpz_divexact(&t, &u->common, mpq_denref(q));
  mpz_mul(&t, &t, mpq_numref(q));
  mpz_mul_2exp(&t, &t, 2 * u->bits);
  mpz_add(&s->exact, &s->exact, &t);
  mpz_abs(&t, &t);
  mpz_add(&s->mass, &s->mass, &t);
}

void
sum_part(rational *q, const unit *u, const integer *of)
{
  RATIONAL(common);
  unfixed(q, of, 2 * u->bits);
  mpq_set_z(&common, &u->common);
  mpq_div(q, q, &common);
}

/* Is 2 |apart| at most the gap 2^place (as a number) between neighbours; where it is all of it, the recorded one must be even. */
static bool
is_nearest(const integer *apart, const unit *u, long place, bool even)
{
  INTEGER(gap);
  INTEGER(twice);
  long by = place + 2 * (long)u->bits;
  mpz_set(&gap, &u->common);
  mpz_mul_2exp(&twice, apart, 1);
  integer *finer = by < 0 ? &twice : &gap;
  mpz_mul_2exp(finer, finer, (mp_bitcnt_t)labs(by));
  int order = mpz_cmpabs(&twice, &gap);
  return order < 0 || (order == 0 && even);
}

/* Is the recorded number the exact one, rounded to nearest, ties to even? apart: the exact one less it. */
static bool
is_rounded(const integer *apart, const unit *u, size_t type, const integer *z)
{
  long fraction = (long)dtypes[type].fraction, low = -(long)least_of(type), bits = (long)u->bits;
  long top = mpz_sgn(z) != 0 ? (long)mpz_sizeinbase(z, 2) - 1 - bits : low;
  long place = (top > low ? top : low) - fraction;
  bool even = place + bits < 0 || mpz_sgn(z) == 0 || mpz_scan1(z, 0) > (mp_bitcnt_t)(place + bits);
  bool power = mpz_sgn(z) != 0 && (long)mpz_scan1(z, 0) == top + bits;
  if (power && top > low && mpz_sgn(apart) * mpz_sgn(z) < 0)
    place--; /* towards 0 the neighbour is nearer */
  return is_nearest(apart, u, place, even);
}

/* Could some partial sum pass the type's largest number? mass: that of the terms, times 2^finer. */
static bool
may_overflow(const integer *mass, const unit *u, size_t type, unsigned long finer)
{
  INTEGER(most);
  mpz_mul_2exp(&most, &u->common, 2 * u->bits + type_most(type) - 2 + finer);
  return mpz_cmp(mass, &most) > 0;
}

/* |apart| <= lost + narrow + n / (2^k - n) (mass + narrow) + 4 n tiny, the last times the steepest coefficient. All of it is 2^NARROW_BITS
 * times that where something is narrow. */
static nearness
judge_bound(const integer *apart, const sum *s, const unit *u, size_t type, size_t n)
{
  unsigned long k = dtypes[type].fraction + 1;
  long by = (long)type_tiny(type) - 2 * (long)u->bits;
  INTEGER(left);
  INTEGER(right);
  INTEGER(tiny);
  unsigned long finer = mpz_sgn(&s->narrow) > 0 ? NARROW_BITS : 0;
  mpz_abs(&left, apart);
  mpz_sub(&left, &left, &s->lost);
  mpz_mul_2exp(&left, &left, finer);
  mpz_sub(&left, &left, &s->narrow);
  if (mpz_sgn(&left) <= 0)
    return WITHIN_BOUND;
  if ((s->terms == 1 && !s->rounds) || mpz_sgn(&s->mass) == 0) /* nothing is rounded */
    return BEYOND;
  mpz_mul_2exp(&right, &s->mass, finer);
  mpz_add(&right, &right, &s->narrow);
  if (n >= 1ul << (k - 1) || may_overflow(&right, u, type, finer))
    return BOUNDLESS;
  mpz_mul_ui(&right, &right, n);
  mpz_mul_ui(&left, &left, (1ul << k) - n);
  mpz_mul_2exp(&tiny, mpz_sgn(&s->steepest) > 0 ? &s->steepest : &u->common, finer);
  mpz_mul_ui(&tiny, &tiny, 4 * n);
  mpz_mul_ui(&tiny, &tiny, (1ul << k) - n);
  if (by > 0) {
    mpz_mul_2exp(&left, &left, (mp_bitcnt_t)by);
    mpz_mul_2exp(&right, &right, (mp_bitcnt_t)by);
  } else {
    mpz_mul_2exp(&tiny, &tiny, (mp_bitcnt_t)-by);
  }
  mpz_add(&right, &right, &tiny);
  return mpz_cmp(&left, &right) <= 0 ? WITHIN_BOUND : BEYOND;
}

nearness
sum_judge(const sum *s, const unit *u, size_t type, size_t roundings, const recorded *x)
{
  INTEGER(apart);
  mpz_mul_2exp(&apart, recorded_integer(x, u), u->bits);
  mpz_mul(&apart, &apart, &u->common);
  mpz_sub(&apart, &s->exact, &apart);
  if (is_rounded(&apart, u, type, recorded_integer(x, u)))
    return BIT_EXACT;
  return judge_bound(&apart, s, u, type, roundings);
}
