/* Steps with kinks, an entry at a time: places, values and slopes beside the operators' formulas; slopes are differences, which
 * are exact for what is at most quadratic. Enclosed arguments: what they hold is held. */
#include "models.h"
#include "../ok.h"

#include "network/graph/build.h"
#include "network/pass/piecewise.h"
#include "network/pass/sign.h"

#include <flint/flint.h>
#include <math.h>
#include <stdio.h>

enum { FEATURES = 4, COLUMNS = 65 }; /* from -4 to 4 by eighths */

static const struct {
  const char *op;
  size_t n_kinks;
  double kink[2];
} operators[] = {
  {"Relu", 1, {0}}, {"LeakyRelu", 1, {0}}, {"Abs", 1, {0}}, {"Clip", 2, {-1, 2}}, {"HardSigmoid", 2, {-2, 2}},
  {"HardSwish", 2, {-3, 3}}, {"PRelu", 1, {0}}, {"Huber", 2, {-1, 1}},
};

static const double prelu[FEATURES] = {0.5, 1, -2, 0}; /* the second has no kink */

enum { RELU, LEAKY, ABSOLUTE, CLIP, HARDSIGMOID, HARDSWISH, PRELU, HUBER };

/* 6 f(x), which has no rounding at the numbers of this test. */
static double
formula(int op, size_t f, double x)
{
  switch (op) {
  case RELU:
    return 6 * fmax(x, 0);
  case LEAKY:
    return 6 * (x > 0 ? x : 0.25 * x);
  case ABSOLUTE:
    return 6 * fabs(x);
  case CLIP:
    return 6 * fmin(fmax(x, -1), 2);
  case HARDSIGMOID:
    return 6 * fmin(fmax(0.25 * x + 0.5, 0), 1);
  case HARDSWISH:
    return x * fmin(fmax(x + 3, 0), 6);
  case HUBER:
    return fabs(x) < 1 ? 3 * x * x : 6 * fabs(x) - 3;
  default:
    return 6 * (x > 0 ? x : prelu[f] * x);
  }
}

/* Six times the slope inside a piece, and on a side of a kink, from there. */
static double
slope_inside(int op, size_t f, double x)
{
  return (formula(op, f, x + 0x1p-6) - formula(op, f, x - 0x1p-6)) * 0x1p5;
}

static double
slope_beside(int op, size_t f, double x, bool right)
{
  const double h = right ? 0x1p-6 : -0x1p-6;

  return (4 * formula(op, f, x + h) - 3 * formula(op, f, x) - formula(op, f, x + 2 * h)) / (2 * h);
}

typedef struct {
  clarke_model m;
  clarke_tensor batch;
  clarke_graph g;
  clarke_constants constants;
  const clarke_step *step;
  clarke_matrix x;
  clarke_branch piece[FEATURES * COLUMNS];
  size_t open;
} one_step;

static double
argument(size_t e)
{
  return (double)(e % COLUMNS) / 8 - 4;
}

/* The step on its arguments, with these radii (NULL: exact), decided. */
static void
begin(one_step *s, int op, const double *radius)
{
  double v[FEATURES * COLUMNS];
  clarke_model_node *node;

  memset(s, 0, sizeof *s);
  model_begin(&s->m, 16);
  model_input(&s->m, "x", SHAPE(-1, FEATURES,));
  model_output(&s->m, "y");
  model_floats(&s->m, "low", SHAPE())[0] = -1;
  model_floats(&s->m, "high", SHAPE())[0] = 2;
  model_floats(&s->m, "one", SHAPE())[0] = 1;
  memcpy(model_floats(&s->m, "slope", SHAPE(FEATURES,)), prelu, sizeof prelu);
  node = model_node(&s->m, operators[op].op, op == CLIP ? "x,low,high" : op == PRELU ? "x,slope" : op == HUBER ? "x,one" : "x", "y");
  if (op == HUBER) {
    free(node->domain);
    node->domain = strdup("clarke");
  }
  if (op == LEAKY || op == HARDSIGMOID)
    attr_float(node, "alpha", 0.25);
  s->batch = tensor_of("x", CLARKE_F64, SHAPE(1, FEATURES,));
  clarke_graph_init(&s->g);
  clarke_matrix_init(&s->x);
  OK(clarke_graph_build(&s->g, &s->m, &s->batch, &error));
  OK(clarke_graph_wrt(&s->g, NULL, 0, &error));
  OK(clarke_constants_init(&s->constants, &s->g, &error));
  s->step = &s->g.steps[s->g.n_steps - 1];
  ck_assert_int_eq(s->step->kind, CLARKE_PIECEWISE);
  ck_assert_uint_eq(s->step->pieces.n_kinks, operators[op].n_kinks);
  for (size_t e = 0; e < FEATURES * COLUMNS; e++)
    v[e] = argument(e);
  OK(clarke_matrix_set_doubles(&s->x, FEATURES, COLUMNS, v, &error));
  if (radius != NULL) {
    OK(clarke_matrix_need_radius(&s->x, &error));
    memcpy(s->x.radius, radius, FEATURES * COLUMNS * sizeof *radius);
  }
  OK(clarke_sign_decide(s->piece, &s->open, &s->constants, s->step, &s->x, &error));
}

static void
end(one_step *s)
{
  clarke_matrix_clear(&s->x);
  clarke_constants_clear(&s->constants);
  clarke_graph_clear(&s->g);
  clarke_tensor_clear(&s->batch);
  clarke_model_clear(&s->m);
}

/* Huber's joints are none: an argument there is the parabola's. */
static bool
is_kink(int op, size_t f)
{
  return op != HUBER && (op != PRELU || prelu[f] != 1);
}

/* Where an exact argument lies. */
static clarke_branch
place_of(int op, size_t f, double x)
{
  clarke_branch piece = 0;

  for (size_t k = 0; k < operators[op].n_kinks; k++) {
    if (x == operators[op].kink[k] && is_kink(op, f))
      return CLARKE_AT(k);
    piece = (clarke_branch)(piece + (x > operators[op].kink[k] || (op == HUBER && k == 0 && x == -1)));
  }
  return piece;
}

/* Is the entry, exact, a sixth of this? */
static void
is_sixth(const clarke_matrix *m, size_t e, double six)
{
  mpq_t found, expected, by;

  mpq_inits(found, expected, by, NULL);
  clarke_matrix_get(found, m, e / COLUMNS, e % COLUMNS);
  mpq_set_d(expected, six);
  mpq_set_ui(by, 6, 1);
  mpq_div(expected, expected, by);
  ck_assert_msg(mpq_equal(found, expected), "entry %zu: %g, not %g", e, mpq_get_d(found), six / 6);
  mpq_clears(found, expected, by, NULL);
}

/* The steepest that was met is the bound. */
static void
check_kinks(const one_step *s, int op, double steepest)
{
  double bound = clarke_piecewise_lipschitz(&s->g, s->step);
  mpq_t slope;

  mpq_init(slope);
  for (size_t f = 0; f < FEATURES; f++)
    for (size_t k = 0; k < operators[op].n_kinks; k++)
      for (int right = 0; right < 2; right++) {
        double expected = slope_beside(op, f, operators[op].kink[k], right) / 6;

        clarke_piecewise_side(slope, &s->g, s->step, f, k, right);
        ck_assert_double_eq_tol(mpq_get_d(slope), expected, 1e-12);
        steepest = fmax(steepest, fabs(expected));
      }
  ck_assert_double_ge(bound, steepest * (1 - 1e-12));
  ck_assert_double_le(bound, steepest * (1 + 1e-9));
  mpq_clear(slope);
}

START_TEST(exact_arguments)
{
  clarke_matrix y, slope;
  double steepest = 0;
  one_step s;

  begin(&s, _i, NULL);
  clarke_matrix_init(&y);
  clarke_matrix_init(&slope);
  OK(clarke_piecewise_apply(&y, &s.constants, s.step, &s.x, s.piece, &error));
  OK(clarke_piecewise_slopes(&slope, &s.constants, s.step, &s.x, s.piece, &error));
  ck_assert(s.open == 0 && y.radius == NULL && slope.radius == NULL);
  for (size_t e = 0; e < FEATURES * COLUMNS; e++) {
    const size_t f = e / COLUMNS;
    const bool joint = _i == HUBER && fabs(argument(e)) == 1, bent = _i == HARDSWISH || _i == HUBER;
    const double six = joint            ? slope_beside(_i, f, argument(e), false)
                       : s.piece[e] >= 0 ? slope_inside(_i, f, argument(e))
                                         : 0;
    const bool number = s.piece[e] >= 0 && !(_i == PRELU && s.piece[e] == 0) && six == 0;

    ck_assert_int_eq(s.piece[e], place_of(_i, f, argument(e)));
    is_sixth(&y, e, formula(_i, f, argument(e)));
    is_sixth(&slope, e, six);
    if (!bent || six != 0 || s.piece[e] == 2) /* a parabola's slope is 0 at one point */
      ck_assert_int_eq(clarke_piece_is_number(&s.step->pieces, s.piece[e]), number);
    steepest = fmax(steepest, fabs(six) / 6);
  }
  check_kinks(&s, _i, steepest);
  clarke_matrix_clear(&y);
  clarke_matrix_clear(&slope);
  end(&s);
}
END_TEST

/* |found - true| <= radius, but for the rounding of the comparison. */
static void
holds(const clarke_matrix *m, size_t e, double exact)
{
  double found = clarke_matrix_get_double(m, e / COLUMNS, e % COLUMNS);
  double radius = clarke_matrix_radius(m, e / COLUMNS, e % COLUMNS);

  ck_assert_msg(fabs(found - exact) <= radius + 1e-12, "entry %zu: %g +- %g does not hold %g", e, found, radius, exact);
}

START_TEST(enclosed_arguments)
{
  double radius[FEATURES * COLUMNS];
  size_t opened = 0, next = 0;
  clarke_matrix y, slope;
  one_step s;

  for (size_t e = 0; e < FEATURES * COLUMNS; e++)
    radius[e] = (double)(1 + e * 7 % 5) * 0x1p-4; /* no end at a kink, but from an odd sixteenth */
  begin(&s, _i, radius);
  clarke_matrix_init(&y);
  clarke_matrix_init(&slope);
  OK(clarke_piecewise_apply(&y, &s.constants, s.step, &s.x, s.piece, &error));
  OK(clarke_piecewise_slopes(&slope, &s.constants, s.step, &s.x, s.piece, &error));
  for (size_t e = 0; e < FEATURES * COLUMNS; e++) {
    const double low = argument(e) - radius[e], high = argument(e) + radius[e];
    const size_t f = e / COLUMNS;
    bool inside = false, beside = false;

    for (size_t k = 0; k < operators[_i].n_kinks; k++) {
      inside = inside || (low < operators[_i].kink[k] && operators[_i].kink[k] < high);
      beside = beside || low == operators[_i].kink[k] || high == operators[_i].kink[k];
    }
    ck_assert(!inside || s.piece[e] == CLARKE_OPEN);
    ck_assert(inside || beside || s.piece[e] == place_of(_i, f, argument(e)));
    opened += s.piece[e] == CLARKE_OPEN;
    next += beside;
    for (int t = -4; t <= 4; t++) {
      const double x = argument(e) + t * radius[e] / 4;

      holds(&y, e, formula(_i, f, x) / 6);
      if (s.piece[e] >= 0 && place_of(_i, f, x) == s.piece[e])
        holds(&slope, e, slope_beside(_i, f, x, x < argument(e)) / 6); /* towards the middle */
    }
  }
  ck_assert_uint_eq(s.open, opened);
  ck_assert(operators[_i].n_kinks == 0 || (opened > 10 && next > 0 && opened < FEATURES * COLUMNS / 2));
  clarke_matrix_clear(&y);
  clarke_matrix_clear(&slope);
  end(&s);
}
END_TEST

/* Two pieces are joined where their one slope is met by a parabola; the steepest slope on [-size, size] is at least every slope
 * inside it, and for these functions no more than twice the largest. */
START_TEST(joints_and_steepest_slopes)
{
  one_step s;

  begin(&s, _i, NULL);
  for (size_t k = 0; k < operators[_i].n_kinks; k++)
    ck_assert(clarke_pieces_joined(&s.step->pieces, k) == (_i == HUBER));
  for (int eighths = 4; eighths <= 32; eighths++) {
    const double size = eighths / 8.0, bound = clarke_piecewise_steepest(s.step, clarke_piecewise_lipschitz(&s.g, s.step), size);
    double most = 0;

    for (size_t f = 0; f < FEATURES; f++)
      for (double x = -size + 0x1p-4; x < size; x += 0x1p-4)
        most = fmax(most, fabs(slope_inside(_i, f, x)) / 6);
    ck_assert_msg(most <= bound, "%s: %g, above %g", operators[_i].op, most, bound);
    ck_assert_msg(size < 4 || bound <= 2 * most, "%s: %g, far above %g", operators[_i].op, bound, most);
  }
  /* Parabolas outside the kinks: x^2 has no slope that bounds all, but 2 size does. */
  if (_i == HARDSWISH) {
    clarke_step *square = &s.g.steps[s.g.n_steps - 1];

    mpq_set_ui(square->pieces.coef[0][2], 1, 1);
    ck_assert(isinf(clarke_piecewise_lipschitz(&s.g, square)));
    ck_assert(clarke_piecewise_steepest(square, INFINITY, 100) >= 200);
    ck_assert(clarke_piecewise_steepest(square, INFINITY, 100) <= 201);
    ck_assert(clarke_piecewise_steepest(square, 3, 100) == 3); /* what bounds all is taken */
  }
  end(&s);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("piecewise");
  int failed;

  tcase_add_loop_test(tests, exact_arguments, 0, (int)(sizeof operators / sizeof operators[0]));
  tcase_add_loop_test(tests, enclosed_arguments, 0, (int)(sizeof operators / sizeof operators[0]));
  tcase_add_loop_test(tests, joints_and_steepest_slopes, 0, (int)(sizeof operators / sizeof operators[0]));
  failed = run_tests();
  flint_cleanup();
  return failed;
}
