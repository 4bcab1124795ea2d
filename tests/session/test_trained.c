/* Steps that were trained as questions: the arguments nearest to kinks, the gradient beside PyTorch's, and whether it is explained. */
#include "shared.h"

#include "../suites.h"

#include "session/gradient.h"
#include "session/record.h"

#include <math.h>

typedef struct {
  clarke_record r;
  clarke_audit_request ask;
  clarke_audit_session s;
} trained;

static void
open_step(trained *t, const char *folder, size_t nearest)
{
  t->ask = (clarke_audit_request){.threads = 1, .nearest = nearest};
  clarke_record_init(&t->r);
  clarke_audit_session_init(&t->s);
  OK(clarke_record_open(&t->r, folder, CLARKE_NONE, &error));
  OK(clarke_record_request(&t->ask, &t->r, &error));
  OK(clarke_audit_session_read(&t->s, &t->ask, &error));
  OK(clarke_audit_session_ask(&t->s, &t->ask, &error));
}

static void
close_step(trained *t)
{
  clarke_audit_session_clear(&t->s);
  clarke_record_clear(&t->r);
}

/* The cross entropy of a pass's outputs, in doubles. */
static double
cross_entropy(const clarke_forward *f, const clarke_graph *g, const clarke_tensor *y)
{
  const clarke_matrix *out = &f->value[g->output];
  double sum = 0;

  for (size_t j = 0; j < out->cols; j++) {
    double total = 0;

    for (size_t i = 0; i < out->rows; i++)
      total += exp(clarke_matrix_get_double(out, i, j));
    sum += log(total) - clarke_matrix_get_double(out, (size_t)y->integer[j], j);
  }
  return sum / (double)out->cols;
}

/* The least distance of a relu's arguments from 0, by all of them. */
static void
least_argument(mpq_t least, const clarke_matrix *x)
{
  mpq_t q;

  mpq_init(q);
  for (size_t e = 0; e < x->rows * x->cols; e++) {
    clarke_matrix_get(q, x, e / x->cols, e % x->cols);
    mpq_abs(q, q);
    if (e == 0 || mpq_cmp(q, least) < 0)
      mpq_set(least, q);
  }
  mpq_clear(q);
}

START_TEST(nearest_of_all)
{
  clarke_forward pass;
  trained t;
  mpq_t least;
  size_t compared = 0;

  open_step(&t, CASES "/runs/small", 1);
  clarke_forward_init(&pass);
  OK(clarke_audit_pass(&pass, &t.s, &error));
  ck_assert(t.s.valued && !t.s.loss_exact);
  ck_assert_double_eq_tol(atof(t.s.loss_value), cross_entropy(&pass, &t.s.graph, t.s.y), 1e-12);
  ck_assert(t.s.near_known && t.s.nearest.n > 0);
  mpq_init(least);
  for (size_t i = 0; i < t.s.nearest.n; i++) {
    const clarke_near *near = &t.s.nearest.near[i];
    clarke_near_text text;
    int power;
    double d;

    OK(clarke_near_describe(&text, &t.s, i, &error));
    ck_assert_ptr_eq(text.step, &t.s.graph.steps[near->step]);
    ck_assert_int_eq(text.window, text.step->kind == CLARKE_MAX);
    ck_assert_int_eq(text.kink == NULL, text.window);
    if (!text.window && near->exact) {
      least_argument(least, &pass.value[text.step->in[0].value]);
      ck_assert(mpq_equal(least, near->distance));
      mpq_set_str(least, text.distance, 10);
      ck_assert(mpq_equal(least, near->distance));
      ck_assert_str_eq(text.kink, "0");
      compared++;
    }
    d = mpq_get_d(near->distance);
    ck_assert(atof(text.at_least) <= d * (1 + 1e-15) && atof(text.at_least) >= d * 0.99);
    mpq_set_str(least, text.ulp, 10);
    ck_assert(frexp(mpq_get_d(least), &power) == 0.5 && power - 1 == near->ulp);
    d /= mpq_get_d(least);
    ck_assert(atof(text.ulps) <= d * (1 + 1e-15) && atof(text.ulps) >= d * 0.99);
    clarke_near_text_clear(&text);
    ck_assert(text.kink == NULL && text.distance == NULL && text.ulp == NULL);
  }
  ck_assert_uint_gt(compared, 0);
  mpq_clear(least);
  clarke_forward_clear(&pass);
  close_step(&t);
}
END_TEST

/* PyTorch's own gradient is AD's but for float32's rounding. */
START_TEST(the_gradient_of_a_step)
{
  clarke_gradient gradient;
  bool exact;
  trained t;

  open_step(&t, CASES "/runs/small", 0);
  OK(clarke_audit_gradient(&exact, &gradient, &t.s, &error));
  ck_assert(exact);
  for (size_t p = 0; p < t.s.graph.n_parameters; p++) {
    const clarke_parameter *q = &t.s.graph.parameters[p];
    const clarke_tensor *recorded = clarke_tensors_find(&t.r.gradients, q->name);

    if (!q->wrt)
      continue;
    ck_assert(recorded != NULL && recorded->count == q->count && gradient.entry[p] != NULL);
    for (size_t e = 0; e < q->count; e++)
      ck_assert_double_eq_tol(gradient.entry[p][e] * mpq_get_d(t.r.step->scale), recorded->real[e], 1e-5);
  }
  clarke_gradient_clear(&gradient);
  close_step(&t);
}
END_TEST

START_TEST(records_that_are_explained)
{
  static const char *const folder[] = {CASES "/runs/small", CASES "/runs/lemma2", CASES "/runs/small-light"};
  trained t;
  json_t *j;

  open_step(&t, folder[_i], 0);
  ck_assert_int_eq(t.r.ran, CLARKE_RAN_UNKNOWN);
  OK(clarke_record_compare(&t.r, &t.s, NULL, NULL, &error));
  ck_assert_int_eq(t.r.ran, CLARKE_RAN_EXPLAINED);
  ck_assert(t.r.worst >= 0 && t.r.worst <= 1);
  ck_assert(t.r.open == 0 || t.r.step->trace.name == NULL); /* without a trace branches may have turned */
  ck_assert_uint_eq(t.r.entries, clarke_graph_wrt_count(&t.s.graph));
  ck_assert_int_eq(t.r.checked > 0, t.r.step->trace.name != NULL);
  j = clarke_record_json(&t.r, &t.s);
  ck_assert(json_is_true(json_object_get(j, "explained")));
  ck_assert_int_eq(count_in(j, "entries"), (long)t.r.entries);
  ck_assert_int_eq(count_in(j, "step"), 0);
  ck_assert(json_real_value(json_object_get(j, "worst")) == t.r.worst);
  json_decref(j);
  close_step(&t);
}
END_TEST

/* One entry moved: of the gradient, then of an activation. */
START_TEST(records_that_are_not)
{
  trained t;
  json_t *j;

  open_step(&t, CASES "/runs/small", 0);
  t.r.gradients.tensor[0].real[0] += 1;
  OK(clarke_record_compare(&t.r, &t.s, NULL, NULL, &error));
  ck_assert_int_eq(t.r.ran, CLARKE_RAN_REFUTED);
  ck_assert_ptr_nonnull(strstr(t.r.why, t.r.gradients.tensor[0].name));
  j = clarke_record_json(&t.r, &t.s);
  ck_assert(json_is_false(json_object_get(j, "explained")));
  ck_assert_str_eq(text_in(j, "why"), t.r.why);
  json_decref(j);
  t.r.gradients.tensor[0].real[0] -= 1;
  for (size_t i = 0; i < t.r.trace.n; i++)
    if (strcmp(t.r.trace.tensor[i].name, "output/0/convolution") == 0)
      t.r.trace.tensor[i].real[3] += 1;
  OK(clarke_record_compare(&t.r, &t.s, NULL, NULL, &error));
  ck_assert_int_eq(t.r.ran, CLARKE_RAN_REFUTED);
  ck_assert_ptr_nonnull(strstr(t.r.why, "the recorded output of 0/convolution is not the operator's"));
  close_step(&t);
}
END_TEST

START_TEST(what_a_record_asks)
{
  clarke_audit_request ask = {.profile = "numpy"};
  clarke_rounding by;
  clarke_graph g;
  clarke_record r;
  clarke_tensors again = {.n = 0};
  char missing[] = "none.safetensors", *path;

  clarke_record_init(&r);
  FAILS(clarke_record_open(&r, CASES "/runs/nowhere", CLARKE_NONE, &error), "run.json");
  clarke_record_clear(&r);
  FAILS(clarke_record_open_run(&r, CASES "/runs/nowhere", &error), "run.json");
  clarke_record_clear(&r);
  OK(clarke_record_open_run(&r, CASES "/runs/small/", &error));
  path = clarke_record_path(&r, r.run.step[0].batch.name);
  ck_assert(r.run.n_steps == 1 && r.step == NULL && r.graph_path == NULL);
  ck_assert_str_eq(path, CASES "/runs/small/step-000000.batch.npz");
  free(path);
  clarke_record_clear(&r);
  FAILS(clarke_record_open(&r, CASES "/runs/small", 7, &error), "it has no step 7");
  clarke_record_clear(&r);
  OK(clarke_record_open_update(&r, CASES "/runs/small", CLARKE_NONE, 0, &error));
  OK(clarke_record_gradients(&again, &r, r.step, &error));
  ck_assert(again.n > 0 && again.n == r.gradients.n && again.tensor[0].count == r.gradients.tensor[0].count);
  clarke_tensors_clear(&again);
  OK(clarke_record_update(&again, &r, &(clarke_run_more){.file = r.step->gradients}, &error)); /* whatever the file is called, it is read */
  ck_assert(again.n == r.gradients.n && again.tensor[0].count == r.gradients.tensor[0].count);
  clarke_tensors_clear(&again);
  FAILS(clarke_record_update(&again, &r, &(clarke_run_more){.file = {.name = missing}}, &error), "none.safetensors");
  clarke_tensors_clear(&again);
  ck_assert(!r.step->update.there && r.update.n == 0 && r.gradients.n > 0 && r.start.n >= r.gradients.n && r.graph_path == NULL);
  clarke_record_clear(&r);
  OK(clarke_record_open(&r, CASES "/runs/small/", 0, &error));
  FAILS(clarke_record_request(&ask, &r, &error), "was recorded under profile pytorch-2.13, not numpy");
  free(r.wrt);
  ask = (clarke_audit_request){0};
  OK(clarke_record_request(&ask, &r, &error));
  ck_assert_str_eq(ask.wrt, "0.bias,0.weight,3.bias,3.weight,6.bias,6.weight,8.bias,8.weight");
  ck_assert_str_eq(ask.loss, "ce");
  ck_assert_str_eq(ask.model_path, CASES "/runs/small/graph.onnx");
  ck_assert(ask.recorded && ask.params == &r.params && ask.batch == &r.batch && ask.model == &r.graph);
  clarke_graph_init(&g);
  OK(clarke_record_rounding(&by, &r, &g, true, &error));
  {
    clarke_step step = {.kind = CLARKE_DENSE, .op = &(const clarke_op){.name = "Gemm"}};
    clarke_rounding float32 = {0};

    ck_assert(clarke_rounding_add_type(&float32, "float32"));
    ck_assert_mem_eq(&by, &float32, sizeof by);
    g.steps = &step;
    g.n_steps = 1;
    r.run.conv = CLARKE_TO_BF16; /* of which the graph has none */
    r.run.matmul = CLARKE_TO_TF32;
    ck_assert(clarke_record_factors(&r, true) != NULL && strcmp(clarke_record_factors(&r, false), "TF32") == 0);
    OK(clarke_record_rounding(&by, &r, &g, true, &error));
    float32.matmul = 0x1p-11; /* on a CPU products are added up in float32 */
    ck_assert_mem_eq(&by, &float32, sizeof by);
    r.run.cpu = false;
    OK(clarke_record_rounding(&by, &r, &g, true, &error));
    float32.matmul = 0;
    ck_assert(clarke_rounding_add_type(&float32, "tf32"));
    ck_assert_mem_eq(&by, &float32, sizeof by);
  }
  free(r.run.dtype[0]);
  r.run.dtype[0] = strdup("decimal9");
  FAILS(clarke_record_rounding(&by, &r, &g, true, &error), "'decimal9' are not known");
  clarke_record_clear(&r);
  ck_assert(r.folder == NULL && r.wrt == NULL && r.step == NULL);
}
END_TEST

MODULE(trained)
{
  TCase *tests = tests_of("trained steps");

  tcase_add_test(tests, nearest_of_all);
  tcase_add_test(tests, the_gradient_of_a_step);
  tcase_add_loop_test(tests, records_that_are_explained, 0, 3);
  tcase_add_test(tests, records_that_are_not);
  tcase_add_test(tests, what_a_record_asks);
  return all_tests;
}
