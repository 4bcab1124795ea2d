/* The products that entries of a product of two activations are sums of, and of the gradients in both, beside the definition. */
#include "../network/models.h"
#include "network/graph/build.h"
#include "trace/sums/summation.h"

enum { N = 2, B = 2, R = 3, K = 4 };

typedef struct {
  clarke_graph graph;
  clarke_tensor x;
  clarke_certify c;
  double numbers[B * R * K * N], turned[B * K * R * N], gradient[N * B * R * R];
} scene;

typedef enum { EXCHANGED, SQUARE, REPEATED, CONSTANT, ACTIVATION, TWICE } form;

/* y = x xt, xt being x with its last two axes exchanged, or x itself; of B matrices a sample. Or m xt, m being the mean of these,
 * which is there for each. Or z = c + x xt, c being a row of numbers, or x's mean over its last axis; TWICE: y is read again. */
static void
build(scene *s, form as)
{
  const bool exchanged = as != SQUARE;
  const long rows = exchanged ? R : K;
  clarke_error err = {CLARKE_OK, ""};
  clarke_model_node *node;
  clarke_model m;

  memset(s, 0, sizeof *s);
  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, B, rows, K,));
  if (exchanged) {
    node = model_node(&m, "Transpose", "x", "xt");
    attr_ints(node, "perm", SHAPE(0, 1, 3, 2,));
  }
  if (as == REPEATED) {
    node = model_node(&m, "ReduceMean", "x", "m");
    attr_ints(node, "axes", SHAPE(1,));
  }
  model_node(&m, "MatMul", as == REPEATED ? "m,xt" : exchanged ? "x,xt" : "x,x", "y");
  if (as >= CONSTANT) {
    if (as == CONSTANT) {
      double *c = model_floats(&m, "c", SHAPE(R,));

      for (size_t j = 0; j < R; j++)
        c[j] = 100 + (double)j;
    } else {
      node = model_node(&m, "ReduceMean", "x", "c");
      attr_ints(node, "axes", SHAPE(3,));
    }
    model_node(&m, "Add", "c,y", "z");
    if (as == TWICE)
      model_node(&m, "Mul", "z,y", "out");
  }
  model_output(&m, as == TWICE ? "out" : as >= CONSTANT ? "z" : "y");
  s->x = tensor_of("x", CLARKE_F32, SHAPE(N, B, rows, K,));
  for (size_t e = 0; e < s->x.count; e++)
    s->x.real[e] = (double)e + 0.5;
  clarke_graph_init(&s->graph);
  ck_assert_msg(clarke_graph_build(&s->graph, &m, &s->x, &err) == CLARKE_OK, "%s", err.text);
  clarke_model_clear(&m);
  clarke_certify_init(&s->c);
  s->c.g = &s->graph;
  s->c.x = &s->x;
  s->c.recorded = calloc(s->graph.n_values + 1, sizeof *s->c.recorded);
}

static void
end(scene *s)
{
  free(s->c.recorded);
  s->c.recorded = NULL;
  clarke_graph_clear(&s->graph);
  clarke_tensor_clear(&s->x);
}

static const clarke_step *
product_of(const scene *s)
{
  for (size_t i = 0; i < s->graph.n_steps; i++)
    if (s->graph.steps[i].kind == CLARKE_PRODUCT)
      return &s->graph.steps[i];
  ck_abort_msg("no product");
  return NULL;
}

static double
x_at(const scene *s, size_t sample, size_t b, size_t i, size_t k)
{
  return s->x.real[((sample * B + b) * R + i) * K + k];
}

static double
g_at(const scene *s, size_t sample, size_t b, size_t i, size_t j)
{
  return s->gradient[((sample * B + b) * R + i) * R + j];
}

START_TEST(output)
{
  const clarke_step *product;
  clarke_error err = {CLARKE_OK, ""};
  clarke_sum_operands o = {0};
  double p[K], q[K];
  const char *why;
  scene s;

  build(&s, EXCHANGED);
  product = product_of(&s);
  o.c = &s.c;
  ck_assert_int_eq(clarke_sum_contraction_find(&o, &why, product, product->out, &err), CLARKE_OK);
  ck_assert_str_eq(why, "what it multiplies was not recorded");
  clarke_sum_operands_clear(&o);
  for (size_t f = 0; f < B * K * R; f++)
    for (size_t j = 0; j < N; j++)
      s.turned[f * N + j] = x_at(&s, j, f / (K * R), f % R, f / R % K);
  s.c.recorded[product->in[1].value] = s.turned;
  o.c = &s.c;
  ck_assert_int_eq(clarke_sum_contraction_find(&o, &why, product, product->out, &err), CLARKE_OK);
  ck_assert(why == NULL && o.leaves == K && o.side == 2 && o.count == B * R * R);
  for (size_t f = 0; f < B * R * R; f++)
    for (size_t sample = 0; sample < N; sample++) {
      clarke_sum_contraction_take(p, q, &o, f, sample);
      for (size_t k = 0; k < K; k++)
        ck_assert(p[k] == x_at(&s, sample, f / (R * R), f / R % R, k) && q[k] == x_at(&s, sample, f / (R * R), f % R, k));
    }
  clarke_sum_operands_clear(&o);
  end(&s);
}
END_TEST

/* In the second factor, whose entry (b, k, j) is in the sums of column j. In the first nobody asks: it is the second one's, too. */
START_TEST(back)
{
  const clarke_step *product;
  clarke_error err = {CLARKE_OK, ""};
  clarke_sum_operands o = {0};
  double p[R], q[R];
  const char *why;
  scene s;

  build(&s, EXCHANGED);
  product = product_of(&s);
  for (size_t e = 0; e < N * B * R * R; e++)
    s.gradient[e] = -(double)e - 0.25;
  o.c = &s.c;
  ck_assert_int_eq(clarke_sum_contraction_find(&o, &why, product, product->in[1].value, &err), CLARKE_OK);
  ck_assert_str_eq(why, "the gradient behind it was not recorded");
  clarke_sum_operands_clear(&o);
  o.c = &s.c;
  o.gradient = s.gradient;
  o.features = B * R * R;
  ck_assert_int_eq(clarke_sum_contraction_find(&o, &why, product, product->in[1].value, &err), CLARKE_OK);
  ck_assert(why == NULL && o.leaves == R && o.side == 1 && o.count == B * K * R);
  for (size_t f = 0; f < B * K * R; f++)
    for (size_t sample = 0; sample < N; sample++) {
      clarke_sum_contraction_take(p, q, &o, f, sample);
      for (size_t i = 0; i < R; i++)
        ck_assert(q[i] == x_at(&s, sample, f / (K * R), i, f / R % K) && p[i] == g_at(&s, sample, f / (K * R), i, f % R));
    }
  clarke_sum_operands_clear(&o);
  s.c.recorded[product->in[1].value] = s.turned;
  for (size_t f = 0; f < B * K * R * N; f++)
    s.turned[f] = (double)f;
  o.c = &s.c;
  o.gradient = s.gradient;
  o.features = B * R * R;
  ck_assert_int_eq(clarke_sum_contraction_find(&o, &why, product, s.graph.input, &err), CLARKE_OK);
  ck_assert(why == NULL && o.leaves == R && o.side == 0);
  for (size_t f = 0; f < B * R * K; f++)
    for (size_t sample = 0; sample < N; sample++) {
      clarke_sum_contraction_take(p, q, &o, f, sample);
      for (size_t j = 0; j < R; j++)
        ck_assert(p[j] == g_at(&s, sample, f / (R * K), f / K % R, j)
                  && q[j] == s.turned[((f / (R * K) * K + f % K) * R + j) * N + sample]);
    }
  clarke_sum_operands_clear(&o);
  end(&s);
}
END_TEST

/* Of a square what goes back to x is two sums; of a mean that several matrices are multiplied by, one for each. */
START_TEST(several)
{
  static const char *const says[] = {[SQUARE] = "not one product reads it, and nothing else",
                                     [REPEATED] = "an entry of it is multiplied in several places"};
  clarke_error err = {CLARKE_OK, ""};
  clarke_sum_operands o = {0};
  const clarke_step *product;
  const char *why;
  scene s;

  build(&s, (form)_i);
  product = product_of(&s);
  s.c.recorded[product->in[1].value] = s.turned;
  o.c = &s.c;
  o.gradient = s.gradient;
  ck_assert_int_eq(clarke_sum_contraction_find(&o, &why, product, product->in[0].value, &err), CLARKE_OK);
  ck_assert(why != NULL);
  ck_assert_str_eq(why, says[_i]);
  clarke_sum_operands_clear(&o);
  end(&s);
}
END_TEST

/* What is added to a product that was not recorded is the last leaf of the sum; of one that was, or that others read, it is not. */
START_TEST(added)
{
  const bool constant = _i == CONSTANT;
  double p[K + 1], q[K + 1], mean[B * R * N];
  clarke_error err = {CLARKE_OK, ""};
  clarke_sum_operands o = {0};
  const clarke_step *product, *sum;
  clarke_added a;
  const char *why;
  size_t c;
  scene s;

  build(&s, (form)_i);
  product = product_of(&s);
  for (sum = product + 1; sum->n_in < 2 || (sum->in[0].value != product->out && sum->in[1].value != product->out);)
    sum++;
  s.c.recorded[product->in[1].value] = s.turned;
  for (size_t e = 0; e < B * R * N; e++)
    mean[e] = -(double)e;
  ck_assert(clarke_sum_added(&a, &s.c, sum) == (_i != TWICE));
  ck_assert(!clarke_sum_added(&a, &s.c, product));
  if (_i != TWICE) {
    ck_assert(clarke_sum_added(&a, &s.c, sum) && a.product == product && a.alpha == 1 && a.beta == 1 && a.between == NULL);
    c = a.other->value;
    if (!constant) {
      ck_assert_int_eq(clarke_sum_operands_find(&o, &why, &s.c, CLARKE_OUTPUT, "z", &err), CLARKE_OK);
      ck_assert_str_eq(why, "what is added was not recorded");
      clarke_sum_operands_clear(&o);
      s.c.recorded[c] = mean;
    }
    ck_assert_int_eq(clarke_sum_operands_find(&o, &why, &s.c, CLARKE_OUTPUT, "z", &err), CLARKE_OK);
    ck_assert(why == NULL && o.leaves == K + 1 && o.side == 2 && o.count == B * R * R && o.alpha == 1 && o.beta == 1);
    for (size_t f = 0; f < B * R * R; f++)
      for (size_t sample = 0; sample < N; sample++) {
        clarke_sum_contraction_take(p, q, &o, f, sample);
        ck_assert(q[K] == 1 && p[K] == (constant ? 100 + (double)(f % R) : mean[f / R * N + sample]));
        ck_assert(p[1] == x_at(&s, sample, f / (R * R), f / R % R, 1));
      }
    clarke_sum_operands_clear(&o);
    s.c.recorded[product->out] = mean;
    ck_assert(!clarke_sum_added(&a, &s.c, sum));
  }
  end(&s);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("contraction");

  tcase_add_test(tests, output);
  tcase_add_test(tests, back);
  tcase_add_loop_test(tests, added, CONSTANT, TWICE + 1);
  tcase_add_loop_test(tests, several, SQUARE, REPEATED + 1);
  return run_tests();
}
