/* The gradient in pairs of doubles: every entry within its bound of the exact one, in drawn networks; what is not followed; weights
 * with few numbers in a slice; ends of doubles. */
#include "machine.h"
#include "normalized.h"
#include "compared.h"

#include "network/derive/gradient.h"
#include "network/derive/gradient/analytic.h"
#include "network/derive/gradient/product.h"
#include "network/derive/gradient/softmax.h"

typedef struct {
  size_t asked, served, found, touched, compared;
  double nearest; /* the largest error, as a part of its bound */
  double widest;  /* the largest bound, as a part of the largest entry */
} tally;

/* |entry - exact| <= within, in rationals; the exact one is known within a radius. */
static void
compare_entry(tally *t, double entry, double within, const clarke_matrix *exact, size_t e, const clarke_model *m)
{
  mpq_t off, other;

  mpq_inits(off, other, NULL);
  mpq_set_d(off, entry);
  if (exact->rows > 0)
    clarke_matrix_get(other, exact, e, 0);
  mpq_sub(off, off, other);
  mpq_abs(off, off);
  t->nearest = mpq_sgn(off) != 0 && exact->radius == NULL ? fmax(t->nearest, mpq_get_d(off) / within) : t->nearest;
  mpq_set_d(other, exact->rows > 0 ? clarke_matrix_radius(exact, e, 0) : 0);
  mpq_sub(off, off, other);
  mpq_set_d(other, within);
  t->compared++;
  if (mpq_cmp(off, other) > 0) {
    print_model(m);
    ck_abort_msg("entry %zu: %g is off by %g, said to be by %g", e, entry, mpq_get_d(off), within);
  }
  mpq_clears(off, other, NULL);
}

static void
compare_gradient(tally *t, const clarke_gradient *gradient, const machine *k, const clarke_model *m)
{
  double most = 0;

  for (size_t p = 0; p < k->g.n_parameters; p++)
    for (size_t e = 0; e < k->g.parameters[p].count && gradient->entry[p] != NULL; e++)
      most = fmax(most, fabs(gradient->entry[p][e]));
  for (size_t p = 0; p < k->g.n_parameters; p++) {
    t->widest = most > 0 ? fmax(t->widest, gradient->within[p] / most) : t->widest;
    for (size_t e = 0; e < k->g.parameters[p].count; e++)
      compare_entry(t, gradient->entry[p] != NULL ? gradient->entry[p][e] : 0, gradient->within[p], &k->gradient[p], e, m);
  }
}

/* The exact gradient into k. */
static void
run_exactly(machine *k, const clarke_loss *loss)
{
  clarke_matrices_free(k->grad, k->g.n_values);
  clarke_matrices_free(k->gradient, k->g.n_parameters);
  k->grad = clarke_matrices_new(k->g.n_values);
  k->gradient = clarke_matrices_new(k->g.n_parameters);
  OK(clarke_loss_seed(&k->grad[k->g.output], loss, &k->pass, NULL, &error));
  OK(clarke_reverse_run(k->grad, &k->pass, &k->slopes, CLARKE_NONE, clarke_gradient_sink, k->gradient, &error));
}

/* The loss's enclosure holds the exact pass's. */
static void
compare_loss(const clarke_forward *outputs, const machine *k, const clarke_loss *loss)
{
  arb_t near, exact;

  arb_init(near);
  arb_init(exact);
  OK(clarke_loss_value(near, loss, outputs, &error));
  OK(clarke_loss_value(exact, loss, &k->pass, &error));
  ck_assert(arb_overlaps(near, exact));
  arb_clear(near);
  arb_clear(exact);
}

static void
check_loss(tally *t, machine *k, const clarke_loss *loss, const clarke_model *m, uint64_t *state)
{
  const uint64_t near = draw_below(state, 3); /* exponentials in pairs do for few bits */
  const int bits = near == 0 ? CLARKE_GRADIENT_BITS : (int)draw_between(state, 10, near == 1 ? 19 : 110);
  clarke_gradient gradient;
  clarke_forward outputs;
  bool found;

  clarke_forward_init(&outputs);
  OK(clarke_gradient_init(&gradient, k->g.n_parameters, &error));
  OK(clarke_gradient_run(&gradient, &found, &outputs, &k->replay, &k->profile, loss, bits, &error));
  t->found += found;
  if (found) {
    run_exactly(k, loss);
    compare_gradient(t, &gradient, k, m);
    compare_loss(&outputs, k, loss);
  }
  clarke_forward_clear(&outputs);
  clarke_gradient_clear(&gradient);
}

/* Targets of the outputs' shape, or labels where there is one axis of classes; then one label may be ignored, but the first sample's. */
static void
check_targets(tally *t, machine *k, const clarke_model *m, uint64_t *state)
{
  const clarke_value *out = &k->g.values[k->g.output];
  const bool labels = out->rank == 1 && draw_below(state, 2);
  long shape[CLARKE_MAX_RANK + 2] = {(long)k->replay.samples};
  clarke_loss loss = {.kind = labels ? CLARKE_LOSS_CE : CLARKE_LOSS_MSE, .samples = k->replay.samples};
  clarke_tensor y;

  for (size_t a = 0; a < out->rank; a++)
    shape[a + 1] = (long)out->dims[a];
  shape[labels ? 1 : out->rank + 1] = SHAPE_END;
  y = tensor_of("y", labels ? CLARKE_I64 : CLARKE_F64, shape);
  for (size_t e = 0; e < y.count; e++)
    if (labels)
      y.integer[e] = (int64_t)draw_below(state, out->count);
    else
      y.real[e] = (double)draw_between(state, -8, 8) / 4;
  loss.y = &y;
  loss.ignores = labels && draw_below(state, 2);
  loss.ignored = labels ? (y.integer[0] + 1) % (int64_t)out->count : 0;
  loss.ignores = loss.ignores && loss.ignored != y.integer[0];
  check_loss(t, k, &loss, m, state);
  clarke_tensor_clear(&y);
}

static bool
is_served(const machine *k)
{
  bool serves;

  OK(clarke_gradient_serves(&serves, &k->replay, &k->profile, &error));
  return serves;
}

static void
check_network(tally *t, growing *grown, const clarke_tensor *x, const char *profile)
{
  clarke_loss sum = {.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = x->dims[0]};
  machine k;

  machine_begin(&k, &grown->m, x, profile, true);
  t->asked++;
  if (k.replay.open == 0 && k.pass.open == 0 && is_served(&k)) {
    t->served++;
    t->touched += k.replay.n_touches > 0;
    check_loss(t, &k, &sum, &grown->m, grown->state);
    check_targets(t, &k, &grown->m, grown->state);
  }
  machine_end(&k);
}

static tally
check_networks(void (*grow)(growing *g, uint64_t *state, double (*number)(uint64_t *state)), double (*number)(uint64_t *state),
               uint64_t seed, size_t n)
{
  uint64_t state = seed;
  tally t = {0};

  for (size_t i = 0; i < draw_count(n); i++) {
    growing grown;
    clarke_tensor x;

    grow(&grown, &state, number);
    x = grow_batch(&grown, 1 + draw_below(&state, 5));
    check_network(&t, &grown, &x, profile_with("first"));
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("gradients: %zu of %zu networks served, %zu with touches; %zu gradients, %zu entries, errors up to %g of their bounds, "
         "bounds up to %g of entries\n", t.served, t.asked, t.touched, t.found, t.compared, t.nearest, t.widest);
  return t;
}

/* --- numbers and networks ---------------------------------------------------------------------- */

static double
extreme(uint64_t *state)
{
  static const int exponent[] = {-1060, -540, -20, 0, 0, 20, 505, 515};

  return ldexp(full_double(state), exponent[draw_below(state, sizeof exponent / sizeof *exponent)]);
}

/* One in a hundred far below the others: slices of few numbers. */
static double
few_small(uint64_t *state)
{
  const double v = (double)(float)full_double(state);

  return draw_below(state, 100) == 0 ? ldexp(v, -(int)draw_between(state, 20, 70)) : v;
}

/* Layers of more than 64 weights, of one product or the other way round, in groups, too. */
static void
grow_wide(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[2] = {8 + draw_below(state, 8), 20 + draw_below(state, 20)};

  grow_begin(g, state, number, draw_below(state, 2) + 1, dims);
  for (size_t n = 1 + draw_below(state, 3); n > 0; n--) {
    if (g->rank == 2)
      grow_conv(g, 16, true);
    else
      grow_dense(g, 16 + draw_below(state, 16));
    grow_kink(g);
  }
  model_output(&g->m, g->at);
}

START_TEST(entries_are_within_their_bounds)
{
  const tally t = check_networks(grow_convolutional, weight_like, 3, 1500);

  ck_assert_uint_gt(t.served, t.asked / 2);
  ck_assert_uint_gt(t.found, 3 * t.served / 2);
  ck_assert(t.nearest > 0.1);
}
END_TEST

START_TEST(touched_kinks_take_the_profiles_numbers)
{
  const tally t = check_networks(grow_convolutional, small_number, 5, 1500);

  ck_assert_uint_gt(t.touched, t.asked / 10);
  ck_assert_uint_gt(t.found, 17 * t.served / 10); /* of a gradient that cancels to 0 no bound is near */
}
END_TEST

START_TEST(slices_with_few_numbers)
{
  const tally t = check_networks(grow_wide, few_small, 7, 200);

  ck_assert_uint_eq(t.served, t.asked);
  ck_assert_uint_gt(t.found, 19 * t.served / 10); /* of one that dies out no bound is near */
  ck_assert(t.widest < 0x1p-10);
}
END_TEST

START_TEST(ends_of_doubles)
{
  const tally t = check_networks(grow_convolutional, extreme, 9, 1000);

  ck_assert_uint_gt(t.served, 0);
}
END_TEST

/* A mean over ties, parabolas, and slopes in wrt are another's. */
START_TEST(what_is_not_followed)
{
  static const char *const op[] = {"Exp", "HardSwish", "Relu"};

  for (size_t i = 0; i < 3; i++) {
    uint64_t state = 1;
    size_t dims[1] = {3};
    growing g;
    clarke_tensor x;
    machine k;

    grow_begin(&g, &state, weight_like, 1, dims);
    grow_dense(&g, 3);
    grow_node(&g, op[i], NULL, false);
    model_output(&g.m, g.at);
    x = grow_batch(&g, 2);
    machine_begin(&k, &g.m, &x, profile_with("first"), true);
    ck_assert_msg(is_served(&k) == (i == 2), "%s", op[i]);
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&g.m);
  }
}
END_TEST

START_TEST(normalizations)
{
  const tally t = check_networks(grow_normalized, weight_like, 11, 600);

  ck_assert_uint_gt(t.served, t.asked / 4);
  ck_assert_uint_gt(t.found, t.served);
}
END_TEST

/* y = (x - mean) / d of the group that entry e is in, and, g given, (g - mean g - y mean (g y)) / d; in long doubles. */
static long double
normalized_naively(const clarke_step *s, const long double *x, const long double *g, size_t rows, size_t n, size_t e)
{
  long double sum = 0, square = 0, sum_g = 0, product = 0, m = 0, d;

  for (size_t pass = 0; pass < 3; pass++)
    for (size_t i = 0; i < rows * n; i++) {
      if (clarke_step_group(s, i / n) != clarke_step_group(s, e / n) || (!s->grouping.couples && i % n != e % n))
        continue;
      m += pass == 0;
      sum += pass == 0 ? x[i] : 0;
      square += pass == 1 ? (x[i] - sum / m) * (x[i] - sum / m) : 0;
      sum_g += pass == 2 && g != NULL ? g[i] : 0;
      product += pass == 2 && g != NULL ? g[i] * (x[i] - sum / m) : 0;
    }
  d = sqrtl(square / m + (long double)mpq_get_d(s->epsilon));
  return g == NULL ? (x[e] - sum / m) / d : (g[e] - sum_g / m - (x[e] - sum / m) * product / (m * d * d)) / d;
}

/* *most grows to the largest distance, as a part of its lane's bound. */
static void
compare_naively(double *most, const clarke_gradient_pass *p, const clarke_step *s, const clarke_normed *v, const long double *x,
                const long double *g)
{
  const size_t rows = p->g->values[s->out].count;
  long double square[8] = {0};

  for (size_t e = 0; e < rows * p->n; e++) {
    const long double off = normalized_naively(s, x, g, rows, p->n, e) - v->at[e] - v->low[e];

    square[clarke_lane_of(p, e % p->n)] += off * off;
  }
  for (size_t j = 0; j < p->lanes; j++) {
    ck_assert_msg(sqrtl(square[j]) <= v->error[j], "%Lg, said to be %g", sqrtl(square[j]), v->error[j]);
    *most = fmax(*most, (double)sqrtl(square[j]) / v->error[j]);
  }
}

/* The doubles in fixed point, without error. */
static void
fix_numbers(clarke_normed *v, size_t count, const clarke_gradient_plan *plan)
{
  OK(clarke_normed_fix(v, count, 1, plan->limbs, plan->unit, &error));
  for (size_t e = 0; e < count; e++)
    ck_assert(clarke_fixed_add_double(&v->fixed, e, v->at[e]));
}

/* The step and its derivative at an x that is off by as much as is said. */
static void
check_off(double *forward, double *back, machine *k, const clarke_step *s, bool fixed, uint64_t *state)
{
  const size_t n = k->replay.samples, values = k->g.n_values, in = s->in[0].value, rows = k->g.values[s->out].count;
  bool *fine = malloc(values * sizeof *fine);
  const clarke_gradient_plan plan = {.fine = fine, .fine_back = fine, .fixed = fixed ? fine : NULL, .limbs = 3,
                                    .unit = -(int)draw_between(state, 20, 50)};
  clarke_gradient_pass p = {.r = &k->replay, .g = &k->g, .n = n, .lanes = clarke_graph_couples(&k->g) ? 1 : n, .plan = &plan,
                      .carries = fine, .err = &error, .value = calloc(values, sizeof *p.value),
                      .deferred = calloc(values, sizeof *p.deferred),
                      .grad = calloc(values, sizeof *p.grad), .normalized = calloc(k->g.n_steps, sizeof *p.normalized)};
  long double *x = malloc(rows * n * sizeof *x), *g = malloc(rows * n * sizeof *g);
  const double scale = fixed && draw_below(state, 2) ? 0 : ldexp(1, -(int)draw_below(state, 20));

  memset(fine, true, values * sizeof *fine);
  OK(clarke_normed_make(&p.value[in], rows, n, true, &error));
  if (!fixed)
    OK(clarke_normed_make(&p.value[s->out], rows, n, true, &error));
  OK(clarke_normed_make(&p.grad[s->out], rows, n, true, &error));
  for (size_t e = 0; e < rows * n; e++) {
    const double off = scale * full_double(state);

    p.value[in].at[e] = full_double(state);
    g[e] = full_double(state);
    if (fixed) {
      p.value[in].at[e] = ldexp(round(ldexp(p.value[in].at[e], -plan.unit)), plan.unit);
      g[e] = ldexp(round(ldexp((double)g[e], -plan.unit)), plan.unit);
    }
    p.grad[s->out].at[e] = (double)g[e];
    x[e] = (long double)p.value[in].at[e] + off;
    p.value[in].error[clarke_lane_of(&p, e % n)] += off * off;
  }
  for (size_t j = 0; j < p.lanes; j++)
    p.value[in].error[j] = sqrt(p.value[in].error[j]) * (1 + 0x1p-40);
  clarke_normed_measure(&p.value[in], rows, n, p.lanes);
  clarke_normed_measure(&p.grad[s->out], rows, n, p.lanes);
  if (fixed)
    fix_numbers(&p.value[in], rows * n, &plan);
  OK(fixed ? clarke_normalized_forward_fixed(&p, s) : clarke_normalized_forward(&p, s));
  ck_assert(!p.lost);
  if (fixed) {
    clarke_normed_measure(&p.value[s->out], rows, n, p.lanes);
    fix_numbers(&p.grad[s->out], rows * n, &plan);
  }
  compare_naively(forward, &p, s, &p.value[s->out], x, NULL);
  OK(clarke_normalized_back(&p, s));
  ck_assert(!p.lost);
  if (fixed)
    clarke_normed_measure(&p.grad[in], rows, n, p.lanes);
  compare_naively(back, &p, s, &p.grad[in], x, g);
  for (size_t v = 0; v < values; v++) {
    clarke_normed_drop(&p.value[v]);
    clarke_normed_drop(&p.grad[v]);
  }
  free(p.normalized[s - k->g.steps].factor);
  free(p.normalized[s - k->g.steps].fixed);
  free(p.normalized);
  free(p.deferred);
  free(p.value);
  free(p.grad);
  free(fine);
  free(x);
  free(g);
}

START_TEST(normalizations_of_what_is_off)
{
  uint64_t state = 17;
  double forward[2] = {0, 0}, back[2] = {0, 0};

  for (size_t i = 0; i < 800; i++) {
    size_t dims[2] = {1 + draw_below(&state, 3), 1 + draw_below(&state, 3)};
    growing grown;
    clarke_tensor x;
    machine k;

    grow_begin(&grown, &state, weight_like, 2, dims);
    grown.m.opset = 21;
    grow_normalization(&grown);
    model_output(&grown.m, grown.at);
    x = grow_batch(&grown, 1 + draw_below(&state, 5));
    machine_begin(&k, &grown.m, &x, profile_with("first"), true);
    for (size_t j = 0; j < k.g.n_steps; j++)
      if (k.g.steps[j].kind == CLARKE_NORMALIZE)
        check_off(&forward[i % 2], &back[i % 2], &k, &k.g.steps[j], i % 2 == 1, &state);
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("normalizations: errors up to %g of their bounds, of gradients up to %g; in fixed point %g, %g\n", forward[0], back[0],
         forward[1], back[1]);
  ck_assert(forward[0] > 0.9 && back[0] > 0.2 && forward[1] > 0.8 && back[1] > 0.2);
}
END_TEST

/* --- steps of what is off ------------------------------------------------------------------------ */

/* A step whose operands are off by as much as is said; numbers are features x n. */
typedef struct {
  clarke_gradient_pass p;
  clarke_gradient_plan plan;
  clarke_growths growths;
  clarke_gradient gradient;
  const clarke_step *s;
  long double **x, *g; /* what is meant: of the operands' values, and of the output's gradient */
} off_scene;

/* What long doubles round here, where bounds may be smaller: numbers are no larger than a hundred or so. */
#define LONG_ROUNDED 0x1p-52L

/* Numbers of pairs, and what they are off by: *meant has the sum. */
static long double *
draw_off(clarke_normed *v, size_t features, const clarke_gradient_pass *p, double scale, uint64_t *state)
{
  long double *meant = malloc((features * p->n + 1) * sizeof *meant);

  OK(clarke_normed_make(v, features, p->n, true, &error));
  for (size_t e = 0; e < features * p->n; e++) {
    const double off = scale * full_double(state);

    v->at[e] = full_double(state);
    meant[e] = (long double)v->at[e] + off;
    v->error[clarke_lane_of(p, e % p->n)] += off * off;
  }
  for (size_t j = 0; j < p->lanes; j++)
    v->error[j] = sqrt(v->error[j]) * (1 + 0x1p-40);
  clarke_normed_measure(v, features, p->n, p->lanes);
  return meant;
}

static void
off_begin(off_scene *c, machine *k, const clarke_step *s, uint64_t *state)
{
  const size_t values = k->g.n_values, n = k->replay.samples;
  const double scale = ldexp(1, -(int)draw_below(state, 20)), of_x = draw_below(state, 3) == 0 ? 0 : scale;
  bool *all = malloc(values * sizeof *all);

  *c = (off_scene){.s = s, .x = calloc(values, sizeof *c->x)};
  memset(all, true, values * sizeof *all);
  OK(clarke_growths_add(&c->growths, &k->g, all, &error));
  OK(clarke_gradient_init(&c->gradient, k->g.n_parameters, &error));
  c->plan = (clarke_gradient_plan){.fine = all, .fine_back = all, .slices = calloc(k->g.n_steps, sizeof *c->plan.slices),
                                  .back_slices = calloc(k->g.n_steps, sizeof *c->plan.slices)};
  c->plan.slices[s - k->g.steps] = 1 + draw_below(state, 2);
  c->plan.back_slices[s - k->g.steps] = draw_below(state, 3);
  c->p = (clarke_gradient_pass){.r = &k->replay, .g = &k->g, .n = n, .lanes = n, .carries = all, .err = &error, .growths = &c->growths,
                          .deferred = calloc(values, sizeof *c->p.deferred), .value = calloc(values, sizeof *c->p.value),
                          .grad = calloc(values, sizeof *c->p.grad), .low = calloc(k->g.n_parameters + 1, sizeof *c->p.low),
                          .gradient = &c->gradient};
  c->p.plan = &c->plan;
  for (size_t i = 0; i < s->n_in; i++)
    if (!k->g.values[s->in[i].value].constant && c->x[s->in[i].value] == NULL)
      c->x[s->in[i].value] = draw_off(&c->p.value[s->in[i].value], k->g.values[s->in[i].value].count, &c->p, of_x, state);
  OK(clarke_normed_make(&c->p.value[s->out], k->g.values[s->out].count, n, true, &error));
  c->g = draw_off(&c->p.grad[s->out], k->g.values[s->out].count, &c->p, draw_below(state, 2) * scale, state);
}

static void
off_end(off_scene *c)
{
  for (size_t v = 0; v < c->p.g->n_values; v++) {
    clarke_normed_drop(&c->p.value[v]);
    clarke_normed_drop(&c->p.grad[v]);
    free(c->x[v]);
  }
  for (size_t i = 0; i < c->p.g->n_parameters; i++)
    free(c->p.low[i]);
  free(c->p.low);
  free(c->p.deferred);
  free(c->p.value);
  free(c->p.grad);
  free(c->plan.fine);
  free(c->plan.slices);
  free(c->plan.back_slices);
  free(c->x);
  free(c->g);
  clarke_growths_clear(&c->growths);
  clarke_gradient_clear(&c->gradient);
}

/* Entry (f, j) of an operand that is meant. */
static long double
meant_of(const off_scene *c, size_t k, size_t f, size_t j)
{
  return c->x[c->s->in[k].value][clarke_operand_entry(&c->s->in[k], f) * c->p.n + j];
}

static long double
curve(clarke_function function, bool slope, long double x)
{
  const long double t = function == CLARKE_TANH ? tanhl(x) : 1 / (1 + expl(-x));

  if (function == CLARKE_TANH)
    return slope ? 1 - t * t : t;
  return slope ? t * (1 - t) : t;
}

/* The probability of entry f, among all of a sample. */
static long double
probability(const off_scene *c, size_t f, size_t j)
{
  long double sum = 0;

  for (size_t i = 0; i < c->s->length; i++)
    sum += expl(meant_of(c, 0, i, j));
  return expl(meant_of(c, 0, f, j)) / sum;
}

/* The entries of a product's operands that meet in the i-th product of its entry f. */
static size_t
left_of_product(const clarke_step *s, size_t f, size_t i)
{
  return f / s->contraction.cols * s->contraction.inner + i;
}

static size_t
right_of_product(const clarke_step *s, size_t f, size_t i)
{
  const clarke_contraction *c = &s->contraction;

  return (f / (c->rows * c->cols) * c->inner + i) * c->cols + f % c->cols;
}

/* y[f, j] of what is meant; of DENSE one block, of SOFTMAX one group. */
static long double
value_naively(const off_scene *c, size_t f, size_t j)
{
  const clarke_step *s = c->s;
  const double *w = s->kind == CLARKE_DENSE ? c->p.g->values[s->dense.weight].real : NULL;
  long double sum = 0;

  if (s->kind == CLARKE_ANALYTIC)
    return curve(s->function, false, meant_of(c, 0, f, j));
  for (size_t i = 0; i < s->contraction.inner && s->kind == CLARKE_PRODUCT; i++)
    sum += meant_of(c, 0, left_of_product(s, f, i), j) * meant_of(c, 1, right_of_product(s, f, i), j);
  if (s->kind == CLARKE_PRODUCT)
    return sum;
  if (s->kind == CLARKE_SOFTMAX)
    return s->log ? logl(probability(c, f, j)) : probability(c, f, j);
  for (size_t i = 0; i < s->dense.inner; i++)
    sum += w[s->dense.transposed ? i * s->dense.outer + f : f * s->dense.inner + i] * meant_of(c, 0, i, j);
  return sum;
}

/* The gradient of entry e of the operands' value, all that read one value together. */
static long double
gradient_naively(const off_scene *c, size_t value, size_t e, size_t j)
{
  const clarke_step *s = c->s;
  const size_t rows = c->p.g->values[s->out].count, n = c->p.n;
  const double *w = s->kind == CLARKE_DENSE ? c->p.g->values[s->dense.weight].real : NULL;
  long double sum = 0;

  for (size_t f = 0; f < rows; f++) {
    if (s->kind == CLARKE_ANALYTIC && f == e)
      sum += c->g[f * n + j] * curve(s->function, true, meant_of(c, 0, f, j));
    for (size_t i = 0; i < s->contraction.inner && s->kind == CLARKE_PRODUCT; i++) {
      const size_t at[] = {left_of_product(s, f, i), right_of_product(s, f, i)};

      for (size_t k = 0; k < 2; k++)
        if (s->in[k].value == value && clarke_operand_entry(&s->in[k], at[k]) == e)
          sum += c->g[f * n + j] * meant_of(c, 1 - k, at[1 - k], j);
    }
    if (s->kind == CLARKE_SOFTMAX)
      sum += c->g[f * n + j] * (s->log ? (f == e) - probability(c, e, j) : probability(c, f, j) * ((f == e) - probability(c, e, j)));
    if (s->kind == CLARKE_DENSE)
      sum += c->g[f * n + j] * w[s->dense.transposed ? e * rows + f : f * s->dense.inner + e];
  }
  return sum;
}

/* *most grows to the largest distance, as a part of its sample's bound. */
static void
compare_off(double *most, const off_scene *c, const clarke_normed *v, size_t value, bool back)
{
  const size_t n = c->p.n;

  for (size_t j = 0; j < n; j++) {
    long double square = 0;

    for (size_t e = 0; e < c->p.g->values[value].count; e++) {
      const long double meant = back ? gradient_naively(c, value, e, j) : value_naively(c, e, j);
      const long double off = meant - v->at[e * n + j] - v->low[e * n + j];

      square += off * off;
    }
    ck_assert_msg(sqrtl(square) <= v->error[j] + LONG_ROUNDED, "%Lg, said to be %g", sqrtl(square), v->error[j]);
    *most = v->error[j] > 0x1p-30 ? fmax(*most, (double)sqrtl(square) / v->error[j]) : *most;
  }
}

static void
compare_weight(double *most, const off_scene *c)
{
  const clarke_dense *d = &c->s->dense;
  const size_t parameter = c->p.g->values[d->weight].parameter;

  for (size_t o = 0; o < d->outer; o++)
    for (size_t i = 0; i < d->inner; i++) {
      long double off = -(long double)c->gradient.entry[parameter][d->transposed ? i * d->outer + o : o * d->inner + i];

      for (size_t j = 0; j < c->p.n; j++)
        off += c->g[o * c->p.n + j] * meant_of(c, 0, i, j);
      ck_assert_msg(fabsl(off) <= c->gradient.within[parameter] + LONG_ROUNDED, "%Lg, said to be %g", off,
                    c->gradient.within[parameter]);
      *most = fmax(*most, (double)fabsl(off) / c->gradient.within[parameter]);
    }
}

/* Largest distances, as parts of bounds: of values, gradients, weights' gradients. */
typedef struct {
  double forward, back, weight;
} distances_off;

static void
check_step_off(distances_off *most, machine *k, const clarke_step *s, uint64_t *state)
{
  off_scene c;

  off_begin(&c, k, s, state);
  c.p.in_pairs = *state >> 7 & 1; /* exponentials, of every other */
  OK(s->kind == CLARKE_DENSE      ? clarke_dense_forward(&c.p, s)
     : s->kind == CLARKE_ANALYTIC ? clarke_analytic_forward(&c.p, s)
     : s->kind == CLARKE_SOFTMAX  ? clarke_softmax_forward(&c.p, s)
                                  : clarke_product_forward(&c.p, s));
  compare_off(&most->forward, &c, &c.p.value[s->out], s->out, false);
  OK(s->kind == CLARKE_DENSE      ? clarke_dense_back(&c.p, s)
     : s->kind == CLARKE_ANALYTIC ? clarke_analytic_back(&c.p, s)
     : s->kind == CLARKE_SOFTMAX  ? clarke_softmax_back(&c.p, s)
                                  : clarke_product_back(&c.p, s));
  ck_assert(!c.p.lost);
  compare_off(&most->back, &c, &c.p.grad[s->in[0].value], s->in[0].value, true);
  if (s->kind == CLARKE_PRODUCT)
    compare_off(&most->back, &c, &c.p.grad[s->in[1].value], s->in[1].value, true);
  if (s->kind == CLARKE_DENSE)
    compare_weight(&most->weight, &c);
  off_end(&c);
}

/* Networks of one step, or two: small, for what is off to lie along the bounds. */
static distances_off
check_steps_off(clarke_step_kind kind, uint64_t seed)
{
  distances_off most = {0, 0, 0};
  uint64_t state = seed;

  for (size_t round = 0; round < 600; round++) {
    const bool matrices = kind == CLARKE_PRODUCT && draw_below(&state, 3) == 0;
    size_t dims[2] = {1 + draw_below(&state, 2), 2};
    char before[16];
    growing grown;
    clarke_tensor x;
    machine k;

    dims[0] = matrices ? 2 : dims[0];
    grow_begin(&grown, &state, weight_like, matrices ? 2 : 1, dims);
    strcpy(before, grown.at);
    if (kind == CLARKE_DENSE)
      grow_dense(&grown, 1 + draw_below(&state, 2));
    else if (kind == CLARKE_SOFTMAX)
      attr_int(grow_node(&grown, draw_below(&state, 2) ? "Softmax" : "LogSoftmax", NULL, false), "axis", 1);
    else if (kind == CLARKE_PRODUCT && !matrices && draw_below(&state, 2)) /* one number, which all others meet */
      grow_dense(&grown, 1);
    else
      grow_node(&grown, draw_below(&state, 2) ? "Sigmoid" : "Tanh", NULL, false);
    if (kind == CLARKE_PRODUCT)
      grow_node(&grown, matrices ? "MatMul" : "Mul", before, draw_below(&state, 2));
    model_output(&grown.m, grown.at);
    x = grow_batch(&grown, 1 + draw_below(&state, 2));
    machine_begin(&k, &grown.m, &x, profile_with("first"), true);
    for (size_t j = 0; j < k.g.n_steps; j++)
      if (k.g.steps[j].kind == kind)
        check_step_off(&most, &k, &k.g.steps[j], &state);
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("steps of what is off: %g of the bounds, gradients %g, weights %g\n", most.forward, most.back, most.weight);
  return most;
}

START_TEST(steps_of_what_is_off)
{
  const distances_off dense = check_steps_off(CLARKE_DENSE, 19), curves = check_steps_off(CLARKE_ANALYTIC, 21);
  const distances_off products = check_steps_off(CLARKE_PRODUCT, 23);

  const distances_off probabilities = check_steps_off(CLARKE_SOFTMAX, 31);

  ck_assert(probabilities.forward > 0.7 && probabilities.back > 0.7);
  ck_assert(dense.forward > 0.9 && dense.back > 0.9 && dense.weight > 0.9);
  ck_assert(curves.forward > 0.9 && curves.back > 0.7);
  ck_assert(products.forward > 0.6 && products.back > 0.6);
}
END_TEST

/* An argument that overflowed (infinity less infinity) is not one that is too small to count. */
START_TEST(softmax_of_no_number)
{
  uint64_t state = 5;

  for (size_t kind = 0; kind < 2; kind++) {
    const size_t three = 3;
    growing grown;
    clarke_tensor x;
    machine k;
    off_scene c;

    grow_begin(&grown, &state, weight_like, 1, &three);
    grow_dense(&grown, three);
    attr_int(grow_node(&grown, kind == 0 ? "Softmax" : "LogSoftmax", NULL, false), "axis", 1);
    model_output(&grown.m, grown.at);
    x = grow_batch(&grown, 1);
    machine_begin(&k, &grown.m, &x, profile_with("first"), true);
    off_begin(&c, &k, &k.g.steps[k.g.n_steps - 1], &state);
    c.p.in_pairs = true; /* balls hold all that a probability may be */
    c.p.value[c.s->in[0].value].at[1] = NAN;
    OK(clarke_softmax_forward(&c.p, c.s));
    ck_assert_msg(c.p.lost, "kind %zu", kind);
    off_end(&c);
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
}
END_TEST

/* A bias that meets several entries, whose gradients are off: beside their sum. Returns the largest part of the bound. */
static double
check_bias_off(uint64_t *state)
{
  size_t dims[1] = {1 + draw_below(state, 3)}, one = 1, parameter = 0;
  growing grown;
  clarke_tensor x;
  machine k;
  off_scene c;
  long double off = 0;
  double part;

  grow_begin(&grown, state, weight_like, 1, dims);
  grow_node(&grown, "Add", a_weight(&grown, 1, &one, false), false);
  model_output(&grown.m, grown.at);
  x = grow_batch(&grown, 1);
  machine_begin(&k, &grown.m, &x, profile_with("first"), true);
  off_begin(&c, &k, &k.g.steps[k.g.n_steps - 1], state);
  OK(clarke_gradient_pass_back(&c.p));
  for (size_t e = 0; e < dims[0]; e++)
    off += c.g[e];
  off = fabsl(off - c.gradient.entry[parameter][0] - c.p.low[parameter][0]);
  ck_assert_msg(off <= c.gradient.within[parameter] + LONG_ROUNDED, "%Lg, said to be %g", off, c.gradient.within[parameter]);
  part = c.gradient.within[parameter] > 0x1p-30 ? (double)off / c.gradient.within[parameter] : 0;
  off_end(&c);
  machine_end(&k);
  clarke_tensor_clear(&x);
  clarke_model_clear(&grown.m);
  return part;
}

START_TEST(biases_of_what_is_off)
{
  uint64_t state = 27;
  double most = 0;

  for (size_t round = 0; round < 400; round++)
    most = fmax(most, check_bias_off(&state));
  printf("biases of what is off: %g of the bounds\n", most);
  ck_assert(most > 0.95);
}
END_TEST

/* What a convolution's gradient is added up of may be larger than itself: taps (1, 1, -1) beside (1, 1, 1). The bound of what
 * additions round is of their sizes. */
START_TEST(sizes_of_what_is_added_up)
{
  uint64_t state = 29;
  size_t dims[2] = {1, 12}, source, n;
  growing grown;
  clarke_tensor x;
  machine k;
  off_scene c;
  bool needed[16];
  double square = 0;
  const clarke_step *s, *gather;

  grow_begin(&grown, &state, weight_like, 2, dims);
  *model_floats(&grown.m, "u", SHAPE(1, 1, 1,)) = 1;
  memcpy(model_floats(&grown.m, "w", SHAPE(1, 1, 3,)), (const double[]){1, 1, -1}, 3 * sizeof(double));
  grow_node(&grown, "Conv", "u", false);
  grow_node(&grown, "Conv", "w", false);
  grown.dims[1] = 10;
  model_output(&grown.m, grown.at);
  x = grow_batch(&grown, 1);
  machine_begin(&k, &grown.m, &x, profile_with("first"), true);
  s = &k.g.steps[k.g.values[k.g.output].producer];
  gather = &k.g.steps[k.g.values[s->in[0].value].producer];
  ck_assert(s->kind == CLARKE_DENSE && gather->kind == CLARKE_GATHER && k.g.n_values <= 16);
  source = gather->in[0].value;
  off_begin(&c, &k, s, &state);
  clarke_growths_clear(&c.growths);
  memset(needed, true, sizeof needed);
  OK(clarke_growths_add_scaled(&c.growths, &k.g, needed, NULL, (size_t)1 << 20, &error));
  ck_assert(clarke_dense_growth(&c.p, s) == c.growths.growth[s - k.g.steps][0].norm);
  c.p.deferred[s->in[0].value] = gather;
  ck_assert(clarke_dense_growth(&c.p, s) == c.growths.joined[s - k.g.steps] && c.growths.joined[s - k.g.steps] < 2.7);
  if (c.p.value[source].at == NULL)
    c.x[source] = draw_off(&c.p.value[source], k.g.values[source].count, &c.p, 0, &state);
  n = k.g.values[s->out].count;
  for (size_t e = 0; e < n; e++)
    c.p.grad[s->out].at[e] = 1;
  clarke_normed_measure(&c.p.grad[s->out], n, 1, 1);
  OK(clarke_dense_back(&c.p, s));
  for (size_t e = 0; e < 12; e++)
    square += pow(fmin(3, fmin((double)e + 1, 12 - (double)e)), 2);
  ck_assert_double_ge(c.p.grad[source].size[0], sqrt(square));
  off_end(&c);
  machine_end(&k);
  clarke_tensor_clear(&x);
  clarke_model_clear(&grown.m);
}
END_TEST

/* Curves, products of activations and of an activation with itself, kinks among them. */
static void
grow_curved(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  static const char *const curves[] = {"Sigmoid", "Tanh", "Erf", "Softplus", "Elu", "Gelu"};
  size_t dims[2] = {1 + draw_below(state, 3), 1 + draw_below(state, 3)};

  grow_begin(g, state, number, 1 + draw_below(state, 2), dims);
  g->m.opset = 20;
  for (size_t n = 1 + draw_below(state, 3); n > 0; n--) {
    char before[16];

    grow_product(g);
    strcpy(before, g->at);
    if (draw_below(state, 4) == 0)
      attr_int(grow_node(g, draw_below(state, 2) ? "Softmax" : "LogSoftmax", NULL, false), "axis",
               1 + (int64_t)draw_below(state, g->rank));
    else if (draw_below(state, 3) > 0)
      grow_node(g, curves[draw_below(state, 6)], NULL, false);
    if (draw_below(state, 2))
      grow_node(g, "Mul", before, draw_below(state, 2));
    else if (g->rank == 2 && g->dims[0] == g->dims[1] && draw_below(state, 2))
      grow_node(g, "MatMul", before, draw_below(state, 2));
    if (n > 1 && draw_below(state, 2))
      grow_kink(g);
  }
  model_output(&g->m, g->at);
}

START_TEST(curves_and_products)
{
  const tally t = check_networks(grow_curved, weight_like, 25, 600);

  ck_assert_uint_gt(t.served, t.asked / 2);
  ck_assert_uint_gt(t.found, 3 * t.served / 2);
}
END_TEST

/* Deep enough for pairs of doubles not to be enough: convolutions, normalized over the minibatch, and residual sums. */
static void
grow_deep(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[3] = {2, 3, 1 + draw_below(state, 3)};

  grow_begin(g, state, number, 2 + draw_below(state, 2), dims);
  for (size_t n = 2 + draw_below(state, 6); n > 0; n--) {
    if (draw_below(state, 3) == 0)
      grow_residual(g);
    else
      grow_conv(g, 4, false);
    if (draw_below(state, 3) > 0)
      grow_trained(g);
    grow_node(g, "Relu", NULL, false);
    if (draw_below(state, 4) == 0)
      grow_maxpool(g, false);
  }
  model_output(&g->m, g->at);
}

START_TEST(values_in_digits)
{
  const tally t = check_networks(grow_deep, weight_like, 13, 300);

  ck_assert_uint_gt(t.found, t.served);
}
END_TEST

START_TEST(ties_that_are_shared)
{
  uint64_t state = 5;
  tally t = {0};
  size_t touched = 0;

  for (size_t i = 0; i < draw_count(400); i++) {
    growing g;
    clarke_tensor x;
    machine k;
    bool window = false;

    grow_convolutional(&g, &state, small_number);
    x = grow_batch(&g, 3);
    machine_begin(&k, &g.m, &x, profile_with("mean"), true);
    for (size_t j = 0; j < k.replay.n_touches; j++)
      window = window || k.replay.touch[j].n_options > 0;
    ck_assert(!window || !is_served(&k));
    touched += window;
    machine_end(&k);
    check_network(&t, &g, &x, profile_with("mean"));
    clarke_tensor_clear(&x);
    clarke_model_clear(&g.m);
  }
  ck_assert_uint_gt(touched, 5);
  ck_assert_uint_gt(t.found, 0);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-gradient");

  tcase_add_test(tcase, entries_are_within_their_bounds);
  tcase_add_test(tcase, touched_kinks_take_the_profiles_numbers);
  tcase_add_test(tcase, slices_with_few_numbers);
  tcase_add_test(tcase, ends_of_doubles);
  tcase_add_test(tcase, what_is_not_followed);
  tcase_add_test(tcase, normalizations);
  tcase_add_test(tcase, normalizations_of_what_is_off);
  tcase_add_test(tcase, steps_of_what_is_off);
  tcase_add_test(tcase, softmax_of_no_number);
  tcase_add_test(tcase, biases_of_what_is_off);
  tcase_add_test(tcase, sizes_of_what_is_added_up);
  tcase_add_test(tcase, curves_and_products);
  tcase_add_test(tcase, values_in_digits);
  tcase_add_test(tcase, ties_that_are_shared);
  return run_tests();
}
