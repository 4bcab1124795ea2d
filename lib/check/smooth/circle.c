/* Sine and cosine of an angle in fixed point: series of a small part of it, which is then doubled again. */
#include "check/smooth/circle.h"

#define MOST_BITS 4001 /* of an angle before the point */
#define SMALL 4        /* the series are taken below 2^-4 */
#define SPARE 128      /* bits behind those that are asked for */

/* Both are off by at most `off` units of 2^-p. */
typedef struct {
  integer cosine, sine, off;
  unsigned long p;
} circle;

/* cos(u) and sin(u), 0 <= u < 2^-4. Each term is rounded down from one that may be off by less than 3 units, as those of exp(-u) are;
 * terms behind one that is 0 are less than 3 in all, for each is at most a 16th of the one before. */
static void
add_series(circle *c, const integer *u)
{
  INTEGER(term);
  unsigned long n = 0;
  mpz_set_ui(&c->cosine, 0);
  mpz_set_ui(&c->sine, 0);
  mpz_setbit(&term, c->p);
  while (mpz_sgn(&term) != 0) {
    integer *sum = n % 2 == 0 ? &c->cosine : &c->sine;
    (n++ % 4 < 2 ? mpz_add : mpz_sub)(sum, sum, &term);
    mpz_mul(&term, &term, u);
    mpz_fdiv_q_2exp(&term, &term, c->p);
    mpz_fdiv_q_ui(&term, &term, n);
  }
  mpz_set_ui(&c->off, 3 * (n + 2));
}

/* The angle twice: 2 cos^2 - 1 and 2 sin cos. What both are off by becomes at most four times that, and six times its square, which is less
 * than a unit more while off is below a 4th of 2^(p/2); and what is cut off is less than a unit. */
static void
turn_again(circle *c)
{
  INTEGER(one);
  if (2 * (mpz_sizeinbase(&c->off, 2) + 2) > c->p)
    leave(UNDECIDED, "an angle is too large for its sine");
  mpz_mul(&c->sine, &c->sine, &c->cosine);
  mpz_fdiv_q_2exp(&c->sine, &c->sine, c->p - 1);
  mpz_mul(&c->cosine, &c->cosine, &c->cosine);
  mpz_fdiv_q_2exp(&c->cosine, &c->cosine, c->p - 1);
  mpz_setbit(&one, c->p);
  mpz_sub(&c->cosine, &c->cosine, &one);
  mpz_mul_2exp(&c->off, &c->off, 2);
  mpz_add_ui(&c->off, &c->off, 8);
}

/* How often t > 0 is halved to be below 2^-SMALL: perhaps once more. */
static unsigned long
halvings_of(const rational *t)
{
  size_t above = mpz_sizeinbase(mpq_numref(t), 2) + 1 + SMALL, below = mpz_sizeinbase(mpq_denref(t), 2);
  return above > below ? above - below : 0;
}

/* cos(t) and sin(t), t > 0: each doubling takes two bits, and its square four. */
static void
go_round(circle *c, const rational *t)
{
  unsigned long halvings = halvings_of(t);
  INTEGER(u);
  mpz_init(&c->cosine);
  mpz_init(&c->sine);
  mpz_init(&c->off);
  c->p = session_bits + SPARE + 4 * halvings;
  fixed(&u, t, c->p, false);
  mpz_fdiv_q_2exp(&u, &u, halvings);
  add_series(c, &u);
  mpz_add_ui(&c->off, &c->off, 1); /* u is rounded down by less than a unit, which moves both by no more */
  for (; halvings > 0; halvings--)
    turn_again(c);
  mpz_add_ui(&c->off, &c->off, 1); /* t was rounded down */
}

/* y is t's sine or cosine. Of 0 both are known. */
static void
at_angle(interval *y, const rational *t, bool cosine)
{
  circle c;
  INTEGER(end);
  RATIONAL(size);
  if (mpq_sgn(t) == 0) {
    mpq_set_ui(&y->lo, cosine, 1);
    mpq_set_ui(&y->hi, cosine, 1);
    return;
  }
  mpq_abs(&size, t);
  go_round(&c, &size);
  if (!cosine && mpq_sgn(t) < 0)
    mpz_neg(&c.sine, &c.sine);
  mpz_sub(&end, cosine ? &c.cosine : &c.sine, &c.off);
  unfixed(&y->lo, &end, c.p);
  mpz_add(&end, cosine ? &c.cosine : &c.sine, &c.off);
  unfixed(&y->hi, &end, c.p);
  mpz_clear(&c.cosine);
  mpz_clear(&c.sine);
  mpz_clear(&c.off);
}

/* Both have slopes from -1 to 1, and such values. */
void
circle_value(interval *y, const interval *x, bool cosine)
{
  INTERVAL(z);
  RATIONAL(apart);
  RATIONAL(most);
  mpq_mul_2exp(&most, &plus_one, MOST_BITS);
  mpq_neg(&apart, &most);
  expect(mpq_cmp(&x->lo, &apart) >= 0 && mpq_cmp(&x->hi, &most) <= 0, "a sine of over 2^%d", MOST_BITS);
  mpq_sub(&apart, &x->hi, &x->lo);
  at_angle(&z, &x->lo, cosine);
  mpq_sub(&z.lo, &z.lo, &apart);
  mpq_add(&z.hi, &z.hi, &apart);
  if (mpq_cmp(&z.lo, &minus_one) < 0)
    mpq_set(&z.lo, &minus_one);
  if (mpq_cmp(&z.hi, &plus_one) > 0)
    mpq_set(&z.hi, &plus_one);
  interval_set(y, &z.lo, &z.hi);
}
