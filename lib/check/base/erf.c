/* The error function, as a series. Fixed point has p = session_bits + 64 bits after the point. */
#include "check/base/erf.h"

static unsigned long
point_bits(void)
{
  return session_bits + 64;
}

/* ---- Pi */

/* The ends get coef times arctan(1 / n), whose terms alternate and fall. Each division rounds down by less than a unit. */
static void
add_arctan(integer *lo, integer *hi, long coef, unsigned long n)
{
  INTEGER(power);
  INTEGER(t);
  INTEGER(sum);
  unsigned long k = 0, p = point_bits();
  mpz_setbit(&power, p + 32);
  mpz_fdiv_q_ui(&power, &power, n);
  for (; mpz_sgn(&power) != 0; k++) {
    mpz_fdiv_q_ui(&t, &power, 2 * k + 1);
    (k % 2 == 0 ? mpz_add : mpz_sub)(&sum, &sum, &t);
    mpz_fdiv_q_ui(&power, &power, n * n);
  }
  /* 3 units a term are more than the roundings; what is left out is below 1 */
  mpz_mul_si(&sum, &sum, coef);
  mpz_set_ui(&t, 3 * k + 3);
  mpz_mul_si(&t, &t, coef);
  mpz_abs(&t, &t);
  mpz_add(lo, lo, &sum);
  mpz_sub(lo, lo, &t);
  mpz_add(hi, hi, &sum);
  mpz_add(hi, hi, &t);
}

/* pi = 16 arctan(1/5) - 4 arctan(1/239). */
static void
enclose_pi(interval *pi)
{
  INTEGER(lo);
  INTEGER(hi);
  add_arctan(&lo, &hi, 16, 5);
  add_arctan(&lo, &hi, -4, 239);
  unfixed(&pi->lo, &lo, point_bits() + 32);
  unfixed(&pi->hi, &hi, point_bits() + 32);
}

/* y = a / pi's root, a rational: 2 / sqrt(pi) and the like come as sqrt(q / pi). */
void
root_over_pi(interval *y, unsigned long n, unsigned long d)
{
  INTERVAL(pi);
  RATIONAL(q);
  mpq_set_ui(&q, n, d);
  enclose_pi(&pi);
  mpq_div(&pi.lo, &q, &pi.lo);
  mpq_div(&pi.hi, &q, &pi.hi);
  sqrt_end(&y->lo, &pi.hi, false);
  sqrt_end(&y->hi, &pi.lo, true);
}

/* ---- The error function */

/* One end of the sum over n of (2 x^2)^n / (1 3 5 ... (2n + 1)), q being an end of x^2 in fixed point. From where a term is
 * at most half of the one before, what is left is no more than the last. */
static void
erf_series(integer *sum, const integer *q, bool up)
{
  INTEGER(term);
  INTEGER(twice);
  unsigned long p = point_bits();
  mpz_mul_2exp(&twice, q, 1);
  mpz_setbit(&term, p);
  mpz_set_ui(sum, 0);
  for (unsigned long n = 1;; n++) {
    INTEGER(most);
    mpz_add(sum, sum, &term);
    mpz_set_ui(&most, 2 * n + 1);
    mpz_mul_2exp(&most, &most, p - 1);
    if (mpz_cmp(&twice, &most) <= 0 && mpz_cmp_ui(&term, 1) <= 0)
      break;
    mpz_mul(&term, &term, &twice);
    (up ? mpz_cdiv_q_2exp : mpz_fdiv_q_2exp)(&term, &term, p);
    (up ? mpz_cdiv_q_ui : mpz_fdiv_q_ui)(&term, &term, 2 * n + 1);
  }
  if (up)
    mpz_add_ui(sum, sum, 2);
}

/* One end of erf(x), x >= 0: x exp(-x^2) times the series and `root`, 2 / sqrt(pi). 1 - erf(x) is at most exp(-x^2), which is below
 * 2^-p where x^2 >= p. */
static void
erf_positive(rational *end, const rational *x, const interval *root, bool up)
{
  unsigned long p = point_bits();
  INTEGER(z);
  INTEGER(q);
  RATIONAL(e);
  RATIONAL(square);
  fixed(&z, x, p, up);
  mpz_mul(&q, &z, &z);
  unfixed(&square, &q, 2 * p);
  if (mpq_cmp_ui(&square, p, 1) >= 0) {
    mpz_set_ui(&q, 0);
    mpz_setbit(&q, p);
    mpz_sub_ui(&q, &q, !up);
    unfixed(end, &q, p);
    return;
  }
  exponential(&e, &square, !up); /* exp(x^2), to so many digits however large, and so its inverse */
  mpq_inv(&e, &e);
  (up ? mpz_cdiv_q_2exp : mpz_fdiv_q_2exp)(&q, &q, p);
  unfixed(end, &z, p);
  mpq_mul(end, end, &e);
  erf_series(&z, &q, up);
  unfixed(&e, &z, p);
  mpq_mul(end, end, &e);
  mpq_mul(end, end, up ? &root->hi : &root->lo);
  if (mpq_cmp(end, &plus_one) > 0)
    mpq_set(end, &plus_one);
}

static void
erf_end(rational *end, const rational *t, const interval *root, bool up)
{
  RATIONAL(x);
  mpq_abs(&x, t);
  if (mpq_sgn(t) == 0)
    mpq_set(end, &zero);
  else
    erf_positive(&x, &x, root, up == (mpq_sgn(t) > 0));
  if (mpq_sgn(t) > 0)
    mpq_set(end, &x);
  if (mpq_sgn(t) < 0)
    mpq_neg(end, &x);
}

void
erf_value(interval *y, const interval *x)
{
  INTERVAL(root);
  INTERVAL(t);
  root_over_pi(&root, 4, 1);
  erf_end(&t.lo, &x->lo, &root, false);
  erf_end(&t.hi, &x->hi, &root, true);
  interval_set(y, &t.lo, &t.hi);
}

/* 2 exp(-x^2) / sqrt(pi), or exp(-x^2 / 2) / sqrt(2 pi). */
void
bell_value(interval *y, const interval *x, bool normal)
{
  INTERVAL(square);
  INTERVAL(root);
  interval_mul(&square, x, x);
  if (mpq_sgn(&x->lo) <= 0 && mpq_sgn(&x->hi) >= 0)
    mpq_set(&square.lo, &zero);
  if (normal) {
    mpq_div_2exp(&square.lo, &square.lo, 1);
    mpq_div_2exp(&square.hi, &square.hi, 1);
  }
  exp_end(&y->lo, &square.hi, false);
  exp_end(&y->hi, &square.lo, true);
  root_over_pi(&root, normal ? 1 : 4, normal ? 2 : 1);
  interval_mul(y, y, &root);
}
