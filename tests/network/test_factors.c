/* Signs of what no enclosure tells from 0, by factors: of drawn sums and products of functions, beside Arb, whose exponents have no end. */
#include "models.h"
#include "../ok.h"

#include "network/graph/build.h"
#include "network/pass/factors.h"
#include "network/pass/sign.h"
#include "network/replay/nearest.h"

#include <flint/flint.h>
#include <math.h>
#if __FLINT_RELEASE >= 30000
#include <flint/arb_hypgeom.h>
#else
#include <arb_hypgeom.h>
#endif

#define WIDTH 6
#define NODES 12
#define NETWORKS 1000
#define PRECISION 600

typedef struct {
  clarke_model m;
  clarke_tensor x;
  uint64_t state;
  arb_t y[NODES + 1][WIDTH];
} drawn;

/* 0, small or large, of either sign. */
static double
draw_argument(uint64_t *state)
{
  static const double scale[] = {1, 1, 30, 700, 15000, 15000, 40000};
  const double unit = (double)(draw_below(state, 2001)) / 1000 - 1;

  return draw_below(state, 12) == 0 ? 0 : unit * scale[draw_below(state, 7)];
}

static void
value_of(arb_t y, const char *op, const arb_t a, const arb_t b)
{
  arb_t t;

  arb_init(t);
  if (strcmp(op, "Add") == 0)
    arb_add(t, a, b, PRECISION);
  else if (strcmp(op, "Sub") == 0)
    arb_sub(t, a, b, PRECISION);
  else if (strcmp(op, "Mul") == 0)
    arb_mul(t, a, b, PRECISION);
  else if (strcmp(op, "Tanh") == 0)
    arb_tanh(t, a, PRECISION);
  else if (strcmp(op, "Erf") == 0)
    arb_hypgeom_erf(t, a, PRECISION);
  else if (strcmp(op, "Atan") == 0)
    arb_atan(t, a, PRECISION);
  else { /* exp(x) / (1 + exp(x)) */
    arb_exp(t, a, PRECISION);
    arb_add_ui(y, t, 1, PRECISION);
    arb_div(t, t, y, PRECISION);
  }
  arb_set(y, t);
  arb_clear(t);
}

/* Node k reads one or two of those before it, often functions of the input. */
static void
add_node(drawn *d, size_t k)
{
  static const char *const ops[] = {"Sigmoid", "Sigmoid", "Tanh", "Tanh", "Erf", "Atan", "Mul", "Mul", "Mul", "Add", "Sub"};
  const size_t of = draw_below(&d->state, 11), a = k < 4 ? 0 : draw_below(&d->state, k), b = draw_below(&d->state, k);
  const char *op = ops[k < 4 ? of % 4 : of];
  char in[64], out[32];

  snprintf(in, sizeof in, "v%zu,v%zu", a, b);
  snprintf(out, sizeof out, "v%zu", k);
  if (strcmp(op, "Mul") != 0 && strcmp(op, "Add") != 0 && strcmp(op, "Sub") != 0)
    *strchr(in, ',') = '\0';
  model_node(&d->m, op, in, out);
  for (size_t i = 0; i < WIDTH; i++)
    value_of(d->y[k][i], op, d->y[a][i], d->y[b][i]);
}

static void
begin(drawn *d, uint64_t seed)
{
  *d = (drawn){.state = seed, .x = tensor_of("v0", CLARKE_F64, SHAPE(1, WIDTH,))};
  model_begin(&d->m, 16);
  model_input(&d->m, "v0", SHAPE(-1, WIDTH,));
  for (size_t k = 0; k <= NODES; k++)
    for (size_t i = 0; i < WIDTH; i++)
      arb_init(d->y[k][i]);
  for (size_t i = 0; i < WIDTH; i++) {
    d->x.real[i] = draw_argument(&d->state);
    arb_set_d(d->y[0][i], d->x.real[i]);
  }
  for (size_t k = 1; k <= NODES; k++)
    add_node(d, k);
  model_node(&d->m, "Relu", "v12", "y");
  model_output(&d->m, "y");
}

static void
end(drawn *d)
{
  for (size_t k = 0; k <= NODES; k++)
    for (size_t i = 0; i < WIDTH; i++)
      arb_clear(d->y[k][i]);
  clarke_model_clear(&d->m);
  clarke_tensor_clear(&d->x);
}

/* Is it so small that an enclosure of 1,024 bits does not tell it from 0? */
static bool
is_tiny(const arb_t y)
{
  return arf_cmpabs_2exp_si(arb_midref(y), -1200) < 0;
}

/* The piece of an entry of the last pass, once more, from its argument's sign. */
static clarke_branch
told_again(clarke_replay *r, size_t step, size_t i)
{
  const int sign = clarke_factors_sign(&r->near, r->g->steps[step].in[0].value, i, 0);

  r->near.piece[step][i] = CLARKE_OPEN;
  clarke_sign_by_factors(&r->near, step);
  ck_assert_int_eq(r->near.piece[step][i], sign == 2 ? CLARKE_OPEN : sign > 0);
  return r->near.piece[step][i];
}

START_TEST(signs_are_those_of_arb)
{
  size_t tiny = 0, told = 0;

  for (uint64_t seed = 1; seed <= NETWORKS; seed++) {
    drawn d;
    clarke_graph g;
    clarke_replay r;

    begin(&d, seed);
    clarke_graph_init(&g);
    clarke_replay_init(&r);
    OK(clarke_graph_build(&g, &d.m, &d.x, &error));
    OK(clarke_replay_run(&r, NULL, &g, &d.x, true, 1, &error));
    for (size_t i = 0; i < WIDTH; i++) {
      const arb_ptr y = d.y[NODES][i];
      const clarke_branch piece = r.piece[g.n_steps - 1][i];

      if (piece >= 0)
        ck_assert_msg(arb_contains_zero(y) ? !arb_is_zero(y) : arb_is_positive(y) == (piece == 1), "network %lu, entry %zu: piece %d",
                      (unsigned long)seed, i, piece);
      if (!arb_contains_zero(y) && is_tiny(y)) {
        ck_assert_int_eq(told_again(&r, g.n_steps - 1, i), piece);
        tiny++;
        told += piece >= 0;
      }
    }
    clarke_replay_clear(&r);
    clarke_graph_clear(&g);
    end(&d);
  }
  ck_assert_uint_gt(tiny, 200);
  ck_assert_uint_gt(told, tiny * 9 / 10);
}
END_TEST

/* Of two sigmoids one is larger by a part of 2^-52: powers of two do not tell. */
START_TEST(what_may_be_zero_stays_open)
{
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 1,));
  clarke_model m;
  clarke_graph g;
  clarke_replay r;

  x.real[0] = -15000;
  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 1,));
  model_floats(&m, "c", SHAPE(1,))[0] = 0x1p-52;
  model_node(&m, "Sigmoid", "x", "s");
  model_node(&m, "Add", "x,c", "z");
  model_node(&m, "Sigmoid", "z", "t");
  model_node(&m, "Sub", "t,s", "d");
  model_node(&m, "Relu", "d", "y");
  model_output(&m, "y");
  clarke_graph_init(&g);
  clarke_replay_init(&r);
  OK(clarke_graph_build(&g, &m, &x, &error));
  OK(clarke_replay_run(&r, NULL, &g, &x, true, 1, &error));
  ck_assert_uint_eq(r.open, 1);
  ck_assert_int_eq(r.piece[g.n_steps - 1][0], CLARKE_OPEN);
  clarke_replay_clear(&r);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
  clarke_tensor_clear(&x);
}
END_TEST

/* exp(3000) is on its side, by no distance that a double bounds. */
START_TEST(what_no_double_bounds_has_a_side)
{
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
  clarke_model m;
  clarke_graph g;
  clarke_replay r;
  clarke_margins margins;
  clarke_nearest list;

  x.real[0] = 3000;
  x.real[1] = 1;
  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 2,));
  model_node(&m, "Exp", "x", "e");
  model_node(&m, "Relu", "e", "y");
  model_output(&m, "y");
  clarke_graph_init(&g);
  clarke_replay_init(&r);
  clarke_margins_init(&margins);
  clarke_nearest_init(&list);
  OK(clarke_graph_build(&g, &m, &x, &error));
  OK(clarke_replay_run(&r, &margins, &g, &x, true, 1, &error));
  ck_assert_uint_eq(r.open, 0);
  ck_assert_int_eq(r.piece[g.n_steps - 1][0], 1);
  OK(clarke_nearest_find(&list, &r, 2, SIZE_MAX, &error));
  ck_assert_uint_eq(list.n, 2);
  ck_assert_uint_eq(list.near[0].feature, 0);
  ck_assert(!list.near[0].exact && mpq_sgn(list.near[0].distance) == 0);
  ck_assert_uint_eq(list.near[1].feature, 1);
  ck_assert_int_ge(list.near[0].ulp, 1000);
  ck_assert(mpq_sgn(list.near[1].distance) >= 0 && mpq_get_d(list.near[1].distance) <= 3);
  clarke_nearest_clear(&list);
  clarke_replay_clear(&r);
  clarke_margins_clear(&margins);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
  clarke_tensor_clear(&x);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-factors");
  int failed;

  tcase_add_test(tcase, signs_are_those_of_arb);
  tcase_add_test(tcase, what_may_be_zero_stays_open);
  tcase_add_test(tcase, what_no_double_bounds_has_a_side);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
