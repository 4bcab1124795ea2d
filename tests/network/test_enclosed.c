/* The pass in pairs: every bound that it claims against exact values, or much narrower enclosures, and what it decides against the exact
 * pass. */
#include "machine.h"
#include "normalized.h"
#include "compared.h"

#include "network/pass/forward_inside.h"
#include "network/pass/pairs/pairs.h"
#include "network/pass/slices/plan.h"
#include "network/replay/replay_inside.h"

#define PRECISION 320 /* of the comparison */

typedef struct {
  clarke_forward pass;
  const clarke_model *m;
  size_t values, rounded, unknown;
  double nearest;                    /* the largest error, as a part of its bound */
  size_t kind[CLARKE_STEP_KINDS];    /* values of each, with bounds */
  size_t places, decided, tied, refused, close;
  size_t left; /* networks whose rest was left to pairs */
} comparison;

/* |high + low - true|, from below: the true value is known within a radius. */
static double
entry_error(const comparison *c, const clarke_enclosed *v, size_t value, size_t e, size_t n)
{
  const clarke_matrix *exact = &c->pass.value[value];
  mpq_t have, want;
  double off;

  mpq_inits(have, want, NULL);
  mpq_set_d(have, v->high[e]);
  mpq_set_d(want, v->low[e]);
  mpq_add(have, have, want);
  clarke_matrix_get(want, exact, e / n, e % n);
  mpq_sub(have, have, want);
  off = fabs(mpq_get_d(have)) - clarke_matrix_radius(exact, e / n, e % n);
  mpq_clears(have, want, NULL);
  return off > 0 ? off : 0;
}

static void
compare_value(void *context, const clarke_pairs_pass *f, size_t value)
{
  comparison *c = context;
  const clarke_enclosed *v = &f->value[value];
  bool bounded = true;

  if (c->pass.value[value].rows == 0)
    return;
  ck_assert_uint_eq(v->rows, c->pass.value[value].rows);
  for (size_t e = 0; e < v->rows * f->n; e++) {
    double off;

    bounded = bounded && v->off[e] < INFINITY;
    if (!(v->off[e] < INFINITY))
      continue;
    ck_assert(fabs(v->low[e]) <= 0x1p-53 * fabs(v->high[e]));
    off = entry_error(c, v, value, e, f->n);
    if (off > v->off[e]) {
      print_model(c->m);
      ck_abort_msg("step %zu, entry %zu: off by %g, said to be by %g", f->step, e, off, v->off[e]);
    }
    c->rounded += off > 0;
    c->nearest = fmax(c->nearest, v->off[e] > 0 ? off / v->off[e] : 0);
  }
  c->values++;
  c->unknown += !bounded;
  c->kind[f->g->steps[f->step].kind] += bounded;
}

/* Places and ties of a pass, every place open to begin with. */
static void
open_places(clarke_branch **piece, size_t **ties, const clarke_graph *g, size_t n)
{
  for (size_t i = 0; i < g->n_steps; i++) {
    if (!clarke_step_has_kinks(&g->steps[i]))
      continue;
    piece[i] = malloc((g->values[g->steps[i].out].count * n + 1) * sizeof **piece);
    ties[i] = calloc(n + 1, sizeof **ties);
    clarke_branches_leave(piece[i], g->values[g->steps[i].out].count * n);
  }
}

/* What became of them; the number of those that are open still. */
static size_t
compare_places(comparison *c, clarke_branch **piece, size_t **ties, const clarke_graph *g)
{
  size_t open = 0;

  for (size_t i = 0; i < g->n_steps; i++) {
    for (size_t e = 0; piece[i] != NULL && e < g->values[g->steps[i].out].count * c->pass.n; e++) {
      c->places++;
      c->decided += piece[i][e] != CLARKE_OPEN;
      open += piece[i][e] == CLARKE_OPEN;
      c->tied += ties[i][e % c->pass.n];
      ck_assert(piece[i][e] == CLARKE_OPEN || piece[i][e] >= 0);
      if (piece[i][e] != CLARKE_OPEN && piece[i][e] != c->pass.piece[i][e] && c->pass.piece[i][e] != CLARKE_OPEN) {
        print_model(c->m);
        ck_abort_msg("%s: entry %zu is decided otherwise", g->steps[i].name, e);
      }
    }
    free(piece[i]);
    free(ties[i]);
  }
  free(piece);
  free(ties);
  return open;
}

static void
run_pairs(comparison *c, const clarke_graph *g, const clarke_tensor *x)
{
  const clarke_pairs_watch watch = {compare_value, c};
  clarke_branch **piece = calloc(g->n_steps + 1, sizeof *piece);
  size_t **ties = calloc(g->n_steps + 1, sizeof *ties);
  bool inside = true;
  size_t vague, open;
  double needs;

  open_places(piece, ties, g, c->pass.n);
  OK(clarke_pairs_run(piece, ties, NULL, &inside, &vague, &needs, g, x, NULL, &watch, &error));
  open = compare_places(c, piece, ties, g);
  ck_assert_uint_le(vague, open);
  c->close += vague == 0 ? open : 0;
}

/* Enclosures of some bits, fewer than they would have, so that they are soon left to pairs: what these are given, and say, holds. */
static void
run_left(comparison *c, clarke_replay *r, const clarke_tensor *x, uint64_t *state)
{
  const clarke_graph *g = r->g;
  const clarke_pairs_watch watch = {compare_value, c};
  clarke_branch **piece = calloc(g->n_steps + 1, sizeof *piece);
  size_t **ties = calloc(g->n_steps + 1, sizeof *ties), vague = 0;
  bool inside = clarke_graph_has_domain(g);
  size_t sample[16];
  clarke_forward_rest rest;
  clarke_matrix input;
  double needs;

  clarke_matrix_init(&input);
  for (size_t j = 0; j < c->pass.n; j++)
    sample[j] = j;
  open_places(piece, ties, g, c->pass.n);
  OK(clarke_samples_matrix(&input, x, sample, c->pass.n, &error));
  OK(clarke_forward_refine(piece, ties, NULL, &inside, &rest, &r->constants, &input, x, 20 + draw_below(state, 90), &error));
  ck_assert_int_eq(rest.value != NULL, rest.step < g->n_steps);
  c->left += rest.value != NULL;
  if (rest.value != NULL)
    OK(clarke_pairs_run(piece, ties, NULL, &inside, &vague, &needs, g, x, &rest, &watch, &error));
  compare_places(c, piece, ties, g);
  clarke_forward_rest_clear(&rest, g);
  ck_assert(rest.value == NULL && rest.step == g->n_steps);
  clarke_matrix_clear(&input);
}

/* --- step by step ----------------------------------------------------------------------------- */

static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(clarke_pairs_pass *f, const clarke_step *s) = {
  [CLARKE_GATHER] = clarke_pairs_gather,    [CLARKE_SUM] = clarke_pairs_sum,           [CLARKE_SCALE] = clarke_pairs_scale,
  [CLARKE_DENSE] = clarke_pairs_dense,      [CLARKE_PIECEWISE] = clarke_pairs_piecewise, [CLARKE_MAX] = clarke_pairs_max,
  [CLARKE_PRODUCT] = clarke_pairs_contract, [CLARKE_ANALYTIC] = clarke_pairs_function, [CLARKE_SOFTMAX] = clarke_pairs_softmax,
};

/* The input as far from what it is as its bounds say, or less: exactly so, by parts of a unit, or widely. */
static void
draw_input(clarke_pairs_pass *f, uint64_t *state)
{
  clarke_enclosed *v = &f->value[f->g->input];

  OK(clarke_enclosed_alloc(f, v, f->g->values[f->g->input].count));
  for (size_t e = 0; e < v->rows * f->n; e++) {
    const double x = f->x->real[e % f->n * v->rows + e / f->n], off = ldexp(1, -(int)draw_between(state, 3, 100));
    const double part = (double)draw_between(state, -4, 4) / 4;

    if (draw_below(state, 4) == 0)
      clarke_enclosed_put(v, e, (clarke_pair){x, 0}, 0);
    else
      clarke_enclosed_put(v, e, clarke_two_sum(x, part * off), off + fabs(x) * 0x1p-104);
    ck_assert(clarke_enclosed_get(v, e).high == v->high[e] && clarke_enclosed_get(v, e).low == v->low[e]);
  }
}

/* A pass whose input is off: what is said of every value holds of the true one, and so does what is decided. */
static void
walk(comparison *c, const clarke_graph *g, const clarke_tensor *x, uint64_t *state)
{
  clarke_pairs_pass f = {.g = g, .n = x->dims[0], .x = x, .err = &error};

  f.value = calloc(g->n_values + 1, sizeof *f.value);
  f.deferred = calloc(g->n_values + 1, sizeof *f.deferred);
  f.piece = calloc(g->n_steps + 1, sizeof *f.piece);
  f.ties = calloc(g->n_steps + 1, sizeof *f.ties);
  f.margin = clarke_margin_rows(g, f.n);
  draw_input(&f, state);
  for (f.step = 0; f.step < g->n_steps; f.step++) {
    const clarke_step *s = &g->steps[f.step];
    const size_t entries = g->values[s->out].count * f.n;
    bool known = of_kind[s->kind] != NULL;

    if (clarke_step_has_kinks(s)) {
      f.piece[f.step] = malloc((entries + 1) * sizeof **f.piece);
      f.ties[f.step] = calloc(f.n + 1, sizeof **f.ties);
      clarke_branches_leave(f.piece[f.step], entries);
    }
    for (size_t k = 0; k < s->n_in; k++)
      known = known && (g->values[s->in[k].value].constant || f.value[s->in[k].value].known);
    ck_assert(clarke_pairs_has(s) == (of_kind[s->kind] != NULL));
    if (!known)
      continue;
    OK(of_kind[s->kind](&f, s));
    if (f.value[s->out].high != NULL)
      compare_value(c, &f, s->out);
    for (size_t e = 0; f.piece[f.step] != NULL && e < entries; e++) {
      const clarke_branch place = f.piece[f.step][e], truly = c->pass.piece[f.step][e];

      c->places++;
      c->decided += place != CLARKE_OPEN;
      ck_assert_msg(place == CLARKE_OPEN || place == truly || truly == CLARKE_OPEN, "%s: entry %zu is decided otherwise", s->name, e);
    }
  }
  for (size_t v = 0; v < g->n_values; v++)
    clarke_enclosed_drop(&f.value[v]);
  for (size_t i = 0; i < g->n_steps; i++) {
    free(f.piece[i]);
    free(f.ties[i]);
  }
  clarke_identities_free(f.ids);
  clarke_margin_rows_free(f.margin, g->n_steps);
  free(f.piece);
  free(f.ties);
  free(f.value);
  free(f.deferred);
}

/* From inputs that are what they are, from others, or from what enclosures left. */
typedef enum { OWN, OFF, LEFT } way;

static comparison
compare_networks(way how, void (*grow)(growing *g, uint64_t *state, double (*number)(uint64_t *state)),
                 double (*number)(uint64_t *state), uint64_t seed, size_t n)
{
  uint64_t state = seed;
  comparison c = {0};

  for (size_t i = 0; i < n; i++) {
    growing grown;
    clarke_tensor x;
    clarke_graph g;
    clarke_replay replay;

    grow(&grown, &state, number);
    x = grow_batch(&grown, 1 + draw_below(&state, 5));
    clarke_graph_init(&g);
    clarke_replay_init(&replay);
    clarke_forward_init(&c.pass);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    OK(clarke_graph_wrt(&g, NULL, 0, &error));
    c.m = &grown.m;
    /* roots of what is not above 0, and numbers of thousands of words, are refused */
    if (clarke_replay_run(&replay, NULL, &g, &x, true, 1, &error) == CLARKE_OK &&
        clarke_replay_all(&c.pass, &replay, true, PRECISION, &error) == CLARKE_OK)
      how == OWN ? run_pairs(&c, &g, &x) : how == OFF ? walk(&c, &g, &x, &state) : run_left(&c, &replay, &x, &state);
    else
      c.refused++;
    clarke_forward_clear(&c.pass);
    clarke_replay_clear(&replay);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("pairs: %zu values, %zu without bounds, %zu entries rounded, errors up to %g of their bounds; %zu of %zu places decided, %zu ties\n",
         c.values, c.unknown, c.rounded, c.nearest, c.decided, c.places, c.tied);
  ck_assert_uint_lt(c.refused, n / 4);
  ck_assert_uint_gt(c.values, n / 4);
  ck_assert_uint_gt(c.rounded, c.values / 8);
  ck_assert_uint_gt(c.decided, c.places / 4);
  ck_assert(how != OWN || c.close > 0 || c.decided == c.places);
  return c;
}

/* --- rational --------------------------------------------------------------------------------- */

/* Any operator that has no other numbers than rationals. */
static void
grow_rational(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  clarke_tensor x = grow_network(g, state, number, 2 + draw_below(state, 8), draw_below(state, 2));

  clarke_tensor_clear(&x);
}

/* Sums of hundreds, one behind another. */
static void
grow_wide(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[1] = {150 + draw_below(state, 60)};

  grow_begin(g, state, number, 1, dims);
  for (size_t n = 0; n < 3; n++) {
    grow_dense(g, n == 2 ? 3 : 20 + draw_below(state, 200));
    grow_kink(g);
  }
  model_output(&g->m, g->at);
}

/* Numbers that nearly cancel, from 1 on. */
static double
nearly_one(uint64_t *state)
{
  const double near = 1 + ldexp((double)draw_between(state, -8, 8), -(int)draw_below(state, 56));

  return draw_below(state, 2) ? near : -near;
}

/* Numbers from the least to the largest, which are lost, or overflow, when they are multiplied. */
static double
far_out(uint64_t *state)
{
  static const int exponents[] = {-1074, -1060, -1022, -1000, -970, -900, -600, -530, -500, -300, -60, 0, 0, 0, 60, 300, 500, 600, 890, 950};
  const int e = exponents[draw_below(state, sizeof exponents / sizeof *exponents)] + (int)draw_between(state, -12, 12);
  const double near = draw_below(state, 2) ? full_double(state) : 1 + ldexp((double)draw_between(state, -8, 8), -(int)draw_below(state, 56));

  return ldexp(near, e);
}

START_TEST(bounds_hold_of_numbers_far_out)
{
  compare_networks(OWN, grow_rational, far_out, 41, draw_count(800));
  compare_networks(OFF, grow_rational, far_out, 43, draw_count(800));
  compare_networks(OWN, grow_convolutional, far_out, 45, draw_count(800));
}
END_TEST

START_TEST(bounds_hold_in_rational_networks)
{
  const comparison c = compare_networks(OWN, grow_rational, weight_like, 5, draw_count(1500));

  for (size_t kind = 0; kind < CLARKE_STEP_KINDS; kind++)
    ck_assert(kind == CLARKE_ANALYTIC || kind == CLARKE_SOFTMAX || kind == CLARKE_NORMALIZE || c.kind[kind] > draw_count(40));
  compare_networks(OWN, grow_rational, nearly_one, 7, draw_count(800));
}
END_TEST

START_TEST(bounds_hold_in_convolutional_networks)
{
  const comparison c = compare_networks(OWN, grow_convolutional, weight_like, 9, draw_count(1500));

  ck_assert_uint_gt(c.tied, 100);
  ck_assert(c.nearest > 0.02);
  compare_networks(OWN, grow_convolutional, nearly_one, 11, draw_count(800));
}
END_TEST

/* Hundreds of entries, more than are computed at a time: pieces, multiples, and products of activations, entry by entry and of matrices. */
static void
grow_many(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  const size_t side = 11 + draw_below(state, 8), dims[2] = {side, side};

  grow_begin(g, state, number, 2, dims);
  g->m.opset = 20;
  for (size_t n = 0; n < 3; n++) {
    char before[16];

    strcpy(before, g->at);
    grow_node(g, "Mul", a_weight(g, 2, (const size_t[]){side, 1}, true), false);
    grow_node(g, draw_below(state, 2) ? "HardSwish" : "HardSigmoid", NULL, false);
    if (n < 2)
      grow_node(g, n == draw_below(state, 2) ? "MatMul" : "Mul", before, draw_below(state, 2));
    if (draw_below(state, 2))
      grow_kink(g);
  }
  model_output(&g->m, g->at);
}

START_TEST(bounds_hold_of_many_entries)
{
  const comparison c = compare_networks(OWN, grow_many, weight_like, 81, draw_count(20));

  ck_assert(c.kind[CLARKE_PRODUCT] > 0 && c.kind[CLARKE_SCALE] > 0 && c.kind[CLARKE_PIECEWISE] > 0);
  compare_networks(OFF, grow_many, weight_like, 83, draw_count(20));
}
END_TEST

START_TEST(bounds_hold_in_long_sums)
{
  compare_networks(OWN, grow_wide, full_double, 13, draw_count(40));
  ck_assert(compare_networks(OWN, grow_wide, nearly_one, 15, draw_count(40)).decided > 0);
}
END_TEST

/* --- functions -------------------------------------------------------------------------------- */

/* A root, a logarithm or a quotient of 1 + x^2, or of x, where it may be outside. */
static void
grow_domain(growing *g)
{
  static const char *const ops[] = {"Sqrt", "Log", "Reciprocal"};
  char before[16], one[16];

  strcpy(before, g->at);
  strcpy(one, new_name(g, "o"));
  model_floats(&g->m, one, SHAPE(1,))[0] = 1;
  grow_node(g, "Mul", before, true);
  grow_node(g, "Add", one, false);
  grow_node(g, ops[draw_below(g->state, 3)], NULL, false);
  if (draw_below(g->state, 2))
    grow_node(g, "Mul", before, true);
}

static void
grow_functions(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  static const char *const ops[] = {"Sigmoid", "Tanh", "Exp", "Erf", "Softplus", "Elu", "Gelu", "Sin", "Cos", "HardSwish"};
  size_t dims[2] = {2 + draw_below(state, 2), 2 + draw_below(state, 3)};

  grow_begin(g, state, number, 2, dims);
  g->m.opset = 20;
  for (size_t n = 1 + draw_below(state, 4); n > 0; n--) {
    if (draw_below(state, 2))
      grow_conv(g, 2, false);
    if (draw_below(state, 4) == 0)
      attr_int(grow_node(g, "Softmax", NULL, false), "axis", 1 + (long)draw_below(state, 2));
    else if (draw_below(state, 4) == 0)
      grow_domain(g);
    else {
      const char *op = ops[draw_below(state, 10)];
      clarke_model_node *node = grow_node(g, op, NULL, false);

      if (strcmp(op, "Gelu") == 0 && draw_below(state, 2))
        attr_string(node, "approximate", "tanh");
    }
    if (draw_below(state, 2))
      grow_kink(g);
  }
  grow_node(g, "Relu", NULL, false);
  model_output(&g->m, g->at);
}

START_TEST(bounds_hold_behind_functions)
{
  const comparison c = compare_networks(OWN, grow_functions, weight_like, 17, draw_count(1500));

  ck_assert_uint_gt(c.kind[CLARKE_ANALYTIC], 200);
  ck_assert_uint_gt(c.kind[CLARKE_SOFTMAX], 100);
  compare_networks(OWN, grow_functions, nearly_one, 19, draw_count(500));
}
END_TEST

static double
halves(uint64_t *state)
{
  return (double)draw_between(state, -3, 3) / 2;
}

/* What is compared with its negative: inputs, which may be 0, or activations, which nearly are; and what is made of that. */
static void
grow_compared(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  const size_t dims[1] = {3 + draw_below(state, 3)};
  char at[16];

  grow_begin(g, state, number, 1, dims);
  if (number != halves && draw_below(state, 2)) /* halves would be where it jumps */
    grow_dense(g, 3);
  strcpy(at, g->at);
  grow_node(g, "Neg", NULL, false);
  grow_node(g, draw_below(state, 2) ? "Greater" : "Less", at, false);
  attr_int(grow_node(g, "Cast", NULL, false), "to", 11);
  grow_node(g, "Add", at, false);
  grow_node(g, "Sigmoid", NULL, false);
  grow_dense(g, 3);
  grow_kink(g);
  model_output(&g->m, g->at);
}

START_TEST(bounds_hold_behind_comparisons)
{
  const comparison c = compare_networks(OWN, grow_compared, halves, 71, draw_count(400));

  ck_assert_uint_gt(c.kind[CLARKE_ANALYTIC], draw_count(100));
  compare_networks(OWN, grow_compared, nearly_one, 73, draw_count(400));
  compare_networks(OFF, grow_compared, weight_like, 75, draw_count(400));
  compare_networks(LEFT, grow_compared, weight_like, 77, draw_count(400));
}
END_TEST

/* --- the rest --------------------------------------------------------------------------------- */

/* Where inputs are off errors grow as they say: also of entries that stay open. */
START_TEST(bounds_grow_from_step_to_step)
{
  compare_networks(OFF, grow_rational, weight_like, 23, draw_count(1500));
  compare_networks(OFF, grow_rational, nearly_one, 25, draw_count(800));
  compare_networks(OFF, grow_convolutional, weight_like, 27, draw_count(1500));
  compare_networks(OFF, grow_convolutional, nearly_one, 29, draw_count(800));
  compare_networks(OFF, grow_functions, weight_like, 31, draw_count(1500));
  compare_networks(OFF, grow_functions, nearly_one, 33, draw_count(800));
}
END_TEST

START_TEST(bounds_hold_behind_enclosures)
{
  ck_assert_uint_gt(compare_networks(LEFT, grow_rational, weight_like, 51, draw_count(800)).left, draw_count(200));
  compare_networks(LEFT, grow_rational, nearly_one, 53, draw_count(400));
  compare_networks(LEFT, grow_rational, far_out, 55, draw_count(400));
  ck_assert_uint_gt(compare_networks(LEFT, grow_convolutional, weight_like, 57, draw_count(800)).left, draw_count(200));
  ck_assert_uint_gt(compare_networks(LEFT, grow_functions, weight_like, 59, draw_count(800)).left, draw_count(200));
}
END_TEST

/* A pass by hand, step by step, has the values of a whole one, every bit. */
START_TEST(a_step_by_itself)
{
  const size_t rows[1] = {3};
  uint64_t state = 61;
  growing grown;
  clarke_tensor x;
  clarke_graph g;
  clarke_replay r;
  clarke_forward whole, f;
  size_t sample[2] = {0, 1}, same = 0;
  clarke_matrix input;

  grow_begin(&grown, &state, full_double, 1, rows);
  grow_dense(&grown, 4);
  grow_node(&grown, "Relu", NULL, false);
  model_output(&grown.m, grown.at);
  x = grow_batch(&grown, 2);
  clarke_graph_init(&g);
  clarke_replay_init(&r);
  clarke_forward_init(&whole);
  clarke_forward_init(&f);
  clarke_matrix_init(&input);
  OK(clarke_graph_build(&g, &grown.m, &x, &error));
  OK(clarke_graph_wrt(&g, NULL, 0, &error));
  OK(clarke_replay_run(&r, NULL, &g, &x, true, 1, &error));
  OK(clarke_replay_all(&whole, &r, true, PRECISION, &error));
  OK(clarke_samples_matrix(&input, &x, sample, 2, &error));
  OK(clarke_forward_allocate(&f, whole.constants, 2, &error));
  ck_assert(f.g == &g && f.n == 2 && f.value[g.output].rows == 0);
  OK(clarke_matrix_copy(&f.value[g.input], &input, &error));
  for (size_t i = 0; i < g.n_steps; i++) {
    clarke_matrix *y = &f.value[g.steps[i].out], *want = &whole.value[g.steps[i].out];

    OK(clarke_forward_apply(&f, &g.steps[i], &error));
    ck_assert_uint_eq(y->rows, want->rows);
    for (size_t e = 0; e < y->rows * 2; e++, same++) {
      mpq_t a, b;

      mpq_inits(a, b, NULL);
      clarke_matrix_get(a, y, e / 2, e % 2);
      clarke_matrix_get(b, want, e / 2, e % 2);
      ck_assert(mpq_equal(a, b));
      mpq_clears(a, b, NULL);
    }
  }
  ck_assert_uint_gt(same, 8);
  clarke_forward_clear(&f);
  clarke_forward_clear(&whole);
  clarke_replay_clear(&r);
  clarke_graph_clear(&g);
  clarke_matrix_clear(&input);
  clarke_tensor_clear(&x);
  clarke_model_clear(&grown.m);
}
END_TEST

/* A sum that cancels but for its last products keeps them; what is lost is within what is said. */
START_TEST(products_are_added)
{
  const double w[3] = {0x1p60, 1 + 0x1p-52, -0x1p60}, x[3] = {1 + 0x1p-52, 1 - 0x1p-53, 1 + 0x1p-52}, low[3] = {0, 0x1p-60, 0};
  clarke_pairs_sum_of sum = {0};

  for (size_t k = 0; k < 3; k++)
    sum = clarke_pairs_add_product(sum.high, sum.low, sum.lows, w[k], x[k], low[k]);
  ck_assert(sum.high + sum.low == 1 + 0x1p-53 && sum.lows > 0);
  ck_assert(clarke_pairs_negative((clarke_pair){1, -2}).high == -1 && clarke_pairs_negative((clarke_pair){1, -2}).low == 2);
  ck_assert(clarke_pairs_constant((clarke_pair){3, 0x1p-60}).low == 0x1p-60 && clarke_pairs_constant((clarke_pair){0, 0}).high == 0);
  ck_assert(isnan(clarke_pairs_constant((clarke_pair){0x1p-950, 0}).high) && isnan(clarke_pairs_constant((clarke_pair){0x1p950, 0}).high));
}
END_TEST

/* What has no bounds there: normalizations, logarithms of a softmax, jumps. */
START_TEST(what_is_not_followed)
{
  ck_assert(!clarke_pairs_has(&(clarke_step){.kind = CLARKE_NORMALIZE}));
  ck_assert(clarke_pairs_has(&(clarke_step){.kind = CLARKE_SOFTMAX}) && !clarke_pairs_has(&(clarke_step){.kind = CLARKE_SOFTMAX, .log = true}));
  for (int function = CLARKE_SIGMOID; function <= CLARKE_HELD; function++)
    ck_assert_int_eq(clarke_pairs_has(&(clarke_step){.kind = CLARKE_ANALYTIC, .function = (clarke_function)function}),
                     function <= CLARKE_ABOVE || function == CLARKE_HELD);
}
END_TEST

/* A distance is taken with what it may be off by; without margins nothing is. */
START_TEST(distances_are_taken)
{
  clarke_margin own = {.least = INFINITY, .most = INFINITY}, *row = &own;
  clarke_pairs_pass f = {.n = 1};

  clarke_pairs_measure(&f, 0, 1, 0.25, 3);
  f.margin = &row;
  clarke_pairs_measure(&f, 0, 1, 0.25, 3);
  ck_assert(own.least <= 0.75 && own.least > 0.7499 && own.most >= 1.25 && own.most < 1.2501 && own.feature == 3);
}
END_TEST

/* Only what open places depend on, and, where it is asked for, functions that have a domain. */
START_TEST(what_open_places_need)
{
  const size_t rows[1] = {3};
  uint64_t state = 35;
  growing grown;
  clarke_tensor x;
  clarke_graph g;
  clarke_branch **piece;
  bool *needed;
  size_t *last, relu;

  grow_begin(&grown, &state, full_double, 1, rows);
  grow_dense(&grown, 2);
  grow_node(&grown, "Relu", NULL, false);
  grow_domain(&grown);
  model_output(&grown.m, grown.at);
  x = grow_batch(&grown, 2);
  clarke_graph_init(&g);
  OK(clarke_graph_build(&g, &grown.m, &x, &error));
  piece = calloc(g.n_steps + 1, sizeof *piece);
  needed = malloc(g.n_values + 1);
  last = calloc(g.n_values + 1, sizeof *last);
  for (relu = 0; g.steps[relu].kind != CLARKE_PIECEWISE; relu++)
    ;
  piece[relu] = calloc(g.values[g.steps[relu].out].count * 2, sizeof **piece);
  for (int k = 0; k < 4; k++) {
    piece[relu][1] = k & 1 ? CLARKE_OPEN : 0;
    clarke_forward_open_needs(needed, last, &g, piece, 2, k & 2);
    ck_assert_int_eq(needed[g.input], k > 0);
    ck_assert_int_eq(needed[g.steps[relu].out], k > 0);
    for (size_t i = relu + 1; i < g.n_steps; i++)
      ck_assert(!needed[g.steps[i].out] || k & 2);
    ck_assert(k == 0 || last[g.input] <= relu);
  }
  free(piece[relu]);
  free(piece);
  free(needed);
  free(last);
  clarke_graph_clear(&g);
  clarke_tensor_clear(&x);
  clarke_model_clear(&grown.m);
}
END_TEST

/* --- whole replays ---------------------------------------------------------------------------- */

/* Products one behind another, with kinks that slices do not follow; now and then a function, or what comes before is added. */
static void
grow_deep(growing *g, uint64_t *state, double (*number)(uint64_t *state), size_t layers)
{
  const size_t four = 4;
  const bool functions = draw_below(state, 3) == 0;
  char before[16] = "";

  grow_begin(g, state, number, 1, &four);
  for (size_t n = 0; n < layers; n++) {
    grow_node(g, "MatMul", a_weight(g, 2, (const size_t[]){4, 4}, false), false);
    if (functions && draw_below(state, 6) == 0)
      grow_node(g, draw_below(state, 2) ? "Sigmoid" : "Tanh", NULL, false);
    if (draw_below(state, 4) == 0)
      grow_node(g, "HardSigmoid", NULL, false);
    else
      attr_float(grow_node(g, "LeakyRelu", NULL, false), "alpha", 0.25);
    if (before[0] != 0 && draw_below(state, 4) == 0)
      grow_node(g, draw_below(state, 2) ? "Add" : "Max", before, draw_below(state, 2));
    if (draw_below(state, 3) == 0)
      strcpy(before, g->at);
  }
  model_output(&g->m, g->at);
}

/* Networks so deep that the filter is left out: what is decided, touched and near is what it is exactly. */
START_TEST(deep_networks_are_what_they_are_exactly)
{
  uint64_t state = 37;
  size_t filtered = 0, total = 0, pairs = 0, touching = 0;
  const size_t n = draw_count(150);

  for (size_t i = 0; i < n; i++) {
    const size_t layers = 14 + draw_below(&state, 7);
    growing grown;
    clarke_tensor x;
    clarke_graph g;
    clarke_replay r;
    bool wants;

    grow_deep(&grown, &state, i % 3 == 0 ? halves : i % 3 == 1 ? full_double : nearly_one, layers);
    x = grow_batch(&grown, 1 + draw_below(&state, 5));
    clarke_graph_init(&g);
    clarke_replay_init(&r);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    OK(clarke_graph_wrt(&g, NULL, 0, &error));
    OK(clarke_replay_run(&r, NULL, &g, &x, false, 1, &error));
    for (size_t s = 0; s < g.n_steps; s++)
      if (r.piece[s] != NULL)
        clarke_branches_leave(r.piece[s], g.values[g.steps[s].out].count * r.samples);
    wants = clarke_replay_wants_pairs(&r);
    ck_assert(!wants || layers >= 16);
    ck_assert(wants || layers < 16 || clarke_slices_serve(&g, r.piece, r.samples));
    ck_assert(!wants || r.filtered == 0);
    pairs += wants;
    touching += r.n_touches > 0;
    clarke_replay_clear(&r);
    clarke_graph_clear(&g);
    compare_with_exact(&grown.m, &x, &filtered, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("deep: %zu of %zu by pairs; %zu of %zu entries by the filter, %zu refined; %zu touch\n", pairs, n, filtered, total, refined_entries, touching);
  ck_assert(pairs > n / 3 && refined_entries > total / 4 && touching > n / 10);
}
END_TEST

/* Differences of two numbers that are the same, once w and once 1 times: each layer loses the more bits the nearer w is to 1. */
static void
grow_cancelling(growing *g, uint64_t *state, double w, size_t layers)
{
  const size_t two = 2;
  char name[16];

  grow_begin(g, state, full_double, 1, &two);
  strcpy(name, new_name(g, "w"));
  memcpy(model_floats(&g->m, name, SHAPE(2, 2,)), (const double[]){w, -1, -1, w}, 4 * sizeof w);
  for (size_t n = 0; n < layers; n++) {
    grow_node(g, "MatMul", name, false);
    attr_float(grow_node(g, "LeakyRelu", NULL, false), "alpha", 0.25);
  }
  model_output(&g->m, g->at);
}

/* Where what pairs have is lost they end early, if nothing is open yet; and what enclosures then decide is what it is exactly. */
START_TEST(pairs_that_would_lose_end_early)
{
  uint64_t state = 63;
  size_t ended = 0, refined = 0, total = 0;
  const size_t n = draw_count(20);

  for (size_t i = 0; i < n; i++) {
    clarke_branch **piece;
    size_t **ties, vague, entries = 0, open = 0;
    bool inside = false;
    double needs;
    growing grown;
    clarke_tensor x;
    clarke_graph g;

    grow_cancelling(&grown, &state, 1 + ldexp(1 + (double)draw_below(&state, 1000) / 1e4, i % 2 == 0 ? -1 : -6), 24);
    x = grow_batch(&grown, 2);
    for (size_t j = 0; j < 2; j++)
      x.real[2 * j] = x.real[2 * j + 1] = 1 + (double)draw_below(&state, 1 << 20) / 3e6;
    clarke_graph_init(&g);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    OK(clarke_graph_wrt(&g, NULL, 0, &error));
    piece = calloc(g.n_steps + 1, sizeof *piece);
    ties = calloc(g.n_steps + 1, sizeof *ties);
    open_places(piece, ties, &g, 2);
    OK(clarke_pairs_run(piece, ties, NULL, &inside, &vague, &needs, &g, &x, NULL, NULL, &error));
    for (size_t s = 0; s < g.n_steps; s++) {
      entries += piece[s] != NULL ? g.values[g.steps[s].out].count * 2 : 0;
      for (size_t e = 0; piece[s] != NULL && e < g.values[g.steps[s].out].count * 2; e++)
        open += piece[s][e] == CLARKE_OPEN;
      free(piece[s]);
      free(ties[s]);
    }
    ck_assert(needs == 0 || (needs > CLARKE_PAIRS_BITS && open > entries / 2));
    ck_assert(needs == 0 || i % 2 == 1);
    ended += needs > 0;
    free(piece);
    free(ties);
    clarke_graph_clear(&g);
    compare_with_exact(&grown.m, &x, &refined, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("early: %zu of %zu\n", ended, n);
  ck_assert_uint_eq(ended, n / 2);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("enclosed");

  tcase_add_test(tests, bounds_hold_of_numbers_far_out);
  tcase_add_test(tests, bounds_hold_in_rational_networks);
  tcase_add_test(tests, bounds_hold_in_convolutional_networks);
  tcase_add_test(tests, bounds_hold_in_long_sums);
  tcase_add_test(tests, bounds_hold_of_many_entries);
  tcase_add_test(tests, bounds_hold_behind_functions);
  tcase_add_test(tests, bounds_hold_behind_comparisons);
  tcase_add_test(tests, bounds_grow_from_step_to_step);
  tcase_add_test(tests, bounds_hold_behind_enclosures);
  tcase_add_test(tests, a_step_by_itself);
  tcase_add_test(tests, products_are_added);
  tcase_add_test(tests, what_is_not_followed);
  tcase_add_test(tests, distances_are_taken);
  tcase_add_test(tests, what_open_places_need);
  tcase_add_test(tests, deep_networks_are_what_they_are_exactly);
  tcase_add_test(tests, pairs_that_would_lose_end_early);
  return run_tests();
}
