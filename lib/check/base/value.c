/* Intervals of rationals. An interval holds the true value; when its ends are equal it is that.
 * Sums and products with exact numbers keep exactness: what is exact before a transcendental
 * operator, or multiplied by an exact zero after it, stays so. */
#include "check/base/value.h"
#include "check/base/allocate.h"

#include <stdlib.h>

static const mp_limb_t limbs[] = {1, 2};
#define limb ((mp_limb_t *)limbs) /* GMP writes none of what it is handed as const */
const rational zero = {{0, 0, limb}, {0, 1, limb}}, plus_one = {{0, 1, limb}, {0, 1, limb}},
               minus_one = {{0, -1, limb}, {0, 1, limb}}, two = {{0, 1, limb + 1}, {0, 1, limb}};
const interval exactly_zero = {{{0, 0, limb}, {0, 1, limb}}, {{0, 0, limb}, {0, 1, limb}}};
const interval exactly_one = {{{0, 1, limb}, {0, 1, limb}}, {{0, 1, limb}, {0, 1, limb}}};

rational
rational_zero(void)
{
  rational q;
  mpq_init(&q);
  return q;
}

integer
integer_zero(void)
{
  integer z;
  mpz_init(&z);
  return z;
}

interval
interval_nought(void)
{
  return (interval){rational_zero(), rational_zero()};
}

void
interval_clear(interval *x)
{
  mpq_clears(&x->lo, &x->hi, NULL);
}

rational *
rationals(size_t n)
{
  rational *q = allocate(n, sizeof *q);
  for (size_t i = 0; i < n; i++)
    q[i] = rational_zero();
  return q;
}

void
rationals_begin(rational *q, size_t n)
{
  if (n > 0 && mpz_sgn(mpq_denref(q)) == 0)
    for (size_t i = 0; i < n; i++)
      q[i] = rational_zero();
}

void
rationals_free(rational *q, size_t n)
{
  for (size_t i = 0; q != NULL && i < n; i++)
    mpq_clear(&q[i]);
  free(q);
}

interval *
intervals(size_t n)
{
  return (interval *)rationals(2 * n); /* its ends, in turn */
}

void
intervals_free(interval *x, size_t n)
{
  rationals_free((rational *)x, 2 * n);
}

bool
interval_exact(const interval *x)
{
  return mpq_equal(&x->lo, &x->hi) != 0;
}

bool
interval_zero(const interval *x)
{
  return mpq_sgn(&x->lo) == 0 && mpq_sgn(&x->hi) == 0;
}

bool
interval_open(const interval *x)
{
  return !interval_zero(x) && mpq_sgn(&x->lo) <= 0 && mpq_sgn(&x->hi) >= 0;
}

bool
zeros(const rational *x, size_t n)
{
  size_t i = 0;
  while (i < n && mpq_sgn(&x[i]) == 0)
    i++;
  return i == n;
}

bool
all_zero(const interval *x, size_t n)
{
  size_t i = 0;
  while (i < n && interval_zero(&x[i]))
    i++;
  return i == n;
}

void
interval_set(interval *y, const rational *lo, const rational *hi)
{
  mpq_set(&y->lo, lo);
  mpq_set(&y->hi, hi);
}

/* Is it z / 2^n? Such numbers are added and multiplied by shifts, without common divisors: of the lowest terms one has an odd z. */
static bool
is_dyadic(size_t *n, const rational *q)
{
  *n = mpz_sizeinbase(mpq_denref(q), 2) - 1;
  return mpz_scan1(mpq_denref(q), 0) == *n;
}

/* y += t / 2^n; y is z / 2^m, as it stands. */
static void
add_over_power(rational *y, size_t m, integer *t, size_t n)
{
  if (m < n) {
    mpz_mul_2exp(mpq_numref(y), mpq_numref(y), n - m);
    mpz_mul_2exp(mpq_denref(y), mpq_denref(y), n - m);
  } else {
    mpz_mul_2exp(t, t, m - n);
  }
  mpz_add(mpq_numref(y), mpq_numref(y), t);
}

void
add_multiple(rational *y, const rational *a, const rational *x)
{
  size_t of_y, of_a, of_x;
  INTEGER(t);
  INTEGER(den);
  if (mpq_sgn(a) == 0 || mpq_sgn(x) == 0)
    return;
  if (is_dyadic(&of_y, y) && is_dyadic(&of_a, a) && is_dyadic(&of_x, x)) {
    mpz_mul(&t, mpq_numref(a), mpq_numref(x));
    add_over_power(y, of_y, &t, of_a + of_x);
    return;
  }
  mpz_mul(&den, mpq_denref(a), mpq_denref(x));
  if (!mpz_divisible_p(mpq_denref(y), &den)) {
    mpz_lcm(&t, mpq_denref(y), &den);
    mpz_swap(mpq_denref(y), &t);
    mpz_divexact(&t, mpq_denref(y), &t);
    mpz_mul(mpq_numref(y), mpq_numref(y), &t);
  }
  mpz_divexact(&t, mpq_denref(y), &den);
  mpz_mul(&t, &t, mpq_numref(x));
  mpz_addmul(mpq_numref(y), &t, mpq_numref(a));
}

/* y's numerator over 2^n, in lowest terms. */
static void
over_power(rational *y, size_t n)
{
  size_t even = mpz_sgn(mpq_numref(y)) != 0 ? mpz_scan1(mpq_numref(y), 0) : n;
  even = even < n ? even : n;
  if (even > 0)
    mpz_tdiv_q_2exp(mpq_numref(y), mpq_numref(y), even);
  mpz_set_ui(mpq_denref(y), 1);
  mpz_mul_2exp(mpq_denref(y), mpq_denref(y), n - even);
}

/* y = a b */
static void
multiply(rational *y, const rational *a, const rational *b)
{
  size_t m, n;
  if (!is_dyadic(&m, a) || !is_dyadic(&n, b)) {
    mpq_mul(y, a, b);
    return;
  }
  mpz_mul(mpq_numref(y), mpq_numref(a), mpq_numref(b));
  over_power(y, m + n);
}

/* y += x, or y -= x */
static void
accumulate(rational *y, const rational *x, bool minus)
{
  size_t m, n;
  INTEGER(t);
  if (mpq_sgn(y) == 0) {
    (minus ? mpq_neg : mpq_set)(y, x);
    return;
  }
  if (!is_dyadic(&m, y) || !is_dyadic(&n, x)) {
    (minus ? mpq_sub : mpq_add)(y, y, x);
    return;
  }
  if (m < n)
    mpz_mul_2exp(mpq_numref(y), mpq_numref(y), n - m);
  if (m > n)
    mpz_mul_2exp(&t, mpq_numref(x), m - n);
  (minus ? mpz_sub : mpz_add)(mpq_numref(y), mpq_numref(y), m > n ? &t : mpq_numref(x));
  over_power(y, m > n ? m : n);
}

/* y += x c */
static void
add_product(rational *y, const rational *x, const rational *c)
{
  RATIONAL(t);
  bool sign = mpz_cmpabs_ui(mpq_numref(c), 1) == 0 && mpz_cmp_ui(mpq_denref(c), 1) == 0;
  if (!sign)
    multiply(&t, x, c);
  accumulate(y, sign ? x : &t, sign && mpq_sgn(c) < 0);
}

void
interval_add(interval *y, const interval *x, const rational *c)
{
  bool exact = interval_exact(x) && interval_exact(y), down = mpq_sgn(c) < 0;
  if (mpq_sgn(c) == 0 || interval_zero(x))
    return;
  add_product(&y->lo, down ? &x->hi : &x->lo, c);
  if (!exact)
    add_product(&y->hi, down ? &x->lo : &x->hi, c);
  else
    mpq_set(&y->hi, &y->lo);
}

/* 1: of no number below 0; -1: of none above; 0: of both. */
static int
side(const interval *x)
{
  return mpq_sgn(&x->lo) >= 0 ? 1 : mpq_sgn(&x->hi) <= 0 ? -1 : 0;
}

/* Where the least product of numbers of a and b takes a's upper end; own, other: sides of a and b, one of which is not 0. */
static bool
takes_upper(int own, int other)
{
  return other != 0 ? other < 0 : own > 0;
}

/* Both hold numbers of both signs: the ends are among all four products. */
static void
multiply_mixed(interval *y, const interval *a, const interval *b)
{
  INTERVAL(t);
  RATIONAL(q);
  multiply(&t.lo, &a->lo, &b->hi);
  multiply(&q, &a->hi, &b->lo);
  if (mpq_cmp(&q, &t.lo) < 0)
    mpq_swap(&q, &t.lo);
  multiply(&t.hi, &a->lo, &b->lo);
  multiply(&q, &a->hi, &b->hi);
  if (mpq_cmp(&q, &t.hi) > 0)
    mpq_swap(&q, &t.hi);
  interval_set(y, &t.lo, &t.hi);
}

/* The largest product of a and b is minus the least of a and -b, whose upper end is -b's lower one. */
void
interval_mul(interval *y, const interval *a, const interval *b)
{
  int of_a = side(a), of_b = side(b);
  RATIONAL(lo);
  if (interval_exact(a) && interval_exact(b)) {
    multiply(&y->lo, &a->lo, &b->lo);
    mpq_set(&y->hi, &y->lo);
    return;
  }
  if (of_a == 0 && of_b == 0) {
    multiply_mixed(y, a, b);
    return;
  }
  const rational *least_a = takes_upper(of_a, of_b) ? &a->hi : &a->lo,
                 *least_b = takes_upper(of_b, of_a) ? &b->hi : &b->lo;
  const rational *most_a = takes_upper(of_a, -of_b) ? &a->hi : &a->lo,
                 *most_b = takes_upper(-of_b, of_a) ? &b->lo : &b->hi;
  multiply(&lo, least_a, least_b);
  multiply(&y->hi, most_a, most_b);
  mpq_swap(&y->lo, &lo);
}

void
multiply_add(interval *y, const interval *a, const interval *b)
{
  INTERVAL(t);
  if (interval_zero(a) || interval_zero(b))
    return;
  interval_mul(&t, a, b);
  interval_add(y, &t, &plus_one);
}

void
interval_div(interval *y, const interval *a, const interval *b)
{
  INTERVAL(inverse);
  require(interval_sign(b, "whether a divisor is zero") != 0, "a division by zero");
  mpq_inv(&inverse.lo, &b->hi);
  mpq_inv(&inverse.hi, &b->lo);
  interval_mul(y, a, &inverse);
  interval_round(y);
}

/* z = q 2^p, rounded down or up; q = z / 2^p. */
void
fixed(integer *z, const rational *q, unsigned long p, bool up)
{
  unsigned long n = mpz_sizeinbase(mpq_denref(q), 2) - 1;
  bool dyadic = mpz_scan1(mpq_denref(q), 0) == n; /* 2^n */
  if (dyadic && n <= p)
    mpz_mul_2exp(z, mpq_numref(q), p - n);
  else if (dyadic)
    (up ? mpz_cdiv_q_2exp : mpz_fdiv_q_2exp)(z, mpq_numref(q), n - p);
  else {
    mpz_mul_2exp(z, mpq_numref(q), p);
    (up ? mpz_cdiv_q : mpz_fdiv_q)(z, z, mpq_denref(q));
  }
}

void
unfixed(rational *q, const integer *z, unsigned long p)
{
  mpq_set_z(q, z);
  mpq_div_2exp(q, q, p);
}

void
interval_join(interval *y, const interval *x)
{
  if (mpq_cmp(&x->lo, &y->lo) < 0)
    mpq_set(&y->lo, &x->lo);
  if (mpq_cmp(&x->hi, &y->hi) > 0)
    mpq_set(&y->hi, &x->hi);
}

static void
round_end(rational *q, bool up)
{
  size_t n;
  INTEGER(z);
  if (is_dyadic(&n, q) && n <= session_bits)
    return; /* it is such a multiple */
  fixed(&z, q, session_bits, up);
  unfixed(q, &z, session_bits);
}

void
interval_round(interval *y)
{
  if (interval_exact(y))
    return;
  round_end(&y->lo, false);
  round_end(&y->hi, true);
}

int
interval_sign(const interval *x, const char *what)
{
  if (!interval_open(x))
    return mpq_sgn(&x->lo);
  leave(UNDECIDED, "cannot decide %s with intervals of %d bits", what, MAX_BITS);
}

int
interval_compare(const interval *a, const interval *b)
{
  if (interval_exact(a) && interval_exact(b) && mpq_equal(&a->lo, &b->lo))
    return 0;
  return mpq_cmp(&a->hi, &b->lo) < 0 ? -1 : mpq_cmp(&a->lo, &b->hi) > 0 ? 1 : 2;
}

void
interval_addmul(interval *y, const interval *a, const interval *b)
{
  INTERVAL(t);
  if (interval_zero(a) || interval_zero(b))
    return;
  interval_mul(&t, a, b);
  interval_add(y, &t, &plus_one);
  interval_round(y);
}
