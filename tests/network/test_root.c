/* Derivatives of normalizations without their roots: exactly, and the root times that is the derivative. Reverse mode that leaves
 * a root out gives a positive multiple of the gradient. */
#include "normalized.h"
#include "compared.h"
#include "network/pass/normalize.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"

#include <math.h>
#include <stdio.h>

static double
quarter(uint64_t *state)
{
  return (double)draw_between(state, -9, 9) / 4;
}

static bool
in_group(const clarke_step *s, size_t f, size_t j, size_t of_f, size_t of_j)
{
  return clarke_step_group(s, f) == clarke_step_group(s, of_f) && (s->grouping.couples || j == of_j);
}

/* 1 / (m sqrt(var + epsilon)) of the group that (f, j) is in, by the definition. */
static void
root_at(mpf_t root, const clarke_step *s, const clarke_matrix *x, size_t f, size_t j)
{
  mpq_t v, sum, squares;
  unsigned long m = 0;

  mpq_inits(v, sum, squares, NULL);
  for (size_t i = 0; i < x->rows; i++)
    for (size_t k = 0; k < x->cols; k++) {
      if (!in_group(s, i, k, f, j))
        continue;
      clarke_matrix_get(v, x, i, k);
      mpq_add(sum, sum, v);
      mpq_mul(v, v, v);
      mpq_add(squares, squares, v);
      m++;
    }
  mpq_set_ui(v, m, 1);
  mpq_div(sum, sum, v);
  mpq_mul(sum, sum, sum);
  mpq_div(squares, squares, v);
  mpq_sub(squares, squares, sum);
  mpq_add(squares, squares, s->epsilon);
  mpf_set_q(root, squares);
  mpf_sqrt(root, root);
  mpf_mul_ui(root, root, m);
  mpf_ui_div(root, 1, root);
  mpq_clears(v, sum, squares, NULL);
}

static void
compare_entry(const clarke_matrix *derivative, const clarke_matrix *without, const clarke_step *s, const clarke_matrix *x,
              size_t f, size_t j)
{
  mpf_t root, product, expected;
  mpq_t v;

  mpf_init2(root, 400);
  mpf_init2(product, 400);
  mpf_init2(expected, 400);
  mpq_init(v);
  root_at(root, s, x, f, j);
  clarke_matrix_get(v, without, f, j);
  mpf_set_q(product, v);
  mpf_mul(product, product, root);
  clarke_matrix_get(v, derivative, f, j);
  mpf_set_q(expected, v);
  mpf_sub(product, product, expected);
  mpf_abs(product, product);
  mpf_set_d(expected, clarke_matrix_radius(derivative, f, j) + ldexp(1 + fabs(mpq_get_d(v)), -300));
  ck_assert_msg(mpf_cmp(product, expected) <= 0, "entry %zu of sample %zu is off", f, j);
  mpf_clears(root, product, expected, NULL);
  mpq_clear(v);
}

/* Of some g; is the derivative itself an enclosure? */
static size_t
compare_step(const machine *k, const clarke_step *s, uint64_t *state)
{
  const clarke_matrix *x = &k->pass.value[s->in[0].value];
  clarke_matrix g, derivative, without;
  size_t enclosed;

  clarke_matrix_init(&g);
  clarke_matrix_init(&derivative);
  clarke_matrix_init(&without);
  OK(clarke_matrix_resize(&g, x->rows, x->cols, 1, &error));
  for (size_t e = 0; e < g.rows * g.cols; e++)
    g.word[e] = (uint64_t)(int64_t)draw_between(state, -3, 3);
  OK(clarke_normalize_derivative(&derivative, s, &k->pass, &g, &error));
  OK(clarke_normalize_up_to_root(&without, s, x, &g, &error));
  ck_assert_ptr_null(without.radius);
  for (size_t f = 0; f < x->rows; f++)
    for (size_t j = 0; j < x->cols; j++)
      compare_entry(&derivative, &without, s, x, f, j);
  enclosed = derivative.radius != NULL;
  clarke_matrix_clear(&g);
  clarke_matrix_clear(&derivative);
  clarke_matrix_clear(&without);
  return enclosed;
}

typedef struct {
  size_t steps, enclosed, multiples, exact;
} tally;

/* --- reverse mode ---------------------------------------------------------------------------- */

/* The same entries of the output, for each of the two. */
static void
seed(machine *k, clarke_matrix *grad, const size_t entry[2])
{
  clarke_matrix *m = &grad[k->g.output];

  OK(clarke_matrix_resize(m, k->g.values[k->g.output].count, k->pass.n, 1, &error));
  m->word[entry[0]] = 1;
  m->word[entry[1]] = 2;
}

/* The gradient's largest entry says what the factor is. */
static double
factor_of(const clarke_matrix *gradient, const clarke_matrix *multiple, size_t n)
{
  double most = 0, factor = 1;

  for (size_t p = 0; p < n; p++)
    for (size_t e = 0; e < gradient[p].rows; e++) {
      double v = clarke_matrix_get_double(&gradient[p], e, 0);

      if (fabs(v) <= most)
        continue;
      most = fabs(v);
      factor = clarke_matrix_get_double(&multiple[p], e, 0) / v;
    }
  return most > 1e-12 ? factor : 1;
}

static void
compare_gradients(machine *k, uint64_t *state, tally *count)
{
  const size_t n = k->g.n_parameters, all = k->g.values[k->g.output].count * k->pass.n, one = draw_below(state, all);
  const size_t entry[2] = {one, draw_below(state, 2) ? one : draw_below(state, all)};
  clarke_matrix *grad = clarke_matrices_new(k->g.n_values), *multiple = clarke_matrices_new(n);
  bool enclosed = false, exact = true;
  double factor;

  clarke_matrices_free(k->grad, k->g.n_values);
  clarke_matrices_free(k->gradient, n);
  k->grad = clarke_matrices_new(k->g.n_values);
  k->gradient = clarke_matrices_new(n);
  seed(k, k->grad, entry);
  seed(k, grad, entry);
  OK(clarke_reverse_run(k->grad, &k->pass, &k->slopes, CLARKE_NONE, clarke_gradient_sink, k->gradient, &error));
  OK(clarke_reverse_up_to_root(multiple, grad, &k->pass, &k->slopes, &error));
  factor = factor_of(k->gradient, multiple, n);
  ck_assert_double_gt(factor, 0);
  for (size_t p = 0; p < n; p++) {
    ck_assert_uint_eq(multiple[p].rows, k->gradient[p].rows);
    for (size_t e = 0; e < multiple[p].rows; e++) {
      double a = clarke_matrix_get_double(&k->gradient[p], e, 0), b = clarke_matrix_get_double(&multiple[p], e, 0);

      ck_assert_msg(fabs(b - factor * a) <= 1e-9 * (1 + fabs(b)), "%g is not %g times %g", b, factor, a);
    }
    enclosed = enclosed || k->gradient[p].radius != NULL;
    exact = exact && multiple[p].radius == NULL;
  }
  count->multiples += fabs(factor - 1) > 1e-6;
  count->exact += enclosed && exact;
  clarke_matrices_free(grad, k->g.n_values);
  clarke_matrices_free(multiple, n);
}

/* Most weights of a normalization itself would be on their way beside its root: often one parameter is asked about. */
static void
draw_wrt(machine *k, uint64_t *state)
{
  const size_t one = draw_below(state, k->g.n_parameters), kind = draw_below(state, 4);

  for (size_t p = 0; p < k->g.n_parameters; p++)
    k->g.parameters[p].wrt = !k->g.parameters[p].statistic && (kind == 0 || p == one || (kind == 1 && draw_below(state, 3) == 0));
}

START_TEST(roots_are_left_out)
{
  uint64_t state = 61;
  tally count = {0, 0, 0, 0};

  for (size_t i = 0; i < 400; i++) {
    growing grown;
    clarke_tensor x;
    machine k;

    grow_normalized(&grown, &state, i % 2 ? quarter : small_number);
    x = grow_batch(&grown, 1 + draw_below(&state, 4));
    machine_begin(&k, &grown.m, &x, profile_with("first"), true);
    for (size_t s = 0; s < k.g.n_steps && k.pass.open == 0 && k.replay.open == 0; s++)
      if (k.g.steps[s].kind == CLARKE_NORMALIZE && k.pass.value[k.g.steps[s].in[0].value].radius == NULL) {
        count.enclosed += compare_step(&k, &k.g.steps[s], &state);
        count.steps++;
      }
    for (size_t n = 0; n < 3 && k.pass.open == 0 && k.replay.open == 0; n++) {
      draw_wrt(&k, &state);
      compare_gradients(&k, &state, &count);
    }
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("%zu normalizations, %zu with roots; %zu gradients without their root, %zu exact for that\n", count.steps,
         count.enclosed, count.multiples, count.exact);
  ck_assert_uint_gt(count.enclosed, 200);
  ck_assert_uint_gt(count.multiples, 10);
  ck_assert_uint_gt(count.exact, 20);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("root");
  int failed;

  tcase_add_test(tests, roots_are_left_out);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
