/* Signs of hyperplanes (circuit.h). */
#include "check/program/circuit.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"

#include <stdlib.h>

void
make_primitive(integer *x, size_t n)
{
  INTEGER(common);
  for (size_t i = 0; i < n && mpz_cmp_ui(&common, 1) != 0; i++)
    mpz_gcd(&common, &common, &x[i]);
  for (size_t i = 0; i < n && mpz_cmp_ui(&common, 1) > 0; i++)
    mpz_divexact(&x[i], &x[i], &common);
}

static void
next_integer(integer *x)
{
  RATIONAL(value);
  next_rational(&value);
  require(mpz_cmp_ui(mpq_denref(&value), 1) == 0, "integers are expected");
  mpz_set(x, mpq_numref(&value));
}

circuit
circuit_read(const hyperplanes *all)
{
  circuit c = {0, NULL, NULL};
  integer *sum = allocate(all->width, sizeof *sum);
  INTEGER(value);
  for (size_t i = 0; i < all->width; i++)
    sum[i] = integer_zero();
  while (more_words()) {
    size_t number = next_number();
    next_integer(&value);
    const integer *vector = all->at(all->of, number).vector;
    require(vector != NULL && (c.n == 0 || number > c.number[c.n - 1]),
            "%ss that there are, in increasing order, are expected", all->noun);
    require(mpz_sgn(&value) != 0, "integers that are not 0 are expected");
    for (size_t i = 0; i < all->width; i++)
      mpz_addmul(&sum[i], &value, &vector[i]);
    c.number = grow(c.number, c.n, sizeof *c.number);
    c.sign = grow(c.sign, c.n, sizeof *c.sign);
    c.number[c.n] = number;
    c.sign[c.n++] = (signed char)mpz_sgn(&value);
  }
  for (size_t i = 0; i < all->width; i++) {
    require(mpz_sgn(&sum[i]) == 0, "the combination of the %ss is not 0", all->noun);
    mpz_clear(&sum[i]);
  }
  free(sum);
  return c;
}

void
circuit_free(circuit *c)
{
  free(c->number);
  free(c->sign);
}

signed char
circuit_refutes(const circuit *c, size_t k, size_t number, const hyperplanes *all)
{
  size_t others = 0;
  signed char turn = 0, own = 0;
  for (size_t i = 0; i < c->n; i++) {
    signed char s = (signed char)(all->at(all->of, c->number[i]).sign * c->sign[i]);
    if (c->number[i] == number) {
      own = c->sign[i];
      continue;
    }
    require(s != 0 && (others == 0 || s == turn), "the signs given do not stand as in circuit %zu, nor all opposite",
            k);
    turn = s;
    others++;
  }
  require(others > 0, "circuit %zu has no other %s", k, all->noun);
  require(number == NONE || own != 0, "circuit %zu has no %s %zu", k, all->noun, number);
  return (signed char)(turn * own);
}

void
next_point(integer *x, size_t n)
{
  for (size_t i = 0; i < n; i++)
    next_integer(&x[i]);
}

void
require_side(const integer *x, const hyperplanes *all, size_t number)
{
  const hyperplane h = all->at(all->of, number);
  INTEGER(product);
  for (size_t i = 0; i < all->width; i++)
    mpz_addmul(&product, &x[i], &h.vector[i]);
  require(h.sign != 0 && mpz_sgn(&product) == h.sign, "the point is not on the side given of %s %zu", all->noun,
          number);
}
