/* Strict systems (strict.h). */
#include "exact/strict.h"

#include <flint/fmpq.h>
#include <flint/fmpz.h>

/* u = the weights over a common denominator. */
static void
integer_weights(fmpz_mat_t u, const fmpq_mat_t weight)
{
  fmpz_t common;

  fmpz_init_set_ui(common, 1);
  for (slong i = 0; i < fmpz_mat_nrows(u); i++)
    fmpz_lcm(common, common, fmpq_denref(fmpq_mat_entry(weight, i, 0)));
  for (slong i = 0; i < fmpz_mat_nrows(u); i++) {
    fmpz *entry = fmpz_mat_entry(u, i, 0);

    fmpz_divexact(entry, common, fmpq_denref(fmpq_mat_entry(weight, i, 0)));
    fmpz_mul(entry, entry, fmpq_numref(fmpq_mat_entry(weight, i, 0)));
  }
  fmpz_clear(common);
}

clarke_status
clarke_strict_by_norm(clarke_cone *cone, const fmpz_mat_t a, clarke_error *err)
{
  const slong rows = fmpz_mat_nrows(a), cols = fmpz_mat_ncols(a);
  fmpz_mat_t x;
  fmpq_mat_t weight;
  fmpz_t den;
  bool found;
  clarke_status status;

  clarke_cone_clear(cone);
  clarke_cone_init(cone);
  fmpz_mat_clear(cone->d);
  fmpz_mat_clear(cone->u);
  fmpz_mat_init(cone->d, cols, 1);
  fmpz_mat_init(cone->u, rows, 1);
  fmpz_mat_init(x, 1, cols);
  fmpq_mat_init(weight, rows, 1);
  fmpz_init(den);
  status = clarke_wolfe(&found, x, den, weight, a, err);
  if (status == CLARKE_OK && found) {
    cone->answer = fmpz_mat_is_zero(x) ? CLARKE_CONE_EMPTY : CLARKE_CONE_FEASIBLE;
    fmpz_mat_transpose(cone->d, x);
    integer_weights(cone->u, weight);
  }
  if (status == CLARKE_OK && found && !clarke_cone_verify(cone, a))
    status = clarke_fail(err, CLARKE_EINTERNAL, "a strict system's certificate failed");
  fmpz_mat_clear(x);
  fmpq_mat_clear(weight);
  fmpz_clear(den);
  return status;
}

clarke_status
clarke_strict_solve(clarke_cone *cone, const fmpz_mat_t a, clarke_error *err)
{
  clarke_status status = clarke_cone_solve(cone, a, CLARKE_CONE_WORK, err);

  if (status != CLARKE_OK || cone->answer != CLARKE_CONE_UNKNOWN)
    return status;
  return clarke_strict_by_norm(cone, a, err);
}
