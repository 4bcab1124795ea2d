#include "build.h"
#include "exact/literal.h"

#include <stdlib.h>
#include <string.h>

mpq_t *
rationals(size_t n)
{
  mpq_t *q = malloc((n + 1) * sizeof *q);

  ck_assert_ptr_nonnull(q);
  for (size_t i = 0; i < n; i++)
    mpq_init(q[i]);
  return q;
}

void
rationals_free(mpq_t *q, size_t n)
{
  for (size_t i = 0; i < n; i++)
    mpq_clear(q[i]);
  free(q);
}

/* The words of a spelling's constants; their number. */
static size_t
read_constants(mpq_t value[4], const char *text)
{
  char words[64];
  size_t n = 0;

  strncpy(words, text != NULL ? text : "", sizeof words - 1);
  words[sizeof words - 1] = '\0';
  for (char *word = strtok(words, " "); word != NULL && n < 4; word = strtok(NULL, " "))
    ck_assert(clarke_literal_parse(value[n++], word));
  return n;
}

size_t
pointwise(clarke_code *p, const char *name, size_t in, size_t n_given, const long (*given)[2])
{
  const clarke_spelling *spelling;
  const clarke_op *op = clarke_operator_spelled(name, &spelling);
  mpq_t *value = rationals(4);
  size_t n, at;

  ck_assert_msg(op != NULL, "no operator is called %s", name);
  n = read_constants(value, spelling->constants);
  ck_assert_uint_le(n_given, spelling->n_required + spelling->n_optional);
  n = n_given > n ? n_given : n;
  for (size_t i = 0; i < n_given; i++) {
    mpq_set_si(value[i], given[i][0], (unsigned long)given[i][1]);
    mpq_canonicalize(value[i]);
  }
  OK(clarke_code_add_pointwise(p, &at, op, in, n, value, err));
  rationals_free(value, 4);
  return at;
}

size_t
linear(clarke_code *p, size_t n, const size_t *in, const long *coef)
{
  mpq_t *c = rationals(n + 1);
  size_t at;

  for (size_t i = 0; i <= n; i++)
    mpq_set_si(c[i], coef[i], 1);
  clarke_code_new_group(p);
  OK(clarke_code_add_linear(p, &at, n, in, c, err));
  rationals_free(c, n + 1);
  return at;
}

size_t
constant(clarke_code *p, long numerator, unsigned long denominator)
{
  size_t at;
  mpq_t q;

  mpq_init(q);
  mpq_set_si(q, numerator, denominator);
  mpq_canonicalize(q);
  OK(clarke_code_add_constant(p, &at, q, err));
  mpq_clear(q);
  return at;
}

size_t
order(clarke_code *p, const char *name, size_t rank, size_t n, const size_t *in)
{
  const clarke_op *op = clarke_operator_find(name);
  size_t at;

  ck_assert_msg(op != NULL, "no operator is named %s", name);
  OK(clarke_code_add_order(p, &at, op, rank, n, in, err));
  return at;
}
