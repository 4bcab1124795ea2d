/* What a program's instructions say of themselves: places, proxies, ties, relations; and the machine of a replay in floats, operation
 * by operation, NaNs and zeros too. */
#include "../draw.h"
#include "../ok.h"

#include "program/prog.h"
#include "program/rounded_inside.h"
#include "program/unbounded.h"

#include <math.h>
#include <string.h>

static clarke_code p;

static void
read_program(const char *text)
{
  clarke_code_init(&p);
  OK(clarke_prog_parse(&p, text, strlen(text), "f.prog", &error));
}

static size_t
find(clarke_do kind)
{
  for (size_t i = 0; i < p.n; i++)
    if (p.instruction[i].kind == kind)
      return i;
  ck_abort_msg("no instruction of kind %d", (int)kind);
}

static void
says(const char *part)
{
  ck_assert_msg(strstr(error.text, part) != NULL, "'%s', expected '%s'", error.text, part);
}

/* --- places ---------------------------------------------------------------------------------- */

START_TEST(entries_of_inputs)
{
  static char second[] = "y";
  char *names[] = {second};

  read_program("input x\ninput y[3]\ninput z\noutput x + y[0] + y[1] + y[2] + z\n");
  for (size_t i = 0; i < 5; i++)
    ck_assert_uint_eq(clarke_code_wrt_entry(&p, i), i);
  OK(clarke_code_wrt(&p, names, 1, &error));
  for (size_t i = 0; i < 5; i++) {
    ck_assert_uint_eq(clarke_code_entry(&p, i), i);
    ck_assert_uint_eq(clarke_code_wrt_entry(&p, i), i >= 1 && i <= 3 ? i - 1 : CLARKE_NONE);
  }
  ck_assert_uint_eq(clarke_code_wrt_count(&p), 3);
  clarke_code_clear(&p);
}
END_TEST

/* A message names the place in the file; without one, the instruction. */
START_TEST(places_of_failures)
{
  read_program("input x\noutput relu(x)\n");
  ck_assert_int_eq(clarke_code_fail(&p, p.output[0], &error, "%d is %s", 7, "odd"), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, "f.prog:2:8: 7 is odd");
  ck_assert_int_eq(clarke_code_past(&p, p.output[0], &error, CLARKE_LIMIT_TIES, "too many"), CLARKE_EINPUT);
  says("f.prog:2:8: ");
  says("too many");
  says("--limit ties=N");
  p.instruction[p.output[0]].line = 0;
  ck_assert_int_eq(clarke_code_fail(&p, p.output[0], &error, "bad"), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, "f.prog: instruction 1: bad");
  clarke_code_clear(&p);
  clarke_code_init(&p);
  clarke_code_clear(&p);
}
END_TEST

START_TEST(cleared_instructions)
{
  clarke_instruction i;

  memset(&i, 0, sizeof i);
  i.coef = clarke_rationals(3);
  i.n_coef = 3;
  i.in = malloc(2 * sizeof *i.in);
  mpq_init(i.proxy.value);
  clarke_instruction_clear(&i); /* the sanitizers see what is left, or freed twice */
  read_program("input x\noutput if x > 0 then exp(x) else 1/3\n");
  clarke_code_clear(&p);
  clarke_code_clear(&p);
}
END_TEST

START_TEST(relations)
{
  static const char *const text[] = {"<", "<=", ">", ">=", "==", "!="};

  for (int r = CLARKE_LT; r <= CLARKE_NE; r++) {
    ck_assert_str_eq(clarke_relation_text((clarke_relation)r), text[r]);
    for (int sign = -1; sign <= 1; sign++) {
      const bool holds = r == CLARKE_LT ? sign < 0 : r == CLARKE_LE ? sign <= 0 : r == CLARKE_GT ? sign > 0
                         : r == CLARKE_GE ? sign >= 0 : r == CLARKE_EQ ? sign == 0 : sign != 0;

      ck_assert_int_eq(clarke_relation_holds((clarke_relation)r, sign), holds);
    }
  }
}
END_TEST

/* --- proxies --------------------------------------------------------------------------------- */

static void
check_proxy(const char *text, size_t kink, long left, long right, long numerator, unsigned long denominator)
{
  clarke_profile profile;
  mpq_t value, l, r;

  mpq_inits(value, l, r, NULL);
  mpq_set_si(l, left, 1);
  mpq_set_si(r, right, 1);
  read_program(text);
  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, "pytorch-2.13", &error));
  OK(clarke_code_proxy(value, &p.instruction[find(CLARKE_DO_PIECEWISE)], kink, l, r, &profile, &error));
  ck_assert_msg(mpq_cmp_si(value, numerator, denominator) == 0, "%s", text);
  clarke_profile_clear(&profile);
  clarke_code_clear(&p);
  mpq_clears(value, l, r, NULL);
}

/* What stands in braces goes before the profile: a number, or a side's slope. */
START_TEST(proxies)
{
  check_proxy("input x\noutput relu(x)\n", 0, 0, 1, 0, 1);
  check_proxy("input x\noutput relu{1/3}(x)\n", 0, 0, 1, 1, 3);
  check_proxy("input x\noutput relu{right}(x)\n", 0, 5, 7, 7, 1);
  check_proxy("input x\noutput relu{left}(x)\n", 0, 5, 7, 5, 1);
  check_proxy("input x\noutput abs(x)\n", 0, -1, 1, 0, 1);
}
END_TEST

static void
check_tie(const char *text, clarke_tie expected)
{
  clarke_profile profile;
  clarke_tie tie;
  mpq_t beta;

  mpq_init(beta);
  read_program(text);
  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, "pytorch-2.13", &error));
  OK(clarke_code_tie(&tie, beta, &p.instruction[find(CLARKE_DO_ORDER)], &profile, &error));
  ck_assert_int_eq(tie, expected);
  clarke_profile_clear(&profile);
  clarke_code_clear(&p);
  mpq_clear(beta);
}

START_TEST(ties)
{
  check_tie("input x\noutput max{first}(x, 0)\n", CLARKE_TIE_FIRST);
  check_tie("input x\noutput max{last}(x, 0)\n", CLARKE_TIE_LAST);
  ck_assert_uint_eq(clarke_tie_index(CLARKE_TIE_FIRST, 4, 2), 0);
  ck_assert_uint_eq(clarke_tie_index(CLARKE_TIE_LAST, 4, 2), 3);
}
END_TEST

/* --- floats ---------------------------------------------------------------------------------- */

static double
draw_float(uint64_t *state)
{
  static const double odd[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0x1p-149, -0x1p-1074, 0x1p127};

  return draw_below(state, 6) == 0 ? odd[draw_below(state, 10)]
                                   : ldexp((double)draw_between(state, -99, 99), (int)draw_between(state, -12, 12));
}

/* One rounding of the exact value: of float64 by MPFR in many bits, then to nearest. */
START_TEST(rounded_once)
{
  uint64_t state = 1;
  clarke_ieee_unit u;
  mpfr_t exact;

  clarke_ieee_begin(&u, CLARKE_IEEE_F64);
  mpfr_init2(exact, 400);
  for (int round = 0; round < 3000; round++) {
    const double x = draw_float(&state), c[3] = {ldexp((double)draw_between(&state, -9, 9), -3),
                                                 (double)draw_between(&state, -2, 2) / 6, (double)(draw(&state) & 1) / 6};
    double y = clarke_ieee_polynomial(&u, c, x);
    mpq_t sum, term;

    if (isfinite(x) && fabs(x) < 0x1p100) {
      mpq_inits(sum, term, NULL);
      for (int d = 2; d >= 0; d--) { /* Horner, in rationals */
        mpq_set_d(term, x);
        mpq_mul(sum, sum, term);
        mpq_set_d(term, c[d]);
        mpq_add(sum, sum, term);
      }
      ck_assert(y == clarke_ieee_rational(&u, sum) || fabs(x) < 0x1p-200);
      mpq_clears(sum, term, NULL);
    }
    y = clarke_ieee_expm1(&u, x);
    mpfr_set_d(exact, x, MPFR_RNDN);
    mpfr_expm1(exact, exact, MPFR_RNDN);
    ck_assert(isnan(x) ? isnan(y) : y == mpfr_get_d(exact, MPFR_RNDN) || fabs(x) < 0x1p-200);
    ck_assert(x != 0 || signbit(y) == signbit(x));
  }
  mpfr_clear(exact);
  clarke_ieee_end(&u);
}
END_TEST

typedef struct {
  clarke_machine m;
  double value[16];
  size_t tied[16];
  double sorted[16];
} machine;

static void
begin_machine(machine *c)
{
  memset(c, 0, sizeof *c);
  c->m.p = &p;
  c->m.value = c->value;
  c->m.tied = c->tied;
  c->m.sorted = c->sorted;
  clarke_ieee_begin(&c->m.unit, CLARKE_IEEE_F32);
}

START_TEST(pieces_of_floats)
{
  const double at[] = {-2, -1, -0.5, 1, 1.5, INFINITY, NAN};
  const size_t piece[] = {0, 0, 1, 1, 2, 2, 2};
  const bool kink[] = {false, true, false, true, false, false, false};
  machine c;
  mpq_t q;

  read_program("input x\noutput hardtanh(x)\n");
  begin_machine(&c);
  for (size_t k = 0; k < 7; k++) {
    bool at_kink;

    ck_assert_uint_eq(clarke_machine_piece(&c.m, &p.instruction[p.output[0]], at[k], &at_kink), piece[k]);
    ck_assert_int_eq(at_kink, kink[k]);
  }
  mpq_init(q);
  mpq_set_si(q, 1, 3);
  ck_assert(clarke_machine_times(&c.m, q, 3) == (double)((float)(1.0 / 3) * 3.0F));
  mpq_set_si(q, -1, 1);
  ck_assert(clarke_machine_times(&c.m, q, 0.0) == 0 && signbit(clarke_machine_times(&c.m, q, 0.0)));
  mpq_set_si(q, 1, 1);
  ck_assert(isnan(clarke_machine_times(&c.m, q, NAN)));
  mpq_clear(q);
  clarke_ieee_end(&c.m.unit);
  clarke_code_clear(&p);
}
END_TEST

/* Of drawn entries: those equal to the rank-th largest, and how many are above; NaNs go before all. */
START_TEST(tied_floats)
{
  uint64_t state = 2;
  machine c;

  for (int rank = 1; rank <= 4; rank++) {
    char text[80];

    snprintf(text, sizeof text, "input x[4]\noutput kth{first}(%d, x)\n", rank);
    read_program(text);
    begin_machine(&c);
    for (int round = 0; round < 300; round++) {
      const clarke_instruction *i = &p.instruction[find(CLARKE_DO_ORDER)];
      size_t n, in_tie, nans = 0, above = 0, equal = 0;

      for (size_t k = 0; k < 4; k++) {
        c.value[i->in[k]] = draw_below(&state, 9) == 0 ? (double)NAN : (double)draw_between(&state, 0, 2);
        nans += isnan(c.value[i->in[k]]);
      }
      n = clarke_machine_tied(&c.m, i, &in_tie);
      ck_assert_uint_ge(n, 1);
      for (size_t k = 0; k < n; k++) {
        ck_assert(k == 0 || c.tied[k] > c.tied[k - 1]);
        ck_assert_int_eq(isnan(c.value[i->in[c.tied[k]]]), nans > 0);
      }
      if (nans > 0) {
        ck_assert(n == nans && in_tie == (i->rank < nans ? i->rank : nans));
        continue;
      }
      for (size_t k = 0; k < 4; k++) {
        above += c.value[i->in[k]] > c.value[i->in[c.tied[0]]];
        equal += c.value[i->in[k]] == c.value[i->in[c.tied[0]]];
      }
      ck_assert(n == equal && above < i->rank && above + equal >= i->rank && in_tie == i->rank - above);
    }
    clarke_ieee_end(&c.m.unit);
    clarke_code_clear(&p);
  }
}
END_TEST

START_TEST(arms_of_floats)
{
  static const char *const relation[] = {"<", "<=", ">", ">=", "==", "!="};
  uint64_t state = 3;
  machine c;

  for (int r = CLARKE_LT; r <= CLARKE_NE; r++) {
    char text[80];

    snprintf(text, sizeof text, "input x[2]\noutput if x[0] %s x[1] then 2 else 3\n", relation[r]);
    read_program(text);
    begin_machine(&c);
    for (int round = 0; round < 200; round++) {
      const double a = c.value[0] = draw_float(&state), b = c.value[1] = draw_below(&state, 4) == 0 ? a : draw_float(&state);
      const bool holds = r == CLARKE_LT ? a < b : r == CLARKE_LE ? a <= b : r == CLARKE_GT ? a > b : r == CLARKE_GE ? a >= b
                         : r == CLARKE_EQ ? a == b : a != b; /* as the machine has it, of NaNs too */

      ck_assert_uint_eq(clarke_machine_arm(&c.m, &p.instruction[find(CLARKE_DO_BRANCH)]), holds ? 2 : 3);
    }
    clarke_ieee_end(&c.m.unit);
    clarke_code_clear(&p);
  }
}
END_TEST

/* --- derivatives that are not finite --------------------------------------------------------- */

static void
check_unbounded(const char *text, long at, clarke_magnitude expected, double number)
{
  clarke_profile profile;
  clarke_execution e;
  clarke_magnitude magnitude;
  clarke_number gradient;
  size_t where = 0;
  mpq_t *point = clarke_rationals(1);
  bool some = false;

  mpq_set_si(point[0], at, 1);
  read_program(text);
  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, "pytorch-2.13", &error));
  clarke_execution_init(&e);
  clarke_number_init(&gradient);
  OK(clarke_execute(&e, &p, point, &error));
  OK(clarke_execution_unbounded(&magnitude, &gradient, &where, &e, &profile, &error));
  for (size_t i = 0; i < p.n; i++)
    some = some || (e.live[i] && clarke_is_unbounded(&e, i, &profile));
  ck_assert_msg(magnitude == expected, "%s: %d", text, (int)magnitude);
  ck_assert(where == CLARKE_NONE || clarke_is_unbounded(&e, where, &profile));
  ck_assert(some || where == CLARKE_NONE);
  if (expected == CLARKE_FINITE)
    ck_assert(clarke_number_double(&gradient) == number);
  clarke_number_clear(&gradient);
  clarke_execution_clear(&e);
  clarke_profile_clear(&profile);
  clarke_code_clear(&p);
  clarke_rationals_free(point, 1);
}

START_TEST(infinite_derivatives)
{
  ck_assert_str_eq(clarke_magnitude_name(CLARKE_INFINITY), "inf");
  ck_assert_str_eq(clarke_magnitude_name(CLARKE_MINUS_INFINITY), "-inf");
  ck_assert_str_eq(clarke_magnitude_name(CLARKE_NAN), "nan");
  check_unbounded("input x\noutput 3 * x\n", 0, CLARKE_FINITE, 3);
  check_unbounded("input x\noutput sqrt(x)\n", 4, CLARKE_FINITE, 0.25);
  check_unbounded("input x\noutput sqrt(x)\n", 0, CLARKE_INFINITY, 0);
  check_unbounded("input x\noutput -sqrt(x)\n", 0, CLARKE_MINUS_INFINITY, 0);
  check_unbounded("input x\noutput sqrt(x * x)\n", 0, CLARKE_NAN, 0);
  check_unbounded("input x\noutput sqrt(x) - sqrt(x)\n", 0, CLARKE_NAN, 0);
  check_unbounded("input x\noutput relu(sqrt(x))\n", 0, CLARKE_FINITE, 0);
  check_unbounded("input x\noutput sqrt(hardswish(x))\n", -4, CLARKE_FINITE, 0);
  check_unbounded("input x\nlet h = hardswish(x/2)\noutput sqrt(h - h)\n", -3, CLARKE_NAN, 0);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("code");

  tcase_add_test(tests, entries_of_inputs);
  tcase_add_test(tests, places_of_failures);
  tcase_add_test(tests, cleared_instructions);
  tcase_add_test(tests, relations);
  tcase_add_test(tests, proxies);
  tcase_add_test(tests, ties);
  tcase_add_test(tests, rounded_once);
  tcase_add_test(tests, pieces_of_floats);
  tcase_add_test(tests, tied_floats);
  tcase_add_test(tests, arms_of_floats);
  tcase_add_test(tests, infinite_derivatives);
  return run_tests();
}
