/* Where a number has the derivatives d by a sample's outputs z, the cross entropy has by it the sum of (d[i] - d[y]) exp(z[i]) over
 * that of exp(z), y being the label. It is a sum over the distinct z: of exp(z) times the sum of d[i] - d[y] over the i with that z.
 * So it is 0 where all of these are. They are derivatives themselves, of rational combinations of the outputs. */
#include "check/smooth/entropy.h"
#include "check/base/allocate.h"
#include "check/base/elementary.h"
#include "check/kernel/gradient.h"

#include <stdlib.h>

void
entropy_slopes(const point *p, interval *d, size_t n, size_t sample)
{
  interval_softmax(d, d, n, 1, false);
  interval_add(&d[mpz_get_ui(mpq_numref(&p->target->value[sample]))], &exactly_one, &minus_one);
}

static const interval *
output_value(const point *p, size_t sample, size_t i)
{
  return value_at(p, p->net->output, output_entry(p, sample * p->net->n_outputs + i));
}

static bool
is_rational(const point *p, const bool *asked)
{
  for (size_t i = 0; i < p->net->n_outputs; i++)
    for (size_t b = 0; b < p->net->batch; b++)
      if (asked[b] && !interval_exact(output_value(p, b, i)))
        return false;
  return true;
}

/* The sum over all outputs that are equal to output i, of which none comes before it. */
static void
sum_origins(const point *p, const cell *c, size_t sample, size_t i, origins *of)
{
  size_t n = p->net->n_outputs, label = mpz_get_ui(mpq_numref(&p->target->value[sample]));
  const interval *z = output_value(p, sample, i);
  rational *seed = rationals(n);
  for (size_t k = i; k < n; k++)
    if (mpq_equal(&output_value(p, sample, k)->lo, &z->lo)) {
      add_multiple(&seed[k], &plus_one, &plus_one);
      add_multiple(&seed[label], &plus_one, &minus_one);
    }
  seeded_origins(p, c, sample, seed, of);
  rationals_free(seed, n);
}

static bool
is_first(const point *p, size_t sample, size_t i)
{
  for (size_t k = 0; k < i; k++)
    if (mpq_equal(&output_value(p, sample, k)->lo, &output_value(p, sample, i)->lo))
      return false;
  return true;
}

bool
entropy_origins(const point *p, const cell *c, origins *of)
{
  const network *net = p->net;
  if (p->loss != LOSS_CE || net->apart != net->batch)
    return false;
  bool *asked = allocate(net->batch, sizeof *asked); /* where a kink is touched */
  for (size_t k = 0; k < p->n_touched; k++)
    asked[p->touched[k].entry % net->batch] = !loss_ignores(p, p->touched[k].entry % net->batch);
  bool all = is_rational(p, asked);
  for (size_t b = 0; b < net->batch; b++)
    for (size_t i = 0; i < net->n_outputs && all && asked[b]; i++)
      if (is_first(p, b, i))
        sum_origins(p, c, b, i, of);
  free(asked);
  return all;
}
