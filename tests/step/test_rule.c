/* Rules of optimizers in the library: their table, their states, one step of each; the commands' numbers are in test_step.py. */
#include "../ok.h"

#include "step/lbfgs.h"
#include "step/piece.h"
#include "step/whole.h"

#include <string.h>

/* All hyperparameters that the rule needs, alpha = 1, beta = 2, step 1/4, no epsilon but where nothing would move without. */
static void
some_hypers(clarke_hypers *h, const clarke_rule *r)
{
  clarke_hypers_init(h);
  for (int k = 0; k < CLARKE_N_HYPERS; k++) {
    h->given[k] = r->needs[k] || (k == CLARKE_HYPER_EPS && r->eps != NULL && !r->slot[CLARKE_SLOT_U]);
    if (r->needs[k])
      mpq_set_ui(h->of[k], k == CLARKE_HYPER_BETA ? 2 : 1, k == CLARKE_HYPER_STEP || k == CLARKE_HYPER_MOMENTUM ? 4 : 1);
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
    if (r->whole != NULL || r->evaluates) { /* test_whole.c, test_lbfgs.py */
      clarke_hypers_clear(&h);
      continue;
    }
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
  ck_assert_uint_ge(i, 27);
  ck_assert_ptr_eq(clarke_rule_at(i - 1), &clarke_lbfgs_rule);
  ck_assert_ptr_eq(clarke_rule_at(i - 2), &clarke_whole_rules[CLARKE_N_WHOLE_RULES - 1]);
  ck_assert_ptr_eq(clarke_rule_at(i - 2 - CLARKE_N_WHOLE_RULES), &clarke_torch_rules[CLARKE_N_TORCH_RULES - 1]);
  ck_assert_ptr_null(clarke_rule_find("nobody"));
  ck_assert_str_eq(clarke_hyper_name(CLARKE_HYPER_DECAY), "weight-decay");
}
END_TEST

/* mu_k = 1 / max(1, k - t0); eta_k = 1/4 / (1 + 3 k / 4)^(1/2), a ball where it is no rational. v is there unless the gradients are divided already. */
START_TEST(of_asgd)
{
  static const struct {
    size_t k;
    double eta;
    const char *mu;
  } cases[] = {{0, 0.25, "1"}, {1, 0.18898223650461363, "1"}, {4, 0.125, "2/3"}, {20, 0.0625, "2/35"}};
  const clarke_rule *r = clarke_rule_find("torch-asgd");
  clarke_hypers h;
  clarke_number eta;
  mpq_t mu, said;

  some_hypers(&h, r);
  h.given[CLARKE_HYPER_ALPHA] = h.given[CLARKE_HYPER_LAMBD] = h.given[CLARKE_HYPER_T0] = true;
  mpq_set_ui(h.of[CLARKE_HYPER_ALPHA], 1, 2);
  mpq_set_ui(h.of[CLARKE_HYPER_LAMBD], 3, 1);
  mpq_set_ui(h.of[CLARKE_HYPER_T0], 5, 2);
  OK(clarke_rule_check(&h, r, &error));
  ck_assert(clarke_rule_has(r, &h, -1) && clarke_rule_has(r, &h, CLARKE_SLOT_AX) && !clarke_rule_has(r, &h, CLARKE_SLOT_V));
  mpq_inits(mu, said, NULL);
  clarke_number_init(&eta);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    clarke_rule_asgd_eta(&eta, &h, cases[i].k);
    clarke_rule_asgd_mu(mu, &h, cases[i].k);
    mpq_set_str(said, cases[i].mu, 10);
    ck_assert(mpq_equal(mu, said));
    ck_assert_msg(clarke_number_double(&eta) == cases[i].eta && eta.exact == (cases[i].k == 0), "%zu: %.17g", i, clarke_number_double(&eta));
  }
  r = clarke_rule_find("adam");
  ck_assert(clarke_rule_has(r, &h, CLARKE_SLOT_V));
  h.preconditioned = true;
  ck_assert(!clarke_rule_has(r, &h, CLARKE_SLOT_V) && clarke_rule_has(r, &h, CLARKE_SLOT_M));
  clarke_number_clear(&eta);
  mpq_clears(mu, said, NULL);
  clarke_hypers_clear(&h);
}
END_TEST

/* A ball holds a double. */
static bool
holds(const clarke_number *x, double d)
{
  clarke_number y;
  mpq_t q;
  int sign;

  mpq_init(q);
  mpq_set_d(q, d);
  clarke_number_init(&y);
  clarke_number_set_q(&y, q);
  sign = clarke_number_compare(x, &y, 256);
  clarke_number_clear(&y);
  mpq_clear(q);
  return sign == 0 || sign == 2;
}

/* Each piece is exact where nothing is rounded; as a program in floats has it, it holds what is twelve units off, and not what is twenty. */
START_TEST(pieces)
{
  clarke_number y, x, three, four;
  clarke_step_entry e;
  clarke_hypers h;
  mpq_t half, q;

  clarke_hypers_init(&h);
  clarke_step_entry_init(&e);
  clarke_number_init(&y);
  clarke_number_init(&x);
  clarke_number_init(&three);
  clarke_number_init(&four);
  mpq_inits(half, q, NULL);
  mpq_set_ui(half, 1, 2);
  mpq_set_ui(h.of[CLARKE_HYPER_MOMENTUM], 1, 4);
  mpq_set_ui(h.of[CLARKE_HYPER_SIGMA], 1, 4);
  clarke_number_set_si(&three, 3);
  clarke_number_set_si(&four, 4);
  for (int floats = 0; floats < 2; floats++) {
    if (floats)
      h.rounding = (clarke_step_rounding){.unit = 24, .tiny = 126, .scalar = 40};
    clarke_number_set_si(&y, 1);
    clarke_piece_mix(&y, half, half, &three, &h); /* 2 */
    ck_assert(y.exact == !floats && holds(&y, 2) && holds(&y, 2 + 0x1p-21) == floats && !holds(&y, 2 + 0x1p-18));
    clarke_piece_add(&y, half, &four, &h); /* 4 */
    ck_assert(holds(&y, 4) && !holds(&y, 4 + 0x1p-17) && holds(&y, 4 - 0x1p-20) == floats);
    clarke_number_set_si(&e.theta, 1);
    clarke_piece_descend(&e, half, &four, &h);
    ck_assert(holds(&e.theta, -1) && holds(&e.theta, -1 + 0x1p-21) == floats && !holds(&e.theta, -1 + 0x1p-17));
    clarke_number_set_si(&e.slot[CLARKE_SLOT_M], 1);
    clarke_number_set_si(&e.slot[CLARKE_SLOT_V], 4);
    clarke_piece_first_moment(&e, &three, &h); /* 5/2 */
    clarke_piece_second_moment(&e, &four, &h); /* 13 */
    ck_assert(holds(&e.slot[CLARKE_SLOT_M], 2.5) && holds(&e.slot[CLARKE_SLOT_V], 13) && !holds(&e.slot[CLARKE_SLOT_V], 13.0001));
    clarke_piece_rest_of_power(q, half, 9, &h); /* 511/512 */
    ck_assert(mpq_get_d(q) == 511 / 512.0);
    clarke_piece_rest(q, half);
    ck_assert(mpq_equal(q, half));
    mpq_set_ui(h.of[CLARKE_HYPER_EPS], 1, 2);
    h.place = CLARKE_EPS_OUTSIDE;
    ck_assert(clarke_piece_root(&y, &four, half, &h) && clarke_number_double(&y) == 3.3284271247461903); /* sqrt(8) + 1/2 */
    h.place = CLARKE_EPS_INSIDE;
    mpq_set_ui(h.of[CLARKE_HYPER_EPS], 1, 1);
    ck_assert(clarke_piece_root(&y, &four, half, &h) && holds(&y, 3));
    clarke_piece_divide(&x, &four, &y, half, &h);
    ck_assert(x.exact == !floats && !holds(&x, 1.3334) && holds(&x, 4 / 3.0) == floats);
    clarke_number_set_si(&e.slot[CLARKE_SLOT_V], 4);
    OK(clarke_piece_precondition(&x, &three, &e, half, &h, &error));
    ck_assert(holds(&x, 1) && !holds(&x, 1.0001));
    clarke_piece_parts(q, 3, 2);
    ck_assert(mpq_get_d(q) == 0.75);
    clarke_number_set_si(&y, 1);
    clarke_piece_share(&y, &h, NULL, NULL, &y);
    ck_assert(holds(&y, 1 + 0x1p-37) == floats && !holds(&y, 1 + 0x1p-36));
    clarke_number_set_si(&y, 1);
    clarke_piece_round(&y, &h, NULL, &y, half, &four);
    ck_assert(holds(&y, 1 + 0x1p-19) == floats && !holds(&y, 1 + 0x1p-18));
  }
  clarke_number_set_si(&y, 1);
  clarke_piece_widen(&y, half, &four);
  ck_assert(holds(&y, -1) && holds(&y, 3) && !holds(&y, 3.001));
  clarke_number_set_si(&y, 0);
  clarke_piece_vanish(&y, &h);
  ck_assert(holds(&y, 0x1p-123) && !holds(&y, 0x1p-122));
  h.decay = CLARKE_DECAY_COUPLED;
  h.rounding = (clarke_step_rounding){.unit = 0};
  mpq_set(h.of[CLARKE_HYPER_DECAY], half);
  clarke_number_set_si(&e.theta, 2);
  clarke_piece_decay(&e, &y, &three, &h);
  ck_assert(holds(&y, 4) && holds(&e.theta, 2));
  h.decay = CLARKE_DECAY_DECOUPLED;
  mpq_set(h.of[CLARKE_HYPER_STEP], half);
  clarke_piece_decay(&e, &y, &three, &h);
  ck_assert(holds(&y, 3) && holds(&e.theta, 1.5));
  mpq_clears(half, q, NULL);
  clarke_number_clear(&y);
  clarke_number_clear(&x);
  clarke_number_clear(&three);
  clarke_number_clear(&four);
  clarke_step_entry_clear(&e);
  clarke_hypers_clear(&h);
}
END_TEST

/* RAdam: with sigma = 1/2 the length has the end 3, and m alone is the step; where rho_t is 5, as nearly as floats tell, it is not known. */
START_TEST(lengths)
{
  const clarke_rule *r = clarke_rule_find("torch-radam");
  clarke_step_entry e;
  clarke_number g;
  clarke_hypers h;

  some_hypers(&h, r);
  h.given[CLARKE_HYPER_SIGMA] = true;
  mpq_set_ui(h.of[CLARKE_HYPER_SIGMA], 1, 2);
  OK(clarke_rule_check(&h, r, &error));
  clarke_step_entry_init(&e);
  clarke_number_init(&g);
  clarke_number_set_si(&g, 2);
  clarke_rule_begin(&e, r, &h);
  for (size_t k = 0; k < 9; k++)
    OK(clarke_rule_step(&e, r, &g, &h, k, &error));
  ck_assert(e.theta.exact && mpq_cmp_si(e.theta.q, -9, 2) == 0); /* 9 steps of 2/4 */
  mpq_set_ui(h.of[CLARKE_HYPER_SIGMA], 2, 3); /* the length has the end 5, and is never above it: after many steps floats have 5 */
  h.rounding = (clarke_step_rounding){.unit = 24, .tiny = 126, .scalar = 52};
  ck_assert(clarke_rule_step(&e, r, &g, &h, 400, &error) == CLARKE_EVAGUE && strstr(error.text, "rho_t") != NULL);
  h.rounding = (clarke_step_rounding){.unit = 0};
  OK(clarke_rule_step(&e, r, &g, &h, 400, &error));
  clarke_step_entry_clear(&e);
  clarke_number_clear(&g);
  clarke_hypers_clear(&h);
}
END_TEST

/* Rprop: three steps that agree, differ, and agree with nothing; a product that may vanish in floats. */
START_TEST(signs)
{
  static const struct {
    double g, theta, size, prev;
  } steps[] = {{1, -0.25, 0.25, 1}, {3, -1, 0.75, 3}, {-1, -1, 0.1875, 0}, {-1, -0.8125, 0.1875, -1}, {0, -0.8125, 0.1875, 0}};
  const clarke_rule *r = clarke_rule_find("torch-rprop");
  clarke_step_entry e;
  clarke_number g;
  clarke_hypers h;
  mpq_t q;

  some_hypers(&h, r);
  h.given[CLARKE_HYPER_ETA_PLUS] = h.given[CLARKE_HYPER_ETA_MINUS] = true;
  mpq_set_ui(h.of[CLARKE_HYPER_ETA_PLUS], 3, 1);
  mpq_set_ui(h.of[CLARKE_HYPER_ETA_MINUS], 1, 4);
  OK(clarke_rule_check(&h, r, &error));
  mpq_init(q);
  clarke_step_entry_init(&e);
  clarke_number_init(&g);
  clarke_rule_begin(&e, r, &h);
  for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
    mpq_set_d(q, steps[k].g);
    clarke_number_set_q(&g, q);
    OK(clarke_rule_step(&e, r, &g, &h, k, &error));
    ck_assert_msg(mpq_get_d(e.theta.q) == steps[k].theta && mpq_get_d(e.slot[CLARKE_SLOT_SIZE].q) == steps[k].size
                    && mpq_get_d(e.slot[CLARKE_SLOT_PREV].q) == steps[k].prev, "step %zu", k);
  }
  mpq_set_d(q, 0x1p-80);
  clarke_number_set_q(&g, q);
  clarke_number_set_q(&e.slot[CLARKE_SLOT_PREV], q);
  h.rounding = (clarke_step_rounding){.unit = 24, .tiny = 126, .scalar = 52};
  ck_assert(clarke_rule_step(&e, r, &g, &h, 5, &error) == CLARKE_EVAGUE && strstr(error.text, "a sign is not known") != NULL);
  h.rounding.tiny = 1022;
  OK(clarke_rule_step(&e, r, &g, &h, 5, &error));
  mpq_set_ui(h.of[CLARKE_HYPER_ETA_MINUS], 1, 1);
  h.given[CLARKE_HYPER_ETA_MINUS] = true;
  ck_assert(clarke_rule_check(&h, r, &error) == CLARKE_EINPUT);
  mpq_clear(q);
  clarke_step_entry_clear(&e);
  clarke_number_clear(&g);
  clarke_hypers_clear(&h);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("rules");

  tcase_add_test(tests, all_rules);
  tcase_add_test(tests, of_asgd);
  tcase_add_test(tests, pieces);
  tcase_add_test(tests, lengths);
  tcase_add_test(tests, signs);
  return run_tests();
}
