/* Gates behind a normalization of the minibatch, as residual networks begin: the block's last scale and bias are 0, and what
 * comes of the block is multiplied by a sigmoid. Kinks of the sum are touched in bulk, and their rows ask for no other sample. */
#include "asked.h"

#include "audit/touch_row.h"
#include "network/graph/build.h"

#include <math.h>

/* Relu(BatchNormalization(x) * Sigmoid(g x) + Relu(x)), scale and bias 0: touched wherever x < 0. */
static void
begin(asked *a, size_t samples, size_t width, uint64_t *state)
{
  double *x = malloc(samples * width * sizeof *x);
  const long *of_width = SHAPE((long)width,);

  for (size_t e = 0; e < samples * width; e++)
    x[e] = (double)draw_between(state, 1, 40) / 8 * (draw_below(state, 2) ? 1 : -1);
  asked_begin(a, samples, width, x);
  free(x);
  model_floats(&a->model, "s", of_width);
  model_floats(&a->model, "b", of_width);
  model_floats(&a->model, "mean", of_width);
  model_floats(&a->model, "var", of_width);
  for (size_t i = 0; i < width; i++)
    a->model.tensors[3].real[i] = 1;
  x = model_floats(&a->model, "g", of_width);
  for (size_t i = 0; i < width; i++)
    x[i] = (double)draw_between(state, -8, 8) / 8;
  attr_int(node(a, "BatchNormalization", "x,s,b,mean,var", "n"), "training_mode", 1);
  node(a, "Mul", "x,g", "t");
  node(a, "Sigmoid", "t", "u");
  node(a, "Mul", "n,u", "p");
  node(a, "Relu", "x", "r");
  node(a, "Add", "p,r", "v");
  node(a, "Relu", "v", "y");
}

/* Passes over all samples for all rows would be too many; none is wanted. Down with the biases: every touch goes left. */
START_TEST(many_touches_are_realized)
{
  uint64_t state = 5;
  asked a;

  begin(&a, 16, 512, &state);
  ask(&a, "y");
  ck_assert_uint_gt(a.replay.n_touches, 3000);
  ck_assert(!clarke_whole_rows_reachable(&a.question));
  verdict_is(&a, CLARKE_IN_BOULIGAND);
  asked_end(&a);
}
END_TEST

/* To the right: up with the biases, for gates are positive. */
START_TEST(the_right_side_is_realized)
{
  uint64_t state = 6;
  asked a;

  begin(&a, 16, 512, &state);
  a.profile = "Relu 0 1\n";
  ask(&a, "y");
  verdict_is(&a, CLARKE_IN_BOULIGAND);
  asked_end(&a);
}
END_TEST

/* A row holds the gate, in the bias's column, and the normalized entry times the gate, in the scale's. */
START_TEST(rows_are_of_one_sample)
{
  const size_t samples = 4, width = 3;
  uint64_t state = 7;
  clarke_columns c;
  clarke_branch *side;
  asked a;

  begin(&a, samples, width, &state);
  ask(&a, "y");
  side = malloc((a.replay.n_touches + 1) * sizeof *side);
  for (size_t k = 0; k < a.replay.n_touches; k++)
    side[k] = CLARKE_RIGHT;
  OK(clarke_columns_init(&c, &a.question, side, &error));
  c.whole = true;
  ck_assert_uint_gt(a.replay.n_touches, 0);
  for (size_t k = 0; k < a.replay.n_touches; k++) {
    const clarke_touch *t = &a.replay.touch[k];
    const double *x = a.x.real, at = x[t->sample * width + t->feature];
    const double gate = 1 / (1 + exp(-at * a.model.tensors[4].real[t->feature]));
    double mean = 0, square = 0;
    clarke_row row;
    bool exact;

    for (size_t j = 0; j < samples; j++) {
      mean += x[j * width + t->feature] / samples;
      square += x[j * width + t->feature] * x[j * width + t->feature] / samples;
    }
    clarke_row_init(&row);
    OK(clarke_touch_row(&row, &exact, &c, k, CLARKE_RIGHT, 0, false, &error));
    ck_assert(!exact);
    ck_assert_uint_eq(row.n, 2);
    ck_assert_uint_eq(row.column[0], clarke_column_base(&a.graph, 0) + t->feature);
    ck_assert_uint_eq(row.column[1], clarke_column_base(&a.graph, 1) + t->feature);
    ck_assert_double_eq_tol(mpq_get_d(row.value[0]), gate * (at - mean) / sqrt(square - mean * mean + 1e-5), 1e-6);
    ck_assert_double_eq_tol(mpq_get_d(row.value[1]), gate, 1e-12);
    clarke_row_clear(&row);
  }
  clarke_columns_clear(&c);
  free(side);
  asked_end(&a);
}
END_TEST

/* A scale that is not 0: the row would take a pass over all samples. With too many of them it is not made. */
START_TEST(far_rows_are_not_made)
{
  const size_t width = 4096;
  double *x = malloc(3 * width * sizeof *x);
  clarke_columns c;
  clarke_row row;
  clarke_branch *side;
  bool exact;
  asked a;

  for (size_t e = 0; e < 3 * width; e++)
    x[e] = (double)(e / width) - 1;
  asked_begin(&a, 3, width, x);
  free(x);
  for (size_t i = 0; i < 4; i++) {
    double *to = model_floats(&a.model, (const char *const[]){"s", "b", "mean", "var"}[i], SHAPE((long)width,));

    for (size_t e = 0; e < width; e++)
      to[e] = i != 1 && i != 2;
  }
  model_floats(&a.model, "w", SHAPE((long)width,));
  for (size_t e = 0; e < width; e++)
    a.model.tensors[4].real[e] = 1;
  node(&a, "Mul", "x,w", "z");
  attr_int(node(&a, "BatchNormalization", "z,s,b,mean,var", "n"), "training_mode", 1);
  node(&a, "Relu", "n", "y");
  ask(&a, "y");
  ck_assert_uint_eq(a.replay.n_touches, width);
  ck_assert(!clarke_whole_rows_reachable(&a.question));
  side = malloc(width * sizeof *side);
  for (size_t k = 0; k < width; k++)
    side[k] = CLARKE_RIGHT;
  OK(clarke_columns_init(&c, &a.question, side, &error));
  c.frugal = true;
  clarke_row_init(&row);
  OK(clarke_touch_row(&row, &exact, &c, 7, CLARKE_RIGHT, 0, false, &error));
  ck_assert(c.far);
  ck_assert_uint_eq(row.n, 0);
  c.frugal = false;
  OK(clarke_touch_row(&row, &exact, &c, 7, CLARKE_RIGHT, 0, false, &error));
  ck_assert(!c.far);
  ck_assert_uint_gt(row.n, 0);
  clarke_row_clear(&row);
  clarke_columns_clear(&c);
  free(side);
  asked_end(&a);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("audit-gated");
  int failed;

  tcase_add_test(tcase, many_touches_are_realized);
  tcase_add_test(tcase, the_right_side_is_realized);
  tcase_add_test(tcase, rows_are_of_one_sample);
  tcase_add_test(tcase, far_rows_are_not_made);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
