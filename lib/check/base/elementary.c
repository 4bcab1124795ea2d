/* The elementary functions of intervals. They come from exp(-t), t >= 0, computed in fixed point, p bits after the
 * point, every operation rounded outward. */
#include "check/base/elementary.h"

#define EXP_SMALL 8 /* the series is taken below 2^-8 */

/* One end of exp(-r), r = u / 2^p in [0, 1/2]: the alternating series, each term rounded both
 * ways, until one is a unit at most; what is left is no larger than that one. */
static void
exp_series(integer *end, const integer *u, unsigned long p, bool up)
{
  INTEGER(lo);
  INTEGER(hi);
  mpz_set_ui(end, 0);
  mpz_setbit(&lo, p);
  mpz_setbit(&hi, p);
  for (unsigned long n = 1; mpz_cmp_ui(&hi, 1) > 0; n++) {
    bool plus = n % 2 == 1; /* the sign of term n - 1 */
    (plus ? mpz_add : mpz_sub)(end, end, plus == up ? &hi : &lo);
    mpz_mul(&lo, &lo, u);
    mpz_fdiv_q_2exp(&lo, &lo, p);
    mpz_fdiv_q_ui(&lo, &lo, n);
    mpz_mul(&hi, &hi, u);
    mpz_cdiv_q_2exp(&hi, &hi, p);
    mpz_cdiv_q_ui(&hi, &hi, n);
  }
  (up ? mpz_add : mpz_sub)(end, end, &hi);
}

/* t is halved until small, the result squared back; exp(-p) < 2^-p, and exp(0) is exactly 1. */
void
exp_fixed(integer *end, const integer *t, unsigned long p, bool up)
{
  INTEGER(u);
  unsigned long halvings = 0;
  mpz_fdiv_q_2exp(&u, t, p);
  if (mpz_cmp_ui(&u, p) >= 0 || mpz_sgn(t) == 0) {
    mpz_set_ui(end, up);
    if (mpz_sgn(t) == 0)
      mpz_ui_pow_ui(end, 2, p);
    return;
  }
  while (mpz_sizeinbase(t, 2) + EXP_SMALL > p + halvings)
    halvings++;
  (up ? mpz_fdiv_q_2exp : mpz_cdiv_q_2exp)(&u, t, halvings);
  exp_series(end, &u, p, up);
  for (; halvings > 0; halvings--) {
    mpz_mul(end, end, end);
    (up ? mpz_cdiv_q_2exp : mpz_fdiv_q_2exp)(end, end, p);
  }
}

/* What is rounded up is not 0, but of 0. */
void
exp_end(rational *end, const rational *t, bool up)
{
  unsigned long p = session_bits + 64;
  INTEGER(u);
  INTEGER(v);
  fixed(&v, t, p, !up);
  exp_fixed(&u, &v, p, up);
  unfixed(end, &u, p);
}

/* Near log z, z > 1, p bits after the point, by Newton's method: c + z exp(-c) - 1 is off by about half the square of what c is off by.
 * Nothing relies on it. */
static void
log_guess(integer *c, const rational *z, unsigned long p)
{
  INTEGER(t);
  INTEGER(one);
  mpz_setbit(&one, p);
  mpz_set_ui(c, 45426 * (mpz_sizeinbase(mpq_numref(z), 2) - mpz_sizeinbase(mpq_denref(z), 2))); /* 2^16 log 2 */
  mpz_mul_2exp(c, c, p - 16);
  for (int i = 0; i < 64; i++) {
    exp_fixed(&t, c, p, false);
    mpz_mul(&t, &t, mpq_numref(z));
    mpz_fdiv_q(&t, &t, mpq_denref(z));
    mpz_sub(&t, &t, &one);
    mpz_add(c, c, &t);
    if (mpz_sgn(c) < 0)
      mpz_set_ui(c, 0);
    if (2 * mpz_sizeinbase(&t, 2) <= p)
      return;
  }
}

/* Between a little less and a little more than the guess; do exponentials prove it, exp(-lo) >= 1 / z >= exp(-hi)? */
static bool
log_around(interval *y, const rational *z)
{
  unsigned long p = session_bits + 64 + mpz_sizeinbase(mpq_numref(z), 2) - mpz_sizeinbase(mpq_denref(z), 2);
  INTEGER(c);
  INTEGER(e);
  INTEGER(share);
  INTEGER(apart);
  log_guess(&c, z, p);
  mpz_setbit(&apart, p - session_bits - 32);
  mpz_mul_2exp(&share, mpq_denref(z), p);
  mpz_cdiv_q(&share, &share, mpq_numref(z));
  mpz_sub(&c, &c, &apart);
  if (mpz_sgn(&c) < 0)
    mpz_set_ui(&c, 0);
  unfixed(&y->lo, &c, p);
  exp_fixed(&e, &c, p, false);
  if (mpz_cmp(&e, &share) < 0)
    return false;
  mpz_addmul_ui(&c, &apart, 2);
  mpz_sub_ui(&share, &share, 1); /* at most 1 / z */
  unfixed(&y->hi, &c, p);
  exp_fixed(&e, &c, p, true);
  return mpz_cmp(&e, &share) <= 0;
}

/* One end of log z, z > 0. Up to 1, 1 - 1/z <= log z <= z - 1. */
void
log_end(rational *end, const rational *z, bool up)
{
  RATIONAL(inverse);
  INTERVAL(y);
  mpq_inv(&inverse, z);
  if (mpq_cmp(z, &plus_one) <= 0) {
    mpq_sub(&y.lo, &plus_one, &inverse);
    mpq_sub(&y.hi, z, &plus_one);
  } else if (!log_around(&y, z)) {
    leave(UNDECIDED, "a logarithm is not where it was guessed to be");
  }
  mpq_set(end, up ? &y.hi : &y.lo);
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

/* With e[i] = exp(x[i] - top), top the largest upper end: e[i] / sum e, or its log. An end of the
 * share is e[i] over itself and the opposite ends of the others. */
void
interval_softmax(interval *y, const interval *x, size_t n, size_t stride, bool logarithm)
{
  interval *e = intervals(n);
  INTERVAL(total);
  RATIONAL(top);
  RATIONAL(t);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || mpq_cmp(&x[i * stride].hi, &top) > 0)
      mpq_set(&top, &x[i * stride].hi);
  for (size_t i = 0; i < n; i++) {
    mpq_sub(&t, &top, &x[i * stride].lo);
    exp_end(&e[i].lo, &t, false);
    mpq_sub(&t, &top, &x[i * stride].hi);
    exp_end(&e[i].hi, &t, true);
    interval_add(&total, &e[i], &plus_one);
  }
  if (logarithm) {
    interval_sign(&total, "whether a logarithm's argument is positive");
    log_end(&total.lo, &total.lo, false);
    log_end(&total.hi, &total.hi, true);
    mpq_add(&total.lo, &total.lo, &top);
    mpq_add(&total.hi, &total.hi, &top);
  }
  for (size_t i = 0; i < n; i++) {
    interval *out = &y[i * stride];
    interval_set(out, &x[i * stride].lo, &x[i * stride].hi);
    if (logarithm)
      interval_add(out, &total, &minus_one);
    for (int up = 0; up < 2 && !logarithm; up++) {
      const rational *mine = up ? &e[i].hi : &e[i].lo;
      mpq_sub(&t, up ? &total.lo : &total.hi, up ? &e[i].lo : &e[i].hi);
      mpq_add(&t, &t, mine);
      if (mpq_sgn(mine) != 0)
        mpq_div(&t, mine, &t);
      mpq_set(up ? &out->hi : &out->lo, mpq_sgn(mine) != 0 ? &t : &zero);
    }
    interval_round(out);
  }
  intervals_free(e, n);
}
