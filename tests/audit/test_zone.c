/* Zones: of networks by hand; of drawn ones against the conservative set of the whole loss, unrolled to one program, and against
 * the gradients under all choices of sides. */
#include "asked.h"
#include "drawn.h"
#include "joined.h"

#include "audit/loose.h"
#include "audit/touch_row.h"
#include "audit/zone.h"
#include "network/derive/loss.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"
#include "program/conservative.h"
#include "program/execute.h"

static bool
tied(const clarke_replay *r)
{
  for (size_t i = 0; i < r->g->n_steps; i++)
    for (size_t j = 0; r->ties[i] != NULL && j < r->samples; j++)
      if (r->ties[i][j] > 0)
        return true;
  return false;
}

static void
zone_is(clarke_zone_found *z, const clarke_question *q, clarke_zone zone)
{
  clarke_zone_init(z);
  OK(clarke_zone_find(z, q, tied(q->replay), &error));
  ck_assert_msg(z->zone == zone, "%s, expected %s", clarke_zone_name(z->zone), clarke_zone_name(zone));
  ck_assert(clarke_zone_is_valid(z, q));
}

/* --- by hand ------------------------------------------------------------------------------------- */

static void
begin(asked *a, double x)
{
  asked_begin(a, 1, 1, &x);
  weight(a, "w", SHAPE(1, 1,), NUMBERS(0));
  weight(a, "v", SHAPE(1, 1,), NUMBERS(0));
  a->wrt = "w,v";
  node(a, "MatMul", "x,w", "a");
  node(a, "MatMul", "x,v", "b");
}

static void
asked_zone(asked *a, clarke_zone zone)
{
  clarke_zone_found z;

  ask(a, "out");
  zone_is(&z, &a->question, zone);
  clarke_zone_clear(&z);
  asked_end(a);
}

/* max(a, b) - max(a, b), once written with each choice of its own and once with one choice for both. */
static size_t number = 600; /* of networks drawn */

START_TEST(two_choices_do_not_cancel)
{
  asked a;

  begin(&a, 1);
  node(&a, "Max", "a,b", "m");
  node(&a, "Max", "a,b", "n");
  node(&a, "Sub", "m,n", "out");
  a.profile = "tie Maximum first\n";
  asked_zone(&a, CLARKE_ZONE_BIFURCATION);
  begin(&a, 1);
  node(&a, "Max", "a,b", "m");
  node(&a, "Sub", "m,m", "out");
  a.profile = "tie Maximum first\n";
  asked_zone(&a, CLARKE_ZONE_COMPENSATION);
}
END_TEST

/* relu(-v) + v - relu(v) is 0 whatever is chosen at both; but not if each chooses for itself. */
START_TEST(zero_of_bolte)
{
  asked a;

  begin(&a, 1);
  node(&a, "Neg", "a", "n");
  node(&a, "Relu", "n", "r");
  node(&a, "Relu", "a", "s");
  node(&a, "Add", "r,a", "t");
  node(&a, "Sub", "t,s", "out");
  asked_zone(&a, CLARKE_ZONE_BIFURCATION);
}
END_TEST

/* Three ways to compensate: the argument is constant, has the gradient 0, or what is behind it has. None to be regular. */
START_TEST(compensations)
{
  asked a;

  begin(&a, 0);
  node(&a, "Relu", "a", "out");
  asked_zone(&a, CLARKE_ZONE_COMPENSATION);
  begin(&a, 1);
  node(&a, "Mul", "a,b", "p");
  node(&a, "Relu", "p", "out");
  asked_zone(&a, CLARKE_ZONE_COMPENSATION);
  begin(&a, 1);
  node(&a, "Relu", "a", "r");
  node(&a, "Relu", "b", "s");
  node(&a, "Mul", "r,s", "out");
  asked_zone(&a, CLARKE_ZONE_COMPENSATION);
  begin(&a, 1);
  node(&a, "Add", "a,b", "out");
  asked_zone(&a, CLARKE_ZONE_REGULAR);
}
END_TEST

/* Of c = (a, a) the largest entry of relu(c) less relu(a): both are one function, but each chooses its slope. */
static void
begin_parted(asked *a, double x)
{
  begin(a, x);
  attr_int(node(a, "Concat", "a,a", "c"), "axis", 1);
  node(a, "Relu", "c", "r");
  attr_ints(node(a, "ReduceMax", "r", "m"), "axes", SHAPE(1,));
}

START_TEST(ties_of_one_function_part)
{
  asked a;

  begin_parted(&a, 1);
  node(&a, "Relu", "a", "s");
  node(&a, "Sub", "m,s", "out");
  a.profile = "Relu 0 0\ntie ReduceMax first\n";
  asked_zone(&a, CLARKE_ZONE_BIFURCATION); /* s chooses, too */
  begin_parted(&a, 1);
  node(&a, "Mul", "m,b", "out"); /* b = 0: whatever is chosen, nothing comes of it */
  a.profile = "Relu 0 0\ntie ReduceMax first\n";
  asked_zone(&a, CLARKE_ZONE_COMPENSATION);
  begin_parted(&a, 0); /* nothing moves */
  a.profile = "Relu 0 0\ntie ReduceMax first\n";
  node(&a, "Add", "m,m", "out");
  asked_zone(&a, CLARKE_ZONE_COMPENSATION);
  begin(&a, 1);
  node(&a, "Relu", "a", "r");
  node(&a, "Max", "r,r", "m"); /* two copies, which are not known to be one entry */
  node(&a, "Sub", "m,r", "out");
  a.profile = "Relu 0 0\ntie Maximum first\n";
  asked_zone(&a, CLARKE_ZONE_UNKNOWN);
  begin(&a, 1);
  node(&a, "Max", "a,a", "out");
  a.profile = "tie Maximum first\n";
  asked_zone(&a, CLARKE_ZONE_COMPENSATION);
}
END_TEST

/* A constant 0 and a normalized relu(c) are tied: either may be taken, and relu behind them is no kink of a constant. */
START_TEST(a_constant_is_tied_with_what_parts)
{
  asked a;

  begin(&a, 1);
  weight(&a, "ones", SHAPE(2,), NUMBERS(1, 1));
  weight(&a, "nothing", SHAPE(1,), NUMBERS(0));
  weight(&a, "first", SHAPE(2, 1,), NUMBERS(1, 0));
  attr_int(node(&a, "Concat", "a,a", "c"), "axis", 1);
  node(&a, "Relu", "c", "r");
  attr_float(node(&a, "LayerNormalization", "r,ones", "n"), "epsilon", 1);
  node(&a, "MatMul", "n,first", "f");
  node(&a, "Mul", "x,nothing", "z");
  node(&a, "Max", "z,f", "m");
  node(&a, "Relu", "m", "out");
  a.profile = "Relu 0 0\ntie Maximum first\n";
  asked_zone(&a, CLARKE_ZONE_UNKNOWN);
}
END_TEST

/* A chain of two: relu(relu(a) + b) - relu(b), the second being reached only through the first ... as AD's left slopes cut it. */
START_TEST(a_chain_of_two)
{
  clarke_zone_found z;
  asked a;

  begin(&a, 1);
  a.wrt = "w";
  node(&a, "Relu", "a", "r");
  node(&a, "Relu", "r", "out");
  ask(&a, "out");
  zone_is(&z, &a.question, CLARKE_ZONE_BIFURCATION);
  ck_assert(z.side[0] == CLARKE_RIGHT && z.side[1] == CLARKE_RIGHT && z.parameter == 0 && z.entry == 0);
  clarke_zone_clear(&z);
  asked_end(&a);
}
END_TEST

/* The outputs are r, -r and 1, at r = 0: by r the loss has for the label 2 a derivative that is exactly 0, since equal outputs are
 * taken together. */
static void
begin_sums(asked *a, int64_t label)
{
  begin(a, 1);
  weight(a, "c", SHAPE(1, 3,), NUMBERS(1, -1, 0));
  weight(a, "one", SHAPE(3,), NUMBERS(0, 0, 1));
  node(a, "Relu", "a", "r");
  node(a, "MatMul", "r,c", "m");
  node(a, "Add", "m,one", "out");
  a->wrt = "w";
  a->loss = CLARKE_LOSS_CE;
  a->y = tensor_of("y", CLARKE_I64, SHAPE(1,));
  a->y.integer[0] = label;
}

START_TEST(sums_of_powers_of_e)
{
  const size_t expected[3] = {0, 0, 1};
  const double seeds[2][3] = {{1, 1, -2}, {0, 0, 0}};
  size_t group[3];
  asked a;

  begin_sums(&a, 2);
  ask(&a, "out");
  ck_assert_uint_eq(clarke_loss_groups(group, &a.replay.near), 2);
  ck_assert_mem_eq(group, expected, sizeof group);
  for (size_t k = 0; k < 2; k++) {
    clarke_matrix seed;

    clarke_matrix_init(&seed);
    OK(clarke_loss_group_seed(&seed, &a.question.loss, &a.replay.near, a.replay.near_sample, group, k, &error));
    for (size_t i = 0; i < 3; i++)
      ck_assert(clarke_matrix_get_double(&seed, i, 0) == seeds[k][i]);
    clarke_matrix_clear(&seed);
  }
  asked_end(&a);
  begin_sums(&a, 2);
  asked_zone(&a, CLARKE_ZONE_COMPENSATION);
  begin_sums(&a, 0); /* the label's own derivative is taken off */
  asked_zone(&a, CLARKE_ZONE_BIFURCATION);
}
END_TEST

/* --- against the program ------------------------------------------------------------------------- */

/* What the program says; UNKNOWN where it does not. It has no window on which the output does not depend. */
static clarke_zone
of_program(const drawn *n)
{
  clarke_conservative c;
  clarke_execution e;
  clarke_zone zone = CLARKE_ZONE_UNKNOWN;
  joined j;

  joined_set(&j, &n->g, &n->x, n->q.loss.kind == CLARKE_LOSS_MSE ? &n->y : NULL);
  clarke_execution_init(&e);
  clarke_conservative_init(&c);
  OK(clarke_execute(&e, &j.p, j.point, &error));
  OK(clarke_conservative_find(&c, &e, &error));
  if (c.singleton_known)
    zone = e.n_touched == 0 ? CLARKE_ZONE_REGULAR : c.singleton ? CLARKE_ZONE_COMPENSATION : CLARKE_ZONE_BIFURCATION;
  clarke_conservative_clear(&c);
  clarke_execution_clear(&e);
  joined_clear(&j);
  return zone;
}

/* With residuals, products, pads, averages, windows that overlap. */
static void
draw_anything(drawn *n, uint64_t *state)
{
  static const char profile[] = "like pytorch-2.13\ntie Maximum first\ntie Minimum first\ntie ReduceMax first\ntie ReduceMin first\n";
  clarke_loss loss = {.kind = draw_below(state, 2) ? CLARKE_LOSS_SUM : CLARKE_LOSS_MSE};

  memset(n, 0, sizeof *n);
  clarke_graph_init(&n->g);
  clarke_profile_init(&n->profile);
  clarke_replay_init(&n->replay);
  clarke_tensor_init(&n->y);
  grow_convolutional(&n->grown, state, ternary);
  n->x = grow_batch(&n->grown, 1 + draw_below(state, 2));
  OK(clarke_graph_build(&n->g, &n->grown.m, &n->x, &error));
  OK(clarke_graph_wrt(&n->g, NULL, 0, &error));
  OK(clarke_profile_parse(&n->profile, profile, strlen(profile), "drawn", &error));
  draw_targets(n, CLARKE_LOSS_MSE, state);
  loss.samples = n->x.dims[0];
  loss.y = loss.kind == CLARKE_LOSS_SUM ? NULL : &n->y;
  OK(clarke_replay_run(&n->replay, NULL, &n->g, &n->x, false, 1, &error));
  OK(clarke_question_init(&n->q, &n->replay, &n->profile, &loss, &error));
}

/* Has its loss a program? */
static bool
joins(const drawn *n)
{
  for (size_t i = 0; i < n->g.n_steps; i++) {
    const clarke_step *s = &n->g.steps[i];

    if (s->kind == CLARKE_PIECEWISE && s->pieces.slope != CLARKE_NONE && clarke_value_is_wrt(&n->g, s->pieces.slope))
      return false;
  }
  return n->q.loss.kind != CLARKE_LOSS_CE;
}

static void
draw_joined(drawn *n, uint64_t *state, bool anything)
{
  (anything ? draw_anything : draw_once)(n, state);
  while (!joins(n)) {
    drawn_clear(n);
    (anything ? draw_anything : draw_once)(n, state);
  }
}

START_TEST(drawn_beside_programs)
{
  size_t count[4] = {0};
  uint64_t state = 11;

  for (size_t i = 0; i < draw_count(number); i++) {
    clarke_zone_found z;
    clarke_zone expected;
    drawn n;

    draw_joined(&n, &state, i % 2);
    expected = of_program(&n);
    clarke_zone_init(&z);
    OK(clarke_zone_find(&z, &n.q, tied(&n.replay), &error));
    count[z.zone]++;
    ck_assert_msg(z.zone == CLARKE_ZONE_UNKNOWN || z.zone == expected ||
                    (z.zone == CLARKE_ZONE_COMPENSATION && expected == CLARKE_ZONE_REGULAR),
                  "network %zu: %s, the program: %s", i,
                  clarke_zone_name(z.zone), clarke_zone_name(expected));
    clarke_zone_clear(&z);
    drawn_clear(&n);
  }
  printf("beside programs: %zu regular, %zu compensation, %zu bifurcation, %zu not known\n", count[0], count[1], count[2], count[3]);
  ck_assert_uint_gt(10 * count[CLARKE_ZONE_COMPENSATION], draw_count(number));
  ck_assert_uint_gt(10 * count[CLARKE_ZONE_BIFURCATION], draw_count(number));
  ck_assert_uint_lt(100 * count[CLARKE_ZONE_UNKNOWN], draw_count(number));
}
END_TEST

/* --- against the gradients under all sides -------------------------------------------------------- */

static void
gradient_under(clarke_matrix *gradient, const drawn *n, const clarke_branch *side)
{
  const clarke_replay *r = &n->replay;
  clarke_matrix *grad = clarke_matrices_new(n->g.n_values);
  clarke_slopes slopes;

  clarke_slopes_init(&slopes);
  OK(clarke_question_slopes(&slopes, &n->q, side, &error));
  OK(clarke_loss_seed(&grad[n->g.output], &n->q.loss, &r->near, r->near_sample, &error));
  OK(clarke_reverse_run(grad, &r->near, &slopes, CLARKE_NONE, clarke_gradient_sink, gradient, &error));
  clarke_slopes_clear(&slopes);
  clarke_matrices_free(grad, n->g.n_values);
}

/* Of the gradient's entry less the other's: 0 where enclosures overlap. */
static bool
differ(const clarke_matrix *x, const clarke_matrix *y, size_t e)
{
  arb_t a, b;
  bool apart;

  arb_init(a);
  arb_init(b);
  if (x->rows > 0)
    clarke_matrix_get_ball(a, x, e, 0, 128);
  if (y->rows > 0)
    clarke_matrix_get_ball(b, y, e, 0, 128);
  apart = !arb_overlaps(a, b);
  arb_clear(a);
  arb_clear(b);
  return apart;
}

static bool
any_differs(const clarke_matrix *x, const clarke_matrix *y, const clarke_graph *g)
{
  for (size_t p = 0; p < g->n_parameters; p++)
    for (size_t e = 0; e < g->parameters[p].count; e++)
      if (differ(&x[p], &y[p], e))
        return true;
  return false;
}

static void
all_sides_agree(const drawn *n, size_t patterns)
{
  clarke_branch *side = calloc(n->replay.n_touches + 1, sizeof *side);
  clarke_matrix *first = clarke_matrices_new(n->g.n_parameters);

  pattern_sides(side, &n->replay, 0);
  gradient_under(first, n, side);
  for (size_t i = 1; i < patterns; i++) {
    clarke_matrix *other = clarke_matrices_new(n->g.n_parameters);

    pattern_sides(side, &n->replay, i);
    gradient_under(other, n, side);
    ck_assert(!any_differs(first, other, &n->g));
    clarke_matrices_free(other, n->g.n_parameters);
  }
  clarke_matrices_free(first, n->g.n_parameters);
  free(side);
}

static void
witness_differs(const drawn *n, const clarke_zone_found *z)
{
  clarke_branch *base = calloc(n->replay.n_touches + 1, sizeof *base);
  clarke_matrix *x = clarke_matrices_new(n->g.n_parameters), *y = clarke_matrices_new(n->g.n_parameters);

  pattern_sides(base, &n->replay, 0);
  gradient_under(x, n, base);
  gradient_under(y, n, z->side);
  ck_assert(differ(&x[z->parameter], &y[z->parameter], z->entry));
  clarke_matrices_free(x, n->g.n_parameters);
  clarke_matrices_free(y, n->g.n_parameters);
  free(base);
}

START_TEST(drawn_beside_all_sides)
{
  size_t count[4] = {0};
  uint64_t state = 5;

  for (size_t i = 0; i < draw_count(number); i++) {
    clarke_zone_found z;
    clarke_audit a;
    drawn n;

    draw_touched(&n, &state, 128);
    clarke_zone_init(&z);
    clarke_audit_init(&a);
    OK(clarke_zone_find(&z, &n.q, tied(&n.replay), &error));
    count[z.zone]++;
    if (z.zone == CLARKE_ZONE_COMPENSATION) {
      all_sides_agree(&n, patterns_of(&n.replay, 128));
      OK(clarke_audit_run(&a, &n.q, false, &error));
      ck_assert(a.verdict == CLARKE_IN_BOULIGAND);
    }
    if (z.zone == CLARKE_ZONE_BIFURCATION)
      witness_differs(&n, &z);
    clarke_zone_clear(&z);
    clarke_audit_clear(&a);
    drawn_clear(&n);
  }
  printf("beside all sides: %zu compensation, %zu bifurcation, %zu not known\n", count[1], count[2], count[3]);
  ck_assert_uint_gt(count[CLARKE_ZONE_COMPENSATION], draw_count(number / 10));
  ck_assert_uint_gt(count[CLARKE_ZONE_BIFURCATION], draw_count(number / 10));
  ck_assert_uint_lt(count[CLARKE_ZONE_UNKNOWN], draw_count(number / 10));
}
END_TEST

/* Of relu(relu(a) + b): the second's argument has a derivative by b, and by the first's output. */
START_TEST(what_a_row_meets)
{
  clarke_branch side[2] = {CLARKE_LEFT, CLARKE_LEFT};
  clarke_matrix *gradient, *grad;
  clarke_columns columns;
  bool coupled;
  asked a;

  begin(&a, 1);
  node(&a, "Relu", "a", "r");
  node(&a, "Add", "r,b", "s");
  node(&a, "Relu", "s", "out");
  ask(&a, "out");
  ck_assert_uint_eq(a.replay.n_touches, 2);
  gradient = clarke_matrices_new(a.graph.n_parameters);
  grad = clarke_matrices_new(a.graph.n_values);
  OK(clarke_columns_init(&columns, &a.question, side, &error));
  OK(clarke_touch_meets(gradient, grad, &coupled, &columns, 1, CLARKE_RIGHT, 0, &error));
  ck_assert(!coupled && clarke_matrix_is_zero(&gradient[0]) && !clarke_matrix_is_zero(&gradient[1]));
  ck_assert(!clarke_matrix_is_zero(&grad[a.graph.steps[a.replay.touch[0].step].out]));
  clarke_columns_clear(&columns);
  clarke_matrices_free(gradient, a.graph.n_parameters);
  clarke_matrices_free(grad, a.graph.n_values);
  asked_end(&a);
}
END_TEST

/* The window of relu(c) is loose if the touches before it may move, and else not. */
START_TEST(loose_windows)
{
  const bool among[2][2] = {{false, false}, {true, true}};
  asked a;

  begin_parted(&a, 1);
  a.profile = "Relu 0 0\ntie ReduceMax first\n";
  ask(&a, "m");
  for (size_t i = 0; i < 2; i++) {
    clarke_marking m;
    clarke_loose loose;

    OK(clarke_marking_run(&m, &a.question, NULL, &error));
    OK(clarke_loose_find(&loose, &m, among[i], &error));
    ck_assert_int_eq(loose.any, i);
    clarke_loose_clear(&loose, &a.graph);
    clarke_marking_clear(&m);
  }
  asked_end(&a);
}
END_TEST

int
main(int argc, char **argv)
{
  TCase *tests = tests_of("zone");

  if (argc > 1)
    number = strtoul(argv[1], NULL, 10);

  tcase_add_test(tests, two_choices_do_not_cancel);
  tcase_add_test(tests, zero_of_bolte);
  tcase_add_test(tests, compensations);
  tcase_add_test(tests, ties_of_one_function_part);
  tcase_add_test(tests, a_constant_is_tied_with_what_parts);
  tcase_add_test(tests, a_chain_of_two);
  tcase_add_test(tests, sums_of_powers_of_e);
  tcase_add_test(tests, what_a_row_meets);
  tcase_add_test(tests, loose_windows);
  tcase_add_test(tests, drawn_beside_programs);
  tcase_add_test(tests, drawn_beside_all_sides);
  return run_tests();
}
