/* Two features compared without numbers, a row at a time: in which columns are they the same? */
#include "network/pass/identity/key.h"

#include <string.h>

/* Where two features are still the same. Of those below, `products` says how many may be looked through. */
typedef struct {
  const clarke_identities *ids;
  const double *input;
  uint64_t *same;
} comparison;

static bool
any_same(const comparison *c)
{
  uint64_t any = 0;

  for (size_t j = 0; j < c->ids->n; j++)
    any |= c->same[j];
  return any != 0;
}

static void
none_same(const comparison *c)
{
  memset(c->same, 0, c->ids->n * sizeof *c->same);
}

/* Entries of x, or 0. */
static void
compare_inputs(const comparison *c, size_t a, size_t b)
{
  size_t n = c->ids->n;
  const double *x = c->input + (a != CLARKE_NONE ? a : b) * n;
  const double *y = a != CLARKE_NONE && b != CLARKE_NONE ? c->input + b * n : NULL;

  for (size_t j = 0; y != NULL && j < n; j++)
    c->same[j] = x[j] == y[j] ? c->same[j] : 0;
  for (size_t j = 0; y == NULL && j < n; j++)
    c->same[j] = x[j] == 0 ? c->same[j] : 0;
}

static void compare_features(const comparison *c, size_t value, size_t a, size_t b, size_t products);

/* One output of one weight, of two columns. */
static void
compare_products(const comparison *c, const clarke_step *s, size_t a, size_t b, size_t products)
{
  const clarke_dense *d = &s->dense;
  size_t block_a = a / d->repeat / d->outer, block_b = b / d->repeat / d->outer;

  if (products == 0 || a / d->repeat % d->outer != b / d->repeat % d->outer ||
      (d->grouped && block_a != block_b)) {
    none_same(c);
    return;
  }
  for (size_t i = 0; i < d->inner && any_same(c); i++)
    compare_features(c, s->in[0].value, (block_a * d->inner + i) * d->repeat + a % d->repeat,
                     (block_b * d->inner + i) * d->repeat + b % d->repeat, products - 1);
}

static void
compare_sums(const comparison *c, const clarke_step *s, size_t a, size_t b, size_t products)
{
  const clarke_graph *g = c->ids->g;

  for (size_t i = 0; i < s->n_in && any_same(c); i++) {
    const clarke_operand *o = &s->in[i];
    size_t from_a = clarke_operand_entry(o, a), from_b = clarke_operand_entry(o, b);

    if (from_a == CLARKE_NONE || from_b == CLARKE_NONE || !g->values[o->value].constant)
      compare_features(c, o->value, from_a, from_b, products);
    else if (clarke_coefficient(g, o->value, from_a) != clarke_coefficient(g, o->value, from_b))
      none_same(c);
  }
}

static void
compare_features(const comparison *c, size_t value, size_t a, size_t b, size_t products)
{
  const clarke_step *s = clarke_identities_producer(c->ids, value);

  if (a == b)
    return;
  if (value == c->ids->g->input)
    compare_inputs(c, a, b);
  else if (a == CLARKE_NONE || b == CLARKE_NONE || s == NULL)
    none_same(c);
  else if (s->kind == CLARKE_GATHER)
    compare_features(c, s->in[0].value, clarke_operand_entry(&s->in[0], a), clarke_operand_entry(&s->in[0], b),
                     products);
  else if (s->kind == CLARKE_ANALYTIC || (s->kind == CLARKE_PIECEWISE && s->pieces.slope == CLARKE_NONE))
    compare_features(c, s->in[0].value, a, b, products);
  else if (s->kind == CLARKE_SUM)
    compare_sums(c, s, a, b, products);
  else if (s->kind == CLARKE_DENSE)
    compare_products(c, s, a, b, products);
  else
    none_same(c);
}

void
clarke_identity_compare(uint64_t *same, const clarke_identities *ids, const double *input,
                        size_t value, size_t a, size_t b)
{
  comparison c = {ids, input, same};

  compare_features(&c, value, a, b, 1);
}
