/* Jobs of sweeps, part by part. */
#include "shared.h"

#include "../suites.h"

#include "session/sweep_inside.h"

#include <math.h>

typedef struct {
  clarke_file model, batch;
  char model_path[256], batch_path[256];
  clarke_profile profile[2];
  char *name[2];
  clarke_ieee format[2];
  clarke_sweep_question q;
} scene;

/* relu(w x) - relu(-w x) at w = 0, x = 1, under relu'(0) = 0 and 1. */
static void
open_scene(scene *s)
{
  static const char text[] = "Relu 0 1\n";

  memset(s, 0, sizeof *s);
  snprintf(s->model_path, sizeof s->model_path, CASES "/audit/lemma2.onnx");
  snprintf(s->batch_path, sizeof s->batch_path, CASES "/audit/lemma2.npz");
  OK(clarke_file_read(&s->model, s->model_path, &error));
  OK(clarke_file_read(&s->batch, s->batch_path, &error));
  for (int i = 0; i < 2; i++)
    clarke_profile_init(&s->profile[i]);
  OK(clarke_profile_load(&s->profile[0], NULL, &error));
  OK(clarke_profile_parse(&s->profile[1], text, strlen(text), "one", &error));
  s->name[0] = strdup("zero");
  s->name[1] = strdup("one");
  s->format[1] = CLARKE_IEEE_F64;
  s->q = (clarke_sweep_question){
    .ask = {.model_path = s->model_path, .model = &s->model, .batch_path = s->batch_path, .batch = &s->batch, .loss = "sum", .threads = 1},
    .n_profiles = 2, .profile = s->profile, .profile_name = s->name, .n_formats = 2, .format = s->format,
  };
}

static void
close_scene(scene *s)
{
  for (int i = 0; i < 2; i++) {
    clarke_profile_clear(&s->profile[i]);
    free(s->name[i]);
  }
  clarke_file_clear(&s->model);
  clarke_file_clear(&s->batch);
}

START_TEST(a_job_says_how_far_gradients_are_apart)
{
  json_t *answer, *pair;
  scene s;

  open_scene(&s);
  OK(clarke_sweep_answer(&answer, &s.q, &error));
  pair = json_array_get(json_object_get(answer, "pairs"), 0);
  ck_assert_uint_eq(json_array_size(json_object_get(answer, "pairs")), 1);
  ck_assert_str_eq(json_string_value(json_object_get(answer, "zone")), "bifurcation");
  ck_assert_str_eq(json_string_value(json_object_get(json_object_get(pair, "exact"), "l1")), "2");
  for (int i = 0; i < 2; i++) {
    const json_t *floats = json_object_get(json_object_get(pair, "floats"), i == 0 ? "float16" : "float64");

    ck_assert_str_eq(json_string_value(json_object_get(floats, "l1")), "2");
    ck_assert_str_eq(json_string_value(json_object_get(floats, "label")), "bifurcation");
  }
  json_decref(answer);
  close_scene(&s);
}
END_TEST

START_TEST(parts_of_a_job)
{
  clarke_sweep_floats floats = {0};
  clarke_sweep_norms exact, rounded;
  clarke_audit_session a;
  clarke_truth zero;
  scene s;

  open_scene(&s);
  clarke_audit_session_init(&a);
  clarke_sweep_norms_init(&exact);
  clarke_sweep_norms_init(&rounded);
  OK(clarke_audit_session_read(&a, &s.q.ask, &error));
  OK(clarke_audit_session_ask(&a, &s.q.ask, &error));
  OK(clarke_sweep_exact(&exact, &zero, &a, &s.q, 0, 1, &error));
  ck_assert(zero == CLARKE_NO && mpq_cmp_ui(exact.l1, 2, 1) == 0 && mpq_cmp_ui(exact.inf, 2, 1) == 0 && exact.l1_within == 0);
  OK(clarke_sweep_replay(&floats, &a, &s.q, CLARKE_IEEE_F32, &error));
  ck_assert(floats.gradient[0][0] == 0 && floats.gradient[1][0] == 2);
  ck_assert_uint_eq(clarke_sweep_only(&floats, &a.graph, &s.profile[0], &s.profile[1]), 0);
  for (size_t i = 0; i < a.graph.n_steps; i++)
    floats.only[i] = clarke_step_has_kinks(&a.graph.steps[i]); /* as if floats alone touched them */
  ck_assert_uint_eq(clarke_sweep_only(&floats, &a.graph, &s.profile[0], &s.profile[1]), 1);
  ck_assert_uint_eq(clarke_sweep_only(&floats, &a.graph, &s.profile[0], &s.profile[0]), 0);
  clarke_sweep_compare(&rounded, &floats, &a.graph, 0, 1);
  ck_assert(rounded.finite && mpq_equal(rounded.l1, exact.l1));
  floats.gradient[1][0] = NAN;
  clarke_sweep_compare(&rounded, &floats, &a.graph, 0, 1);
  ck_assert(!rounded.finite);
  clarke_sweep_floats_clear(&floats, &s.q);
  clarke_sweep_norms_clear(&exact);
  clarke_sweep_norms_clear(&rounded);
  clarke_audit_session_clear(&a);
  close_scene(&s);
}
END_TEST

/* Of an enclosure two doubles around it are told; of what is exact, itself. */
START_TEST(norms_are_told_with_their_bounds)
{
  json_t *to = json_object();
  clarke_sweep_norms n;

  clarke_sweep_norms_init(&n);
  mpq_set_ui(n.l1, 1, 3);
  n.inf_within = 0x1p-60;
  mpq_set_ui(n.inf, 1, 3);
  OK(clarke_sweep_put_norms(&to, &n, &error));
  ck_assert_str_eq(json_string_value(json_object_get(to, "l1")), "1/3");
  ck_assert_ptr_null(json_object_get(to, "inf"));
  ck_assert(json_real_value(json_object_get(to, "inf_at_least")) <= 1.0 / 3); /* which is below 1/3 */
  ck_assert(json_real_value(json_object_get(to, "inf_at_most")) > 1.0 / 3);
  clarke_sweep_norms_clear(&n);
  json_decref(to);
}
END_TEST

/* Philox 4x32-10 of counter 0 and key 0 begins with 6627e8d5: the known answer of its authors. Bounds are 1 / sqrt(fan in). */
START_TEST(weights_are_drawn_by_a_counter)
{
  const float unit = (float)(0x6627e8d5 >> 8) * 0x1p-24f;
  clarke_audit_session a;
  size_t first = CLARKE_NONE;
  double once;
  scene s;

  open_scene(&s);
  clarke_audit_session_init(&a);
  OK(clarke_audit_session_read(&a, &s.q.ask, &error));
  OK(clarke_sweep_draw(&a.graph, 0, &error));
  for (size_t i = 0; i < a.graph.n_steps && first == CLARKE_NONE; i++)
    if (a.graph.steps[i].kind == CLARKE_DENSE)
      first = a.graph.values[a.graph.steps[i].dense.weight].parameter;
  ck_assert_uint_eq(first, 0);
  once = a.graph.parameters[0].real[0];
  ck_assert(once == (double)(unit * 2 - 1)); /* fan in 1 */
  OK(clarke_sweep_draw(&a.graph, 1, &error));
  ck_assert(a.graph.parameters[0].real[0] != once);
  OK(clarke_sweep_draw(&a.graph, 0, &error));
  ck_assert(a.graph.parameters[0].real[0] == once);
  clarke_audit_session_clear(&a);
  close_scene(&s);
}
END_TEST

/* The machine's own floats say where the weight of w -> relu(w) - relu(-w) goes, whose derivative is 1 off 0. */
START_TEST(a_training_takes_rounded_steps)
{
  const uint32_t seed = 3;
  clarke_sweep_training t = {.format = CLARKE_IEEE_F32, .rate = (double)0.3f};
  float w = 0;
  scene s;

  open_scene(&s);
  t.q = s.q;
  t.q.n_profiles = 1;
  t.q.n_formats = 0;
  t.q.seed = &seed;
  for (int i = 0; i < 9; i++) {
    clarke_audit_session a;
    clarke_tensors now;
    size_t right;

    clarke_audit_session_init(&a);
    clarke_tensors_init(&now);
    OK(clarke_sweep_training_ask(&a, &t, &error));
    OK(clarke_checkpoint_of(&now, &a.graph, &error));
    w = i == 0 ? (float)now.tensor[0].real[0] : w;
    ck_assert_uint_eq(now.n, 1);
    ck_assert(now.tensor[0].real[0] == (double)w && w != 0);
    OK(clarke_sweep_training_right(&right, &t, &a, &error));
    ck_assert_uint_eq(right, 0); /* of no labels */
    OK(clarke_sweep_training_step(&t, &a, &error));
    w = w - 0.3f;
    ck_assert(!t.left && t.weights.tensor[0].real[0] == (double)w);
    clarke_tensors_clear(&now);
    clarke_audit_session_clear(&a);
  }
  clarke_sweep_training_clear(&t);
  close_scene(&s);
}
END_TEST

/* A rate that no float16 survives. */
START_TEST(a_training_may_leave_the_numbers)
{
  const uint32_t seed = 3;
  clarke_sweep_training t = {.format = CLARKE_IEEE_F16, .rate = 65504};
  clarke_audit_session a;
  scene s;

  open_scene(&s);
  t.q = s.q;
  t.q.n_profiles = 1;
  t.q.n_formats = 0;
  t.q.seed = &seed;
  for (int i = 0; i < 2; i++) {
    ck_assert(!t.left);
    clarke_audit_session_init(&a);
    OK(clarke_sweep_training_ask(&a, &t, &error));
    OK(clarke_sweep_training_step(&t, &a, &error));
    clarke_audit_session_clear(&a);
  }
  ck_assert(t.left);
  clarke_sweep_training_clear(&t);
  close_scene(&s);
}
END_TEST

MODULE(sweeps)
{
  TCase *tests = tests_of("sweeps");

  tcase_add_test(tests, a_job_says_how_far_gradients_are_apart);
  tcase_add_test(tests, parts_of_a_job);
  tcase_add_test(tests, norms_are_told_with_their_bounds);
  tcase_add_test(tests, weights_are_drawn_by_a_counter);
  tcase_add_test(tests, a_training_takes_rounded_steps);
  tcase_add_test(tests, a_training_may_leave_the_numbers);
  return all_tests;
}
