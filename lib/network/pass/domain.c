/* Functions with a domain: rational where they can be, refused outside; those that jump are whole numbers. */
#include "network/pass/domain.h"

#include "exact/number.h"
#include "network/pass/series.h"

#include <math.h>
#include <stdlib.h>

/* Rational results with numerators and denominators of more bits than this are enclosed. */
#define MOST_BITS 1024

/* q, in the domain: the function's value, or slope, if that is rational. */
static bool
apply_rational(mpq_t q, clarke_function function, bool slope)
{
  const bool one = mpq_cmp_ui(q, 1, 1) == 0;

  if (function == CLARKE_LOG && !slope) {
    mpq_set_ui(q, 0, 1);
    return one;
  }
  if (function == CLARKE_SQRT) {
    if (!mpz_perfect_square_p(mpq_numref(q)) || !mpz_perfect_square_p(mpq_denref(q)))
      return false;
    mpz_sqrt(mpq_numref(q), mpq_numref(q));
    mpz_sqrt(mpq_denref(q), mpq_denref(q));
    if (slope)
      mpq_mul_2exp(q, q, 1);
  }
  if (function != CLARKE_SQRT || slope)
    mpq_inv(q, q);
  if (function == CLARKE_RECIPROCAL && slope) {
    mpq_mul(q, q, q);
    mpq_neg(q, q);
  }
  return true;
}

/* Are all entries exact, and all results rational? Then y; else *done is false. */
static clarke_status
rationals_if_few(clarke_matrix *y, bool *done, const clarke_step *s, const clarke_matrix *x, bool slope, clarke_error *err)
{
  const size_t n = x->rows * x->cols;
  mpq_t *q = x->radius == NULL ? clarke_rationals(n) : NULL;
  clarke_status status = CLARKE_OK;
  mpz_t all;

  *done = false;
  if (q == NULL)
    return x->radius == NULL ? clarke_no_memory(err) : CLARKE_OK;
  mpz_init_set_ui(all, 1);
  *done = true;
  for (size_t e = 0; e < n && *done; e++) {
    clarke_matrix_get(q[e], x, e / x->cols, e % x->cols);
    *done = apply_rational(q[e], s->function, slope);
    mpz_lcm(all, all, mpq_denref(q[e]));
    *done = *done && mpz_sizeinbase(all, 2) <= MOST_BITS && mpz_sizeinbase(mpq_numref(q[e]), 2) <= MOST_BITS;
  }
  if (*done)
    status = clarke_matrix_set_rationals(y, x->rows, x->cols, q, err);
  mpz_clear(all);
  clarke_rationals_free(q, n);
  return status;
}

/* A function that jumps, in the domain, or where nothing moves the argument. */
static void
round_to(mpq_t q, clarke_function function)
{
  const int sign = mpq_sgn(q);
  mpz_t twice;

  if (function == CLARKE_ABOVE) {
    mpq_set_ui(q, sign > 0, 1);
    return;
  }
  mpz_init(twice);
  mpz_mul_2exp(twice, mpq_numref(q), 1);
  if (function == CLARKE_ROUND) { /* floor(q + 1/2), but of two the even one */
    mpz_add(twice, twice, mpq_denref(q));
    mpz_mul_2exp(mpq_denref(q), mpq_denref(q), 1);
    if (mpz_divisible_p(twice, mpq_denref(q))) {
      mpz_fdiv_q(twice, twice, mpq_denref(q));
      mpz_sub_ui(twice, twice, mpz_odd_p(twice) ? 1 : 0);
    } else
      mpz_fdiv_q(twice, twice, mpq_denref(q));
  } else
    (function == CLARKE_TRUNCATE ? mpz_tdiv_q : mpz_fdiv_q)(twice, mpq_numref(q), mpq_denref(q));
  mpq_set_z(q, twice);
  mpz_clear(twice);
}

/* Does the function jump at q? */
static bool
jumps_at(const mpq_t q, clarke_function function)
{
  const bool whole = mpz_cmp_ui(mpq_denref(q), 1) == 0;

  return function == CLARKE_ABOVE   ? mpq_sgn(q) == 0
         : function == CLARKE_ROUND ? mpz_cmp_ui(mpq_denref(q), 2) == 0
                                    : whole && (function == CLARKE_FLOOR || mpq_sgn(q) != 0);
}

/* The function's value at entry e, if it is one number near it, and the entry is not where it jumps, or nothing moves it. */
static bool
apply_jump(mpq_t value, const clarke_step *s, const clarke_matrix *x, size_t e)
{
  const size_t i = e / x->cols, j = e % x->cols;
  const double radius = clarke_matrix_radius(x, i, j);
  mpq_t end, off;
  bool one = isfinite(radius);

  mpq_inits(end, off, NULL);
  clarke_matrix_get(value, x, i, j);
  if (one)
    mpq_set_d(off, radius);
  mpq_add(end, value, off);
  mpq_sub(value, value, off);
  one = one && (s->still || (!jumps_at(end, s->function) && !jumps_at(value, s->function)));
  round_to(end, s->function);
  round_to(value, s->function);
  one = one && mpq_equal(value, end);
  if (s->function == CLARKE_TRUNCATE)
    one = one && mpz_cmpabs_ui(mpq_numref(value), 0x7fffffff) <= 0;
  mpq_clears(end, off, NULL);
  return one;
}

static clarke_status
at_jump(bool *vague, const clarke_step *s, const clarke_matrix *x, size_t e, clarke_error *err)
{
  static const char *const where[] = {"above 0", "a whole number", "half of an odd number",
                                      "a whole number other than 0, or too large"};
  const size_t i = e / x->cols, j = e % x->cols;
  const double number = clarke_matrix_get_double(x, i, j);

  *vague = clarke_matrix_radius(x, i, j) != 0;
  if (*vague)
    return clarke_fail(err, CLARKE_EINPUT, "entry %zu of the argument is near %g: it cannot be told whether it is %s, where the "
                       "function jumps", i, number, where[s->function - CLARKE_ABOVE]);
  if (s->function == CLARKE_ABOVE)
    return clarke_fail(err, CLARKE_EINPUT, "entry %zu: what is compared is equal, and the parameters move it. The comparison "
                       "jumps there, and has no generalized derivative; whether what is made of it jumps, too, is not looked for", i);
  return clarke_fail(err, CLARKE_EINPUT, "entry %zu of the argument is %g, %s, and the parameters move it. The function jumps "
                     "there, and has no generalized derivative", i, number, where[s->function - CLARKE_ABOVE]);
}

/* Whole numbers, or the slopes, which are 0. */
static clarke_status
apply_jumps(clarke_matrix *y, bool *vague, const clarke_step *s, const clarke_matrix *x, bool slope, clarke_error *err)
{
  const size_t n = x->rows * x->cols;
  mpq_t *q = clarke_rationals(n);
  clarke_status status = q != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t e = 0; e < n && status == CLARKE_OK; e++) {
    if (s->function != CLARKE_HELD && !apply_jump(q[e], s, x, e))
      status = at_jump(vague, s, x, e, err);
    else if (slope)
      mpq_set_ui(q[e], 0, 1);
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_set_rationals(y, x->rows, x->cols, q, err);
  clarke_rationals_free(q, n);
  return status;
}

static clarke_status
outside(bool *vague, const clarke_step *s, const clarke_matrix *x, size_t e, clarke_error *err)
{
  const bool root = s->function == CLARKE_SQRT;
  const char *where = s->function == CLARKE_RECIPROCAL ? "other than 0" : "above 0";
  const char *what = s->function == CLARKE_RECIPROCAL ? "a division" : root ? "a root" : "a logarithm";
  const double number = clarke_matrix_get_double(x, e / x->cols, e % x->cols);

  *vague = clarke_matrix_radius(x, e / x->cols, e % x->cols) != 0;
  if (*vague)
    return clarke_fail(err, CLARKE_EINPUT, "entry %zu of the argument of %s is near %g: it cannot be told whether it is %s, "
                       "where the function is smooth", e / x->cols, what, number, where);
  return clarke_fail(err, CLARKE_EINPUT, "entry %zu of the argument of %s is %g; expected a number %s, where the function is "
                     "smooth; elsewhere AD computes infinity, NaN or a number by convention", e / x->cols, what, number, where);
}

/* How many bits more than an absolute precision asks for: large arguments have small reciprocals. */
static long
spare_bits(const clarke_matrix *x)
{
  int most = 0, exponent;

  for (size_t e = 0; e < x->rows * x->cols; e++) {
    const double size = clarke_matrix_get_double(x, e / x->cols, e % x->cols);

    if (isfinite(size))
      frexp(size, &exponent);
    else
      exponent = 1024;
    most = exponent > most ? exponent : most;
  }
  return 2 * (long)most;
}

clarke_status
clarke_domain_apply(clarke_matrix *y, bool *vague, const clarke_step *s, const clarke_matrix *x, bool slope, long precision,
                    clarke_error *err)
{
  const size_t n = x->rows * x->cols;
  arb_ptr ball;
  clarke_status status = CLARKE_OK;
  bool done;
  mpq_t zero;

  *vague = false;
  clarke_tally_add(0, 0, n);
  if (s->function == CLARKE_HELD && !slope)
    return clarke_matrix_copy(y, x, err);
  if (clarke_step_jumps(s))
    return apply_jumps(y, vague, s, x, slope, err);
  mpq_init(zero);
  for (size_t e = 0; e < n && status == CLARKE_OK; e++) {
    const int sign = clarke_matrix_compare(x, e / x->cols, e % x->cols, zero);

    if (sign != 1 && !(sign == -1 && s->function == CLARKE_RECIPROCAL))
      status = outside(vague, s, x, e, err);
  }
  mpq_clear(zero);
  if (status == CLARKE_OK)
    status = rationals_if_few(y, &done, s, x, slope, err);
  if (status != CLARKE_OK || done)
    return status;
  precision += spare_bits(x);
  ball = _arb_vec_init((long)n);
  for (size_t e = 0; e < n && status == CLARKE_OK; e++) {
    clarke_matrix_get_ball(ball + e, x, e / x->cols, e % x->cols, 2 * precision);
    (slope ? clarke_analytic_slope : clarke_analytic_value)(ball + e, ball + e, s->function, precision + 10);
    if (!arb_is_finite(ball + e))
      status = outside(vague, s, x, e, err);
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_set_balls(y, x->rows, x->cols, ball, precision, err);
  _arb_vec_clear(ball, (long)n);
  return status;
}

static clarke_status
within_reach(const clarke_step *s, const arb_t x, clarke_error *err)
{
  if ((s->function != CLARKE_SIN && s->function != CLARKE_COS) || arf_cmpabs_2exp_si(arb_midref(x), CLARKE_REACH_ANGLE) < 0)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "its argument is beyond 2^%d", CLARKE_REACH_ANGLE);
}

clarke_status
clarke_analytic_apply(clarke_matrix *y, const clarke_graph *g, const clarke_step *s, const clarke_matrix *x, bool slope, long precision, clarke_error *err)
{
  size_t n = x->rows * x->cols;
  arb_ptr ball;
  clarke_status status = CLARKE_OK;

  clarke_tally_add(0, 0, n);
  if (!slope && clarke_series_has_words(x, s->function, precision))
    return clarke_series_matrix(y, g->kept, x, s->function, precision, err);
  ball = _arb_vec_init((long)n);
  for (size_t e = 0; e < n && status == CLARKE_OK; e++) {
    clarke_matrix_get_ball(ball + e, x, e / x->cols, e % x->cols, 2 * precision);
    status = within_reach(s, ball + e, err);
    if (slope || !clarke_series_ball(ball + e, g->kept, ball + e, s->function, precision + 10))
      (slope ? clarke_analytic_slope : clarke_analytic_value)(ball + e, ball + e, s->function, precision + 10);
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_set_balls(y, x->rows, x->cols, ball, precision, err);
  _arb_vec_clear(ball, (long)n);
  return status;
}
