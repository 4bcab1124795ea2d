/* What optimizers take for granted (suite.h): thesis, (1.10), (1.11), (1.16) to (1.18), and chapter 4's Hessian. */
#include "suite_drawn.h"

#include "exact/number.h"

#include <string.h>

#define INPUTS 2

/* --- The Hessian along a path ------------------------------------------------------------------- */

#define NODES 4 /* two products: of degree 4 at most, and its gradient of 3 */
#define STENCIL 4

/* AD's gradient at x + t v + t^2 a. */
static clarke_status
gradient_at(mpq_t *g, clarke_posed *q, const long *x, const long *v, const long *a, long t, clarke_error *err)
{
  for (size_t i = 0; i < INPUTS; i++)
    mpq_set_si(q->at[i], x[i] + t * v[i] + t * t * a[i], 1);
  return clarke_posed_run(q, g, err);
}

/* The derivative by t, at t = 0, of that gradient: of a polynomial of degree 8 at most it is exact. */
static clarke_status
gradient_rate(mpq_t *rate, clarke_posed *q, const long *x, const long *v, const long *a, clarke_error *err)
{
  static const struct {
    long n;
    unsigned long d;
  } weight[STENCIL + 1] = {{0, 1}, {4, 5}, {-1, 5}, {4, 105}, {-1, 280}};
  mpq_t *g = clarke_rationals(INPUTS), by;
  clarke_status status = g != NULL ? CLARKE_OK : clarke_no_memory(err);

  mpq_init(by);
  for (size_t i = 0; i < INPUTS; i++)
    mpq_set_ui(rate[i], 0, 1);
  for (long t = -STENCIL; t <= STENCIL && status == CLARKE_OK; t++) {
    status = gradient_at(g, q, x, v, a, t, err);
    for (size_t i = 0; i < INPUTS && status == CLARKE_OK; i++) {
      mpq_set_si(by, t < 0 ? -weight[-t].n : weight[t].n, weight[t < 0 ? -t : t].d);
      mpq_mul(by, by, g[i]);
      mpq_add(rate[i], rate[i], by);
    }
  }
  mpq_clear(by);
  clarke_rationals_free(g, INPUTS);
  return status;
}

/* to := H v, the Hessian's column j being the gradient's derivative by w_j. */
static clarke_status
hessian_times(mpq_t *to, clarke_posed *q, const long *x, const long *v, clarke_error *err)
{
  mpq_t *column = clarke_rationals(INPUTS), by;
  clarke_status status = column != NULL ? CLARKE_OK : clarke_no_memory(err);

  mpq_init(by);
  for (size_t j = 0; j < INPUTS && status == CLARKE_OK; j++) {
    long along[INPUTS] = {0};
    static const long straight[INPUTS] = {0};

    along[j] = 1;
    status = gradient_rate(column, q, x, along, straight, err);
    for (size_t i = 0; i < INPUTS && status == CLARKE_OK; i++) {
      mpq_set_si(by, v[j], 1);
      mpq_mul(by, by, column[i]);
      mpq_add(to[i], to[i], by);
    }
  }
  mpq_clear(by);
  clarke_rationals_free(column, INPUTS);
  return status;
}

/* *equal: the gradient at x + v less that at x is those numbers. */
static clarke_status
compare_step(bool *equal, mpq_t *product, clarke_posed *q, const long *x, const long *v, clarke_error *err)
{
  static const long straight[INPUTS] = {0};
  mpq_t *g = clarke_rationals(2 * INPUTS);
  clarke_status status = g != NULL ? gradient_at(g, q, x, v, straight, 0, err) : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = gradient_at(g + INPUTS, q, x, v, straight, 1, err);
  *equal = status == CLARKE_OK;
  for (size_t i = 0; i < INPUTS && status == CLARKE_OK; i++) {
    mpq_sub(g[i], g[INPUTS + i], g[i]);
    *equal = *equal && mpq_equal(g[i], product[i]);
  }
  clarke_rationals_free(g, 2 * INPUTS);
  return status;
}

/* Along a curved path the gradient changes by the Hessian times the velocity. Of polynomials of degree 2 a step's difference of gradients is
 * the Hessian times the step; those of which it is not differ, and have a higher degree. */
clarke_status
clarke_suite_hessians(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const bool quadratic = clarke_draw_below(d, 2);
  mpq_t *product = clarke_rationals(2 * INPUTS), *rate = product + INPUTS;
  long x[INPUTS], v[INPUTS], a[INPUTS];
  bool equal = true, step = true;
  clarke_drawn p;
  clarke_posed q;
  clarke_status status = product != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_draw_point(x, d, INPUTS);
  clarke_draw_point(v, d, INPUTS);
  clarke_draw_point(a, d, INPUTS);
  clarke_drawn_draw(&p, d, x, INPUTS, NODES, CLARKE_DRAWN_RELU, false);
  for (size_t i = 1; i < NODES; i += 2)
    p.node[i].kind = i == 1 || !quadratic ? CLARKE_DRAWN_PRODUCT : CLARKE_DRAWN_LINEAR;
  clarke_posed_init(&q);
  if (status == CLARKE_OK)
    status = clarke_drawn_pose(&q, &p, x, 1, err);
  if (status == CLARKE_OK)
    status = hessian_times(product, &q, x, v, err);
  if (status == CLARKE_OK)
    status = gradient_rate(rate, &q, x, v, a, err);
  if (status == CLARKE_OK)
    status = compare_step(&step, product, &q, x, v, err);
  for (size_t i = 0; i < INPUTS && status == CLARKE_OK; i++)
    equal = equal && mpq_equal(product[i], rate[i]);
  if (status == CLARKE_OK) {
    t->of[CLARKE_COUNT_DIFFER] += !step;
    clarke_suite_add(t, equal && (step || !quadratic) ? CLARKE_YES : CLARKE_NO);
  }
  clarke_posed_clear(&q);
  clarke_rationals_free(product, 2 * INPUTS);
  return status;
}

/* --- Moving averages ---------------------------------------------------------------------------- */

#define MOST_STEPS 6

/* Rules as programs of the gradients, step by step: theta by (1.10), (1.11) from theta_0 = t0 with the steps 1 / (k + 2); m-hat by (1.16) and
 * (1.18). beta: in tenths. */
static clarke_status
pose_rules(clarke_posed *q, const long *g, size_t n, long beta, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t.to, "input t0, g[%zu]\nlet m0 = 0\nlet p0 = 1\n", n);
  for (size_t k = 0; k < n; k++) {
    fprintf(t.to, "let m%zu = %ld/10*m%zu + (1 - %ld/10)*g[%zu]\n", k + 1, beta, k, beta, k);
    fprintf(t.to, "let p%zu = p%zu*%ld/10\nlet t%zu = t%zu - m%zu/%zu\n", k + 1, k, beta, k + 1, k, k + 1, k + 2);
  }
  fprintf(t.to, "output t%zu, m%zu/(1 - p%zu)\n", n, n, n);
  return clarke_posed_read(q, &t, g, n + 1, err);
}

/* weight := beta^k, beta in tenths. */
static void
set_power(mpq_t weight, long beta, size_t k)
{
  mpq_set_ui(weight, 1, 1);
  mpz_ui_pow_ui(mpq_numref(weight), (unsigned long)beta, k);
  mpz_ui_pow_ui(mpq_denref(weight), 10, k);
  mpq_canonicalize(weight);
}

/* to := the mean of the first n gradients, weighted with beta^(n - i), the weights' sum being 1, or as it is without. */
static void
set_average(mpq_t to, const long *g, size_t n, long beta, bool whole)
{
  mpq_t sum, weight, x;

  mpq_inits(sum, weight, x, NULL);
  mpq_set_ui(to, 0, 1);
  for (size_t i = 0; i < n; i++) {
    set_power(weight, beta, n - 1 - i);
    mpq_add(sum, sum, weight);
    mpq_set_si(x, g[i], 1);
    mpq_mul(x, x, weight);
    mpq_add(to, to, x);
  }
  if (!whole)
    mpq_set_si(sum, 10, (unsigned long)(10 - beta));
  mpq_canonicalize(sum);
  mpq_div(to, to, sum);
  mpq_clears(sum, weight, x, NULL);
}

/* theta_n = theta_0 less the sum of the steps times (1 - beta) sum_i beta^(k - i) g_i, and m-hat is the mean of the gradients with weights
 * beta^(n - i). Those differ whose m-hat is not what it is without (1.18). */
clarke_status
clarke_suite_averages(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const size_t n = 1 + clarke_draw_below(d, MOST_STEPS);
  const long beta = clarke_draw_between(d, 1, 9);
  long g[MOST_STEPS + 1]; /* theta_0, then the gradients */
  clarke_posed q;
  mpq_t theta, x, step;
  clarke_status status;

  for (size_t i = 0; i <= n; i++)
    g[i] = clarke_draw_between(d, -9, 9);
  clarke_posed_init(&q);
  mpq_inits(theta, x, step, NULL);
  mpq_set_si(theta, g[0], 1);
  for (size_t k = 1; k <= n; k++) {
    set_average(x, g + 1, k, beta, false);
    mpq_set_ui(step, 1, k + 1);
    mpq_mul(x, x, step);
    mpq_sub(theta, theta, x);
  }
  status = pose_rules(&q, g, n, beta, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, NULL, err);
  if (status == CLARKE_OK) {
    const clarke_number *said = q.d.execution.value;
    const bool same = mpq_equal(said[q.p.output[0]].q, theta);

    set_average(x, g + 1, n, beta, true);
    clarke_suite_add(t, same && mpq_equal(said[q.p.output[1]].q, x) ? CLARKE_YES : CLARKE_NO);
    set_average(theta, g + 1, n, beta, false);
    t->of[CLARKE_COUNT_DIFFER] += !mpq_equal(theta, x);
  }
  mpq_clears(theta, x, step, NULL);
  clarke_posed_clear(&q);
  return status;
}
