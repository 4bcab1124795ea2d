/* The replay in floating point: rounding against integers, operations against the machine's own,
 * random programs against a second evaluator in the machine's float and double, and the tables of
 * the thesis whose numbers are rounding errors. */
#include "../draw.h"
#include "../ok.h"

#include "program/ieee.h"
#include "program/rounded.h"

#include <flint/fmpq.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 20000

static uint64_t state;

static size_t
below(size_t n)
{
  return (size_t)(draw(&state) % n);
}

/* --- rounding, from the definition ----------------------------------------------------------- */

static const struct {
  clarke_ieee format;
  int precision, smallest, largest; /* exponents of the least bit of all, of the greatest number */
} shapes[] = {
  {CLARKE_IEEE_F16, 11, -24, 16},
  {CLARKE_IEEE_BF16, 8, -133, 128},
  {CLARKE_IEEE_F32, 24, -149, 128},
  {CLARKE_IEEE_F64, 53, -1074, 1024},
};

static void
scale(mpq_t q, int exponent)
{
  if (exponent >= 0)
    mpq_mul_2exp(q, q, (mp_bitcnt_t)exponent);
  else
    mpq_div_2exp(q, q, (mp_bitcnt_t)-exponent);
}

/* The integer nearest to q, of two the even one. */
static void
nearest(mpz_t n, const mpq_t q)
{
  mpz_t twice, rest;

  mpz_inits(twice, rest, NULL);
  mpz_mul_2exp(twice, mpq_numref(q), 1);
  mpz_add(twice, twice, mpq_denref(q));
  mpz_mul_2exp(rest, mpq_denref(q), 1);
  mpz_fdiv_qr(n, twice, twice, rest);
  if (mpz_sgn(twice) == 0 && mpz_odd_p(n))
    mpz_sub_ui(n, n, 1);
  mpz_clears(twice, rest, NULL);
}

/* Rounds by the definition: units of the last place are 2^e with e the larger of the smallest
 * exponent and (exponent of q) - precision + 1. False past the greatest number. */
static bool
naive_round(mpq_t rounded, const mpq_t q, size_t shape)
{
  int e = shapes[shape].smallest;
  mpq_t scaled;
  mpz_t n;
  bool fits;

  mpq_init(scaled);
  mpz_init(n);
  for (;; e++) {
    mpq_set(scaled, q);
    scale(scaled, -e);
    mpq_abs(scaled, scaled);
    mpz_tdiv_q(n, mpq_numref(scaled), mpq_denref(scaled));
    if (mpz_sizeinbase(n, 2) <= (size_t)shapes[shape].precision)
      break;
    if (mpz_sizeinbase(n, 2) > (size_t)shapes[shape].precision + 1)
      e += (int)mpz_sizeinbase(n, 2) - shapes[shape].precision - 2;
  }
  mpq_set(scaled, q);
  scale(scaled, -e);
  nearest(n, scaled);
  mpq_set_z(rounded, n);
  scale(rounded, e);
  mpq_set_si(scaled, 1, 1);
  scale(scaled, shapes[shape].largest);
  mpq_abs(scaled, scaled);
  fits = mpq_cmp(rounded, scaled) < 0;
  mpq_neg(scaled, scaled);
  fits = fits && mpq_cmp(rounded, scaled) > 0;
  mpq_clear(scaled);
  mpz_clear(n);
  return fits;
}

static bool
ieee_round(mpq_t rounded, const mpq_t value, clarke_ieee format)
{
  clarke_ieee_unit u;
  double d;

  clarke_ieee_begin(&u, format);
  d = clarke_ieee_rational(&u, value);
  clarke_ieee_end(&u);
  if (isinf(d))
    return false;
  mpq_set_d(rounded, d);
  return true;
}

static void
check_round(const mpq_t q, size_t shape)
{
  mpq_t got, expected;
  bool fits;

  mpq_inits(got, expected, NULL);
  fits = naive_round(expected, q, shape);
  ck_assert_int_eq(fits, ieee_round(got, q, shapes[shape].format));
  if (fits)
    ck_assert_msg(mpq_equal(got, expected), "%s: %.17g, expected %.17g",
                  clarke_ieee_name(shapes[shape].format), mpq_get_d(got), mpq_get_d(expected));
  mpq_clears(got, expected, NULL);
}

/* Numbers of all sizes: near powers of two, half way between two numbers, next to that. */
static void
draw_rational(mpq_t q, size_t shape)
{
  int bits = shapes[shape].precision + 2, low = shapes[shape].smallest - 3;
  int range = shapes[shape].largest - low + 2;

  mpq_set_ui(q, draw(&state) & ((UINT64_C(1) << bits) - 1), 1);
  if (below(4) == 0) {
    mpq_t tiny;

    mpq_init(tiny);
    mpq_set_ui(tiny, 1, 1 + below(1000));
    mpq_canonicalize(tiny);
    scale(tiny, -(int)below(200));
    mpq_add(q, q, tiny);
    mpq_clear(tiny);
  }
  scale(q, low + (int)below((size_t)range) - (below(2) ? bits : 0));
  if (below(2))
    mpq_neg(q, q);
}

START_TEST(rounds_as_defined)
{
  mpq_t q;

  mpq_init(q);
  for (size_t shape = 0; shape < 4; shape++)
    for (size_t k = 0; k < ROUNDS; k++) {
      draw_rational(q, shape);
      check_round(q, shape);
    }
  mpq_clear(q);
}
END_TEST

/* All of float16, and what lies half way between neighbours. */
START_TEST(rounds_all_halves)
{
  mpq_t q, step;

  mpq_inits(q, step, NULL);
  for (int e = -25; e <= 6; e++) {
    mpq_set_si(step, 1, 1);
    scale(step, e);
    for (unsigned long n = 0; n <= 2049; n++) {
      mpq_set_ui(q, n, 1);
      scale(q, e);
      check_round(q, 0);
    }
  }
  mpq_clears(q, step, NULL);
}
END_TEST

START_TEST(knows_the_names)
{
  clarke_ieee format;

  for (size_t shape = 0; shape < 4; shape++) {
    OK(clarke_ieee_parse(&format, clarke_ieee_name(shapes[shape].format), &error));
    ck_assert_int_eq(format, shapes[shape].format);
  }
  ck_assert_int_eq(clarke_ieee_parse(&format, "float8", &error), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "bfloat16"));
}
END_TEST

/* --- operations ------------------------------------------------------------------------------ */

static double
drawn_double(void)
{
  uint64_t bits = draw(&state);
  double d;

  if (below(2)) /* of common size, so that sums and products meet */
    return ldexp((double)(int64_t)bits, -62 - (int)below(8));
  memcpy(&d, &bits, sizeof d);
  return d;
}

static float
drawn_float(void)
{
  uint32_t bits = (uint32_t)draw(&state);
  float f;

  if (below(2))
    return ldexpf((float)(int32_t)bits, -30 - (int)below(8));
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Equal, the sign of a zero included, or both NaN. */
static bool
same(double a, double b)
{
  return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

#define SAME(a, b) \
  ck_assert_msg(same(a, b), "%s is %a, %s is %a", #a, (double)(a), #b, (double)(b))

START_TEST(operates_as_the_machine)
{
  clarke_ieee_unit u;

  clarke_ieee_begin(&u, CLARKE_IEEE_F64);
  for (size_t k = 0; k < ROUNDS; k++) {
    double a = drawn_double(), b = drawn_double();

    SAME(clarke_ieee_add(&u, a, b), a + b);
    SAME(clarke_ieee_mul(&u, a, b), a * b);
    SAME(clarke_ieee_div(&u, a, b), a / b);
    SAME(clarke_ieee_analytic(&u, CLARKE_FN_SQRT, a), sqrt(a));
    SAME(clarke_ieee_one_minus_square(&u, a), fma(-a, a, 1));
  }
  clarke_ieee_end(&u);
  clarke_ieee_begin(&u, CLARKE_IEEE_F32);
  for (size_t k = 0; k < ROUNDS; k++) {
    float a = drawn_float(), b = drawn_float();

    SAME(clarke_ieee_add(&u, (double)a, (double)b), (double)(a + b));
    SAME(clarke_ieee_mul(&u, (double)a, (double)b), (double)(a * b));
    SAME(clarke_ieee_div(&u, (double)a, (double)b), (double)(a / b));
    SAME(clarke_ieee_analytic(&u, CLARKE_FN_SQRT, (double)a), (double)sqrtf(a));
    SAME(clarke_ieee_one_minus_square(&u, (double)a), (double)fmaf(-a, a, 1));
  }
  clarke_ieee_end(&u);
}
END_TEST

/* What an operation makes of a and b is its exact result, rounded by the definition. */
static void
check_operation(double found, const mpq_t exact, size_t shape, const char *operation)
{
  mpq_t rounded;

  mpq_init(rounded);
  if (naive_round(rounded, exact, shape))
    ck_assert_msg(found == mpq_get_d(rounded), "%s, %s: %a, not %a", clarke_ieee_name(shapes[shape].format), operation, found,
                  mpq_get_d(rounded));
  else
    ck_assert_msg(isinf(found) && (found > 0) == (mpq_sgn(exact) > 0), "%s, %s: %a", clarke_ieee_name(shapes[shape].format), operation,
                  found);
  mpq_clear(rounded);
}

START_TEST(operates_by_the_definition)
{
  mpq_t a, b, q;

  mpq_inits(a, b, q, NULL);
  for (size_t k = 0; k < 2 * ROUNDS; k++) {
    size_t shape = k % 4;
    clarke_ieee_unit u;

    draw_rational(q, shape);
    if (!naive_round(a, q, shape))
      continue;
    draw_rational(q, shape);
    if (!naive_round(b, q, shape))
      continue;
    clarke_ieee_begin(&u, shapes[shape].format);
    mpq_add(q, a, b);
    check_operation(clarke_ieee_add(&u, mpq_get_d(a), mpq_get_d(b)), q, shape, "+");
    mpq_mul(q, a, b);
    check_operation(clarke_ieee_mul(&u, mpq_get_d(a), mpq_get_d(b)), q, shape, "*");
    if (shape < 3) /* exact as a double */
      check_operation(clarke_ieee_round(&u, mpq_get_d(a) * mpq_get_d(b)), q, shape, "rounding");
    if (shape < 2)
      SAME(clarke_ieee_halve(&u, mpq_get_d(a) * mpq_get_d(b)), clarke_ieee_mul(&u, mpq_get_d(a), mpq_get_d(b)));
    if (mpq_sgn(b) != 0) {
      mpq_div(q, a, b);
      check_operation(clarke_ieee_div(&u, mpq_get_d(a), mpq_get_d(b)), q, shape, "/");
    }
    clarke_ieee_end(&u);
  }
  mpq_clears(a, b, q, NULL);
}
END_TEST

/* f(x) to 400 bits with Arb, rounded by the definition. */
static bool
naive_analytic(mpq_t rounded, clarke_analytic f, double x, size_t shape)
{
  clarke_number in, out;
  fmpq_t middle;
  mpq_t q;
  bool fits;

  clarke_number_init(&in);
  clarke_number_init(&out);
  fmpq_init(middle);
  mpq_init(q);
  mpq_set_d(in.q, x);
  ck_assert(clarke_number_analytic(&out, NULL, f, &in, 400));
  if (out.exact)
    mpq_set(q, out.q);
  else {
    arf_get_fmpq(middle, arb_midref(out.b));
    fmpq_get_mpq(q, middle);
  }
  fits = naive_round(rounded, q, shape);
  mpq_clear(q);
  fmpq_clear(middle);
  clarke_number_clear(&in);
  clarke_number_clear(&out);
  return fits;
}

START_TEST(rounds_functions_correctly)
{
  static const clarke_analytic functions[] = {CLARKE_FN_EXP, CLARKE_FN_LOG, CLARKE_FN_SQRT,
                                              CLARKE_FN_SIN, CLARKE_FN_COS, CLARKE_FN_TANH,
                                              CLARKE_FN_SIGMOID, CLARKE_FN_ERF, CLARKE_FN_ATAN};
  mpq_t expected;

  mpq_init(expected);
  for (size_t k = 0; k < 6000; k++) {
    size_t shape = k % 4;
    clarke_analytic f = functions[k / 4 % 9];
    double x = ldexp((double)(int64_t)draw(&state), -63 + (int)below(12)), y;
    clarke_ieee_unit u;

    x = f == CLARKE_FN_LOG || f == CLARKE_FN_SQRT ? fabs(x) : x;
    clarke_ieee_begin(&u, shapes[shape].format);
    y = clarke_ieee_analytic(&u, f, x);
    if (naive_analytic(expected, f, x, shape))
      ck_assert_msg(y == mpq_get_d(expected), "%s, function %d of %a: %a, expected %a",
                    clarke_ieee_name(shapes[shape].format), (int)f, x, y, mpq_get_d(expected));
    else
      ck_assert(isinf(y));
    clarke_ieee_end(&u);
  }
  mpq_clear(expected);
}
END_TEST

START_TEST(functions_at_the_ends)
{
  clarke_ieee_unit u;

  clarke_ieee_begin(&u, CLARKE_IEEE_F32);
  ck_assert(clarke_ieee_analytic(&u, CLARKE_FN_SIGMOID, INFINITY) == 1);
  ck_assert(clarke_ieee_analytic(&u, CLARKE_FN_SIGMOID, -INFINITY) == 0);
  ck_assert(clarke_ieee_analytic(&u, CLARKE_FN_SIGMOID, 1e300) == 1);
  ck_assert(clarke_ieee_analytic(&u, CLARKE_FN_SIGMOID, -1e300) == 0);
  ck_assert(clarke_ieee_analytic(&u, CLARKE_FN_SIGMOID, 0) == 0.5);
  ck_assert(isnan(clarke_ieee_analytic(&u, CLARKE_FN_SIGMOID, NAN)));
  ck_assert(clarke_ieee_analytic(&u, CLARKE_FN_EXP, 89) == INFINITY);
  ck_assert(clarke_ieee_analytic(&u, CLARKE_FN_EXP, -103) == 0x1p-149);
  ck_assert(clarke_ieee_analytic(&u, CLARKE_FN_EXP, -104) == 0);
  ck_assert(clarke_ieee_analytic(&u, CLARKE_FN_LOG, 0) == -INFINITY);
  ck_assert(isnan(clarke_ieee_analytic(&u, CLARKE_FN_LOG, -1)));
  ck_assert(isnan(clarke_ieee_analytic(&u, CLARKE_FN_SQRT, -1)));
  clarke_ieee_end(&u);
}
END_TEST

/* The thread's exponent range and flags are as they were. */
START_TEST(leaves_mpfr_as_it_was)
{
  mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpq_t q;

  mpq_init(q);
  mpfr_clear_flags();
  mpq_set_str(q, "1/3", 10);
  ck_assert(ieee_round(q, q, CLARKE_IEEE_F16));
  ck_assert_int_eq(mpfr_get_emin(), emin);
  ck_assert_int_eq(mpfr_get_emax(), emax);
  ck_assert(!mpfr_inexflag_p());
  mpfr_set_emin(-10);
  mpfr_set_emax(10);
  mpq_set_d(q, 0x1p100);
  ck_assert(ieee_round(q, q, CLARKE_IEEE_F32));
  ck_assert(mpq_get_d(q) == 0x1p100);
  ck_assert_int_eq(mpfr_get_emin(), -10);
  ck_assert_int_eq(mpfr_get_emax(), 10);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  mpq_clear(q);
}
END_TEST

/* --- programs -------------------------------------------------------------------------------- */

static clarke_code program;
static clarke_profile profile;
static clarke_rounded rounded;

static void
begin_program(void)
{
  clarke_code_init(&program);
  program.file = strdup("test");
  clarke_profile_init(&profile);
  clarke_rounded_init(&rounded);
  OK(clarke_profile_load(&profile, "pytorch-2.13", &error));
}

static void
end_program(void)
{
  clarke_rounded_clear(&rounded);
  clarke_profile_clear(&profile);
  clarke_code_clear(&program);
}

static size_t
add_input(size_t n)
{
  size_t at;

  clarke_code_new_group(&program);
  OK(clarke_code_add_input(&program, &at, program.n_inputs == 0 ? "x" : "y", n, true, &error));
  return at;
}

/* c[0] in[0] + ... + c[n]; c are texts. In the current group. */
static size_t
add_linear(size_t n, const size_t *in, const char *const *c)
{
  mpq_t *coef = malloc((n + 1) * sizeof *coef);
  size_t at;

  for (size_t k = 0; k <= n; k++) {
    mpq_init(coef[k]);
    mpq_set_str(coef[k], c[k], 10);
    mpq_canonicalize(coef[k]);
  }
  OK(clarke_code_add_linear(&program, &at, n, in, coef, &error));
  for (size_t k = 0; k <= n; k++)
    mpq_clear(coef[k]);
  free(coef);
  return at;
}

static size_t
add_two(size_t a, const char *ca, size_t b, const char *cb)
{
  clarke_code_new_group(&program);
  return add_linear(2, (size_t[]){a, b}, (const char *[]){ca, cb, "0"});
}

static size_t
add_kind(clarke_do kind, size_t n, const size_t *in)
{
  size_t at;

  clarke_code_new_group(&program);
  OK(clarke_code_add(&program, &at, kind, n, in, &error));
  return at;
}

static size_t
add_order(size_t rank, size_t n, const size_t *in, clarke_tie tie, const char *beta)
{
  clarke_instruction *i;
  size_t at;

  clarke_code_new_group(&program);
  OK(clarke_code_add_order(&program, &at, clarke_operator_find("Max"), rank, n, in, &error));
  i = &program.instruction[at];
  i->proxy.given = beta != NULL;
  i->proxy.tie = tie;
  if (beta != NULL)
    mpq_set_str(i->proxy.value, beta, 10);
  return at;
}

/* A pointwise operator; proxy NULL: the profile's. */
static size_t
add_pointwise(const char *op, size_t in, size_t n, const char *const *constant, const char *proxy)
{
  clarke_instruction *i;
  mpq_t c[2];
  size_t at;

  clarke_code_new_group(&program);
  mpq_inits(c[0], c[1], NULL);
  for (size_t k = 0; k < n; k++)
    mpq_set_str(c[k], constant[k], 10);
  OK(clarke_code_add_pointwise(&program, &at, clarke_operator_find(op), in, n, c, &error));
  mpq_clears(c[0], c[1], NULL);
  i = &program.instruction[at];
  i->proxy.given = proxy != NULL;
  i->proxy.kind = CLARKE_PROXY_VALUE;
  if (proxy != NULL)
    mpq_set_str(i->proxy.value, proxy, 10);
  return at;
}

static void
add_output(size_t at)
{
  OK(clarke_code_add_output(&program, at, &error));
}

static void
run_program(const double *at, clarke_ieee format)
{
  size_t n = clarke_code_entries(&program);
  mpq_t *q = malloc((n + 1) * sizeof *q);

  for (size_t k = 0; k < n; k++) {
    mpq_init(q[k]);
    mpq_set_d(q[k], at[k]);
  }
  OK(clarke_code_wrt(&program, NULL, 0, &error));
  OK(clarke_rounded_run(&rounded, &program, q, format, &profile, &error));
  for (size_t k = 0; k < n; k++)
    mpq_clear(q[k]);
  free(q);
}

/* --- the thesis's tables --------------------------------------------------------------------- */

static const double table_t[7] = {-1e-3, -1e-2, -1e-1, 0, 10, 1e2, 1e3};

/* z = t x, one operation. */
static void
add_multiples(size_t z[4], size_t t, const char *const x[4])
{
  clarke_code_new_group(&program);
  for (size_t k = 0; k < 4; k++)
    z[k] = add_linear(1, &t, (const char *[]){x[k], "0"});
}

/* The gradient at each t of the table; exact: that of float64, the entries of x being dyadic. */
static void
check_table(const double expected[7], clarke_ieee format)
{
  for (size_t k = 0; k < 7; k++) {
    run_program(&table_t[k], format);
    ck_assert_msg(rounded.gradient[0] == expected[k], "%s at t = %g: %.17g, expected %.17g",
                  clarke_ieee_name(format), table_t[k], rounded.gradient[0], expected[k]);
  }
}

#define SEVEN(x) ((const double[7]){x, x, x, x, x, x, x})

/* Table 3.1: max{first}(t x) - max{mean}(t x). */
static void
table_31(const char *const x[4])
{
  size_t z[4];

  begin_program();
  add_multiples(z, add_input(1), x);
  add_output(add_two(add_order(1, 4, z, CLARKE_TIE_FIRST, "0"), "1",
                     add_order(1, 4, z, CLARKE_TIE_FIRST, "1"), "-1"));
}

START_TEST(table_3_1)
{
  static const char *const equal[4] = {"7/5", "7/5", "7/5", "7/5"};
  static const char *const distinct[4] = {"1", "2", "3", "4"};

  table_31(equal);
  check_table(SEVEN(-0x1p-24), CLARKE_IEEE_F32);
  check_table(SEVEN(-0x1p-53), CLARKE_IEEE_F64);
  end_program();
  table_31(distinct);
  check_table((const double[7]){0, 0, 0, -1.5, 0, 0, 0}, CLARKE_IEEE_F32);
  check_table((const double[7]){0, 0, 0, -1.5, 0, 0, 0}, CLARKE_IEEE_F16);
  end_program();
}
END_TEST

/* (a + b) / 2 + relu((a - b) / 2) + relu((b - a) / 2), the first relu with the given proxy. */
static size_t
add_max_by_relu(size_t a, size_t b, const char *proxy)
{
  size_t sum = add_two(a, "1", b, "1"), up = add_two(a, "1", b, "-1"), down;
  static const char *const half[] = {"1/2", "0"};
  size_t relu_up, relu_down, first;

  clarke_code_new_group(&program);
  sum = add_linear(1, &sum, half);
  clarke_code_new_group(&program);
  up = add_linear(1, &up, half);
  relu_up = add_pointwise("Relu", up, 0, NULL, proxy);
  first = add_two(sum, "1", relu_up, "1");
  down = add_two(b, "1", a, "-1");
  clarke_code_new_group(&program);
  down = add_linear(1, &down, half);
  relu_down = add_pointwise("Relu", down, 0, NULL, "0");
  return add_two(first, "1", relu_down, "1");
}

/* Table 3.3: the same with two maxima built from relu by a tree. */
static void
table_33(const char *const x[4])
{
  size_t z[4], max[2];

  begin_program();
  add_multiples(z, add_input(1), x);
  for (size_t k = 0; k < 2; k++) {
    const char *proxy = k == 0 ? "0" : "1";
    size_t left = add_max_by_relu(z[0], z[1], proxy), right = add_max_by_relu(z[2], z[3], proxy);

    max[k] = add_max_by_relu(left, right, proxy);
  }
  add_output(add_two(max[0], "1", max[1], "-1"));
}

START_TEST(table_3_3)
{
  static const char *const equal[4] = {"7/5", "7/5", "7/5", "7/5"};
  static const char *const distinct[4] = {"1", "2", "3", "4"};

  table_33(equal);
  check_table(SEVEN(0x1p-24), CLARKE_IEEE_F32);
  end_program();
  table_33(distinct);
  check_table((const double[7]){0, 0, 0, 1.5, 0, 0, 0}, CLARKE_IEEE_F32);
  end_program();
}
END_TEST

/* --- random programs in the machine's arithmetic --------------------------------------------- */

#define MAX_STEPS 40

typedef struct {
  enum { STEP_IN, STEP_SUM, STEP_MUL, STEP_DIV, STEP_RELU, STEP_ABS, STEP_LEAKY, STEP_MAX, STEP_IF,
         STEP_SQRT, STEP_POLY } kind;
  size_t a, b, c;
  int ca, cb; /* coefficients, over 8 */
} step;

static size_t n_steps;
static step steps[MAX_STEPS];

/* A second evaluator, in T; every operation of scalars. The order in which adjoints are added up
 * is that of the header, written out. */
#define EVALUATOR(NAME, T, SQRT) \
  static T \
  scaled_##NAME(int c, T x) \
  { \
    return c == 8 ? x : c == -8 ? -x : x * ((T)c / 8); \
  } \
  static void \
  give_##NAME(T *adjoint, bool *seen, size_t at, T x) \
  { \
    adjoint[at] = seen[at] ? adjoint[at] + x : x; \
    seen[at] = true; \
  } \
  static void \
  forward_##NAME(T *v, const double *at) \
  { \
    for (size_t i = 0; i < n_steps; i++) { \
      const step *s = &steps[i]; \
      T a = v[s->a], b = v[s->b]; \
      switch (s->kind) { \
      case STEP_IN: v[i] = (T)at[i]; break; \
      case STEP_SUM: v[i] = scaled_##NAME(s->ca, a) + scaled_##NAME(s->cb, b); break; \
      case STEP_MUL: v[i] = a * b; break; \
      case STEP_DIV: v[i] = a / b; break; \
      case STEP_RELU: v[i] = a > 0 ? a : 0; break; \
      case STEP_ABS: v[i] = a > 0 ? a : -a; break; \
      case STEP_LEAKY: v[i] = a > 0 ? a : a * (T)0.01; break; \
      case STEP_MAX: v[i] = a >= b ? a : b; break; \
      case STEP_IF: v[i] = a < b ? a : v[s->c]; break; \
      case STEP_SQRT: v[i] = SQRT(a); break; \
      case STEP_POLY: v[i] = scaled_##NAME(s->ca, a); break; \
      } \
    } \
  } \
  static void \
  backward_##NAME(T *g, bool *seen, const T *v) \
  { \
    for (size_t i = n_steps; i-- > 0;) { \
      const step *s = &steps[i]; \
      T a = v[s->a], b = v[s->b], d = g[i]; \
      if (!seen[i]) \
        continue; \
      switch (s->kind) { \
      case STEP_IN: break; \
      case STEP_SUM: /* an addition gives first to a; products of constants come after it */ \
        if (s->ca == 8) \
          give_##NAME(g, seen, s->a, d); \
        give_##NAME(g, seen, s->b, scaled_##NAME(s->cb, d)); \
        if (s->ca != 8) \
          give_##NAME(g, seen, s->a, scaled_##NAME(s->ca, d)); \
        break; \
      case STEP_MUL: \
        give_##NAME(g, seen, s->a, d * b); \
        give_##NAME(g, seen, s->b, d * a); \
        break; \
      case STEP_DIV: \
        give_##NAME(g, seen, s->a, d / b); \
        give_##NAME(g, seen, s->b, -d * (v[i] / b)); \
        break; \
      case STEP_RELU: give_##NAME(g, seen, s->a, a > 0 ? d : 0); break; \
      case STEP_ABS: give_##NAME(g, seen, s->a, a > 0 ? d : a < 0 ? -d : 0); break; \
      case STEP_LEAKY: give_##NAME(g, seen, s->a, a > 0 ? d : d * (T)0.01); break; \
      case STEP_MAX: \
        give_##NAME(g, seen, s->a, a == b ? d / 2 : a > b ? d : 0); \
        give_##NAME(g, seen, s->b, a == b ? d / 2 : b > a ? d : 0); \
        break; \
      case STEP_IF: give_##NAME(g, seen, a < b ? s->a : s->c, d); break; \
      case STEP_SQRT: give_##NAME(g, seen, s->a, d / (2 * v[i])); break; \
      case STEP_POLY: give_##NAME(g, seen, s->a, scaled_##NAME(s->ca, d)); break; \
      } \
    } \
  }

EVALUATOR(f32, float, sqrtf)
EVALUATOR(f64, double, sqrt)

static void
draw_steps(void)
{
  static const int coefs[] = {8, 8, 8, -8, -8, 4, 3, -5, 24};
  size_t n_in = 1 + below(3);

  n_steps = n_in + 3 + below(20);
  for (size_t i = 0; i < n_steps; i++) {
    steps[i].kind = i < n_in ? STEP_IN : STEP_SUM + below(10);
    steps[i].a = i < n_in ? 0 : below(i);
    steps[i].b = i < n_in ? 0 : below(i);
    steps[i].c = i < n_in ? 0 : below(i);
    steps[i].ca = coefs[below(9)];
    steps[i].cb = coefs[below(9)];
  }
}

static const char *
eighths(int c)
{
  static const char *const text[] = {"-1", "-5/8", "3/8", "1/2", "1", "3"};

  return text[c == -8 ? 0 : c == -5 ? 1 : c == 3 ? 2 : c == 4 ? 3 : c == 8 ? 4 : 5];
}

static size_t
add_branch(const step *s)
{
  size_t at;

  clarke_code_new_group(&program);
  OK(clarke_code_add_branch(&program, &at, CLARKE_LT, (size_t[4]){s->a, s->b, s->a, s->c},
                               &error));
  return at;
}

static size_t
add_step(const step *s)
{
  size_t at, in[2] = {s->a, s->b};

  switch (s->kind) {
  case STEP_IN:
    break;
  case STEP_SUM:
    return add_two(s->a, eighths(s->ca), s->b, eighths(s->cb));
  case STEP_MUL:
    return add_kind(CLARKE_DO_PRODUCT, 2, in);
  case STEP_DIV:
    return add_kind(CLARKE_DO_QUOTIENT, 2, in);
  case STEP_RELU:
    return add_pointwise("Relu", s->a, 0, NULL, NULL);
  case STEP_ABS:
    return add_pointwise("Abs", s->a, 0, NULL, NULL);
  case STEP_LEAKY:
    return add_pointwise("LeakyRelu", s->a, 1, (const char *[]){"1/100"}, NULL);
  case STEP_MAX:
    return add_order(1, 2, in, CLARKE_TIE_FIRST, NULL);
  case STEP_IF:
    return add_branch(s);
  case STEP_SQRT:
    clarke_code_new_group(&program);
    OK(clarke_code_add_analytic(&program, &at, CLARKE_FN_SQRT, s->a, &error));
    return at;
  case STEP_POLY:
    clarke_code_new_group(&program);
    return add_linear(1, &s->a, (const char *[]){eighths(s->ca), "0"});
  }
  return CLARKE_NONE;
}

/* Values compare without the sign of a zero: of relu, abs and max neither way of writing it is
 * the format's own. */
static bool
agree(double a, double b)
{
  return a == b || (isnan(a) && isnan(b));
}

static size_t
build_steps(void)
{
  size_t n_in = 0;

  while (steps[n_in].kind == STEP_IN)
    n_in++;
  add_input(n_in);
  for (size_t i = n_in; i < n_steps; i++)
    ck_assert_uint_eq(add_step(&steps[i]), i);
  add_output(n_steps - 1);
  return n_in;
}

/* False when the program is left out: it computes a NaN. */
static bool
compare_f32(const double *at, size_t n_in)
{
  float v[MAX_STEPS] = {0}, g[MAX_STEPS] = {0};
  bool seen[MAX_STEPS] = {false};

  forward_f32(v, at);
  for (size_t i = 0; i < n_steps; i++)
    if (isnan(v[i]))
      return false;
  g[n_steps - 1] = 1;
  seen[n_steps - 1] = true;
  backward_f32(g, seen, v);
  run_program(at, CLARKE_IEEE_F32);
  ck_assert(agree(rounded.value[0], (double)v[n_steps - 1]));
  for (size_t i = 0; i < n_in; i++)
    ck_assert_msg(agree(rounded.gradient[i], seen[i] ? (double)g[i] : 0), "%a, expected %a",
                  rounded.gradient[i], (double)g[i]);
  return true;
}

static bool
compare_f64(const double *at, size_t n_in)
{
  double v[MAX_STEPS] = {0}, g[MAX_STEPS] = {0};
  bool seen[MAX_STEPS] = {false};

  forward_f64(v, at);
  for (size_t i = 0; i < n_steps; i++)
    if (isnan(v[i]))
      return false;
  g[n_steps - 1] = 1;
  seen[n_steps - 1] = true;
  backward_f64(g, seen, v);
  run_program(at, CLARKE_IEEE_F64);
  ck_assert(agree(rounded.value[0], v[n_steps - 1]));
  for (size_t i = 0; i < n_in; i++)
    ck_assert_msg(agree(rounded.gradient[i], seen[i] ? g[i] : 0), "%a, expected %a",
                  rounded.gradient[i], g[i]);
  return true;
}

/* Points with few bits, where kinks are met, and others, where every operation rounds. */
START_TEST(random_programs)
{
  size_t compared = 0;

  for (size_t round = 0; round < 4000; round++) {
    double at[3];
    size_t n_in;

    begin_program();
    draw_steps();
    n_in = build_steps();
    for (size_t k = 0; k < 3; k++)
      at[k] = round % 2 ? (double)((int)below(13) - 6) / 4
                        : (double)(float)ldexp((double)(int64_t)draw(&state), -62);
    compared += compare_f32(at, n_in);
    compared += compare_f64(at, n_in);
    end_program();
  }
  ck_assert_uint_gt(compared, 3000);
}
END_TEST

/* --- particular instructions ----------------------------------------------------------------- */

START_TEST(ties)
{
  static const double at[4] = {1, 3, 3, 3};
  static const struct {
    clarke_tie tie;
    const char *beta;
    double gradient[4];
  } rules[] = {
    {CLARKE_TIE_FIRST, "0", {0, 1, 0, 0}},
    {CLARKE_TIE_LAST, "0", {0, 0, 0, 1}},
    {CLARKE_TIE_STABLE, "0", {0, 0, 1, 0}},
    {CLARKE_TIE_FIRST, "1", {0, 0x1.555556p-2, 0x1.555556p-2, 0x1.555556p-2}},
    {CLARKE_TIE_FIRST, "2", {0, -0x1.555554p-2, 0x1.555556p-1, 0x1.555556p-1}},
  };

  for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
    begin_program();
    size_t x = add_input(4), in[4] = {x, x + 1, x + 2, x + 3};

    add_output(add_order(2, 4, in, rules[r].tie, rules[r].beta));
    run_program(at, CLARKE_IEEE_F32);
    ck_assert(rounded.value[0] == 3);
    for (size_t k = 0; k < 4; k++)
      ck_assert_msg(rounded.gradient[k] == rules[r].gradient[k], "rule %zu, entry %zu: %a", r, k,
                    rounded.gradient[k]);
    end_program();
  }
}
END_TEST

/* A comparison is made on rounded values: 1 + 2^-30 > 1 in float64, not in float32. */
START_TEST(branches_on_rounded_values)
{
  double at[2] = {1, 0x1p-30};

  begin_program();
  size_t x = add_input(2), sum = add_two(x, "1", x + 1, "1"), branch;

  clarke_code_new_group(&program);
  OK(clarke_code_add_branch(&program, &branch, CLARKE_GT, (size_t[4]){sum, x, x, x + 1},
                               &error));
  add_output(branch);
  run_program(at, CLARKE_IEEE_F64);
  ck_assert(rounded.gradient[0] == 1 && rounded.gradient[1] == 0);
  run_program(at, CLARKE_IEEE_F32);
  ck_assert(rounded.gradient[0] == 0 && rounded.gradient[1] == 1);
  end_program();
}
END_TEST

/* Kinks too: in float16 2048 + 1 - 2048 is 0, where relu has no slope; over the reals it is 1. */
START_TEST(kinks_on_rounded_values)
{
  double at[2] = {2048, 1};

  begin_program();
  size_t x = add_input(2), sum = add_two(x, "1", x + 1, "1");

  add_output(add_pointwise("Relu", add_two(sum, "1", x, "-1"), 0, NULL, NULL));
  run_program(at, CLARKE_IEEE_F32);
  ck_assert(rounded.value[0] == 1 && rounded.gradient[1] == 1);
  run_program(at, CLARKE_IEEE_F16);
  ck_assert(rounded.value[0] == 0 && rounded.gradient[1] == 0);
  end_program();
}
END_TEST

START_TEST(derivatives_of_functions)
{
  /* 3 f(x) and its derivative as PyTorch 2.13 has them in float32 (its sigmoid of 0.7f is
   * one unit of the last place off, that of 1/4 is not). */
  static const struct {
    clarke_analytic f;
    double at, value, gradient;
  } expected[] = {
    {CLARKE_FN_EXP, 0x1.666666p-1, 0x1.82a3f8p+2, 0x1.82a3f8p+2},
    {CLARKE_FN_LOG, 0x1.666666p-1, -0x1.11ed28p+0, 0x1.124924p+2},
    {CLARKE_FN_SQRT, 0x1.666666p-1, 0x1.414708p+1, 0x1.caf7cp+0},
    {CLARKE_FN_SIN, 0x1.666666p-1, 0x1.eec258p+0, 0x1.25b30cp+1},
    {CLARKE_FN_COS, 0x1.666666p-1, 0x1.25b30cp+1, -0x1.eec258p+0},
    {CLARKE_FN_TANH, 0x1.666666p-1, 0x1.d0278cp+0, 0x1.e77aep+0},
    {CLARKE_FN_SIGMOID, 0.25, 0x1.afc068p+0, 0x1.7a0fdap-1},
    {CLARKE_FN_ERF, 0x1.666666p-1, 0x1.044692p+1, 0x1.097318p+1},
    {CLARKE_FN_ATAN, 0x1.666666p-1, 0x1.d5099cp+0, 0x1.01b7d6p+1},
  };

  for (size_t k = 0; k < sizeof expected / sizeof expected[0]; k++) {
    size_t y;

    begin_program();
    add_input(1);
    clarke_code_new_group(&program);
    OK(clarke_code_add_analytic(&program, &y, expected[k].f, 0, &error));
    clarke_code_new_group(&program);
    add_output(add_linear(1, &y, (const char *[]){"3", "0"}));
    run_program(&expected[k].at, CLARKE_IEEE_F32);
    ck_assert_msg(rounded.value[0] == expected[k].value &&
                  rounded.gradient[0] == expected[k].gradient,
                  "function %d: %a %a, expected %a %a", (int)expected[k].f, rounded.value[0],
                  rounded.gradient[0], expected[k].value, expected[k].gradient);
    end_program();
  }
}
END_TEST

START_TEST(norms)
{
  double at[2] = {3, 4}, zero[2] = {0, 0};

  begin_program();
  size_t x = add_input(2);

  add_output(add_kind(CLARKE_DO_NORM, 2, (size_t[]){x, x + 1}));
  run_program(at, CLARKE_IEEE_F32);
  ck_assert(rounded.value[0] == 5 && rounded.gradient[0] == (double)0.6f &&
            rounded.gradient[1] == (double)0.8f);
  run_program(zero, CLARKE_IEEE_F32);
  ck_assert(rounded.value[0] == 0 && rounded.gradient[0] == 0 && rounded.gradient[1] == 0);
  /* A profile that has NaN there has it in floats, too, and nowhere else. */
  clarke_profile_clear(&profile);
  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, "jax-0.10", &error));
  run_program(zero, CLARKE_IEEE_F32);
  ck_assert(rounded.value[0] == 0 && isnan(rounded.gradient[0]) && isnan(rounded.gradient[1]));
  run_program(at, CLARKE_IEEE_F32);
  ck_assert(rounded.gradient[0] == (double)0.6f && rounded.gradient[1] == (double)0.8f);
  end_program();
}
END_TEST

/* What overflows is infinite, and infinities minus each other are NaN: values, not errors. */
START_TEST(overflow)
{
  double at[1] = {60000};

  begin_program();
  size_t x = add_input(1), square = add_kind(CLARKE_DO_PRODUCT, 2, (size_t[]){x, x});

  add_output(square);
  add_output(add_two(square, "1", square, "-1"));
  run_program(at, CLARKE_IEEE_F16);
  ck_assert(rounded.n_values == 2 && rounded.n_gradient == 2);
  ck_assert(isinf(rounded.value[0]) && isnan(rounded.value[1]));
  ck_assert(isinf(rounded.gradient[0]) && rounded.gradient[1] == 0);
  end_program();
}
END_TEST

/* Only the inputs in wrt have a gradient, in their order. */
START_TEST(only_wrt)
{
  char y[] = "y";
  char *names[] = {y};
  mpq_t at[3];

  begin_program();
  size_t a = add_input(2), b = add_input(1);

  add_output(add_kind(CLARKE_DO_PRODUCT, 2, (size_t[]){a, b}));
  for (size_t k = 0; k < 3; k++) {
    mpq_init(at[k]);
    mpq_set_si(at[k], (long)k + 2, 1);
  }
  OK(clarke_code_wrt(&program, names, 1, &error));
  OK(clarke_rounded_run(&rounded, &program, at, CLARKE_IEEE_F64, &profile, &error));
  ck_assert(rounded.n_gradient == 1 && rounded.gradient[0] == 2 && rounded.value[0] == 8);
  OK(clarke_rounded_values(&rounded, &program, at, CLARKE_IEEE_F16, &error)); /* without a profile, no gradient */
  ck_assert(rounded.n_gradient == 0 && rounded.n_values == 1 && rounded.value[0] == 8);
  for (size_t k = 0; k < 3; k++)
    mpq_clear(at[k]);
  end_program();
}
END_TEST

/* An instruction may follow another of its group: the group then is no single operation. */
START_TEST(chains_in_a_group)
{
  double at[1] = {2};

  begin_program();
  size_t x = add_input(1), y, z;

  clarke_code_new_group(&program);
  OK(clarke_code_add(&program, &y, CLARKE_DO_PRODUCT, 2, (size_t[]){x, x}, &error));
  OK(clarke_code_add(&program, &z, CLARKE_DO_PRODUCT, 2, (size_t[]){y, x}, &error));
  add_output(z);
  run_program(at, CLARKE_IEEE_F32);
  ck_assert(rounded.value[0] == 8 && rounded.gradient[0] == 12);
  end_program();
}
END_TEST

int
main(void)
{
  TCase *numbers = tests_of("numbers"), *programs = tests_of("programs");

  state = 20261121;
  tcase_add_test(numbers, rounds_as_defined);
  tcase_add_test(numbers, rounds_all_halves);
  tcase_add_test(numbers, knows_the_names);
  tcase_add_test(numbers, operates_as_the_machine);
  tcase_add_test(numbers, operates_by_the_definition);
  tcase_add_test(numbers, rounds_functions_correctly);
  tcase_add_test(numbers, functions_at_the_ends);
  tcase_add_test(numbers, leaves_mpfr_as_it_was);
  tcase_add_test(programs, table_3_1);
  tcase_add_test(programs, table_3_3);
  tcase_add_test(programs, random_programs);
  tcase_add_test(programs, ties);
  tcase_add_test(programs, branches_on_rounded_values);
  tcase_add_test(programs, kinks_on_rounded_values);
  tcase_add_test(programs, derivatives_of_functions);
  tcase_add_test(programs, norms);
  tcase_add_test(programs, overflow);
  tcase_add_test(programs, only_wrt);
  tcase_add_test(programs, chains_in_a_group);
  return run_tests();
}
