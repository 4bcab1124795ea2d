/* Single runs of models without a batch axis: further inputs are constants, constants become activations. */
#include "models.h"
#include "../ok.h"

#include "network/graph/build.h"
#include "network/pass/forward.h"
#include "network/graph/inputs.h"

#include <flint/flint.h>

static clarke_model m;
static clarke_tensor batch[3];

/* x of three floats or integers as one run; the array `more`, of two. */
static void
begin(bool integers)
{
  const double more[2] = {2, -0.5};

  model_begin(&m, 21);
  model_input(&m, "x", SHAPE(3,));
  batch[0] = tensor_of("x", integers ? CLARKE_I64 : CLARKE_F64, SHAPE(1, 3,));
  for (int i = 0; i < 3; i++)
    if (integers)
      batch[0].integer[i] = 1 - i; /* 1 0 -1 */
    else
      batch[0].real[i] = i + 1;
  batch[1] = tensor_of("more", CLARKE_F64, SHAPE(2,));
  memcpy(batch[1].real, more, sizeof more);
  batch[2] = tensor_of("y", CLARKE_F64, SHAPE(1,));
}

static void
end(void)
{
  for (size_t i = 0; i < 3; i++)
    clarke_tensor_clear(&batch[i]);
  clarke_model_clear(&m);
}

static void
own(clarke_model_node *node)
{
  free(node->domain);
  node->domain = strdup("clarke");
}

/* Takes n arrays; the output's entries are these. */
static void
gives(size_t n, size_t count, const double *expected)
{
  clarke_constants constants;
  clarke_matrix input;
  clarke_forward pass;
  clarke_graph g;
  double x[3];
  bool needed[MODEL_MOST];

  for (size_t i = 0; i < 3; i++)
    x[i] = batch[0].real != NULL ? batch[0].real[i] : (double)batch[0].integer[i];
  clarke_graph_init(&g);
  clarke_forward_init(&pass);
  clarke_matrix_init(&input);
  memset(needed, true, sizeof needed);
  OK(clarke_inputs_take(&m, &batch[0], batch, n, "b.npz", &error));
  ck_assert_uint_eq(m.n_inputs, 1);
  OK(clarke_graph_build(&g, &m, &batch[0], &error));
  OK(clarke_constants_init(&constants, &g, &error));
  OK(clarke_matrix_set_doubles(&input, 3, 1, x, &error));
  OK(clarke_forward_run(&pass, &constants, &input, needed, 128, &error));
  ck_assert_uint_eq(g.values[g.output].count, count);
  for (size_t i = 0; i < count; i++)
    ck_assert_double_eq(clarke_matrix_get_double(&pass.value[g.output], i, 0), expected[i]);
  clarke_matrix_clear(&input);
  clarke_forward_clear(&pass);
  clarke_constants_clear(&constants);
  clarke_graph_clear(&g);
  end();
}

static void
refuses(size_t n, const char *pieces)
{
  clarke_graph g;

  clarke_graph_init(&g);
  if (clarke_inputs_take(&m, &batch[0], batch, n, "b.npz", &error) == CLARKE_OK)
    ck_assert_int_eq(clarke_graph_build(&g, &m, &batch[0], &error), CLARKE_EINPUT);
  says(error.text, pieces);
  clarke_graph_clear(&g);
  end();
}

START_TEST(further_inputs)
{
  begin(false);
  model_input(&m, "more", SHAPE(-1,));
  own(model_node(&m, "Lift", "more", "a"));
  model_node(&m, "ReduceSum", "x", "s");
  attr_int(&m.nodes[1], "keepdims", 1);
  model_node(&m, "Mul", "s,more", "b");
  model_node(&m, "Add", "a,b", "c");
  model_output(&m, "c");
  gives(3, 2, (const double[]){14, -3.5});
}
END_TEST

START_TEST(rows_by_the_input)
{
  begin(true);
  memcpy(model_floats(&m, "table", SHAPE(2, 2,)), (const double[]){1, 2, 3, 4}, 4 * sizeof(double));
  model_node(&m, "Neg", "table", "n");
  model_node(&m, "Gather", "n,x", "rows");
  model_output(&m, "rows");
  gives(1, 6, (const double[]){-3, -4, -1, -2, -3, -4});
}
END_TEST

START_TEST(refusals)
{
  begin(false);
  model_node(&m, "Relu", "x", "r");
  model_output(&m, "r");
  refuses(2, "b.npz: array 'more'|by the names of further inputs");
  begin(false);
  model_input(&m, "other", SHAPE(2,));
  refuses(1, "net.onnx: input 'other': b.npz has no array");
  begin(false);
  model_input(&m, "more", SHAPE(3,));
  refuses(2, "net.onnx: input 'more': b.npz has no array of that name and declared shape");
  begin(false);
  m.inputs[0].rank = 2; /* (3, any): x is a minibatch of one */
  m.inputs[0].dims[0] = -1;
  m.inputs[0].dims[1] = 3;
  model_input(&m, "more", SHAPE(2,));
  refuses(2, "2 inputs|without a batch axis");
  begin(false);
  m.inputs[0].rank = 2;
  m.inputs[0].dims[0] = -1;
  m.inputs[0].dims[1] = 3;
  model_floats(&m, "w", SHAPE(2,));
  own(model_node(&m, "Lift", "w", "a"));
  model_output(&m, "a");
  refuses(1, "a constant becomes an activation only where the batch is one input");
  begin(true);
  batch[0].integer[2] = -3;
  model_floats(&m, "table", SHAPE(2, 2,));
  model_node(&m, "Gather", "table,x", "rows");
  model_output(&m, "rows");
  refuses(1, "place 2 is -3; the axis has 2 entries");
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("inputs");
  int failed;

  tcase_add_test(tests, further_inputs);
  tcase_add_test(tests, rows_by_the_input);
  tcase_add_test(tests, refusals);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
