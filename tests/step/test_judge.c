/* Steps in floats: torch.optim's single-tensor programs, and what their numbers are judged to be. (Whole folders: test_step_run.py.) */
#include "../ok.h"

#include "step/judge.h"

#include <math.h>
#include <string.h>

static const bool m_alone[CLARKE_N_SLOTS] = {[CLARKE_SLOT_M] = true}, nothing[CLARKE_N_SLOTS];

/* torch-sgd with lr 1/8 and momentum 1/2, in some type. */
static void
sgd(clarke_hypers *h, clarke_single *s, clarke_dtype dtype, double lr, size_t k)
{
  const clarke_rule *r = clarke_rule_find("torch-sgd");

  clarke_hypers_init(h);
  h->given[CLARKE_HYPER_STEP] = h->given[CLARKE_HYPER_MOMENTUM] = true;
  mpq_set_d(h->of[CLARKE_HYPER_STEP], lr);
  mpq_set_d(h->of[CLARKE_HYPER_MOMENTUM], 0.5);
  OK(clarke_rule_check(h, r, &error));
  ck_assert(clarke_single_make(s, r, h, k, dtype, &(clarke_single_more){.lr = lr}));
}

START_TEST(takes)
{
  ck_assert(clarke_rule_takes(clarke_rule_find("sgd"), CLARKE_HYPER_STEP) && !clarke_rule_takes(clarke_rule_find("sgd"), CLARKE_HYPER_SIGMA));
  ck_assert(clarke_rule_takes(clarke_rule_find("torch-sgd"), CLARKE_HYPER_DAMPENING));
}
END_TEST

/* m = m / 2 + g, theta - m / 8; in float32 0.1f is what it is, and -0 is not 0. */
START_TEST(ways)
{
  const clarke_single_state before = {.theta = 1, .slot = {[CLARKE_SLOT_M] = 2}}, after = {.theta = 0.5, .slot = {[CLARKE_SLOT_M] = 4}};
  clarke_single_state off = after, zero = {.theta = 0, .slot = {[CLARKE_SLOT_M] = 2}}, minus = {.theta = -0.0, .slot = {[CLARKE_SLOT_M] = 0}};
  clarke_hypers h;
  clarke_single s;

  sgd(&h, &s, CLARKE_F32, 0.125, 1);
  ck_assert(clarke_single_ways(&s, ~(uint64_t)0, &before, 3, &after, m_alone) != 0);
  ck_assert(clarke_single_ways(&s, 0, &before, 3, &after, m_alone) == 0);
  off.slot[CLARKE_SLOT_M] = 4.5;
  ck_assert(clarke_single_ways(&s, ~(uint64_t)0, &before, 3, &off, m_alone) == 0);
  ck_assert(clarke_single_ways(&s, ~(uint64_t)0, &before, 3, &off, nothing) != 0);
  ck_assert(clarke_single_ways(&s, ~(uint64_t)0, &zero, -1, &minus, m_alone) == 0);
  minus.theta = 0;
  ck_assert(clarke_single_ways(&s, ~(uint64_t)0, &zero, -1, &minus, m_alone) != 0);
  clarke_hypers_clear(&h);
}
END_TEST

/* 1 - 2^-9 g: in bfloat16 the sum is rounded to 8 bits, ties to even; in float16 to 11; fused or not. */
START_TEST(narrow_types)
{
  static const struct {
    clarke_dtype dtype;
    double g, theta;
  } cases[] = {{CLARKE_BF16, 1, 1}, {CLARKE_BF16, 3, 1 - 0x1p-7}, {CLARKE_BF16, 2, 1 - 0x1p-8}, {CLARKE_F16, 1, 1 - 0x1p-9},
               {CLARKE_F16, 0x1p-3, 1}, {CLARKE_F16, 0x3p-3, 1 - 0x1p-10}, {CLARKE_F32, 0x1p-16, 1}, {CLARKE_F64, 0x1p-16, 1 - 0x1p-25}};

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const clarke_single_state before = {.theta = 1}, after = {.theta = cases[i].theta};
    clarke_hypers h;
    clarke_single s;

    sgd(&h, &s, cases[i].dtype, 0x1p-9, 0);
    ck_assert_msg(clarke_single_ways(&s, ~(uint64_t)0, &before, cases[i].g, &after, nothing) != 0, "case %zu", i);
    clarke_hypers_clear(&h);
  }
}
END_TEST

/* Ties to even; what is below the smallest number of the type. */
START_TEST(stored)
{
  ck_assert(clarke_single_round(CLARKE_BF16, 1 + 0x1p-8) == 1 && clarke_single_round(CLARKE_BF16, 1 + 0x3p-8) == 1 + 0x1p-6);
  ck_assert(clarke_single_round(CLARKE_F16, 1 + 0x1p-10) == 1 + 0x1p-10 && clarke_single_round(CLARKE_F16, 0x1p-26) == 0);
  ck_assert(clarke_single_round(CLARKE_F32, 1 + 0x1p-24) == 1 && clarke_single_round(CLARKE_F64, 1 + 0x1p-52) == 1 + 0x1p-52);
}
END_TEST

/* 1/7 - 1/10 * 6/11 differs by a bit when it is fused: either is the program's, and the way is told. */
START_TEST(fused_or_not)
{
  const double tenth = 0.1f, g = 6 / 11.0f, product = (double)(float)(tenth * g);
  const clarke_single_state before = {.theta = 1 / 7.0f}, apart = {.theta = (double)(float)(1 / 7.0f - product)},
                            fused = {.theta = (double)fmaf(-0.1f, 6 / 11.0f, 1 / 7.0f)};
  clarke_hypers h;
  clarke_single s;

  sgd(&h, &s, CLARKE_F32, tenth, 0);
  ck_assert(apart.theta != fused.theta);
  ck_assert((clarke_single_ways(&s, ~(uint64_t)0, &before, g, &apart, nothing) & 1 << CLARKE_WAY_ADD) == 0);
  ck_assert((clarke_single_ways(&s, ~(uint64_t)0, &before, g, &fused, nothing) & 1 << CLARKE_WAY_ADD) != 0);
  ck_assert(clarke_single_ways(&s, ~(uint64_t)0, &before, g, &apart, nothing) != 0);
  clarke_hypers_clear(&h);
}
END_TEST

/* mu_1 = 0.9 (1 - 0.96^0.004 / 2): the product goes on by it, in float32; long after it has vanished. */
START_TEST(products)
{
  const double mu = 0.9 * (1 - 0.5 * pow(0.96, 0.004)), product[2] = {1, (double)(float)mu};
  const clarke_rule *r = clarke_rule_find("torch-nadam");
  clarke_number next, of_step;
  clarke_hypers h;

  clarke_hypers_init(&h);
  h.given[CLARKE_HYPER_STEP] = true;
  OK(clarke_rule_check(&h, r, &error));
  h.rounding = (clarke_step_rounding){.unit = 24, .tiny = 126, .scalar = 52};
  ck_assert(clarke_step_product_follows(product, &h, 0));
  ck_assert(!clarke_step_product_follows((const double[]){1, product[1] * (1 + 0x1p-21)}, &h, 0));
  ck_assert(!clarke_step_product_follows((const double[]){0.5, product[1]}, &h, 0));
  ck_assert(!clarke_step_product_follows((const double[]){product[1], product[1]}, &h, 1));
  ck_assert(clarke_step_product_follows((const double[]){0x1p-149, 0}, &h, 900));
  clarke_number_init(&next);
  clarke_number_init(&of_step);
  clarke_number_set_si(&next, 1);
  clarke_rule_product(&next, &of_step, &h, 0);
  ck_assert(fabs(clarke_number_double(&next) - mu) < 0x1p-20 && fabs(clarke_number_double(&of_step) - mu) < 0x1p-40);
  ck_assert(clarke_step_product_is(1, &h, 0) && clarke_step_product_is(product[1], &h, 1) && clarke_step_product_is(0, &h, (size_t)1 << 40));
  ck_assert(clarke_rule_products(&next, &h, 3000));
  mpq_set_ui(h.of[CLARKE_HYPER_T0], 5, 1); /* torch-asgd's: mu = 1 / max(1, k - t0) */
  ck_assert(clarke_step_average_is(0.5, false, &h, 7) && !clarke_step_average_is(1, false, &h, 7) && clarke_step_average_is(1, false, &h, 6));
  ck_assert(clarke_step_average_is(mpq_get_d(h.of[CLARKE_HYPER_STEP]), true, &h, 0) && !clarke_step_average_is(0x1p-30, true, &h, 0));
  ck_assert(!clarke_step_product_is(0.5, &h, 0) && !clarke_step_product_is(product[1], &h, 2) && !clarke_step_product_is(0x1p-90, &h, 3000));
  clarke_number_clear(&next);
  clarke_number_clear(&of_step);
  clarke_hypers_clear(&h);
}
END_TEST

/* Entries that are the program's, near, and wrong; without a program; a bound is never below what doubles do. */
START_TEST(judged)
{
  const double theta[2][3] = {{1, 1, 1}, {0.875, 0.875 + 0x1p-50, 0.875 + 0x1p-40}}, g[3] = {1, 1, 1};
  const clarke_step_tensor t = {.n = 3, .gradient = g, .theta = {theta[0], theta[1]}};
  clarke_step_question q = {.rule = clarke_rule_find("torch-sgd")};
  clarke_step_finding f;
  clarke_hypers h;
  clarke_single s;
  double far[1 + CLARKE_N_SLOTS];
  int slot = 0;

  sgd(&h, &s, CLARKE_F64, 0.125, 0);
  h.rounding = (clarke_step_rounding){.unit = 53, .tiny = 1022, .scalar = 52};
  q.hypers = &h;
  q.single = &s;
  OK(clarke_step_judge(&f, &q, &t, false, &error));
  ck_assert(f.bits == 1 && f.within == 1 && f.wrong == 1 && f.open == 0 && f.slot == -1 && f.entry == 2 && f.recorded == theta[1][2]);
  ck_assert(f.bound[0] >= 0x1p-50 && f.bound[0] < 0x1p-45 && f.moved[0] == 0.125 && f.by_rule != NULL);
  clarke_step_finding_clear(&f);
  OK(clarke_step_distances(far, &q, &t, &error));
  ck_assert(far[0] >= 0x1p-40 && far[0] < 0x1p-40 * (1 + 0x1p-30) && far[1] == 0 && far[2] == 0 && far[3] == 0);
  q.single = NULL;
  OK(clarke_step_judge(&f, &q, &t, true, &error));
  ck_assert(f.bits == 0 && f.within == 2 && f.wrong == 1);
  clarke_step_finding_clear(&f);
  ck_assert(!clarke_step_is_wide(&f, NULL) && !clarke_step_is_wide(&(clarke_step_finding){.bound = {1}}, NULL));
  ck_assert(clarke_step_is_wide(&(clarke_step_finding){.within = 1, .bound = {1}, .moved = {3}}, &slot) && slot == -1);
  ck_assert(clarke_step_is_wide(&(clarke_step_finding){.within = 1, .bound = {1, 0, 1}, .moved = {4, 0, 3}}, &slot) && slot == CLARKE_SLOT_M);
  q.maximize = true;
  OK(clarke_step_judge(&f, &q, &t, true, &error));
  ck_assert(f.wrong == 1 && f.within == 0 && f.entry == 0);
  clarke_step_finding_clear(&f);
  clarke_hypers_clear(&h);
}
END_TEST

/* A state that was not recorded moves from where the rule begins it: rmsprop's v from 1, inna's psi from (1 - alpha beta) theta. */
START_TEST(begun)
{
  static const struct {
    const char *rule;
    int slot;
    double after, moved;
  } cases[] = {{"rmsprop", CLARKE_SLOT_V, 1 - 0x1p-53, 0x1p-53}, {"inna", CLARKE_SLOT_PSI, -2.75, 0.25}};
  static const clarke_hyper given[] = {CLARKE_HYPER_STEP, CLARKE_HYPER_ALPHA, CLARKE_HYPER_BETA, CLARKE_HYPER_SIGMA};
  static const double as[] = {0x1p-4, 2, 2, 1 - 0x1p-50};

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double theta[2] = {1, 0.5}, g = 0.5;
    clarke_step_tensor t = {.n = 1, .gradient = &g, .theta = {theta, theta + 1}};
    clarke_step_question q = {.rule = clarke_rule_find(cases[i].rule)};
    clarke_step_finding f;
    clarke_hypers h;

    clarke_hypers_init(&h);
    for (size_t k = 0; k < 4; k++)
      if (clarke_rule_takes(q.rule, given[k])) {
        h.given[given[k]] = true;
        mpq_set_d(h.of[given[k]], as[k]);
      }
    OK(clarke_rule_check(&h, q.rule, &error));
    h.rounding = (clarke_step_rounding){.unit = 53, .tiny = 1022, .scalar = 52};
    q.hypers = &h;
    t.slot[1][cases[i].slot] = &cases[i].after;
    OK(clarke_step_judge(&f, &q, &t, false, &error));
    ck_assert_msg(f.moved[1 + cases[i].slot] == cases[i].moved, "%s: %g", cases[i].rule, f.moved[1 + cases[i].slot]);
    clarke_step_finding_clear(&f);
    clarke_hypers_clear(&h);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("judge");

  tcase_add_test(tests, takes);
  tcase_add_test(tests, ways);
  tcase_add_test(tests, narrow_types);
  tcase_add_test(tests, stored);
  tcase_add_test(tests, fused_or_not);
  tcase_add_test(tests, products);
  tcase_add_test(tests, judged);
  tcase_add_test(tests, begun);
  return run_tests();
}
