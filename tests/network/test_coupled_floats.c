/* Networks whose samples a normalization couples, in floats: bit for bit as the program of one that has each sample's steps, and each
 * sample's parameters, apart, and normalizes over entries of one sample. */
#include "normalized.h"
#include "../ok.h"

#include "base/limit.h"
#include "base/stop.h"
#include "network/graph/build.h"
#include "program/rounded.h"
#include "program/unroll/floats.h"

#include <math.h>

static const char profile_text[] = "Relu 0 1/3\nLeakyRelu 0 right\nAbs 0 -1/2\ntie MaxPool mean\n";

/* --- the samples side by side ------------------------------------------------------------------- */

/* A graph of one sample: of value v and sample j there is v + j n_values; of the input and what is joined, more. */
typedef struct {
  const clarke_graph *of;
  size_t n;              /* samples */
  clarke_graph g;
  size_t n_maps;
  size_t **map;          /* what is freed at the end */
} apart;

static size_t
copy_of(const apart *a, size_t value, size_t sample)
{
  return value == CLARKE_NONE ? value : value + sample * a->of->n_values;
}

static size_t *
new_map(apart *a, size_t n)
{
  a->map = realloc(a->map, (a->n_maps + 1) * sizeof *a->map);
  return a->map[a->n_maps++] = calloc(n + 1, sizeof **a->map);
}

static size_t
new_value(apart *a, size_t count)
{
  a->g.values[a->g.n_values] = (clarke_value){.count = count, .parameter = CLARKE_NONE};
  return a->g.n_values++;
}

static clarke_step *
new_step(apart *a, clarke_step_kind kind, size_t out, size_t n_in)
{
  clarke_step *s = &a->g.steps[a->g.n_steps++];

  *s = (clarke_step){.kind = kind, .name = (char *)"moved", .out = out, .n_in = n_in};
  s->in = calloc(n_in + 1, sizeof *s->in);
  return s;
}

/* to = the part of `from` that is a sample's. */
static void
part(apart *a, size_t to, size_t from, size_t sample)
{
  const size_t count = a->g.values[to].count;
  clarke_step *s = new_step(a, CLARKE_GATHER, to, 1);

  s->in[0] = (clarke_operand){.value = from, .coef = 1, .map = new_map(a, count)};
  for (size_t f = 0; f < count; f++)
    s->in[0].map[f] = sample * count + f;
}

/* The value that has all samples' entries of a value one after another. */
static size_t
join(apart *a, size_t value)
{
  const size_t count = a->of->values[value].count, to = new_value(a, a->n * count);
  clarke_step *s = new_step(a, CLARKE_SUM, to, a->n);

  for (size_t j = 0; j < a->n; j++) {
    s->in[j] = (clarke_operand){.value = copy_of(a, value, j), .coef = 1, .map = new_map(a, a->n * count)};
    for (size_t f = 0; f < a->n * count; f++)
      s->in[j].map[f] = f / count == j ? f % count : CLARKE_NONE;
  }
  return to;
}

static clarke_step *
copy_step(apart *a, const clarke_step *from, size_t sample)
{
  clarke_step *s = new_step(a, from->kind, copy_of(a, from->out, sample), from->n_in);
  clarke_operand *in = s->in;

  *s = *from;
  s->in = in;
  s->out = copy_of(a, from->out, sample);
  for (size_t k = 0; k < s->n_in; k++) {
    s->in[k] = from->in[k];
    s->in[k].value = copy_of(a, from->in[k].value, sample);
  }
  if (s->kind == CLARKE_DENSE)
    s->dense.weight = copy_of(a, s->dense.weight, sample);
  if (s->kind == CLARKE_PIECEWISE)
    s->pieces.slope = copy_of(a, s->pieces.slope, sample);
  return s;
}

static void
spread_step(apart *a, const clarke_step *from)
{
  size_t joined, normal;
  clarke_step *s;

  if (from->kind != CLARKE_NORMALIZE || !from->grouping.couples) {
    for (size_t j = 0; j < a->n; j++)
      copy_step(a, from, j);
    return;
  }
  joined = join(a, from->in[0].value);
  normal = new_value(a, a->g.values[joined].count);
  s = copy_step(a, from, 0);
  s->in[0].value = joined;
  s->out = normal;
  s->grouping.blocks *= a->n;
  s->grouping.couples = false;
  for (size_t j = 0; j < a->n; j++)
    part(a, copy_of(a, from->out, j), normal, j);
}

/* Values and parameters a sample. */
static void
spread_values(apart *a)
{
  const clarke_graph *of = a->of;

  for (size_t j = 0; j < a->n; j++) {
    for (size_t v = 0; v < of->n_values; v++) {
      clarke_value *to = &a->g.values[a->g.n_values++];

      *to = of->values[v];
      if (to->parameter != CLARKE_NONE)
        to->parameter += j * of->n_parameters;
    }
    for (size_t p = 0; p < of->n_parameters; p++) {
      char name[64];

      snprintf(name, sizeof name, "%s of %zu", of->parameters[p].name, j);
      a->g.parameters[a->g.n_parameters] = of->parameters[p];
      a->g.parameters[a->g.n_parameters++].name = strdup(name);
    }
  }
}

static void
apart_begin(apart *a, const clarke_graph *of, size_t n)
{
  *a = (apart){.of = of, .n = n};
  a->g.file = of->file;
  a->g.samples = 1;
  a->g.values = calloc(n * of->n_values + 2 * of->n_steps + 2, sizeof *a->g.values);
  a->g.steps = calloc((n + 2) * (of->n_steps + 2), sizeof *a->g.steps);
  a->g.parameters = calloc(n * of->n_parameters + 1, sizeof *a->g.parameters);
  spread_values(a);
  a->g.input = new_value(a, n * of->values[of->input].count);
  for (size_t j = 0; j < n; j++)
    part(a, copy_of(a, of->input, j), a->g.input, j);
  for (size_t i = 0; i < of->n_steps; i++)
    spread_step(a, &of->steps[i]);
  a->g.output = join(a, of->output);
}

static void
apart_end(apart *a)
{
  for (size_t i = 0; i < a->g.n_steps; i++)
    free(a->g.steps[i].in);
  for (size_t p = 0; p < a->g.n_parameters; p++)
    free(a->g.parameters[p].name);
  for (size_t m = 0; m < a->n_maps; m++)
    free(a->map[m]);
  free(a->map);
  free(a->g.values);
  free(a->g.steps);
  free(a->g.parameters);
}

/* --- both ways ---------------------------------------------------------------------------------- */

/* The program ends in its outputs' sum, weighted. */
static void
weigh(clarke_code *p, const double *seed)
{
  const size_t n = p->n_outputs;
  mpq_t *coef = calloc(n + 1, sizeof *coef);
  size_t at;

  for (size_t o = 0; o <= n; o++) {
    mpq_init(coef[o]);
    if (o < n)
      mpq_set_d(coef[o], seed[o]);
  }
  clarke_code_new_group(p);
  OK(clarke_code_add_linear(p, &at, n, p->output, coef, &error));
  for (size_t o = 0; o <= n; o++)
    mpq_clear(coef[o]);
  free(coef);
  p->output[0] = at;
  p->n_outputs = 1;
}

static bool
same(double a, double b)
{
  return (isnan(a) && isnan(b)) || (a == b && (signbit(a) != 0) == (signbit(b) != 0));
}

typedef struct {
  clarke_ieee_unit unit;
  clarke_profile profile;
  size_t number, samples, outputs, wrt;
  double *seed, *value;
  clarke_rounded sum; /* the weighted sum's gradient, by the samples' parameters */
} comparison;

/* The program's gradient, its samples' added up from the first. */
static double
added(const comparison *c, size_t e)
{
  double sum = c->sum.gradient[e];

  for (size_t j = 1; j < c->samples; j++)
    sum = clarke_ieee_add(&c->unit, sum, c->sum.gradient[j * c->wrt + e]);
  return sum;
}

static void
run_program(comparison *c, const clarke_graph *g, const clarke_tensor *x, clarke_ieee format)
{
  const size_t all = c->samples * c->outputs;
  mpq_t *point = NULL;
  clarke_rounded r;
  clarke_code p;
  size_t n = 0;
  apart a;

  apart_begin(&a, g, c->samples);
  clarke_code_init(&p);
  clarke_rounded_init(&r);
  OK(clarke_unroll(&p, &point, &n, &a.g, x, "in", &error));
  ck_assert_uint_eq(p.n_outputs, all);
  OK(clarke_rounded_values(&r, &p, point, format, &error));
  memcpy(c->value, r.value, all * sizeof *c->value);
  weigh(&p, c->seed);
  OK(clarke_rounded_run(&c->sum, &p, point, format, &c->profile, &error));
  ck_assert_uint_eq(c->sum.n_gradient, c->samples * c->wrt);
  for (size_t i = 0; i < n; i++)
    mpq_clear(point[i]);
  free(point);
  clarke_rounded_clear(&r);
  clarke_code_clear(&p);
  apart_end(&a);
}

/* Work that is to stop stops before its last sample, forward and back, and when rooms are made; and is whole when it is asked again. */
static void
stops_between_samples(clarke_floats *f, double *y, double *gradient, const comparison *c, const clarke_graph *g, const clarke_tensor *x,
                      clarke_ieee format)
{
  const size_t check = 128, limit = clarke_limit_of(CLARKE_LIMIT_WORK);
  const clarke_work_count last = {true, limit - (c->samples - 2) * check}; /* the check behind the last sample but one is beyond it */
  clarke_floats *other;

  clarke_work_count_from(last);
  ck_assert_int_eq(clarke_floats_new(&other, g, x, format, &error), CLARKE_ESTOPPED);
  ck_assert_ptr_null(other);
  clarke_work_count_from(last);
  ck_assert_int_eq(clarke_floats_forward(f, y, 0, &error), CLARKE_ESTOPPED);
  ck_assert_uint_eq(clarke_work_counted().spent, limit + check);
  clarke_work_count_from((clarke_work_count){false, 0});
  OK(clarke_floats_forward(f, y, 0, &error));
  clarke_work_count_from(last);
  ck_assert_int_eq(clarke_floats_backward(f, gradient, c->seed, &c->profile, &error), CLARKE_ESTOPPED);
  ck_assert_uint_eq(clarke_work_counted().spent, limit + check);
  clarke_work_count_from((clarke_work_count){false, 0});
}

/* How many entries of the gradient are numbers other than 0. */
static size_t
check_floats(const comparison *c, const clarke_graph *g, const clarke_tensor *x, clarke_ieee format)
{
  double *y = calloc(c->samples * c->outputs + 1, sizeof *y), *gradient = calloc(c->wrt + 1, sizeof *gradient);
  clarke_floats *f;
  size_t moved = 0;

  OK(clarke_floats_new(&f, g, x, format, &error));
  ck_assert_uint_eq(clarke_floats_together(f), clarke_graph_couples(g) && c->samples > 1 ? c->samples : 1);
  if (clarke_floats_together(f) == c->samples)
    stops_between_samples(f, y, gradient, c, g, x, format);
  for (size_t again = 0; again < 2 && clarke_floats_together(f) == c->samples; again++) {
    OK(clarke_floats_forward(f, y, 0, &error));
    OK(clarke_floats_backward(f, gradient, c->seed, &c->profile, &error));
    for (size_t o = 0; o < c->samples * c->outputs; o++)
      ck_assert_msg(same(y[o], c->value[o]), "network %zu, output %zu: %a, not %a", c->number, o, y[o], c->value[o]);
    for (size_t e = 0; e < c->wrt; e++) {
      ck_assert_msg(same(gradient[e], added(c, e)), "network %zu, entry %zu: %a, not %a", c->number, e, gradient[e], added(c, e));
      moved += again == 0 && isfinite(gradient[e]) && gradient[e] != 0;
    }
  }
  clarke_floats_free(f);
  free(gradient);
  free(y);
  return moved;
}

static double
tenth(uint64_t *state)
{
  return (double)draw_between(state, -30, 30) / 10;
}

static double
quarter(uint64_t *state)
{
  return (double)draw_between(state, -9, 9) / 4;
}

static size_t
compare(uint64_t *state, size_t number)
{
  const clarke_ieee format = (clarke_ieee)(number % 4);
  comparison c = {.number = number, .samples = 2 + draw_below(state, 4)};
  size_t moved = 0;
  clarke_graph g;
  clarke_tensor x;
  growing grown;

  grow_normalized(&grown, state, number % 3 == 0 ? tenth : quarter);
  x = grow_batch(&grown, c.samples);
  clarke_graph_init(&g);
  clarke_profile_init(&c.profile);
  clarke_rounded_init(&c.sum);
  OK(clarke_profile_parse(&c.profile, profile_text, strlen(profile_text), "drawn", &error));
  OK(clarke_graph_build(&g, &grown.m, &x, &error));
  OK(clarke_graph_wrt(&g, NULL, 0, &error));
  for (size_t p = 0; number % 2 == 1 && p < g.n_parameters; p++)
    g.parameters[p].wrt = g.parameters[p].wrt && draw_below(state, 3) > 0;
  c.outputs = g.values[g.output].count;
  c.wrt = clarke_graph_wrt_count(&g);
  c.seed = calloc(c.samples * c.outputs + 1, sizeof *c.seed);
  c.value = calloc(c.samples * c.outputs + 1, sizeof *c.value);
  clarke_ieee_begin(&c.unit, format);
  for (size_t o = 0; o < c.samples * c.outputs; o++)
    c.seed[o] = clarke_ieee_round(&c.unit, tenth(state));
  clarke_ieee_end(&c.unit);
  if (clarke_graph_couples(&g) && c.wrt > 0) {
    run_program(&c, &g, &x, format);
    moved = check_floats(&c, &g, &x, format);
  }
  free(c.seed);
  free(c.value);
  clarke_rounded_clear(&c.sum);
  clarke_profile_clear(&c.profile);
  clarke_graph_clear(&g);
  clarke_tensor_clear(&x);
  clarke_model_clear(&grown.m);
  return moved;
}

START_TEST(as_the_program_of_all_samples)
{
  uint64_t state = 91;
  size_t moved = 0, networks = 0;

  for (size_t i = 0; i < draw_count(800); i++) {
    const size_t entries = compare(&state, i);

    moved += entries;
    networks += entries > 0;
  }
  printf("coupled: %zu networks, %zu entries that are not 0\n", networks, moved);
  ck_assert_uint_gt(networks, draw_count(800) / 4);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("coupled-floats");

  tcase_add_test(tcase, as_the_program_of_all_samples);
  return run_tests();
}
