/* Passes of a gradient by a plan of any kind, drawn or chosen: values, and the gradient of the outputs' sum, beside exact ones,
 * within the bounds that are told. */
#include "machine.h"
#include "normalized.h"
#include "compared.h"
#include "../suites.h"

#include "network/derive/gradient/foretell.h"
#include "network/derive/gradient/plan_fixed.h"
#include "network/derive/gradient/sliced.h"
#include "network/pass/slices/plan.h"

typedef struct {
  machine k;
  bool *all;
  clarke_growths growths;
  clarke_gradient_plan plan;
  clarke_gradient_sizes seen;
  clarke_gradient gradient;
  clarke_gradient_pass p;
} scene;

/* A pass over the replay's samples; every value that is made stays. */
static void
begin(scene *c, bool defer)
{
  const clarke_graph *g = &c->k.g;
  const size_t n = c->k.replay.samples;
  clarke_gradient_pass *p = &c->p;

  *p = (clarke_gradient_pass){.r = &c->k.replay, .g = g, .profile = &c->k.profile, .n = n, .lanes = clarke_graph_couples(g) ? 1 : n,
                        .plan = &c->plan, .growths = &c->growths, .gradient = &c->gradient, .err = &error};
  p->needed = calloc(g->n_values + 1, sizeof *p->needed);
  p->carries = calloc(g->n_values + 1, sizeof *p->carries);
  p->last = calloc(g->n_values + 1, sizeof *p->last);
  p->kept = malloc(g->n_values + 1);
  p->deferred = calloc(g->n_values + 1, sizeof *p->deferred);
  p->value = calloc(g->n_values + 1, sizeof *p->value);
  p->grad = calloc(g->n_values + 1, sizeof *p->grad);
  p->normalized = calloc(g->n_steps + 1, sizeof *p->normalized);
  p->low = calloc(g->n_parameters + 1, sizeof *p->low);
  memset(p->kept, true, g->n_values + 1);
  p->needed[g->output] = true;
  for (size_t i = g->n_steps; i-- > 0;)
    for (size_t k = 0; k < g->steps[i].n_in && p->needed[g->steps[i].out]; k++)
      p->needed[g->steps[i].in[k].value] = true;
  clarke_reverse_carriers(p->carries, g, CLARKE_NONE);
  clarke_graph_last_uses(p->last, g, p->needed);
  if (defer)
    clarke_graph_defer_gathers(p->deferred, p->last, g);
  p->deferred[g->output] = NULL;
  OK(clarke_gradient_init(&c->gradient, g->n_parameters, &error));
}

static void
end(scene *c)
{
  clarke_gradient_pass *p = &c->p;

  for (size_t v = 0; v < c->k.g.n_values; v++) {
    clarke_normed_drop(&p->value[v]);
    clarke_normed_drop(&p->grad[v]);
  }
  for (size_t i = 0; i < c->k.g.n_steps; i++)
    free(p->normalized[i].factor), free(p->normalized[i].fixed);
  for (size_t i = 0; i < c->k.g.n_parameters; i++)
    free(p->low[i]);
  free(p->needed);
  free(p->carries);
  free(p->last);
  free(p->kept);
  free(p->deferred);
  free(p->value);
  free(p->grad);
  free(p->normalized);
  free(p->low);
  clarke_gradient_clear(&c->gradient);
}

/* How far a pair is from an entry (none: zeros), at least: this is known within a radius. */
static void
find_distance(mpq_t off, clarke_pair x, const clarke_matrix *exact, size_t row, size_t column)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_d(off, x.high);
  mpq_set_d(term, x.low);
  mpq_add(off, off, term);
  mpq_set_ui(term, 0, 1);
  if (exact->rows > 0)
    clarke_matrix_get(term, exact, row, column);
  mpq_sub(off, off, term);
  mpq_abs(off, off);
  mpq_set_d(term, exact->rows > 0 ? clarke_matrix_radius(exact, row, column) : 0);
  mpq_sub(off, off, term);
  if (mpq_sgn(off) < 0)
    mpq_set_ui(off, 0, 1);
  mpq_clear(term);
}

/* The norms of all values' errors are below their bounds. Returns how many values there are. */
static size_t
check_values_near(const scene *c)
{
  const clarke_gradient_pass *p = &c->p;
  size_t checked = 0;
  mpq_t sum, off;

  mpq_inits(sum, off, NULL);
  for (size_t v = 0; v < p->g->n_values; v++) {
    const clarke_matrix *exact = &c->k.pass.value[v];

    if (p->value[v].at == NULL || exact->rows == 0)
      continue;
    checked++;
    for (size_t l = 0; l < p->lanes; l++) {
      mpq_set_ui(sum, 0, 1);
      for (size_t e = 0; e < p->g->values[v].count * p->n; e++)
        if (clarke_lane_of(p, e % p->n) == l) {
          find_distance(off, clarke_normed_get(&p->value[v], e), exact, e / p->n, e % p->n);
          mpq_mul(off, off, off);
          mpq_add(sum, sum, off);
        }
      mpq_set_d(off, p->value[v].error[l]);
      mpq_mul(off, off, off);
      ck_assert(mpq_cmp(sum, off) <= 0);
    }
  }
  mpq_clears(sum, off, NULL);
  return checked;
}

/* From ones at the outputs. */
static void
go_back(scene *c)
{
  clarke_gradient_pass *p = &c->p;
  const size_t out = p->g->output, rows = p->g->values[out].count;

  OK(clarke_normed_make(&p->grad[out], rows, p->n, p->plan->fine_back[out], &error));
  for (size_t e = 0; e < rows * p->n; e++)
    p->grad[out].at[e] = 1;
  OK(clarke_gradient_pass_back(p));
}

/* Every entry is within its parameter's bound. */
static void
check_gradient(const scene *c)
{
  mpq_t off, within;

  mpq_inits(off, within, NULL);
  for (size_t i = 0; i < c->k.g.n_parameters; i++) {
    const double *high = c->gradient.entry[i], *low = c->p.low[i];

    mpq_set_d(within, c->gradient.within[i]);
    for (size_t e = 0; e < c->k.g.parameters[i].count; e++) {
      find_distance(off, (clarke_pair){high != NULL ? high[e] : 0, low != NULL ? low[e] : 0}, &c->k.gradient[i], e, 0);
      ck_assert(mpq_cmp(off, within) <= 0);
    }
  }
  mpq_clears(off, within, NULL);
}

/* A network with its exact gradient, or false where it is not one that passes follow. */
static bool
grow(scene *c, growing *grown, clarke_tensor *x, bool normalized, uint64_t *state)
{
  bool serves = false;
  clarke_loss sum = {.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = 0};

  memset(c, 0, sizeof *c);
  if (normalized)
    grow_normalized(grown, state, weight_like);
  else
    grow_convolutional(grown, state, weight_like);
  *x = grow_batch(grown, 1 + draw_below(state, 4));
  machine_begin(&c->k, &grown->m, x, profile_with("first"), true);
  sum.samples = x->dims[0];
  if (c->k.replay.open == 0 && c->k.pass.open == 0)
    OK(clarke_gradient_serves(&serves, &c->k.replay, &c->k.profile, &error));
  if (!serves)
    return false;
  OK(clarke_loss_seed(&c->k.grad[c->k.g.output], &sum, &c->k.pass, NULL, &error));
  OK(clarke_reverse_run(c->k.grad, &c->k.pass, &c->k.slopes, CLARKE_NONE, clarke_gradient_sink, c->k.gradient, &error));
  OK(clarke_gradient_plan_init(&c->plan, &c->k.g, &error));
  OK(clarke_gradient_sizes_init(&c->seen, &c->k.g, &error));
  c->all = malloc(c->k.g.n_values + 1);
  memset(c->all, true, c->k.g.n_values + 1);
  OK(clarke_growths_add(&c->growths, &c->k.g, c->all, &error));
  return true;
}

static void
ungrow(scene *c, growing *grown, clarke_tensor *x)
{
  if (c->growths.g != NULL)
    clarke_growths_clear(&c->growths);
  clarke_gradient_plan_clear(&c->plan);
  clarke_gradient_sizes_clear(&c->seen);
  free(c->all);
  machine_end(&c->k);
  clarke_tensor_clear(x);
  clarke_model_clear(&grown->m);
}

static void
draw_plan(scene *c, uint64_t *state)
{
  for (size_t v = 0; v < c->k.g.n_values; v++) {
    c->plan.fine[v] = draw_below(state, 2);
    c->plan.fine_back[v] = draw_below(state, 2);
  }
  for (size_t i = 0; i < c->k.g.n_steps; i++) {
    c->plan.slices[i] = draw_below(state, CLARKE_GRADIENT_MOST + 1);
    c->plan.back_slices[i] = draw_below(state, CLARKE_GRADIENT_MOST + 1);
    if (c->k.g.steps[i].kind == CLARKE_DENSE)
      c->plan.fine[c->k.g.steps[i].out] = c->plan.slices[i] > 0;
  }
}

/* What is left of a number of a value that is cut into slices. */
static double
tail_of(const clarke_normed *v, size_t e, size_t slices)
{
  clarke_digit_matrix m = {0};
  double high = v->at[e], low = v->low != NULL ? v->low[e] : 0, tail;
  int top;

  ck_assert(clarke_sliced_top(&top, v->largest));
  ck_assert(clarke_sliced_room(&m, 1, slices, top));
  clarke_sliced_cut(&m, 0, &high, &low, 1);
  tail = m.digit[slices];
  clarke_digits_clear(&m);
  return tail;
}

/* A product's bound has room for what rounding may take of the tails of all that is gathered, in each lane. */
static size_t
check_tails(const scene *c)
{
  const clarke_gradient_pass *p = &c->p;
  size_t checked = 0;

  for (size_t i = 0; i < p->g->n_steps; i++) {
    const clarke_step *s = &p->g->steps[i], *gather = p->deferred[s->in != NULL ? s->in[0].value : s->out];
    const clarke_normed *from = &p->value[gather != NULL ? gather->in[0].value : s->in != NULL ? s->in[0].value : s->out];
    const clarke_normed *to = &p->value[s->out];

    if (s->kind != CLARKE_DENSE || from->at == NULL || to->at == NULL || p->growths->growth[i] == NULL)
      continue;
    for (size_t l = 0; l < p->lanes; l++) {
      double squares = 0;

      for (size_t f = 0; f < p->g->values[s->in[0].value].count; f++)
        for (size_t j = 0; j < p->n; j++) {
          const size_t e = gather != NULL ? clarke_operand_entry(&gather->in[0], f) : f;
          const double tail = e != CLARKE_NONE && clarke_lane_of(p, j) == l ? tail_of(from, e * p->n + j, p->plan->slices[i]) : 0;

          squares += tail * tail;
        }
      ck_assert(to->error[l] >= clarke_rounded_gamma((double)s->dense.inner) * p->growths->size[i] * sqrt(squares) * (1 - 0x1p-30));
      checked += squares > 0;
    }
  }
  return checked;
}

START_TEST(drawn_plans)
{
  uint64_t state = 1;
  size_t passes = 0, checked = 0, tails = 0;

  for (size_t round = 0; round < draw_count(300); round++) {
    growing grown;
    clarke_tensor x;
    scene c;

    if (grow(&c, &grown, &x, round % 2 == 0, &state))
      for (size_t i = 0; i < 4; i++) {
        draw_plan(&c, &state);
        if (i == 3)
          clarke_gradient_plan_finest(&c.plan, &c.k.g);
        for (size_t v = 0; v < c.k.g.n_values && i == 3; v++)
          ck_assert(c.plan.fine[v] && c.plan.fine_back[v]);
        begin(&c, draw_below(&state, 2));
        OK(clarke_gradient_pass_forward(&c.p));
        if (!c.p.lost) {
          checked += check_values_near(&c);
          tails += check_tails(&c);
          go_back(&c);
        }
        if (!c.p.lost) {
          check_gradient(&c);
          passes++;
        }
        end(&c);
      }
    ungrow(&c, &grown, &x);
  }
  ck_assert(passes >= draw_count(300) && checked > 3 * passes && tails > passes / 4);
}
END_TEST

/* Values that the pass in slices makes: of the steps that it follows, and where their digits are not too many. */
START_TEST(values_in_digits)
{
  uint64_t state = 2;
  size_t passes = 0, checked = 0, refused = 0;

  for (size_t round = 0; round < draw_count(300); round++) {
    growing grown;
    clarke_tensor x;
    scene c;
    const bool served = grow(&c, &grown, &x, round % 2 == 0, &state);

    if (served) {
      bool follows = true;

      begin(&c, true);
      for (size_t v = 0; v < c.k.g.n_values; v++) {
        c.plan.borne[v] = ldexp(1, -(int)draw_between(&state, 20, 120));
        c.p.kept[v] = false;
        c.plan.fixed[v] = draw_below(&state, 2);
      }
      c.plan.limbs = 3 + draw_below(&state, 3);
      for (size_t i = 0; i < c.k.g.n_steps; i++) {
        c.p.kept[c.k.g.steps[i].out] = c.p.deferred[c.k.g.steps[i].out] == NULL;
        if (c.p.needed[c.k.g.steps[i].out] && c.k.g.steps[i].kind == CLARKE_NORMALIZE)
          follows = follows && c.k.g.steps[i].grouping.couples;
      }
      ck_assert(follows || !clarke_slices_follow(&c.k.g, c.p.needed));
      if (clarke_slices_follow(&c.k.g, c.p.needed)) {
        clarke_slice_plan own = {0};

        OK(clarke_slice_plan_for(&own, &c.growths, &c.k.g, c.k.replay.x, c.p.needed, c.plan.borne, &error));
        for (size_t v = 0; v < c.k.g.n_values; v++)
          ck_assert(own.needed[v] == c.p.needed[v] && own.allowed[v] <= c.plan.borne[v] && own.scaling[v].row == NULL &&
                    (own.low[v] - own.low[0]) % own.width == 0);
        clarke_slice_plan_clear(&own);
        OK(clarke_gradient_pass_forward_in_digits(&c.p));
        checked += check_values_near(&c);
        passes += !c.p.lost;
      } else
        refused++;
      end(&c);
    }
    ungrow(&c, &grown, &x);
  }
  printf("in digits: %zu passes, %zu refused, %zu values\n", passes, refused, checked);
  ck_assert(passes > 0 && checked > passes && refused > 0);
}
END_TEST

static bool
has_dense(const clarke_graph *g)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (g->steps[i].kind == CLARKE_DENSE)
      return true;
  return false;
}

/* Gradients that bear less than pairs take are in fixed point, with all that is read beside them; and its unit is small enough. */
static void
check_fixed(clarke_planning *q, const scene *c)
{
  const clarke_graph *g = &c->k.g;
  double least = INFINITY, most = 0;
  bool enough = true;

  for (size_t v = 0; v < g->n_values; v++) {
    least = q->seen->grad[v] > 0 ? fmin(least, q->seen->grad[v]) : least;
    most = fmax(most, q->seen->grad[v]);
    q->grad[v] = v % 2 ? ldexp(q->seen->grad[v], -140) : q->seen->grad[v];
    q->value[v] = 1;
  }
  clarke_plan_fixed(q, &enough, false);
  for (size_t v = 0; v < g->n_values; v++)
    ck_assert(!q->plan->fixed[v] && clarke_planning_rounded(q, v, 8, 1) < 0x1p-48);
  clarke_plan_fixed(q, &enough, true);
  ck_assert(enough || most > least * 0x1p60);
  for (size_t v = 0; v < g->n_values; v++) {
    ck_assert(q->plan->fixed[v] || !c->p.carries[v] || v % 2 == 0 || c->p.deferred[v] != NULL || !(q->seen->grad[v] > 0));
    ck_assert(!enough || !q->plan->fixed[v] || clarke_planning_rounded(q, v, 8, 1) <= q->grad[v] || !(q->seen->grad[v] > 0));
  }
  for (size_t i = 0; i < g->n_steps; i++)
    for (size_t k = 1; k < g->steps[i].n_in; k++)
      for (size_t l = 0; l < k; l++)
        ck_assert(!c->p.carries[g->steps[i].in[k].value] || !c->p.carries[g->steps[i].in[l].value] ||
                  q->plan->fixed[g->steps[i].in[k].value] == q->plan->fixed[g->steps[i].in[l].value]);
  for (size_t v = 0; v < g->n_values; v++)
    q->grad[v] = ldexp(q->seen->grad[v], -600);
  clarke_plan_fixed(q, &enough, true); /* more than there are limbs for */
  for (size_t v = 0; v < g->n_values; v++)
    ck_assert(!q->plan->fixed[v] || !enough);
}

/* A plan of many slices is foretold to be nearer than one of none, and nearer than fewer bits ask for; growths and products are those
 * of the steps. */
static void
check_foretold(const scene *c, clarke_gradient_plan *plan, bool has_products)
{
  clarke_planning q;
  double root;

  OK(clarke_planning_init(&q, plan, &c->p));
  clarke_gradient_plan_finest(plan, &c->k.g);
  ck_assert(clarke_plan_foretell(&q, 10) && (!has_products || !clarke_plan_foretell(&q, 300)));
  for (size_t i = 0; i < c->k.g.n_steps; i++) {
    const clarke_step *s = &c->k.g.steps[i];
    const size_t x = clarke_planning_source(&root, &q, i);

    if (s->kind != CLARKE_DENSE)
      continue;
    ck_assert(root >= 1 && (x == s->in[0].value) == (c->p.deferred[s->in[0].value] == NULL));
    ck_assert(clarke_planning_growth(&q, i, 0) == clarke_dense_growth(&c->p, s));
    ck_assert(clarke_planning_value(&q, x, 2).norm == 2 * q.seen->value[x] && clarke_planning_value(&q, x, 2).most == q.seen->value_most[x]);
    ck_assert(clarke_planning_grad(&q, s->out).norm == q.seen->grad[s->out]);
    ck_assert(clarke_planning_grad(&q, s->out).entries == q.seen->grad_entries[s->out]);
    for (size_t k = 0; k < CLARKE_GRADIENT_MOST; k++)
      ck_assert_double_le(clarke_planning_taken(&q, i, k + 1, 3, (clarke_multiplied){1, 1, 1}),
                          clarke_planning_taken(&q, i, k, 3, (clarke_multiplied){1, 1, 1}));
    plan->slices[i] = plan->back_slices[i] = 0;
    plan->fine[s->out] = false;
  }
  for (size_t v = 0; v < c->k.g.n_values; v++)
    plan->fine[v] = plan->fine_back[v] = false;
  ck_assert(!has_products || !clarke_plan_foretell(&q, 60));
  for (int bits = -20; bits < 60; bits += 7)
    ck_assert(clarke_plan_foretell(&q, bits) == (clarke_plan_farthest(&q) <= ldexp(1, -bits)));
  check_fixed(&q, c);
  clarke_planning_clear(&q);
}

/* What was looked at in doubles says how near the rest is to be: for nothing, doubles; for more bits, no fewer slices. Bounds are
 * then what was asked for, as a rule. */
START_TEST(chosen_plans)
{
  static const int bits[] = {-400, 12, 30, 45, 300};
  uint64_t state = 3;
  size_t near = 0, asked = 0;

  for (size_t round = 0; round < draw_count(200); round++) {
    growing grown;
    clarke_tensor x;
    scene c, of;

    if (grow(&c, &grown, &x, false, &state)) {
      clarke_gradient_plan chosen = {0};
      size_t before = 0;
      double most = 0;

      OK(clarke_gradient_plan_init(&chosen, &c.k.g, &error));
      begin(&c, true);
      c.p.seen = &c.seen;
      OK(clarke_gradient_pass_forward(&c.p));
      go_back(&c);
      for (size_t i = 0; i < c.k.g.n_parameters; i++)
        most = fmax(most, clarke_gradient_largest(&c.gradient, &c.k.g, i));
      c.p.loss = &(clarke_loss){.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = c.p.n};
      for (size_t b = 0; b < sizeof bits / sizeof *bits && !c.p.lost && most > 0; b++) {
        size_t slices = 0;
        bool enough = false, fits = true;

        OK(clarke_gradient_plan_choose(&chosen, &enough, &c.p, bits[b]));
        for (size_t i = 0; i < c.k.g.n_steps; i++)
          slices += chosen.slices[i] + chosen.back_slices[i];
        for (size_t v = 0; v < c.k.g.n_values && b == 0; v++)
          ck_assert(!chosen.fine[v] && !chosen.fine_back[v]);
        ck_assert(b > 0 ? slices >= before : slices == 0 && enough && !chosen.in_digits);
        before = slices;
        if (!enough || chosen.in_digits || b == 0)
          continue;
        of = c;
        of.plan = chosen;
        begin(&of, true);
        OK(clarke_gradient_pass_forward(&of.p));
        check_values_near(&of);
        go_back(&of);
        check_gradient(&of);
        for (size_t i = 0; i < c.k.g.n_parameters; i++)
          fits = fits && of.gradient.within[i] <=
                           ldexp(fmax(clarke_gradient_largest(&of.gradient, &c.k.g, i), 0x1p-20 * most), -bits[b]);
        near += fits;
        asked++;
        end(&of);
      }
      if (!c.p.lost && most > 0)
        check_foretold(&c, &chosen, has_dense(&c.k.g) && c.p.seen->value[c.k.g.output] > 0);
      clarke_gradient_plan_clear(&chosen);
      end(&c);
    }
    ungrow(&c, &grown, &x);
  }
  printf("chosen plans: %zu of %zu as near as asked for\n", near, asked);
  ck_assert(asked > draw_count(200) / 2 && near > asked / 2);
}
END_TEST

MODULE(passes)
{
  TCase *tests = tests_of("passes of a gradient");

  tcase_add_test(tests, drawn_plans);
  tcase_add_test(tests, values_in_digits);
  tcase_add_test(tests, chosen_plans);
  return all_tests;
}
