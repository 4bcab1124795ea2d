#include "cost/directions.h"

void
clarke_directions_cost(mpz_t cost, size_t p)
{
  mpz_set_ui(cost, p);
  mpz_mul_ui(cost, cost, p);
  mpz_mul_ui(cost, cost, 6);
  mpz_add_ui(cost, cost, p);
  mpz_add_ui(cost, cost, p);
}

void
clarke_product_naive(mpz_t cost, size_t p)
{
  mpz_set_ui(cost, p);
  mpz_add(cost, cost, cost);
  mpz_sub_ui(cost, cost, 1);
  mpz_mul_ui(cost, cost, p);
  mpz_mul_ui(cost, cost, p);
}

/* c(2 n) = 7 c(n) + additions n^2, from the naive size up. */
void
clarke_product_by_seven(mpz_t cost, size_t p, size_t additions, size_t cutoff)
{
  size_t n = p;
  mpz_t square;

  while (n % 2 == 0 && n > cutoff)
    n /= 2;
  mpz_init(square);
  clarke_product_naive(cost, n);
  for (; n < p; n *= 2) {
    mpz_set_ui(square, n);
    mpz_mul_ui(square, square, n);
    mpz_mul_ui(cost, cost, 7);
    mpz_addmul_ui(cost, square, additions);
  }
  mpz_clear(square);
}

void
clarke_directions_ratio(mpq_t ratio, mpq_t stated, const mpz_t c, size_t p)
{
  clarke_directions_cost(mpq_denref(ratio), p);
  mpz_mul_ui(mpq_denref(ratio), mpq_denref(ratio), 5);
  mpz_set_ui(mpq_denref(stated), p);
  mpz_mul_ui(mpq_denref(stated), mpq_denref(stated), p);
  mpz_mul_ui(mpq_denref(stated), mpq_denref(stated), 40);
  mpz_set(mpq_numref(ratio), c);
  for (int k = 0; k < 5; k++)
    mpz_sub_ui(mpq_numref(ratio), mpq_numref(ratio), p);
  mpz_set(mpq_numref(stated), mpq_numref(ratio));
  mpq_canonicalize(ratio);
  mpq_canonicalize(stated);
}

clarke_signs
clarke_orthogonal_signs(size_t p)
{
  if (p > 0 && (p & (p - 1)) == 0)
    return CLARKE_SIGNS_SYLVESTER;
  return p % 4 != 0 ? CLARKE_SIGNS_NONE : CLARKE_SIGNS_NOT_SAID;
}

int
clarke_sylvester(size_t i, size_t j)
{
  return __builtin_parityll(i & j) ? -1 : 1;
}
