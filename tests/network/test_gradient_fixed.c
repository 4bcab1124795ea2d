/* The way back in fixed point: drawn networks beside the way back in pairs, with units so coarse that what they take shows. */
#include "machine.h"
#include "normalized.h"
#include "compared.h"

#include "network/derive/gradient.h"
#include "network/derive/gradient/back_fixed.h"
#include "network/derive/reverse.h"

/* The way back over a network, all values of which are there. */
typedef struct {
  clarke_gradient_pass p;
  clarke_gradient_plan plan;
  clarke_growths growths;
  clarke_gradient gradient;
} way;

static void
begin_way(way *w, machine *k)
{
  const clarke_graph *g = &k->g;
  const size_t n = g->n_values + 1;
  bool *all = malloc(n);

  *w = (way){.plan = {.slices = calloc(g->n_steps + 1, sizeof(size_t)), .back_slices = calloc(g->n_steps + 1, sizeof(size_t)),
                      .fine = all, .fine_back = all, .fixed = calloc(n, sizeof(bool)), .limbs = 3}};
  memset(all, true, n);
  OK(clarke_growths_add(&w->growths, g, all, &error));
  OK(clarke_gradient_init(&w->gradient, g->n_parameters, &error));
  w->p = (clarke_gradient_pass){.r = &k->replay, .g = g, .profile = &k->profile, .n = k->replay.samples, .needed = all, .kept = all,
                          .lanes = clarke_graph_couples(g) ? 1 : k->replay.samples, .growths = &w->growths,
                          .gradient = &w->gradient, .err = &error, .carries = malloc(n), .last = malloc(n * sizeof(size_t)),
                          .deferred = calloc(n, sizeof *w->p.deferred), .value = calloc(n, sizeof *w->p.value),
                          .grad = calloc(n, sizeof *w->p.grad), .low = calloc(g->n_parameters + 1, sizeof *w->p.low),
                          .normalized = calloc(g->n_steps + 1, sizeof *w->p.normalized)};
  for (size_t v = 0; v < g->n_values; v++)
    w->p.carries[v] = !g->values[v].constant;
  for (size_t i = 0; i < g->n_steps; i++)
    w->plan.slices[i] = w->plan.back_slices[i] = 4;
  clarke_graph_last_uses(w->p.last, g, all);
  clarke_graph_defer_gathers(w->p.deferred, w->p.last, g);
  w->p.deferred[g->output] = NULL;
}

static void
end_way(way *w)
{
  clarke_gradient_pass *p = &w->p;

  for (size_t v = 0; v < p->g->n_values; v++) {
    clarke_normed_drop(&p->value[v]);
    clarke_normed_drop(&p->grad[v]);
  }
  for (size_t i = 0; i < p->g->n_parameters; i++)
    free(p->low[i]);
  for (size_t i = 0; i < p->g->n_steps; i++) {
    free(p->normalized[i].factor);
    free(p->normalized[i].fixed);
  }
  free(p->low);
  free(p->normalized);
  free(p->carries);
  free(p->last);
  free(p->deferred);
  free(p->value);
  free(p->grad);
  free(w->plan.fine);
  free(w->plan.fixed);
  free(w->plan.slices);
  free(w->plan.back_slices);
  clarke_growths_clear(&w->growths);
  clarke_gradient_clear(&w->gradient);
}

/* Operands alike: all gradients from some value on, or up to some, and what is read with them. */
static void
choose_fixed(way *w, uint64_t *state)
{
  const clarke_graph *g = w->p.g;
  const size_t from = draw_below(state, 2) ? 0 : draw_below(state, g->n_values);
  const size_t end = draw_below(state, 2) ? g->n_values : 1 + draw_below(state, g->n_values);

  for (size_t v = from; v < end; v++)
    w->plan.fixed[v] = w->p.carries[v];
  for (size_t round = 0; round < g->n_steps; round++)
    for (size_t i = 0; i < g->n_steps; i++) {
      bool any = false;

      for (size_t k = 0; k < g->steps[i].n_in; k++)
        any = any || w->plan.fixed[g->steps[i].in[k].value];
      for (size_t k = 0; k < g->steps[i].n_in; k++)
        w->plan.fixed[g->steps[i].in[k].value] = any && w->p.carries[g->steps[i].in[k].value];
    }
}

/* A NORMALIZE step's values once more, in fixed point. */
static void
normalize_fixed(way *w, size_t i, int unit)
{
  clarke_gradient_pass *p = &w->p;
  const clarke_step *s = &p->g->steps[i];
  clarke_normed *x = &p->value[s->in[0].value];
  const size_t rows = p->g->values[s->out].count;

  free(p->normalized[i].factor);
  p->normalized[i] = (clarke_normalized){0};
  clarke_normed_drop(&p->value[s->out]);
  OK(clarke_normed_fix(x, rows, p->n, p->plan->limbs, unit, &error));
  for (size_t e = 0; e < rows * p->n; e++)
    ck_assert(clarke_fixed_add_double(&x->fixed, e, x->at[e]) &&
              (x->low == NULL || clarke_fixed_add_double(&x->fixed, e, x->low[e])));
  for (size_t j = 0; j < p->lanes; j++)
    x->error[j] += ldexp(2 * sqrt((double)(rows * p->n)), unit);
  OK(clarke_normalized_forward_fixed(p, s));
  ck_assert(!p->lost);
  clarke_normed_measure(&p->value[s->out], rows, p->n, p->lanes);
  free(x->fixed.limb);
  x->fixed.limb = NULL;
}

/* Of a step in fixed point what goes to its operands, and not to its constants; others as they are. */
static clarke_status
step_directly(clarke_gradient_pass *p, const clarke_step *s)
{
  switch (s->kind) {
  case CLARKE_SCALE:
    return clarke_scale_back_fixed(p, s);
  case CLARKE_PIECEWISE:
    return clarke_piecewise_back_fixed(p, s);
  case CLARKE_MAX:
    return clarke_max_back_fixed(p, s);
  case CLARKE_NORMALIZE:
    return clarke_normalized_back_fixed(p, s);
  case CLARKE_DENSE:
    return clarke_dense_back(p, s);
  default:
    for (size_t k = 0; k < s->n_in; k++)
      if (p->carries[s->in[k].value]) {
        const double norm = fabs(s->in[k].coef) * 16; /* no entry is taken more often than 256 times */

        OK(clarke_note_operand_fixed(p, &(clarke_step){.kind = s->kind, .in = &s->in[k], .n_in = 1, .out = s->out}, norm,
                                     norm * clarke_fixed_part(p->plan->limbs), 1));
        clarke_sum_operand_fixed(p, s, k);
      }
    return CLARKE_OK;
  }
}

/* As clarke_gradient_pass_back, of steps in fixed point alone. */
static void
back_directly(clarke_gradient_pass *p)
{
  for (size_t i = p->g->n_steps; i-- > 0;) {
    const clarke_step *s = &p->g->steps[i];

    if (p->grad[s->out].at == NULL)
      continue;
    clarke_normed_measure(&p->grad[s->out], p->g->values[s->out].count, p->n, p->lanes);
    ck_assert(clarke_step_is_fixed(p, s) && clarke_is_fixed(p, s->in[0].value) == p->carries[s->in[0].value]);
    OK(clarke_fix_gradient(p, s));
    ck_assert(p->grad[s->out].fixed.limb != NULL);
    OK(step_directly(p, s));
  }
}

static bool
is_throughout(const way *w)
{
  for (size_t v = 0; v < w->p.g->n_values; v++)
    if (w->p.carries[v] && !w->plan.fixed[v])
      return false;
  return true;
}

/* Forward in pairs, and back from a gradient of multiples of 2^-20. */
static void
go(way *w, bool directly, uint64_t seed)
{
  clarke_gradient_pass *p = &w->p;
  const size_t out = p->g->output, count = p->g->values[out].count * p->n;
  uint64_t state = seed, of_units = seed + 1;

  p->plan = &w->plan;
  OK(clarke_gradient_pass_forward(p));
  for (size_t i = 0; i < p->g->n_steps; i++)
    if (p->g->steps[i].kind == CLARKE_NORMALIZE && w->plan.fixed[p->g->steps[i].in[0].value])
      normalize_fixed(w, i, draw_below(&of_units, 2) ? -110 : -(int)draw_between(&of_units, 20, 30));
  OK(clarke_note_begin(p, out));
  for (size_t e = 0; e < count; e++) {
    p->grad[out].at[e] = ldexp((double)draw_between(&state, -(1L << 22), 1L << 22), -20);
    if (p->grad[out].fixed.limb != NULL)
      ck_assert(clarke_fixed_add_double(&p->grad[out].fixed, e, p->grad[out].at[e]));
  }
  if (directly)
    back_directly(p);
  else
    OK(clarke_gradient_pass_back(p));
}

typedef struct {
  size_t networks, fixed, back; /* with gradients in fixed point; and whose inputs' was */
  double of_input, of_parameters; /* the largest distance of both ways, as a part of the bounds */
} distances_seen;

static void
compare_inputs(distances_seen *d, const way *a, const way *b)
{
  const size_t input = a->p.g->input, n = a->p.n;
  const clarke_normed *x = &a->p.grad[input], *y = &b->p.grad[input];
  long double square[16] = {0};

  ck_assert((x->at == NULL) == (y->at == NULL) && n <= 16);
  if (x->at == NULL)
    return;
  if (y->fixed.limb != NULL)
    clarke_normed_measure(&b->p.grad[input], a->p.g->values[input].count, n, a->p.lanes);
  d->back += y->fixed.limb != NULL;
  for (size_t e = 0; e < a->p.g->values[input].count * n; e++) {
    const long double off = ((long double)x->at[e] - y->at[e]) + ((long double)x->low[e] - y->low[e]);

    square[clarke_lane_of(&a->p, e % n)] += off * off;
  }
  for (size_t j = 0; j < a->p.lanes; j++) {
    const double bound = x->error[j] + y->error[j];

    ck_assert_msg(sqrtl(square[j]) <= bound, "%Lg, said to be %g", sqrtl(square[j]), bound);
    d->of_input = bound > 0 ? fmax(d->of_input, (double)sqrtl(square[j]) / bound) : d->of_input;
  }
}

static void
compare_parameters(distances_seen *d, const way *a, const way *b)
{
  for (size_t q = 0; q < a->p.g->n_parameters; q++) {
    const double bound = a->gradient.within[q] + b->gradient.within[q];

    for (size_t e = 0; e < a->p.g->parameters[q].count && a->gradient.entry[q] != NULL; e++) {
      const double off = fabs(a->gradient.entry[q][e] - b->gradient.entry[q][e]);

      ck_assert_msg(off <= bound + fabs(a->gradient.entry[q][e]) * 0x1p-50, "%g, said to be %g", off, bound);
      d->of_parameters = bound > 0x1p-40 ? fmax(d->of_parameters, off / bound) : d->of_parameters;
    }
  }
}

static void
compare_ways(distances_seen *d, machine *k, uint64_t *state)
{
  const uint64_t seed = draw(state);
  bool directly;
  way a, b;

  begin_way(&a, k);
  begin_way(&b, k);
  choose_fixed(&b, state);
  for (size_t i = 0; i < k->g.n_steps; i++)
    b.plan.back_slices[i] = 4 * draw_below(state, 2);
  b.plan.unit = draw_below(state, 3) ? -(int)draw_between(state, 22, 34) : -120;
  directly = is_throughout(&b) && draw_below(state, 3) == 0;
  go(&a, false, seed);
  go(&b, directly, seed);
  ck_assert(!a.p.lost && !b.p.lost);
  d->fixed += b.plan.fixed[k->g.output];
  compare_inputs(d, &a, &b);
  if (!directly)
    compare_parameters(d, &a, &b);
  end_way(&a);
  end_way(&b);
}

static bool
is_fixed_served(const machine *k)
{
  bool serves;

  OK(clarke_gradient_serves(&serves, &k->replay, &k->profile, &error));
  for (size_t i = 0; i < k->g.n_steps; i++)
    serves = serves && k->g.steps[i].kind != CLARKE_ANALYTIC && k->g.steps[i].kind != CLARKE_SOFTMAX &&
             k->g.steps[i].kind != CLARKE_PRODUCT;
  return serves;
}

static distances_seen
compare_networks(void (*grow)(growing *g, uint64_t *state, double (*number)(uint64_t *state)),
                 double (*number)(uint64_t *state), uint64_t seed, size_t n)
{
  uint64_t state = seed;
  distances_seen d = {0};

  for (size_t i = 0; i < draw_count(n); i++) {
    growing grown;
    clarke_tensor x;
    machine k;

    grow(&grown, &state, number);
    x = grow_batch(&grown, 1 + draw_below(&state, 4));
    machine_begin(&k, &grown.m, &x, profile_with("first"), true);
    if (k.replay.open == 0 && is_fixed_served(&k)) {
      d.networks++;
      compare_ways(&d, &k, &state);
    }
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("ways back: %zu networks, %zu in fixed point, %zu of them throughout; inputs off by %g of their bounds, parameters by %g\n",
         d.networks, d.fixed, d.back, d.of_input, d.of_parameters);
  return d;
}

/* A sum of multiples, of which three add up to an entry: each loses up to a unit, and the bound of the operand's gradient says so. */
START_TEST(multiples_in_sums)
{
  size_t map[3][4] = {{1, 0, 2, 1}, {0, 0, 1, 2}, {CLARKE_NONE, 2, 1, 0}};
  uint64_t state = 19;
  double nearest = 0;

  for (size_t round = 0; round < 500; round++) {
    clarke_operand in[3];
    clarke_step s = {.kind = CLARKE_SUM, .in = in, .n_in = 3, .out = 1};
    clarke_value values[2] = {{.count = 3}, {.count = 4}};
    clarke_graph g = {.n_values = 2, .values = values, .n_steps = 1, .steps = &s, .output = 1};
    bool all[2] = {true, true};
    clarke_growth growth[3] = {{.norm = 9}}, *by_step[1] = {growth};
    clarke_growths growths = {.g = &g, .growth = by_step};
    clarke_gradient_plan plan = {.fine_back = all, .fixed = all, .limbs = 3, .unit = -24};
    const clarke_step *deferred[2] = {NULL, NULL};
    clarke_normed grad[2] = {{0}}, value[2] = {{0}};
    clarke_gradient_pass p = {.g = &g, .n = 1, .lanes = 1, .plan = &plan, .grad = grad, .value = value, .carries = all, .deferred = deferred,
                        .growths = &growths, .err = &error};
    long double meant[3] = {0}, off = 0;

    OK(clarke_note_begin(&p, 1));
    for (size_t k = 0; k < 3; k++)
      in[k] = (clarke_operand){.value = 0, .map = map[k], .coef = draw_below(&state, 4) ? full_double(&state) : -1};
    for (size_t f = 0; f < 4; f++) {
      const double v = (double)draw_between(&state, -(1L << 26), 1L << 26) * 0x1p-24;

      ck_assert(clarke_fixed_add_double(&grad[1].fixed, f, v));
      for (size_t k = 0; k < 3; k++)
        if (map[k][f] != CLARKE_NONE)
          meant[map[k][f]] += (long double)in[k].coef * v;
    }
    OK(clarke_gradient_pass_back(&p));
    ck_assert(!p.lost && grad[0].fixed.limb != NULL);
    clarke_normed_measure(&grad[0], 3, 1, 1);
    ck_assert(clarke_fixed_units(&p, 0) >= sqrt(3) * 0x1p-24 && clarke_fixed_units(&p, 0) < 1.74 * 0x1p-24);
    for (size_t e = 0; e < 3; e++)
      off += (meant[e] - grad[0].at[e] - grad[0].low[e]) * (meant[e] - grad[0].at[e] - grad[0].low[e]);
    ck_assert_msg(sqrtl(off) <= grad[0].error[0], "%Lg, said to be %g", sqrtl(off), grad[0].error[0]);
    nearest = fmax(nearest, (double)sqrtl(off) / grad[0].error[0]);
    clarke_normed_drop(&grad[0]);
  }
  ck_assert(nearest > 0.4);
}
END_TEST

/* Rows of groups: each of all rows is one of its own group's, once. */
static void
check_rows(const clarke_graph *g, const clarke_step *s)
{
  size_t rows = 0, sum = 0;

  for (size_t group = 0; group < s->grouping.groups; group++)
    for (size_t b = 0; b < s->grouping.blocks; b++)
      for (size_t i = 0; i < s->grouping.length; i++, rows++) {
        const size_t f = clarke_group_row(s, b, group, i);

        ck_assert(f < g->values[s->out].count && clarke_step_group(s, f) == group);
        sum += f;
      }
  ck_assert(rows == g->values[s->out].count && sum == rows * (rows - 1) / 2);
}

/* What rounding took, squared, becomes a norm, and errors of x join it. */
START_TEST(errors_settled)
{
  double error_of[2][1] = {{3}, {4}};
  clarke_operand in = {.value = 0};
  clarke_step s = {.kind = CLARKE_NORMALIZE, .in = &in, .n_in = 1, .out = 1, .grouping = {.couples = true, .blocks = 1, .groups = 2, .length = 2}};
  clarke_graph g = {.n_steps = 1, .steps = &s};
  clarke_normed value[2] = {{.error = error_of[0]}, {.error = error_of[1]}};
  clarke_normalized normalized = {.steepest = 2};
  clarke_gradient_pass p = {.g = &g, .n = 8, .lanes = 1, .value = value, .normalized = &normalized};

  clarke_normalized_settle(&p, &s, 0.5);
  ck_assert_double_ge(error_of[1][0], 2 * 3 + 2);
  ck_assert_double_lt(error_of[1][0], 8.001);
  ck_assert_double_ge(normalized.turned, 2 * (0.5 + 2 * 8 / sqrt((double)clarke_step_group_size(&s, 8))));
  ck_assert_double_lt(normalized.turned, 2.001 * (0.5 + 2 * 8 / sqrt((double)clarke_step_group_size(&s, 8))));
}
END_TEST

/* The outputs in fixed point and in pairs are one enclosure; and so is the loss's gradient in them, but for a unit. */
static void
compare_seeds(way *a, way *b, const clarke_loss *loss)
{
  const size_t out = a->p.g->output, rows = a->p.g->values[out].count;
  clarke_forward of[2];
  clarke_normed *x;

  b->plan.unit = -140;
  b->plan.fixed[out] = true;
  for (size_t i = 0; i < 2; i++) {
    way *w = i == 0 ? a : b;

    clarke_forward_init(&of[i]);
    w->p.plan = &w->plan;
    w->p.loss = loss;
    OK(clarke_gradient_pass_forward(&w->p));
    x = &w->p.value[out];
    OK(i == 1 ? clarke_normed_fix(x, rows, w->p.n, 4, -200, &error) : CLARKE_OK);
    for (size_t e = 0; e < rows * w->p.n && i == 1; e++)
      ck_assert(clarke_fixed_add_double(&x->fixed, e, x->at[e]) && (x->low == NULL || clarke_fixed_add_double(&x->fixed, e, x->low[e])));
    OK(clarke_gradient_pass_enclose(&of[i], &w->p));
    OK(clarke_gradient_pass_seed(&w->p, &of[i]));
    clarke_normed_measure(&w->p.grad[out], rows, w->p.n, w->p.lanes);
  }
  ck_assert(of[1].precision > of[0].precision && b->p.grad[out].fixed.limb != NULL && !b->p.lost);
  for (size_t e = 0; e < rows * a->p.n; e++) {
    const size_t lane = clarke_lane_of(&a->p, e % a->p.n);
    const clarke_normed *y = &a->p.grad[out], *z = &b->p.grad[out];

    ck_assert(clarke_matrix_get_double(&of[0].value[out], e / a->p.n, e % a->p.n) ==
              clarke_matrix_get_double(&of[1].value[out], e / a->p.n, e % a->p.n));
    ck_assert(clarke_matrix_radius(&of[1].value[out], e / a->p.n, e % a->p.n) >= a->p.value[out].error[lane]);
    ck_assert(fabs((y->at[e] - z->at[e]) + (y->low[e] - z->low[e])) <= y->error[lane] + z->error[lane] && z->error[lane] >= 0x1p-140);
  }
  clarke_forward_clear(&of[0]);
  clarke_forward_clear(&of[1]);
}

START_TEST(seeds)
{
  uint64_t state = 21;

  for (size_t i = 0; i < 100; i++) {
    size_t dims[1] = {3};
    clarke_loss loss;
    clarke_tensor x, y;
    growing grown;
    machine k;
    way a, b;

    grow_begin(&grown, &state, weight_like, 1, dims);
    grow_dense(&grown, 3);
    grow_trained(&grown);
    model_output(&grown.m, grown.at);
    x = grow_batch(&grown, 4);
    y = tensor_of("y", CLARKE_I64, SHAPE(4,));
    for (size_t e = 0; e < y.count; e++)
      y.integer[e] = (int64_t)draw_below(&state, 3);
    loss = (clarke_loss){.kind = i % 2 ? CLARKE_LOSS_SUM : CLARKE_LOSS_CE, .y = i % 2 ? NULL : &y, .samples = 4};
    machine_begin(&k, &grown.m, &x, profile_with("first"), true);
    for (size_t j = 0; j < k.g.n_steps; j++)
      if (k.g.steps[j].kind == CLARKE_NORMALIZE)
        check_rows(&k.g, &k.g.steps[j]);
    begin_way(&a, &k);
    begin_way(&b, &k);
    compare_seeds(&a, &b, &loss);
    end_way(&a);
    end_way(&b);
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_tensor_clear(&y);
    clarke_model_clear(&grown.m);
  }
}
END_TEST

static double
large_number(uint64_t *state)
{
  return 64 * weight_like(state);
}

/* One step or two, for bounds to be near. */
static void
grow_briefly(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[2] = {1 + draw_below(state, 3), 4 + draw_below(state, 3)};

  grow_begin(g, state, number, 2, dims);
  g->m.opset = 21;
  switch (draw_below(state, 5)) {
  case 0:
    grow_average(g);
    break;
  case 1:
    grow_arithmetic(g, "Mul");
    grow_normalization(g);
    break;
  case 2:
    grow_arithmetic(g, draw_below(state, 2) ? "Mul" : "Add");
    break;
  case 3:
    grow_conv(g, 3, true);
    break;
  default:
    attr_float(grow_node(g, "LeakyRelu", NULL, false), "alpha", 0.3125);
  }
  model_output(&g->m, g->at);
}

START_TEST(ways_back_of_a_step)
{
  const distances_seen d = compare_networks(grow_briefly, large_number, 17, 2000);

  ck_assert_uint_gt(d.back, d.networks / 4);
  ck_assert(d.of_input > 0.4 && d.of_parameters > 0.1);
}
END_TEST

START_TEST(ways_back)
{
  const distances_seen d = compare_networks(grow_convolutional, weight_like, 11, 1500);

  ck_assert_uint_gt(d.fixed, d.networks / 3);
  ck_assert_uint_gt(d.back, d.networks / 4);
  ck_assert(d.of_input > 0.3 && d.of_parameters > 0.1);
}
END_TEST

START_TEST(ways_back_past_touches)
{
  const distances_seen d = compare_networks(grow_convolutional, small_number, 13, 800);

  ck_assert_uint_gt(d.fixed, d.networks / 3);
}
END_TEST

START_TEST(ways_back_past_normalizations)
{
  const distances_seen d = compare_networks(grow_normalized, weight_like, 15, 800);

  ck_assert_uint_gt(d.back, d.networks / 4);
  ck_assert(d.of_input > 0.1 && d.of_parameters > 0.05);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-gradient_fixed");

  tcase_add_test(tcase, errors_settled);
  tcase_add_test(tcase, seeds);
  tcase_add_test(tcase, multiples_in_sums);
  tcase_add_test(tcase, ways_back_of_a_step);
  tcase_add_test(tcase, ways_back);
  tcase_add_test(tcase, ways_back_past_touches);
  tcase_add_test(tcase, ways_back_past_normalizations);
  return run_tests();
}
