/* Rules of optimizers in the library: their table, their states, one step of each; the commands' numbers are in test_step.py. */
#include "../ok.h"

#include "step/rule.h"

#include <string.h>

/* All hyperparameters that the rule needs, alpha = 1, beta = 2, step 1/4, no epsilon. */
static void
some_hypers(clarke_hypers *h, const clarke_rule *r)
{
  clarke_hypers_init(h);
  for (int k = 0; k < CLARKE_N_HYPERS; k++) {
    h->given[k] = r->needs[k] || (k == CLARKE_HYPER_EPS && r->eps != NULL);
    if (r->needs[k])
      mpq_set_ui(h->of[k], k == CLARKE_HYPER_BETA ? 2 : 1, k == CLARKE_HYPER_STEP ? 4 : 1);
  }
}

/* With a gradient of 0 nothing moves but what inertia or decay moves; a rule descends along a gradient of 1. */
START_TEST(all_rules)
{
  size_t i = 0;

  for (; clarke_rule_at(i) != NULL; i++) {
    const clarke_rule *r = clarke_rule_at(i);
    clarke_hypers h;
    clarke_number g, three;
    clarke_step_entry e;

    ck_assert_ptr_eq(clarke_rule_find(r->name), r);
    some_hypers(&h, r);
    OK(clarke_rule_check(&h, r, &error));
    ck_assert(clarke_rule_grows(r, &h) == (strcmp(r->name, "nag") == 0));
    clarke_number_init(&g);
    clarke_number_init(&three);
    clarke_step_entry_init(&e);
    clarke_number_set_si(&e.theta, 3);
    clarke_number_set_si(&three, 3);
    clarke_rule_begin(&e, r, &h);
    ck_assert(clarke_number_sign(&e.slot[CLARKE_SLOT_PSI]) == (r->slot[CLARKE_SLOT_PSI] ? -1 : 0));
    ck_assert(clarke_number_sign(&e.slot[CLARKE_SLOT_V]) == r->v_is_one);
    clarke_number_set_si(&g, 1);
    OK(clarke_rule_step(&e, r, &g, &h, 0, &error));
    ck_assert_msg(clarke_number_compare(&e.theta, &three, 64) == (strcmp(r->name, "dinadam-printed") == 0 ? 1 : -1), "%s", r->name);
    clarke_step_entry_clear(&e);
    clarke_number_clear(&g);
    clarke_number_clear(&three);
    clarke_hypers_clear(&h);
  }
  ck_assert_uint_ge(i, 21);
  ck_assert_ptr_null(clarke_rule_find("nobody"));
  ck_assert_str_eq(clarke_hyper_name(CLARKE_HYPER_DECAY), "weight-decay");
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("rules");

  tcase_add_test(tests, all_rules);
  return run_tests();
}
