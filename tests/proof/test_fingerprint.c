/* Fingerprints of nodes: of one function one, however it is computed; of others others. */
#include <stdio.h> /* before gmp.h, for its printing */

#include "../network/models.h"
#include "../ok.h"

#include "network/graph/build.h"
#include "network/pass/fingerprint.h"
#include "proof/write.h"

#define SAMPLES 3

static clarke_model m;

/* x of two entries, and parameters of two rows and two columns, w, and of two entries, b. */
static void
begin(void)
{
  double *w;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 2,));
  w = model_floats(&m, "w", SHAPE(2, 2,));
  w[0] = w[3] = 1; /* symmetric: what is turned round does not show in the values */
  model_floats(&m, "b", SHAPE(2,));
}

/* A Constant of that name and number. */
static void
constant(const char *name, double number)
{
  clarke_attr *value = node_attr(model_node(&m, "Constant", "", name), "value", CLARKE_ATTR_TENSOR);

  value->t = tensor_of(name, CLARKE_F64, SHAPE(1,));
  value->t.real[0] = number;
}

/* The fingerprint of the last node's output; the model is cleared. lines: NULL, or the proof's, of `lines_size` bytes at most. */
static uint64_t
last(char *lines, size_t lines_size)
{
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(SAMPLES, 2,));
  clarke_graph g;
  uint64_t print[MODEL_MOST], found;

  model_output(&m, m.nodes[m.n_nodes - 1].out[0]);
  clarke_graph_init(&g);
  OK(clarke_graph_build(&g, &m, &x, &error));
  OK(clarke_fingerprints(print, &g, &error));
  found = print[g.output];
  ck_assert_uint_ne(found, 0);
  if (lines != NULL) {
    FILE *to = fmemopen(lines, lines_size, "w");

    OK(clarke_proof_put_fingerprints(to, &g, &error));
    fclose(to);
  }
  clarke_graph_clear(&g);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
  return found;
}

START_TEST(one_function_has_one)
{
  uint64_t sum, product;

  begin();
  model_node(&m, "Add", "x,x", "y");
  sum = last(NULL, 0);
  begin();
  constant("c", 2);
  model_node(&m, "Mul", "x,c", "y");
  product = last(NULL, 0);
  ck_assert_uint_eq(sum, product);
}
END_TEST

/* 2 sigmoid(2 x) - 1. */
START_TEST(tanh_is_a_sigmoid)
{
  uint64_t tanh;

  begin();
  model_node(&m, "Tanh", "x", "y");
  tanh = last(NULL, 0);
  begin();
  constant("c", 2);
  constant("d", 1);
  model_node(&m, "Mul", "x,c", "twice");
  model_node(&m, "Sigmoid", "twice", "s");
  model_node(&m, "Mul", "s,c", "t");
  model_node(&m, "Sub", "t,d", "y");
  ck_assert_uint_eq(last(NULL, 0), tanh);
}
END_TEST

static uint64_t
of_gemm(bool transposed)
{
  clarke_model_node *node;

  begin();
  node = model_node(&m, "Gemm", "x,w,b", "y");
  if (transposed)
    attr_int(node, "transB", 1);
  return last(NULL, 0);
}

START_TEST(a_weight_turned_round_shows)
{
  ck_assert_uint_ne(of_gemm(false), of_gemm(true));
  ck_assert_uint_eq(of_gemm(true), of_gemm(true));
}
END_TEST

static uint64_t
of_max(const char *in)
{
  begin();
  model_node(&m, "Add", "x,b", "z");
  model_node(&m, "Max", in, "y");
  return last(NULL, 0);
}

/* Ties go by the order of a window's entries. */
START_TEST(the_order_of_a_window_shows)
{
  ck_assert_uint_ne(of_max("x,z"), of_max("z,x"));
}
END_TEST

START_TEST(a_proof_has_a_line_for_each_node)
{
  char lines[1024] = "", expected[64];
  uint64_t print;

  begin();
  model_node(&m, "MatMul", "x,w", "first node");
  model_node(&m, "Relu", "first node", "y");
  print = last(lines, sizeof lines);
  ck_assert_ptr_nonnull(strstr(lines, "fingerprint first%20node "));
  snprintf(expected, sizeof expected, "\nfingerprint y %016llx\n", (unsigned long long)print);
  ck_assert_str_eq(strchr(lines, '\n'), expected);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("fingerprints");

  tcase_add_test(tests, one_function_has_one);
  tcase_add_test(tests, tanh_is_a_sigmoid);
  tcase_add_test(tests, a_weight_turned_round_shows);
  tcase_add_test(tests, the_order_of_a_window_shows);
  tcase_add_test(tests, a_proof_has_a_line_for_each_node);
  return run_tests();
}
