#define _GNU_SOURCE /* tdestroy */
/* Values of single steps beside their formulas: functions with a domain, normalizations; which entries are one function; and how a
 * graph's input is typed. */
#include "../ok.h"
#include "../suites.h"
#include "networks.h"
#include "normalized.h"

#include "network/graph/build.h"
#include "network/pass/domain.h"
#include "network/pass/identity/steps.h"
#include "network/pass/normalize.h"
#include "network/replay/replay.h"

#include <math.h>
#include <search.h>

static double
quarter(uint64_t *state)
{
  return (double)draw_between(state, -6, 6) / 4;
}

static double
ternary(uint64_t *state)
{
  return (double)draw_between(state, -1, 1);
}

/* --- functions with a domain --- */

static void
is_rational(const clarke_matrix *m, size_t e, long num, unsigned long den)
{
  mpq_t q;

  mpq_init(q);
  clarke_matrix_get(q, m, e, 0);
  ck_assert_msg(mpq_cmp_si(q, num, den) == 0 && (m->radius == NULL || m->radius[e] == 0), "%g", mpq_get_d(q));
  mpq_clear(q);
}

START_TEST(functions_are_rational_where_they_can_be)
{
  static const struct {
    clarke_function function;
    double x[2];
    long value[2][2], slope[2][2];
  } known[] = {{CLARKE_RECIPROCAL, {4, -0.5}, {{1, 4}, {-2, 1}}, {{-1, 16}, {-4, 1}}},
               {CLARKE_SQRT, {4, 2.25}, {{2, 1}, {3, 2}}, {{1, 4}, {1, 3}}},
               {CLARKE_LOG, {1, 1}, {{0, 1}, {0, 1}}, {{1, 1}, {1, 1}}}};

  for (size_t i = 0; i < 3; i++)
    for (int slope = 0; slope < 2; slope++) {
      const clarke_step s = {.kind = CLARKE_ANALYTIC, .function = known[i].function};
      clarke_matrix x, y;
      bool vague = true;

      clarke_matrix_init(&x);
      clarke_matrix_init(&y);
      OK(clarke_matrix_set_doubles(&x, 2, 1, known[i].x, &error));
      OK(clarke_domain_apply(&y, &vague, &s, &x, slope, 64, &error));
      for (size_t e = 0; e < 2; e++)
        is_rational(&y, e, (slope ? known[i].slope : known[i].value)[e][0], (unsigned long)(slope ? known[i].slope : known[i].value)[e][1]);
      clarke_matrix_clear(&x);
      clarke_matrix_clear(&y);
    }
}
END_TEST

START_TEST(other_values_are_enclosed)
{
  static const struct {
    clarke_function function;
    double value, slope;
  } known[] = {{CLARKE_SQRT, 1.4142135623730951, 0.35355339059327373}, {CLARKE_LOG, 0.6931471805599453, 0.5}};

  for (size_t i = 0; i < 2; i++)
    for (int slope = 0; slope < 2; slope++) {
      const clarke_step s = {.kind = CLARKE_ANALYTIC, .function = known[i].function};
      const double two = 2, expected = slope ? known[i].slope : known[i].value;
      clarke_matrix x, y;
      bool vague = true;

      clarke_matrix_init(&x);
      clarke_matrix_init(&y);
      OK(clarke_matrix_set_doubles(&x, 1, 1, &two, &error));
      OK(clarke_domain_apply(&y, &vague, &s, &x, slope, 64, &error));
      ck_assert_double_eq_tol(clarke_matrix_get_double(&y, 0, 0), expected, 1e-15);
      ck_assert(clarke_matrix_radius(&y, 0, 0) < 1e-15);
      clarke_matrix_clear(&x);
      clarke_matrix_clear(&y);
    }
}
END_TEST

/* Outside they are refused; an enclosure that reaches the border is vague. */
START_TEST(domains_have_borders)
{
  static const clarke_function functions[] = {CLARKE_RECIPROCAL, CLARKE_SQRT, CLARKE_LOG};

  for (size_t i = 0; i < 3; i++)
    for (int enclosed = 0; enclosed < 2; enclosed++) {
      const clarke_step s = {.kind = CLARKE_ANALYTIC, .function = functions[i]};
      const double at[2] = {1, enclosed ? 0.25 : 0};
      clarke_matrix x, y;
      bool vague = !enclosed;

      clarke_matrix_init(&x);
      clarke_matrix_init(&y);
      OK(clarke_matrix_set_doubles(&x, 2, 1, at, &error));
      if (enclosed) {
        OK(clarke_matrix_need_radius(&x, &error));
        x.radius[1] = 0.5;
      }
      ck_assert_int_eq(clarke_domain_apply(&y, &vague, &s, &x, false, 64, &error), CLARKE_EINPUT);
      ck_assert_int_eq(vague, enclosed);
      ck_assert(strstr(error.text, enclosed ? "cannot be told" : "entry 1 of the argument of") != NULL);
      if (enclosed) { /* far enough from the border nothing is in doubt */
        x.radius[1] = 0.125;
        OK(clarke_domain_apply(&y, &vague, &s, &x, false, 64, &error));
        ck_assert(clarke_matrix_radius(&y, 1, 0) > 0);
      }
      clarke_matrix_clear(&x);
      clarke_matrix_clear(&y);
    }
}
END_TEST

/* --- normalizations --- */

/* (x - mean) / sqrt(var + epsilon) of each group, in doubles. */
START_TEST(normalized_entries_are_the_formulas)
{
  uint64_t state = 71;
  size_t steps = 0, coupled = 0;

  for (size_t round = 0; round < 150; round++) {
    growing grown;
    clarke_tensor x;
    clarke_graph g;
    clarke_replay r;
    clarke_forward f;

    grow_normalized(&grown, &state, quarter);
    x = grow_batch(&grown, 1 + draw_below(&state, 4));
    clarke_graph_init(&g);
    clarke_replay_init(&r);
    clarke_forward_init(&f);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    OK(clarke_replay_run(&r, NULL, &g, &x, false, 1, &error));
    if (r.open == 0)
      OK(clarke_replay_all(&f, &r, true, 128, &error));
    for (size_t i = 0; r.open == 0 && i < g.n_steps; i++) {
      const clarke_step *s = &g.steps[i];
      const clarke_matrix *in = &f.value[s->in[0].value];
      clarke_matrix y;

      if (s->kind != CLARKE_NORMALIZE || f.value[s->out].rows == 0)
        continue;
      clarke_matrix_init(&y);
      OK(clarke_normalize_apply(&y, s, in, 128, &error));
      steps++;
      coupled += s->grouping.couples;
      for (size_t e = 0; e < in->rows * in->cols; e++) {
        double sum = 0, squares = 0, n = 0, mean, expected;

        for (size_t k = 0; k < in->rows * in->cols; k++)
          if (clarke_step_group(s, k / in->cols) == clarke_step_group(s, e / in->cols) && (s->grouping.couples || k % in->cols == e % in->cols)) {
            sum += clarke_matrix_get_double(in, k / in->cols, k % in->cols);
            n++;
          }
        mean = sum / n;
        for (size_t k = 0; k < in->rows * in->cols; k++)
          if (clarke_step_group(s, k / in->cols) == clarke_step_group(s, e / in->cols) && (s->grouping.couples || k % in->cols == e % in->cols))
            squares += pow(clarke_matrix_get_double(in, k / in->cols, k % in->cols) - mean, 2);
        expected = (clarke_matrix_get_double(in, e / in->cols, e % in->cols) - mean) / sqrt(squares / n + mpq_get_d(s->epsilon));
        ck_assert_double_eq_tol(clarke_matrix_get_double(&y, e / in->cols, e % in->cols), expected, 1e-9 * (1 + fabs(expected)));
        ck_assert(clarke_matrix_radius(&y, e / in->cols, e % in->cols) < 1e-12);
      }
      clarke_matrix_clear(&y);
    }
    clarke_forward_clear(&f);
    clarke_replay_clear(&r);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  ck_assert(steps > 50 && coupled > 20);
}
END_TEST

/* --- identities --- */

/* Of drawn networks: one number, one value; what rows compare as the same is of one number; and the step's own identity is that found
 * when it is asked for. */
START_TEST(entries_of_one_number_are_one_function)
{
  uint64_t state = 72;
  size_t same_pairs = 0, compared_same = 0, of_steps = 0;

  for (size_t round = 0; round < 120; round++) {
    growing grown;
    clarke_tensor x = grow_network(&grown, &state, round % 2 ? ternary : quarter, 3 + draw_below(&state, 4), true);
    clarke_graph g;
    clarke_replay r;
    clarke_forward f;

    clarke_graph_init(&g);
    clarke_replay_init(&r);
    clarke_forward_init(&f);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    OK(clarke_graph_wrt(&g, NULL, 0, &error));
    OK(clarke_replay_run(&r, NULL, &g, &x, false, 1, &error));
    if (r.open == 0)
      OK(clarke_replay_all(&f, &r, true, 128, &error));
    if (r.open == 0 && f.open == 0) {
      clarke_identities *ids = clarke_identities_new(&g, f.n, f.piece, f.value, NULL), *fresh = clarke_identities_new(&g, f.n, f.piece, f.value, NULL);
      const size_t features = g.values[g.input].count;
      double *input = malloc((features * f.n + 1) * sizeof *input);

      for (size_t e = 0; e < features * f.n; e++)
        input[e] = clarke_matrix_get_double(&f.value[g.input], e / f.n, e % f.n);
      for (size_t i = 0; i < g.n_steps; i++) {
        const clarke_step *s = &g.steps[i];
        const size_t v = s->out, count = g.values[v].count < 6 ? g.values[v].count : 6;

        if (f.value[v].rows == 0)
          continue;
        ck_assert(clarke_identities_known(ids, v) != NULL && clarke_identities_known(fresh, v) != NULL);
        ck_assert_ptr_eq(clarke_identities_known(ids, v), clarke_identities_known(ids, v));
        for (size_t a = 0; a < count; a++)
          for (size_t b = 0; b < count; b++) {
            uint64_t same[8];

            for (size_t j = 0; j < f.n; j++)
              same[j] = UINT64_MAX;
            clarke_identity_compare(same, ids, input, v, a, b);
            for (size_t j = 0; j < f.n; j++) {
              const bool one = clarke_identity_of(ids, v, a, j) == clarke_identity_of(ids, v, b, j);

              ck_assert(same[j] == 0 || same[j] == UINT64_MAX);
              ck_assert(same[j] == 0 || one); /* rows see less, and nothing else */
              compared_same += same[j] != 0 && a != b;
              if (!one || a == b)
                continue;
              same_pairs++;
              ck_assert_double_eq(clarke_matrix_get_double(&f.value[v], a, j), clarke_matrix_get_double(&f.value[v], b, j));
            }
          }
        if (s->kind == CLARKE_PIECEWISE || s->kind == CLARKE_DENSE || s->kind == CLARKE_SCALE)
          for (size_t a = 0; a < count; a++)
            for (size_t b = 0; b < count; b++) {
              const clarke_identity p = clarke_identity_of_step(fresh, s, v, a, 0), q = clarke_identity_of_step(fresh, s, v, b, 0);

              ck_assert((p == q) == (clarke_identity_of(ids, v, a, 0) == clarke_identity_of(ids, v, b, 0)));
              ck_assert_uint_eq(p, clarke_identity_of_step(fresh, s, v, a, 0)); /* the key is found again */
              of_steps++;
            }
      }
      ck_assert(!clarke_identities_failed(ids) && !clarke_identities_failed(fresh));
      free(input);
      clarke_identities_free(ids);
      clarke_identities_free(fresh);
    }
    clarke_forward_clear(&f);
    clarke_replay_clear(&r);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("%zu pairs of one function, %zu told by rows; %zu of steps\n", same_pairs, compared_same, of_steps);
  ck_assert(same_pairs > 200 && compared_same > 20 && of_steps > 300);
}
END_TEST

/* A constant is known by its number, where it has one; else by its structure, as what is no constant. */
START_TEST(keys_settle_to_numbers_or_structure)
{
  const double entries[] = {3, 3, 0, 5};
  clarke_value value = {.count = 4, .producer = CLARKE_NONE, .parameter = CLARKE_NONE};
  clarke_graph g = {.n_values = 1, .values = &value};
  clarke_matrix m;
  clarke_identities *ids;
  clarke_identity id[6];

  clarke_matrix_init(&m);
  OK(clarke_matrix_set_doubles(&m, 4, 1, entries, &error));
  ids = clarke_identities_new(&g, 1, NULL, &m, NULL);
  for (size_t k = 0; k < 6; k++) {
    clarke_key key = clarke_key_begin(ids, BY_STRUCTURE, 0);

    clarke_key_put(&key, k < 4 ? 10 + k : 77);
    id[k] = clarke_key_settle(&key, k < 4, 0, k < 4 ? k : k - 4);
  }
  ck_assert(id[0] == id[1] && id[0] == clarke_identity_by_number(ids, 0, 0)); /* both are 3 */
  ck_assert(id[2] == CLARKE_IDENTITY_ZERO && id[3] != id[0] && clarke_identity_is_constant(id[3]));
  ck_assert(id[4] == id[5] && id[4] != id[0] && !clarke_identity_is_constant(id[4])); /* one structure */
  clarke_identities_free(ids);
  clarke_matrix_clear(&m);
}
END_TEST

/* --- a graph's input --- */

START_TEST(ports_fit_or_are_described)
{
  const clarke_model_port port = {.name = (char *)"x", .shaped = true, .rank = 3, .dims = {-1, 2, 3}}, open = {.shaped = true, .rank = 2, .dims = {0, -1}};
  char text[64];

  ck_assert(clarke_port_fits(&port, 1, (const size_t[]){2, 3}, 2) && !clarke_port_fits(&port, 1, (const size_t[]){2, 4}, 2));
  ck_assert(!clarke_port_fits(&port, 1, (const size_t[]){2}, 1) && clarke_port_fits(&port, 0, (const size_t[]){9, 2, 3}, 3));
  ck_assert(clarke_port_fits(&open, 0, (const size_t[]){5, 7}, 2)); /* unknown fits anything */
  clarke_port_describe(&port, text, sizeof text);
  ck_assert_str_eq(text, "?, 2, 3");
  clarke_port_describe(&open, text, sizeof text);
  ck_assert_str_eq(text, "?, ?");
}
END_TEST

static const struct {
  long declared[4]; /* ends with 0 */
  size_t rank, dims[3];
  int batched; /* -1: refused */
  size_t sample_rank, together;
} inputs[] = {
  {{-1, 2, 3}, 3, {4, 2, 3}, 1, 2, 4}, {{1, 2, 3}, 3, {4, 2, 3}, 1, 2, 1}, {{2, 3}, 3, {4, 2, 3}, 0, 2, 1},
  {{-1, 2, 3}, 2, {4, 6}, 1, 2, 4},    {{-1, 2, 3}, 2, {4, 5}, -1, 0, 0},  {{4, 6}, 2, {4, 6}, 1, 1, 4},
  {{3, 6}, 2, {4, 6}, -1, 0, 0},
};

/* A name that a builder knows; its struct begins with it. */
static void
free_name(void *entry)
{
  free(*(char **)entry);
  free(entry);
}

START_TEST(batches_are_typed_by_the_input)
{
  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
    clarke_tensor x = {.name = (char *)"x", .dtype = CLARKE_F64, .rank = inputs[i].rank, .count = 1};
    clarke_builder b = {0};
    clarke_graph g;
    clarke_model m;
    double real[64] = {0};
    clarke_status status;

    model_begin(&m, 17);
    model_input(&m, "x", SHAPE(-1, ));
    m.inputs[0].rank = 0;
    while (inputs[i].declared[m.inputs[0].rank] != 0) {
      m.inputs[0].dims[m.inputs[0].rank] = inputs[i].declared[m.inputs[0].rank];
      m.inputs[0].rank++;
    }
    for (size_t a = 0; a < x.rank; a++)
      x.count *= x.dims[a] = inputs[i].dims[a];
    x.real = real;
    clarke_graph_init(&g);
    b.g = &g;
    b.m = &m;
    status = clarke_builder_input(&b, &x, &error);
    ck_assert_msg((status == CLARKE_OK) == (inputs[i].batched >= 0), "%zu: %s", i, error.text);
    if (status == CLARKE_OK) {
      const clarke_value *v = &g.values[g.input];

      ck_assert_int_eq(g.batched, inputs[i].batched);
      ck_assert(v->rank == inputs[i].sample_rank && v->count == x.count / 4 && g.samples == 4 && g.together == inputs[i].together);
      ck_assert_str_eq(v->name, "x");
      ck_assert_ptr_null(clarke_builder_value(&b, "x", &error)); /* the name is taken */
      ck_assert(strstr(error.text, "'x'") != NULL);
    } else
      ck_assert(strstr(error.text, "do not fit") != NULL);
    tdestroy(b.names, free_name);
    clarke_graph_clear(&g);
    clarke_model_clear(&m);
  }
}
END_TEST

MODULE(values)
{
  TCase *tests = tests_of("values");

  tcase_add_test(tests, functions_are_rational_where_they_can_be);
  tcase_add_test(tests, other_values_are_enclosed);
  tcase_add_test(tests, domains_have_borders);
  tcase_add_test(tests, normalized_entries_are_the_formulas);
  tcase_add_test(tests, entries_of_one_number_are_one_function);
  tcase_add_test(tests, keys_settle_to_numbers_or_structure);
  tcase_add_test(tests, ports_fit_or_are_described);
  tcase_add_test(tests, batches_are_typed_by_the_input);
  return all_tests;
}
