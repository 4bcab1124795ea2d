/* Numbers that are rational as long as they can be, balls after that. */
#include "exact/number.h"
#include "base/limit.h"
#include "base/verify.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local clarke_tally *tally;

void
clarke_tally_keep(clarke_tally *t)
{
  tally = t;
}

void
clarke_tally_add(size_t additions, size_t multiplications, size_t functions)
{
  if (tally == NULL)
    return;
  tally->additions += additions;
  tally->multiplications += multiplications;
  tally->functions += functions;
}

void
clarke_number_init(clarke_number *x)
{
  x->exact = true;
  mpq_init(x->q);
  arb_init(x->b);
}

void
clarke_number_clear(clarke_number *x)
{
  mpq_clear(x->q);
  arb_clear(x->b);
}

void
clarke_number_set(clarke_number *y, const clarke_number *x)
{
  y->exact = x->exact;
  if (x->exact)
    mpq_set(y->q, x->q);
  else
    arb_set(y->b, x->b);
}

void
clarke_number_set_q(clarke_number *y, const mpq_t q)
{
  y->exact = true;
  mpq_set(y->q, q);
}

void
clarke_number_set_si(clarke_number *y, long n)
{
  y->exact = true;
  mpq_set_si(y->q, n, 1);
}

clarke_number *
clarke_numbers(size_t n)
{
  clarke_number *x = malloc((n + (n == 0)) * sizeof *x);

  for (size_t i = 0; x != NULL && i < n; i++)
    clarke_number_init(&x[i]);
  return x;
}

void
clarke_numbers_free(clarke_number *x, size_t n)
{
  for (size_t i = 0; x != NULL && i < n; i++)
    clarke_number_clear(&x[i]);
  free(x);
}

bool
clarke_numbers_equal(const clarke_number *a, const clarke_number *b, size_t n)
{
  for (size_t k = 0; k < n; k++)
    if (!a[k].exact || !b[k].exact || !mpq_equal(a[k].q, b[k].q))
      return false;
  return true;
}

bool
clarke_weights_are_valid(mpq_t *weight, size_t n)
{
  bool valid = true;
  mpq_t sum;

  mpq_init(sum);
  for (size_t i = 0; i < n && valid; i++) {
    valid = clarke_rational_is_canonical(weight[i]) && mpq_sgn(weight[i]) >= 0;
    mpq_add(sum, sum, weight[i]);
  }
  valid = valid && mpq_cmp_ui(sum, 1, 1) == 0;
  mpq_clear(sum);
  return valid;
}

void
clarke_weights_normalize(mpq_t *weight, size_t n)
{
  mpq_t sum;

  mpq_init(sum);
  for (size_t i = 0; i < n; i++)
    mpq_add(sum, sum, weight[i]);
  CLARKE_ASSERT(mpq_sgn(sum) > 0);
  for (size_t i = 0; i < n; i++)
    mpq_div(weight[i], weight[i], sum);
  mpq_clear(sum);
}

mpq_t *
clarke_rationals(size_t n)
{
  mpq_t *x = malloc((n + 1) * sizeof *x);

  for (size_t k = 0; x != NULL && k < n; k++)
    mpq_init(x[k]);
  return x;
}

void
clarke_rationals_free(mpq_t *x, size_t n)
{
  for (size_t k = 0; x != NULL && k < n; k++)
    mpq_clear(x[k]);
  free(x);
}

static void
ball_of_rational(arb_t b, const mpq_t q, long precision)
{
  fmpq_t f;

  fmpq_init(f);
  fmpq_set_mpq(f, q);
  arb_set_fmpq(b, f, precision);
  fmpq_clear(f);
}

static void
ball(arb_t b, const clarke_number *x, long precision)
{
  if (x->exact)
    ball_of_rational(b, x->q, precision);
  else
    arb_set(b, x->b);
}

typedef void (*arb_operation)(arb_t, const arb_t, const arb_t, slong);

static void
in_balls(clarke_number *y, arb_operation operation, const clarke_number *a,
         const clarke_number *b, long precision)
{
  arb_t s, t;

  arb_init(s);
  arb_init(t);
  ball(s, a, precision);
  ball(t, b, precision);
  operation(y->b, s, t, precision);
  y->exact = false;
  arb_clear(s);
  arb_clear(t);
}

static bool
is_zero(const clarke_number *x)
{
  return x->exact && mpq_sgn(x->q) == 0;
}

void
clarke_number_add(clarke_number *y, const clarke_number *a, const clarke_number *b,
                  long precision)
{
  if (tally != NULL)
    tally->additions++;
  if (a->exact && b->exact) {
    mpq_add(y->q, a->q, b->q);
    y->exact = true;
  } else if (is_zero(a))
    clarke_number_set(y, b);
  else if (is_zero(b))
    clarke_number_set(y, a);
  else
    in_balls(y, arb_add, a, b, precision);
}

void
clarke_number_sub(clarke_number *y, const clarke_number *a, const clarke_number *b,
                  long precision)
{
  if (tally != NULL)
    tally->additions++;
  if (a->exact && b->exact) {
    mpq_sub(y->q, a->q, b->q);
    y->exact = true;
  } else if (is_zero(b))
    clarke_number_set(y, a);
  else
    in_balls(y, arb_sub, a, b, precision);
}

void
clarke_number_mul(clarke_number *y, const clarke_number *a, const clarke_number *b,
                  long precision)
{
  if (tally != NULL)
    tally->multiplications++;
  if (a->exact && b->exact) {
    mpq_mul(y->q, a->q, b->q);
    y->exact = true;
  } else if (is_zero(a) || is_zero(b))
    clarke_number_set_si(y, 0);
  else
    in_balls(y, arb_mul, a, b, precision);
}

void
clarke_number_addmul(clarke_number *y, const clarke_number *a, const clarke_number *b,
                     long precision)
{
  clarke_number product;

  if (is_zero(a) || is_zero(b))
    return;
  clarke_number_init(&product);
  clarke_number_mul(&product, a, b, precision);
  clarke_number_add(y, y, &product, precision);
  clarke_number_clear(&product);
}

void
clarke_number_addmul_q(clarke_number *y, const mpq_t q, const clarke_number *b, long precision)
{
  clarke_number factor;

  if (mpq_sgn(q) == 0 || is_zero(b))
    return;
  clarke_number_init(&factor);
  mpq_set(factor.q, q);
  clarke_number_addmul(y, &factor, b, precision);
  clarke_number_clear(&factor);
}

void
clarke_number_div(clarke_number *y, const clarke_number *a, const clarke_number *b,
                  long precision)
{
  if (tally != NULL)
    tally->multiplications++;
  CLARKE_ASSERT(!is_zero(b));
  if (is_zero(a))
    clarke_number_set_si(y, 0);
  else if (a->exact && b->exact) {
    mpq_div(y->q, a->q, b->q);
    y->exact = true;
  } else
    in_balls(y, arb_div, a, b, precision);
}

void
clarke_number_largest(clarke_number *y, const clarke_number *x, long precision)
{
  arf_t most;

  if (x->exact) {
    mpq_abs(y->q, x->q);
    y->exact = true;
    return;
  }
  arf_init(most);
  arb_get_abs_ubound_arf(most, x->b, precision);
  arb_set_arf(y->b, most);
  y->exact = false;
  arf_clear(most);
}

void
clarke_number_widen(clarke_number *y, const clarke_number *x, long precision)
{
  arb_t error;

  if (is_zero(x))
    return;
  arb_init(error);
  ball(error, x, precision);
  if (y->exact)
    ball_of_rational(y->b, y->q, precision);
  y->exact = false;
  arb_add_error(y->b, error);
  arb_clear(error);
}

void
clarke_number_root(clarke_number *y, const clarke_number *x, long precision)
{
  if (x->exact && clarke_number_analytic(y, NULL, CLARKE_FN_SQRT, x, precision))
    return;
  ball(y->b, x, precision);
  y->exact = false;
  arb_sqrtpos(y->b, y->b, precision);
}

void
clarke_number_join(clarke_number *y, const clarke_number *a, const clarke_number *b, long precision)
{
  if (a->exact && b->exact && mpq_equal(a->q, b->q))
    clarke_number_set(y, a);
  else
    in_balls(y, arb_union, a, b, precision);
}

bool
clarke_rational_is_canonical(const mpq_t q)
{
  bool canonical = mpz_sgn(mpq_denref(q)) > 0;
  mpz_t common;

  mpz_init(common);
  mpz_gcd(common, mpq_numref(q), mpq_denref(q));
  canonical = canonical && mpz_cmp_ui(common, 1) == 0;
  mpz_clear(common);
  return canonical;
}

bool
clarke_number_is_large(const clarke_number *x)
{
  const size_t most = clarke_limit_of(CLARKE_LIMIT_BITS);

  return x->exact && (mpz_sizeinbase(mpq_numref(x->q), 2) > most || mpz_sizeinbase(mpq_denref(x->q), 2) > most);
}

int
clarke_number_sign(const clarke_number *x)
{
  if (x->exact)
    return mpq_sgn(x->q);
  return arb_is_positive(x->b) ? 1 : arb_is_negative(x->b) ? -1 : 2;
}

int
clarke_number_compare(const clarke_number *a, const clarke_number *b, long precision)
{
  clarke_number difference;
  int sign;

  clarke_number_init(&difference);
  clarke_number_sub(&difference, a, b, precision);
  sign = clarke_number_sign(&difference);
  clarke_number_clear(&difference);
  return sign;
}

/* Where f(x) is rational: y, and dy where f'(x) is too. */
static bool
rational_value(mpq_t y, mpq_t dy, clarke_analytic f, const mpq_t x)
{
  bool zero = mpq_sgn(x) == 0;

  switch (f) {
  case CLARKE_FN_EXP:
    mpq_set_si(y, 1, 1);
    mpq_set_si(dy, 1, 1);
    return zero;
  case CLARKE_FN_LOG:
    mpq_set_si(y, 0, 1);
    mpq_set_si(dy, 1, 1);
    return mpq_cmp_si(x, 1, 1) == 0;
  case CLARKE_FN_SIN:
  case CLARKE_FN_TANH:
  case CLARKE_FN_ATAN:
    mpq_set_si(y, 0, 1);
    mpq_set_si(dy, 1, 1);
    return zero;
  case CLARKE_FN_ERF: /* whose slope 2 / sqrt(pi) is none */
    mpq_set_si(y, 0, 1);
    return zero;
  case CLARKE_FN_COS:
    mpq_set_si(y, 1, 1);
    mpq_set_si(dy, 0, 1);
    return zero;
  case CLARKE_FN_SIGMOID:
    mpq_set_si(y, 1, 2);
    mpq_set_si(dy, 1, 4);
    return zero;
  case CLARKE_FN_SQRT:
    if (mpq_sgn(x) < 0 || !mpz_perfect_square_p(mpq_numref(x)) ||
        !mpz_perfect_square_p(mpq_denref(x)))
      return false;
    mpz_sqrt(mpq_numref(y), mpq_numref(x));
    mpz_sqrt(mpq_denref(y), mpq_denref(x));
    mpq_set_si(dy, 0, 1);
    if (!zero) {
      mpq_add(dy, y, y);
      mpq_inv(dy, dy);
    }
    return true;
  }
  return false;
}

/* Is x certainly in the domain of f, and of f' when its value is wanted? */
static bool
in_domain(clarke_analytic f, const clarke_number *x, bool derivative)
{
  int sign = clarke_number_sign(x);

  if (f == CLARKE_FN_LOG || (f == CLARKE_FN_SQRT && derivative))
    return sign == 1;
  return f != CLARKE_FN_SQRT || sign == 1 || sign == 0;
}

/* 1 / x, or 1 / (1 + x^2). */
static void
rational_slope(mpq_t slope, clarke_analytic f, const mpq_t x)
{
  mpq_set_si(slope, 1, 1);
  if (f == CLARKE_FN_ATAN) {
    mpq_t square;

    mpq_init(square);
    mpq_mul(square, x, x);
    mpq_add(slope, slope, square);
    mpq_clear(square);
  } else
    mpq_set(slope, x);
  mpq_inv(slope, slope);
}

/* 2 / sqrt(pi), where the value is rational. */
static void
erf_slope_at_zero(clarke_number *slope, long precision)
{
  arb_zero(slope->b);
  clarke_ball_bell(slope->b, slope->b, false, precision);
  slope->exact = false;
}

bool
clarke_number_analytic(clarke_number *y, clarke_number *dy, clarke_analytic f,
                       const clarke_number *x, long precision)
{
  const bool exact = x->exact; /* y may be x */
  arb_t in, out, slope;
  mpq_t q, dq;

  if (tally != NULL)
    tally->functions++;
  if (!in_domain(f, x, dy != NULL))
    return false;
  mpq_init(q);
  mpq_init(dq);
  if (exact && rational_value(q, dq, f, x->q)) {
    clarke_number_set_q(y, q);
    if (dy != NULL && f == CLARKE_FN_ERF)
      erf_slope_at_zero(dy, precision);
    else if (dy != NULL)
      clarke_number_set_q(dy, dq);
  } else {
    arb_init(in);
    arb_init(out);
    arb_init(slope);
    ball(in, x, precision);
    clarke_ball_analytic(out, slope, f, in, precision);
    y->exact = false;
    arb_swap(y->b, out);
    if (dy != NULL && exact && (f == CLARKE_FN_LOG || f == CLARKE_FN_ATAN)) { /* rational where the value is not */
      rational_slope(dq, f, x->q);
      clarke_number_set_q(dy, dq);
    } else if (dy != NULL) {
      dy->exact = false;
      arb_swap(dy->b, slope);
    }
    arb_clear(in);
    arb_clear(out);
    arb_clear(slope);
  }
  mpq_clear(q);
  mpq_clear(dq);
  return true;
}

void
clarke_number_middle(mpq_t q, const clarke_number *x)
{
  fmpq_t f;

  if (x->exact) {
    mpq_set(q, x->q);
    return;
  }
  fmpq_init(f);
  arf_get_fmpq(f, arb_midref(x->b));
  fmpq_get_mpq(q, f);
  fmpq_clear(f);
}

char *
clarke_number_text(const clarke_number *x)
{
  char *text, *copy;

  if (x->exact) {
    text = malloc(mpz_sizeinbase(mpq_numref(x->q), 10) + mpz_sizeinbase(mpq_denref(x->q), 10) + 3);
    return text != NULL ? mpq_get_str(text, 10, x->q) : NULL;
  }
  text = arb_get_str(x->b, 17, ARB_STR_NO_RADIUS);
  copy = text != NULL ? strdup(text) : NULL;
  flint_free(text);
  return copy;
}

double
clarke_number_double(const clarke_number *x)
{
  return x->exact ? mpq_get_d(x->q) : arf_get_d(arb_midref(x->b), ARF_RND_NEAR);
}
