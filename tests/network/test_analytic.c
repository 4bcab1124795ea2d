/* Transcendental steps: their slopes by the mean value theorem, their bounds at drawn arguments, softmax by its definition. */
#include "../draw.h"
#include "../ok.h"

#include "network/pass/analytic.h"
#include "network/pass/softmax.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS 400
#define BITS 128

static const clarke_function functions[] = {
  CLARKE_SIGMOID, CLARKE_TANH, CLARKE_EXP, CLARKE_ERF, CLARKE_SOFTPLUS, CLARKE_NORMAL, CLARKE_NORMAL_TANH, CLARKE_ELU, CLARKE_SIN, CLARKE_COS, CLARKE_ATAN,
  CLARKE_RECIPROCAL, CLARKE_SQRT, CLARKE_LOG,
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

/* The same by the C library. */
static double
by_doubles(clarke_function function, double x)
{
  switch (function) {
  case CLARKE_SIGMOID:
    return 1 / (1 + exp(-x));
  case CLARKE_TANH:
    return tanh(x);
  case CLARKE_EXP:
    return exp(x);
  case CLARKE_ERF:
    return erf(x);
  case CLARKE_SOFTPLUS:
    return log1p(exp(x));
  case CLARKE_NORMAL:
    return erfc(-x / sqrt(2)) / 2;
  case CLARKE_NORMAL_TANH:
    return 1 / (1 + exp(-sqrt(8 / M_PI) * (x + 0.044715 * x * x * x)));
  case CLARKE_ELU:
    return x > 0 ? x : expm1(x);
  case CLARKE_SIN:
    return sin(x);
  case CLARKE_COS:
    return cos(x);
  case CLARKE_ATAN:
    return atan(x);
  case CLARKE_RECIPROCAL:
    return 1 / x;
  case CLARKE_SQRT:
    return sqrt(x);
  case CLARKE_LOG:
    return log(x);
  default: /* those that jump: test_domain.c */
    break;
  }
  return NAN;
}

/* Sixteenths about 0; of what has a domain above it. */
static double
draw_argument(clarke_function function, uint64_t *state)
{
  const double x = (double)draw_between(state, -96, 96) / 16;

  return function >= CLARKE_RECIPROCAL ? fabs(x) + 0x1p-4 : x;
}

static void
value_at(arb_t y, clarke_function function, double x)
{
  arb_set_d(y, x);
  clarke_analytic_value(y, y, function, BITS);
}

START_TEST(values)
{
  uint64_t state = 1;
  arb_t y;

  arb_init(y);
  for (size_t i = 0; i < FUNCTIONS * ROUNDS; i++) {
    const clarke_function function = functions[i % FUNCTIONS];
    const double x = draw_argument(function, &state), want = by_doubles(function, x);

    value_at(y, function, x);
    ck_assert_msg(fabs(arf_get_d(arb_midref(y), ARF_RND_NEAR) - want) <= 1e-13 * fabs(want), "function %d at %g", (int)function, x);
    ck_assert(arb_rel_accuracy_bits(y) > BITS - 20 || arb_is_zero(y));
  }
  arb_clear(y);
}
END_TEST

/* f(b) - f(a) is b - a times a slope between them: it is in the slope of the enclosure [a, b] times b - a. */
static double
middle(const arb_t y)
{
  return arf_get_d(arb_midref(y), ARF_RND_NEAR);
}

/* Values and slopes in doubles are within 2^-40 of themselves, and what rounding takes of an exponential's argument; of what has a domain there
 * are none. */
START_TEST(near_values)
{
  uint64_t state = 9;
  arb_t y, near;

  arb_init(y);
  arb_init(near);
  for (size_t i = 0; i < FUNCTIONS * ROUNDS; i++) {
    const clarke_function function = functions[i % FUNCTIONS];
    const double x = draw_argument(function, &state) * (double)draw_between(&state, 1, 5);
    double slope;
    const double of[] = {clarke_analytic_near(&slope, x, function), slope};

    if (function >= CLARKE_RECIPROCAL) {
      ck_assert(isnan(of[0]) && isnan(slope));
      continue;
    }
    for (size_t k = 0; k < 2; k++) {
      arb_set_d(y, x);
      (k == 0 ? clarke_analytic_value : clarke_analytic_slope)(y, y, function, 8 * BITS);
      arb_set_d(near, k == 0 ? of[0] : slope);
      arb_sub(near, near, y, 8 * BITS);
      ck_assert_msg(fabs(middle(near)) <= (0x1p-40 + 0x1p-48 * x * x * fmax(fabs(x), 1)) * fabs(middle(y)) + 0x1p-1000, "function %d at %g", (int)function, x);
    }
  }
  arb_clear(y);
  arb_clear(near);
}
END_TEST

START_TEST(slopes_are_mean_values)
{
  uint64_t state = 2;
  arb_t at, between, slope, step;

  arb_init(at);
  arb_init(between);
  arb_init(slope);
  arb_init(step);
  for (size_t i = 0; i < FUNCTIONS * ROUNDS; i++) {
    const clarke_function function = functions[i % FUNCTIONS];
    const double a = draw_argument(function, &state), b = a + ldexp(1, -(int)draw_between(&state, 4, 30));

    value_at(at, function, a);
    value_at(step, function, b);
    arb_sub(step, step, at, BITS);
    arb_set_d(at, a);
    arb_set_d(between, b);
    arb_union(between, between, at, BITS);
    clarke_analytic_slope(slope, between, function, BITS);
    arb_set_d(at, b - a);
    arb_mul(slope, slope, at, BITS);
    ck_assert_msg(arb_overlaps(slope, step), "function %d between %g and %g", (int)function, a, b);
    /* And it is near: the enclosure is not the whole line. */
    arb_sub(slope, slope, step, BITS);
    arb_abs(slope, slope);
    arb_set_d(step, 0x1p9 * (b - a) * fmax(b - a, 0x1p-30) * fmax(1, exp(a)));
    ck_assert_msg(!arb_gt(slope, step), "function %d between %g and %g: far off", (int)function, a, b);
  }
  arb_clear(at);
  arb_clear(between);
  arb_clear(slope);
  arb_clear(step);
}
END_TEST

/* |f'| at many points, and |f'(b) - f'(a)| over |b - a|. Slopes come near their bound, but for NORMAL_TANH's, whose bound is 1. */
START_TEST(bounds_of_derivatives)
{
  for (size_t i = 0; i < FUNCTIONS; i++) {
    const clarke_function function = functions[i];
    const double steepest = clarke_analytic_steepest(function), bend = clarke_analytic_bend(function);
    double most = 0, before = 0;
    arb_t x, y;

    if (function == CLARKE_EXP || function >= CLARKE_RECIPROCAL)
      continue;
    arb_init(x);
    arb_init(y);
    for (int k = -512; k <= 512; k++) {
      double slope;

      arb_set_d(x, k / 64.0);
      clarke_analytic_slope(y, x, function, BITS);
      slope = arf_get_d(arb_midref(y), ARF_RND_NEAR);
      ck_assert_msg(fabs(slope) <= steepest, "function %d at %g: slope %g", (int)function, k / 64.0, slope);
      ck_assert_msg(k == -512 || fabs(slope - before) <= bend / 64, "function %d at %g: bend", (int)function, k / 64.0);
      most = fmax(most, fabs(slope));
      before = slope;
    }
    ck_assert_msg(most > 0.75 * (function == CLARKE_NORMAL_TANH ? 0.4 : steepest), "function %d: %g, not nearly %g", (int)function,
                  most, steepest);
    arb_clear(x);
    arb_clear(y);
  }
}
END_TEST

/* A step over a matrix is its function of every entry. */
START_TEST(every_entry)
{
  uint64_t state = 4;
  clarke_matrix x, y;
  arb_t entry, want;

  arb_init(entry);
  arb_init(want);
  clarke_matrix_init(&x);
  clarke_matrix_init(&y);
  for (size_t i = 0; i < FUNCTIONS; i++) {
    const clarke_step s = {.kind = CLARKE_ANALYTIC, .function = functions[i]};
    double at[6];

    for (size_t e = 0; e < 6; e++)
      at[e] = draw_argument(s.function, &state);
    OK(clarke_matrix_set_doubles(&x, 3, 2, at, &error));
    OK(clarke_analytic_apply(&y, &s, &x, false, BITS, &error));
    ck_assert(y.rows == 3 && y.cols == 2);
    for (size_t e = 0; e < 6; e++) {
      clarke_matrix_get_ball(entry, &y, e / 2, e % 2, 2 * BITS);
      arb_set_d(want, at[e]);
      clarke_analytic_value(want, want, s.function, 3 * BITS);
      ck_assert_msg(arb_overlaps(entry, want), "function %d at %g", (int)s.function, at[e]);
      ck_assert(clarke_matrix_radius(&y, e / 2, e % 2) < 0x1p-100);
    }
  }
  /* 1 / x of an enclosure around 0 has no bounds: more precision may help. */
  OK(clarke_matrix_set_doubles(&x, 1, 1, (const double[]){ 0 }, &error));
  OK(clarke_matrix_need_radius(&x, &error));
  x.radius[0] = 0.5;
  ck_assert_int_eq(clarke_analytic_apply(&y, &(clarke_step){.kind = CLARKE_ANALYTIC, .function = CLARKE_RECIPROCAL}, &x, false, BITS, &error),
                   CLARKE_EVAGUE);
  arb_clear(entry);
  arb_clear(want);
  clarke_matrix_clear(&x);
  clarke_matrix_clear(&y);
}
END_TEST

/* --- softmax --- */

/* exp(x_f) over the sum of its group's, from the numbers as they were set. */
static void
define_softmax(arb_t y, const clarke_step *s, const double *x, size_t f, size_t j, size_t n)
{
  arb_t term;

  arb_init(term);
  arb_zero(y);
  for (size_t k = 0; k < s->length; k++) {
    arb_set_d(term, x[((f / (s->length * s->stride) * s->length + k) * s->stride + f % s->stride) * n + j] - x[f * n + j]);
    arb_exp(term, term, 4 * BITS);
    arb_add(y, y, term, 4 * BITS);
  }
  arb_inv(y, y, 4 * BITS);
  arb_clear(term);
}

static void
holds(const clarke_matrix *m, size_t f, size_t j, const arb_t want)
{
  arb_t entry;

  arb_init(entry);
  clarke_matrix_get_ball(entry, m, f, j, 2 * BITS);
  ck_assert_msg(arb_overlaps(entry, want), "entry %zu, %zu", f, j);
  ck_assert(clarke_matrix_radius(m, f, j) < 0x1p-90);
  arb_clear(entry);
}

/* Softmax and its logarithm; probabilities are softmax in both. */
START_TEST(softmax_by_its_definition)
{
  uint64_t state = 5;
  double at[64];
  arb_t want;

  arb_init(want);
  for (size_t round = 0; round < 200; round++) {
    clarke_operand in = {.value = 0, .coef = 1};
    clarke_step s = {.kind = CLARKE_SOFTMAX, .n_in = 1, .in = &in, .out = 1, .log = round % 2, .groups = 1 + draw_below(&state, 2),
                     .length = 1 + draw_below(&state, 4), .stride = 1 + draw_below(&state, 2)};
    const size_t rows = s.groups * s.length * s.stride, n = 1 + draw_below(&state, 2);
    clarke_matrix *value = clarke_matrices_new(2), probability;
    const clarke_forward pass = {.n = n, .precision = BITS, .value = value};

    for (size_t e = 0; e < rows * n; e++)
      at[e] = (double)draw_between(&state, -40, 40) * (draw_below(&state, 8) == 0 ? 16 : 0.25);
    clarke_matrix_init(&probability);
    OK(clarke_matrix_set_doubles(&value[0], rows, n, at, &error));
    OK(clarke_softmax_apply(&value[1], &s, &value[0], BITS, &error));
    OK(clarke_softmax_probabilities(&probability, &s, &pass, &error));
    for (size_t e = 0; e < rows * n; e++) {
      define_softmax(want, &s, at, e / n, e % n, n);
      holds(&probability, e / n, e % n, want);
      if (s.log)
        arb_log(want, want, 4 * BITS);
      holds(&value[1], e / n, e % n, want);
    }
    clarke_matrix_clear(&probability);
    clarke_matrices_free(value, 2);
  }
  arb_clear(want);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("analytic");
  int failed;

  tcase_add_test(tests, values);
  tcase_add_test(tests, near_values);
  tcase_add_test(tests, slopes_are_mean_values);
  tcase_add_test(tests, bounds_of_derivatives);
  tcase_add_test(tests, every_entry);
  tcase_add_test(tests, softmax_by_its_definition);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
