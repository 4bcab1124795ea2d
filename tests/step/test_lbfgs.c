/* torch-lbfgs in the library: its pieces hold what floats may make of them, in any order; a step asks as often as it says. Its numbers are in test_lbfgs.py. */
#include "../ok.h"

#include "step/judge_lbfgs.h"
#include "step/lbfgs.h"
#include "step/piece.h"
#include "step/wolfe.h"

#include <math.h>
#include <string.h>

#define N 37

static void
set(clarke_number *x, double d)
{
  mpq_t q;

  mpq_init(q);
  mpq_set_d(q, d);
  clarke_number_set_q(x, q);
  mpq_clear(q);
}

static bool
holds(const clarke_number *x, double d)
{
  clarke_number y;
  int sign;

  clarke_number_init(&y);
  set(&y, d);
  sign = clarke_number_compare(x, &y, 256);
  clarke_number_clear(&y);
  return sign == 0 || sign == 2;
}

static double
drawn(unsigned *seed)
{
  *seed = *seed * 1664525U + 1013904223U;
  return (double)(int)(*seed >> 8) / 0x1p23 - 1;
}

/* A product of vectors in float32, from the first entry on or from the last; far beside is what is none. */
START_TEST(products)
{
  clarke_number *x = clarke_numbers(N), *y = clarke_numbers(N), sum;
  clarke_hypers h;
  unsigned seed = 5;
  float forward = 0, backward = 0;
  double size = 0, far;

  clarke_hypers_init(&h);
  clarke_number_init(&sum);
  for (size_t i = 0; i < N; i++) {
    set(&x[i], (float)drawn(&seed));
    set(&y[i], (float)drawn(&seed));
    forward += (float)(clarke_number_double(&x[i]) * clarke_number_double(&y[i]));
    size += fabs(clarke_number_double(&x[i]) * clarke_number_double(&y[i]));
  }
  for (size_t i = N; i-- > 0;)
    backward += (float)(clarke_number_double(&x[i]) * clarke_number_double(&y[i]));
  clarke_lbfgs_dot(&sum, x, y, N, &h);
  ck_assert(sum.exact && !holds(&sum, forward));
  h.rounding = (clarke_step_rounding){.unit = 24, .tiny = 126, .scalar = 52};
  clarke_lbfgs_dot(&sum, x, y, N, &h);
  far = 2 * (N + CLARKE_ROUNDINGS) * size * 0x1p-24;
  ck_assert(holds(&sum, forward) && holds(&sum, backward) && forward != backward);
  ck_assert(!holds(&sum, forward + far) && !holds(&sum, forward - far));
  clarke_number_clear(&sum);
  clarke_numbers_free(x, N);
  clarke_numbers_free(y, N);
  clarke_hypers_clear(&h);
}
END_TEST

/* One unit of itself, and one of the smallest numbers. */
START_TEST(units)
{
  clarke_number x;

  clarke_number_init(&x);
  clarke_number_set_si(&x, 8);
  clarke_piece_off(&x, 2, 3, 0, 0);
  ck_assert(holds(&x, 10) && holds(&x, 6) && !holds(&x, 10.0625) && !holds(&x, 5.9375));
  clarke_number_set_si(&x, 0);
  clarke_piece_off(&x, 2, 3, 3, 2);
  ck_assert(holds(&x, 0.75) && holds(&x, -0.75) && !holds(&x, 0.8125));
  clarke_number_clear(&x);
}
END_TEST

START_TEST(sizes)
{
  clarke_number x[2];
  mpq_t bound;

  mpq_init(bound);
  clarke_lbfgs_least(bound);
  ck_assert(mpq_cmp_ui(bound, 1, 10000000000UL) == 0);
  mpq_set_ui(bound, 1, 1);
  clarke_number_init(&x[0]);
  clarke_number_init(&x[1]);
  set(&x[0], -1);
  ck_assert_int_eq(clarke_lbfgs_is_small(x, 2, bound), 1);
  set(&x[1], 1.125);
  ck_assert_int_eq(clarke_lbfgs_is_small(x, 2, bound), 0);
  clarke_piece_off(&x[1], 1, 2, 0, 0);
  ck_assert_int_eq(clarke_lbfgs_is_small(x, 2, bound), 2);
  set(&x[0], -1.25); /* one is certain */
  ck_assert_int_eq(clarke_lbfgs_is_small(x, 2, bound), 0);
  mpq_set_si(bound, -1, 1);
  set(&x[0], 0);
  set(&x[1], 0);
  ck_assert_int_eq(clarke_lbfgs_is_small(x, 2, bound), 0);
  clarke_number_clear(&x[0]);
  clarke_number_clear(&x[1]);
  mpq_clear(bound);
}
END_TEST

/* x^2 / 2 from 1, whose gradient is x; without losses. */
typedef struct {
  clarke_lbfgs *l;
  size_t asked;
  clarke_number loss;
  bool tells;
} asked_of;

static clarke_status
at_theta(void *of, const clarke_number **g, const clarke_number **loss, clarke_error *err)
{
  asked_of *a = of;

  (void)err;
  *g = a->l->theta;
  *loss = a->tells ? &a->loss : NULL;
  a->asked++;
  return CLARKE_OK;
}

START_TEST(a_step)
{
  clarke_lbfgs l;
  clarke_lbfgs_pairs pairs;
  clarke_lbfgs_end end;
  clarke_hypers h;
  asked_of a = {.l = &l};
  clarke_number one;
  size_t n;

  clarke_hypers_init(&h);
  h.given[CLARKE_HYPER_STEP] = h.given[CLARKE_HYPER_TOLERANCE_CHANGE] = true;
  mpq_set_ui(h.of[CLARKE_HYPER_STEP], 1, 2);
  OK(clarke_rule_check(&h, &clarke_lbfgs_rule, &error));
  ck_assert_uint_eq(mpz_get_ui(mpq_numref(h.of[CLARKE_HYPER_MAX_EVAL])), 25);
  OK(clarke_lbfgs_init(&l, 1, &error));
  clarke_number_init(&one);
  clarke_number_init(&a.loss);
  clarke_number_set_si(&one, 1);
  clarke_number_set(&l.theta[0], &one);
  OK(clarke_lbfgs_step(&l, &end, &n, at_theta, &a, &h, &error)); /* halved, each time: by 2^-24 it is small enough */
  ck_assert(end == CLARKE_LBFGS_ITERATIONS && n == 20 && a.asked == 20 && l.iterations == 20 && l.n_pairs > 1);
  ck_assert(clarke_number_double(&l.theta[0]) == 0x1p-20);
  OK(clarke_lbfgs_step(&l, &end, &n, at_theta, &a, &h, &error));
  ck_assert(end == CLARKE_LBFGS_GRADIENT && n == 5 && clarke_number_double(&l.theta[0]) == 0x1p-24);
  ck_assert_str_eq(clarke_lbfgs_end_says(end), "tolerance-grad");
  OK(clarke_lbfgs_step(&l, &end, &n, at_theta, &a, &h, &error));
  ck_assert(end == CLARKE_LBFGS_REST && n == 1 && l.iterations == 24);
  clarke_number_set(&l.theta[0], &one);
  mpq_set_ui(h.of[CLARKE_HYPER_TOLERANCE_CHANGE], 1, 1000);
  ck_assert(clarke_lbfgs_step(&l, &end, &n, at_theta, &a, &h, &error) == CLARKE_EINPUT && strstr(error.text, "'loss'") != NULL);
  clarke_number_set(&l.theta[0], &one);
  a.tells = true; /* always the same one */
  OK(clarke_lbfgs_step(&l, &end, &n, at_theta, &a, &h, &error));
  ck_assert(end == CLARKE_LBFGS_LOSS && n == 2);
  while (l.n_pairs > 0)
    clarke_lbfgs_drop(&l);
  ck_assert_ptr_nonnull(clarke_lbfgs_append(&l));
  pairs = clarke_lbfgs_pairs_of(&l);
  ck_assert(pairs.n == 1 && pairs.n_pairs == 1 && pairs.pair(pairs.of, 0) == &l.pair[0]);
  OK(clarke_lbfgs_direct(l.d, &pairs, &one, &h, &error)); /* a pair of zeros changes nothing but H */
  ck_assert(clarke_number_sign(&l.d[0]) == -1);
  clarke_number_clear(&one);
  clarke_number_clear(&a.loss);
  clarke_lbfgs_clear(&l);
  clarke_hypers_clear(&h);
}
END_TEST

/* One iteration from the start, by hand: d = -g, theta + d; and each number moved. */
START_TEST(a_record)
{
  double theta[2] = {1, 2}, g[2] = {0.5, -0.25}, d[2] = {-0.5, 0.25}, after[2] = {0.5, 2.25};
  clarke_lbfgs_evaluated e = {.theta = theta, .gradient = g, .loss = 1};
  clarke_hypers h;
  clarke_lbfgs_question q = {.n = 2, .n_evaluations = 1, .evaluation = &e, .dtype = CLARKE_F64, .hypers = &h,
                             .at = {{.theta = theta}, {.iterations = 1, .evaluations = 1, .theta = after, .d = d, .previous = g, .t = 1, .scale = 1}}};
  static const clarke_lbfgs_part parts[] = {CLARKE_LBFGS_THETA, CLARKE_LBFGS_D, CLARKE_LBFGS_PREVIOUS};
  double *const moved[] = {after, d, g}; /* of a moved gradient d is wrong */
  clarke_lbfgs_finding f;

  clarke_hypers_init(&h);
  h.given[CLARKE_HYPER_STEP] = h.given[CLARKE_HYPER_MAX_ITER] = true;
  mpq_set_ui(h.of[CLARKE_HYPER_STEP], 1, 1);
  mpq_set_ui(h.of[CLARKE_HYPER_MAX_ITER], 1, 1);
  OK(clarke_rule_check(&h, &clarke_lbfgs_rule, &error));
  h.rounding = (clarke_step_rounding){.unit = 53, .tiny = 1022, .scalar = 52};
  OK(clarke_lbfgs_judge(&f, &q, &error));
  ck_assert_msg(f.is == CLARKE_LBFGS_GOOD && f.within == 0 && f.bits == 4, "%s", f.why);
  clarke_lbfgs_finding_clear(&f);
  for (size_t i = 0; i < 3; i++) {
    moved[i][1] += 0.5;
    OK(clarke_lbfgs_judge(&f, &q, &error));
    ck_assert(f.is == CLARKE_LBFGS_BAD && f.located && f.entry == 1 && f.part == (i == 2 ? CLARKE_LBFGS_D : parts[i]));
    moved[i][1] -= 0.5;
    clarke_lbfgs_finding_clear(&f);
  }
  q.at[1].iterations = 2;
  OK(clarke_lbfgs_judge(&f, &q, &error));
  ck_assert(f.is == CLARKE_LBFGS_BAD && strstr(f.why, "'n_iter'") != NULL);
  clarke_lbfgs_finding_clear(&f);
  ck_assert_str_eq(clarke_lbfgs_part_name(CLARKE_LBFGS_PREVIOUS), "prev_flat_grad");
  clarke_hypers_clear(&h);
}
END_TEST

/* The loss (t - 1)^2 and its slope. */
typedef struct {
  clarke_number g, loss;
  int asked;
} parabola;

static clarke_status
evaluate_parabola(void *of, const clarke_number *t, const clarke_number **g, const clarke_number **loss, clarke_error *err)
{
  parabola *p = of;
  clarke_number one;

  (void)err;
  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  clarke_number_sub(&p->g, t, &one, 64);
  clarke_number_mul(&p->loss, &p->g, &p->g, 64);
  clarke_number_add(&p->g, &p->g, &p->g, 64);
  clarke_number_clear(&one);
  p->asked++;
  *g = &p->g;
  *loss = &p->loss;
  return CLARKE_OK;
}

static void
slope_of_parabola(void *of, clarke_number *slope, const clarke_number *g)
{
  (void)of;
  clarke_number_set(slope, g);
}

/* From 0, where the loss is 1 and the slope -2, by 4, is too far; the cubic's lowest point is that of the parabola. With no more evaluations 0 is best. */
START_TEST(a_search)
{
  for (size_t most = 0; most < 2; most++) {
    parabola p = {.asked = 0};
    clarke_number d, t;
    clarke_wolfe_point found;
    const clarke_wolfe_search s = {.n = 1, .most = most, .d = &d, .evaluate = evaluate_parabola, .slope = slope_of_parabola, .of = &p};

    clarke_number_init(&p.g);
    clarke_number_init(&p.loss);
    clarke_number_init(&d);
    clarke_number_init(&t);
    clarke_number_set_si(&d, 1);
    clarke_number_set_si(&t, 4);
    OK(clarke_wolfe_point_init(&found, 1, &error));
    clarke_number_set_si(&found.loss, 1);
    clarke_number_set_si(&found.slope, -2);
    clarke_number_set_si(&found.g[0], -2);
    OK(clarke_wolfe_find(&found, &t, &s, &error));
    ck_assert(found.t.exact && mpq_cmp_ui(found.t.q, most, 1) == 0 && mpq_cmp_ui(found.loss.q, 1 - most, 1) == 0);
    ck_assert_int_eq(p.asked, (int)most + 1);
    clarke_wolfe_point_clear(&found, 1);
    clarke_number_clear(&p.g);
    clarke_number_clear(&p.loss);
    clarke_number_clear(&d);
    clarke_number_clear(&t);
  }
}
END_TEST

/* A short rational stays; one of too many bits is enclosed. */
START_TEST(short_ones)
{
  clarke_number x;
  mpq_t q;

  mpq_init(q);
  clarke_number_init(&x);
  mpq_set_si(q, 1, 3);
  clarke_number_set_q(&x, q);
  clarke_piece_shorten(&x);
  ck_assert(x.exact && mpq_equal(x.q, q));
  mpq_div_2exp(q, q, 1 << 20);
  clarke_number_set_q(&x, q);
  clarke_piece_shorten(&x);
  ck_assert(!x.exact);
  mpq_clear(q);
  clarke_number_clear(&x);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("lbfgs");

  tcase_add_test(tests, products);
  tcase_add_test(tests, units);
  tcase_add_test(tests, sizes);
  tcase_add_test(tests, a_step);
  tcase_add_test(tests, a_record);
  tcase_add_test(tests, a_search);
  tcase_add_test(tests, short_ones);
  return run_tests();
}
