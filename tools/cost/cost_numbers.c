/* The thesis' numbers of a count, as texts. */
#include "cost_report.h"

#include <stdlib.h>
#include <string.h>

void
clarke_cost_numbers_clear(clarke_cost_numbers *n)
{
  free(n->cost);
  free(n->backward);
  free(n->forward_mode);
  free(n->ratio);
  free(n->forward_ratio);
  free(n->omega);
  free(n->omega_forward);
  memset(n, 0, sizeof *n);
}

static char *
price(const clarke_amount *a, const clarke_prices *prices, bool letters)
{
  char *text;
  mpq_t q;

  if (letters)
    return clarke_amount_text(a, prices);
  mpq_init(q);
  clarke_amount_price(q, a, prices);
  text = clarke_price_text(q);
  mpq_clear(q);
  return text;
}

/* A number, unless there is none. */
static char *
bounded(const mpq_t q, bool is)
{
  return is ? clarke_price_text(q) : strdup("unbounded");
}

static char *
ratio(const clarke_amount *above, const clarke_amount *below, const clarke_prices *prices, bool letters)
{
  char *text;
  mpq_t q;

  if (letters)
    return clarke_amount_ratio_text(above, below, prices);
  mpq_init(q);
  text = clarke_amount_ratio(q, above, below, prices) ? clarke_price_text(q) : strdup(mpq_sgn(q) == 0 ? "0" : "unbounded");
  mpq_clear(q);
  return text;
}

static char *
omega(const clarke_count *c, const clarke_prices *prices, bool letters)
{
  char *text;
  mpq_t q;

  if (letters)
    return clarke_count_omega_text(c, prices);
  mpq_init(q);
  text = bounded(q, clarke_count_omega(q, c, prices));
  mpq_clear(q);
  return text;
}

static char *
omega_forward(const clarke_count *c, const mpz_t p, const clarke_prices *prices)
{
  char *text;
  mpq_t q;

  mpq_init(q);
  text = bounded(q, clarke_count_omega_forward(q, c, p, prices));
  mpq_clear(q);
  return text;
}

clarke_status
clarke_cost_numbers_find(clarke_cost_numbers *n, const clarke_count *c, const mpz_t p, const clarke_prices *prices, bool letters,
                         clarke_error *err)
{
  clarke_amount cost, backward, forward;

  clarke_amount_init(&cost);
  clarke_amount_init(&backward);
  clarke_amount_init(&forward);
  clarke_count_cost(&cost, c);
  clarke_count_backward(&backward, c);
  clarke_count_forward(&forward, c, p);
  n->cost = price(&cost, prices, letters);
  n->backward = price(&backward, prices, letters);
  n->forward_mode = price(&forward, prices, letters);
  n->ratio = ratio(&backward, &cost, prices, letters);
  n->forward_ratio = ratio(&forward, &cost, prices, letters);
  n->omega = omega(c, prices, letters);
  n->omega_forward = omega_forward(c, p, prices);
  clarke_amount_clear(&cost);
  clarke_amount_clear(&backward);
  clarke_amount_clear(&forward);
  return n->cost != NULL && n->backward != NULL && n->forward_mode != NULL && n->ratio != NULL && n->forward_ratio != NULL
             && n->omega != NULL && n->omega_forward != NULL ? CLARKE_OK : clarke_no_memory(err);
}
