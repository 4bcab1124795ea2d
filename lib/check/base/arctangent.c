/* The arc tangent in fixed point: the angle is halved until its tangent is small, a series gives it, and it is doubled again. */
#include "check/base/arctangent.h"

#define SMALL 4       /* tangents of the series are below 2^-4 */
#define SPARE 128     /* bits behind those that are asked for */
#define OFF_TANGENT 2 /* units that a tangent is off by, at most */

/* v = v / (1 + sqrt(1 + v^2)), v from 0 to 1: the tangent of half the angle. It rises by half of what v does, at most; the root and the quotient
 * are rounded down, by less than a unit each: the one raises it by less than that, the other lowers it. What v is off by, up to 2 units, stays so. */
static void
halve(integer *v, unsigned long p)
{
  INTEGER(root);
  INTEGER(one);
  mpz_setbit(&one, p);
  mpz_mul(&root, v, v);
  mpz_addmul(&root, &one, &one);
  mpz_sqrt(&root, &root);
  mpz_add(&root, &root, &one);
  mpz_mul_2exp(v, v, p);
  mpz_fdiv_q(v, v, &root);
}

/* v = 1 / (r + sqrt(r^2 + 1)), r from 0 to 1 and off by a unit: the tangent of half the angle whose tangent is 1 / r. It falls by no more than r
 * rises. What r is off by and the root raise it by less than a unit each, the quotient lowers it: it is off by less than 2. */
static void
halve_steep(integer *v, const integer *r, unsigned long p)
{
  INTEGER(root);
  INTEGER(one);
  mpz_setbit(&one, p);
  mpz_mul(&root, r, r);
  mpz_addmul(&root, &one, &one);
  mpz_sqrt(&root, &root);
  mpz_add(&root, &root, r);
  mpz_mul(v, &one, &one);
  mpz_fdiv_q(v, v, &root);
}

/* atan(v) = v - v^3 / 3 + v^5 / 5 - ..., v below 2^-SMALL. A power is off by less than 2 units: what the one before is off by, and what v^2 is, are
 * times less than a 2^SMALL-th. Each term is rounded down once more, and those left out are less than one. Returned: units that it is off by. */
static unsigned long
add_series(integer *sum, const integer *v, unsigned long p)
{
  INTEGER(square);
  INTEGER(power);
  INTEGER(term);
  unsigned long n = 0;
  mpz_set_ui(sum, 0);
  mpz_mul(&square, v, v);
  mpz_fdiv_q_2exp(&square, &square, p);
  for (mpz_set(&power, v); mpz_sgn(&power) != 0; n++) {
    mpz_fdiv_q_ui(&term, &power, 2 * n + 1);
    (n % 2 == 0 ? mpz_add : mpz_sub)(sum, sum, &term);
    mpz_mul(&power, &power, &square);
    mpz_fdiv_q_2exp(&power, &power, p);
  }
  return 3 * (n + 2);
}

/* Above 1 the angle is halved by the reciprocal, whose tangent is below 1. */
void
arctangent_end(rational *end, const rational *t, bool up)
{
  unsigned long p = session_bits + SPARE, doublings = 0;
  bool above = mpz_cmpabs(mpq_numref(t), mpq_denref(t)) > 0, negative = mpq_sgn(t) < 0;
  INTEGER(v);
  INTEGER(sum);
  RATIONAL(size);
  if (mpq_sgn(t) == 0) {
    mpq_set(end, &zero);
    return;
  }
  mpq_abs(&size, t);
  if (above)
    mpq_inv(&size, &size);
  fixed(&v, &size, p, false);
  if (above)
    halve_steep(&v, &v, p);
  for (doublings = above; mpz_sizeinbase(&v, 2) + SMALL > p; doublings++)
    halve(&v, p);
  unsigned long off = (add_series(&sum, &v, p) + OFF_TANGENT) << doublings;
  mpz_mul_2exp(&sum, &sum, doublings);
  (up != negative ? mpz_add_ui : mpz_sub_ui)(&sum, &sum, off);
  unfixed(end, &sum, p);
  if (negative)
    mpq_neg(end, end);
}
