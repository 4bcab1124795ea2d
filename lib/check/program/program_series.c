/* The elementary functions of power series, from y' = w u' where y = f(u), w = f'(u). */
#include "check/program/program_series.h"
#include "check/base/arctangent.h"
#include "check/base/elementary.h"
#include "check/base/erf.h"
#include "check/program/power_series.h"

#include <stdlib.h>
#include <string.h>

/* One end of exp, log, sqrt, tanh or sigmoid of q: they increase. */
static void
increasing_end(rational *y, const char *f, const rational *q, bool up)
{
  bool negative = mpq_sgn(q) < 0, below = mpq_cmp(q, &plus_one) < 0;
  RATIONAL(t);
  RATIONAL(e);
  if (strcmp(f, "log") == 0) { /* that of 1 / q is the opposite */
    mpq_set(&t, q);
    if (below)
      mpq_inv(&t, &t);
    log_end(y, &t, up != below);
    if (below)
      mpq_neg(y, y);
  } else if (strcmp(f, "sqrt") == 0) {
    sqrt_end(y, q, up);
  } else { /* with e = exp(-|q|): e or 1 / e, e / (1 + e) or 1 / (1 + e); with its square -+ (1 - e) / (1 + e) */
    bool tanh = strcmp(f, "tanh") == 0;
    mpq_abs(&t, q);
    if (tanh)
      mpq_add(&t, &t, &t);
    exp_end(&e, &t, up == negative);
    mpq_set(y, negative && !tanh ? &e : &plus_one);
    if (tanh)
      mpq_sub(y, y, &e);
    if (tanh && negative)
      mpq_neg(y, y);
    mpq_add(&t, &plus_one, &e);
    if (strcmp(f, "exp") == 0)
      mpq_set(&t, negative ? &plus_one : &e);
    if (mpq_sgn(&t) == 0)
      leave(UNDECIDED, "cannot bound exp with intervals of %d bits", MAX_BITS);
    mpq_div(y, y, &t);
  }
}

/* sin and cos of x: Taylor's series where |r| <= 1/4, then angles doubled; all but `error` units of
 * 2^-p. Both have slopes of 1 at most, so x's width is added. */
static void
circle(interval *sine, interval *cosine, const interval *x)
{
  RATIONAL(r);
  INTEGER(u);
  INTEGER(t);
  INTEGER(s);
  INTEGER(c);
  INTEGER(error);
  size_t halvings = 0;
  for (mpq_set(&r, &x->lo); mpz_cmpabs(mpq_denref(&r), mpq_numref(&r)) < 0 || halvings < 2; halvings++)
    mpq_div_2exp(&r, &r, 1);
  require(halvings <= MAX_BITS, "the sine or cosine of a number beyond 2^%d", MAX_BITS);
  unsigned long p = session_bits + 64 + 6 * halvings, n = 0;
  mpq_div_2exp(&r, &x->lo, halvings);
  fixed(&u, &r, p, false);
  mpz_setbit(&t, p);
  for (; mpz_cmpabs_ui(&t, 1) > 0; n++) { /* each term is off by 3 units at most */
    integer *to = n % 2 == 1 ? &s : &c;
    (n % 4 < 2 ? mpz_add : mpz_sub)(to, to, &t);
    mpz_mul(&t, &t, &u);
    mpz_tdiv_q_2exp(&t, &t, p);
    mpz_tdiv_q_ui(&t, &t, n + 1);
  }
  for (mpz_set_ui(&error, 4 * n + 16); halvings > 0; halvings--) { /* sin 2r = 2 sin r cos r, cos 2r = 2 cos^2 r - 1 */
    mpz_mul(&s, &s, &c);
    mpz_fdiv_q_2exp(&s, &s, p - 1);
    mpz_mul(&c, &c, &c);
    mpz_fdiv_q_2exp(&c, &c, p - 1);
    mpz_set_ui(&t, 0);
    mpz_setbit(&t, p);
    mpz_sub(&c, &c, &t);
    mpz_mul_ui(&error, &error, 4);
    mpz_add_ui(&error, &error, 8);
  }
  for (int i = 0; i < 2; i++) {
    interval *y = i == 0 ? sine : cosine;
    mpz_sub(&u, i == 0 ? &s : &c, &error);
    unfixed(&y->lo, &u, p);
    mpz_add(&u, i == 0 ? &s : &c, &error);
    unfixed(&y->hi, &u, p);
    mpq_sub(&r, &x->hi, &x->lo);
    mpq_sub(&y->lo, &y->lo, &r);
    mpq_add(&y->hi, &y->hi, &r);
    interval_round(y);
  }
  if (!interval_zero(x))
    return;
  interval_set(sine, &zero, &zero);
  interval_set(cosine, &plus_one, &plus_one);
}

/* y_k from y' = w u': (1/k) sum of j u_j w_(k - j). */
static void
integrate(interval *y, const interval *u, const interval *w, size_t k, const rational *sign)
{
  INTERVAL(t);
  INTERVAL(sum);
  RATIONAL(c);
  for (size_t j = 1; j <= k; j++) {
    interval_set(&t, &zero, &zero);
    interval_addmul(&t, &u[j], &w[k - j]);
    mpq_set_ui(&c, j, k);
    mpq_canonicalize(&c);
    mpq_mul(&c, &c, sign);
    interval_add(&sum, &t, &c);
  }
  interval_set(&y[k], &sum.lo, &sum.hi);
  interval_round(&y[k]);
}

/* Term k of w = 2 / sqrt(pi) exp(-u^2), whose derivative is -(u^2)' w. */
static void
bell_term(interval *w, const interval *u, size_t k)
{
  INTERVAL(sum);
  RATIONAL(share);
  for (size_t j = 1; j <= k; j++) {
    INTERVAL(square);
    INTERVAL(t);
    for (size_t i = 0; i <= j; i++)
      interval_addmul(&square, &u[i], &u[j - i]);
    interval_addmul(&t, &square, &w[k - j]);
    mpq_set_ui(&share, j, k);
    mpq_canonicalize(&share);
    mpq_neg(&share, &share);
    interval_add(&sum, &t, &share);
  }
  if (k == 0)
    bell_value(&sum, u, false);
  interval_set(&w[k], &sum.lo, &sum.hi);
  interval_round(&w[k]);
}

/* Term k of w = 1 / (1 + u^2). */
static void
arctangent_term(interval *w, const interval *u, size_t k)
{
  INTERVAL(sum);
  INTERVAL(first);
  for (size_t j = 0; j <= k; j++) {
    INTERVAL(square);
    for (size_t i = 0; i <= j; i++)
      interval_addmul(&square, &u[i], &u[j - i]);
    if (j == 0) {
      if (mpq_sgn(&square.lo) < 0) /* of a u that may be 0 */
        mpq_set(&square.lo, &zero);
      interval_add(&first, &square, &plus_one);
      interval_add(&first, &exactly_one, &plus_one);
    } else
      interval_addmul(&sum, &square, &w[k - j]);
  }
  if (k == 0)
    interval_add(&sum, &exactly_one, &minus_one);
  interval_set(&w[k], &zero, &zero);
  interval_add(&w[k], &sum, &minus_one);
  interval_div(&w[k], &w[k], &first);
}

/* Term k of w = f'(u) from those of u and y up to k, and of w before. */
static void
derivative_term(interval *w, const char *f, const interval *u, const interval *y, size_t k)
{
  bool log = strcmp(f, "log") == 0, root = strcmp(f, "sqrt") == 0, tanh = strcmp(f, "tanh") == 0;
  const interval *divisor = log ? u : y;
  INTERVAL(sum);
  INTERVAL(t);
  if (strcmp(f, "sin") == 0 || strcmp(f, "cos") == 0) { /* w' = -y u'; term 0 is there */
    if (k > 0)
      integrate(w, u, y, k, &minus_one);
  } else if (log || root) { /* 1 / u, 1 / (2 y) */
    if (k == 0)
      interval_set(&t, &plus_one, &plus_one);
    if (k == 0 && root) {
      mpq_div_2exp(&t.lo, &t.lo, 1);
      mpq_div_2exp(&t.hi, &t.hi, 1);
    }
    for (size_t j = 1; j <= k; j++)
      interval_addmul(&sum, &divisor[j], &w[k - j]);
    interval_add(&t, &sum, &minus_one);
    series_div(&w[k], &t, divisor, 1);
  } else { /* y, 1 - y^2, y - y^2 */
    interval_set(&w[k], &zero, &zero);
    if (!tanh || k == 0)
      interval_add(&w[k], tanh ? &exactly_one : &y[k], &plus_one);
    for (size_t j = 0; *f != 'e' && j <= k; j++)
      interval_addmul(&sum, &y[j], &y[k - j]);
    interval_add(&w[k], &sum, &minus_one);
  }
}

void
series_analytic(interval *y, interval *w, const char *f, const interval *u, size_t n)
{
  bool sine = strcmp(f, "sin") == 0, cosine = strcmp(f, "cos") == 0, log = strcmp(f, "log") == 0;
  bool erf = strcmp(f, "erf") == 0, atan = strcmp(f, "atan") == 0;
  INTERVAL(other);
  if (sine || cosine) {
    circle(sine ? y : &other, sine ? &other : y, u);
    if (w != NULL) {
      interval_set(w, &zero, &zero);
      interval_add(w, &other, sine ? &plus_one : &minus_one);
    }
  } else if (erf) {
    erf_value(y, u);
    interval_round(y);
  } else if (atan) {
    arctangent_end(&y->lo, &u->lo, false);
    arctangent_end(&y->hi, &u->hi, true);
    interval_round(y);
  } else {
    int sign = log || strcmp(f, "sqrt") == 0 ? interval_sign(u, "whether an argument is in the domain") : 1;
    require(sign >= log, "the argument of a logarithm is not positive, or that of a root is negative");
    increasing_end(&y->lo, f, &u->lo, false);
    increasing_end(&y->hi, f, &u->hi, true);
    interval_round(y);
  }
  for (size_t k = 0; k < n && w != NULL; k++) {
    if (k > 0)
      integrate(y, u, w, k, &plus_one);
    if (erf)
      bell_term(w, u, k);
    else if (atan)
      arctangent_term(w, u, k);
    else
      derivative_term(w, f, u, y, k);
  }
}
