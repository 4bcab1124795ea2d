/* What the judgements of theorems share: proxies as mixes of two slopes, conditions on layers, and how they are said. */
#include "asked.h"

#include "audit/theorems/judge.h"

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

int
main(void)
{
  TCase *tests = tests_of("judge");

  tcase_add_test(tests, proxies_are_mixes);
  tcase_add_test(tests, layers_that_fail_a_condition);
  tcase_add_test(tests, conditions_are_said);
  return run_tests();
}
