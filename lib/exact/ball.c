#include "exact/ball.h"

#include "exact/upward.h"

#include <math.h>
#include <stdlib.h>

void
clarke_matrix_get_ball(arb_t ball, const clarke_matrix *m, size_t i, size_t j, long precision)
{
  mpz_t word;
  fmpz_t integer;
  arf_t error;

  mpz_init(word);
  fmpz_init(integer);
  clarke_matrix_load(word, m, i, j);
  fmpz_set_mpz(integer, word);
  arb_set_fmpz(ball, integer);
  fmpz_set_si(integer, m->exp);
  arb_mul_2exp_fmpz(ball, ball, integer);
  if (mpz_cmp_ui(m->den, 1) != 0) {
    fmpz_set_mpz(integer, m->den);
    arb_div_fmpz(ball, ball, integer, precision);
  }
  if (m->radius != NULL && m->radius[i * m->cols + j] != 0) {
    arf_init(error);
    arf_set_d(error, m->radius[i * m->cols + j]);
    arb_add_error_arf(ball, error);
    arf_clear(error);
  }
  fmpz_clear(integer);
  mpz_clear(word);
}

/* Rounds the ball's midpoint to word * 2^-precision; returns an upper bound of the distance from
 * there to any point of the ball. */
static double
round_ball(mpz_t word, const arb_t ball, long precision)
{
  arf_t scaled, rounded;
  fmpz_t integer;
  mag_t radius;
  double bound = 0;

  arf_init(scaled);
  arf_init(rounded);
  fmpz_init(integer);
  mag_init(radius);
  arf_mul_2exp_si(scaled, arb_midref(ball), precision);
  arf_get_fmpz(integer, scaled, ARF_RND_NEAR);
  fmpz_get_mpz(word, integer);
  arf_set_fmpz(rounded, integer);
  mag_set(radius, arb_radref(ball));
  if (!arf_equal(scaled, rounded)) {
    mag_t half;

    mag_init(half);
    mag_set_ui_2exp_si(half, 1, -precision - 1);
    mag_add(radius, radius, half);
    mag_clear(half);
  }
  if (!mag_is_zero(radius))
    bound = clarke_above(mag_get_d(radius));
  arf_clear(scaled);
  arf_clear(rounded);
  fmpz_clear(integer);
  mag_clear(radius);
  return bound;
}

clarke_status
clarke_matrix_set_balls(clarke_matrix *m, size_t rows, size_t cols, arb_srcptr balls,
                        long precision, clarke_error *err)
{
  clarke_status status = clarke_matrix_resize(m, rows, cols, (size_t)precision / 64 + 2, err);
  bool exact = true;
  mpz_t word;

  if (status != CLARKE_OK)
    return status;
  m->radius = calloc(rows * cols + 1, sizeof *m->radius);
  if (m->radius == NULL)
    return clarke_no_memory(err);
  m->exp = -precision;
  mpz_init(word);
  for (size_t e = 0; e < rows * cols && status == CLARKE_OK; e++) {
    if (!arb_is_finite(balls + e)) {
      status = clarke_fail(err, CLARKE_EVAGUE, "a value has no finite enclosure");
      break;
    }
    m->radius[e] = round_ball(word, balls + e, precision);
    exact = exact && m->radius[e] == 0;
    status = clarke_matrix_store(m, e / cols, e % cols, word, err);
  }
  mpz_clear(word);
  if (exact) {
    free(m->radius);
    m->radius = NULL;
  }
  return status;
}
