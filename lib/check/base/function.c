/* Every function but 1 / x and the derivatives is increasing: an end of the result comes from the same end of the argument. Fixed
 * point has p = session_bits + 64 bits after the point. */
#include "check/base/function.h"

#define MOST_EXPONENT 65536

static unsigned long
point_bits(void)
{
  return session_bits + 64;
}

/* ---- Exponentials */

/* One end of exp(t). Above 0 it is 1 / exp(-t / 2^k), squared k times. */
static void
exponential(rational *end, const rational *t, bool up)
{
  unsigned long p = point_bits(), k = 0;
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

/* One end of 1 / (1 + exp(-t)); below 0 as exp(t) / (1 + exp(t)): neither exponential is above 1. */
static void
logistic(rational *end, const rational *t, bool up)
{
  RATIONAL(e);
  RATIONAL(all);
  bool below = mpq_sgn(t) < 0;
  mpq_neg(&e, t);
  exponential(&e, below ? t : &e, below == up);
  mpq_add(&all, &e, &plus_one);
  mpq_div(end, below ? &e : &plus_one, &all);
}

/* One end of log(1 + exp(t)), as t + log(1 + exp(-t)) above 0. */
static void
softplus(rational *end, const rational *t, bool up)
{
  RATIONAL(e);
  RATIONAL(x);
  mpq_set(&x, t);
  if (mpq_sgn(t) > 0)
    mpq_neg(&x, t);
  exponential(&e, &x, up);
  mpq_add(&e, &e, &plus_one);
  log_end(&e, &e, up);
  if (mpq_sgn(t) > 0)
    mpq_add(&e, &e, t);
  mpq_set(end, &e);
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
static void
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

static void
error_function(interval *y, const interval *x)
{
  INTERVAL(root);
  INTERVAL(t);
  root_over_pi(&root, 4, 1);
  erf_end(&t.lo, &x->lo, &root, false);
  erf_end(&t.hi, &x->hi, &root, true);
  interval_set(y, &t.lo, &t.hi);
}

/* y = x sqrt(n / d) */
static void
times_root(interval *y, const interval *x, unsigned long n, unsigned long d)
{
  INTERVAL(root);
  RATIONAL(q);
  mpq_set_ui(&q, n, d);
  sqrt_end(&root.lo, &q, false);
  sqrt_end(&root.hi, &q, true);
  interval_mul(y, x, &root);
}

/* ---- NORMAL_TANH */

/* y = sqrt(8 / pi) x (1 + a x^2), or without x and with 3 a, a = 44715 / 1000000. */
static void
cubic(interval *y, const interval *x, bool derivative)
{
  INTERVAL(square);
  INTERVAL(t);
  RATIONAL(a);
  mpq_set_ui(&a, derivative ? 3 * 44715 : 44715, 1000000);
  mpq_canonicalize(&a);
  interval_mul(&square, x, x);
  if (mpq_sgn(&square.lo) < 0)
    mpq_set(&square.lo, &zero);
  interval_add(&t, &exactly_one, &plus_one);
  interval_add(&t, &square, &a);
  root_over_pi(&square, 8, 1);
  interval_mul(&t, &t, &square);
  if (derivative)
    interval_set(y, &t.lo, &t.hi);
  else
    interval_mul(y, &t, x);
}

/* ---- ELU */

/* One end of t, or exp(t) - 1 below 0; of its slope, 1 or exp(t), which does not fall either. */
static void
elu_end(rational *end, const rational *t, bool up)
{
  if (mpq_sgn(t) >= 0) {
    mpq_set(end, t);
    return;
  }
  exponential(end, t, up);
  mpq_sub(end, end, &plus_one);
}

static void
elu_slope_end(rational *end, const rational *t, bool up)
{
  if (mpq_sgn(t) >= 0)
    mpq_set(end, &plus_one);
  else
    exponential(end, t, up);
}

/* ---- Functions with a domain */

const char *
function_name(function f)
{
  static const char *const names[] = {"exp", "erf",        "softplus", "normal", "normal-tanh",
                                      "elu", "reciprocal", "root",     "log"};
  return names[f];
}

bool
function_has_domain(function f)
{
  return f == F_RECIPROCAL || f == F_ROOT || f == F_LOG;
}

bool
function_inside(function f, const interval *x)
{
  int sign = interval_sign(x, "whether an argument lies in the domain of a quotient, root or logarithm");
  return sign > 0 || (sign < 0 && f == F_RECIPROCAL);
}

/* y = 1 / x, of one sign. */
static void
reciprocal(interval *y, const interval *x)
{
  INTERVAL(t);
  expect(interval_sign(x, "whether a divisor is 0") != 0, "a division by 0");
  mpq_inv(&t.lo, &x->hi);
  mpq_inv(&t.hi, &x->lo);
  interval_set(y, &t.lo, &t.hi);
}

/* One end of log t, t > 0. */
static void
logarithm(rational *end, const rational *t, bool up)
{
  RATIONAL(z);
  bool below = mpq_cmp(t, &plus_one) < 0;
  expect(mpq_sgn(t) > 0, "a logarithm of what is not above 0");
  if (below)
    mpq_inv(&z, t);
  else
    mpq_set(&z, t);
  log_end(&z, &z, below ? !up : up);
  if (below)
    mpq_neg(&z, &z);
  mpq_set(end, &z);
}

/* ---- All */

static void
at_ends(interval *y, const interval *x, void (*of)(rational *end, const rational *t, bool up))
{
  INTERVAL(t);
  of(&t.lo, &x->lo, false);
  of(&t.hi, &x->hi, true);
  interval_set(y, &t.lo, &t.hi);
}

void
function_value(interval *y, function f, const interval *x)
{
  INTERVAL(t);
  RATIONAL(half);
  mpq_set_ui(&half, 1, 2);
  interval_set(&t, &x->lo, &x->hi);
  if (f == F_NORMAL)
    times_root(&t, &t, 1, 2);
  if (f == F_NORMAL_TANH)
    cubic(&t, &t, false);
  if (f == F_RECIPROCAL)
    reciprocal(&t, &t);
  else if (f == F_ERF || f == F_NORMAL)
    error_function(&t, &t);
  else
    at_ends(&t, &t,
            f == F_EXP           ? exponential
            : f == F_SOFTPLUS    ? softplus
            : f == F_NORMAL_TANH ? logistic
            : f == F_ELU         ? elu_end
            : f == F_ROOT        ? sqrt_end
                                 : logarithm);
  if (f == F_NORMAL) {
    INTERVAL(sum);
    interval_add(&sum, &t, &half);
    interval_add(&sum, &exactly_one, &half);
    interval_set(&t, &sum.lo, &sum.hi);
  }
  interval_set(y, &t.lo, &t.hi);
  interval_round(y);
}

/* 2 exp(-x^2) / sqrt(pi), or exp(-x^2 / 2) / sqrt(2 pi). */
static void
bell(interval *y, const interval *x, bool normal)
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

void
function_slope(interval *y, function f, const interval *x)
{
  INTERVAL(t);
  if (f == F_EXP)
    at_ends(&t, x, exponential);
  if (f == F_SOFTPLUS)
    at_ends(&t, x, logistic);
  if (f == F_ERF || f == F_NORMAL)
    bell(&t, x, f == F_NORMAL);
  if (f == F_ELU)
    at_ends(&t, x, elu_slope_end);
  if (f == F_RECIPROCAL || f == F_LOG)
    reciprocal(&t, x);
  if (f == F_RECIPROCAL) { /* of one sign: -1 / x^2 */
    INTERVAL(square);
    interval_mul(&square, &t, &t);
    mpq_neg(&t.lo, &square.hi);
    mpq_neg(&t.hi, &square.lo);
  }
  if (f == F_ROOT) {
    at_ends(&t, x, sqrt_end);
    reciprocal(&t, &t);
    mpq_div_2exp(&t.lo, &t.lo, 1);
    mpq_div_2exp(&t.hi, &t.hi, 1);
  }
  if (f == F_NORMAL_TANH) {
    INTERVAL(share);
    INTERVAL(rest);
    cubic(&t, x, false);
    at_ends(&share, &t, logistic);
    interval_add(&rest, &exactly_one, &plus_one);
    interval_add(&rest, &share, &minus_one);
    cubic(&t, x, true);
    interval_mul(&t, &t, &share);
    interval_mul(&t, &t, &rest);
  }
  interval_set(y, &t.lo, &t.hi);
  interval_round(y);
}
