/* Theorems and lemmas of Park, Chun and Lee on dense networks (suite.h). */
#include "suite_kinked.h"

/* How AD's numbers are drawn: one for each kink, or one share of left and right for each layer; at the ends, or between. */
typedef struct {
  bool by_layer, between;
} choice;

/* By a share lambda of the left slope: lambda left + (1 - lambda) right. */
static clarke_kinked_number
mixed(clarke_kinked_number lambda, long left, long right)
{
  return (clarke_kinked_number){lambda.n * left + (lambda.d - lambda.n) * right, lambda.d};
}

static clarke_kinked_number
draw_share(clarke_draws *d, bool between)
{
  static const clarke_kinked_number shares[] = {{0, 1}, {1, 1}, {1, 2}, {1, 3}, {3, 4}, {1, 7}};

  return shares[clarke_draw_below(d, between ? sizeof shares / sizeof *shares : 2)];
}

static void
draw_proxies(clarke_kinked *net, clarke_draws *d, choice how)
{
  for (size_t l = 0; l < net->n_layers; l++) {
    clarke_kinked_layer *layer = &net->layer[l];
    const clarke_kinked_number shared = draw_share(d, how.between);
    long left, right;

    for (size_t s = 0; s < net->samples; s++)
      for (size_t o = 0; o < layer->n_out; o++)
        if (clarke_kinked_touches(layer, s, o, &left, &right))
          layer->proxy[s][o] = mixed(how.by_layer ? shared : draw_share(d, how.between), left, right);
  }
}

/* So many kinks have few patterns. */
#define MOST_TOUCHED 4

/* Draws until some kinks are touched, and the condition holds, if there is one. */
static void
draw_touched(clarke_kinked *net, clarke_draws *d, size_t most_samples, clarke_kinked_bias bias, bool (*condition)(const clarke_kinked *net))
{
  do
    clarke_kinked_draw(net, d, most_samples == 1 ? 1 : 2 + clarke_draw_below(d, most_samples - 1), bias);
  while (clarke_kinked_touched(net) == 0 || clarke_kinked_touched(net) > MOST_TOUCHED || (condition != NULL && !condition(net)));
}

/* Is AD's output in the Bouligand set, or, where that is enough, in the Clarke set? */
static clarke_status
ask_verdict(clarke_suite_counts *t, const clarke_kinked *net, bool clarke, clarke_error *err)
{
  clarke_posed q;
  clarke_status status;

  clarke_posed_init(&q);
  status = clarke_kinked_pose(&q, net, CLARKE_KINKED_LOSS, err);
  if (status == CLARKE_OK)
    status = clarke_posed_derive(&q, err);
  if (status == CLARKE_OK) {
    const clarke_verdict v = q.d.verdict;

    t->of[CLARKE_COUNT_TOUCHED] += clarke_kinked_touched(net);
    t->of[CLARKE_COUNT_DIFFER] += v == CLARKE_IN_CLARKE;
    clarke_suite_add(t, v == CLARKE_UNDECIDED                                            ? CLARKE_UNKNOWN
                        : v == CLARKE_IN_BOULIGAND || (clarke && v == CLARKE_IN_CLARKE) ? CLARKE_YES
                                                                                         : CLARKE_NO);
  }
  clarke_posed_clear(&q);
  return status;
}

/* Theorem 1: one sample, distinct biases, a choice for each kink. */
clarke_status
clarke_suite_theorem_1(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_kinked net;

  draw_touched(&net, d, 1, CLARKE_KINKED_DISTINCT, NULL);
  draw_proxies(&net, d, (choice){false, false});
  return ask_verdict(t, &net, false, err);
}

clarke_status
clarke_suite_theorem_1_clarke(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_kinked net;

  draw_touched(&net, d, 1, CLARKE_KINKED_DISTINCT, NULL);
  draw_proxies(&net, d, (choice){false, true});
  return ask_verdict(t, &net, true, err);
}

/* Theorem 4: several samples, distinct biases, one share a layer. */
clarke_status
clarke_suite_theorem_4(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_kinked net;

  draw_touched(&net, d, MOST_SAMPLES, CLARKE_KINKED_DISTINCT, NULL);
  draw_proxies(&net, d, (choice){true, false});
  return ask_verdict(t, &net, false, err);
}

clarke_status
clarke_suite_theorem_4_clarke(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_kinked net;

  draw_touched(&net, d, MOST_SAMPLES, CLARKE_KINKED_DISTINCT, NULL);
  draw_proxies(&net, d, (choice){true, true});
  return ask_verdict(t, &net, true, err);
}

/* Theorem 6: the same with biases that neurons share. */
clarke_status
clarke_suite_theorem_6(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_kinked net;

  draw_touched(&net, d, MOST_SAMPLES, CLARKE_KINKED_SHARED, NULL);
  draw_proxies(&net, d, (choice){true, true});
  return ask_verdict(t, &net, true, err);
}

/* Are both columns of what the layer takes independent? */
static bool
independent(const clarke_kinked *net, size_t layer)
{
  const size_t n = net->layer[layer].n_in;

  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++)
      if (clarke_kinked_argument(net, layer, 0, i) * clarke_kinked_argument(net, layer, 1, j) !=
          clarke_kinked_argument(net, layer, 0, j) * clarke_kinked_argument(net, layer, 1, i))
        return true;
  return false;
}

static bool
independent_where_touched(const clarke_kinked *net)
{
  for (size_t l = 0; l < net->n_layers; l++) {
    bool touched = false;

    for (size_t s = 0; s < net->samples; s++)
      for (size_t o = 0; o < net->layer[l].n_out; o++)
        touched = touched || clarke_kinked_touches(&net->layer[l], s, o, NULL, NULL);
    if (touched && !independent(net, l))
      return false;
  }
  return true;
}

/* Theorem 5: two samples, no biases, independent columns before layers that touch a kink. */
clarke_status
clarke_suite_theorem_5(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_kinked net;

  draw_touched(&net, d, 2, CLARKE_KINKED_UNBIASED, independent_where_touched);
  draw_proxies(&net, d, (choice){false, false});
  return ask_verdict(t, &net, false, err);
}

/* --- Lemma 12 ---------------------------------------------------------------------------------- */

/* A direction in the layer's parameters alone that leads all its touched kinks to their sides, to first order: drawn entries, or each
 * bias alone. One sample. */
static bool
leads(const clarke_kinked *net, size_t layer, const long *zeta)
{
  const clarke_kinked_layer *l = &net->layer[layer];
  long left, right;

  for (size_t o = 0; o < l->n_out; o++) {
    long rate = zeta[l->bias[o]];

    for (size_t i = 0; i < l->n_in; i++)
      rate += zeta[l->weight[o][i]] * clarke_kinked_argument(net, layer, 0, i);
    if (clarke_kinked_touches(l, 0, o, &left, &right) && (l->proxy[0][o].n == right ? rate <= 0 : rate >= 0))
      return false;
  }
  return true;
}

static void
draw_direction(long *zeta, const clarke_kinked *net, clarke_draws *d, size_t layer)
{
  const clarke_kinked_layer *l = &net->layer[layer];
  long left, right;

  for (int tries = 0; tries < 50; tries++) {
    for (size_t o = 0; o < l->n_out; o++) {
      zeta[l->bias[o]] = clarke_draw_between(d, -3, 3);
      for (size_t i = 0; i < l->n_in; i++)
        zeta[l->weight[o][i]] = clarke_draw_between(d, -3, 3);
    }
    if (leads(net, layer, zeta))
      return;
  }
  for (size_t o = 0; o < l->n_out; o++) {
    for (size_t i = 0; i < l->n_in; i++)
      zeta[l->weight[o][i]] = 0;
    zeta[l->bias[o]] = clarke_kinked_touches(l, 0, o, &left, &right) && l->proxy[0][o].n != right ? -1 : 1;
  }
}

/* at += eps^(L - l + 1) zeta, layer l counted from 1, with eps = 2^-bits. */
static void
step_along(clarke_posed *q, const clarke_kinked *net, const long *zeta, unsigned bits)
{
  mpq_t by;

  mpq_init(by);
  for (size_t l = 0; l < net->n_layers; l++)
    for (size_t o = 0; o < net->layer[l].n_out; o++)
      for (size_t i = 0; i <= net->layer[l].n_in; i++) {
        const size_t e = i < net->layer[l].n_in ? net->layer[l].weight[o][i] : net->layer[l].bias[o];

        mpq_set_si(by, zeta[e], 1);
        mpq_div_2exp(by, by, bits * (net->n_layers - l));
        mpq_set_si(q->at[e], net->w[e], 1);
        mpq_add(q->at[e], q->at[e], by);
      }
  mpq_clear(by);
}

/* Are all outputs above 0 there? */
static clarke_status
all_above(bool *above, clarke_posed *q, clarke_error *err)
{
  const clarke_status status = clarke_posed_run(q, NULL, err);

  *above = status == CLARKE_OK && !q->d.execution.open;
  for (size_t i = 0; *above && i < q->p.n_outputs; i++)
    *above = mpq_sgn(q->d.execution.value[q->p.output[i]].q) > 0;
  return status;
}

/* Lemma 12: directions of single layers, the deepest taken the farthest, lead all layers' kinks to their sides at once. */
clarke_status
clarke_suite_lemma_12(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_kinked net;
  clarke_posed q;
  long zeta[MOST_PARAMETERS] = {0};
  bool above = false;
  clarke_status status;

  draw_touched(&net, d, 1, CLARKE_KINKED_DISTINCT, NULL);
  draw_proxies(&net, d, (choice){false, false});
  for (size_t l = 0; l < net.n_layers; l++)
    draw_direction(zeta, &net, d, l);
  clarke_posed_init(&q);
  status = clarke_kinked_pose(&q, &net, CLARKE_KINKED_ROWS, err);
  for (unsigned bits = 5; bits <= 40 && !above && status == CLARKE_OK; bits += 5) {
    step_along(&q, &net, zeta, bits);
    status = all_above(&above, &q, err);
  }
  t->of[CLARKE_COUNT_TOUCHED] += clarke_kinked_touched(&net);
  if (status == CLARKE_OK)
    clarke_suite_add(t, above ? CLARKE_YES : CLARKE_NO);
  clarke_posed_clear(&q);
  return status;
}

/* --- Lemma 13 ---------------------------------------------------------------------------------- */

/* Near w the loss is affine in each entry of it alone: so a small difference is the derivative, exactly. */
static clarke_status
equals_difference(bool *equal, clarke_posed *q, size_t entry, const mpq_t derivative, clarke_error *err)
{
  mpq_t step, before;
  clarke_status status;

  mpq_init(step);
  mpq_init(before);
  mpq_set_ui(step, 1, 1);
  mpq_div_2exp(step, step, 40);
  status = clarke_posed_run(q, NULL, err);
  if (status == CLARKE_OK)
    mpq_set(before, q->d.execution.value[q->p.output[0]].q);
  mpq_add(q->at[entry], q->at[entry], step);
  if (status == CLARKE_OK)
    status = clarke_posed_run(q, NULL, err);
  mpq_sub(q->at[entry], q->at[entry], step);
  if (status == CLARKE_OK) {
    mpq_sub(before, q->d.execution.value[q->p.output[0]].q, before);
    mpq_div(before, before, step);
    *equal = *equal && mpq_equal(before, derivative);
  }
  mpq_clear(step);
  mpq_clear(before);
  return status;
}

/* Lemma 13: where no kink is touched AD's output is the derivative. */
clarke_status
clarke_suite_lemma_13(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_kinked net;
  clarke_posed q;
  mpq_t *g = NULL;
  bool equal = true;
  clarke_status status;

  do
    clarke_kinked_draw(&net, d, 1 + clarke_draw_below(d, MOST_SAMPLES), CLARKE_KINKED_DISTINCT);
  while (clarke_kinked_touched(&net) > 0);
  clarke_posed_init(&q);
  status = clarke_kinked_pose(&q, &net, CLARKE_KINKED_LOSS, err);
  g = clarke_rationals(net.n_w);
  if (status == CLARKE_OK)
    status = g != NULL ? clarke_posed_run(&q, g, err) : clarke_no_memory(err);
  for (size_t i = 0; i < net.n_w && status == CLARKE_OK; i++)
    status = equals_difference(&equal, &q, i, g[i], err);
  if (status == CLARKE_OK)
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  clarke_rationals_free(g, net.n_w);
  clarke_posed_clear(&q);
  return status;
}

/* --- Lemma 15 ---------------------------------------------------------------------------------- */

/* Two functions of the kinks in each layer, and the first one's share. */
typedef struct {
  clarke_kinked_number of[2][MOST_LAYERS][MOST_SAMPLES][MOST_WIDTH], share[MOST_LAYERS];
} functions_of_kinks;

static void
draw_functions(functions_of_kinks *f, clarke_draws *d)
{
  static const clarke_kinked_number numbers[] = {{0, 1}, {1, 1}, {1, 2}, {-3, 2}, {5, 1}};

  for (size_t l = 0; l < MOST_LAYERS; l++) {
    f->share[l] = draw_share(d, true);
    for (size_t s = 0; s < MOST_SAMPLES; s++)
      for (size_t o = 0; o < MOST_WIDTH; o++)
        for (size_t k = 0; k < 2; k++)
          f->of[k][l][s][o] = numbers[clarke_draw_below(d, sizeof numbers / sizeof *numbers)];
  }
}

/* lambda a + (1 - lambda) b. */
static clarke_kinked_number
between(clarke_kinked_number lambda, clarke_kinked_number a, clarke_kinked_number b)
{
  return (clarke_kinked_number){lambda.n * a.n * b.d + (lambda.d - lambda.n) * b.n * a.d, lambda.d * a.d * b.d};
}

/* g = AD's output, bit l of pure saying which function layer l has; SIZE_MAX: their mixtures. */
static clarke_status
output_of(mpq_t *g, clarke_kinked *net, const functions_of_kinks *f, size_t pure, clarke_error *err)
{
  clarke_posed q;
  clarke_status status;

  for (size_t l = 0; l < net->n_layers; l++)
    for (size_t s = 0; s < net->samples; s++)
      for (size_t o = 0; o < net->layer[l].n_out; o++)
        net->layer[l].proxy[s][o] = pure == SIZE_MAX ? between(f->share[l], f->of[0][l][s][o], f->of[1][l][s][o]) : f->of[pure >> l & 1][l][s][o];
  clarke_posed_init(&q);
  status = clarke_kinked_pose(&q, net, CLARKE_KINKED_LOSS, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, g, err);
  clarke_posed_clear(&q);
  return status;
}

/* sum += the product of the shares, times g. */
static void
add_share(mpq_t *sum, const clarke_kinked *net, const functions_of_kinks *f, size_t pure, mpq_t *g)
{
  mpq_t by, x;

  mpq_init(by);
  mpq_init(x);
  mpq_set_ui(by, 1, 1);
  for (size_t l = 0; l < net->n_layers; l++) {
    mpq_set_si(x, pure >> l & 1 ? f->share[l].d - f->share[l].n : f->share[l].n, (unsigned long)f->share[l].d);
    mpq_canonicalize(x);
    mpq_mul(by, by, x);
  }
  for (size_t i = 0; i < net->n_w; i++) {
    mpq_mul(x, by, g[i]);
    mpq_add(sum[i], sum[i], x);
  }
  mpq_clear(by);
  mpq_clear(x);
}

/* Lemma 15 (and 14): AD's output by mixtures of functions, layer by layer, is the mixture of its outputs by pure ones. */
clarke_status
clarke_suite_lemma_15(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_kinked net;
  functions_of_kinks f;
  mpq_t *sum = clarke_rationals(MOST_PARAMETERS), *g = clarke_rationals(MOST_PARAMETERS);
  bool equal = true;
  clarke_status status = sum != NULL && g != NULL ? CLARKE_OK : clarke_no_memory(err);

  draw_touched(&net, d, MOST_SAMPLES, CLARKE_KINKED_DISTINCT, NULL);
  draw_functions(&f, d);
  for (size_t pure = 0; pure < (size_t)1 << net.n_layers && status == CLARKE_OK; pure++) {
    status = output_of(g, &net, &f, pure, err);
    if (status == CLARKE_OK)
      add_share(sum, &net, &f, pure, g);
  }
  if (status == CLARKE_OK)
    status = output_of(g, &net, &f, SIZE_MAX, err);
  for (size_t i = 0; i < net.n_w && status == CLARKE_OK; i++)
    equal = equal && mpq_equal(g[i], sum[i]);
  t->of[CLARKE_COUNT_TOUCHED] += clarke_kinked_touched(&net);
  if (status == CLARKE_OK)
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  clarke_rationals_free(sum, MOST_PARAMETERS);
  clarke_rationals_free(g, MOST_PARAMETERS);
  return status;
}

/* --- Lemma 14 ---------------------------------------------------------------------------------- */

#define MOST_FUNCTIONS 3

/* by c_0 f_0 + c_1 f_1 + c_2 f_2. */
static clarke_kinked_number
combined(const long *c, const clarke_kinked_number *f)
{
  clarke_kinked_number sum = {0, 1};

  for (size_t k = 0; k < MOST_FUNCTIONS; k++)
    sum = (clarke_kinked_number){sum.n * f[k].d + c[k] * f[k].n * sum.d, sum.d * f[k].d};
  return sum;
}

/* AD's numbers in one layer are those of function k; SIZE_MAX: of the combination. */
static clarke_status
output_by(mpq_t *g, clarke_kinked *net, size_t layer, clarke_kinked_number (*f)[MOST_WIDTH][MOST_FUNCTIONS], const long *c, size_t k, clarke_error *err)
{
  clarke_posed q;
  clarke_status status;

  for (size_t s = 0; s < net->samples; s++)
    for (size_t o = 0; o < net->layer[layer].n_out; o++)
      net->layer[layer].proxy[s][o] = k == SIZE_MAX ? combined(c, f[s][o]) : f[s][o][k];
  clarke_posed_init(&q);
  status = clarke_kinked_pose(&q, net, CLARKE_KINKED_LOSS, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, g, err);
  clarke_posed_clear(&q);
  return status;
}

/* Is AD's output by the combination that combination of its outputs? */
static clarke_status
commutes(bool *equal, clarke_kinked *net, size_t layer, clarke_kinked_number (*f)[MOST_WIDTH][MOST_FUNCTIONS], const long *c, clarke_error *err)
{
  mpq_t *g = clarke_rationals(2 * MOST_PARAMETERS), *sum = g + MOST_PARAMETERS, by;
  clarke_status status = g != NULL ? CLARKE_OK : clarke_no_memory(err);

  mpq_init(by);
  for (size_t k = 0; k < MOST_FUNCTIONS && status == CLARKE_OK; k++) {
    status = output_by(g, net, layer, f, c, k, err);
    mpq_set_si(by, c[k], 1);
    for (size_t i = 0; i < net->n_w && status == CLARKE_OK; i++) {
      mpq_mul(g[i], g[i], by);
      mpq_add(sum[i], sum[i], g[i]);
    }
  }
  if (status == CLARKE_OK)
    status = output_by(g, net, layer, f, c, SIZE_MAX, err);
  *equal = true;
  for (size_t i = 0; i < net->n_w && status == CLARKE_OK; i++)
    *equal = *equal && mpq_equal(g[i], sum[i]);
  mpq_clear(by);
  clarke_rationals_free(g, 2 * MOST_PARAMETERS);
  return status;
}

/* Lemma 14: AD's output is affine in the numbers of one layer: it commutes with combinations whose sum is 1. Those in which one of sum 2 does
 * not differ. */
clarke_status
clarke_suite_lemma_14(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_kinked_number f[MOST_SAMPLES][MOST_WIDTH][MOST_FUNCTIONS];
  clarke_kinked net;
  long c[MOST_FUNCTIONS] = {clarke_draw_between(d, -3, 3), clarke_draw_between(d, -3, 3), 0};
  bool equal, other = true;
  clarke_status status;

  draw_touched(&net, d, MOST_SAMPLES, CLARKE_KINKED_DISTINCT, NULL);
  draw_proxies(&net, d, (choice){false, true});
  const size_t layer = clarke_draw_below(d, net.n_layers);

  for (size_t s = 0; s < MOST_SAMPLES; s++)
    for (size_t o = 0; o < MOST_WIDTH; o++)
      for (size_t k = 0; k < MOST_FUNCTIONS; k++)
        f[s][o][k] = (clarke_kinked_number){clarke_draw_between(d, -5, 5), 1 + (long)clarke_draw_below(d, 3)};
  c[2] = 1 - c[0] - c[1];
  status = commutes(&equal, &net, layer, f, c, err);
  c[2]++;
  if (status == CLARKE_OK)
    status = commutes(&other, &net, layer, f, c, err);
  t->of[CLARKE_COUNT_TOUCHED] += clarke_kinked_touched(&net);
  t->of[CLARKE_COUNT_DIFFER] += !other;
  if (status == CLARKE_OK)
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  return status;
}

/* --- Condition 2 ------------------------------------------------------------------------------- */

/* What A_c is, for the bias w[c] of one layer: the derivatives of its arguments, neuron by neuron, sample by sample. `row`: of the first of
 * these in g. *one: A_c = e_c 1^T. */
static bool
is_of_condition_2(bool *one, const clarke_kinked *net, const clarke_kinked_layer *l, mpq_t *g, size_t row)
{
  bool is = true;

  for (size_t s = 0; s < net->samples; s++)
    for (size_t o = 0; o < l->n_out; o++) {
      long sum = 0;
      bool seen[MOST_PARAMETERS] = {false};

      for (size_t k = 0; k < l->n_out; k++) {
        const size_t c = l->bias[k];
        const mpq_srcptr entry = g[(row + s * l->n_out + o) * net->n_w + c];

        is = is && (mpq_sgn(entry) == 0 || mpq_cmp_ui(entry, 1, 1) == 0);
        *one = *one && (mpq_sgn(entry) != 0) == (k == o);
        sum += !seen[c] && mpq_sgn(entry) != 0;
        seen[c] = true;
      }
      is = is && sum == 1;
    }
  return is;
}

/* Condition 2 holds where Condition 1 does, with distinct biases: f + sum of b_c A_c, where A_c = e_c 1^T, whose sum is all ones. And with one
 * share a layer, as Theorem 6 has it, AD's output is in the Clarke set; where it is in the hull alone, it differs. Half the networks have biases
 * that neurons share: other A_c, with the same sum. */
clarke_status
clarke_suite_condition_2(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const bool shared = clarke_draw_below(d, 2) == 0;
  mpq_t *g = NULL;
  size_t rows = 0;
  bool is = true, one = true;
  clarke_kinked net;
  clarke_posed q;
  clarke_status status;

  draw_touched(&net, d, MOST_SAMPLES, shared ? CLARKE_KINKED_SHARED : CLARKE_KINKED_DISTINCT, NULL);
  draw_proxies(&net, d, (choice){true, true});
  clarke_posed_init(&q);
  status = clarke_kinked_pose(&q, &net, CLARKE_KINKED_ARGUMENTS, err);
  if (status == CLARKE_OK)
    g = clarke_rationals(q.p.n_outputs * net.n_w);
  if (status == CLARKE_OK)
    status = g != NULL ? clarke_posed_run(&q, g, err) : clarke_no_memory(err);
  for (size_t l = 0; l < net.n_layers && status == CLARKE_OK; l++) {
    is = is_of_condition_2(&one, &net, &net.layer[l], g, rows) && is;
    rows += net.samples * net.layer[l].n_out;
  }
  clarke_rationals_free(g, g != NULL ? q.p.n_outputs * net.n_w : 0);
  clarke_posed_clear(&q);
  if (status != CLARKE_OK)
    return status;
  if (!is || (!shared && !one)) {
    clarke_suite_add(t, CLARKE_NO);
    return CLARKE_OK;
  }
  status = ask_verdict(t, &net, true, err);
  return status;
}
