#include "step/muon.h"

#include "base/stop.h"

#include <flint/flint.h>

#if __FLINT_RELEASE >= 30000
#include <flint/arb_mat.h>
#else
#include <arb_mat.h>
#endif

#define BITS CLARKE_STEP_PRECISION

static void
to_ball(arb_t y, const clarke_number *x)
{
  fmpq_t exact;

  if (!x->exact) {
    arb_set(y, x->b);
    return;
  }
  fmpq_init(exact);
  fmpq_set_mpq(exact, x->q);
  arb_set_fmpq(y, exact, BITS);
  fmpq_clear(exact);
}

static void
to_ball_q(arb_t y, mpq_srcptr q)
{
  fmpq_t exact;

  fmpq_init(exact);
  fmpq_set_mpq(exact, q);
  arb_set_fmpq(y, exact, BITS);
  fmpq_clear(exact);
}

/* x over max(its norm, eps). False: that is not known to be above 0. */
static bool
normalize(arb_mat_t x, const clarke_hypers *h)
{
  arb_t norm, eps;
  bool is;

  arb_init(norm);
  arb_init(eps);
  arb_mat_frobenius_norm(norm, x, BITS);
  to_ball_q(eps, h->of[CLARKE_HYPER_EPS]);
  arb_max(norm, norm, eps, BITS);
  is = arb_is_positive(norm) != 0;
  if (is)
    arb_mat_scalar_div_arb(x, x, norm, BITS);
  arb_clear(norm);
  arb_clear(eps);
  return is;
}

/* x = a x + (b y + c y^2) x, y = x x' */
static void
iterate(arb_mat_t x, arb_t of[3])
{
  arb_mat_t flipped, square, both, more;

  arb_mat_init(flipped, arb_mat_ncols(x), arb_mat_nrows(x));
  arb_mat_init(square, arb_mat_nrows(x), arb_mat_nrows(x));
  arb_mat_init(both, arb_mat_nrows(x), arb_mat_nrows(x));
  arb_mat_init(more, arb_mat_nrows(x), arb_mat_ncols(x));
  arb_mat_transpose(flipped, x);
  arb_mat_mul(square, x, flipped, BITS);
  arb_mat_mul(both, square, square, BITS);
  arb_mat_scalar_mul_arb(both, both, of[2], BITS);
  arb_mat_scalar_addmul_arb(both, square, of[1], BITS);
  arb_mat_mul(more, both, x, BITS);
  arb_mat_scalar_addmul_arb(more, x, of[0], BITS);
  arb_mat_swap(x, more);
  arb_mat_clear(flipped);
  arb_mat_clear(square);
  arb_mat_clear(both);
  arb_mat_clear(more);
}

static clarke_status
iterate_all(arb_mat_t x, const clarke_hypers *h, clarke_error *err)
{
  const unsigned long times = mpz_get_ui(mpq_numref(h->of[CLARKE_HYPER_NS_STEPS]));
  clarke_status status = CLARKE_OK;
  arb_t of[3];

  for (int i = 0; i < 3; i++) {
    arb_init(of[i]);
    to_ball_q(of[i], h->of[CLARKE_HYPER_NS_A + i]);
  }
  for (unsigned long i = 0; i < times && status == CLARKE_OK; i++) {
    iterate(x, of);
    status = clarke_work_check(err);
  }
  for (int i = 0; i < 3; i++)
    arb_clear(of[i]);
  return status;
}

clarke_status
clarke_muon_iterate(clarke_number *x, const clarke_step_shape *s, const clarke_hypers *h, clarke_error *err)
{
  const bool flips = s->rows > s->cols;
  arb_mat_t balls;
  clarke_status status;

  arb_mat_init(balls, (long)(flips ? s->cols : s->rows), (long)(flips ? s->rows : s->cols));
  for (size_t i = 0; i < s->n; i++)
    to_ball(arb_mat_entry(balls, flips ? i % s->cols : i / s->cols, flips ? i / s->cols : i % s->cols), &x[i]);
  status = normalize(balls, h) ? iterate_all(balls, h, err)
                               : clarke_fail(err, h->rounding.unit == 0 ? CLARKE_EINPUT : CLARKE_EVAGUE,
                                             "the matrix has a norm that is not known to be above 0, and eps is 0");
  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++) {
    const bool zero = arb_is_zero(arb_mat_entry(balls, flips ? i % s->cols : i / s->cols, flips ? i / s->cols : i % s->cols)) != 0;

    clarke_number_set_si(&x[i], 0);
    x[i].exact = zero;
    if (!zero)
      arb_set(x[i].b, arb_mat_entry(balls, flips ? i % s->cols : i / s->cols, flips ? i / s->cols : i % s->cols));
  }
  arb_mat_clear(balls);
  return status;
}
