/* What the entries of a tensor share in a step: 1 less a power, NAdam's factors. */
#include "check/base/elementary.h"
#include "check/update/update_rule.h"

#define MOST_EXACT 8192     /* bits of a power, beyond which it is an interval */
#define MOST_FACTORS 100000 /* of a product of mu that has not vanished */

/* Ends of few bits, also where it was exact. */
static void
shorten(interval *y)
{
  INTEGER(z);
  if (mpz_sizeinbase(mpq_denref(&y->lo), 2) <= MOST_EXACT && mpz_sizeinbase(mpq_denref(&y->hi), 2) <= MOST_EXACT)
    return;
  fixed(&z, &y->lo, session_bits, false);
  unfixed(&y->lo, &z, session_bits);
  fixed(&z, &y->hi, session_bits, true);
  unfixed(&y->hi, &z, session_bits);
}

/* y = a^n, by squares. It is exact as long as it is short. */
static void
power(interval *y, const rational *a, size_t n)
{
  INTERVAL(square);
  interval_set(y, &plus_one, &plus_one);
  interval_set(&square, a, a);
  for (; n > 0; n /= 2) {
    if (n % 2 == 1)
      interval_mul(y, y, &square);
    interval_mul(&square, &square, &square);
    shorten(&square);
    shorten(y);
  }
}

/* y = 1 - x, which is above 0 */
static void
rest_of(interval *y, const interval *x)
{
  RATIONAL(low);
  mpq_sub(&low, &plus_one, &x->hi);
  mpq_sub(&y->hi, &plus_one, &x->lo);
  mpq_set(&y->lo, &low);
  if (mpq_sgn(&y->lo) <= 0)
    leave(UNDECIDED, "1 less a power is not known to be above 0");
}

static void
rest_of_power(interval *y, const rational *a, size_t n)
{
  power(y, a, n);
  rest_of(y, y);
}

/* mu_n = momentum (1 - 0.96^(n momentum-decay) / 2), and 0.96^x = exp(-x log(25/24)) */
static void
nadam_mu(const update *u, interval *mu, size_t n)
{
  RATIONAL(base);
  RATIONAL(t);
  RATIONAL(end);
  mpq_set_ui(&base, 25, 24);
  for (int up = 0; up < 2; up++) {
    rational *of = up ? &mu->hi : &mu->lo;
    log_end(&end, &base, up);
    mpq_set_ui(&t, n, 1);
    mpq_mul(&t, &t, &u->number[MOMENTUM_DECAY]);
    mpq_mul(&t, &t, &end);
    exp_end(&end, &t, !up);
    mpq_div_2exp(&end, &end, 1);
    mpq_sub(&end, &plus_one, &end);
    mpq_mul(of, &u->number[MOMENTUM], &end);
  }
  interval_round(mu);
}

/* The product of mu_1 to mu_{k+1}, k from 0. Each is below 1: where what holds the product is as small as such numbers are, it stays so. */
static void
multiply_factors(update *u, size_t k)
{
  interval *product = &u->shared[PRODUCT];
  INTERVAL(mu);
  RATIONAL(least);
  mpq_set_ui(&least, 1, 1);
  mpq_div_2exp(&least, &least, session_bits);
  if (u->multiplied > k + 1) { /* that of a tensor with more steps behind it */
    u->multiplied = 0;
    interval_set(product, &plus_one, &plus_one);
  }
  for (; u->multiplied <= k && mpq_cmp(&product->hi, &least) > 0; u->multiplied++) {
    expect(u->multiplied < MOST_FACTORS, "a product of over %d factors mu", MOST_FACTORS);
    nadam_mu(u, &mu, u->multiplied + 1);
    interval_mul(product, product, &mu);
    interval_round(product);
  }
  if (u->multiplied <= k) {
    mpq_set_ui(&product->lo, 0, 1);
    u->multiplied = k + 1;
  }
}

/* by_m = mu_{k+1} / (1 - p mu_{k+1}), by_g = (1 - mu_k) / (1 - p), k from 1; p the product of all mu up to mu_k */
static void
share_products(update *u, size_t k)
{
  INTERVAL(mu);
  INTERVAL(next);
  INTERVAL(c);
  multiply_factors(u, k);
  nadam_mu(u, &mu, k + 1);
  rest_of(&u->shared[BY_G], &mu);
  rest_of(&c, &u->shared[PRODUCT]);
  interval_div(&u->shared[BY_G], &u->shared[BY_G], &c);
  nadam_mu(u, &next, k + 2);
  interval_mul(&c, &u->shared[PRODUCT], &next);
  rest_of(&c, &c);
  interval_div(&u->shared[BY_M], &next, &c);
}

/* RAdam's length q = p - 2 k s^k / (1 - s^k), p = 2 / (1 - s) - 1, and its factor: the root of (1 - s^k) (q - 4) (q - 2) p / ((p - 4) (p - 2) q),
 * which grows with q from 5 on. */
static void
share_length(update *u, size_t k)
{
  INTERVAL(q);
  RATIONAL(p);
  RATIONAL(x);
  RATIONAL(n);
  mpq_set_ui(&p, 2, 1);
  mpq_div(&p, &p, &u->rest[SIGMA]);
  mpq_sub(&p, &p, &plus_one);
  power(&q, &u->number[SIGMA], k + 1);
  interval_div(&q, &q, &u->shared[REST_V]);
  mpq_set_ui(&n, k + 1, 1);
  mpq_mul_2exp(&n, &n, 1);         /* of any k that a proof may have */
  for (int up = 0; up < 2; up++) { /* the ends in turn: the larger the quotient, the less is left */
    mpq_mul(&x, up ? &q.hi : &q.lo, &n);
    mpq_sub(up ? &q.hi : &q.lo, &p, &x);
  }
  mpq_swap(&q.lo, &q.hi);
  mpq_set_ui(&n, 5, 1);
  u->is_long = mpq_cmp(&q.lo, &n) > 0;
  if (!u->is_long && mpq_cmp(&q.hi, &n) > 0)
    leave(UNDECIDED, "RAdam's length is not known to be above 5");
  for (int up = 0; up < 2 && u->is_long; up++) {
    const rational *end = up ? &q.hi : &q.lo;
    rational *root = up ? &u->shared[BY_M].hi : &u->shared[BY_M].lo;
    mpq_div(root, &p, end);
    for (unsigned less = 2; less <= 4; less += 2) {
      mpq_set_ui(&n, less, 1);
      mpq_sub(&x, end, &n);
      mpq_mul(root, root, &x);
      mpq_sub(&x, &p, &n);
      mpq_div(root, root, &x);
    }
    mpq_mul(root, root, up ? &u->shared[REST_V].hi : &u->shared[REST_V].lo);
    sqrt_end(root, root, up);
  }
}

/* ASGD's eta_k = eta / (1 + lambd eta k)^alpha, and mu_k = 1 / max(1, k - t0) */
static void
share_average(update *u, size_t k)
{
  RATIONAL(base);
  RATIONAL(end);
  mpq_set_ui(&base, k, 1);
  mpq_sub(&end, &base, &u->number[T0]);
  if (mpq_cmp(&end, &plus_one) < 0)
    mpq_set(&end, &plus_one);
  mpq_inv(&end, &end);
  interval_set(&u->shared[BY_M], &end, &end);
  mpq_mul(&base, &base, &u->number[LAMBD]);
  mpq_mul(&base, &base, &u->number[ETA]);
  mpq_add(&base, &base, &plus_one);
  for (int up = 0; up < 2; up++) {
    rational *of = up ? &u->shared[BY_G].hi : &u->shared[BY_G].lo;
    log_end(&end, &base, !up);
    mpq_mul(&end, &end, &u->number[ALPHA]);
    exp_end(of, &end, up);
    mpq_mul(of, of, &u->number[ETA]);
  }
}

void
update_share(update *u, size_t k)
{
  u->k = k;
  if (u->of->corrects) {
    rest_of_power(&u->shared[REST_V], &u->number[SIGMA], k + 1);
    rest_of_power(&u->shared[REST_M], &u->number[MOMENTUM], k + 1);
  }
  if (u->of->shares == PRODUCTS)
    share_products(u, k);
  if (u->of->shares == FACTORS) {
    nadam_mu(u, &u->shared[BY_M], k + 1);
    nadam_mu(u, &u->shared[BY_G], k);
    rest_of(&u->shared[BY_G], &u->shared[BY_G]);
  }
  if (u->of->shares == LENGTH)
    share_length(u, k);
  if (u->of->shares == AVERAGE)
    share_average(u, k);
  if (u->of->shares == ROOT) {
    sqrt_end(&u->shared[BY_M].lo, &u->shared[REST_V].lo, false);
    sqrt_end(&u->shared[BY_M].hi, &u->shared[REST_V].hi, true);
  }
}

void
update_begin(update *u)
{
  for (int i = 0; i < N_NUMBERS; i++) {
    u->rest[i] = rational_zero();
    mpq_sub(&u->rest[i], &plus_one, &u->number[i]);
  }
  for (int i = 0; i < N_SHARED; i++) {
    u->shared[i] = interval_nought();
    interval_set(&u->shared[i], &plus_one, &plus_one);
  }
  u->multiplied = 0;
}

void
update_end(update *u)
{
  for (int i = 0; i < N_NUMBERS; i++) {
    mpq_clear(&u->number[i]);
    mpq_clear(&u->rest[i]);
  }
  for (int i = 0; i < N_SHARED; i++)
    interval_clear(&u->shared[i]);
}
