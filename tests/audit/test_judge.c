/* What the judgements of theorems share: proxies as mixes of two slopes, conditions on layers, and how they are said. Then each
 * judgement with one condition after another taken away; ranks, and directions of closed form. */
#include "asked.h"

#include "audit/theorems/rank.h"
#include "audit/theorems/theorems.h"
#include "audit/theorems/two_kinks.h"

/* relu(x W + b), of both features the largest where `pool`; the bias is a layer's own, or one number for all. */
static void
ask_layer(asked *a, const char *profile, bool distinct, bool pool)
{
  asked_begin(a, 1, 1, NUMBERS(1));
  a->profile = profile;
  weight(a, "W", SHAPE(1, 2,), NUMBERS(1, 2));
  if (distinct)
    weight(a, "b", SHAPE(2,), NUMBERS(0, 1));
  else
    weight(a, "b", SHAPE(1,), NUMBERS(1));
  node(a, "MatMul", "x,W", "p");
  node(a, "Add", "p,b", "y");
  node(a, "Relu", "y", pool ? "z" : "out");
  if (pool)
    attr_ints(node(a, "ReduceMax", "z", "out"), "axes", SHAPE(1,));
  ask(a, "out");
}

START_TEST(proxies_are_mixes)
{
  static const struct {
    const char *profile;
    clarke_truth clarke, one_sided, shared;
  } cases[] = {
    { "Relu 0 0\n", CLARKE_YES, CLARKE_YES, CLARKE_YES },  { "Relu 0 1\n", CLARKE_YES, CLARKE_YES, CLARKE_YES },
    { "Relu 0 right\n", CLARKE_YES, CLARKE_YES, CLARKE_YES }, { "Relu 0 1/3\n", CLARKE_YES, CLARKE_NO, CLARKE_YES },
    { "Relu 0 2\n", CLARKE_NO, CLARKE_NO, CLARKE_NO },     { "Relu 0 -1/9\n", CLARKE_NO, CLARKE_NO, CLARKE_NO },
  };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    clarke_proxies p;
    asked a;

    ask_layer(&a, cases[i].profile, true, false);
    p = clarke_judge_proxies(&a.question, &a.audit.layer[0]);
    ck_assert_msg(p.clarke == cases[i].clarke && p.one_sided == cases[i].one_sided && p.shared == cases[i].shared, "%s",
                  cases[i].profile);
    asked_end(&a);
  }
}
END_TEST

START_TEST(layers_that_fail_a_condition)
{
  asked a;

  ask_layer(&a, "Relu 0 0\n", true, false);
  ck_assert_ptr_null(clarke_without_distinct_bias(&a.audit));
  ck_assert_ptr_null(clarke_pooling(&a.audit, &a.question));
  ck_assert_str_eq(clarke_layer_name(&a.question, &a.audit.layer[0]), "/out");
  asked_end(&a);
  ask_layer(&a, "Relu 0 0\n", false, false);
  ck_assert_ptr_eq(clarke_without_distinct_bias(&a.audit), &a.audit.layer[0]);
  asked_end(&a);
  ask_layer(&a, "Relu 0 0\ntie ReduceMax first\n", true, true);
  ck_assert_uint_eq(a.audit.n_layers, 2);
  ck_assert_ptr_eq(clarke_pooling(&a.audit, &a.question), &a.audit.layer[1]);
  asked_end(&a);
}
END_TEST

/* NO is said of the layer, and stays; UNKNOWN takes a YES back; YES changes nothing. */
START_TEST(conditions_are_said)
{
  clarke_theorem t = {.name = "T"};
  asked a;

  clarke_theorem_say(&t, "Theorem", true, CLARKE_YES, "all is well in %s", "/z");
  ck_assert(t.applies && t.holds == CLARKE_YES);
  ck_assert_str_eq(t.name, "Theorem");
  ck_assert_str_eq(t.why, "all is well in /z");
  clarke_theorem_require(&t, CLARKE_YES, "wrong in %s", "/y");
  ck_assert(t.holds == CLARKE_YES);
  ck_assert_str_eq(t.why, "all is well in /z");
  clarke_theorem_require(&t, CLARKE_UNKNOWN, "wrong in %s", "/y");
  ck_assert(t.holds == CLARKE_UNKNOWN);
  clarke_theorem_require(&t, CLARKE_NO, "wrong in %s", "/x");
  ck_assert(t.holds == CLARKE_NO);
  ck_assert_str_eq(t.why, "wrong in /x");
  clarke_theorem_require(&t, CLARKE_UNKNOWN, "wrong in %s", "/y");
  ck_assert(t.holds == CLARKE_NO);

  ask_layer(&a, "Relu 0 0\n", true, false);
  clarke_theorem_say(&t, "Theorem", true, CLARKE_YES, "yes", NULL);
  clarke_require_no_open(&t, &a.question);
  ck_assert(t.holds == CLARKE_YES);
  a.replay.open = 1;
  clarke_require_no_open(&t, &a.question);
  ck_assert(t.holds == CLARKE_UNKNOWN);
  ck_assert_str_eq(t.why, "some arguments could not be told from their kinks");
  asked_end(&a);
}
END_TEST

/* --- each theorem --- */

typedef void (*judgement)(clarke_theorem *t, const clarke_audit *a, const clarke_question *q);

static void
global_system(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  ck_assert_ptr_nonnull(q);
  clarke_judge_global_system(t, a);
}

/* What is taken away of a layer relu(x W + b), touched, with a bias of its own. */
static void
as_it_is(asked *a)
{
  ck_assert_uint_eq(a->audit.n_layers, 1);
}

static void
two_samples(asked *a)
{
  a->replay.samples = 2;
}

static void
no_distinct_bias(asked *a)
{
  a->audit.layer[0].bias_distinct = false;
}

static void
no_covering_bias(asked *a)
{
  a->audit.layer[0].bias_covers = false;
}

static void
not_fully_connected(asked *a)
{
  a->audit.layer[0].fully_connected = false;
}

static void
dependent(asked *a)
{
  a->audit.layer[0].rank = a->audit.layer[0].columns - 1;
}

static void
rank_not_known(asked *a)
{
  a->audit.layer[0].rank_known = false;
}

static void
rank_not_known_untouched(asked *a)
{
  a->audit.layer[0].rank_known = false;
  a->audit.layer[0].touched = 0;
}

static void
no_one_side(asked *a)
{
  a->question.touch[0].ad_side = CLARKE_PROXY;
}

static void
no_direction(asked *a)
{
  a->audit.layer[0].feasible = CLARKE_NO;
}

static void
not_decided(asked *a)
{
  a->audit.layer[0].feasible = CLARKE_UNKNOWN;
}

static void
no_direction_for_nothing(asked *a)
{
  a->audit.layer[0].feasible = CLARKE_NO;
  a->audit.layer[0].moving = 0;
}

static void
not_together(asked *a)
{
  a->audit.global_tried = true;
}

static void
disturbed(asked *a)
{
  a->audit.global_tried = a->audit.layer[0].disturbs = true;
}

static void
no_plain_sum(asked *a)
{
  a->audit.layer[0].plain_sum = false;
}

static void
not_alone(asked *a)
{
  a->audit.layer[0].alone = false;
}

static void
shared_weight(asked *a)
{
  a->graph.parameters[a->audit.layer[0].weight].uses = 2;
}

static void
shared_bias(asked *a)
{
  a->graph.parameters[a->audit.layer[0].bias].uses = 2;
}

static void
open_argument(asked *a)
{
  a->replay.open = 1;
}

static void
undecided(asked *a)
{
  a->audit.verdict = CLARKE_UNDECIDED;
}

static void
tried(asked *a)
{
  a->audit.global_tried = true;
  a->audit.global = CLARKE_YES;
}

static void
refuted(asked *a)
{
  a->audit.global_tried = true;
  a->audit.global = CLARKE_NO;
}

static void
not_found(asked *a)
{
  a->audit.global_tried = true;
  a->audit.global = CLARKE_UNKNOWN;
}

static const struct {
  judgement judge;
  const char *name, *profile;
  void (*take)(asked *a);
  bool applies;
  clarke_truth holds;
  const char *why;
} judgements[] = {
  {clarke_judge_theorem_1, "Theorem 1", "Relu 0 1/3\n", as_it_is, true, CLARKE_YES, "one sample, distinct biases, proxies in the Clarke sets"},
  {clarke_judge_theorem_1, "Theorem 1", "Relu 0 2\n", as_it_is, true, CLARKE_NO, "a proxy of layer /out lies outside its Clarke set"},
  {clarke_judge_theorem_1, "Theorem 1", "Relu 0 0\n", two_samples, false, CLARKE_NO, "the minibatch has more than one sample"},
  {clarke_judge_theorem_1, "Theorem 1", "Relu 0 0\n", no_distinct_bias, false, CLARKE_NO, "layer /out has no distinct bias"},
  {clarke_judge_theorem_4, "Theorem 4", "Relu 0 1/3\n", two_samples, true, CLARKE_YES, "distinct biases and one lambda for each layer"},
  {clarke_judge_theorem_4, "Theorem 4", "Relu 0 -1\n", as_it_is, true, CLARKE_NO, "no one lambda gives all proxies of layer /out"},
  {clarke_judge_theorem_4, "Theorem 4", "Relu 0 0\n", no_distinct_bias, false, CLARKE_NO, "layer /out has no distinct bias"},
  {clarke_judge_theorem_5, "Theorem 5", "Relu 0 1/3\n", as_it_is, true, CLARKE_YES, "fully connected; the inputs of every layer with a touched kink are independent"},
  {clarke_judge_theorem_5, "Theorem 5", "Relu 0 2\n", as_it_is, true, CLARKE_NO, "a proxy of layer /out lies outside its Clarke set"},
  {clarke_judge_theorem_5, "Theorem 5", "Relu 0 0\n", not_fully_connected, false, CLARKE_NO, "layer /out is not W z + b"},
  {clarke_judge_theorem_5, "Theorem 5", "Relu 0 0\n", dependent, true, CLARKE_NO, "the inputs of layer /out are dependent"},
  {clarke_judge_theorem_5, "Theorem 5", "Relu 0 0\n", rank_not_known, true, CLARKE_UNKNOWN, "the rank before layer /out is not known"},
  {clarke_judge_theorem_5, "Theorem 5", "Relu 0 0\n", rank_not_known_untouched, true, CLARKE_YES, "fully connected; the inputs of every layer with a touched kink are independent"},
  {clarke_judge_theorem_5, "Theorem 5", "Relu 0 0\n", open_argument, true, CLARKE_UNKNOWN, "some arguments could not be told from their kinks"},
  {clarke_judge_theorem_6, "Theorem 6", "Relu 0 1/3\n", no_distinct_bias, true, CLARKE_YES, "shared biases, trivial maxpools and one lambda for each layer"},
  {clarke_judge_theorem_6, "Theorem 6", "Relu 0 0\n", no_covering_bias, false, CLARKE_NO, "layer /out has no bias that covers its neurons"},
  {clarke_judge_theorem_6, "Theorem 6", "Relu 0 2\n", as_it_is, true, CLARKE_NO, "no one lambda gives all proxies of layer /out"},
  {clarke_judge_theorem_8, "Theorem 8", "Relu 0 0\n", as_it_is, true, CLARKE_YES, "P_l is not empty for any layer"},
  {clarke_judge_theorem_8, "Theorem 8", "Relu 0 0\n", no_one_side, false, CLARKE_NO, "AD's choice at what is touched in /out is no one side"},
  {clarke_judge_theorem_8, "Theorem 8", "Relu 0 0\n", no_direction, true, CLARKE_NO, "P_l of layer /out is empty"},
  {clarke_judge_theorem_8, "Theorem 8", "Relu 0 0\n", not_decided, true, CLARKE_UNKNOWN, "P_l of layer /out was not decided"},
  {clarke_judge_theorem_8, "Theorem 8", "Relu 0 0\n", no_direction_for_nothing, true, CLARKE_YES, "P_l is not empty for any layer"},
  {clarke_judge_theorem_8, "Theorem 8", "Relu 0 0\n", open_argument, true, CLARKE_UNKNOWN, "some arguments could not be told from their kinks"},
  {clarke_judge_theorem_8, "Theorem 8", "Relu 0 0\n", not_together, true, CLARKE_UNKNOWN, "the layers' directions were not verified"},
  {clarke_judge_theorem_8, "Theorem 8", "Relu 0 0\n", disturbed, false, CLARKE_NO, "parameters of layer /out move what is before it, too"},
  {clarke_judge_two_kinks, "N-1", "Relu 0 1\n", as_it_is, true, CLARKE_YES, "every layer is W z + b with two kinks at most, and proxies are one-sided"},
  {clarke_judge_two_kinks, "N-1", "Relu 0 1/3\n", as_it_is, true, CLARKE_NO, "a proxy of layer /out is no one-sided slope"},
  {clarke_judge_two_kinks, "N-1", "Relu 0 0\n", no_plain_sum, false, CLARKE_NO, "layer /out is not W z + b"},
  {clarke_judge_two_kinks, "N-1", "Relu 0 0\n", not_alone, false, CLARKE_NO, "layer /out shares its parameters"},
  {clarke_judge_two_kinks, "N-1", "Relu 0 0\n", shared_weight, false, CLARKE_NO, "layer /out shares its parameters"},
  {clarke_judge_two_kinks, "N-1", "Relu 0 0\n", shared_bias, false, CLARKE_NO, "layer /out shares its parameters"},
  {global_system, "global system", "Relu 0 0\n", as_it_is, true, CLARKE_YES, "follows from the layers' systems"},
  {global_system, "global system", "Relu 0 0\n", undecided, true, CLARKE_UNKNOWN, "not asked"},
  {global_system, "global system", "Relu 0 0\n", tried, true, CLARKE_YES, "one direction in all parameters realizes AD's pattern"},
  {global_system, "global system", "Relu 0 0\n", refuted, true, CLARKE_NO, "no direction realizes AD's pattern to first order"},
  {global_system, "global system", "Relu 0 0\n", not_found, true, CLARKE_UNKNOWN, "neither a direction nor a refutation was found"},
};

/* relu(x W + b), one of two neurons on its kink. */
static void
ask_touched(asked *a, const char *profile)
{
  asked_begin(a, 1, 1, NUMBERS(1));
  a->profile = profile;
  weight(a, "W", SHAPE(1, 2,), NUMBERS(1, 2));
  weight(a, "b", SHAPE(2,), NUMBERS(-1, 1));
  node(a, "MatMul", "x,W", "p");
  node(a, "Add", "p,b", "y");
  node(a, "Relu", "y", "out");
  ask(a, "out");
  ck_assert_uint_eq(a->replay.n_touches, 1);
}

static void
said(const clarke_theorem *t, size_t i)
{
  ck_assert_str_eq(t->name, judgements[i].name);
  ck_assert_msg(t->applies == judgements[i].applies && t->holds == judgements[i].holds, "%s, %zu: %s", t->name, i, t->why);
  ck_assert_str_eq(t->why, judgements[i].why);
}

START_TEST(each_condition_is_asked_for)
{
  for (size_t i = 0; i < sizeof judgements / sizeof judgements[0]; i++) {
    clarke_theorem t = {.name = NULL};
    asked a;

    ask_touched(&a, judgements[i].profile);
    judgements[i].take(&a);
    judgements[i].judge(&t, &a.audit, &a.question);
    said(&t, i);
    memset(a.audit.theorem, 0, sizeof a.audit.theorem);
    clarke_theorems_judge(&a.audit, &a.question); /* the table says the same */
    said(theorem(&a, judgements[i].name), i);
    asked_end(&a);
  }
}
END_TEST

START_TEST(pools_are_no_pointwise_functions)
{
  clarke_theorem t = {.name = "T"};
  asked a;

  ask_layer(&a, "Relu 0 0\ntie ReduceMax first\n", true, true);
  clarke_judge_theorem_1(&t, &a.audit, &a.question);
  ck_assert(!t.applies && strstr(t.why, "is no pointwise function") != NULL);
  clarke_judge_theorem_4(&t, &a.audit, &a.question);
  ck_assert(!t.applies && strstr(t.why, "is no pointwise function") != NULL);
  clarke_judge_theorem_5(&t, &a.audit, &a.question);
  ck_assert(!t.applies && strstr(t.why, "is not W z + b") != NULL);
  clarke_judge_two_kinks(&t, &a.audit, &a.question);
  ck_assert(!t.applies && strstr(t.why, "is no pointwise function") != NULL);
  clarke_judge_theorem_6(&t, &a.audit, &a.question);
  ck_assert(t.applies && t.holds == CLARKE_YES); /* its tie is none */
  a.replay.open = 1;
  clarke_judge_theorem_6(&t, &a.audit, &a.question);
  ck_assert(t.applies && t.holds == CLARKE_UNKNOWN);
  a.audit.layer[1].touched = 1;
  clarke_judge_theorem_6(&t, &a.audit, &a.question);
  ck_assert(!t.applies && strstr(t.why, "has ties that are not trivial") != NULL);
  t.name = "its own";
  clarke_judge_lambdas(&t, "holds%s", &a.audit, &a.question);
  ck_assert(t.applies && t.holds == CLARKE_YES);
  ck_assert_str_eq(t.why, "holds");
  ck_assert_str_eq(t.name, "its own");
  asked_end(&a);
}
END_TEST

/* --- ranks --- */

START_TEST(ranks_are_those_of_the_inputs)
{
  static const struct {
    double x[4];
    size_t rank;
  } known[] = {{{1, 2, 2, 4}, 1}, {{1, 2, 2, 5}, 2}, {{0, 0, 1, 1}, 1}, {{0, 0, 0, 0}, 0}};

  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    clarke_layer *l;
    asked a;

    asked_begin(&a, 2, 2, known[i].x);
    weight(&a, "W", SHAPE(2, 1,), NUMBERS(1, 1));
    weight(&a, "b", SHAPE(1,), NUMBERS(100)); /* far from the kink */
    node(&a, "MatMul", "x,W", "p");
    node(&a, "Add", "p,b", "y");
    node(&a, "Relu", "y", "out");
    ask(&a, "out");
    l = &a.audit.layer[0];
    ck_assert(l->fully_connected && l->touched == 0 && !l->rank_known && l->columns == 2); /* nobody asked */
    OK(clarke_layer_ranks(&a.audit, &a.question, false, &error));
    ck_assert(!l->rank_known);
    OK(clarke_layer_ranks(&a.audit, &a.question, true, &error));
    ck_assert(l->rank_known && l->rank == known[i].rank);
    l->rank_known = false;
    l->touched = 1;
    OK(clarke_layer_ranks(&a.audit, &a.question, false, &error));
    ck_assert(l->rank_known && l->rank == known[i].rank);
    l->rank_known = l->fully_connected = false;
    OK(clarke_layer_ranks(&a.audit, &a.question, true, &error));
    ck_assert(!l->rank_known);
    asked_end(&a);
  }
}
END_TEST

START_TEST(ranks_are_of_fully_connected_layers)
{
  asked a;

  asked_begin(&a, 2, 1, NUMBERS(1, 2));
  weight(&a, "W", SHAPE(1, 1,), NUMBERS(1));
  weight(&a, "V", SHAPE(1, 1,), NUMBERS(1));
  node(&a, "MatMul", "x,W", "p");
  node(&a, "Relu", "p", "z");
  node(&a, "MatMul", "z,V", "q");
  node(&a, "Relu", "q", "out");
  ask(&a, "out");
  ck_assert_uint_eq(a.audit.n_layers, 2);
  a.audit.layer[0].fully_connected = false;
  OK(clarke_layer_ranks(&a.audit, &a.question, true, &error));
  ck_assert(!a.audit.layer[0].rank_known && a.audit.layer[1].rank_known && a.audit.layer[1].rank == 1);
  asked_end(&a);
}
END_TEST

/* --- directions of closed form --- */

/* How y = w x + b moves, w being 2 and b -1. */
static double
moves_by(const clarke_direction *d, const clarke_layer *l, double x)
{
  double sum = 0;

  for (size_t i = 0; i < d->n; i++) {
    const clarke_move *m = &d->move[i];
    const bool w = m->parameter == l->weight;

    ck_assert(w || m->parameter == l->bias);
    ck_assert_int_ne(m->kind, CLARKE_MOVE_AT);
    sum += mpq_get_d(m->coef) * (m->kind == CLARKE_MOVE_COPY ? (w ? 2 * x : -1) : (w ? x : 1));
  }
  return sum;
}

/* y is 3 and -1 for x = 2 and 0, the two kinks of a Clip: each pair of sides has a direction that leads there. */
START_TEST(two_kinks_have_a_direction_of_closed_form)
{
  asked a;

  asked_begin(&a, 2, 1, NUMBERS(2, 0));
  a.profile = "Clip 0 0\nClip 1 0\n";
  weight(&a, "W", SHAPE(1, 1,), NUMBERS(2));
  weight(&a, "b", SHAPE(1,), NUMBERS(-1));
  weight(&a, "low", SHAPE(), NUMBERS(-1));
  weight(&a, "high", SHAPE(), NUMBERS(3));
  node(&a, "MatMul", "x,W", "p");
  node(&a, "Add", "p,b", "y");
  node(&a, "Clip", "y,low,high", "out");
  a.wrt = "W,b";
  ask(&a, "out");
  ck_assert_uint_eq(a.replay.n_touches, 2);
  for (int pair = 0; pair < 4; pair++)
    for (int plain = 0; plain < 2; plain++) {
      const clarke_branch side[2] = {pair & 1 ? CLARKE_RIGHT : CLARKE_LEFT, pair & 2 ? CLARKE_RIGHT : CLARKE_LEFT};
      clarke_layer l = a.audit.layer[0];
      clarke_direction d;
      clarke_cell cell;
      bool found;

      l.plain_sum = plain;
      clarke_cell_init(&cell);
      clarke_direction_init(&d);
      OK(clarke_cell_set(&cell, &a.question, side, &error));
      OK(clarke_two_kinks(&found, &d, &l, &cell, &a.question, &error));
      ck_assert(found == (plain || side[0] == side[1])); /* without W z + b both kinks can only go one way */
      for (size_t k = 0; k < 2 && found; k++)
        ck_assert_double_gt(side[k] * moves_by(&d, &l, a.replay.touch[k].column == 0 ? 2 : 0), 0);
      cell.side[0] = CLARKE_PROXY;
      OK(clarke_two_kinks(&found, &d, &l, &cell, &a.question, &error));
      ck_assert(!found);
      clarke_direction_clear(&d);
      clarke_cell_clear(&cell);
    }
  asked_end(&a);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("judge");

  tcase_add_test(tests, proxies_are_mixes);
  tcase_add_test(tests, layers_that_fail_a_condition);
  tcase_add_test(tests, conditions_are_said);
  tcase_add_test(tests, each_condition_is_asked_for);
  tcase_add_test(tests, pools_are_no_pointwise_functions);
  tcase_add_test(tests, ranks_are_those_of_the_inputs);
  tcase_add_test(tests, ranks_are_of_fully_connected_layers);
  tcase_add_test(tests, two_kinks_have_a_direction_of_closed_form);
  return run_tests();
}
