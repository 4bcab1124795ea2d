/* One step in slices at a time: operands in drawn digits, off by drawn errors, and the step in rationals on what they truly are. The
 * digits that come out, and the errors said of them, hold that; no place is decided that the true entries contradict. */
#include "../ok.h"
#include "../op/steps.h"
#include "../suites.h"
#include "networks.h"

#include "network/graph/build.h"
#include "network/pass/slices/slices.h"

#include <math.h>

typedef struct {
  clarke_slicing f;
  clarke_slice_plan plan;
  clarke_growths growths;
  clarke_branch **piece;
  size_t **ties;
  mpq_t **truth; /* by value: entries, feature-major */
} scene;

static double
draw_number(uint64_t *state)
{
  return (double)draw_between(state, -12, 12) / 4;
}

/* False: no slices serve. */
static bool
begin(scene *c, const clarke_graph *g, const clarke_tensor *x, bool coupled)
{
  memset(c, 0, sizeof *c);
  c->f = (clarke_slicing){.g = g, .plan = &c->plan, .n = g->samples, .lanes = coupled ? 1 : g->samples, .x = x, .err = &error};
  c->f.value = calloc(g->n_values + 1, sizeof *c->f.value);
  c->f.deferred = calloc(g->n_values + 1, sizeof *c->f.deferred);
  c->f.last = malloc((g->n_values + 1) * sizeof *c->f.last);
  c->f.made = calloc(g->n_values + 1, sizeof *c->f.made);
  c->f.sum = malloc((CLARKE_PLANES + 2) * CLARKE_SLICE_BLOCK * sizeof *c->f.sum);
  c->f.piece = c->piece = calloc(g->n_steps + 1, sizeof *c->piece);
  c->f.ties = c->ties = calloc(g->n_steps + 1, sizeof *c->ties);
  c->truth = calloc(g->n_values + 1, sizeof *c->truth);
  for (size_t v = 0; v < g->n_values; v++)
    c->f.last[v] = CLARKE_NONE;
  for (size_t i = 0; i < g->n_steps; i++)
    if (clarke_step_has_kinks(&g->steps[i])) {
      const size_t count = g->values[g->steps[i].out].count * g->samples;

      c->piece[i] = malloc((count + 1) * sizeof **c->piece);
      c->ties[i] = calloc(g->samples + 1, sizeof **c->ties);
      clarke_branches_leave(c->piece[i], count);
    }
  if (clarke_graph_couples(g) != coupled || !clarke_slices_serve(g, c->piece, g->samples))
    return false;
  OK(clarke_slice_plan_make(&c->plan, &c->growths, g, x, c->piece, g->samples, &error));
  return true;
}

static void
end(scene *c)
{
  const clarke_graph *g = c->f.g;

  for (size_t v = 0; v < g->n_values; v++) {
    clarke_sliced_drop(&c->f.value[v]);
    for (size_t e = 0; c->truth[v] != NULL && e < g->values[v].count * c->f.n; e++)
      mpq_clear(c->truth[v][e]);
    free(c->truth[v]);
  }
  for (size_t i = 0; i < g->n_steps; i++) {
    free(c->piece[i]);
    free(c->ties[i]);
  }
  if (c->plan.g != NULL)
    clarke_slice_plan_clear(&c->plan);
  clarke_growths_clear(&c->growths);
  clarke_identities_free(c->f.ids);
  free(c->f.value);
  free(c->f.deferred);
  free(c->f.last);
  free(c->f.made);
  free(c->f.sum);
  free(c->piece);
  free(c->ties);
  free(c->truth);
}

static void
of_entry(mpq_t q, const scene *c, const clarke_sliced *v, size_t e)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_ui(q, 0, 1);
  for (size_t k = 0; k < v->planes; k++) {
    const long power = v->low + c->plan.width * (long)k;

    mpq_set_d(term, (double)v->digit[k * v->rows * c->f.n + e]);
    if (power >= 0)
      mpq_mul_2exp(term, term, (mp_bitcnt_t)power);
    else
      mpq_div_2exp(term, term, (mp_bitcnt_t)-power);
    mpq_add(q, q, term);
  }
  mpq_clear(term);
}

/* Numbers of some size in digits, and what they truly are: within errors that are a few of the lowest places, or none. */
static void
draw_operand(scene *c, size_t value, uint64_t *state)
{
  clarke_sliced *v = &c->f.value[value];
  const size_t rows = c->f.g->values[value].count, n = c->f.n, count = rows * n;
  const long width = c->plan.width, low = c->plan.low[value];
  const size_t planes = low < 4 ? (size_t)((4 - low) / width) + 1 : 1;
  mpq_t off;

  mpq_init(off);
  clarke_sliced_drop(v);
  OK(clarke_sliced_alloc(&c->f, v, rows, planes, low));
  if (c->truth[value] == NULL) {
    c->truth[value] = malloc((count + 1) * sizeof **c->truth);
    for (size_t e = 0; e < count; e++)
      mpq_init(c->truth[value][e]);
  }
  for (size_t e = 0; e < count; e++) {
    clarke_digits d;
    double number;

    number = draw_number(state);
    number += draw(state) & 1 ? ldexp((double)draw_between(state, -9, 9), -30) : 0;
    ck_assert(clarke_digits_of_double(&d, number, low, width));
    ck_assert_uint_le(d.planes, planes);
    for (size_t k = 0; k < planes; k++)
      v->digit[k * count + e] = k < d.planes ? (float)d.digit[k] : 0;
  }
  for (size_t j = 0; j < c->f.lanes; j++) {
    v->most[j] = draw_below(state, 3) == 0 ? 0 : ldexp((double)draw_between(state, 1, 9), (int)low);
    v->norm[j] = v->most[j] * sqrt((double)(rows * n / c->f.lanes)) * (1 + 0x1p-40);
  }
  for (size_t e = 0; e < count; e++) {
    of_entry(c->truth[value][e], c, v, e);
    mpq_set_d(off, v->most[c->f.lanes == 1 ? 0 : e % n] * (double)draw_between(state, -8, 8) / 8);
    mpq_add(c->truth[value][e], c->truth[value][e], off);
  }
  mpq_clear(off);
}

static clarke_status
go(scene *c, const clarke_step *s)
{
  switch (s->kind) {
  case CLARKE_GATHER:
    return clarke_slices_gather(&c->f, s);
  case CLARKE_SUM:
    return clarke_slices_sum(&c->f, s);
  case CLARKE_SCALE:
    return clarke_slices_scale(&c->f, s);
  case CLARKE_DENSE:
    return clarke_slices_dense(&c->f, s);
  case CLARKE_PIECEWISE:
    return clarke_slices_piecewise(&c->f, s);
  default:
    return clarke_slices_max(&c->f, s);
  }
}

static void
check_sample(const scene *c, const clarke_step *s, steps_run *r, size_t j)
{
  const clarke_sliced *y = &c->f.value[s->out];
  double squares = 0;
  mpq_t off;

  mpq_init(off);
  for (size_t k = 0; k < s->n_in; k++)
    for (size_t e = 0; !c->f.g->values[s->in[k].value].constant && e < c->f.g->values[s->in[k].value].count; e++)
      mpq_set(r->value[s->in[k].value][e], c->truth[s->in[k].value][e * c->f.n + j]);
  for (size_t i = 0; i < y->rows; i++) {
    double distance;

    mpq_set_ui(r->value[s->out][i], 0, 1);
    steps_one(r, s, i);
    of_entry(off, c, y, i * c->f.n + j);
    mpq_sub(off, off, r->value[s->out][i]);
    distance = fabs(mpq_get_d(off)); /* towards 0 */
    ck_assert_msg(distance <= y->most[j], "kind %d, entry %zu: %g off, %g said", (int)s->kind, i, distance, y->most[j]);
    squares += distance * distance;
  }
  ck_assert_double_le(sqrt(squares) * (1 - 0x1p-40), y->norm[j]);
  ck_assert_double_lt(y->most[j], 1);
  mpq_clear(off);
}

/* How many places were decided, rightly. */
static size_t
check_places(const scene *c, const clarke_step *s)
{
  const size_t n = c->f.n, rows = c->f.g->values[s->out].count;
  mpq_t *x = c->truth[s->in[0].value];
  const clarke_branch *piece = c->piece[s - c->f.g->steps];
  size_t decided = 0;

  for (size_t e = 0; e < rows * n; e++) {
    if (piece[e] == CLARKE_OPEN)
      continue;
    decided++;
    ck_assert_int_ge(piece[e], 0); /* a kink is never found to be touched */
    for (size_t k = 0; s->kind == CLARKE_PIECEWISE && k < s->pieces.n_kinks; k++)
      ck_assert((int)k < piece[e] ? mpq_cmp(x[e], s->pieces.kink[k]) > 0 : mpq_cmp(x[e], s->pieces.kink[k]) < 0);
    for (size_t k = 0; s->kind == CLARKE_MAX && k < s->width; k++) {
      const size_t here = s->in[0].map[e / n * s->width + k], best = s->in[0].map[e / n * s->width + (size_t)piece[e]];

      ck_assert(here == CLARKE_NONE || mpq_cmp(x[here * n + e % n], x[best * n + e % n]) <= 0);
    }
  }
  return decided;
}

/* What is followed, and what the plain evaluator follows, too. */
static bool
is_followed(const scene *c, const clarke_step *s)
{
  if (!c->plan.needed[s->out] || s->kind == CLARKE_NORMALIZE || s->root || s->divide
      || (s->kind == CLARKE_PIECEWISE && s->pieces.slope != CLARKE_NONE))
    return false;
  for (size_t k = 0; k < s->n_in; k++)
    if (!c->f.g->values[s->in[k].value].constant && !c->plan.needed[s->in[k].value])
      return false;
  return s->kind != CLARKE_MAX;
}

START_TEST(steps_hold_what_is)
{
  uint64_t state = 6;
  size_t seen[CLARKE_PRODUCT + 1] = {0}, decided = 0;

  for (int round = 0; round < 300; round++) {
    growing grown;
    clarke_tensor x = grow_network(&grown, &state, draw_number, 5, false);
    clarke_graph g;
    scene c;

    clarke_graph_init(&g);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    if (begin(&c, &g, &x, false))
      for (size_t i = 0; i < g.n_steps; i++) {
        const clarke_step *s = &g.steps[i];
        steps_run r;

        if (!is_followed(&c, s))
          continue;
        for (size_t k = 0; k < s->n_in; k++)
          if (!g.values[s->in[k].value].constant)
            draw_operand(&c, s->in[k].value, &state);
        c.f.step = i;
        clarke_sliced_drop(&c.f.value[s->out]);
        OK(go(&c, s));
        ck_assert(!c.f.lost);
        steps_begin(&r, &g);
        for (size_t j = 0; j < c.f.n && c.f.value[s->out].digit != NULL; j++)
          check_sample(&c, s, &r, j);
        steps_end(&r);
        decided += clarke_step_has_kinks(s) ? check_places(&c, s) : 0;
        seen[s->kind]++;
      }
    end(&c);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  ck_assert_msg(seen[CLARKE_GATHER] > 10 && seen[CLARKE_SUM] > 10 && seen[CLARKE_SCALE] > 5 && seen[CLARKE_DENSE] > 10
                  && seen[CLARKE_PIECEWISE] > 10, "%zu gathers, %zu sums, %zu scales, %zu products, %zu pieces", seen[CLARKE_GATHER],
                seen[CLARKE_SUM], seen[CLARKE_SCALE], seen[CLARKE_DENSE], seen[CLARKE_PIECEWISE]);
  ck_assert_uint_gt(decided, 100);
}
END_TEST

enum { FEATURES = 4, SAMPLES = 5 }; /* of a normalization of a minibatch */

static void
normalizing_model(clarke_model *m)
{
  model_begin(m, 17);
  model_input(m, "x", SHAPE(-1, FEATURES, ));
  for (size_t k = 0; k < 4; k++) {
    double *to = model_floats(m, (const char *[]){"scale", "bias", "mean", "var"}[k], SHAPE(FEATURES, ));

    for (size_t i = 0; i < FEATURES && k == 0; i++)
      to[i] = 1;
  }
  attr_int(model_node(m, "BatchNormalization", "x,scale,bias,mean,var", "n"), "training_mode", 1);
  model_node(m, "Relu", "n", "y");
  model_output(m, "y");
}

/* Each entry of y is (x - mean) / root of a row of what x truly is, over all samples, within the norms said. */
static void
compare_normalized(const scene *c, const clarke_step *s, const clarke_sliced *y)
{
  long double squares = 0;
  mpq_t entry;

  mpq_init(entry);
  for (size_t i = 0; i < FEATURES; i++) {
    mpq_t *truth = c->truth[s->in[0].value] + i * SAMPLES;
    long double mean = 0, square = mpq_get_d(s->epsilon);

    for (size_t j = 0; j < SAMPLES; j++)
      mean += (long double)mpq_get_d(truth[j]) / SAMPLES;
    for (size_t j = 0; j < SAMPLES; j++)
      square += powl(mpq_get_d(truth[j]) - mean, 2) / SAMPLES;
    for (size_t j = 0; j < SAMPLES; j++) {
      long double off;

      of_entry(entry, c, y, i * SAMPLES + j);
      off = fabsl(mpq_get_d(entry) - (mpq_get_d(truth[j]) - mean) / sqrtl(square));
      ck_assert_msg(off <= y->most[0] + 1e-14L, "entry (%zu, %zu): %Lg off, %g said", i, j, off, y->most[0]);
      squares += off * off;
    }
  }
  mpq_clear(entry);
  ck_assert(sqrtl(squares) <= y->norm[0] + 2e-14L && y->most[0] < 0.1);
}

START_TEST(normalized)
{
  uint64_t state = 8;
  size_t followed = 0;

  for (int round = 0; round < 40; round++) {
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(SAMPLES, FEATURES, ));
    clarke_model m;
    clarke_graph g;
    scene c;

    normalizing_model(&m);
    for (size_t e = 0; e < x.count; e++)
      x.real[e] = draw_number(&state);
    clarke_graph_init(&g);
    OK(clarke_graph_build(&g, &m, &x, &error));
    if (begin(&c, &g, &x, true))
      for (size_t k = 0; k < g.n_steps; k++) {
        const clarke_step *s = &g.steps[k];
        const clarke_sliced *y;
        size_t out = s->out;

        if (s->kind != CLARKE_NORMALIZE || !c.plan.needed[s->out])
          continue;
        draw_operand(&c, s->in[0].value, &state);
        c.f.step = k;
        c.f.value[s->in[0].value].scaled = INFINITY; /* its norm alone is known */
        OK(clarke_slices_normalize(&c.f, s));
        for (size_t v = 0; v < g.n_values; v++) /* scale 1 and bias 0 are made at once */
          out = c.f.made[v] ? v : out;
        y = &c.f.value[out];
        ck_assert(!c.f.lost && y->rows == FEATURES);
        followed++;
        compare_normalized(&c, s, y);
      }
    end(&c);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
  ck_assert_uint_gt(followed, 20);
}
END_TEST

/* 2^22 entries of a group, in three planes of digits that are as large as they may be: so many products of two planes pass 2^63. Half
 * of the entries are 2^44 less than the others, so all are 1 and -1 when they are normalized. */
START_TEST(normalized_in_large_groups)
{
  enum { ROWS = 1 << 20, COLUMNS = 4, OF_DIGITS = 21 };
  clarke_value values[2] = {{.count = ROWS}, {.count = ROWS}};
  clarke_operand in = {.value = 0, .coef = 1};
  clarke_step s = {.kind = CLARKE_NORMALIZE, .n_in = 1, .in = &in, .out = 1,
                   .grouping = {.blocks = 1, .groups = 1, .length = ROWS, .couples = true}};
  clarke_graph g = {.n_values = 2, .values = values, .n_steps = 1, .steps = &s};
  bool needed[2] = {true, true}, made[2] = {false, false};
  long low[2] = {0, -3 * OF_DIGITS};
  const clarke_slice_plan plan = {.g = &g, .width = OF_DIGITS, .needed = needed, .low = low};
  clarke_sliced value[2] = {{0}};
  clarke_slicing f = {.g = &g, .plan = &plan, .n = COLUMNS, .lanes = 1, .value = value, .made = made, .err = &error};
  const size_t entries = (size_t)ROWS * COLUMNS;
  double y[CLARKE_SLICE_BLOCK];

  mpq_init(s.epsilon);
  mpq_set_ui(s.epsilon, 1, 4);
  f.sum = malloc((CLARKE_PLANES + 2) * CLARKE_SLICE_BLOCK * sizeof *f.sum);
  OK(clarke_sliced_alloc(&f, &value[0], ROWS, 3, low[0]));
  for (size_t e = 0; e < 3 * entries; e++)
    value[0].digit[e] = (float)((1 << (OF_DIGITS - 1)) - (e >= 2 * entries && e % 2 > 0 ? 5 : 1));
  OK(clarke_slices_normalize(&f, &s));
  ck_assert(!f.lost && value[1].most[0] < 0x1p-40);
  for (size_t e = 0; e < entries; e += CLARKE_SLICE_BLOCK) {
    clarke_sliced_doubles(&f, &value[1], e, CLARKE_SLICE_BLOCK, y);
    for (size_t i = 0; i < CLARKE_SLICE_BLOCK; i++)
      ck_assert_double_le(fabs(y[i] - (i % 2 > 0 ? -1 : 1)), 0x1p-40);
  }
  clarke_sliced_drop(&value[0]);
  clarke_sliced_drop(&value[1]);
  mpq_clear(s.epsilon);
  free(f.sum);
}
END_TEST

/* A bound that is not known (infinity, times 0) is no sample's but its own, and stays unknown in what is made of it. */
START_TEST(unknown_bounds)
{
  uint64_t state = 12;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(2, 3, ));
  size_t sums = 0, pieces = 0;
  clarke_model m;
  clarke_graph g;
  scene c;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 3, ));
  for (size_t k = 0; k < 2; k++) {
    double *w = model_floats(&m, k == 0 ? "v" : "w", SHAPE(3, 3, ));

    for (size_t e = 0; e < 9; e++)
      w[e] = draw_number(&state);
    model_node(&m, "MatMul", k == 0 ? "x,v" : "x,w", k == 0 ? "a" : "b");
  }
  attr_int(model_node(&m, "Concat", "a,b", "c"), "axis", 1);
  model_node(&m, "Relu", "c", "y");
  model_output(&m, "y");
  for (size_t e = 0; e < x.count; e++)
    x.real[e] = draw_number(&state);
  clarke_graph_init(&g);
  OK(clarke_graph_build(&g, &m, &x, &error));
  ck_assert(begin(&c, &g, &x, false));
  for (size_t k = 0; k < g.n_steps; k++) {
    const clarke_step *s = &g.steps[k];

    if (s->kind != CLARKE_SUM && s->kind != CLARKE_PIECEWISE)
      continue;
    for (size_t i = 0; i < s->n_in; i++) {
      clarke_sliced *v = &c.f.value[s->in[i].value];

      draw_operand(&c, s->in[i].value, &state);
      for (size_t e = 0; e < v->planes * v->rows * 2; e++) /* all far from 0 */
        v->digit[e] = 1;
      v->most[1] = v->norm[1] = 0;
      if (i == 0)
        v->most[0] = v->norm[0] = NAN;
    }
    c.f.step = k;
    clarke_sliced_drop(&c.f.value[s->out]);
    OK(go(&c, s));
    ck_assert(!(c.f.value[s->out].most[0] <= 1) && c.f.value[s->out].most[1] <= 1);
    for (size_t e = 0; s->kind == CLARKE_PIECEWISE && e < g.values[s->out].count * 2; e++)
      ck_assert((c.piece[k][e] == CLARKE_OPEN) == (e % 2 == 0));
    sums += s->kind == CLARKE_SUM;
    pieces += s->kind == CLARKE_PIECEWISE;
  }
  ck_assert(sums == 1 && pieces == 1);
  end(&c);
  clarke_graph_clear(&g);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

MODULE(slice_steps)
{
  TCase *tests = tests_of("steps in slices");

  tcase_add_test(tests, steps_hold_what_is);
  tcase_add_test(tests, normalized);
  tcase_add_test(tests, normalized_in_large_groups);
  tcase_add_test(tests, unknown_bounds);
  return all_tests;
}
