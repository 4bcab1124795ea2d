/* The elementary functions of intervals. They come from exp(-t), t >= 0, computed in fixed point, p bits after the
 * point, every operation rounded outward. */
#include "check/base/elementary.h"

#define MOST_EXPONENT 65536
#define EXP_SMALL 8 /* the series is taken below 2^-8 */

/* exp(-r), r = u / 2^p in [0, 1/2], by the alternating series, each term rounded down, until one is 0. Returned: how many units it may be
 * off by. A term is less than 3 below: what the one before is off by, times r, and the two roundings are less than 3/2 + 1/2 + 1. What
 * is left behind the last is no larger than that one. */
static unsigned long
exp_series(integer *sum, const integer *u, unsigned long p)
{
  INTEGER(term);
  unsigned long n = 0;
  mpz_set_ui(sum, 0);
  mpz_setbit(&term, p);
  while (mpz_sgn(&term) != 0) {
    (n++ % 2 == 0 ? mpz_add : mpz_sub)(sum, sum, &term);
    mpz_mul(&term, &term, u);
    mpz_fdiv_q_2exp(&term, &term, p);
    mpz_fdiv_q_ui(&term, &term, n);
  }
  return 3 * (n + 1);
}

/* An end of exp(-r), `apart` from the sum, squared back; exp is from 0 to 1. */
static void
square_back(integer *end, const integer *sum, unsigned long apart, unsigned long halvings, unsigned long p, bool up)
{
  INTEGER(one);
  mpz_setbit(&one, p);
  (up ? mpz_add_ui : mpz_sub_ui)(end, sum, apart);
  if (mpz_cmp(end, &one) > 0)
    mpz_set(end, &one);
  if (mpz_sgn(end) < 0)
    mpz_set_ui(end, 0);
  for (; halvings > 0; halvings--) {
    mpz_mul(end, end, end);
    (up ? mpz_cdiv_q_2exp : mpz_fdiv_q_2exp)(end, end, p);
  }
}

/* t is halved until small, and rounded down, which is a unit of exp(-t) at most. exp(-p) < 2^-p, and exp(0) is exactly 1. */
void
exp_ends(integer *lo, integer *hi, const integer *t, unsigned long p)
{
  INTEGER(u);
  INTEGER(sum);
  unsigned long halvings = 0;
  mpz_fdiv_q_2exp(&u, t, p);
  if (mpz_sgn(t) == 0 || mpz_cmp_ui(&u, p) >= 0) {
    mpz_set_ui(lo, mpz_sgn(t) == 0);
    mpz_mul_2exp(lo, lo, p);
    mpz_set_ui(hi, 1);
    mpz_mul_2exp(hi, hi, mpz_sgn(t) == 0 ? p : 0);
    return;
  }
  while (mpz_sizeinbase(t, 2) + EXP_SMALL > p + halvings)
    halvings++;
  mpz_fdiv_q_2exp(&u, t, halvings);
  unsigned long apart = exp_series(&sum, &u, p) + 1;
  square_back(lo, &sum, apart, halvings, p, false);
  square_back(hi, &sum, apart, halvings, p, true);
}

/* Both ends of exp(-t). What is rounded up is not 0, but of 0. */
static void
exp_around(interval *e, const rational *t)
{
  unsigned long p = session_bits + 64;
  INTEGER(v);
  INTEGER(lo);
  INTEGER(hi);
  fixed(&v, t, p, false);
  exp_ends(&lo, &hi, &v, p);
  if (mpq_sgn(t) > 0 && mpz_sgn(&lo) > 0)
    mpz_sub_ui(&lo, &lo, 1); /* t was rounded down */
  unfixed(&e->lo, &lo, p);
  unfixed(&e->hi, &hi, p);
}

void
exp_end(rational *end, const rational *t, bool up)
{
  INTERVAL(e);
  exp_around(&e, t);
  mpq_set(end, up ? &e.hi : &e.lo);
}

/* How many bits z > 1 has before the point, or one less. */
static unsigned long
bits_above(const rational *z)
{
  return mpz_sizeinbase(mpq_numref(z), 2) - mpz_sizeinbase(mpq_denref(z), 2);
}

/* Near log z, z > 1, p bits after the point, more than z has before it, by Newton's method: c + z exp(-c) - 1 is off by about half the
 * square of what c is off by, so that half of the bits are enough for the c before the last. Nothing relies on it. */
static void
log_guess(integer *c, const rational *z, unsigned long p)
{
  unsigned long above = bits_above(z), half = above + (p - above) / 2 + 16;
  INTEGER(t);
  INTEGER(hi);
  INTEGER(one);
  mpz_setbit(&one, p);
  if (p > above + 128) {
    log_guess(c, z, half);
    mpz_mul_2exp(c, c, p - half);
  } else {
    mpz_set_ui(c, 45426 * above); /* 2^16 log 2 */
    mpz_mul_2exp(c, c, p - 16);
  }
  for (int i = 0; i < 64; i++) {
    exp_ends(&t, &hi, c, p);
    mpz_mul(&t, &t, mpq_numref(z));
    mpz_fdiv_q(&t, &t, mpq_denref(z));
    mpz_sub(&t, &t, &one);
    mpz_add(c, c, &t);
    if (mpz_sgn(c) < 0)
      mpz_set_ui(c, 0);
    if (2 * mpz_sizeinbase(&t, 2) <= p + above)
      return;
  }
}

/* A little more than the guess, or a little less; does an exponential prove it, exp(-end) being at most 1 / z, or at least? */
static bool
log_beside(rational *end, const rational *z, bool up)
{
  unsigned long p = session_bits + 64 + bits_above(z);
  INTEGER(c);
  INTEGER(lo);
  INTEGER(hi);
  INTEGER(share);
  log_guess(&c, z, p);
  mpz_setbit(&share, p - session_bits - 32);
  (up ? mpz_add : mpz_sub)(&c, &c, &share);
  if (mpz_sgn(&c) < 0)
    mpz_set_ui(&c, 0);
  unfixed(end, &c, p);
  exp_ends(&lo, &hi, &c, p);
  mpz_mul_2exp(&share, mpq_denref(z), p);
  (up ? mpz_fdiv_q : mpz_cdiv_q)(&share, &share, mpq_numref(z));
  return up ? mpz_cmp(&hi, &share) <= 0 : mpz_cmp(&lo, &share) >= 0;
}

/* One end of log z, z > 0. Up to 1, 1 - 1/z <= log z <= z - 1. */
void
log_end(rational *end, const rational *z, bool up)
{
  RATIONAL(y);
  if (mpq_cmp(z, &plus_one) > 0) {
    if (!log_beside(&y, z, up))
      leave(UNDECIDED, "a logarithm is not where it was guessed to be");
  } else if (up) {
    mpq_sub(&y, z, &plus_one);
  } else {
    mpq_inv(&y, z);
    mpq_sub(&y, &plus_one, &y);
  }
  mpq_set(end, &y);
}

/* In units of 2^-bits, when it is not rational. */
void
sqrt_end(rational *end, const rational *q, bool up)
{
  INTEGER(n);
  if (mpz_perfect_square_p(mpq_numref(q)) && mpz_perfect_square_p(mpq_denref(q))) {
    mpz_sqrt(mpq_numref(end), mpq_numref(q));
    mpz_sqrt(mpq_denref(end), mpq_denref(q));
  } else {
    fixed(&n, q, 2 * session_bits, false);
    mpz_sqrt(&n, &n);
    mpz_add_ui(&n, &n, up);
    unfixed(end, &n, session_bits);
  }
}

/* exp(x - top) */
static void
exp_below(interval *e, const interval *x, const rational *top)
{
  RATIONAL(t);
  INTERVAL(above);
  mpq_sub(&t, top, &x->lo);
  exp_around(e, &t);
  if (interval_exact(x))
    return;
  mpq_sub(&t, top, &x->hi);
  exp_around(&above, &t);
  mpq_swap(&e->hi, &above.hi);
}

/* a / b, in units of 2^-session_bits */
static void
quotient(integer *z, const rational *a, const rational *b, bool up)
{
  INTEGER(divisor);
  mpz_mul(z, mpq_numref(a), mpq_denref(b));
  mpz_mul_2exp(z, z, session_bits);
  mpz_mul(&divisor, mpq_denref(a), mpq_numref(b));
  (up ? mpz_cdiv_q : mpz_fdiv_q)(z, z, &divisor);
}

/* One end of a share: e's own over itself and the opposite ends of the others. As a quotient where it is exact, else rounded, which
 * needs no common divisors. */
static void
share_end(rational *end, const interval *e, const interval *total, bool exact, bool up)
{
  const rational *mine = up ? &e->hi : &e->lo;
  RATIONAL(all);
  INTEGER(z);
  mpq_sub(&all, up ? &total->lo : &total->hi, up ? &e->lo : &e->hi);
  mpq_add(&all, &all, mine);
  if (mpq_sgn(mine) == 0 || exact) {
    mpq_set(end, &zero);
    if (mpq_sgn(mine) != 0)
      mpq_div(end, mine, &all);
    return;
  }
  quotient(&z, mine, &all, up);
  unfixed(end, &z, session_bits);
}

/* With e[i] = exp(x[i] - top), top the largest upper end: e[i] / sum e, or its log. */
void
interval_softmax(interval *y, const interval *x, size_t n, size_t stride, bool logarithm)
{
  interval *e = intervals(n);
  INTERVAL(total);
  RATIONAL(top);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || mpq_cmp(&x[i * stride].hi, &top) > 0)
      mpq_set(&top, &x[i * stride].hi);
  for (size_t i = 0; i < n; i++) {
    exp_below(&e[i], &x[i * stride], &top);
    interval_add(&total, &e[i], &plus_one);
  }
  bool exact = interval_exact(&total) || n == 1;
  if (logarithm) {
    interval_sign(&total, "whether a logarithm's argument is positive");
    log_end(&total.lo, &total.lo, false);
    log_end(&total.hi, &total.hi, true);
    mpq_add(&total.lo, &total.lo, &top);
    mpq_add(&total.hi, &total.hi, &top);
  }
  for (size_t i = 0; i < n; i++) {
    interval *out = &y[i * stride];
    if (logarithm) {
      interval_set(out, &x[i * stride].lo, &x[i * stride].hi);
      interval_add(out, &total, &minus_one);
      interval_round(out);
      continue;
    }
    share_end(&out->lo, &e[i], &total, exact, false);
    share_end(&out->hi, &e[i], &total, exact, true);
  }
  intervals_free(e, n);
}

/* One end of exp(t). Above 0 it is 1 / exp(-t / 2^k), squared k times. */
void
exponential(rational *end, const rational *t, bool up)
{
  unsigned long p = session_bits + 64, k = 0; /* bits after the point */
  INTEGER(z);
  RATIONAL(r);
  expect(mpq_cmp_si(t, MOST_EXPONENT, 1) < 0, "an exponential of over %d", MOST_EXPONENT);
  mpq_set(&r, t);
  if (mpq_sgn(t) <= 0) {
    mpq_neg(&r, t);
    exp_end(end, &r, up);
    return;
  }
  for (; mpq_cmp_ui(&r, 1, 1) > 0; k++)
    mpq_div_2exp(&r, &r, 1);
  exp_end(&r, &r, !up); /* in [1/3, 1] */
  mpq_inv(&r, &r);
  fixed(&z, &r, p, up);
  for (; k > 0; k--) {
    mpz_mul(&z, &z, &z);
    (up ? mpz_cdiv_q_2exp : mpz_fdiv_q_2exp)(&z, &z, p);
  }
  unfixed(end, &z, p);
}
