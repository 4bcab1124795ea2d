/* A loss that is the sum of the network's outputs, which nobody recorded, in doubles (sieve.h): does the loss that was told follow from
 * them, and the gradient that it begins with. */
#include "trace/certify/sieve.h"

#include <math.h>

/* As clarke_roundoff_loss has them. */
#define SPARE 16
/* What is left of a bound that was taken from below (sieve_entries.c). */
#define LEFT (1023.0 / 1024)

bool
clarke_sieve_sums_loss(const clarke_sieve *s)
{
  const size_t producer = s->g->values[s->g->output].producer;

  return s->c->log_softmax == NULL && producer != CLARKE_NONE && clarke_certify_is_loss(s->c, producer);
}

clarke_status
clarke_sieve_loss(clarke_sieve *s, clarke_error *err)
{
  const size_t out = s->g->output, count = s->g->values[out].count * s->n;
  const double gamma = clarke_sieve_gamma(s, (double)count + SPARE);
  clarke_sieve_numbers x;
  double near = 0, off = 0, may = 0, mass = 0;

  if (s->open || (!s->c->by_loss && !(s->c->has_loss && clarke_sieve_sums_loss(s))))
    return CLARKE_OK;
  s->open = s->c->loss->kind != CLARKE_LOSS_SUM;
  if (s->open || !clarke_sieve_read(&x, s, out))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  for (size_t e = 0; e < count; e++) {
    clarke_sieve_plus(&near, &off, clarke_sieve_near(&x, e));
    off += clarke_sieve_off(&x, e);
    may += clarke_sieve_may(&x, e);
    mass += clarke_sieve_size(&x, e) + clarke_sieve_may(&x, e);
  }
  off = clarke_sieve_up(off) + clarke_taken(1, fabs(near - s->c->recorded_loss));
  s->c->loss_shown = !s->open && fabs(near - s->c->recorded_loss) + off <= LEFT * (may + gamma * mass);
  s->open = !s->c->loss_shown;
  return CLARKE_OK;
}

clarke_status
clarke_sieve_seed_sum(clarke_sieve *s, clarke_error *err)
{
  const size_t out = s->g->output, count = s->g->values[out].count * s->n;
  const float scale = (float)mpq_get_d(s->c->scale);
  float *g;
  mpq_t back;

  mpq_init(back);
  if (isfinite(scale))
    mpq_set_d(back, (double)scale);
  s->open = s->open || mpq_equal(back, s->c->scale) == 0;
  mpq_clear(back);
  g = clarke_sieve_take_floats(s, count);
  if (g == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < count; e++)
    g[e] = scale;
  s->grad[out] = (clarke_sieved){.exact = g, .owned = true, .parts = 1, .terms = 1};
  return CLARKE_OK;
}
