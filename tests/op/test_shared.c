/* What operators' files share with one another: recurrences, arithmetic of constants, copies, products, takings. What is lowered is
 * evaluated by the definition of its steps, and compared with the operator's own. */
#include "../draw.h"
#include "steps.h"
#include "node.h"

#include "op/along.h"
#include "op/broadcast.h"
#include "op/decided.h"
#include "op/floats.h"
#include "op/identity.h"
#include "op/index.h"
#include "op/integers.h"
#include "op/jump.h"
#include "op/lower.h"
#include "op/masked.h"
#include "op/normalize.h"
#include "op/pieces.h"
#include "op/product.h"
#include "op/profile.h"
#include "op/quotient.h"
#include "op/recurrent.h"
#include "op/stated.h"
#include "op/take.h"

#include <math.h>

#define OK(call) ck_assert_msg((call) == CLARKE_OK, "%s", error.text)

static steps_run run;

/* Value v becomes an activation, or a constant, of small integers. Inputs are what `in` lists. */
static void
give(size_t v, bool constant, size_t rank, const size_t *dims)
{
  static uint64_t state = 3;

  g.n_values = v >= g.n_values ? v + 1 : g.n_values;
  free(g.values[v].real);
  free(g.values[v].integer);
  set_value(v, constant, rank, dims);
  g.values[v].dtype = CLARKE_F32;
  g.values[v].real = calloc(g.values[v].count + 1, sizeof *g.values[v].real);
  for (size_t e = 0; e < g.values[v].count; e++)
    g.values[v].real[e] = (double)draw_between(&state, -4, 4);
}

/* The steps; activations are what `give` drew. */
static void
evaluate(void)
{
  steps_begin(&run, &g);
  for (size_t v = 0; v < g.n_values; v++)
    for (size_t e = 0; e < g.values[v].count && !g.values[v].constant && g.values[v].real != NULL; e++)
      mpq_set_d(run.value[v][e], g.values[v].real[e]);
  for (size_t i = 0; i < g.n_steps; i++)
    for (size_t f = 0; f < g.values[g.steps[i].out].count; f++) {
      mpq_set_ui(run.value[g.steps[i].out][f], 0, 1);
      steps_one(&run, &g.steps[i], f);
    }
}

static double
out(size_t value, size_t e)
{
  ck_assert_uint_lt(e, g.values[value].count);
  return mpq_get_d(run.value[value][e]);
}

/* --- recurrences --- */

enum { TIMES = 2, ROWS = 3, UNITS = 2, GATES = 4, INPUTS = 3 };

/* Value 4: W x of all times; 5: a state; 6: biases of all gates; 7: a square constant. */
static clarke_recurrence
recurrence(void)
{
  give(4, false, 3, (const size_t[]){TIMES, ROWS, GATES * UNITS});
  give(5, false, 2, (const size_t[]){ROWS, UNITS});
  give(6, true, 1, (const size_t[]){GATES * UNITS});
  give(7, true, 2, (const size_t[]){UNITS, UNITS});
  return (clarke_recurrence){.low = &low, .err = &error, .time = TIMES, .rows = ROWS, .hidden = UNITS, .gates = GATES, .directions = 1,
                             .x = 4, .b = {6, CLARKE_NONE}};
}

START_TEST(parts_are_entries_of_rows_and_units)
{
  clarke_recurrence c = recurrence();
  clarke_recurrent_part part[4];
  size_t sum, product, difference, scaled, seen;

  c.p = 6;
  part[0] = clarke_recurrence_x(&c, 1, 2);
  part[1] = clarke_recurrence_all(&c, 5);
  part[2] = clarke_recurrence_b(&c, 0, 3);
  part[3] = clarke_recurrence_b(&c, 1, 0); /* there is none */
  ck_assert_uint_eq(part[3].value, CLARKE_NONE);
  sum = clarke_recurrence_sum(&c, part, 4, 1);
  product = clarke_recurrence_product(&c, clarke_recurrence_x(&c, 0, 1), clarke_recurrence_all(&c, 5));
  difference = clarke_recurrence_difference(&c, 5, sum);
  scaled = clarke_recurrence_dense(&c, 7, 5);
  seen = clarke_recurrence_peephole(&c, 2, 5);
  ck_assert_int_eq(c.status, CLARKE_OK);
  evaluate();
  for (size_t row = 0; row < ROWS; row++)
    for (size_t unit = 0; unit < UNITS; unit++) {
      const double *x = g.values[4].real, *h = g.values[5].real + row * UNITS;
      const size_t e = row * UNITS + unit;
      const double expected = x[((ROWS + row) * GATES + 2) * UNITS + unit] + h[unit] + g.values[6].real[3 * UNITS + unit];

      ck_assert(out(sum, e) == expected);
      ck_assert(out(product, e) == x[(row * GATES + 1) * UNITS + unit] * h[unit]);
      ck_assert(out(seen, e) == g.values[6].real[2 * UNITS + unit] * h[unit]);
      ck_assert(out(difference, e) == h[unit] - expected);
      ck_assert(out(scaled, e) == g.values[7].real[unit * UNITS] * h[0] + g.values[7].real[unit * UNITS + 1] * h[1]);
    }
  steps_end(&run);
}
END_TEST

/* Two gates of four, of all rows. */
START_TEST(gates_lie_side_by_side)
{
  clarke_recurrence c = recurrence();
  clarke_recurrent_part gate = clarke_recurrence_gate(&c, 4, GATES, 1);
  size_t sum = clarke_recurrence_sum(&c, &gate, 1, 2);

  evaluate();
  ck_assert_uint_eq(g.values[sum].count, ROWS * 2 * UNITS);
  for (size_t row = 0; row < ROWS; row++)
    for (size_t unit = 0; unit < 2 * UNITS; unit++)
      ck_assert(out(sum, row * 2 * UNITS + unit) == g.values[4].real[(row * GATES + 1) * UNITS + unit]);
  steps_end(&run);
}
END_TEST

START_TEST(functions_and_kinks_are_steps)
{
  clarke_recurrence c = recurrence();
  const clarke_step *s;
  size_t y;

  c.direction = 1;
  y = clarke_recurrence_relu(&c, 1, 5);
  s = &g.steps[g.n_steps - 1];
  ck_assert(s->kind == CLARKE_PIECEWISE && s->out == y && s->op == clarke_operator_find("Relu"));
  ck_assert_str_eq(s->name, "/y@4"); /* time 2 of the second direction, of two times each */
  evaluate();
  for (size_t e = 0; e < ROWS * UNITS; e++)
    ck_assert(out(y, e) == fmax(g.values[5].real[e], 0));
  steps_end(&run);
  y = clarke_recurrence_function(&c, CLARKE_TANH, 5);
  s = &g.steps[g.n_steps - 1];
  ck_assert(s->kind == CLARKE_ANALYTIC && s->out == y && s->in[0].value == 5 && s->function == CLARKE_TANH);
}
END_TEST

/* After a failure no step is made. */
START_TEST(a_recurrence_keeps_its_first_failure)
{
  clarke_recurrence c = recurrence();
  size_t before = g.n_steps;

  c.status = CLARKE_EINPUT;
  clarke_recurrence_difference(&c, 5, 5);
  clarke_recurrence_dense(&c, 7, 5);
  clarke_recurrence_function(&c, CLARKE_TANH, 5);
  clarke_recurrence_relu(&c, 0, 5);
  clarke_recurrence_product(&c, clarke_recurrence_all(&c, 5), clarke_recurrence_all(&c, 5));
  ck_assert(c.status == CLARKE_EINPUT && g.n_steps == before);
}
END_TEST

/* h becomes W x + R h + b: linear, so that its steps can be evaluated. */
static void
linear_cell(clarke_recurrence *c, size_t time, size_t *states)
{
  const clarke_recurrent_part part[] = {clarke_recurrence_x(c, time, 0),
                              clarke_recurrence_all(c, clarke_recurrence_dense(c, c->r[0], states[0])),
                              clarke_recurrence_b(c, 0, 0), clarke_recurrence_b(c, 1, 0)};

  states[0] = clarke_recurrence_sum(c, part, 4, 1);
}

START_TEST(a_recurrence_goes_through_its_times)
{
  static const clarke_recurrence_kind kind = {1, {1, 0}, linear_cell};
  static const char *const direction[] = {"forward", "reverse", "bidirectional"};
  static size_t in[] = {4, 5, 6, 7, CLARKE_NONE, 8};

  for (size_t way = 0; way < 3; way++) {
    const size_t d = way == 2 ? 2 : 1;
    size_t outputs[2] = {CLARKE_NONE, CLARKE_NONE};

    if (way > 0)
      begin();
    g.batched = false;
    g.together = 1;
    give(4, false, 3, (const size_t[]){TIMES, ROWS, INPUTS});
    give(5, true, 3, (const size_t[]){d, UNITS, INPUTS});
    give(6, true, 3, (const size_t[]){d, UNITS, UNITS});
    give(7, true, 2, (const size_t[]){d, 2 * UNITS});
    give(8, false, 3, (const size_t[]){d, ROWS, UNITS});
    clarke_model_clear(&m);
    model_begin(&m, 21);
    model_node(&m, "RNN", "x,W,R,B,,h", "y,last");
    low = (clarke_lowering){.graph = &g, .node = &m.nodes[0], .place = 7, .opset = 21, .n_in = 6, .in = in, .out = outputs};
    attr_string(&m.nodes[0], "direction", direction[way]);
    OK(clarke_recurrence_lower(&low, &kind, &error));
    ck_assert(outputs[0] != CLARKE_NONE && outputs[1] != CLARKE_NONE);
    ck_assert(g.values[outputs[0]].rank == 4 && g.values[outputs[0]].count == TIMES * d * ROWS * UNITS && g.values[outputs[1]].rank == 3);
    evaluate();
    for (size_t k = 0; k < d; k++) {
      const bool back = way == 1 || k == 1;
      double h[ROWS][UNITS];

      for (size_t e = 0; e < ROWS * UNITS; e++)
        h[e / UNITS][e % UNITS] = g.values[8].real[k * ROWS * UNITS + e];
      for (size_t t = 0; t < TIMES; t++) {
        const size_t time = back ? TIMES - 1 - t : t;

        for (size_t row = 0; row < ROWS; row++) {
          double next[UNITS];

          for (size_t u = 0; u < UNITS; u++) {
            next[u] = g.values[7].real[k * 2 * UNITS + u] + g.values[7].real[k * 2 * UNITS + UNITS + u];
            for (size_t i = 0; i < INPUTS; i++)
              next[u] += g.values[5].real[(k * UNITS + u) * INPUTS + i] * g.values[4].real[(time * ROWS + row) * INPUTS + i];
            for (size_t i = 0; i < UNITS; i++)
              next[u] += g.values[6].real[(k * UNITS + u) * UNITS + i] * h[row][i];
          }
          memcpy(h[row], next, sizeof next);
          for (size_t u = 0; u < UNITS; u++)
            ck_assert(out(outputs[0], ((time * d + k) * ROWS + row) * UNITS + u) == next[u]);
        }
      }
      for (size_t e = 0; e < ROWS * UNITS; e++)
        ck_assert(out(outputs[1], k * ROWS * UNITS + e) == h[e / UNITS][e % UNITS]);
    }
    steps_end(&run);
    if (way < 2)
      end();
  }
}
END_TEST

START_TEST(activations_are_the_known_ones)
{
  static const struct {
    const char *activations, *direction;
    bool good, other;
  } known[] = {{NULL, NULL, true, false}, {"Tanh", NULL, true, false}, {"Relu", NULL, true, true}, {"Tanh Tanh", NULL, false, false},
               {"Tanh Tanh", "bidirectional", true, false}, {"Relu Relu", "bidirectional", true, true}, {"Relu", "bidirectional", false, false},
               {"Sigmoid", NULL, false, false}, {"Tanhs", NULL, false, false}};

  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    bool other;

    if (i > 0)
      begin();
    if (known[i].activations != NULL)
      attr_string(&m.nodes[0], "activations", known[i].activations);
    if (known[i].direction != NULL)
      attr_string(&m.nodes[0], "direction", known[i].direction);
    ck_assert_msg((clarke_recurrence_activations(&low, "Tanh", "Relu", &other, &error) == CLARKE_OK) == known[i].good, "%zu", i);
    ck_assert_msg(other == known[i].other, "%zu", i);
    if (i + 1 < sizeof known / sizeof known[0])
      end();
  }
}
END_TEST

/* --- constants --- */

/* A node of that operator, on constants `in`. */
static void
constants(const char *op, size_t n, const size_t *in)
{
  static size_t list[3];

  memcpy(list, in, n * sizeof *in);
  free(m.nodes[0].op_type);
  m.nodes[0].op_type = strdup(op);
  low.in = list;
  low.n_in = n;
}

static void
integers(size_t v, clarke_dtype type, size_t n, const int64_t *list)
{
  give(v, true, 1, &n);
  free(g.values[v].real);
  g.values[v].real = NULL;
  g.values[v].dtype = type;
  g.values[v].integer = malloc(n * sizeof *list);
  memcpy(g.values[v].integer, list, n * sizeof *list);
}

static void
floats(size_t v, size_t n, const double *list)
{
  give(v, true, 1, &n);
  memcpy(g.values[v].real, list, n * sizeof *list);
}

START_TEST(integers_are_computed)
{
  static const struct {
    const char *op;
    int64_t result[3];
    bool truth;
  } known[] = {{"Add", {9, 3, 14}, false}, {"Sub", {5, -3, 0}, false}, {"Mul", {14, 0, 49}, false}, {"Div", {3, 0, 1}, false},
               {"Mod", {1, 0, 0}, false},  {"Less", {0, 1, 0}, true},  {"Equal", {0, 0, 1}, true},  {"Greater", {1, 0, 0}, true},
               {"LessOrEqual", {0, 1, 1}, true}, {"GreaterOrEqual", {1, 0, 1}, true}};

  integers(4, CLARKE_I64, 3, (const int64_t[]){7, 0, 7});
  integers(5, CLARKE_I64, 3, (const int64_t[]){2, 3, 7});
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    const clarke_value *v;

    constants(known[i].op, 2, (const size_t[]){4, 5});
    ck_assert(clarke_lower_of_integers(&low) && !clarke_lower_of_floats(&low));
    OK(clarke_lower_integers_computed(&low, &error));
    v = &g.values[g.n_values - 1];
    ck_assert(v->constant && v->count == 3 && v->dtype == (known[i].truth ? CLARKE_BOOL : CLARKE_I64));
    for (size_t e = 0; e < 3; e++)
      ck_assert_msg(v->integer[e] == known[i].result[e], "%s: %lld", known[i].op, (long long)v->integer[e]);
    g.n_values--;
    free(g.values[g.n_values].integer);
    free(g.values[g.n_values].name);
    g.values[g.n_values] = (clarke_value){0};
  }
  integers(4, CLARKE_I64, 1, (const int64_t[]){INT64_MAX});
  constants("Add", 2, (const size_t[]){4, 5});
  ck_assert_int_eq(clarke_lower_integers_computed(&low, &error), CLARKE_EINPUT); /* past 64 bits */
  integers(4, CLARKE_I64, 1, (const int64_t[]){-7});
  constants("Div", 2, (const size_t[]){4, 5});
  ck_assert_int_eq(clarke_lower_integers_computed(&low, &error), CLARKE_EINPUT); /* which way is it rounded? */
  integers(4, CLARKE_I32, 1, (const int64_t[]){7});
  constants("Add", 2, (const size_t[]){4, 5});
  ck_assert(!clarke_lower_of_integers(&low)); /* of two types */
  ck_assert_int_eq(clarke_lower_integers_computed(&low, &error), CLARKE_EINPUT);
}
END_TEST

START_TEST(lists_of_integers_are_joined)
{
  const clarke_value *v;

  integers(4, CLARKE_I64, 2, (const int64_t[]){7, -1});
  integers(5, CLARKE_I64, 3, (const int64_t[]){2, 3, 7});
  constants("Concat", 3, (const size_t[]){5, 4, 5});
  attr_int(&m.nodes[0], "axis", 0);
  OK(clarke_lower_integers_joined(&low, &error));
  v = &g.values[g.n_values - 1];
  ck_assert_uint_eq(v->count, 8);
  ck_assert_mem_eq(v->integer, ((const int64_t[]){2, 3, 7, 7, -1, 2, 3, 7}), 8 * sizeof(int64_t));
}
END_TEST

START_TEST(floats_are_computed_and_rounded)
{
  const double tenth = (double)0.1f, third = (double)(1.0f / 3), big = 16777216;
  static const char *const ops[] = {"Add", "Sub", "Mul", "Div"};

  floats(4, 3, (const double[]){1, tenth, big});
  floats(5, 3, (const double[]){3, tenth, 1});
  for (size_t i = 0; i < 4; i++) {
    const double known[4][3] = {{4, (double)(0.1f + 0.1f), big}, {-2, 0, big - 1}, {3, (double)(0.1f * 0.1f), big}, {third, 1, big}};
    const clarke_value *v;

    constants(ops[i], 2, (const size_t[]){4, 5});
    ck_assert(clarke_lower_of_floats(&low) && !clarke_lower_of_integers(&low));
    OK(clarke_lower_floats_computed(&low, &error));
    v = &g.values[g.n_values - 1];
    for (size_t e = 0; e < 3; e++)
      ck_assert_msg(v->real[e] == known[i][e], "%s: %.17g", ops[i], v->real[e]);
    floats(5, 3, (const double[]){3, tenth, 1});
  }
  g.values[4].initializer = true; /* a parameter may be another number */
  ck_assert(!clarke_lower_of_floats(&low));
  ck_assert_int_eq(clarke_lower_floats_computed(&low, &error), CLARKE_EINPUT);
  g.values[4].initializer = false;
  floats(5, 3, (const double[]){0, 1, 1});
  constants("Div", 2, (const size_t[]){4, 5});
  ck_assert_int_eq(clarke_lower_floats_computed(&low, &error), CLARKE_EINPUT);
  says(error.text, "entry 0 is no number");
}
END_TEST

/* --- copies, outputs, shapes --- */

START_TEST(a_copy_is_its_input)
{
  const clarke_value *v;

  g.batched = false;
  give(0, false, 3, (const size_t[]){2, 3, 4});
  OK(clarke_lower_copy(&low, &error));
  v = &g.values[g.steps[g.n_steps - 1].out];
  ck_assert(v->rank == 3 && v->dims[0] == 2 && v->dims[2] == 4);
  evaluate();
  for (size_t e = 0; e < 24; e++)
    ck_assert(out(g.steps[g.n_steps - 1].out, e) == g.values[0].real[e]);
  steps_end(&run);
}
END_TEST

START_TEST(outputs_have_their_names)
{
  size_t outputs[3] = {CLARKE_NONE, CLARKE_NONE, CLARKE_NONE};

  clarke_model_clear(&m);
  model_begin(&m, 21);
  low.node = model_node(&m, "Split", "x", "a,b,c");
  low.out = outputs;
  give(4, false, 1, (const size_t[]){2});
  OK(clarke_lower_output(&low, 1, 4, &error));
  ck_assert(outputs[1] == 4 && outputs[0] == CLARKE_NONE && outputs[2] == CLARKE_NONE);
  ck_assert_str_eq(g.values[4].name, "b");
}
END_TEST

/* Three shapes: (2, 1, 4), (3, 1) and (1). */
START_TEST(several_inputs_broadcast)
{
  static size_t in[] = {0, 4, 5};
  size_t rank, dims[CLARKE_MAX_RANK + 1], *map[3];
  clarke_batch_axis batch;

  g.batched = false;
  give(0, false, 3, (const size_t[]){2, 1, 4});
  give(4, true, 2, (const size_t[]){3, 1});
  give(5, true, 1, (const size_t[]){1});
  low.in = in;
  low.n_in = 3;
  OK(clarke_lower_broadcast_all(&low, 3, &rank, dims, map, &batch, &error));
  ck_assert(rank == 3 && dims[0] == 2 && dims[1] == 3 && dims[2] == 4);
  for (size_t f = 0; f < 24; f++) {
    ck_assert_uint_eq(map[0][f], f / 12 * 4 + f % 4);
    ck_assert_uint_eq(map[1][f], f / 4 % 3);
    ck_assert_uint_eq(map[2][f], 0);
  }
  for (size_t i = 0; i < 3; i++)
    free(map[i]);
  give(4, true, 2, (const size_t[]){3, 2});
  ck_assert_int_eq(clarke_lower_broadcast_all(&low, 3, &rank, dims, map, &batch, &error), CLARKE_EINPUT);
  says(error.text, "do not broadcast");
}
END_TEST

/* --- steps of operators --- */

START_TEST(pieces_are_the_operators)
{
  mpq_t alpha;
  const clarke_step *s;

  mpq_init(alpha);
  mpq_set_si(alpha, 1, 4);
  g.batched = false;
  give(0, false, 1, (const size_t[]){9});
  low.op = clarke_operator_find("LeakyRelu");
  OK(clarke_lower_pieces(&low, &alpha, &error));
  s = &g.steps[g.n_steps - 1];
  ck_assert(s->kind == CLARKE_PIECEWISE && s->pieces.n_kinks == 1);
  evaluate();
  for (size_t e = 0; e < 9; e++)
    ck_assert(out(s->out, e) == g.values[0].real[e] * (g.values[0].real[e] < 0 ? 0.25 : 1));
  steps_end(&run);
  mpq_set_si(alpha, 1, 1); /* then there is no kink */
  OK(clarke_lower_pieces(&low, &alpha, &error));
  ck_assert_uint_eq(g.steps[g.n_steps - 1].pieces.n_kinks, 0);
  mpq_clear(alpha);
}
END_TEST

START_TEST(activations_are_multiplied)
{
  static size_t in[] = {0, 4};
  size_t y;

  g.batched = false;
  low.in = in;
  low.n_in = 2;
  give(0, false, 2, (const size_t[]){2, 3});
  give(4, false, 1, (const size_t[]){3});
  OK(clarke_lower_times(&low, &error));
  y = g.steps[g.n_steps - 1].out;
  evaluate();
  for (size_t e = 0; e < 6; e++)
    ck_assert(out(y, e) == g.values[0].real[e] * g.values[4].real[e % 3]);
  steps_end(&run);
}
END_TEST

/* Two matrices times one. */
START_TEST(matrices_are_multiplied)
{
  static size_t in[] = {0, 4};
  size_t y;

  g.batched = false;
  low.in = in;
  low.n_in = 2;
  give(0, false, 3, (const size_t[]){2, 2, 3});
  give(4, false, 2, (const size_t[]){3, 2});
  OK(clarke_lower_contraction(&low, &error));
  y = g.steps[g.n_steps - 1].out;
  ck_assert(g.values[y].rank == 3 && g.values[y].count == 8);
  evaluate();
  for (size_t f = 0; f < 8; f++) {
    double sum = 0;

    for (size_t k = 0; k < 3; k++)
      sum += g.values[0].real[f / 2 * 3 + k] * g.values[4].real[k * 2 + f % 2];
    ck_assert(out(y, f) == sum);
  }
  steps_end(&run);
  give(4, false, 2, (const size_t[]){2, 2});
  ck_assert_int_eq(clarke_lower_contraction(&low, &error), CLARKE_EINPUT);
  says(error.text, "a matrix of 3 columns times one of 2 rows");
}
END_TEST

START_TEST(functions_have_a_step_of_their_own)
{
  size_t y;

  give(4, false, 1, (const size_t[]){3});
  g.values[4].batch = (clarke_batch_axis){.axis = 1, .inner = 5};
  y = clarke_lower_inside(&low, CLARKE_SQRT, 4, &error);
  ck_assert(y == g.steps[0].out && g.steps[0].kind == CLARKE_ANALYTIC && g.steps[0].function == CLARKE_SQRT && g.steps[0].in[0].value == 4);
  ck_assert(g.values[y].batch.axis == 1 && g.values[y].batch.inner == 5 && g.values[y].count == 3);
}
END_TEST

/* Of (2, 3) and (3), whose entries are equal now and then; the first is 0 now and then. */
START_TEST(truth_values_are_numbers)
{
  static const char *const ops[] = {"Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal", "And", "Or", "Not"};
  static size_t in[] = {0, 4};

  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    const bool logic = i > 4;
    size_t y;

    end();
    begin();
    g.batched = false;
    low.in = in;
    low.n_in = i == 7 ? 1 : 2;
    give(0, false, 2, (const size_t[]){2, 3});
    give(4, i % 2 == 1, 1, (const size_t[]){3});
    for (size_t e = 0; e < 6; e++)
      g.values[0].real[e] = logic ? e % 2 : g.values[0].real[e];
    for (size_t e = 0; e < 3; e++)
      g.values[4].real[e] = logic ? e % 2 : e == 1 ? g.values[0].real[1] : g.values[4].real[e];
    free(m.nodes[0].op_type);
    m.nodes[0].op_type = strdup(ops[i]);
    OK(clarke_lower_truths(&low, &error));
    y = g.n_values - 1;
    ck_assert(g.values[y].holds == CLARKE_HOLDS_TRUTHS && g.values[y].count == 6);
    evaluate();
    for (size_t e = 0; e < 6; e++) {
      const double a = g.values[0].real[e], b = g.values[4].real[e % 3];
      const bool holds[] = {a > b, a >= b, a < b, a <= b, a == b, a != 0 && b != 0, a != 0 || b != 0, a == 0};

      ck_assert_msg(out(y, e) == holds[i], "%s of %g and %g", ops[i], a, b);
    }
    steps_end(&run);
  }
}
END_TEST

START_TEST(truth_values_choose)
{
  static size_t in[] = {0, 4, 5};
  size_t y;

  g.batched = false;
  low.in = in;
  low.n_in = 3;
  give(0, false, 1, (const size_t[]){3});
  give(4, false, 2, (const size_t[]){2, 3});
  give(5, true, 0, NULL);
  for (size_t e = 0; e < 3; e++)
    g.values[0].real[e] = e % 2;
  OK(clarke_lower_chosen(&low, CLARKE_HOLDS_FLOATS, &error));
  y = g.n_values - 1;
  evaluate();
  for (size_t e = 0; e < 6; e++)
    ck_assert(out(y, e) == (e % 3 == 1 ? g.values[4].real[e] : g.values[5].real[0]));
  steps_end(&run);
  g.values[5].real[0] = INFINITY;
  g.values[5].odd = true;
  ck_assert_int_eq(clarke_lower_chosen(&low, CLARKE_HOLDS_FLOATS, &error), CLARKE_EINPUT);
  says(error.text, "infinite");
}
END_TEST

START_TEST(activations_are_cast)
{
  for (int to_truths = 0; to_truths < 2; to_truths++) {
    size_t y;

    end();
    begin();
    g.batched = false;
    give(0, false, 1, (const size_t[]){7});
    for (size_t e = 0; e < 7; e++)
      g.values[0].real[e] = ((double)e - 3) * 0.75;
    OK(clarke_lower_cast_activation(&low, to_truths, &error));
    y = g.n_values - 1;
    ck_assert(g.values[y].holds == (to_truths ? CLARKE_HOLDS_TRUTHS : CLARKE_HOLDS_INTEGERS));
    evaluate();
    for (size_t e = 0; e < 7; e++)
      ck_assert(out(y, e) == (to_truths ? (double)(e != 3) : trunc(g.values[0].real[e])));
    steps_end(&run);
  }
}
END_TEST

START_TEST(entries_are_taken_along_an_axis)
{
  static size_t in[] = {0, 4};
  static const int64_t places[] = {2, -3, 0, 1};
  size_t y;

  g.batched = false;
  low.in = in;
  low.n_in = 2;
  give(0, false, 3, (const size_t[]){2, 3, 4});
  integers(4, CLARKE_I64, 4, places);
  attr_int(&m.nodes[0], "axis", 1);
  OK(clarke_lower_take(&low, &error));
  y = g.steps[g.n_steps - 1].out;
  ck_assert(g.values[y].rank == 3 && g.values[y].dims[1] == 4);
  evaluate();
  for (size_t f = 0; f < 32; f++)
    ck_assert(out(y, f) == g.values[0].real[(f / 16 * 3 + (size_t)((places[f / 4 % 4] + 3) % 3)) * 4 + f % 4]);
  steps_end(&run);
  g.values[4].integer[2] = 3;
  ck_assert_int_eq(clarke_lower_take(&low, &error), CLARKE_EINPUT);
  says(error.text, "index 3 is out of range for an axis of 3");
  g.values[4].integer[2] = -4;
  ck_assert_int_eq(clarke_lower_take(&low, &error), CLARKE_EINPUT);
}
END_TEST

/* x scale + B, each entry of both for two features in a row. */
START_TEST(a_chain_ends_affine)
{
  static size_t in[] = {0, 4, 5};
  clarke_chain c = {.value = 0, .rank = 2, .dims = {3, 2}};
  size_t y;

  g.batched = false;
  low.in = in;
  low.n_in = 3;
  give(0, false, 2, (const size_t[]){3, 2});
  give(4, true, 1, (const size_t[]){3});
  give(5, true, 1, (const size_t[]){3});
  OK(clarke_chain_affine(&c, &low, 2, 3, &error));
  y = c.value;
  ck_assert(y == g.steps[1].out && g.n_steps == 2);
  ck_assert_str_eq(g.values[y].name, "y");
  evaluate();
  for (size_t e = 0; e < 6; e++)
    ck_assert(out(y, e) == g.values[0].real[e] * g.values[4].real[e / 2] + g.values[5].real[e / 2]);
  steps_end(&run);
}
END_TEST

/* --- ties --- */

START_TEST(a_tie_may_make_a_sort)
{
  static const clarke_op sorts = {.name = "TopK", .first_alone = true}, plain = {.name = "Max"};
  clarke_tie_rule rule = {.known = true, .tie = CLARKE_TIE_FIRST};
  clarke_profile p;

  clarke_profile_init(&p);
  p.name = strdup("mine");
  mpq_init(rule.beta);
  OK(clarke_tie_sorts(&rule, &p, &sorts, &error));
  mpq_set_ui(rule.beta, 1, 2);
  ck_assert_int_eq(clarke_tie_sorts(&rule, &p, &sorts, &error), CLARKE_EINPUT);
  says(error.text, "profile mine|of TopK");
  OK(clarke_tie_sorts(&rule, &p, &plain, &error));
  mpq_set_ui(rule.beta, 0, 1);
  rule.tie = CLARKE_TIE_LAST;
  ck_assert_int_eq(clarke_tie_sorts(&rule, &p, &sorts, &error), CLARKE_EINPUT);
  rule.tie = CLARKE_TIE_FIRST;
  rule.known = false;
  ck_assert_int_eq(clarke_tie_sorts(&rule, &p, &sorts, &error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_tie_sorts(NULL, &p, &sorts, &error), CLARKE_EINPUT);
  OK(clarke_tie_sorts(NULL, &p, &plain, &error));
  mpq_clear(rule.beta);
  clarke_profile_clear(&p);
}
END_TEST

/* What the attributes of LSTM, GRU and RNN may say. */
START_TEST(attributes_of_recurrent_layers)
{
  static const struct {
    const char *direction;
    size_t directions;
    bool reversed;
  } known[] = {{"forward", 1, false}, {"reverse", 1, true}, {"bidirectional", 2, false}};
  size_t directions;
  bool reversed;

  ck_assert_int_eq(clarke_recurrence_attributes(&low, &error), CLARKE_OK);
  for (size_t i = 0; i < 3; i++) {
    clarke_model_node node = {.name = "n", .op_type = "RNN"};
    clarke_attr attr = {.name = "direction", .type = CLARKE_ATTR_STRING, .s = (char *)(uintptr_t)known[i].direction};
    clarke_lowering own = low;

    node.attr = &attr;
    node.n_attr = 1;
    own.node = &node;
    ck_assert_int_eq(clarke_recurrence_direction(&own, &directions, &reversed, &error), CLARKE_OK);
    ck_assert(directions == known[i].directions && reversed == known[i].reversed);
    attr.s = (char *)(uintptr_t)"backwards";
    ck_assert_int_eq(clarke_recurrence_direction(&own, &directions, &reversed, &error), CLARKE_EINPUT);
    attr.name = (char *)(uintptr_t)"clip";
    ck_assert_int_eq(clarke_recurrence_attributes(&own, &error), CLARKE_EINPUT);
    says(error.text, "attribute 'clip' is not supported");
  }
}
END_TEST

/* A sum with a mask: what is minus infinity is left out of both operands, and of the softmax of its line. */
START_TEST(masks_are_left_out)
{
  static const size_t shape[] = {2, 3, 2};
  static size_t in[] = {0, 3}, out[] = {CLARKE_NONE};
  clarke_step *s;
  size_t sum;

  give(0, false, 3, shape);
  give(3, true, 3, shape);
  for (size_t e = 0; e < 12; e++)
    g.values[3].real[e] = e % 5 == 1 ? -INFINITY : (double)e;
  low.in = in;
  low.n_in = 2;
  low.out = out;
  s = clarke_lower_step(&low, CLARKE_SUM, 2, 3, shape, &error);
  ck_assert_ptr_nonnull(s);
  sum = s->out;
  OK(clarke_lower_exclude(&low, s, 1, &error));
  ck_assert(out[0] == sum && s->in[1].value != 3 && g.values[3].bound);
  for (size_t e = 0; e < 12; e++) {
    const bool none = e % 5 == 1;

    ck_assert(g.values[sum].excluded[e] == none);
    ck_assert(s->in[0].map[e] == (none ? CLARKE_NONE : e) && s->in[1].map[e] == (none ? CLARKE_NONE : e));
    ck_assert(g.values[s->in[1].value].real[e] == (none ? 0 : (double)e));
  }
  in[0] = sum;
  low.n_in = 1;
  OK(clarke_lower_masked_softmax(&low, 3, 2, &error)); /* lines 0 2 4, 1 3 5, 6 8 10, 7 9 11: without 6; 1; 11 */
  ck_assert_uint_eq(g.n_steps, 6);
  ck_assert(g.steps[2].kind == CLARKE_SOFTMAX && g.steps[2].length == 2 && g.steps[2].groups == 3 && g.steps[2].stride == 1);
  ck_assert(g.steps[4].kind == CLARKE_SOFTMAX && g.steps[4].length == 3 && g.steps[4].groups == 1);
  for (size_t e = 0; e < 12; e++) {
    const bool whole = e == 0 || e == 2 || e == 4, none = e % 5 == 1;
    const size_t k = whole ? 1 : 0, at = g.steps[5].in[k].map[e];

    ck_assert(g.steps[5].in[1 - k].map[e] == CLARKE_NONE && (at == CLARKE_NONE) == none);
    ck_assert(none || g.steps[k == 1 ? 3 : 1].in[0].map[at] == e);
  }
  for (size_t e = 0; e < 12; e++)
    g.values[sum].excluded[e] = e % 2 == 0;
  OK(clarke_lower_masked_softmax(&low, 3, 2, &error)); /* lines 0 2 4 and 6 8 10 have nothing else */
  ck_assert(g.values[g.n_values - 1].undefined);
  for (size_t e = 0; e < 12; e++)
    ck_assert(g.values[g.n_values - 1].excluded[e] == (e % 2 == 0));
  g.values[3].real[0] = NAN;
  in[0] = 0;
  low.n_in = 2;
  s = clarke_lower_step(&low, CLARKE_SUM, 2, 3, shape, &error);
  ck_assert_int_eq(clarke_lower_exclude(&low, s, 1, &error), CLARKE_EINPUT);
  says(error.text, "entry 0 is NaN: only minus infinity is taken");
}
END_TEST

/* A matrix of 2 x 3 integers, and an operator that has it and a constant: a number, or of integers an axis. */
static void
begin_along(const char *op, bool axis, double number)
{
  static const size_t shape[] = {2, 3};
  static size_t in[] = {0, 3}, out_of[1];

  out_of[0] = CLARKE_NONE;
  give(0, false, 2, shape);
  give(3, true, axis, (const size_t[]){1});
  g.values[3].real[0] = number;
  if (axis) {
    free(g.values[3].real);
    g.values[3].real = NULL;
    g.values[3].dtype = CLARKE_I64;
    g.values[3].integer = calloc(1, sizeof *g.values[3].integer);
    g.values[3].integer[0] = (int64_t)number;
  }
  low.in = in;
  low.n_in = 2;
  low.out = out_of;
  low.opset = 24;
  g.batched = false;
  free(m.nodes[0].op_type);
  m.nodes[0].op_type = strdup(op);
}

START_TEST(sums_run_along_an_axis)
{
  begin_along("CumSum", true, 1);
  OK(clarke_lower_running(&low, &error));
  evaluate();
  for (size_t e = 0; e < 6; e++)
    ck_assert(out(low.out[0], e) == g.values[0].real[e] + (e % 3 > 0 ? out(low.out[0], e - 1) : 0));
  steps_end(&run);
}
END_TEST

START_TEST(products_are_of_an_axis)
{
  begin_along("ReduceProd", true, 1);
  OK(clarke_lower_reduced_product(&low, &error));
  evaluate();
  for (size_t e = 0; e < 2; e++)
    ck_assert(out(low.out[0], e) == g.values[0].real[3 * e] * g.values[0].real[3 * e + 1] * g.values[0].real[3 * e + 2]);
  steps_end(&run);
}
END_TEST

/* A quotient, its whole number, their product, a difference. */
START_TEST(a_remainder_jumps)
{
  bool floors = false;

  begin_along("Mod", false, 3);
  low.opset = 28;
  OK(clarke_lower_modulo(&low, &error));
  for (size_t i = 0; i < g.n_steps; i++)
    floors = floors || (g.steps[i].kind == CLARKE_ANALYTIC && g.steps[i].function == CLARKE_FLOOR);
  ck_assert(floors && g.values[low.out[0]].count == 6);
  begin_along("Mod", false, 3);
  low.opset = 13;
  ck_assert_int_eq(clarke_lower_modulo(&low, &error), CLARKE_EINPUT);
  says(error.text, "fmod is 0; of floats expected 1");
}
END_TEST

/* Integers become ones and zeros by comparisons with each place from both ends; a row is taken of what has so many. */
START_TEST(computed_places_are_compared)
{
  size_t ones, jumps = 0;

  begin_along("Gather", false, 3);
  ck_assert(!clarke_index_is_computed(&low, 0) && !clarke_index_is_computed(&low, 1));
  g.values[0].holds = CLARKE_HOLDS_INTEGERS;
  ck_assert(clarke_index_is_computed(&low, 0));
  ones = clarke_index_ones(&low, 0, 4, &error);
  ck_assert(ones != CLARKE_NONE && g.values[ones].rank == 3 && g.values[ones].dims[2] == 4 && g.values[ones].holds == CLARKE_HOLDS_FLOATS);
  for (size_t i = 0; i < g.n_steps; i++)
    jumps += g.steps[i].kind == CLARKE_ANALYTIC && g.steps[i].function == CLARKE_ABOVE ? g.values[g.steps[i].out].count : 0;
  ck_assert_uint_eq(jumps, 2 * 2 * 6 * 4); /* above and below, of either end's */
  for (size_t e = 0; e < 6; e++)
    g.values[0].real[e] = (double)e - 4;
  evaluate();
  for (size_t e = 0; e < 24; e++)
    ck_assert(out(ones, e) == (e / 4 % 4 == e % 4));
  steps_end(&run);
}
END_TEST

START_TEST(computed_places_are_of_the_axis)
{
  static const size_t table[] = {3, 2};
  static size_t in[] = {3, 0};

  for (int reach = 0; reach < 4; reach++) {
    begin_along("Gather", false, 3);
    give(3, true, 2, table);
    g.values[0].holds = CLARKE_HOLDS_INTEGERS;
    g.values[0].reach = reach;
    low.in = in;
    ck_assert_int_eq(clarke_index_take(&low, &error), reach == 1 || reach == 2 ? CLARKE_OK : CLARKE_EINPUT);
    if (reach == 1 || reach == 2)
      ck_assert(g.values[low.out[0]].rank == 3 && g.values[low.out[0]].dims[2] == 2);
    else
      says(error.text, "it is not known that each place, which is computed, is one of 3");
  }
}
END_TEST

/* What is lifted knows its entries, and so do sums of that, where no double rounds. What is compared is marked. */
START_TEST(lifted_entries_are_known)
{
  static const size_t shape[] = {2};
  static size_t in[] = {3, 4};
  clarke_step *s;
  size_t value;

  g.input = 0;
  give(3, true, 1, shape);
  give(4, true, 1, shape);
  g.values[3].initializer = g.values[4].initializer = true;
  g.values[3].name = strdup("a");
  g.values[4].name = strdup("b");
  memcpy(g.values[3].real, (double[]){16, 0x1p60}, 2 * sizeof(double));
  memcpy(g.values[4].real, (double[]){0.25, 0x1p60}, 2 * sizeof(double));
  low.in = in;
  low.n_in = 2;
  ck_assert(clarke_lower_known(&low, 0) == g.values[3].real);
  OK(clarke_lower_lifted(&low, 0, 1, shape, NULL, &value, &error));
  ck_assert_ptr_null(g.values[value].known);
  OK(clarke_lower_know_lifted(&low, value, &error));
  ck_assert(g.values[value].known[0] == 16 && g.values[value].known[1] == 0x1p60);
  in[0] = value;
  for (int k = 0; k < 3; k++) {
    g.values[4].real[1] = k == 2 ? 0.25 : 0x1p60; /* 2^60 + 1/4 is no double */
    s = clarke_lower_step(&low, CLARKE_SUM, 2, 1, shape, &error);
    OK(clarke_lower_know_sum(&low, s->out, k == 0, &error));
    value = s->out;
    if (k == 2)
      ck_assert_ptr_null(g.values[value].known);
    else
      ck_assert(g.values[value].known[0] == (k == 0 ? 15.75 : 16.25) && g.values[value].known[1] == (k == 0 ? 0 : 0x1p61));
  }
  in[0] = g.steps[1].out;
  OK(clarke_lower_compared(&low, 0, &error));
  ck_assert(g.decided && g.n_parameters == 2 && g.parameters[0].compared && g.parameters[1].compared);
  g.values[4].negated = true;
  ck_assert_ptr_null(clarke_lower_known(&low, 1));
  OK(clarke_lower_parameter(&low, 4, &error)); /* it has it already */
  ck_assert(g.n_parameters == 2 && g.values[4].parameter == 1);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("shared");

  tcase_add_checked_fixture(tests, begin, end);
  tcase_add_test(tests, parts_are_entries_of_rows_and_units);
  tcase_add_test(tests, gates_lie_side_by_side);
  tcase_add_test(tests, functions_and_kinks_are_steps);
  tcase_add_test(tests, a_recurrence_keeps_its_first_failure);
  tcase_add_test(tests, a_recurrence_goes_through_its_times);
  tcase_add_test(tests, activations_are_the_known_ones);
  tcase_add_test(tests, attributes_of_recurrent_layers);
  tcase_add_test(tests, integers_are_computed);
  tcase_add_test(tests, lists_of_integers_are_joined);
  tcase_add_test(tests, floats_are_computed_and_rounded);
  tcase_add_test(tests, a_copy_is_its_input);
  tcase_add_test(tests, outputs_have_their_names);
  tcase_add_test(tests, several_inputs_broadcast);
  tcase_add_test(tests, pieces_are_the_operators);
  tcase_add_test(tests, activations_are_multiplied);
  tcase_add_test(tests, matrices_are_multiplied);
  tcase_add_test(tests, functions_have_a_step_of_their_own);
  tcase_add_test(tests, truth_values_are_numbers);
  tcase_add_test(tests, truth_values_choose);
  tcase_add_test(tests, activations_are_cast);
  tcase_add_test(tests, entries_are_taken_along_an_axis);
  tcase_add_test(tests, a_chain_ends_affine);
  tcase_add_test(tests, a_tie_may_make_a_sort);
  tcase_add_test(tests, masks_are_left_out);
  tcase_add_test(tests, lifted_entries_are_known);
  tcase_add_test(tests, sums_run_along_an_axis);
  tcase_add_test(tests, products_are_of_an_axis);
  tcase_add_test(tests, computed_places_are_compared);
  tcase_add_test(tests, computed_places_are_of_the_axis);
  tcase_add_test(tests, a_remainder_jumps);
  return run_tests();
}
