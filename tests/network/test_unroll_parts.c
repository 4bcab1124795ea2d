/* Steps unrolled one at a time: the program's instructions at a sample are the exact pass's numbers there. */
#include "../ok.h"
#include "../suites.h"
#include "networks.h"
#include "normalized.h"

#include "network/graph/build.h"
#include "network/replay/replay.h"
#include "program/unroll/unroll_inside.h"
#include "program/execute.h"

#include <math.h>

static double
quarter(uint64_t *state)
{
  return (double)draw_between(state, -6, 6) / 4;
}

/* --- one network's unrolling, by hand --- */

typedef struct {
  clarke_graph g;
  clarke_code p;
  clarke_unrolling u;
  mpq_t *point;
  size_t n;
} scene;

static void
begin(scene *s, const clarke_model *m, const clarke_tensor *x, bool parameters)
{
  clarke_error err = {CLARKE_OK, ""};
  size_t at = 0, first;

  memset(s, 0, sizeof *s);
  clarke_graph_init(&s->g);
  OK(clarke_graph_build(&s->g, m, x, &error));
  if (parameters)
    OK(clarke_graph_wrt(&s->g, NULL, 0, &err));
  clarke_code_init(&s->p);
  s->u = (clarke_unrolling){.p = &s->p, .g = &s->g, .zero = CLARKE_NONE, .err = &error};
  s->u.at = calloc(s->g.n_values + 1, sizeof *s->u.at);
  s->u.first = calloc(s->g.n_parameters + 1, sizeof *s->u.first);
  s->u.coef = malloc(sizeof *s->u.coef);
  mpq_inits(s->u.coef[0], s->u.constant, s->u.factor, NULL);
  OK(clarke_unroll_hold(&s->u, s->g.input));
  OK(clarke_code_add_input(&s->p, &first, "the input", s->g.values[s->g.input].count, true, &error));
  for (size_t e = 0; e < s->g.values[s->g.input].count; e++)
    s->u.at[s->g.input][e] = first + e;
  for (size_t i = 0; i < s->g.n_parameters; i++)
    if (s->g.parameters[i].wrt)
      OK(clarke_code_add_input(&s->p, &s->u.first[i], s->g.parameters[i].name, s->g.parameters[i].count, true, &error));
  s->n = clarke_code_entries(&s->p);
  s->point = clarke_rationals(s->n);
  for (size_t e = 0; e < s->g.values[s->g.input].count; e++)
    mpq_set_d(s->point[at++], x->real[e]);
  for (size_t i = 0; i < s->g.n_parameters; i++)
    for (size_t e = 0; s->g.parameters[i].wrt && e < s->g.parameters[i].count; e++)
      mpq_set_d(s->point[at++], s->g.parameters[i].real[e]);
}

static void
end(scene *s)
{
  for (size_t v = 0; v < s->g.n_values; v++)
    free(s->u.at[v]);
  for (size_t i = 0; i <= s->u.room; i++)
    mpq_clear(s->u.coef[i]);
  mpq_clears(s->u.constant, s->u.factor, NULL);
  free(s->u.at);
  free(s->u.first);
  free(s->u.in);
  free(s->u.coef);
  clarke_rationals_free(s->point, s->n);
  clarke_code_clear(&s->p);
  clarke_graph_clear(&s->g);
}

static clarke_status
unroll(clarke_unrolling *u, const clarke_step *s)
{
  static clarke_status (*const by_kind[])(clarke_unrolling *u, const clarke_step *s) = {
    [CLARKE_GATHER] = clarke_unroll_gather, [CLARKE_SUM] = clarke_unroll_sum, [CLARKE_SCALE] = clarke_unroll_scale,
    [CLARKE_DENSE] = clarke_unroll_dense, [CLARKE_PIECEWISE] = clarke_unroll_piecewise, [CLARKE_PRODUCT] = clarke_unroll_product,
    [CLARKE_MAX] = clarke_unroll_max, [CLARKE_ANALYTIC] = clarke_unroll_analytic, [CLARKE_SOFTMAX] = clarke_unroll_softmax,
    [CLARKE_NORMALIZE] = clarke_unroll_normalize};

  return by_kind[s->kind](u, s);
}

/* --- drawn networks --- */

/* A softmax, or its logarithm, along the last of two axes. */
static clarke_tensor
grow_softmax(growing *g, uint64_t *state)
{
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2, 3, ));

  memset(g, 0, sizeof *g);
  for (size_t e = 0; e < x.count; e++)
    x.real[e] = quarter(state);
  model_begin(&g->m, 16);
  model_input(&g->m, "x", SHAPE(-1, 2, 3, ));
  attr_int(model_node(&g->m, draw_below(state, 2) ? "Softmax" : "LogSoftmax", "x", "s"), "axis", 1 + draw_below(state, 2));
  model_node(&g->m, "Relu", "s", "y");
  model_output(&g->m, "y");
  return x;
}

/* All values at sample 0, each an output of the program: it and the pass say the same. Returns how many were compared. */
static size_t
compare(scene *s, const clarke_replay *r, const clarke_forward *pass)
{
  clarke_execution e;
  size_t n = 0;

  clarke_execution_init(&e);
  for (size_t i = 0; i < s->g.n_steps; i++)
    for (size_t f = 0; s->u.at[s->g.steps[i].out] != NULL && f < s->g.values[s->g.steps[i].out].count; f++)
      OK(clarke_code_add_output(&s->p, clarke_unroll_entry(&s->u, s->g.steps[i].out, f), &error));
  if (s->p.n_outputs > 0)
    OK(clarke_execute(&e, &s->p, s->point, &error));
  for (size_t i = 0; i < s->g.n_steps && s->p.n_outputs > 0 && !e.open; i++) {
    const size_t v = s->g.steps[i].out;

    for (size_t f = 0; s->u.at[v] != NULL && pass->value[v].rows > 0 && f < s->g.values[v].count; f++) {
      const clarke_number *y = &e.value[s->u.at[v][f]];
      const double expected = clarke_matrix_get_double(&pass->value[v], f, 0), found = clarke_number_double(y);

      ck_assert_msg(fabs(found - expected) <= 1e-12 * (1 + fabs(expected)), "step %zu (kind %d), entry %zu: %.17g, not %.17g", i,
                    (int)s->g.steps[i].kind, f, found, expected);
      n++;
    }
  }
  ck_assert_uint_eq(r->samples, s->g.samples);
  clarke_execution_clear(&e);
  return n;
}

START_TEST(unrolled_steps_are_the_passs)
{
  uint64_t state = 19;
  size_t compared = 0, seen[16] = {0};

  for (size_t round = 0; round < 300; round++) {
    growing grown;
    clarke_tensor x;
    clarke_replay r;
    clarke_forward pass;
    scene s;
    bool whole = true;

    if (round % 12 == 5)
      x = grow_softmax(&grown, &state);
    else if (round % 3 == 0) {
      grow_normalized(&grown, &state, quarter);
      x = grow_batch(&grown, 1);
    } else
      x = grow_any(&grown, &state, quarter, 3 + draw_below(&state, 4), true, round % 3 == 1, true);
    begin(&s, &grown.m, &x, round % 2);
    clarke_replay_init(&r);
    clarke_forward_init(&pass);
    if (clarke_replay_run(&r, NULL, &s.g, &x, false, 1, &error) == CLARKE_OK && r.open == 0) {
      OK(clarke_replay_all(&pass, &r, true, 128, &error));
      for (size_t i = 0; i < s.g.n_steps && whole; i++) {
        const clarke_step *step = &s.g.steps[i];

        OK(clarke_unroll_hold(&s.u, step->out));
        clarke_code_new_group(&s.p);
        whole = unroll(&s.u, step) == CLARKE_OK; /* what programs have no function for ends it */
        if (!whole) {
          free(s.u.at[step->out]);
          s.u.at[step->out] = NULL;
        } else
          seen[step->kind]++;
      }
      compared += compare(&s, &r, &pass);
    }
    clarke_forward_clear(&pass);
    clarke_replay_clear(&r);
    end(&s);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("%zu entries\n", compared);
  ck_assert_uint_gt(compared, 3000);
  for (int kind = CLARKE_GATHER; kind <= CLARKE_PRODUCT; kind++)
    ck_assert_msg(seen[kind] > 5, "kind %d: %zu", kind, seen[kind]);
}
END_TEST

/* --- what the steps are made of --- */

START_TEST(instructions_are_made_of_terms)
{
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 3, ));
  clarke_model m;
  scene s;
  size_t sum, constant, product, quotient, weight = CLARKE_NONE;
  clarke_execution e;

  memcpy(x.real, (const double[]){2, 3, 5}, 3 * sizeof(double));
  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 3, ));
  memcpy(model_floats(&m, "w", SHAPE(3, )), (const double[]){7, 11, 13}, 3 * sizeof(double));
  model_node(&m, "Mul", "x,w", "y");
  model_output(&m, "y");
  for (int parameters = 0; parameters < 2; parameters++) {
    begin(&s, &m, &x, parameters);
    for (size_t v = 0; v < s.g.n_values; v++)
      weight = s.g.values[v].constant ? v : weight;
    ck_assert(clarke_unroll_is_number(&s.u, weight) == !parameters && !clarke_unroll_is_number(&s.u, s.g.input));
    ck_assert_uint_eq(clarke_unroll_entry(&s.u, s.g.input, 2), 2);
    if (parameters)
      ck_assert_uint_eq(clarke_unroll_entry(&s.u, weight, 1), 4); /* behind the input's three */
    OK(clarke_unroll_make_room(&s.u, 5));
    ck_assert(s.u.room == 5);
    OK(clarke_unroll_make_room(&s.u, 2));
    ck_assert(s.u.room == 5);
    s.u.in[0] = 2;
    s.u.in[1] = 0;
    mpq_set_si(s.u.coef[0], 3, 1);
    mpq_set_si(s.u.coef[1], -1, 2);
    mpq_set_si(s.u.constant, 4, 1);
    OK(clarke_unroll_add_linear(&s.u, &sum, 2, s.u.constant));
    OK(clarke_unroll_add_linear(&s.u, &constant, 0, s.u.constant));
    OK(clarke_unroll_add_product(&s.u, &product, CLARKE_DO_PRODUCT, sum, 1));
    OK(clarke_unroll_add_product(&s.u, &quotient, CLARKE_DO_QUOTIENT, constant, 1));
    OK(clarke_code_add_output(&s.p, product, &error));
    OK(clarke_code_add_output(&s.p, quotient, &error));
    clarke_execution_init(&e);
    OK(clarke_execute(&e, &s.p, s.point, &error));
    ck_assert(mpq_cmp_si(e.value[sum].q, 18, 1) == 0 && mpq_cmp_si(e.value[constant].q, 4, 1) == 0); /* 3 5 - 2 / 2 + 4 */
    ck_assert(mpq_cmp_si(e.value[product].q, 54, 1) == 0 && mpq_cmp_si(e.value[quotient].q, 4, 3) == 0);
    clarke_execution_clear(&e);
    ck_assert_int_eq(clarke_unroll_no_memory(&s.u), CLARKE_ENOMEM);
    ck_assert(strstr(error.text, "out of memory") != NULL);
    ck_assert_int_eq(clarke_unroll_make_room(&s.u, clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS) + 1), CLARKE_ENOMEM);
    s.u.held = 4 * clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS) - 2;
    ck_assert_int_eq(clarke_unroll_hold(&s.u, s.g.steps[0].out), CLARKE_ENOMEM);
    ck_assert(strstr(error.text, "is not unrolled") != NULL);
    end(&s);
  }
  clarke_model_clear(&m);
  clarke_tensor_clear(&x);
}
END_TEST

/* What is left whole ends in inputs of its own, in a group of their own. */
START_TEST(results_are_inputs)
{
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 3,));
  const clarke_step *step;
  size_t first;
  clarke_model m;
  scene s;

  model_begin(&m, 18);
  model_input(&m, "x", SHAPE(-1, 3,));
  model_node(&m, "Relu", "x", "y");
  model_output(&m, "y");
  begin(&s, &m, &x, false);
  step = &s.g.steps[0];
  OK(clarke_unroll_hold(&s.u, step->out));
  OK(clarke_unroll_add_results(&s.u, step, &first));
  ck_assert_uint_eq(first, 3);
  ck_assert_uint_eq(s.p.n, 6);
  for (size_t f = 0; f < 3; f++) {
    ck_assert_uint_eq(s.u.at[step->out][f], first + f);
    ck_assert(s.p.instruction[first + f].kind == CLARKE_DO_INPUT);
    ck_assert_uint_ne(s.p.instruction[first + f].group, s.p.instruction[f].group);
    ck_assert_uint_eq(s.p.instruction[first + f].group, s.p.instruction[first].group);
  }
  end(&s);
  clarke_model_clear(&m);
  clarke_tensor_clear(&x);
}
END_TEST

MODULE(unroll_parts)
{
  TCase *tests = tests_of("unroll parts");

  tcase_add_test(tests, unrolled_steps_are_the_passs);
  tcase_add_test(tests, instructions_are_made_of_terms);
  tcase_add_test(tests, results_are_inputs);
  return all_tests;
}
