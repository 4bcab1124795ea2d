/* Operations counted: the tables' rows, programs against their definition, networks from their steps' shapes against the same networks
 * unrolled, conventions of counters. */
#include "../network/networks.h"
#include "../ok.h"

#include "cost/convention.h"
#include "cost/directions.h"
#include "cost/network.h"
#include "cost/program.h"
#include "cost/table.h"
#include "network/graph/build.h"
#include "program/unroll/unroll.h"
#include "program/prog.h"
#include "session/cost.h"

/* --- rows ------------------------------------------------------------------------------------------------ */

/* (cost(gd) + 2 |pr|) / cost(g) at these prices, and the text with letters. */
static void
expect_row(clarke_elementary e, const char *cnl, const char *cr, const char *omega, const char *letters)
{
  clarke_prices p, none;
  clarke_count c;
  mpq_t got, want;
  char *text;

  mpq_inits(got, want, NULL);
  mpq_set_str(want, omega, 10);
  clarke_prices_init(&p);
  clarke_prices_init(&none);
  OK(clarke_prices_set(&p, CLARKE_NONLINEAR, cnl, "--cnl", &error));
  OK(clarke_prices_set(&p, CLARKE_SIGN, cr, "--cr", &error));
  clarke_count_init(&c);
  OK(clarke_count_add(&c, &e, 3, &error));
  ck_assert(clarke_count_omega(got, &c, &p));
  ck_assert_msg(mpq_equal(got, want), "%s at %s, %s", e.name, cnl, cr);
  text = clarke_count_omega_text(&c, &none);
  ck_assert_str_eq(text, letters);
  free(text);
  clarke_count_clear(&c);
  clarke_prices_clear(&p);
  clarke_prices_clear(&none);
  mpq_clears(got, want, NULL);
}

START_TEST(tables)
{
  clarke_pieces relu = {.n_kinks = 1, .slope = CLARKE_NONE};

  for (int k = 0; k < 2; k++)
    for (int d = 0; d < 3; d++)
      mpq_init(relu.coef[k][d]);
  mpq_set_si(relu.coef[1][1], 1, 1);
  expect_row(clarke_elementary_addition(), "1", "1", "5", "5");
  expect_row(clarke_elementary_product(), "7", "0", "5", "5");
  expect_row(clarke_elementary_plus_constant(), "1", "1", "3", "3");
  expect_row(clarke_elementary_times_constant(), "1", "1", "3", "3");
  expect_row(clarke_elementary_analytic(CLARKE_FN_LOG), "1", "1", "4", "(2 + 2 c_nl) / c_nl");
  expect_row(clarke_elementary_analytic(CLARKE_FN_LOG), "4", "1", "5/2", "(2 + 2 c_nl) / c_nl");
  expect_row(clarke_elementary_function(CLARKE_LOG), "1", "1", "4", "(2 + 2 c_nl) / c_nl");
  expect_row(clarke_elementary_function(CLARKE_EXP), "1", "1", "3", "(2 + c_nl) / c_nl");
  expect_row(clarke_elementary_inverse(), "1", "1", "5", "(4 + c_nl) / c_nl");
  expect_row(clarke_elementary_inverse(), "3", "1", "7/3", "(4 + c_nl) / c_nl");
  expect_row(clarke_elementary_pieces(&relu, "Relu", false), "1", "1", "3", "(2 + c_R) / c_R");
  expect_row(clarke_elementary_times_relu(), "1", "0", "5", "(5 + c_R) / (1 + c_R)");
  mpq_set_si(relu.coef[0][1], -1, 1);
  expect_row(clarke_elementary_pieces(&relu, "Abs", false), "1", "0", "3", "(3 + c_R) / (1 + c_R)");
  mpq_set_si(relu.coef[0][1], 1, 100);
  expect_row(clarke_elementary_pieces(&relu, "LeakyRelu", false), "1", "1", "2", "(3 + c_R) / (1 + c_R)");
  expect_row(clarke_elementary_elu(), "1", "0", "5/3", "(4 + c_nl + c_R) / (2 + c_nl + c_R)");
  expect_row(clarke_elementary_maximum(4), "1", "1", "11/3", "(8 + 3 c_R) / (3 c_R)");
  expect_row(clarke_elementary_order(4), "1", "1", "13/5", "(8 + 5 c_R) / (5 c_R)");
  expect_row(clarke_elementary_norm(3), "1", "1", "8/3", "(14 + 2 c_nl) / (5 + c_nl)");
  expect_row(clarke_elementary_choice(), "1", "1", "9", "(8 + c_R) / c_R");
  for (int k = 0; k < 2; k++)
    for (int d = 0; d < 3; d++)
      mpq_clear(relu.coef[k][d]);
}
END_TEST

/* Counts join; (2.11) of all is the sum of its terms. */
START_TEST(joined)
{
  const clarke_elementary plus = clarke_elementary_addition(), inverse = clarke_elementary_inverse();
  clarke_count a, b;
  clarke_amount forward;
  mpz_t p;
  mpq_t q;
  char *text;

  mpz_init_set_ui(p, 10);
  clarke_count_init(&a);
  clarke_count_init(&b);
  clarke_amount_init(&forward);
  OK(clarke_count_add(&a, &plus, 2, &error));
  OK(clarke_count_add(&b, &plus, 3, &error));
  OK(clarke_count_add(&b, &inverse, 1, &error));
  OK(clarke_count_add(&b, &inverse, 0, &error));
  OK(clarke_count_join(&a, &b, &error));
  ck_assert(a.n == 2 && mpz_cmp_ui(a.row[0].times, 5) == 0 && mpz_cmp_ui(a.row[1].times, 1) == 0);
  clarke_count_forward(&forward, &a, p);
  ck_assert_int_eq(mpz_cmp_ui(forward.of[CLARKE_ADDITION], 5 * (1 + 10)), 0);
  ck_assert_int_eq(mpz_cmp_ui(forward.of[CLARKE_MULTIPLICATION], 5 * 2 * 10 + 2 + 10), 0);
  ck_assert_int_eq(mpz_cmp_ui(forward.of[CLARKE_NONLINEAR], 1), 0);
  mpq_init(q);
  mpq_set_si(q, -6, 4);
  mpq_canonicalize(q);
  text = clarke_price_text(q);
  ck_assert_str_eq(text, "-3/2");
  mpq_clear(q);
  free(text);
  clarke_amount_clear(&forward);
  clarke_count_clear(&a);
  clarke_count_clear(&b);
  mpz_clear(p);
}
END_TEST

/* (2.5) has 2 max(c+, cx), (2.10) their sum: at costs 1 and 3, 6 against 4 for each predecessor. Forward: 3 p + 1, p + 3. */
START_TEST(loose)
{
  const clarke_elementary plus = clarke_elementary_addition(), inverse = clarke_elementary_inverse();
  clarke_operations o;
  clarke_amount a, b;
  clarke_prices p;
  clarke_count c;
  mpz_t entries, one;
  mpq_t q;

  mpz_init_set_ui(entries, 7);
  mpz_init_set_ui(one, 1);
  mpq_init(q);
  clarke_prices_init(&p);
  clarke_count_init(&c);
  clarke_amount_init(&a);
  clarke_amount_init(&b);
  OK(clarke_prices_set(&p, CLARKE_MULTIPLICATION, "3", "--ctimes", &error));
  OK(clarke_count_add(&c, &plus, 1, &error));
  ck_assert(clarke_count_omega(q, &c, &p));
  ck_assert_int_eq(mpq_cmp_ui(q, 13, 1), 0);
  clarke_elementary_backward(&o, &plus);
  clarke_amount_add(&a, &o, one);
  clarke_amount_price(q, &a, &p);
  ck_assert_int_eq(mpq_cmp_ui(q, 9, 1), 0);
  clarke_elementary_forward(&a, &plus, entries);
  clarke_prices_clear(&p);
  clarke_prices_init(&p);
  clarke_amount_price(q, &a, &p);
  ck_assert_int_eq(mpq_cmp_ui(q, 3 * 7 + 1, 1), 0);
  clarke_elementary_forward(&a, &inverse, entries);
  clarke_amount_price(q, &a, &p);
  ck_assert_int_eq(mpq_cmp_ui(q, 7 + 3, 1), 0);
  ck_assert(clarke_count_omega_forward(q, &c, entries, &p));
  ck_assert_int_eq(mpq_cmp_ui(q, 22, 1), 0);
  ck_assert_int_eq(clarke_prices_set(&p, CLARKE_SIGN, "-1", "--cr", &error), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, "--cr: -1 is below 0; no operation costs less than nothing");
  ck_assert_int_eq(clarke_prices_set(&p, CLARKE_SIGN, "much", "--cr", &error), CLARKE_EINPUT);
  clarke_amount_add_amount(&b, &a, entries);
  ck_assert(clarke_amount_ratio(q, &b, &a, &p) && mpq_cmp_ui(q, 7, 1) == 0);
  clarke_amount_clear(&a);
  clarke_amount_clear(&b);
  clarke_count_clear(&c);
  clarke_prices_clear(&p);
  mpz_clears(entries, one, NULL);
  mpq_clear(q);
}
END_TEST

START_TEST(texts)
{
  const struct {
    size_t above[CLARKE_N_OPERATIONS], below[CLARKE_N_OPERATIONS];
    const char *cr, *text, *ratio;
  } all[] = {
    {{3, 4, 2, 1}, {1, 0, 0, 0}, NULL, "7 + 2 c_nl + c_R", "(7 + 2 c_nl + c_R) / 1"},
    {{3, 4, 2, 1}, {1, 0, 0, 0}, "1/4", "29/4 + 2 c_nl", "(29 + 8 c_nl) / 4"},
    {{0, 0, 2, 0}, {0, 0, 4, 0}, NULL, "2 c_nl", "1/2"},
    {{0, 0, 0, 1}, {0, 0, 0, 0}, NULL, "c_R", "unbounded"},
    {{0, 0, 0, 0}, {0, 0, 0, 0}, NULL, "0", "0"},
    {{0, 0, 0, 0}, {0, 0, 0, 3}, NULL, "0", "0"},
    {{2, 0, 0, 1}, {0, 0, 0, 3}, "0", "2", "unbounded"},
  };

  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    clarke_operations o;
    clarke_amount a, b;
    clarke_prices p;
    mpz_t one;
    char *text, *ratio;

    mpz_init_set_ui(one, 1);
    clarke_prices_init(&p);
    if (all[k].cr != NULL)
      OK(clarke_prices_set(&p, CLARKE_SIGN, all[k].cr, "--cr", &error));
    clarke_amount_init(&a);
    clarke_amount_init(&b);
    memcpy(o.of, all[k].above, sizeof o.of);
    clarke_amount_add(&a, &o, one);
    memcpy(o.of, all[k].below, sizeof o.of);
    clarke_amount_add(&b, &o, one);
    text = clarke_amount_text(&a, &p);
    ratio = clarke_amount_ratio_text(&a, &b, &p);
    ck_assert_str_eq(text, all[k].text);
    ck_assert_str_eq(ratio, all[k].ratio);
    free(text);
    free(ratio);
    clarke_amount_clear(&a);
    clarke_amount_clear(&b);
    clarke_prices_clear(&p);
    mpz_clear(one);
  }
}
END_TEST

/* --- programs ---------------------------------------------------------------------------------------------- */

/* The functions of a text, "2 x, 1 +": in the order of their first occurrence. */
static void
expect_program(const char *source, const char *wrt, const char *want)
{
  char *names[] = {(char *)wrt}, got[256] = "";
  clarke_code p;
  clarke_count c;
  size_t at = 0;

  clarke_code_init(&p);
  clarke_count_init(&c);
  OK(clarke_prog_parse(&p, source, strlen(source), "t.prog", &error));
  OK(clarke_code_wrt(&p, names, wrt != NULL, &error));
  OK(clarke_count_program(&c, &p, &error));
  for (size_t i = 0; i < c.n; i++)
    at += (size_t)gmp_snprintf(got + at, sizeof got - at, "%s%Zd %s/%zu", i > 0 ? ", " : "", c.row[i].times, c.row[i].what.name,
                               c.row[i].what.arguments);
  ck_assert_msg(strcmp(got, want) == 0, "%s: %s, not %s", source, got, want);
  clarke_count_clear(&c);
  clarke_code_clear(&p);
}

START_TEST(programs)
{
  expect_program("input a, b\noutput a + b", NULL, "1 +/2");
  expect_program("input a, b\noutput a - b", NULL, "1 +/2");
  expect_program("input a, b\noutput a * b + 3 * a", NULL, "1 x/2, 1 xc/1, 1 +/2");
  expect_program("input a\noutput a * a", NULL, "1 x/2");
  expect_program("input a\noutput -a", NULL, "1 xc/1");
  expect_program("input a\noutput 1 * a", NULL, "1 xc/1");
  expect_program("input a\noutput 0 * a", NULL, "1 xc/1");
  expect_program("input a\noutput 2 - a", NULL, "1 +c/1");
  expect_program("input a\noutput a / 4", NULL, "1 xc/1");
  expect_program("input a\noutput 1 / a", NULL, "1 inv/1");
  expect_program("input a\noutput 3 / a", NULL, "1 inv/1, 1 xc/1");
  expect_program("input a, b\noutput a / b", NULL, "1 inv/1, 1 x/2");
  expect_program("input a\noutput exp(log(relu(a)))", NULL, "1 Relu/1, 1 log/1, 1 exp/1");
  expect_program("input a[4]\noutput sum(a)", NULL, "3 +/2");
  expect_program("input a[4]\noutput mean(a)", NULL, "3 +/2, 1 xc/1");
  expect_program("input a[4]\noutput norm1(a)", NULL, "4 Abs/1, 3 +/2");
  expect_program("input a[4]\noutput norminf(a)", NULL, "4 Abs/1, 1 max/4");
  expect_program("input a[4]\noutput norm2(a)", NULL, "1 norm/4");
  expect_program("input a, b\noutput max(a, b, 0)", NULL, "1 max/2");
  expect_program("input a[3]\noutput median(a)", NULL, "1 order/3");
  expect_program("input a, b\noutput if a > b then a else b", NULL, "1 if/4");
  expect_program("input a, b\noutput a * b + exp(b)", "a", "1 xc/1, 1 +c/1");
  expect_program("input a, b\noutput a * b\npiece b * a + a", NULL, "1 x/2");
  expect_program("input a, b\nlet unused = a * b\noutput a", NULL, "1 x/2");
}
END_TEST

/* a + b as a network of (2.13): m = 3 = 3 cost, no less. */
START_TEST(linear_relu)
{
  const clarke_elementary plus = clarke_elementary_addition(), product = clarke_elementary_product();
  clarke_linear_relu r;
  clarke_count c;
  mpz_t n;

  mpz_init(n);
  clarke_count_init(&c);
  clarke_linear_relu_init(&r);
  OK(clarke_count_add(&c, &plus, 1, &error));
  clarke_linear_relu_find(&r, &c, 2);
  ck_assert(r.is && r.memory == 3 && r.layers == 1 && mpz_cmp_ui(r.size, 12) == 0 && mpz_cmp_ui(r.bound, 18) == 0);
  OK(clarke_count_add(&c, &product, 1, &error));
  clarke_linear_relu_find(&r, &c, 2);
  ck_assert(!r.is);
  clarke_count_operations(n, &c);
  ck_assert_int_eq(mpz_cmp_ui(n, 2), 0);
  clarke_linear_relu_clear(&r);
  clarke_count_clear(&c);
  mpz_clear(n);
}
END_TEST

/* --- networks ---------------------------------------------------------------------------------------------- */

static double
odd_number(uint64_t *state)
{
  return (double)draw_between(state, 3, 9) / 2; /* no 0, 1 or -1: a constant that is one of these costs a program nothing */
}

/* Are all steps' values needed for the output? Programs leave the others out. */
static bool
all_needed(const clarke_graph *g)
{
  bool *needed = calloc(g->n_values, sizeof *needed), all = true;

  needed[g->output] = true;
  for (size_t i = g->n_steps; i-- > 0;) {
    all = all && needed[g->steps[i].out];
    for (size_t k = 0; k < g->steps[i].n_in; k++)
      needed[g->steps[i].in[k].value] = true;
  }
  free(needed);
  return all;
}

/* Does some value join entries that vary with entries that do not? Counts by steps take it for one that varies. */
static bool
joins(const clarke_graph *g)
{
  for (size_t i = 0; i < g->n_steps; i++)
    for (size_t k = 0; g->steps[i].kind == CLARKE_SUM && k < g->steps[i].n_in; k++)
      for (size_t f = 0; f < g->values[g->steps[i].out].count; f++)
        if (clarke_operand_entry(&g->steps[i].in[k], f) == CLARKE_NONE)
          return true;
  return false;
}

static void
expect_same(const clarke_count *steps, const clarke_count *program, size_t samples, size_t number, const char *what)
{
  clarke_amount a, b;
  mpz_t times, n[2];

  mpz_inits(n[0], n[1], NULL);
  mpz_init_set_ui(times, samples);
  clarke_amount_init(&a);
  clarke_amount_init(&b);
  for (int k = 0; k < 2; k++) {
    (k == 0 ? clarke_count_cost : clarke_count_backward)(&a, steps);
    (k == 0 ? clarke_count_cost : clarke_count_backward)(&b, program);
    for (int o = 0; o < CLARKE_N_OPERATIONS; o++) {
      mpz_mul(n[1], b.of[o], times);
      ck_assert_msg(mpz_cmp(a.of[o], n[1]) == 0, "network %zu, %s, operation %d: %lu by steps, %lu by the program", number, what, o,
                    mpz_get_ui(a.of[o]), mpz_get_ui(n[1]));
    }
  }
  clarke_amount_clear(&a);
  clarke_amount_clear(&b);
  mpz_clears(times, n[0], n[1], NULL);
}

static size_t
compare(const clarke_graph *g, const clarke_tensor *x, size_t number)
{
  clarke_network_cost cost;
  clarke_code p;
  clarke_count c;
  mpq_t *point = NULL;
  size_t n = 0, counted = 0;

  clarke_code_init(&p);
  clarke_count_init(&c);
  clarke_network_cost_init(&cost);
  if (all_needed(g) && clarke_unroll(&p, &point, &n, g, x, "in", &error) == CLARKE_OK) {
    OK(clarke_network_cost_find(&cost, g, false, &error));
    OK(clarke_count_program(&c, &p, &error));
    if (!joins(g))
      expect_same(&cost.total.count[CLARKE_PARAMETERS_ALONE], &c, x->dims[0], number, "input constant");
    clarke_count_clear(&c);
    OK(clarke_code_wrt(&p, NULL, 0, &error));
    OK(clarke_count_program(&c, &p, &error));
    expect_same(&cost.total.count[CLARKE_WITH_INPUT], &c, x->dims[0], number, "all quantities");
    counted = 1;
  }
  clarke_rationals_free(point, n);
  clarke_network_cost_clear(&cost);
  clarke_count_clear(&c);
  clarke_code_clear(&p);
  return counted;
}

START_TEST(unrolled_networks)
{
  uint64_t state = 36;
  size_t counted = 0;

  for (size_t i = 0; i < draw_count(300); i++) {
    growing grown;
    clarke_tensor x = grow_any(&grown, &state, odd_number, 1 + draw_below(&state, 6), true, false, i % 2 == 0);
    clarke_graph g;

    clarke_graph_init(&g);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    OK(clarke_graph_wrt(&g, NULL, 0, &error));
    if (clarke_graph_wrt_count(&g) > 0)
      counted += compare(&g, &x, i);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  ck_assert_uint_ge(counted, draw_count(300) / 3);
}
END_TEST

/* --- tables and Theorem 4 ------------------------------------------------------------------------------------- */

/* The suprema over c_nl >= 1, c_R >= 0; by the printed costs of the infinity norm, too. */
START_TEST(suprema)
{
  const clarke_elementary relu = {.name = "relu", .arguments = 1, .cost = {{0, 0, 0, 1}}, .joint = {{0, 0, 0, 1}}};
  const struct {
    clarke_elementary e;
    const char *most; /* NULL: there is none */
  } all[] = {
    {clarke_elementary_addition(), "5"}, {clarke_elementary_inverse(), "5"}, {clarke_elementary_times_relu(), "5"},
    {clarke_elementary_elu(), "5/3"}, {clarke_elementary_pooled(), "19/17"}, {clarke_elementary_one_norm(1), "3"},
    {clarke_elementary_one_norm(2), "7/3"}, {clarke_elementary_one_norm(3), "11/5"}, {clarke_elementary_infinity_norm(1), "3"},
    {clarke_elementary_infinity_norm(77), "3"}, {clarke_elementary_linear_maximum(2, 1), "3"},
    {clarke_elementary_linear_maximum(2, 3), "11/5"}, {relu, NULL},
  };
  clarke_table_row_of_costs row[CLARKE_COST_ROWS];
  mpq_t q, want;

  mpq_inits(q, want, NULL);
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    ck_assert(clarke_elementary_supremum(q, &all[k].e) == (all[k].most != NULL));
    if (all[k].most != NULL)
      mpq_set_str(want, all[k].most, 10);
    ck_assert_msg(all[k].most == NULL || mpq_equal(q, want), "%s", all[k].e.name);
  }
  ck_assert_uint_eq(clarke_cost_table(row, "2.1"), 6);
  ck_assert_uint_eq(clarke_cost_table(row, "2.2"), 6);
  ck_assert_uint_eq(clarke_cost_table(row, "2.3"), 11);
  ck_assert_uint_eq(clarke_cost_table(row, "2.4"), 0);
  mpq_clears(q, want, NULL);
}
END_TEST

static bool
orthogonal(const int *u, size_t p)
{
  for (size_t i = 0; i < p; i++)
    for (size_t k = 0; k < i; k++) {
      int sum = 0;

      for (size_t j = 0; j < p; j++)
        sum += u[i * p + j] * u[k * p + j];
      if (sum != 0)
        return false;
    }
  return true;
}

/* Sylvester's matrices are orthogonal; of 3 x 3 none of all 512 is. */
START_TEST(signs)
{
  int u[256];

  for (size_t p = 1; p <= 16; p *= 2) {
    for (size_t e = 0; e < p * p; e++)
      u[e] = clarke_sylvester(e / p, e % p);
    ck_assert(orthogonal(u, p));
    ck_assert_int_eq(clarke_orthogonal_signs(p), CLARKE_SIGNS_SYLVESTER);
  }
  for (unsigned bits = 0; bits < 512; bits++) {
    for (size_t e = 0; e < 9; e++)
      u[e] = bits >> e & 1 ? 1 : -1;
    ck_assert(!orthogonal(u, 3));
  }
  ck_assert_int_eq(clarke_orthogonal_signs(3), CLARKE_SIGNS_NONE);
  ck_assert_int_eq(clarke_orthogonal_signs(6), CLARKE_SIGNS_NONE);
  ck_assert_int_eq(clarke_orthogonal_signs(12), CLARKE_SIGNS_NOT_SAID);
}
END_TEST

START_TEST(products)
{
  const struct {
    size_t p, additions, cutoff;
    const char *cost;
  } all[] = {{1024, 18, 1, "1971035287"}, {512, 15, 1, "240810922"}, {16, 18, 8, "7872"}, {14, 15, 7, "5194"},
             {1024, 18, 8, "1100550336"}, {1024, 15, 8, "1048892160"}, {2, 18, 1, "25"}, {5, 18, 1, "225"}};
  const struct {
    size_t p;
    unsigned long cost;
    const char *ratio, *stated;
  } theorem[] = {{1, 8, "-1/10", "-1/10"}, {2, 28, "1/70", "1/80"}, {4, 104, "23/130", "23/160"}, {8, 400, "23/50", "23/64"}};
  mpz_t c, want;
  mpq_t ratio, stated, q;

  mpz_inits(c, want, NULL);
  mpq_inits(ratio, stated, q, NULL);
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    mpz_set_str(want, all[k].cost, 10);
    clarke_product_by_seven(c, all[k].p, all[k].additions, all[k].cutoff);
    ck_assert_msg(mpz_cmp(c, want) == 0, "p = %zu", all[k].p);
  }
  for (size_t k = 0; k < sizeof theorem / sizeof *theorem; k++) {
    clarke_directions_cost(c, theorem[k].p);
    ck_assert_int_eq(mpz_cmp_ui(c, theorem[k].cost), 0);
    clarke_product_naive(c, theorem[k].p);
    clarke_directions_ratio(ratio, stated, c, theorem[k].p);
    mpq_set_str(q, theorem[k].ratio, 10);
    ck_assert(mpq_equal(q, ratio));
    mpq_set_str(q, theorem[k].stated, 10);
    ck_assert(mpq_equal(q, stated));
  }
  mpz_clears(c, want, NULL);
  mpq_clears(ratio, stated, q, NULL);
}
END_TEST

/* --- conventions ------------------------------------------------------------------------------------------- */

/* Each counter's modes are of those that are read, its own baseline is there, and no convention is another's. */
START_TEST(conventions)
{
  clarke_layer_cost l;
  mpz_t n, own;
  size_t i = 0;

  mpz_inits(n, own, NULL);
  for (int t = 0; t < CLARKE_N_TERMS; t++) {
    mpz_init_set_ui(l.term[t], 1000 + 7 * (unsigned long)t);
    ck_assert_ptr_nonnull(clarke_term_name((clarke_term)t));
  }
  for (; clarke_convention_at(i) != NULL; i++) {
    const clarke_convention *c = clarke_convention_at(i);

    ck_assert_ptr_nonnull(clarke_convention_own(c->mode, c->both));
    clarke_convention_total(n, c, &l);
    ck_assert_int_gt(mpz_sgn(n), 0);
  }
  ck_assert_uint_ge(i, 15);
  clarke_convention_total(own, clarke_convention_own("forward", false), &l);
  clarke_layer_flop(n, &l, true);
  ck_assert_int_eq(mpz_cmp(n, own), 0);
  clarke_layer_products(n, &l);
  mpz_mul_ui(n, n, 2);
  ck_assert_int_eq(mpz_cmp(n, own), 0);
  for (int q = 0; q < CLARKE_N_QUANTITIES; q++) {
    clarke_convention_total(own, clarke_convention_own(q == CLARKE_WITH_INPUT ? "with-input" : "backward", false), &l);
    clarke_layer_flop_backward(n, &l, (clarke_quantities)q, true);
    ck_assert_int_eq(mpz_cmp(n, own), 0);
  }
  for (int t = 0; t < CLARKE_N_TERMS; t++)
    mpz_clear(l.term[t]);
  mpz_clears(n, own, NULL);
}
END_TEST

/* What the command reads, by its path: an ending says what it is. */
START_TEST(session)
{
  const clarke_cost_request wrong = {.path = "net.txt", .step = CLARKE_NONE};
  clarke_cost_session s;
  mpz_t p;

  mpz_init(p);
  clarke_cost_session_init(&s);
  ck_assert_int_eq(clarke_cost_session_read(&s, &wrong, &error), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, "net.txt: expected FILE.prog, FILE.onnx or a run folder");
  clarke_network_cost_entries(p, &s.cost, CLARKE_WITH_INPUT);
  ck_assert_int_eq(mpz_sgn(p), 0);
  clarke_cost_session_entries(p, &s, CLARKE_WITH_INPUT);
  ck_assert_int_eq(mpz_sgn(p), 0);
  ck_assert_uint_eq(clarke_cost_session_count(&s, CLARKE_WITH_INPUT)->n, 0);
  clarke_cost_session_clear(&s);
  mpz_clear(p);
}
END_TEST

/* A product: one multiplication; then it again for its partial derivatives, and one for each argument, which is added to 0. Behind a 0 nothing. */
START_TEST(as_run)
{
  static const char *const at[] = {"x=3", "y=5"}, *const off[] = {"x=-1", "y=5"};
  static const char text[] = "input x, y\noutput x*y\n", dead[] = "input x, y\noutput relu(x)*y\n";
  clarke_cost_session s;
  clarke_cost_run run;
  clarke_tally tally = {0};
  clarke_number a;

  clarke_cost_session_init(&s);
  OK(clarke_prog_parse(&s.program, text, strlen(text), "t.prog", &error));
  OK(clarke_code_wrt(&s.program, NULL, 0, &error));
  OK(clarke_cost_session_run(&run, &s, at, 2, &error));
  ck_assert(run.forward.additions == 0 && run.forward.multiplications == 1 && run.forward.functions == 0);
  ck_assert(run.backward.additions == 2 && run.backward.multiplications == 3 && run.backward.functions == 0);
  ck_assert_int_eq(clarke_cost_session_run(&run, &s, at, 1, &error), CLARKE_EINPUT);
  clarke_cost_session_clear(&s);
  clarke_cost_session_init(&s);
  OK(clarke_prog_parse(&s.program, dead, strlen(dead), "t.prog", &error));
  OK(clarke_code_wrt(&s.program, NULL, 0, &error));
  OK(clarke_cost_session_run(&run, &s, off, 2, &error));
  ck_assert(run.backward.additions <= 4 && run.backward.multiplications <= 5);
  clarke_cost_session_clear(&s);
  clarke_number_init(&a);
  clarke_tally_keep(&tally);
  clarke_number_add(&a, &a, &a, 64);
  clarke_number_analytic(&a, NULL, CLARKE_FN_EXP, &a, 64);
  clarke_number_div(&a, &a, &a, 64);
  clarke_number_sub(&a, &a, &a, 64);
  clarke_tally_keep(NULL);
  clarke_number_mul(&a, &a, &a, 64);
  ck_assert(tally.additions == 2 && tally.multiplications == 1 && tally.functions == 1);
  clarke_number_clear(&a);
}
END_TEST

/* What matrices compute is counted by their entries; nothing where no tally is kept, or no batch is given. */
START_TEST(as_run_in_matrices)
{
  static const double entries[] = {1, 2, 0, 4, 5, 6};
  const clarke_cost_request request = {.path = "net.onnx"};
  clarke_cost_session s;
  clarke_cost_run run;
  clarke_tally tally = {0};
  clarke_matrix a, b;

  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  OK(clarke_matrix_set_doubles(&a, 2, 3, entries, &error));
  clarke_tally_keep(&tally);
  OK(clarke_matrix_mul_nt(&b, &a, &a, &error));
  ck_assert(tally.multiplications == 12 && tally.additions == 8);
  OK(clarke_matrix_hadamard(&b, &a, &a, &error));
  OK(clarke_matrix_add(&b, &a, &b, &error));
  OK(clarke_matrix_row_sums(&b, &a, &error));
  clarke_tally_add(1, 2, 3);
  clarke_tally_keep(NULL);
  clarke_tally_add(1, 1, 1);
  OK(clarke_matrix_sub(&b, &a, &a, &error));
  ck_assert(tally.multiplications == 20 && tally.additions == 21 && tally.functions == 3);
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
  clarke_cost_session_init(&s);
  ck_assert_int_eq(clarke_cost_run_network(&run, &s, &request, "recorded", &error), CLARKE_EINPUT);
  clarke_cost_session_clear(&s);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("cost");

  tcase_add_test(tests, as_run);
  tcase_add_test(tests, as_run_in_matrices);
  tcase_add_test(tests, tables);
  tcase_add_test(tests, joined);
  tcase_add_test(tests, loose);
  tcase_add_test(tests, texts);
  tcase_add_test(tests, programs);
  tcase_add_test(tests, linear_relu);
  tcase_add_test(tests, unrolled_networks);
  tcase_add_test(tests, suprema);
  tcase_add_test(tests, signs);
  tcase_add_test(tests, products);
  tcase_add_test(tests, conventions);
  tcase_add_test(tests, session);
  return run_tests();
}
