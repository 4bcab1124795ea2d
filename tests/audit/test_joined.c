/* Kinks that take their sides together, or opposite ones: Lemma 2 behind a layer that is trained, and what is no smooth sum. */
#include "asked.h"

#include "audit/classes.h"
#include "audit/joined.h"
#include "network/pass/identity.h"

/* relu(z) and relu(-z) for z = (x v) w, w being 0: `op` of them is the output. Four samples, two units. */
static void
ask_pair(asked *a, const char *op)
{
  asked_begin(a, 4, 2, NUMBERS(1, 0, 1, 1, -1, 2, 3, 1));
  weight(a, "v", SHAPE(2, 2,), NUMBERS(1, 2, 0, 1));
  weight(a, "w", SHAPE(2, 2,), NUMBERS(0, 0, 0, 0));
  node(a, "MatMul", "x,v", "h");
  node(a, "MatMul", "h,w", "z");
  node(a, "Neg", "z", "n");
  node(a, "Relu", "z", "p");
  node(a, "Relu", "n", "q");
  node(a, op, "p,q", "out");
  ask(a, "out");
  ck_assert_uint_eq(a->replay.n_touches, 16);
}

/* z is smooth, with a gradient that AD's 0 is not. The first eight kinks are those of z, the others' sides are opposite. */
START_TEST(lemma_2_behind_a_trained_layer)
{
  bool separated;
  asked a;

  ask_pair(&a, "Sub");
  ck_assert_int_eq(a.audit.verdict, CLARKE_NOT_IN_CLARKE);
  ck_assert_int_eq(a.audit.evidence, CLARKE_EVIDENCE_BOUND);
  OK(clarke_settle_joined(&separated, &a.audit, &a.question, &error));
  ck_assert(separated && a.audit.tree.n == 1);
  for (size_t k = 0; k < 16; k++) {
    ck_assert(a.audit.tree.parallel[k] == (k < 8 ? CLARKE_NONE : k - 8));
    ck_assert(a.audit.tree.opposite[k] == (k >= 8));
  }
  asked_end(&a);
}
END_TEST

/* Of |z| AD's 0 lies between the gradients: nothing may separate it. */
START_TEST(a_size_is_not_separated)
{
  bool separated;
  asked a;

  ask_pair(&a, "Add");
  ck_assert_int_ne(a.audit.verdict, CLARKE_NOT_IN_CLARKE);
  OK(clarke_settle_joined(&separated, &a.audit, &a.question, &error));
  ck_assert(!separated);
  asked_end(&a);
}
END_TEST

static clarke_identity
identity_of(clarke_identities *ids, const asked *a, size_t k)
{
  const clarke_touch *t = &a->replay.touch[k];

  return clarke_identity_of(ids, a->graph.steps[t->step].in[0].value, t->feature, t->column);
}

START_TEST(arguments_that_are_minus_others)
{
  clarke_identities *ids;
  asked a;

  ask_pair(&a, "Sub");
  ids = clarke_identities_new(&a.graph, a.replay.near.n, a.replay.near.piece, a.replay.near.value, NULL);
  for (size_t j = 0; j < 8; j++)
    for (size_t k = 0; k < 16; k++)
      ck_assert((identity_of(ids, &a, k) == clarke_identity_turned(ids, identity_of(ids, &a, j))) == (k == j + 8));
  ck_assert_uint_eq(clarke_identity_turned(ids, CLARKE_IDENTITY_ZERO), 0);
  clarke_identities_free(ids);
  asked_end(&a);
}
END_TEST

/* AD is on the left; the argument has the slope 0 there, and 1 on the right. */
START_TEST(what_sides_give)
{
  asked a;

  ask_pair(&a, "Sub");
  for (size_t o = 0; o < 2; o++) {
    ck_assert(clarke_share_of(&a.question, 3, o) == (o == 0 ? 1 : 0));
    ck_assert(clarke_slope_given(&a.question, 3, o, 1) == (o == 0 ? 0 : 1));
  }
  asked_end(&a);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("joined");
  int failed;

  tcase_add_test(tests, lemma_2_behind_a_trained_layer);
  tcase_add_test(tests, a_size_is_not_separated);
  tcase_add_test(tests, arguments_that_are_minus_others);
  tcase_add_test(tests, what_sides_give);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
