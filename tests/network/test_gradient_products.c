/* Products of a gradient in pairs, forward and back, in so many slices: beside sums in rationals. */
#include "../ok.h"
#include "../suites.h"
#include "models.h"

#include "network/graph/build.h"
#include "network/derive/gradient/gradient.h"

#include <math.h>

enum { INNER = 7, OUTER = 5, SAMPLES = 3 };

/* Rational entries of a value in pairs. */
static void
of_pair(mpq_t q, const clarke_normed *v, size_t e)
{
  mpq_t low;

  mpq_init(low);
  mpq_set_d(q, v->at[e]);
  mpq_set_d(low, v->low != NULL ? v->low[e] : 0);
  mpq_add(q, q, low);
  mpq_clear(low);
}

static void
draw_normed(clarke_normed *v, size_t rows, bool fine, uint64_t *state)
{
  OK(clarke_normed_make(v, rows, SAMPLES, fine, &error));
  for (size_t e = 0; e < rows * SAMPLES; e++) {
    v->at[e] = ldexp((double)draw_between(state, -(1L << 50), 1L << 50), -48);
    if (fine)
      v->low[e] = v->at[e] != 0 ? ldexp((double)draw_between(state, -(1L << 40), 1L << 40), -150) : 0;
  }
  clarke_normed_measure(v, rows, SAMPLES, SAMPLES);
}

/* The norm of v less W x (or W^T x) in a sample, in rationals. */
static double
norm_of_error(const clarke_normed *v, size_t rows, const clarke_normed *x, size_t inner, const double *w, size_t row_step, size_t step,
              size_t j)
{
  double squares = 0;
  mpq_t sum, term, weight;

  mpq_inits(sum, term, weight, NULL);
  for (size_t r = 0; r < rows; r++) {
    of_pair(sum, v, r * SAMPLES + j);
    for (size_t i = 0; i < inner; i++) {
      of_pair(term, x, i * SAMPLES + j);
      mpq_set_d(weight, w[r * row_step + i * step]);
      mpq_mul(term, term, weight);
      mpq_sub(sum, sum, term);
    }
    squares += mpq_get_d(sum) * mpq_get_d(sum);
  }
  mpq_clears(sum, term, weight, NULL);
  return sqrt(squares);
}

/* A product forward, back to its operand and to its weight, in so many slices: each within the bound that is said of it, and with
 * more slices that is far less. */
START_TEST(dense_products)
{
  static const double near[] = {1e-12, 1e-15, 1e-19, 1e-22}; /* at most, by slices */
  const size_t slices = (size_t)_i % 4;
  const bool transposed = _i >= 4, fine = slices > 0;
  uint64_t state = 20 + (uint64_t)_i;
  size_t step = 0, *cut;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(SAMPLES, INNER, ));
  clarke_growths growths = {0};
  clarke_gradient_plan plan = {0};
  clarke_gradient gradient;
  clarke_gradient_pass p;
  clarke_model m;
  clarke_graph g;
  clarke_normed *in, *out;
  const clarke_step *s;
  const double *w;
  double *to, more;
  bool *all;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, INNER, ));
  to = transposed ? model_floats(&m, "w", SHAPE(INNER, OUTER, )) : model_floats(&m, "w", SHAPE(OUTER, INNER, ));
  for (size_t k = 0; k < INNER * OUTER; k++)
    to[k] = ldexp((double)draw_between(&state, -(1L << 24), 1L << 24), -23);
  attr_int(model_node(&m, "Gemm", "x,w", "y"), "transB", !transposed);
  model_output(&m, "y");
  clarke_graph_init(&g);
  OK(clarke_graph_build(&g, &m, &x, &error));
  OK(clarke_graph_wrt(&g, NULL, 0, &error));
  while (g.steps[step].kind != CLARKE_DENSE)
    step++;
  s = &g.steps[step];
  ck_assert(s->in[0].value == g.input && s->dense.transposed == transposed);
  w = g.values[s->dense.weight].real;
  all = malloc(g.n_values + 1);
  memset(all, true, g.n_values + 1);
  OK(clarke_growths_add(&growths, &g, all, &error));
  OK(clarke_gradient_init(&gradient, g.n_parameters, &error));
  cut = calloc(g.n_steps + 1, sizeof *cut);
  cut[step] = slices;
  plan = (clarke_gradient_plan){.slices = cut, .back_slices = cut, .fine = calloc(g.n_values + 1, 1), .fine_back = calloc(g.n_values + 1, 1)};
  memset(plan.fine, fine, g.n_values);
  memset(plan.fine_back, fine, g.n_values);
  p = (clarke_gradient_pass){.g = &g, .n = SAMPLES, .lanes = SAMPLES, .plan = &plan, .carries = all, .growths = &growths, .gradient = &gradient,
                       .deferred = calloc(g.n_values + 1, sizeof *p.deferred), .value = calloc(g.n_values + 1, sizeof *p.value),
                       .grad = calloc(g.n_values + 1, sizeof *p.grad), .low = calloc(g.n_parameters + 1, sizeof *p.low), .err = &error};
  in = &p.value[g.input];
  out = &p.value[s->out];
  draw_normed(in, INNER, fine, &state);
  OK(clarke_normed_make(out, OUTER, SAMPLES, fine, &error));
  OK(clarke_dense_forward(&p, s));
  ck_assert(!p.lost);
  for (size_t j = 0; j < SAMPLES; j++) {
    ck_assert(norm_of_error(out, OUTER, in, INNER, w, transposed ? 1 : INNER, transposed ? OUTER : 1, j) <= out->error[j]);
    ck_assert_msg(out->error[j] <= near[slices] * in->size[j], "%g of %g", out->error[j], in->size[j]);
    in->error[j] = 0x1p-10; /* what the operand is off by is passed on */
  }
  more = out->error[0];
  OK(clarke_dense_forward(&p, s));
  for (size_t i = 0; i < INNER; i++) { /* at least as much as it may be of one entry */
    double column = 0;

    for (size_t o = 0; o < OUTER; o++)
      column += w[transposed ? i * OUTER + o : o * INNER + i] * w[transposed ? i * OUTER + o : o * INNER + i];
    ck_assert(out->error[0] - more >= sqrt(column) * 0x1p-10 * (1 - 1e-9));
  }
  /* And back. */
  for (size_t j = 0; j < SAMPLES; j++)
    in->error[j] = 0;
  draw_normed(&p.grad[s->out], OUTER, fine, &state);
  OK(clarke_dense_back(&p, s));
  for (size_t j = 0; j < SAMPLES; j++) {
    const clarke_normed *back = &p.grad[g.input];

    ck_assert(norm_of_error(back, INNER, &p.grad[s->out], OUTER, w, transposed ? OUTER : 1, transposed ? 1 : INNER, j) <= back->error[j]);
    ck_assert_msg(back->error[j] <= near[slices] * p.grad[s->out].size[j], "%g", back->error[j]);
  }
  for (size_t k = 0; k < INNER * OUTER; k++) {
    const size_t o = transposed ? k % OUTER : k / INNER, i = transposed ? k / OUTER : k % INNER;
    long double want = 0;

    for (size_t j = 0; j < SAMPLES; j++)
      want += (long double)p.grad[s->out].at[o * SAMPLES + j] * in->at[i * SAMPLES + j];
    ck_assert(fabsl(gradient.entry[0][k] - want) <= gradient.within[0] && gradient.within[0] < 1e-12);
  }
  for (size_t v = 0; v < g.n_values; v++) {
    clarke_normed_drop(&p.value[v]);
    clarke_normed_drop(&p.grad[v]);
  }
  for (size_t q = 0; q < g.n_parameters; q++)
    free(p.low[q]);
  free(p.low);
  free(p.value);
  free(p.grad);
  free(p.deferred);
  free(plan.fine);
  free(plan.fine_back);
  free(cut);
  free(all);
  clarke_gradient_clear(&gradient);
  clarke_growths_clear(&growths);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
  clarke_tensor_clear(&x);
}
END_TEST

MODULE(gradient_products)
{
  TCase *tests = tests_of("products of a gradient");

  tcase_add_loop_test(tests, dense_products, 0, 8);
  return all_tests;
}
