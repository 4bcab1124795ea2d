/* The model of rounding: what it allows of sums in float32, added in several orders, and where it says nothing. */
#include "../suite.h"

#include "trace/bound/rounding.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define MOST 4096

static uint64_t state;

static double
drawn(void) /* in [-1, 1] */
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)state * 0x1p-63;
}

START_TEST(types)
{
  clarke_rounding r = {0};

  ck_assert(!clarke_rounding_add_type(&r, "float8"));
  ck_assert(clarke_rounding_add_type(&r, "float32"));
  ck_assert(r.unit == 0x1p-24 && r.tiny == FLT_MIN && r.largest == (double)FLT_MAX && !r.casts);
  ck_assert(clarke_rounding_add_type(&r, "float32") && !r.casts);
  ck_assert(clarke_rounding_add_type(&r, "bfloat16"));
  ck_assert(r.unit == 0x1p-8 && r.casts && r.largest == 0x1.fep127);
  ck_assert(clarke_rounding_add_type(&r, "float16"));
  ck_assert(r.unit == 0x1p-8 && r.largest == 65504 && r.tiny == 0x1p-24);
  r = (clarke_rounding){0};
  ck_assert(clarke_rounding_add_type(&r, "float64") && r.unit == 0x1p-53 && r.largest == DBL_MAX);
}
END_TEST

START_TEST(nothing_is_said)
{
  clarke_rounding r = {0};

  clarke_rounding_add_type(&r, "bfloat16");
  /* what underflows is off by itself at most: nothing, where all terms are 0 */
  ck_assert(clarke_roundoff_by(&r, 100, clarke_roundoff_sum(0, 1000000)) < 0x1p-950); /* a sum of nothing is nothing to it, */
  {
    const double nothing = clarke_roundoff_lift(&r, clarke_roundoff_sum(0, 1)); /* and no subnormal, but beside float64 alone */
    clarke_rounding wide = {0};

    clarke_rounding_add_type(&wide, "float64");
    ck_assert(nothing * 0x1p-20 >= DBL_MIN && nothing < 0x1p-990);
    ck_assert(clarke_roundoff_lift(&wide, clarke_roundoff_sum(0, 1)) < 0x1p-1040);
    ck_assert(clarke_roundoff_lift(&r, 0) == 0 && clarke_roundoff_lift(&r, 0x1p-999) == 0x1p-999);
  }
  ck_assert(clarke_roundoff_by(&r, 100, 0) < 0x1p-990 && clarke_roundoff_by(&r, 100, 0x1p-200) < 0x1p-190);
  ck_assert(clarke_roundoff_by(&r, 100, 1) - clarke_roundoff_by(&r, 100, 1 - 0x1p-40) >= 0);
  {
    clarke_rounding narrow = r;

    static const char *const op[] = {"Conv", "ConvTranspose", "MatMul", "Gemm", "Einsum", "GRU", "LSTM", "RNN", "ReduceMean", "GlobalAveragePool",
                                     "Mul", "ConvInteger", "Resize"};

    narrow.conv = 0x1p-8; /* both factors of a product are rounded, to a number 1 + f of the exact one */
    narrow.matmul = 0x1p-11;
    ck_assert(clarke_roundoff_by(&narrow, 2, 1) == clarke_roundoff_by(&r, 2, 1)); /* of no other sum */
    for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
      const clarke_step step = {.kind = CLARKE_DENSE, .op = &(const clarke_op){.name = op[i]}};
      const double f = i < 2 ? 0x1p-8 : i < 8 ? 0x1p-11 : 0, took = clarke_roundoff_narrow(&narrow, &step);

      ck_assert(clarke_roundoff_convolves(op[i]) == (i < 2) && clarke_roundoff_contracts(op[i]) == (i >= 2 && i < 8));
      ck_assert(took >= (1 + f) * (1 + f) - 1 && took <= 2.01 * f && clarke_roundoff_narrow(&r, &step) == 0);
    }
  }
  ck_assert(isfinite(clarke_roundoff_by(&r, 100, 1)));
  ck_assert(isinf(clarke_roundoff_by(&r, 128, 1)));
  ck_assert(clarke_roundoff_by(&r, 128, 0) < 0x1p-990 && clarke_roundoff_by(&r, 128, 0x1p-901) < 0x1p-890); /* rounded to zeros */
  ck_assert(isinf(clarke_roundoff_by(&r, 128, 0x1p-900)));
  ck_assert(clarke_roundoff_times(0, INFINITY) == 0 && clarke_roundoff_times(INFINITY, 0) == 0 && isinf(clarke_roundoff_times(1, INFINITY)));
  ck_assert(clarke_roundoff_times(0x1p-600, 0x1p-600) > 0 && clarke_roundoff_times(2, 3) == 6);
  ck_assert(isinf(clarke_roundoff_by(&r, 2, 0x1.ffp127)));
  ck_assert(isinf(clarke_roundoff_by(&r, 2, NAN)) && isinf(clarke_roundoff_by(&r, 2, INFINITY)));
}
END_TEST

static float
forwards(const float *a, const float *b, size_t n)
{
  volatile float sum = 0;

  for (size_t i = 0; i < n; i++) {
    const volatile float p = a[i] * b[i];

    sum += p;
  }
  return sum;
}

static float
fused_backwards(const float *a, const float *b, size_t n)
{
  volatile float sum = 0;

  for (size_t i = n; i-- > 0;)
    sum = fmaf(a[i], b[i], sum);
  return sum;
}

static float
in_halves(const float *a, const float *b, size_t n)
{
  volatile float sum;

  if (n == 1)
    return a[0] * b[0];
  sum = in_halves(a, b, n / 2);
  sum += in_halves(a + n / 2, b + n / 2, n - n / 2);
  return sum;
}

/* Products of floats are exact in double; their sum in long double is off by far less than what is compared. */
START_TEST(products_in_any_order)
{
  static float a[MOST], b[MOST];
  double worst = 0;
  clarke_rounding r = {0};

  clarke_rounding_add_type(&r, "float32");
  for (size_t k = 0; k < 300; k++) {
    const size_t n = 1 + (size_t)(fabs(drawn()) * (MOST - 1));
    const int scale = (int)(drawn() * 60), cancels = drawn() > 0;
    long double exact = 0;
    double mass = 0;

    for (size_t i = 0; i < n; i++) {
      a[i] = cancels && i % 2 == 1 ? a[i - 1] : (float)ldexp(drawn(), scale);
      b[i] = cancels && i % 2 == 1 ? -b[i - 1] * (1 + 0x1p-20f) : (float)drawn();
      exact += (long double)((double)a[i] * (double)b[i]);
      mass += fabs((double)a[i] * (double)b[i]);
    }
    const double bound = clarke_roundoff_by(&r, (double)n, clarke_roundoff_sum(mass, n));
    const float sum[] = {forwards(a, b, n), fused_backwards(a, b, n), in_halves(a, b, n)};

    for (size_t i = 0; i < 3; i++) {
      const double error = (double)fabsl((long double)sum[i] - exact);

      ck_assert_msg(error <= bound, "%zu products in order %zu: %g, bound %g", n, i, error, bound);
      worst = fmax(worst, error / bound);
    }
  }
  ck_assert(worst > 1e-4); /* the bound is no mere infinity */
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("rounding");

  tcase_add_test(tests, types);
  tcase_add_test(tests, nothing_is_said);
  tcase_add_test(tests, products_in_any_order);
  return run_tests();
}
