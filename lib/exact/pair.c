#include "exact/pair.h"

#include "exact/upward.h"

#include <math.h>
#include <mpfr.h>

clarke_pair
clarke_pair_of(const mpq_t q)
{
  clarke_pair x = {mpq_get_d(q), 0};
  mpq_t rest;

  if (!isfinite(x.high))
    return x;
  mpq_init(rest);
  mpq_set_d(rest, x.high);
  mpq_sub(rest, q, rest);
  x = clarke_two_sum(x.high, mpq_get_d(rest));
  mpq_clear(rest);
  return x;
}

clarke_pair
clarke_pair_of_root(const mpq_t q)
{
  clarke_pair x;
  mpfr_t y, rest;

  mpfr_init2(y, 256);
  mpfr_init2(rest, 256);
  mpfr_set_q(y, q, MPFR_RNDN);
  mpfr_rec_sqrt(y, y, MPFR_RNDN);
  x.high = mpfr_get_d(y, MPFR_RNDN);
  mpfr_sub_d(rest, y, x.high, MPFR_RNDN);
  x.low = mpfr_get_d(rest, MPFR_RNDN);
  mpfr_clear(y);
  mpfr_clear(rest);
  return x;
}

clarke_pair
clarke_pair_of_ball(double *off, const arb_t ball)
{
  clarke_pair x = {arf_get_d(arb_midref(ball), ARF_RND_NEAR), 0};
  arf_t rest;

  *off = INFINITY;
  if (!arb_is_finite(ball) || !isfinite(x.high))
    return x;
  arf_init(rest);
  arf_set_d(rest, x.high);
  arf_sub(rest, arb_midref(ball), rest, ARF_PREC_EXACT, ARF_RND_DOWN);
  x.low = arf_get_d(rest, ARF_RND_NEAR);
  *off = clarke_up_over(mag_get_d(arb_radref(ball)) + CLARKE_PAIR_UNIT / 2 * fabs(x.high), 8, 0x1p-900);
  arf_clear(rest);
  return x;
}

void
clarke_ball_of_pair(arb_t ball, clarke_pair x)
{
  arf_t low;

  arf_init(low);
  arf_set_d(low, x.low);
  arf_set_d(arb_midref(ball), x.high);
  mag_zero(arb_radref(ball));
  arf_add(arb_midref(ball), arb_midref(ball), low, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_clear(low);
}
