/* Ranges of forms over a box, in integers. */
#include "check/program/region_box.h"
#include "check/base/allocate.h"

/* z is bounded by -b / a. The common scale is a common multiple of all a. */
void
region_box_set(region_box *box, size_t variables, const integer *const *row)
{
  box->n = variables;
  box->bounds = allocate(2 * box->n + 1, sizeof *box->bounds);
  for (size_t b = 0; b <= 2 * box->n; b++)
    box->bounds[b] = integer_zero();
  integer *scale = &box->bounds[2 * box->n];
  mpz_set_ui(scale, 1);
  for (size_t b = 0; b < 2 * box->n; b++)
    mpz_lcm(scale, scale, &row[b][b / 2]);
  for (size_t b = 0; b < 2 * box->n; b++) {
    mpz_divexact(&box->bounds[b], scale, &row[b][b / 2]);
    mpz_mul(&box->bounds[b], &box->bounds[b], &row[b][box->n]);
    mpz_neg(&box->bounds[b], &box->bounds[b]);
  }
}

/* Its least value over the closed box is not below 0, or its largest not above. */
int
region_box_sign(region_box *box, const integer *form)
{
  INTEGER(low);
  INTEGER(high);
  mpz_mul(&low, &form[box->n], &box->bounds[2 * box->n]);
  mpz_set(&high, &low);
  for (size_t k = 0; k < box->n; k++) {
    bool falls = mpz_sgn(&form[k]) < 0;
    mpz_addmul(&low, &form[k], &box->bounds[2 * k + falls]);
    mpz_addmul(&high, &form[k], &box->bounds[2 * k + !falls]);
  }
  return mpz_sgn(&low) >= 0 ? 1 : mpz_sgn(&high) <= 0 ? -1 : REGION_BOX_OPEN;
}
