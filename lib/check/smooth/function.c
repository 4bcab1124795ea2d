/* No function but 1 / x, sine, cosine and the derivatives falls anywhere: an end of the result comes from the same end of the argument. */
#include "check/smooth/function.h"

#include "check/base/arctangent.h"
#include "check/smooth/circle.h"
#include "check/base/erf.h"
#include "check/near/near_step.h"

#define MOST_ARGUMENT 15 /* of near values: below 2^15 */

/* ---- Exponentials */

/* One end of a / b, b > 0, as a multiple of 2^-session_bits: no common divisors are looked for. */
static void
quotient_end(rational *end, const rational *a, const rational *b, bool up)
{
  INTEGER(z);
  INTEGER(by);
  mpz_mul(&z, mpq_numref(a), mpq_denref(b));
  mpz_mul_2exp(&z, &z, session_bits);
  mpz_mul(&by, mpq_denref(a), mpq_numref(b));
  (up ? mpz_cdiv_q : mpz_fdiv_q)(&z, &z, &by);
  unfixed(end, &z, session_bits);
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
  quotient_end(end, below ? &e : &plus_one, &all, up);
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

/* Ends that are no multiples of powers of two become multiples of 2^-session_bits. */
static void
cut(interval *x)
{
  INTEGER(z);
  fixed(&z, &x->lo, session_bits, false);
  unfixed(&x->lo, &z, session_bits);
  fixed(&z, &x->hi, session_bits, true);
  unfixed(&x->hi, &z, session_bits);
}

/* y = 1 + a x^2, a = n / 1000000. */
static void
one_and_square(interval *y, const interval *square, unsigned long n)
{
  RATIONAL(a);
  mpq_set_ui(&a, n, 1000000);
  mpq_canonicalize(&a);
  interval_set(y, &plus_one, &plus_one);
  interval_add(y, square, &a);
  cut(y);
}

/* y = sqrt(8 / pi) x (1 + a x^2), a = 44715 / 1000000; and the derivative, unless it is NULL. */
static void
cubic(interval *y, interval *slope, const interval *x)
{
  INTERVAL(square);
  INTERVAL(root);
  INTERVAL(t);
  interval_mul(&square, x, x);
  if (mpq_sgn(&square.lo) < 0)
    mpq_set(&square.lo, &zero);
  root_over_pi(&root, 8, 1);
  one_and_square(&t, &square, 44715);
  interval_mul(&t, &t, &root);
  interval_mul(y, &t, x);
  if (slope == NULL)
    return;
  one_and_square(&t, &square, 3 * 44715);
  interval_mul(slope, &t, &root);
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

/* ---- Functions that jump: the value at a number is that of both ends */

static void
held_end(rational *end, const rational *t, bool up)
{
  (void)up;
  mpq_set(end, t);
}

static void
above_end(rational *end, const rational *t, bool up)
{
  (void)up;
  mpq_set_ui(end, mpq_sgn(t) > 0, 1);
}

static void
floor_end(rational *end, const rational *t, bool up)
{
  INTEGER(n);
  (void)up;
  mpz_fdiv_q(&n, mpq_numref(t), mpq_denref(t));
  mpq_set_z(end, &n);
}

static void
truncate_end(rational *end, const rational *t, bool up)
{
  INTEGER(n);
  (void)up;
  mpz_tdiv_q(&n, mpq_numref(t), mpq_denref(t));
  mpq_set_z(end, &n);
}

/* A half more, rounded down; at halves, where that is whole, an odd one is one less. */
static void
round_end(rational *end, const rational *t, bool up)
{
  RATIONAL(more);
  mpq_set_ui(&more, 1, 2);
  mpq_add(&more, &more, t);
  bool half = mpz_cmp_ui(mpq_denref(&more), 1) == 0;
  floor_end(end, &more, up);
  if (half && mpz_odd_p(mpq_numref(end)))
    mpq_sub(end, end, &plus_one);
}

static void
jump_end(rational *end, function f, const rational *t)
{
  (f == F_ABOVE ? above_end : f == F_FLOOR ? floor_end : f == F_ROUND ? round_end : truncate_end)(end, t, false);
}

/* Does it jump at t? */
static bool
jumps_at(function f, const rational *t)
{
  bool whole = mpz_cmp_ui(mpq_denref(t), 1) == 0, half = mpz_cmp_ui(mpq_denref(t), 2) == 0;
  return f == F_ABOVE ? mpq_sgn(t) == 0 : f == F_ROUND ? half : whole && (f == F_FLOOR || mpq_sgn(t) != 0);
}

/* Between two numbers where it does not jump, at which it has one value, it does not jump: it does not fall, and each jump is a step
 * up. */
static bool
holds_one(function f, const interval *x, bool still)
{
  if (f == F_HELD)
    return true;
  RATIONAL(lo);
  RATIONAL(hi);
  jump_end(&lo, f, &x->lo);
  jump_end(&hi, f, &x->hi);
  bool small = f != F_TRUNCATE || mpz_cmpabs_ui(mpq_numref(&lo), INT32_MAX) <= 0;
  return small && mpq_equal(&lo, &hi) && (still || (!jumps_at(f, &x->lo) && !jumps_at(f, &x->hi)));
}

bool
function_holds(function f, const interval *x, bool still)
{
  if (function_jumps(f))
    return holds_one(f, x, still);
  return !function_has_domain(f) || mpq_sgn(&x->lo) > 0 || (f == F_RECIPROCAL && mpq_sgn(&x->hi) < 0);
}

bool
function_inside(function f, const interval *x, bool still)
{
  if (function_jumps(f)) {
    if (!holds_one(f, x, still) && !interval_exact(x))
      leave(UNDECIDED, "cannot decide on which side of a jump an argument is with intervals of %d bits", MAX_BITS);
    return holds_one(f, x, still);
  }
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

/* y = 1 / (1 + x^2) */
static void
arctangent_slope(interval *y, const interval *x)
{
  INTERVAL(square);
  INTERVAL(t);
  interval_mul(&square, x, x);
  if (mpq_sgn(&square.lo) < 0)
    mpq_set(&square.lo, &zero);
  interval_add(&t, &exactly_one, &plus_one);
  interval_add(&t, &square, &plus_one);
  reciprocal(y, &t);
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
    cubic(&t, NULL, &t);
  if (f == F_RECIPROCAL)
    reciprocal(&t, &t);
  else if (f == F_SIN || f == F_COS)
    circle_value(&t, &t, f == F_COS);
  else if (f == F_ERF || f == F_NORMAL)
    erf_value(&t, &t);
  else
    at_ends(&t, &t,
            f == F_EXP           ? exponential
            : f == F_SOFTPLUS    ? softplus
            : f == F_NORMAL_TANH ? logistic
            : f == F_ELU         ? elu_end
            : f == F_ATAN        ? arctangent_end
            : f == F_ROOT        ? sqrt_end
            : f == F_ABOVE       ? above_end
            : f == F_FLOOR       ? floor_end
            : f == F_ROUND       ? round_end
            : f == F_TRUNCATE    ? truncate_end
            : f == F_HELD        ? held_end
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

void
function_slope(interval *y, function f, const interval *x)
{
  INTERVAL(t);
  if (f == F_EXP)
    at_ends(&t, x, exponential);
  if (f == F_SOFTPLUS)
    at_ends(&t, x, logistic);
  if (f == F_ERF || f == F_NORMAL)
    bell_value(&t, x, f == F_NORMAL);
  if (f == F_SIN || f == F_COS)
    circle_value(&t, x, f == F_SIN);
  if (f == F_COS) {
    mpq_neg(&t.lo, &t.lo);
    mpq_neg(&t.hi, &t.hi);
    mpq_swap(&t.lo, &t.hi);
  }
  if (f == F_ATAN)
    arctangent_slope(&t, x);
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
    INTERVAL(inner);
    cubic(&inner, &t, x);
    at_ends(&share, &inner, logistic);
    interval_add(&rest, &exactly_one, &plus_one);
    interval_add(&rest, &share, &minus_one);
    interval_mul(&t, &t, &share);
    interval_mul(&t, &t, &rest);
  }
  interval_set(y, &t.lo, &t.hi);
  interval_round(y);
}

/* The slope of a quotient, a root, a logarithm or an arc tangent may be rational. That of ELU from 0 on is 1, and at 0 those of
 * exp, softplus, sine and cosine are rational. That of no other function counts as rational. */
bool
function_rational_slope(function f, const interval *x)
{
  if (interval_zero(x) && (f == F_EXP || f == F_SOFTPLUS || f == F_SIN || f == F_COS))
    return true;
  return function_has_domain(f) || f == F_ATAN || (f == F_ELU && mpq_sgn(&x->lo) >= 0);
}

/* ---- Near values */

bool
function_near(const point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  const unsigned long own = session_bits;
  bool known = st->of != F_LOG && st->of != F_SOFTPLUS; /* whose logarithms are slow */
  INTERVAL(x);
  for (size_t e = sample; e < entries(p, s) && known; e += p->net->apart) {
    near_interval(p, v, read_by(p, st, e), e, &x);
    known =
        function_holds(st->of, &x, st->still) && magnitude(&x.lo) <= MOST_ARGUMENT && magnitude(&x.hi) <= MOST_ARGUMENT;
    if (!known)
      break;
    session_set_bits(p->net->near_bits);
    function_value(&x, st->of, &x);
    session_set_bits(own);
    near_put(p, &v[s], e, &x);
  }
  return known;
}
