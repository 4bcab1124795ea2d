/* Backward and forward mode: what they compute, and what they cost (thesis, Algorithms 1 and 2, Theorem 3). */
#include "suite_drawn.h"

#include "cost/program.h"

#include <string.h>

/* --- forward mode ------------------------------------------------------------------------------ */

/* AD's number at a kink at 0, by a node's choice (suite_drawn.c), and what a tied maximum takes of its first entry. */
static const struct {
  long n, d;
} numbers[] = {{0, 1}, {0, 1}, {1, 1}, {1, 2}, {7, 3}, {-2, 1}}, firsts[] = {{1, 2}, {1, 1}, {0, 1}, {1, 2}, {-1, 4}, {5, 2}};

/* By what a node's derivative multiplies those of its arguments, at points of integers. */
static void
slopes_of(mpq_t slope[2], const clarke_drawn_node *v, long a, long b)
{
  mpq_set_si(slope[1], 0, 1);
  switch (v->kind) {
  case CLARKE_DRAWN_LINEAR:
    mpq_set_si(slope[0], v->of[0], 1);
    mpq_set_si(slope[1], v->of[1], 1);
    return;
  case CLARKE_DRAWN_PRODUCT:
    mpq_set_si(slope[0], b, 1);
    mpq_set_si(slope[1], a, 1);
    return;
  case CLARKE_DRAWN_MAX:
    mpq_set_si(slope[0], a > b, 1);
    if (a == b)
      mpq_set_si(slope[0], firsts[v->choice].n, (unsigned long)firsts[v->choice].d);
    mpq_set_si(slope[1], 1, 1);
    mpq_sub(slope[1], slope[1], slope[0]);
    return;
  default:
    mpq_set_si(slope[0], a > 0 ? 1 : v->kind == CLARKE_DRAWN_ABS ? -1 : 0, 1);
    if (a == 0)
      mpq_set_si(slope[0], numbers[v->choice].n, (unsigned long)numbers[v->choice].d);
  }
}

/* Derivatives of all nodes by one input, forward, in `tangent`. */
static void
push_forward(mpq_t *tangent, const clarke_drawn *p, const long *at, size_t input)
{
  mpq_t slope[2], x;

  mpq_inits(slope[0], slope[1], x, NULL);
  for (size_t i = 0; i < p->n_inputs; i++)
    mpq_set_si(tangent[i], i == input, 1);
  for (size_t i = 0; i < p->n; i++) {
    const clarke_drawn_node *v = &p->node[i];
    mpq_t *to = &tangent[p->n_inputs + i];

    slopes_of(slope, v, clarke_drawn_value(p, at, v->a), clarke_drawn_value(p, at, v->b));
    mpq_mul(x, slope[0], tangent[v->a]);
    mpq_mul(*to, slope[1], tangent[v->b]);
    mpq_add(*to, *to, x);
  }
  mpq_clears(slope[0], slope[1], x, NULL);
}

/* AD's output, which is found backward, is what derivatives pushed forward are, at kinks too. */
clarke_status
clarke_suite_modes(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  long at[MOST_INPUTS];
  mpq_t *g = clarke_rationals(2 * MOST_INPUTS + MOST_NODES), *tangent = g + MOST_INPUTS;
  clarke_drawn p;
  clarke_posed q;
  bool equal = true;
  clarke_status status = g != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_draw_point(at, d, MOST_INPUTS);
  clarke_drawn_draw(&p, d, at, MOST_INPUTS, MOST_NODES - 2, CLARKE_DRAWN_PRODUCT, true);
  clarke_posed_init(&q);
  if (status == CLARKE_OK)
    status = clarke_drawn_pose(&q, &p, at, 1, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, g, err);
  t->of[CLARKE_COUNT_TOUCHED] += status == CLARKE_OK ? q.d.execution.n_touched : 0;
  for (size_t i = 0; i < MOST_INPUTS && status == CLARKE_OK; i++) {
    push_forward(tangent, &p, at, i);
    equal = equal && mpq_equal(tangent[p.n_inputs + p.n - 1], g[i]);
  }
  if (status == CLARKE_OK)
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  clarke_posed_clear(&q);
  clarke_rationals_free(g, 2 * MOST_INPUTS + MOST_NODES);
  return status;
}

/* --- costs ------------------------------------------------------------------------------------- */

/* Is a cost at most so many times another one? */
static bool
within(const clarke_amount *a, const mpq_t times, const clarke_amount *of, const clarke_prices *prices)
{
  mpq_t x, y;
  bool is;

  mpq_inits(x, y, NULL);
  clarke_amount_price(x, a, prices);
  clarke_amount_price(y, of, prices);
  mpq_mul(y, y, times);
  is = mpq_cmp(x, y) <= 0;
  mpq_clears(x, y, NULL);
  return is;
}

/* Theorem 3 for a counted program: both modes stay within their bounds, the backward one's being at most 5 where all operations cost 1. */
static clarke_truth
bounds_hold(const clarke_count *c, size_t entries)
{
  clarke_amount cost, backward, forward;
  clarke_prices prices;
  mpz_t p;
  mpq_t omega, omega_forward;
  bool hold;

  clarke_prices_init(&prices);
  clarke_amount_init(&cost);
  clarke_amount_init(&backward);
  clarke_amount_init(&forward);
  mpz_init_set_ui(p, entries);
  mpq_inits(omega, omega_forward, NULL);
  clarke_count_cost(&cost, c);
  clarke_count_backward(&backward, c);
  clarke_count_forward(&forward, c, p);
  hold = clarke_count_omega(omega, c, &prices) && clarke_count_omega_forward(omega_forward, c, p, &prices);
  hold = hold && mpq_cmp_ui(omega, 5, 1) <= 0 && within(&backward, omega, &cost, &prices) && within(&forward, omega_forward, &cost, &prices);
  mpq_clears(omega, omega_forward, NULL);
  mpz_clear(p);
  clarke_amount_clear(&forward);
  clarke_amount_clear(&backward);
  clarke_amount_clear(&cost);
  clarke_prices_clear(&prices);
  return hold ? CLARKE_YES : CLARKE_NO;
}

/* Drawn programs of sums, products and ReLUs. */
clarke_status
clarke_suite_costs(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  long at[MOST_INPUTS];
  clarke_drawn p;
  clarke_posed q;
  clarke_count c;
  clarke_status status;

  clarke_draw_point(at, d, MOST_INPUTS);
  clarke_drawn_draw(&p, d, at, MOST_INPUTS, MOST_NODES, CLARKE_DRAWN_RELU, false);
  for (size_t i = 1; i < p.n; i += 2)
    p.node[i].kind = clarke_draw_below(d, 2) == 0 ? CLARKE_DRAWN_RELU : CLARKE_DRAWN_PRODUCT;
  clarke_posed_init(&q);
  clarke_count_init(&c);
  status = clarke_drawn_pose(&q, &p, at, 1, err);
  if (status == CLARKE_OK)
    status = clarke_count_program(&c, &q.p, err);
  if (status == CLARKE_OK)
    clarke_suite_add(t, bounds_hold(&c, MOST_INPUTS));
  clarke_count_clear(&c);
  clarke_posed_clear(&q);
  return status;
}

/* --- costs of elementary functions ------------------------------------------------------------- */

/* Holds if the program, which is read, costs plain + signs c_R, with c_R drawn in quarters. */
static clarke_status
add_cost(clarke_suite_counts *t, clarke_draws *d, clarke_text *text, size_t entries, size_t plain, size_t signs, clarke_error *err)
{
  clarke_posed q;
  clarke_count c;
  clarke_amount cost;
  clarke_prices prices;
  mpq_t x, y;
  clarke_status status;

  clarke_posed_init(&q);
  clarke_count_init(&c);
  clarke_amount_init(&cost);
  clarke_prices_init(&prices);
  mpq_inits(x, y, NULL);
  mpq_set_si(prices.of[CLARKE_SIGN], clarke_draw_between(d, 0, 20), 4);
  mpq_canonicalize(prices.of[CLARKE_SIGN]);
  prices.given[CLARKE_SIGN] = true;
  status = clarke_posed_read(&q, text, NULL, entries, err);
  if (status == CLARKE_OK)
    status = clarke_count_program(&c, &q.p, err);
  if (status == CLARKE_OK) {
    clarke_count_cost(&cost, &c);
    clarke_amount_price(x, &cost, &prices);
    mpq_set_ui(y, signs, 1);
    mpq_mul(y, y, prices.of[CLARKE_SIGN]);
    mpq_set_ui(prices.of[CLARKE_SIGN], plain, 1);
    mpq_add(y, y, prices.of[CLARKE_SIGN]);
    clarke_suite_add(t, mpq_equal(x, y) ? CLARKE_YES : CLARKE_NO);
  }
  mpq_clears(x, y, NULL);
  clarke_prices_clear(&prices);
  clarke_amount_clear(&cost);
  clarke_count_clear(&c);
  clarke_posed_clear(&q);
  return status;
}

/* Case 10: the maximum of m linear functions of n numbers each costs m (2 n - 1) + (m - 1) c_R. */
clarke_status
clarke_suite_max_linear(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const size_t m = 2 + clarke_draw_below(d, 6), n = 1 + clarke_draw_below(d, 6);
  clarke_text text;
  const clarke_status status = clarke_text_open(&text, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(text.to, "input a[%zu]\noutput max(", m * n);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++)
      fprintf(text.to, "%s%ld*a[%zu]", j > 0 ? " + " : i > 0 ? ", " : "", clarke_draw_between(d, 2, 9), i * n + j);
  fputs(")\n", text.to);
  return add_cost(t, d, &text, m * n, m * (2 * n - 1), m - 1, err);
}

/* Case 12: the 1-norm of n numbers costs n - 1 additions, n products and n comparisons. */
clarke_status
clarke_suite_norm_1(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const size_t n = 1 + clarke_draw_below(d, 13);
  clarke_text text;
  const clarke_status status = clarke_text_open(&text, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(text.to, "input x[%zu]\noutput norm1(x)\n", n);
  return add_cost(t, d, &text, n, 2 * n - 1, n, err);
}
