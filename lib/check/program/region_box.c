/* Ranges of forms over a box, in integers. */
#include "check/program/region_box.h"
#include "check/base/allocate.h"

static size_t n;
static integer *bounds; /* of each variable the lower and the upper one, times the number that comes last */

/* z is bounded by -b / a. The common scale is a common multiple of all a. */
void
region_box_set(size_t variables, const integer *const *row)
{
  n = variables;
  bounds = allocate(2 * n + 1, sizeof *bounds);
  for (size_t b = 0; b <= 2 * n; b++)
    bounds[b] = integer_zero();
  integer *scale = &bounds[2 * n];
  mpz_set_ui(scale, 1);
  for (size_t b = 0; b < 2 * n; b++)
    mpz_lcm(scale, scale, &row[b][b / 2]);
  for (size_t b = 0; b < 2 * n; b++) {
    mpz_divexact(&bounds[b], scale, &row[b][b / 2]);
    mpz_mul(&bounds[b], &bounds[b], &row[b][n]);
    mpz_neg(&bounds[b], &bounds[b]);
  }
}

/* Its least value over the closed box is not below 0, or its largest not above. */
int
region_box_sign(const integer *form)
{
  INTEGER(low);
  INTEGER(high);
  mpz_mul(&low, &form[n], &bounds[2 * n]);
  mpz_set(&high, &low);
  for (size_t k = 0; k < n; k++) {
    bool falls = mpz_sgn(&form[k]) < 0;
    mpz_addmul(&low, &form[k], &bounds[2 * k + falls]);
    mpz_addmul(&high, &form[k], &bounds[2 * k + !falls]);
  }
  return mpz_sgn(&low) >= 0 ? 1 : mpz_sgn(&high) <= 0 ? -1 : REGION_BOX_OPEN;
}
