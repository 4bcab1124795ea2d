/* The strict cone by the element of least norm of the rows' hull (cone_block.h): 0, and its weights are a Gordan vector, or a
 * direction itself. The way out where floats cannot see the margin. */
#include "exact/cone_norm.h"

#include "exact/cone_block.h"

#include "exact/wolfe.h"

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
clarke_cone_norm(clarke_cone_answer *answer, fmpz_mat_t d, fmpz_mat_t u, const fmpz_mat_t b, uint64_t work,
                 clarke_error *err)
{
  fmpz_mat_t x;
  fmpq_mat_t weight;
  fmpz_t den;
  bool found;
  clarke_status status;

  *answer = CLARKE_CONE_UNKNOWN;
  fmpz_mat_init(x, 1, fmpz_mat_ncols(b));
  fmpq_mat_init(weight, fmpz_mat_nrows(b), 1);
  fmpz_init(den);
  status = clarke_wolfe(&found, x, den, weight, b, work, err);
  if (status == CLARKE_OK && found) {
    fmpz_mat_transpose(d, x);
    integer_weights(u, weight);
    *answer = clarke_cone_strict(b, d)   ? CLARKE_CONE_FEASIBLE
              : clarke_cone_gordan(b, u) ? CLARKE_CONE_EMPTY
                                         : CLARKE_CONE_UNKNOWN;
  }
  fmpz_mat_clear(x);
  fmpq_mat_clear(weight);
  fmpz_clear(den);
  return status;
}
