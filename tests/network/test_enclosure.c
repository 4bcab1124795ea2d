/* Transcendental operators: values, derivatives and losses are enclosed, by other formulas at a
 * much higher precision; and precision grows until a sign is certain. */
#include "models.h"
#include "../ok.h"

#include "network/graph/build.h"
#include "network/derive/loss.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"
#include "network/derive/tangent.h"

#include <math.h>

#define PRECISION 1400 /* of the comparison; the library's pass has 128 */

/* --- duals of balls -------------------------------------------------------------------------- */

typedef struct {
  arb_t v, t;
} ball;

static void
balls_init(ball *b, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    arb_init(b[i].v);
    arb_init(b[i].t);
  }
}

static void
balls_clear(ball *b, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    arb_clear(b[i].v);
    arb_clear(b[i].t);
  }
}

static void
ball_exp(ball *y, const ball *x)
{
  ball e;

  balls_init(&e, 1);
  arb_exp(e.v, x->v, PRECISION);
  arb_mul(y->t, e.v, x->t, PRECISION);
  arb_set(y->v, e.v);
  balls_clear(&e, 1);
}

static void
ball_div(ball *y, const ball *a, const ball *b)
{
  arb_t q, r;

  arb_init(q);
  arb_init(r);
  arb_div(q, a->v, b->v, PRECISION);
  arb_mul(r, q, b->t, PRECISION);
  arb_sub(r, a->t, r, PRECISION);
  arb_div(y->t, r, b->v, PRECISION);
  arb_set(y->v, q);
  arb_clear(q);
  arb_clear(r);
}

/* tanh x = (e - 1) / (e + 1) with e = exp(2 x); sigmoid x = (tanh(x / 2) + 1) / 2. */
static void
ball_tanh(ball *y, const ball *x, long halvings)
{
  ball e, a, b;

  balls_init(&e, 1);
  balls_init(&a, 1);
  balls_init(&b, 1);
  arb_mul_2exp_si(e.v, x->v, 1 - halvings);
  arb_mul_2exp_si(e.t, x->t, 1 - halvings);
  ball_exp(&e, &e);
  arb_sub_ui(a.v, e.v, 1, PRECISION);
  arb_add_ui(b.v, e.v, 1, PRECISION);
  arb_set(a.t, e.t);
  arb_set(b.t, e.t);
  ball_div(y, &a, &b);
  balls_clear(&e, 1);
  balls_clear(&a, 1);
  balls_clear(&b, 1);
}

static void
apply(const char *op, ball *y, const ball *x, size_t n)
{
  ball sum, e[8];

  if (strcmp(op, "Tanh") == 0 || strcmp(op, "Sigmoid") == 0) {
    for (size_t i = 0; i < n; i++) {
      ball_tanh(&y[i], &x[i], op[0] == 'S');
      if (op[0] == 'T')
        continue;
      arb_add_ui(y[i].v, y[i].v, 1, PRECISION);
      arb_mul_2exp_si(y[i].v, y[i].v, -1);
      arb_mul_2exp_si(y[i].t, y[i].t, -1);
    }
    return;
  }
  balls_init(&sum, 1);
  balls_init(e, n);
  for (size_t i = 0; i < n; i++) {
    ball_exp(&e[i], &x[i]);
    arb_add(sum.v, sum.v, e[i].v, PRECISION);
    arb_add(sum.t, sum.t, e[i].t, PRECISION);
  }
  for (size_t i = 0; i < n; i++) {
    ball_div(&y[i], &e[i], &sum);
    if (op[0] == 'L') { /* the logarithm of that */
      arb_div(y[i].t, y[i].t, y[i].v, PRECISION);
      arb_log(y[i].v, y[i].v, PRECISION);
    }
  }
  balls_clear(&sum, 1);
  balls_clear(e, n);
}

/* y = x W, duals of the weights' directions. */
static void
product(ball *y, const ball *x, size_t n_in, size_t n_out, const double *w, const double *d)
{
  arb_t a, b;

  arb_init(a);
  arb_init(b);
  for (size_t o = 0; o < n_out; o++) {
    arb_zero(y[o].v);
    arb_zero(y[o].t);
    for (size_t i = 0; i < n_in; i++) {
      arb_set_d(a, w[i * n_out + o]);
      arb_set_d(b, d[i * n_out + o]);
      arb_addmul(y[o].v, x[i].v, a, PRECISION);
      arb_addmul(y[o].t, x[i].t, a, PRECISION);
      arb_addmul(y[o].t, x[i].v, b, PRECISION);
    }
  }
  arb_clear(a);
  arb_clear(b);
}

/* --- two layers: z = op1(x W), y = op2(z V) --------------------------------------------------- */

enum { IN = 3, HIDDEN = 4, OUT = 3, SAMPLES = 2 };

typedef struct {
  const char *op[2];
  double w[IN * HIDDEN], v[HIDDEN * OUT], dw[IN * HIDDEN], dv[HIDDEN * OUT];
  clarke_tensor x, y;
} two_layers;

static double
some_double(uint64_t *state, int spread)
{
  double u = ldexp((double)(int64_t)(draw(state) >> 10) - 0x1p53, -53);

  return draw_below(state, 8) == 0 ? 0 : ldexp(u, (int)draw_between(state, -spread, spread / 2));
}

static void
draw_two_layers(two_layers *n, uint64_t *state)
{
  static const char *const ops[] = {"Sigmoid", "Tanh", "Softmax", "LogSoftmax"};
  int spread = (int)draw_below(state, 3) * 4;

  for (size_t k = 0; k < 2; k++)
    n->op[k] = ops[draw_below(state, 4)];
  for (size_t e = 0; e < IN * HIDDEN; e++) {
    n->w[e] = some_double(state, spread);
    n->dw[e] = some_double(state, 1);
  }
  for (size_t e = 0; e < HIDDEN * OUT; e++) {
    n->v[e] = some_double(state, spread);
    n->dv[e] = some_double(state, 1);
  }
  n->x = tensor_of("x", CLARKE_F64, SHAPE(SAMPLES, IN,));
  for (size_t e = 0; e < SAMPLES * IN; e++)
    n->x.real[e] = some_double(state, spread);
  n->y = tensor_of("y", CLARKE_I64, SHAPE(SAMPLES,));
  for (size_t j = 0; j < SAMPLES; j++)
    n->y.integer[j] = draw_between(state, 0, OUT - 1);
}

static void
build_two_layers(clarke_graph *g, const two_layers *n)
{
  clarke_model m;

  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, IN,));
  memcpy(model_floats(&m, "W", SHAPE(IN, HIDDEN,)), n->w, sizeof n->w);
  memcpy(model_floats(&m, "V", SHAPE(HIDDEN, OUT,)), n->v, sizeof n->v);
  model_node(&m, "MatMul", "x,W", "p");
  model_node(&m, n->op[0], "p", "z");
  model_node(&m, "MatMul", "z,V", "q");
  model_node(&m, n->op[1], "q", "y");
  model_output(&m, "y");
  clarke_graph_init(g);
  OK(clarke_graph_build(g, &m, &n->x, &error));
  OK(clarke_graph_wrt(g, NULL, 0, &error));
  clarke_model_clear(&m);
}

static void
evaluate(ball out[SAMPLES][OUT], const two_layers *n)
{
  for (size_t j = 0; j < SAMPLES; j++) {
    ball x[IN], p[HIDDEN], z[HIDDEN], q[OUT];

    balls_init(x, IN);
    balls_init(p, HIDDEN);
    balls_init(z, HIDDEN);
    balls_init(q, OUT);
    balls_init(out[j], OUT);
    for (size_t i = 0; i < IN; i++)
      arb_set_d(x[i].v, n->x.real[j * IN + i]);
    product(p, x, IN, HIDDEN, n->w, n->dw);
    apply(n->op[0], z, p, HIDDEN);
    product(q, z, HIDDEN, OUT, n->v, n->dv);
    apply(n->op[1], out[j], q, OUT);
    balls_clear(x, IN);
    balls_clear(p, HIDDEN);
    balls_clear(z, HIDDEN);
    balls_clear(q, OUT);
  }
}

/* The entry's enclosure holds the (much smaller) ball; both are narrow. */
static void
holds(const clarke_matrix *m, size_t i, size_t j, const arb_t truth, const char *what)
{
  arb_t entry, slack;

  arb_init(entry);
  arb_init(slack);
  if (m->rows > 0)
    clarke_matrix_get_ball(entry, m, i, j, PRECISION);
  arb_sub(slack, entry, truth, PRECISION);
  ck_assert_msg(arb_contains_zero(slack), "%s (%zu,%zu) is not enclosed", what, i, j);
  ck_assert_msg(mag_cmp_2exp_si(arb_radref(entry), -90) < 0, "%s (%zu,%zu) is wide", what, i, j);
  arb_clear(entry);
  arb_clear(slack);
}

/* sum <gradient, direction> */
static void
along(arb_t sum, const clarke_matrix *gradient, const double *d, size_t n)
{
  arb_t g, c;

  arb_init(g);
  arb_init(c);
  for (size_t e = 0; e < n && gradient->rows > 0; e++) {
    clarke_matrix_get_ball(g, gradient, e, 0, PRECISION);
    arb_set_d(c, d[e]);
    arb_addmul(sum, g, c, PRECISION);
  }
  arb_clear(g);
  arb_clear(c);
}

/* Cross-entropy and its derivative, from the definition: mean of -log(softmax[label]). */
static void
cross_entropy(ball *loss, ball out[SAMPLES][OUT], const two_layers *n)
{
  balls_init(loss, 1);
  for (size_t j = 0; j < SAMPLES; j++) {
    ball l[OUT];

    balls_init(l, OUT);
    apply("LogSoftmax", l, out[j], OUT);
    arb_sub(loss->v, loss->v, l[n->y.integer[j]].v, PRECISION);
    arb_sub(loss->t, loss->t, l[n->y.integer[j]].t, PRECISION);
    balls_clear(l, OUT);
  }
  arb_div_ui(loss->v, loss->v, SAMPLES, PRECISION);
  arb_div_ui(loss->t, loss->t, SAMPLES, PRECISION);
}

static void
check_cross_entropy(const clarke_graph *g, const clarke_forward *pass, const clarke_slopes *slopes,
                    const two_layers *n, ball out[SAMPLES][OUT])
{
  clarke_loss loss = {.kind = CLARKE_LOSS_CE, .y = &n->y, .samples = SAMPLES};
  clarke_matrix grad[16], gradient[2];
  ball truth;
  arb_t value, slope;

  cross_entropy(&truth, out, n);
  arb_init(value);
  arb_init(slope);
  for (size_t v = 0; v < g->n_values; v++)
    clarke_matrix_init(&grad[v]);
  for (size_t p = 0; p < 2; p++)
    clarke_matrix_init(&gradient[p]);
  OK(clarke_loss_check(&loss, g, &error));
  OK(clarke_loss_value(value, &loss, pass, &error));
  ck_assert(arb_overlaps(value, truth.v));
  OK(clarke_loss_seed(&grad[g->output], &loss, pass, NULL, &error));
  OK(clarke_reverse_run(grad, pass, slopes, CLARKE_NONE, clarke_gradient_sink, gradient, &error));
  along(slope, &gradient[0], n->dw, IN * HIDDEN);
  along(slope, &gradient[1], n->dv, HIDDEN * OUT);
  ck_assert_msg(arb_overlaps(slope, truth.t), "%s %s: reverse mode", n->op[0], n->op[1]);
  ck_assert(mag_cmp_2exp_si(arb_radref(slope), -80) < 0);
  for (size_t v = 0; v < g->n_values; v++)
    clarke_matrix_clear(&grad[v]);
  for (size_t p = 0; p < 2; p++)
    clarke_matrix_clear(&gradient[p]);
  arb_clear(value);
  arb_clear(slope);
  balls_clear(&truth, 1);
}

START_TEST(two_layers_are_enclosed)
{
  uint64_t state = 41;

  for (size_t i = 0; i < 150; i++) {
    two_layers n;
    clarke_graph g;
    clarke_replay replay;
    clarke_forward pass;
    clarke_slopes slopes;
    clarke_matrix d[2], tangent[16];
    ball out[SAMPLES][OUT];

    draw_two_layers(&n, &state);
    build_two_layers(&g, &n);
    ck_assert_uint_le(g.n_values, 16);
    evaluate(out, &n);
    clarke_replay_init(&replay);
    clarke_forward_init(&pass);
    clarke_slopes_init(&slopes);
    for (size_t v = 0; v < g.n_values; v++)
      clarke_matrix_init(&tangent[v]);
    clarke_matrix_init(&d[0]);
    clarke_matrix_init(&d[1]);
    OK(clarke_replay_run(&replay, NULL, &g, &n.x, false, 1, &error));
    OK(clarke_replay_all(&pass, &replay, true, 128, &error));
    OK(clarke_slopes_choose(&slopes, &pass, NULL, 0, NULL, NULL, &error));
    OK(clarke_matrix_set_doubles(&d[0], IN * HIDDEN, 1, n.dw, &error));
    OK(clarke_matrix_set_doubles(&d[1], HIDDEN * OUT, 1, n.dv, &error));
    OK(clarke_tangent_run(tangent, &pass, &slopes, d, &error));
    for (size_t j = 0; j < SAMPLES; j++)
      for (size_t o = 0; o < OUT; o++) {
        holds(&pass.value[g.output], o, j, out[j][o].v, n.op[1]);
        holds(&tangent[g.output], o, j, out[j][o].t, "tangent");
      }
    check_cross_entropy(&g, &pass, &slopes, &n, out);
    for (size_t v = 0; v < g.n_values; v++)
      clarke_matrix_clear(&tangent[v]);
    for (size_t j = 0; j < SAMPLES; j++)
      balls_clear(out[j], OUT);
    clarke_matrix_clear(&d[0]);
    clarke_matrix_clear(&d[1]);
    clarke_slopes_clear(&slopes);
    clarke_forward_clear(&pass);
    clarke_replay_clear(&replay);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&n.x);
    clarke_tensor_clear(&n.y);
  }
}
END_TEST

/* --- growing precision ----------------------------------------------------------------------- */

/* relu(op(x) - c_1 - c_2 - ...), the c_i the leading doubles of op(x): the argument is some
 * 2^(-53 terms), of known sign. */
static void
check_growth(const char *op, double at, size_t terms, int side)
{
  clarke_model m;
  clarke_graph g;
  clarke_replay replay;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 1,));
  ball in, rest;
  char name[32], both[80], before[32] = "s";
  int truth;

  balls_init(&in, 1);
  balls_init(&rest, 1);
  x.real[0] = at;
  arb_set_d(in.v, at);
  apply(op, &rest, &in, 1);
  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 1,));
  model_node(&m, op, "x", "s");
  for (size_t i = 0; i < terms; i++) {
    double c = arf_get_d(arb_midref(rest.v), i + 1 < terms ? ARF_RND_NEAR
                                             : side > 0    ? ARF_RND_FLOOR
                                                           : ARF_RND_CEIL);
    arb_t number;

    snprintf(name, sizeof name, "c%zu", i);
    model_floats(&m, name, SHAPE(1,))[0] = c;
    snprintf(both, sizeof both, "%s,%s", before, name);
    snprintf(before, sizeof before, "t%zu", i);
    model_node(&m, "Sub", both, before);
    arb_init(number);
    arb_set_d(number, c);
    arb_sub(rest.v, rest.v, number, PRECISION);
    arb_clear(number);
  }
  model_node(&m, "Relu", before, "y");
  model_output(&m, "y");
  truth = arb_is_positive(rest.v) ? 1 : arb_is_negative(rest.v) ? -1 : 0;
  ck_assert_int_eq(truth, side);
  clarke_graph_init(&g);
  clarke_replay_init(&replay);
  OK(clarke_graph_build(&g, &m, &x, &error));
  OK(clarke_replay_run(&replay, NULL, &g, &x, false, 1, &error));
  if (terms <= 16) {
    ck_assert_uint_eq(replay.open, 0);
    ck_assert_int_eq(replay.piece[g.n_steps - 1][0], side > 0);
    if (replay.near.g == NULL) /* decided by rounded enclosures, which have 191 bits at most */
      ck_assert_uint_le(terms, 3);
    else
      ck_assert_int_ge(replay.near.precision, 53 * (long)terms > 64 ? 53 * (long)terms : 64);
  } else
    ck_assert_uint_eq(replay.open, 1); /* past the highest precision: open, never guessed */
  clarke_replay_clear(&replay);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
  clarke_tensor_clear(&x);
  balls_clear(&in, 1);
  balls_clear(&rest, 1);
}

START_TEST(precision_grows_until_signs_are_certain)
{
  static const double at[] = {0.3, -1.7, 5, 0x1p-20};

  for (size_t i = 0; i < 4; i++)
    for (size_t terms = 1; terms <= 22; terms += terms == 8 ? 8 : terms == 16 ? 6 : 1)
      for (int side = -1; side <= 1; side += 2) {
        check_growth("Sigmoid", at[i], terms, side);
        check_growth("Tanh", at[i], terms, side);
      }
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-enclosure");
  int failed;

  tcase_add_test(tcase, two_layers_are_enclosed);
  tcase_add_test(tcase, precision_grows_until_signs_are_certain);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
