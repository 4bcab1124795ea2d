/* Typing a model: shapes operator by operator, what is a parameter, and every refusal's words. */
#include "../ok.h"
#include "models.h"

#include "op/operator.h"
#include "network/graph/build.h"
#include "network/graph/choose.h"
#include "network/graph/promote.h"

static clarke_error error;

/* --- a model of a few nodes ------------------------------------------------------------------ */

/* One model, graph and batch shape at a time. */
static clarke_model m;
static clarke_graph g;

static void
begin(int64_t opset, const long *input)
{
  model_begin(&m, opset);
  model_input(&m, "x", input);
  clarke_graph_init(&g);
}

static clarke_status
build(const long *batch)
{
  clarke_tensor x = tensor_of("x", CLARKE_F64, batch);
  clarke_status status;

  if (m.n_outputs == 0)
    model_output(&m, m.nodes[m.n_nodes - 1].out[0]);
  status = clarke_graph_build(&g, &m, &x, &error);
  clarke_tensor_clear(&x);
  return status;
}

static void
end(void)
{
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
}

/* The output's per-sample shape is that; then the model is done with. */
static void
gives(const long *batch, const long *shape)
{
  const clarke_value *out;

  ck_assert_msg(build(batch) == CLARKE_OK, "%s", error.text);
  out = &g.values[g.output];
  ck_assert_uint_eq(out->rank, shape_rank(shape));
  for (size_t a = 0; a < out->rank; a++)
    ck_assert_int_eq((long)out->dims[a], shape[a]);
  end();
}

static void
refused(const long *batch, const char *pieces)
{
  ck_assert_msg(build(batch) == CLARKE_EINPUT, "accepted; expected \"%s\"", pieces);
  says(error.text, "net.onnx");
  says(error.text, pieces);
  end();
}

static clarke_model_node *
node(const char *op, const char *in)
{
  return model_node(&m, op, in, "y");
}

static void
floats(const char *name, const long *shape, double value)
{
  double *v = model_floats(&m, name, shape);

  for (size_t i = 0; i < m.tensors[m.n_tensors - 1].count; i++)
    v[i] = value;
}

static void
integers(const char *name, const long *list)
{
  int64_t *v = model_integers(&m, name, SHAPE((long)shape_rank(list),));

  for (size_t i = 0; i < shape_rank(list); i++)
    v[i] = list[i];
}

/* An operator of one input and no attributes. */
static void
simple(const char *op)
{
  begin(16, SHAPE(-1, 2, 3,));
  node(op, "x");
}

/* --- the batch ------------------------------------------------------------------------------- */

START_TEST(batch_sizes)
{
  static const struct {
    const char *input, *batch; /* digits; ? is symbolic */
    bool accepted, batched;
  } rules[] = {
    {"?4", "54", true, true}, {"14", "54", true, true}, {"54", "54", true, true},
    {"04", "54", true, true}, {"64", "54", false, false}, {"?5", "54", false, false},
    {"4", "54", true, false}, {"54", "354", true, false}, {"14", "3214", false, false},
    {"?22", "54", true, true}, {"122", "54", true, true}, {"??", "54", true, true},
    {"?2?", "54", false, false}, {"64", "354", false, false}, {"", "5", true, false},
    {"?", "5", true, true}, {"5", "5", true, true}, {"1", "5", true, true}, {"3", "5", false, false},
  };

  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    long input[9], batch[9];

    for (size_t a = 0; a <= strlen(rules[i].input); a++)
      input[a] = rules[i].input[a] == '?'   ? -1
                 : rules[i].input[a] == '\0' ? SHAPE_END
                                             : rules[i].input[a] - '0';
    for (size_t a = 0; a <= strlen(rules[i].batch); a++)
      batch[a] = rules[i].batch[a] == '\0' ? SHAPE_END : rules[i].batch[a] - '0';
    begin(16, input);
    node("Relu", "x");
    if (!rules[i].accepted) {
      refused(batch, "input 'x' has shape|the batch has samples of");
      continue;
    }
    ck_assert_msg(build(batch) == CLARKE_OK, "%s for %s: %s", rules[i].batch, rules[i].input,
                  error.text);
    ck_assert_int_eq(g.batched, rules[i].batched);
    end();
  }
  begin(16, NULL); /* no declared shape */
  node("Relu", "x");
  refused(SHAPE(5, 2, 2,), "input 'x' declares no shape");
  begin(16, SHAPE(-1, 2,));
  node("Relu", "x");
  ck_assert_int_eq(build(SHAPE(0, 2,)), CLARKE_EINPUT);
  says(error.text, "x: |one or more samples");
  end();
  begin(16, SHAPE(-1, 0,));
  node("Relu", "x");
  ck_assert_int_eq(build(SHAPE(3, 0,)), CLARKE_EINPUT);
  says(error.text, "x: |one or more entries each");
  end();
  begin(16, SHAPE(-1, 0,)); /* sums of no terms */
  model_floats(&m, "w", SHAPE(0, 5,));
  node("MatMul", "x,w");
  ck_assert_int_eq(build(SHAPE(6, 0,)), CLARKE_EINPUT);
  says(error.text, "x: |one or more entries each");
  end();
}
END_TEST

START_TEST(models)
{
  simple("Relu");
  m.opset = 6;
  refused(SHAPE(1, 2, 3,), "opset 6|7 to 28");
  simple("Relu");
  m.opset = 29;
  refused(SHAPE(1, 2, 3,), "opset 29");
  simple("Relu");
  model_input(&m, "t", SHAPE(1,));
  refused(SHAPE(1, 2, 3,), "2 inputs; expected one");
  simple("Relu");
  model_output(&m, "nowhere");
  refused(SHAPE(1, 2, 3,), "output 'nowhere' is computed by no node");
  simple("Relu");
  floats("c", SHAPE(2,), 1);
  model_output(&m, "c");
  refused(SHAPE(1, 2, 3,), "output 'c' is a constant");
  simple("Relu");
  node("Relu", "x");
  refused(SHAPE(1, 2, 3,), "'y' is defined twice");
  simple("MaxUnpool");
  refused(SHAPE(1, 2, 3,), "node 0 '/y': operator MaxUnpool is not supported|docs/operators.md lists those that are");
  simple("Relu");
  free(m.nodes[0].domain);
  m.nodes[0].domain = strdup("com.example");
  refused(SHAPE(1, 2, 3,), "operator com.example.Relu is not supported");
  simple("Relu");
  free(m.nodes[0].domain);
  m.nodes[0].domain = strdup("ai.onnx"); /* whose import is the default domain's: ONNX's checker refuses it */
  refused(SHAPE(1, 2, 3,), "operator ai.onnx.Relu is not supported");
  begin(16, SHAPE(1, 2,));
  node("Relu", "later");
  refused(SHAPE(1, 2,), "node 0 '/y' (Relu): input 'later' is not defined before this node");
  begin(16, SHAPE(1, 2,));
  node("Relu", "x,x");
  refused(SHAPE(1, 2,), "node 0 '/y' (Relu)|2 inputs|expected 1 to 1");
  begin(16, SHAPE(1, 2,));
  model_node(&m, "Relu", "x", "y,mask");
  refused(SHAPE(1, 2,), "2 outputs; in this operator set it has 1 at most");
  begin(16, SHAPE(1, 2,));
  model_node(&m, "Dropout", "x", "y,mask"); /* which nothing reads */
  model_node(&m, "Relu", "mask", "z");
  refused(SHAPE(1, 2,), "input 'mask' is output 1 of node 0 '/y,mask' (Dropout), which is not made: only its first output is");
}
END_TEST

/* The refusal of an operator names the node, and says what to do. */
START_TEST(unsupported_operators)
{
  static const char *const ops[] = {"NonZero", "It computes a shape", "RandomNormal", "It draws numbers", "MaxUnpool", "Record the training step",
                                    "Unique", "Record the training step"};

  for (size_t i = 0; i < 8; i += 2) {
    clarke_builder b = {.g = &g, .m = &m};

    begin(16, SHAPE(1, 2,));
    node(ops[i], "x");
    ck_assert_int_eq(clarke_builder_unsupported(&b, &m.nodes[0], 3, &error), CLARKE_EINPUT);
    says(error.text, "node 3 '/y': operator ");
    says(error.text, ops[i]);
    says(error.text, ops[i + 1]);
    says(error.text, "docs/operators.md lists those that are");
    end();
  }
}
END_TEST

/* Names that the graph has not are no value's, and nothing can be wrong with what is declared of them. */
START_TEST(nothing_is_found_in_nothing)
{
  clarke_builder b = {.g = &g, .m = &m};

  begin(16, SHAPE(1, 2,));
  model_output(&m, "y");
  m.declared = calloc(1, sizeof *m.declared);
  m.n_declared = 1;
  m.declared[0] = (clarke_model_port){.name = strdup("h"), .shaped = true, .rank = 3};
  g.output = CLARKE_NONE;
  ck_assert_uint_eq(clarke_builder_find(&b, "h"), CLARKE_NONE);
  ck_assert_int_eq(clarke_builder_declared(&b, &error), CLARKE_OK);
  end();
}
END_TEST

/* Parameters come in the file's order; those that no step reads are none, and none is a bound. */
START_TEST(parameters_are_ordered)
{
  static const char *const used[] = {"b", "a", "rest"};
  clarke_builder b = {.g = &g, .m = &m};

  for (int bound = 0; bound < 2; bound++) {
    begin(16, SHAPE(1, 2,));
    floats("a", SHAPE(1,), 1);
    floats("b", SHAPE(1,), 1);
    floats("rest", SHAPE(1,), 1);
    g.parameters = calloc(g.n_parameters = 3, sizeof *g.parameters);
    for (size_t i = 0; i < 3; i++)
      g.parameters[i] = (clarke_parameter){.name = strdup(used[i]), .uses = i < 2};
    g.values = calloc(g.n_values = g.capacity_values = 1, sizeof *g.values); /* of parameter 0, which is 'b' */
    g.values[0].bound = bound != 0;
    ck_assert_int_eq(clarke_builder_parameters(&b, &error), bound ? CLARKE_EINPUT : CLARKE_OK);
    ck_assert(g.n_parameters == 2 && g.values[0].parameter == 1);
    ck_assert_str_eq(g.parameters[0].name, "a");
    ck_assert_str_eq(g.parameters[1].name, "b");
    end();
  }
  says(error.text, "'b' is both a weight and a bound of Clip");
}
END_TEST

/* --- shapes, operator by operator ------------------------------------------------------------ */

START_TEST(pointwise)
{
  static const char *const ops[] = {"Relu", "LeakyRelu", "Abs", "HardSigmoid", "HardSwish",
                                    "Sigmoid", "Tanh", "Identity", "Dropout", "Softmax",
                                    "LogSoftmax", "Clip"};

  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    simple(ops[i]);
    gives(SHAPE(5, 2, 3,), SHAPE(2, 3,));
    begin(16, SHAPE(2, 3,));
    node(ops[i], "x");
    gives(SHAPE(5, 2, 3,), SHAPE(2, 3,));
    begin(16, SHAPE(1, 2,));
    floats("c", SHAPE(2,), 1);
    node(ops[i], "c");
    model_output(&m, "x");
    if (strcmp(ops[i], "Identity") == 0 || strcmp(ops[i], "Dropout") == 0)
      gives(SHAPE(1, 2,), SHAPE(2,));
    else {
      ck_assert_int_eq(build(SHAPE(1, 2,)), CLARKE_OK); /* of a constant alone: of the same entries for all samples */
      ck_assert(g.values[g.n_values - 1].batch.none && g.values[g.n_values - 1].count == 2);
      end();
    }
  }
  begin(16, SHAPE(1, 2,));
  attr_float(node("LeakyRelu", "x"), "alpha", 1);
  ck_assert_int_eq(build(SHAPE(1, 2,)), CLARKE_OK);
  ck_assert_uint_eq(g.steps[0].pieces.n_kinks, 0); /* no kink */
  end();
  begin(16, SHAPE(1, 2,));
  attr_float(node("HardSigmoid", "x"), "alpha", -1);
  refused(SHAPE(1, 2,), "'/y' (HardSigmoid): expected alpha > 0");
  begin(16, SHAPE(1, 2,));
  attr_int(node("LeakyRelu", "x"), "alpha", 2);
  refused(SHAPE(1, 2,), "attribute 'alpha'");
  begin(16, SHAPE(1, 2,));
  attr_float(node("Relu", "x"), "beta", 2);
  refused(SHAPE(1, 2,), "attribute 'beta'");
  begin(16, SHAPE(1, 2,));
  floats("r", SHAPE(), 1);
  floats("t", SHAPE(), 0);
  node("Dropout", "x,r,t");
  refused(SHAPE(1, 2,), "training mode");
}
END_TEST

static void
check_kinks(const clarke_step *s, size_t first, size_t n, double low, double high)
{
  ck_assert_uint_eq(s->pieces.n_kinks, n);
  if (n > 0)
    ck_assert_uint_eq(s->pieces.first_kink, first);
  if (n > 0)
    ck_assert_double_eq(mpq_get_d(s->pieces.kink[0]), first == 0 ? low : high);
  if (n > 1)
    ck_assert_double_eq(mpq_get_d(s->pieces.kink[1]), high);
}

START_TEST(clip_bounds)
{
  /* Attributes before opset 11, inputs from it. */
  for (int bounds = 0; bounds < 4; bounds++)
    for (int opset = 10; opset <= 11; opset++) {
      clarke_model_node *clip;
      bool low = bounds & 1, high = bounds & 2;

      begin(opset, SHAPE(-1, 2,));
      floats("low", SHAPE(), -1);
      floats("high", SHAPE(), 6);
      if (opset == 11)
        node("Clip", bounds == 0 ? "x" : bounds == 1 ? "x,low" : bounds == 2 ? "x,,high"
                                                                             : "x,low,high");
      else {
        clip = node("Clip", "x");
        if (low)
          attr_float(clip, "min", -1);
        if (high)
          attr_float(clip, "max", 6);
      }
      ck_assert_msg(build(SHAPE(3, 2,)) == CLARKE_OK, "%s", error.text);
      check_kinks(&g.steps[0], low ? 0 : 1, (size_t)low + high, -1, 6);
      ck_assert_uint_eq(g.n_parameters, 0);
      end();
    }
  begin(11, SHAPE(-1, 2,));
  attr_float(node("Clip", "x"), "min", 0);
  refused(SHAPE(3, 2,), "'/y' (Clip)|attribute 'min' is not known here (opset 11)");
  for (int keep = -1; keep < 4; keep++) { /* a flag */
    begin(17, SHAPE(-1, 2, 3,));
    clarke_model_node *mean = node("ReduceMean", "x");
    attr_ints(mean, "axes", SHAPE(2,));
    attr_int(mean, "keepdims", keep);
    if (keep == 0 || keep == 1) {
      ck_assert_msg(build(SHAPE(3, 2, 3,)) == CLARKE_OK, "%s", error.text);
      end();
    } else
      refused(SHAPE(3, 2, 3,), "attribute 'keepdims' is |of which readers of ONNX differ; expected 0 or 1");
  }
  begin(10, SHAPE(-1, 2,));
  floats("low", SHAPE(), 0);
  node("Clip", "x,low");
  refused(SHAPE(3, 2,), "'/y' (Clip): 2 inputs and 1 outputs; expected 1 to 1");
  begin(11, SHAPE(-1, 2,));
  floats("low", SHAPE(), 2);
  node("Clip", "x,low,low");
  refused(SHAPE(3, 2,), "expected min < max");
  begin(11, SHAPE(-1, 2,));
  floats("low", SHAPE(2,), 2);
  node("Clip", "x,low");
  refused(SHAPE(3, 2,), "bound 'min' must be a scalar");
  begin(11, SHAPE(-1, 2,));
  node("Clip", "x,x");
  refused(SHAPE(3, 2,), "bound 1 is no scalar");
  begin(11, SHAPE(-1, 2,));
  integers("low", SHAPE(1,));
  node("Clip", "x,low");
  refused(SHAPE(3, 2,), "input 1 must hold floats");
}
END_TEST

/* A bound is no parameter, and an initializer cannot be both. */
START_TEST(bounds_are_no_parameters)
{
  begin(16, SHAPE(-1, 2,));
  floats("c", SHAPE(1,), 1);
  model_node(&m, "Identity", "c", "d");
  model_node(&m, "Clip", "x,d", "y");
  model_output(&m, "y");
  ck_assert_msg(build(SHAPE(3, 2,)) == CLARKE_OK, "%s", error.text);
  ck_assert_uint_eq(g.n_parameters, 0);
  end();
  begin(16, SHAPE(-1, 2,));
  floats("c", SHAPE(1,), 1);
  model_node(&m, "Clip", "x,c", "z");
  node("Add", "z,c");
  refused(SHAPE(3, 2,), "'c' is both a weight and a bound of Clip");
  begin(16, SHAPE(-1, 2,));
  floats("c", SHAPE(1,), 1);
  model_node(&m, "Identity", "c", "d");
  model_node(&m, "Clip", "x,d", "z");
  node("Add", "z,c");
  refused(SHAPE(3, 2,), "'c' is both a weight and a bound of Clip");
  begin(10, SHAPE(-1, 2,)); /* the largest float is a bound, too, if it is in the file */
  attr_float(node("Clip", "x"), "max", 0x1.fffffep127);
  ck_assert_msg(build(SHAPE(3, 2,)) == CLARKE_OK, "%s", error.text);
  ck_assert_uint_eq(g.steps[0].pieces.n_kinks, 1);
  end();
  for (size_t named = 0; named < 3; named++) { /* by its name, or that of a copy */
    begin(16, SHAPE(-1, 2,));
    floats("c", SHAPE(1,), 0);
    integers("pads", SHAPE(0, 0, 0, 1,));
    model_node(&m, "Identity", "c", "d");
    model_node(&m, "Pad", named == 1 ? "x,pads,d" : "x,pads,c", "z");
    node("Add", named == 2 ? "z,d" : "z,c");
    refused(SHAPE(3, 2,), "'c' is both a weight and a bound of Clip or the value of a Pad");
  }
}
END_TEST

static void
matmul(const long *input, const long *weight, bool left)
{
  begin(16, input);
  floats("W", weight, 1);
  node("MatMul", left ? "W,x" : "x,W");
}

START_TEST(products)
{
  matmul(SHAPE(-1, 3,), SHAPE(3, 2,), false);
  gives(SHAPE(5, 3,), SHAPE(2,));
  matmul(SHAPE(-1, 4, 3,), SHAPE(3, 2,), false);
  gives(SHAPE(5, 4, 3,), SHAPE(4, 2,));
  matmul(SHAPE(-1, 4, 3,), SHAPE(3,), false);
  gives(SHAPE(5, 4, 3,), SHAPE(4,));
  matmul(SHAPE(-1, 3,), SHAPE(3,), false);
  gives(SHAPE(5, 3,), SHAPE());
  matmul(SHAPE(-1, 3, 7,), SHAPE(2, 3,), true);
  gives(SHAPE(5, 3, 7,), SHAPE(2, 7,));
  matmul(SHAPE(-1, 4, 3, 7,), SHAPE(2, 3,), true);
  gives(SHAPE(5, 4, 3, 7,), SHAPE(4, 2, 7,));
  matmul(SHAPE(-1, 3, 7,), SHAPE(3,), true);
  gives(SHAPE(5, 3, 7,), SHAPE(7,));
  matmul(SHAPE(3,), SHAPE(2, 3,), true); /* unbatched: W x of a vector */
  gives(SHAPE(5, 3,), SHAPE(2,));
  matmul(SHAPE(-1, 3,), SHAPE(2, 3,), true); /* would mix the batch */
  refused(SHAPE(5, 3,), "'/y' (MatMul): axis 0 is the batch, or merged with it: samples would be mixed");
  matmul(SHAPE(-1, 3,), SHAPE(4, 2,), false);
  refused(SHAPE(5, 3,), "shape (N, 3) and a weight of shape (4, |takes 4 entries along the input's last axis");
  matmul(SHAPE(-1, 3,), SHAPE(3, 3, 2,), false);
  refused(SHAPE(5, 3,), "has the batch on axis 1; expected on the first, alone|Transpose|--output"); /* three products of each sample's row */
  matmul(SHAPE(-1, 4, 1, 3,), SHAPE(4, 3, 2,), false); /* matrices, the same for all samples */
  gives(SHAPE(5, 4, 1, 3,), SHAPE(4, 1, 2,));
  matmul(SHAPE(-1, 2, 3,), SHAPE(4, 3, 2,), false);
  refused(SHAPE(5, 2, 3,), "along the batch axis");
  matmul(SHAPE(-1, 3,), SHAPE(3, 0,), false);
  refused(SHAPE(5, 3,), "'/y' (MatMul): the output would have no entries");
  begin(16, SHAPE(-1, 3,));
  node("MatMul", "x,x");
  refused(SHAPE(5, 3,), "a matrix of 3 columns times one of 1 rows");
  begin(16, SHAPE(-1, 3,));
  floats("v", SHAPE(3,), 1);
  model_node(&m, "Add", "v,v", "w");
  node("MatMul", "x,w");
  refused(SHAPE(5, 3,), "input 1 has 1 axes and is no constant: unsqueeze it to a matrix");
}
END_TEST

static clarke_model_node *
gemm(const long *weight, const long *bias, bool transposed)
{
  clarke_model_node *n;

  begin(16, SHAPE(-1, 3,));
  floats("W", weight, 1);
  floats("b", bias, 1);
  n = node("Gemm", "x,W,b");
  if (transposed)
    attr_int(n, "transB", 1);
  return n;
}

/* The same graph, from a model whose numbers are copied and from one whose numbers are taken: of floats and of integers. */
START_TEST(numbers_taken)
{
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(5, 3,));
  const double *w;
  clarke_graph from;

  gemm(SHAPE(2, 3,), SHAPE(2,), true);
  integers("shape", SHAPE(-1, 2, 1,));
  model_node(&m, "Reshape", "y,shape", "z");
  ck_assert_int_eq(build(SHAPE(5, 3,)), CLARKE_OK);
  w = m.tensors[0].real;
  ck_assert(w != NULL && m.tensors[2].integer != NULL); /* copied: they are there */
  clarke_graph_init(&from);
  OK(clarke_graph_build_from(&from, &m, &x, &error));
  for (size_t t = 0; t < m.n_tensors; t++)
    ck_assert(m.tensors[t].real == NULL && m.tensors[t].integer == NULL && m.tensors[t].name != NULL);
  ck_assert(from.n_values == g.n_values && from.n_parameters == g.n_parameters && from.values[0].real == w);
  for (size_t v = 0; v < g.n_values; v++) {
    const clarke_value *a = &g.values[v], *b = &from.values[v];

    ck_assert(a->count == b->count && (a->real == NULL) == (b->real == NULL) && (a->integer == NULL) == (b->integer == NULL));
    if (a->real != NULL)
      ck_assert_mem_eq(a->real, b->real, a->count * sizeof *a->real);
    if (a->integer != NULL)
      ck_assert_mem_eq(a->integer, b->integer, a->count * sizeof *a->integer);
  }
  clarke_graph_clear(&from);
  clarke_tensor_clear(&x);
  end();
}
END_TEST

START_TEST(gemms)
{
  gemm(SHAPE(2, 3,), SHAPE(2,), true);
  gives(SHAPE(5, 3,), SHAPE(2,));
  gemm(SHAPE(3, 2,), SHAPE(1, 2,), false);
  gives(SHAPE(5, 3,), SHAPE(2,));
  gemm(SHAPE(3, 2,), SHAPE(), false);
  gives(SHAPE(5, 3,), SHAPE(2,));
  gemm(SHAPE(3, 2,), SHAPE(1,), false);
  gives(SHAPE(5, 3,), SHAPE(2,));
  gemm(SHAPE(3, 2,), SHAPE(5, 2,), false);
  refused(SHAPE(5, 3,), "'/y' (Gemm, its Add): a constant of 5 entries along the batch axis");
  gemm(SHAPE(3, 2,), SHAPE(2, 1,), false);
  refused(SHAPE(5, 3,), "bias");
  gemm(SHAPE(2, 3,), SHAPE(2,), false);
  refused(SHAPE(5, 3,), "the input has 3 features, the weight takes 2");
  attr_int(gemm(SHAPE(3, 2,), SHAPE(2,), false), "transA", 1);
  refused(SHAPE(5, 3,), "transA = 0");
  attr_int(gemm(SHAPE(3, 2,), SHAPE(2,), false), "transC", 1);
  refused(SHAPE(5, 3,), "attribute 'transC'|transB");
}
END_TEST

static void
arithmetic(const char *op, const long *input, const long *constant, bool first)
{
  begin(16, input);
  floats("c", constant, 2);
  node(op, first ? "c,x" : "x,c");
}

START_TEST(broadcasting)
{
  static const char *const ops[] = {"Add", "Sub", "Mul", "Div"};

  for (size_t i = 0; i < 4; i++) {
    for (int first = 0; first <= (i < 3); first++) {
      arithmetic(ops[i], SHAPE(-1, 2, 3,), SHAPE(3,), first);
      gives(SHAPE(5, 2, 3,), SHAPE(2, 3,));
      arithmetic(ops[i], SHAPE(-1, 2, 1,), SHAPE(1, 1, 3,), first);
      gives(SHAPE(5, 2, 1,), SHAPE(2, 3,));
      arithmetic(ops[i], SHAPE(-1, 2, 3,), SHAPE(), first);
      gives(SHAPE(5, 2, 3,), SHAPE(2, 3,));
      arithmetic(ops[i], SHAPE(2,), SHAPE(3, 1,), first); /* unbatched: axes may be added */
      if (build(SHAPE(5, 2,)) != CLARKE_OK)
        says(error.text, "broadcasting would add axes");
      end();
      arithmetic(ops[i], SHAPE(-1, 2, 3,), SHAPE(2,), first);
      refused(SHAPE(5, 2, 3,), "do not broadcast");
      arithmetic(ops[i], SHAPE(-1, 2, 3,), SHAPE(5, 2, 3,), first);
      refused(SHAPE(5, 2, 3,), "5 entries along the batch axis");
      arithmetic(ops[i], SHAPE(-1, 3,), SHAPE(1, 2, 3,), first);
      refused(SHAPE(5, 3,), "a constant of 2 entries along the batch axis");
    }
    begin(16, SHAPE(-1, 2,));
    floats("c", SHAPE(2,), 1);
    model_node(&m, ops[i], "c,c", "d");
    node("Relu", "x");
    ck_assert_msg(build(SHAPE(5, 2,)) == CLARKE_OK, "%s", error.text);
    ck_assert(g.values[g.steps[1].out].batch.none && !g.values[g.output].batch.none); /* (2) for all samples */
    end();
  }
}
END_TEST

START_TEST(what_is_negated)
{
  begin(16, SHAPE(-1, 2, 3,));
  node("Neg", "x");
  gives(SHAPE(5, 2, 3,), SHAPE(2, 3,));
  begin(16, SHAPE(-1, 2,));
  floats("c", SHAPE(2,), 1);
  node("Neg", "c");
  refused(SHAPE(5, 2,), "output 'y' is a constant");
  begin(16, SHAPE(-1, 2,));
  floats("c", SHAPE(2,), 1);
  model_node(&m, "Neg", "c", "d");
  node("PRelu", "x,d");
  refused(SHAPE(5, 2,), "'/y' (PRelu): input 'd' is a negated constant");
}
END_TEST

/* Of which either, or one, depends on the input. */
START_TEST(operands_that_are_computed)
{
  begin(16, SHAPE(-1, 2, 3,));
  model_node(&m, "Relu", "x", "z");
  node("Add", "x,z");
  gives(SHAPE(5, 2, 3,), SHAPE(2, 3,));
  begin(16, SHAPE(-1, 2,));
  node("Mul", "x,x");
  gives(SHAPE(5, 2,), SHAPE(2,));
  begin(16, SHAPE(-1, 2, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "z"), "perm", SHAPE(0, 2, 1,));
  node("MatMul", "x,z");
  gives(SHAPE(5, 2, 3,), SHAPE(2, 2,));
  begin(16, SHAPE(-1, 2,));
  node("Div", "x,x");
  gives(SHAPE(5, 2,), SHAPE(2,));
  begin(16, SHAPE(-1, 2,));
  floats("c", SHAPE(2,), 1);
  node("Div", "c,x");
  gives(SHAPE(5, 2,), SHAPE(2,));
}
END_TEST

START_TEST(squares_powers_and_divisors)
{
  begin(16, SHAPE(-1, 2, 3,));
  attr_ints(node("ReduceL2", "x"), "axes", SHAPE(2,));
  gives(SHAPE(5, 2, 3,), SHAPE(2, 1,));
  begin(16, SHAPE(-1, 2, 3,));
  attr_ints(node("ReduceSumSquare", "x"), "axes", SHAPE(0,));
  refused(SHAPE(5, 2, 3,), "a sum over the batch axis");
  begin(18, SHAPE(-1, 2,));
  attr_int(node("ReduceL2", "x"), "noop_with_empty_axes", 1);
  refused(SHAPE(5, 2,), "squares of entries that are not added up");
  begin(16, SHAPE(-1, 2,));
  floats("c", SHAPE(1,), 0.25);
  node("Pow", "x,c");
  gives(SHAPE(5, 2,), SHAPE(2,));
  begin(16, SHAPE(-1, 2,));
  floats("c", SHAPE(1,), -0.5);
  node("Pow", "x,c");
  gives(SHAPE(5, 2,), SHAPE(2,));
  begin(16, SHAPE(-1, 2,));
  floats("c", SHAPE(2,), 0);
  node("Div", "x,c");
  refused(SHAPE(5, 2,), "entry 0 of the divisor is zero");
}
END_TEST

START_TEST(prelu_slopes)
{
  static const struct {
    long slope[5];
    const char *refusal;
  } rules[] = {
    {{SHAPE_END}, NULL}, {{3, SHAPE_END}, NULL}, {{2, 1, SHAPE_END}, NULL},
    {{1, 2, 3, SHAPE_END}, NULL}, {{2, SHAPE_END}, "do not broadcast"},
    {{5, 1, 1, SHAPE_END}, "along the batch axis"},
  };

  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    begin(16, SHAPE(-1, 2, 3,));
    floats("a", rules[i].slope, 0.25);
    node("PRelu", "x,a");
    if (rules[i].refusal != NULL) {
      refused(SHAPE(5, 2, 3,), rules[i].refusal);
      continue;
    }
    gives(SHAPE(5, 2, 3,), SHAPE(2, 3,));
  }
  begin(16, SHAPE(-1, 1,));
  floats("a", SHAPE(3,), 0.25);
  node("PRelu", "x,a");
  refused(SHAPE(5, 1,), "the slope has more entries than the input");
}
END_TEST

static void
reshape(const long *input, const long *shape)
{
  begin(16, input);
  integers("s", shape);
  node("Reshape", "x,s");
}

START_TEST(a_bias_times_zero_is_a_parameter)
{
  begin(16, SHAPE(-1, 2,));
  floats("w", SHAPE(2, 3,), 1);
  floats("c", SHAPE(3,), 1);
  attr_float(node("Gemm", "x,w,c"), "beta", 0);
  ck_assert_msg(build(SHAPE(5, 2,)) == CLARKE_OK, "%s", error.text);
  ck_assert_uint_eq(g.n_parameters, 2);
  end();
}
END_TEST

START_TEST(reshapes)
{
  static const struct {
    long shape[5], result[5];
    const char *refusal;
    long declared;
  } rules[] = {
    {{-1, 6, SHAPE_END}, {6, SHAPE_END}, NULL, -1},
    {{0, -1, SHAPE_END}, {6, SHAPE_END}, NULL, -1},
    {{0, 3, 2, SHAPE_END}, {3, 2, SHAPE_END}, NULL, -1},
    {{0, 0, -1, 1, SHAPE_END}, {2, 3, 1, SHAPE_END}, NULL, -1},
    {{5, -1, SHAPE_END}, {6, SHAPE_END}, NULL, -1},
    {{5, 6, SHAPE_END}, {6, SHAPE_END}, NULL, 5},
    {{-1, 3, SHAPE_END}, {0}, "has the batch on axis 0", -1},
    {{6, -1, SHAPE_END}, {0}, "no axis of the shape holds that of all 5 samples whole", -1},
    {{-1, SHAPE_END}, {0}, "has the batch on axis 0", -1},
    {{0, 4, -1, SHAPE_END}, {0}, "different numbers of entries", -1},
    {{0, -2, SHAPE_END}, {0}, "entry 1 of the shape is -2", -1},
    {{-1, -1, SHAPE_END}, {0}, "entry 1 of the shape is -1", -1},
    {{0, 3, 2, 0, SHAPE_END}, {0}, "entry 3 of the shape is 0", -1},
    /* ONNX has all samples in one row; but where the input declares one sample, each is a run of its own. */
    {{1, -1, SHAPE_END}, {0}, "has the batch on axis 1", -1},
    {{1, -1, SHAPE_END}, {0}, "has the batch on axis 1", 5},
    {{1, -1, SHAPE_END}, {6, SHAPE_END}, NULL, 1},
    {{0, -1, SHAPE_END}, {6, SHAPE_END}, NULL, 1},
    {{-1, 2, 3, SHAPE_END}, {2, 3, SHAPE_END}, NULL, 1},
    {{5, -1, SHAPE_END}, {0}, "different numbers of entries", 1},
    {{-1, 3, SHAPE_END}, {2, 3, SHAPE_END}, NULL, 1}, /* merged with the one sample of a run */
  };

  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    reshape(SHAPE(rules[i].declared, 2, 3,), rules[i].shape);
    if (rules[i].refusal != NULL)
      refused(SHAPE(5, 2, 3,), rules[i].refusal);
    else
      gives(SHAPE(5, 2, 3,), rules[i].result);
  }
  begin(16, SHAPE(-1, 2,));
  floats("s", SHAPE(2,), 1);
  node("Reshape", "x,s");
  refused(SHAPE(5, 2,), "input 1 must be a constant of integers");
}
END_TEST

START_TEST(flattens_and_transposes)
{
  static const long axes[] = {1, -2, 0, 2, 3, 4, -3, -4};
  static const char *const words[] = {NULL, NULL, "batch on axis 1", "batch on axis 0", "batch on axis 0",
                                      "axis out of range", "batch on axis 1", "axis out of range"};

  for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
    simple("Flatten");
    attr_int(&m.nodes[0], "axis", axes[i]);
    if (words[i] == NULL)
      gives(SHAPE(5, 2, 3,), SHAPE(6,));
    else
      refused(SHAPE(5, 2, 3,), words[i]);
  }
  simple("Flatten");
  gives(SHAPE(5, 2, 3,), SHAPE(6,));
  begin(16, SHAPE(2, 3,)); /* unbatched */
  attr_int(node("Flatten", "x"), "axis", 0);
  gives(SHAPE(5, 2, 3,), SHAPE(1, 6,));
  simple("Transpose");
  attr_ints(&m.nodes[0], "perm", SHAPE(0, 2, 1,));
  gives(SHAPE(5, 2, 3,), SHAPE(3, 2,));
  simple("Transpose");
  refused(SHAPE(5, 2, 3,), "has the batch on axis 2");
  simple("Transpose");
  attr_ints(&m.nodes[0], "perm", SHAPE(0, 1, 1,));
  refused(SHAPE(5, 2, 3,), "perm is no permutation of 3 axes");
  simple("Transpose");
  attr_ints(&m.nodes[0], "perm", SHAPE(0, 1,));
  refused(SHAPE(5, 2, 3,), "perm has 2 entries for 3 axes");
  begin(16, SHAPE(2, 3,));
  node("Transpose", "x");
  gives(SHAPE(5, 2, 3,), SHAPE(3, 2,));
}
END_TEST

/* The batch may be on another axis, or merged with others, between operators that know. */
START_TEST(batches_move)
{
  begin(16, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  floats("w", SHAPE(3, 2,), 6);
  model_node(&m, "MatMul", "t,w", "p");
  model_node(&m, "Relu", "p", "r");
  attr_ints(node("Transpose", "r"), "perm", SHAPE(1, 0, 2,));
  gives(SHAPE(5, 4, 3,), SHAPE(4, 2,));
  begin(16, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  integers("rows", SHAPE(-1, 3,));
  model_node(&m, "Reshape", "t,rows", "f"); /* (20, 3) */
  floats("w", SHAPE(3, 2,), 6);
  floats("b", SHAPE(2,), 2);
  model_node(&m, "Gemm", "f,w,b", "p");
  integers("back", SHAPE(4, 5, 2,));
  model_node(&m, "Reshape", "p,back", "q");
  attr_ints(node("Transpose", "q"), "perm", SHAPE(1, 0, 2,));
  gives(SHAPE(5, 4, 3,), SHAPE(4, 2,));
  begin(16, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  node("GlobalMaxPool", "t");
  refused(SHAPE(5, 4, 3,), "input 't' has the batch on axis 1; this operator takes it as the first axis only");
  begin(16, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  clarke_model_node *mean = node("ReduceMean", "t");
  attr_ints(mean, "axes", SHAPE(0,));
  attr_int(mean, "keepdims", 0);
  gives(SHAPE(5, 4, 3,), SHAPE(3,)); /* the batch is the first axis again */
  begin(16, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  attr_ints(model_node(&m, "ReduceMean", "t", "r"), "axes", SHAPE(0,));
  attr_ints(node("Transpose", "r"), "perm", SHAPE(1, 0, 2,));
  gives(SHAPE(5, 4, 3,), SHAPE(1, 3,));
  begin(16, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  attr_ints(node("ReduceMax", "t"), "axes", SHAPE(1,));
  refused(SHAPE(5, 4, 3,), "a maximum over the batch axis; expected axes of a sample");
  begin(17, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  floats("s", SHAPE(3,), 3);
  model_node(&m, "LayerNormalization", "t,s", "n");
  attr_ints(node("Transpose", "n"), "perm", SHAPE(1, 0, 2,));
  gives(SHAPE(5, 4, 3,), SHAPE(4, 3,));
  begin(17, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  floats("s", SHAPE(3,), 3);
  attr_int(node("LayerNormalization", "t,s"), "axis", 1);
  refused(SHAPE(5, 4, 3,), "axis 1 is the batch; expected axes behind it");
  begin(16, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  node("Add", "x,t");
  refused(SHAPE(4, 4, 3,), "the inputs have the batch on axis 0 and on axis 1");
  begin(16, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  attr_int(model_node(&m, "Concat", "t,t", "c"), "axis", 0);
  attr_ints(node("Transpose", "c"), "perm", SHAPE(1, 0, 2,));
  gives(SHAPE(5, 4, 3,), SHAPE(8, 3,));
  begin(16, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  attr_int(node("Concat", "t,x"), "axis", 2);
  refused(SHAPE(4, 4, 3,), "the inputs have the batch on axis 1 and on axis 0");
  begin(16, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  attr_int(node("Softmax", "t"), "axis", 1);
  refused(SHAPE(5, 4, 3,), "axis 1 is the batch, or merged with it");
  begin(16, SHAPE(-1, 4, 3,));
  integers("one", SHAPE(1,));
  attr_int(node("Gather", "x,one"), "axis", 0);
  refused(SHAPE(5, 4, 3,), "axis 0 is the batch, or merged with it");
  begin(16, SHAPE(-1, 4, 3,));
  integers("last", SHAPE(-1,));
  attr_int(node("Gather", "x,last"), "axis", 1);
  gives(SHAPE(5, 4, 3,), SHAPE(1, 3,));
}
END_TEST

/* Frames of films are pictures of one batch, whose first axis has films and times. */
START_TEST(batches_of_frames)
{
  begin(16, SHAPE(-1, 4, 2, 6, 6,));
  integers("frames", SHAPE(-1, 2, 6, 6,));
  integers("films", SHAPE(-1, 4, 3,));
  floats("w", SHAPE(3, 2, 3, 3,), 54);
  model_node(&m, "Reshape", "x,frames", "f"); /* (20, 2, 6, 6) */
  model_node(&m, "Conv", "f,w", "c");
  attr_ints(model_node(&m, "MaxPool", "c", "p"), "kernel_shape", SHAPE(2, 2,));
  model_node(&m, "GlobalAveragePool", "p", "g");
  node("Reshape", "g,films");
  gives(SHAPE(5, 4, 2, 6, 6,), SHAPE(4, 3,));
  begin(16, SHAPE(-1, 4, 2, 6, 6,));
  integers("frames", SHAPE(-1, 2, 6, 6,));
  integers("pads", SHAPE(1, 0, 0, 0, 0, 0, 0, 0,));
  model_node(&m, "Reshape", "x,frames", "f");
  node("Pad", "f,pads");
  refused(SHAPE(5, 4, 2, 6, 6,), "pads of the batch axis are 1 and 0; expected 0");
}
END_TEST

/* Five samples of four times and three features, turned; a layer of two units, one direction. */
static clarke_model_node *
recurrent(const char *op, long gates, const char *in)
{
  begin(16, SHAPE(-1, 4, 3,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0, 2,));
  floats("w", SHAPE(1, 2 * gates, 3,), 1);
  floats("r", SHAPE(1, 2 * gates, 2,), 1);
  floats("b", SHAPE(1, 4 * gates,), 1);
  return model_node(&m, op, in, "a,s");
}

/* The layer's output turned back, the batch first. */
static void
gives_back(void)
{
  attr_ints(node("Transpose", "a"), "perm", SHAPE(2, 0, 1, 3,));
  gives(SHAPE(5, 4, 3,), SHAPE(4, 1, 2,));
}

START_TEST(recurrent_layers)
{
  static const char *const others[] = {"clip", "activation_alpha", "activation_beta"};

  recurrent("RNN", 1, "t,w,r");
  gives_back();
  attr_string(recurrent("LSTM", 4, "t,w,r,b"), "direction", "reverse");
  gives_back();
  attr_int(recurrent("GRU", 3, "t,w,r,b"), "linear_before_reset", 1);
  attr_ints(node("Transpose", "s"), "perm", SHAPE(1, 0, 2,));
  gives(SHAPE(5, 4, 3,), SHAPE(1, 2,));
  recurrent("GRU", 3, "t,w,r,b,n,h");
  integers("n", SHAPE(4, 4, 4, 4, 4,));
  floats("h", SHAPE(1, 5, 2,), 0); /* zeros: no parameter */
  attr_ints(node("Transpose", "a"), "perm", SHAPE(2, 0, 1, 3,));
  ck_assert_msg(build(SHAPE(5, 4, 3,)) == CLARKE_OK, "%s", error.text);
  ck_assert_uint_eq(g.n_parameters, 3);
  end();
  recurrent("RNN", 1, "t,w,r,,,h");
  floats("h", SHAPE(1, 5, 2,), 1);
  refused(SHAPE(5, 4, 3,), "the initial state 'h' has entries for each sample: export with a batch of one");
  recurrent("RNN", 1, "t,w,r,,,h");
  floats("h", SHAPE(1, 4, 2,), 0);
  refused(SHAPE(5, 4, 3,), "the initial state 'h' must have the shape 1 x 5 x 2");
  recurrent("RNN", 1, "t,w,r,,n");
  integers("n", SHAPE(4, 4, 4, 3, 4,));
  refused(SHAPE(5, 4, 3,), "sequence_lens (input 4) has 3 of 4 times: samples of several lengths are not supported");
  for (size_t i = 0; i < 3; i++) {
    node_attr(recurrent("RNN", 1, "t,w,r"), others[i], i == 0 ? CLARKE_ATTR_FLOAT : CLARKE_ATTR_FLOATS);
    refused(SHAPE(5, 4, 3,), "is not supported");
  }
  attr_int(recurrent("LSTM", 4, "t,w,r"), "input_forget", 1);
  refused(SHAPE(5, 4, 3,), "input_forget must be 0");
  attr_int(recurrent("RNN", 1, "t,w,r"), "layout", 2);
  refused(SHAPE(5, 4, 3,), "attribute 'layout' is 2, of which readers of ONNX differ; expected 0 or 1");
  recurrent("LSTM", 4, "t,w,r,b,,,,b");
  refused(SHAPE(5, 4, 3,), "input 7, 'b', has not the shape that the others ask for: 1 x 6");
  recurrent("LSTM", 4, "t,w,r,b,,,,t");
  refused(SHAPE(5, 4, 3,), "input 7 must be a constant, and is an activation");
  attr_string(recurrent("RNN", 1, "t,w,r"), "direction", "sideways");
  refused(SHAPE(5, 4, 3,), "direction is 'sideways'; expected forward, reverse or bidirectional");
  attr_int(recurrent("RNN", 1, "t,w,r"), "hidden_size", 3);
  refused(SHAPE(5, 4, 3,), "hidden_size and the last axis of input 2 differ");
  recurrent("LSTM", 3, "t,w,r");
  refused(SHAPE(5, 4, 3,), "input 1, 'w', has not the shape that the others ask for: 1 x 8 x 3");
  node_attr(recurrent("RNN", 1, "t,w,r"), "activations", CLARKE_ATTR_STRINGS)->s = strdup("Affine");
  refused(SHAPE(5, 4, 3,), "activations 'Affine'; expected, for each direction, Tanh or Relu");
  recurrent("RNN", 1, "x,w,r");
  refused(SHAPE(5, 4, 3,), "input 0 has the batch on axis 0; expected it on axis 1, after time. (In PyTorch: batch_first=True");
  recurrent("RNN", 1, "t,w,t");
  refused(SHAPE(5, 4, 3,), "input 2 must be a constant, or computed of constants alone; 't' is another one");
}
END_TEST

/* axes: an attribute before opset 13, an input from it. */
static void
squeeze(const char *op, int64_t opset, const long *input, const long *axes)
{
  begin(opset, input);
  if (opset < 13)
    attr_ints(node(op, "x"), "axes", axes);
  else {
    integers("axes", axes);
    node(op, "x,axes");
  }
}

START_TEST(squeezes)
{
  for (int64_t opset = 12; opset <= 13; opset++) {
    squeeze("Squeeze", opset, SHAPE(-1, 1, 3, 1,), SHAPE(1, -1,));
    gives(SHAPE(5, 1, 3, 1,), SHAPE(3,));
    squeeze("Squeeze", opset, SHAPE(-1, 1, 3,), SHAPE(0,));
    refused(SHAPE(5, 1, 3,), "axis 0 is the batch");
    squeeze("Squeeze", opset, SHAPE(-1, 1, 3,), SHAPE(2,));
    refused(SHAPE(5, 1, 3,), "'/y' (Squeeze): axis 2 has not one entry");
    squeeze("Squeeze", opset, SHAPE(-1, 1, 3,), SHAPE(3,));
    refused(SHAPE(5, 1, 3,), "axis 3 is out of range or given twice");
    squeeze("Squeeze", opset, SHAPE(-1, 1, 3,), SHAPE(1, -2,));
    refused(SHAPE(5, 1, 3,), "axis -2 is out of range or given twice");
    squeeze("Unsqueeze", opset, SHAPE(-1, 3,), SHAPE(1, -1,));
    gives(SHAPE(5, 3,), SHAPE(1, 3, 1,));
    squeeze("Unsqueeze", opset, SHAPE(-1, 3,), SHAPE(0,));
    refused(SHAPE(5, 3,), "has the batch on axis 1");
    squeeze("Unsqueeze", opset, SHAPE(-1, 3,), SHAPE(3,));
    refused(SHAPE(5, 3,), "axis 3 is out of range");
  }
  begin(13, SHAPE(-1, 1, 3, 1,)); /* all axes of one entry */
  node("Squeeze", "x");
  gives(SHAPE(5, 1, 3, 1,), SHAPE(3,));
  begin(13, SHAPE(1, 1, 3, 2,)); /* each sample being a run, that of the samples too */
  node("Squeeze", "x");
  gives(SHAPE(5, 1, 3, 2,), SHAPE(3, 2,));
  squeeze("Squeeze", 13, SHAPE(1, 1, 3,), SHAPE(0,)); /* the other axis of one entry has the sample then */
  gives(SHAPE(5, 1, 3,), SHAPE(3,));
  begin(13, SHAPE(1, 1,));
  node("Squeeze", "x");
  refused(SHAPE(5, 1,), "no axis of the shape holds");
  begin(13, SHAPE(-1, 3,));
  node("Unsqueeze", "x");
  refused(SHAPE(1, 3,), "'/y' (Unsqueeze): 1 inputs and 1 outputs; expected 2 to 2");
  begin(12, SHAPE(-1, 1,));
  attr_floats(node("Squeeze", "x"), "axes", 1, (double[]){1});
  refused(SHAPE(3, 1,), "attribute 'axes'");
}
END_TEST

/* What one group of the step is: before opset 13 all axes from `axis`, then `axis` alone. */
static void
softmax(int64_t opset, const long *axis, size_t groups, size_t length, size_t stride)
{
  begin(opset, SHAPE(-1, 2, 3, 4,));
  if (axis == NULL)
    node("Softmax", "x");
  else
    attr_int(node("Softmax", "x"), "axis", axis[0]);
  ck_assert_msg(build(SHAPE(5, 2, 3, 4,)) == CLARKE_OK, "%s", error.text);
  ck_assert_uint_eq(g.steps[0].groups, groups);
  ck_assert_uint_eq(g.steps[0].length, length);
  ck_assert_uint_eq(g.steps[0].stride, stride);
  end();
}

START_TEST(softmaxes)
{
  softmax(12, NULL, 1, 24, 1);
  softmax(12, SHAPE(2,), 2, 12, 1);
  softmax(12, SHAPE(-1,), 6, 4, 1);
  softmax(13, NULL, 6, 4, 1);
  softmax(13, SHAPE(2,), 2, 3, 4);
  softmax(13, SHAPE(1,), 1, 2, 12);
  for (int64_t opset = 12; opset <= 13; opset++)
    for (int64_t axis = -5; axis <= 4; axis += axis == -4 ? 4 : axis == 0 ? 4 : 1) {
      begin(opset, SHAPE(-1, 2, 3, 4,));
      attr_int(node("LogSoftmax", "x"), "axis", axis);
      refused(SHAPE(5, 2, 3, 4,), "'/y' (LogSoftmax): axis ");
    }
}
END_TEST

START_TEST(constant_nodes)
{
  static const double list[] = {1, 2};
  clarke_attr *a;

  begin(16, SHAPE(-1, 2,));
  attr_floats(model_node(&m, "Constant", "", "c"), "value_floats", 2, list);
  node("Add", "x,c");
  ck_assert_msg(build(SHAPE(5, 2,)) == CLARKE_OK, "%s", error.text);
  ck_assert_uint_eq(g.n_parameters, 0); /* a constant is no parameter */
  end();
  begin(16, SHAPE(-1, 2,));
  attr_float(model_node(&m, "Constant", "", "c"), "value_float", 3);
  node("Mul", "c,x");
  gives(SHAPE(5, 2,), SHAPE(2,));
  begin(16, SHAPE(-1, 2,));
  attr_ints(model_node(&m, "Constant", "", "s"), "value_ints", SHAPE(0, 2, 1,));
  node("Reshape", "x,s");
  gives(SHAPE(5, 2,), SHAPE(2, 1,));
  begin(16, SHAPE(-1, 2,));
  a = node_attr(model_node(&m, "Constant", "", "c"), "value", CLARKE_ATTR_TENSOR);
  a->t = tensor_of("c", CLARKE_F32, SHAPE(2,));
  a->t.real[0] = a->t.real[1] = 1;
  node("Div", "x,c");
  gives(SHAPE(5, 2,), SHAPE(2,));
  begin(16, SHAPE(-1, 2,));
  node_attr(model_node(&m, "Constant", "", "c"), "value_string", CLARKE_ATTR_STRING);
  node("Relu", "x");
  refused(SHAPE(5, 2,), "node 0 '/c' (Constant): attribute 'value_string' is not supported");
  begin(16, SHAPE(-1, 2,));
  model_node(&m, "Constant", "", "c");
  node("Relu", "x");
  refused(SHAPE(5, 2,), "node 0 '/c' (Constant): expected one attribute");
}
END_TEST

/* --- parameters ------------------------------------------------------------------------------ */

/* x W + b, then + b again as torch exports a tied initializer: through Identity. */
static void
tied(void)
{
  begin(16, SHAPE(-1, 2,));
  floats("b", SHAPE(2,), 7);
  floats("unused", SHAPE(9,), 1);
  floats("W", SHAPE(2, 2,), 3);
  model_node(&m, "Identity", "b", "b2");
  model_node(&m, "Transpose", "W", "V");
  model_node(&m, "MatMul", "x,W", "p");
  model_node(&m, "Add", "p,b", "s");
  model_node(&m, "MatMul", "s,V", "t");
  node("Add", "t,b2");
  ck_assert_msg(build(SHAPE(3, 2,)) == CLARKE_OK, "%s", error.text);
}

START_TEST(tied_parameters)
{
  char *names[] = {(char[]){"W"}}, *stranger[] = {(char[]){"unused"}};
  double *v;

  tied();
  ck_assert_uint_eq(g.n_parameters, 2);
  ck_assert_str_eq(g.parameters[0].name, "b"); /* the file's order of initializers */
  ck_assert_str_eq(g.parameters[1].name, "W");
  ck_assert_uint_eq(g.parameters[0].uses, 2);
  ck_assert_uint_eq(g.parameters[1].uses, 2);
  ck_assert_int_eq(clarke_graph_wrt(&g, NULL, 0, &error), CLARKE_OK);
  ck_assert_uint_eq(clarke_graph_wrt_count(&g), 6);
  ck_assert_int_eq(clarke_graph_check_wrt(&g, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_graph_wrt(&g, names, 1, &error), CLARKE_OK);
  ck_assert_uint_eq(clarke_graph_wrt_count(&g), 4);
  ck_assert_int_eq(clarke_graph_wrt(&g, stranger, 1, &error), CLARKE_EINPUT);
  says(error.text, "net.onnx has no parameter 'unused'");
  for (size_t i = 0; i < g.n_values; i++)
    if (g.values[i].parameter == 1 && strcmp(g.values[i].name, "V") == 0) {
      ck_assert_uint_eq(g.values[i].origin[1], 2);
      v = g.values[i].real;
      ck_assert_double_eq(v[0], 3);
    }
  end();
}
END_TEST

/* Weights that are Constant nodes are numbers: nothing is asked of no parameters, and the nodes are named. */
START_TEST(no_parameters)
{
  static const double list[] = {1, 2};

  begin(12, SHAPE(-1, 2,));
  attr_floats(model_node(&m, "Constant", "", "k"), "value_floats", 2, list);
  model_node(&m, "Mul", "x,k", "s");
  node("Relu", "s");
  ck_assert_msg(build(SHAPE(3, 2,)) == CLARKE_OK, "%s", error.text);
  ck_assert_int_eq(clarke_graph_wrt(&g, NULL, 0, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_graph_check_wrt(&g, &error), CLARKE_EINPUT);
  says(error.text, "net.onnx has no parameters|1 Constant node of several floats is. Name those that are parameters: --wrt k (docs");
  end();
  begin(12, SHAPE(-1, 2,));
  node("Relu", "x");
  ck_assert_msg(build(SHAPE(3, 2,)) == CLARKE_OK, "%s", error.text);
  ck_assert_int_eq(clarke_graph_wrt(&g, NULL, 0, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_graph_check_wrt(&g, &error), CLARKE_EINPUT);
  says(error.text, "net.onnx has no parameters|nothing can be asked about it");
  end();
}
END_TEST

/* Of what is computed of Constant nodes --wrt knows no name, so none is offered. Matrices alone may be asked for, by the Constant's name. */
START_TEST(constants_that_may_be_named)
{
  static const double list[] = {1, 2};
  const char *name[2] = {NULL, NULL};

  begin(17, SHAPE(-1, 2,));
  attr_floats(model_node(&m, "Constant", "", "k"), "value_floats", 2, list);
  attr_floats(model_node(&m, "Constant", "", "flat"), "value_floats", 2, list);
  attr_ints(model_node(&m, "Constant", "", "axes"), "value_ints", SHAPE(1,));
  model_node(&m, "Unsqueeze", "flat,axes", "matrix");
  model_node(&m, "Mul", "k,k", "kk");
  model_node(&m, "Mul", "x,kk", "s");
  model_node(&m, "Mul", "s,k", "t");
  model_node(&m, "MatMul", "t,matrix", "u");
  node("Relu", "u");
  ck_assert_msg(build(SHAPE(3, 2,)) == CLARKE_OK, "%s", error.text);
  ck_assert_uint_eq(clarke_graph_constants(&g, false, name, 2), 2);
  ck_assert(strcmp(name[0], "k") == 0 && strcmp(name[1], "flat") == 0);
  ck_assert_uint_eq(clarke_graph_constants(&g, true, name, 1), 1);
  ck_assert_str_eq(name[0], "flat");
  ck_assert_uint_eq(clarke_graph_constants(&g, true, NULL, 0), 1);
  end();
}
END_TEST

/* Constant nodes that are named become parameters, behind the initializers, in the order of the nodes; of others nothing changes. */
START_TEST(constants_are_promoted)
{
  static const double list[] = {1, 2};
  char *const names[] = {"k", "y", "w", "whole"};

  begin(12, SHAPE(-1, 2,));
  floats("w", SHAPE(2,), 1);
  attr_floats(model_node(&m, "Constant", "", "other"), "value_floats", 2, list);
  attr_floats(model_node(&m, "Constant", "", "k"), "value_floats", 2, list);
  attr_ints(model_node(&m, "Constant", "", "whole"), "value_ints", SHAPE(1, 2,));
  model_node(&m, "Identity", "k", "l");
  model_node(&m, "Mul", "x,l", "s");
  model_node(&m, "Add", "s,other", "t");
  model_node(&m, "Mul", "t,w", "u");
  node("Relu", "u");
  ck_assert_int_eq(clarke_promote_constants(&m, names, 4, &error), CLARKE_OK);
  ck_assert(m.n_promoted == 1 && m.n_tensors == 2);
  ck_assert_msg(build(SHAPE(3, 2,)) == CLARKE_OK, "%s", error.text);
  ck_assert_uint_eq(g.n_parameters, 2);
  ck_assert(strcmp(g.parameters[0].name, "w") == 0 && !g.parameters[0].promoted);
  ck_assert(strcmp(g.parameters[1].name, "k") == 0 && g.parameters[1].promoted && g.parameters[1].real[1] == 2);
  ck_assert_uint_eq(g.steps[g.n_steps - 1].node, 7); /* the nodes are where they were */
  end();
}
END_TEST

/* Of several outputs one is kept, with the nodes that it needs; these stay what they were in the file. */
START_TEST(one_of_several_outputs)
{
  const bool keep[] = {true, false};

  begin(17, SHAPE(-1, 2,));
  floats("w", SHAPE(2,), 1);
  floats("v", SHAPE(2,), 1);
  model_node(&m, "Strange", "x", "other");
  model_node(&m, "Mul", "x,w", "s");
  model_node(&m, "Mul", "s,v", "t");
  model_node(&m, "Relu", "s", "u");
  model_output(&m, "t");
  model_output(&m, "u");
  ck_assert_int_eq(clarke_output_is_one(&m, &error), CLARKE_EINPUT);
  ck_assert_msg(strstr(error.text, "2 outputs: 't', 'u'; one is asked about: name it by --output NAME") != NULL, "%s", error.text);
  ck_assert_int_eq(clarke_output_choose(&m, NULL, &error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_output_choose(&m, "s", &error), CLARKE_EINPUT);
  ck_assert_msg(strstr(error.text, "no output 's'") != NULL, "%s", error.text);
  OK(clarke_output_choose(&m, "u", &error));
  OK(clarke_output_is_one(&m, &error));
  ck_assert(m.n_outputs == 1 && strcmp(m.outputs[0].name, "u") == 0 && m.n_nodes == 2 && m.n_tensors == 2);
  ck_assert(m.n_left_out == 1 && strcmp(m.left_out[0], "v") == 0);
  ck_assert_msg(build(SHAPE(3, 2,)) == CLARKE_OK, "%s", error.text);
  ck_assert(g.n_parameters == 1 && g.steps[0].node == 1 && g.steps[1].node == 3);
  clarke_graph_clear(&g);
  clarke_graph_init(&g);
  clarke_model_keep_nodes(&m, keep);
  ck_assert(m.n_nodes == 1 && m.nodes[0].gone == 1);
  end();
}
END_TEST

static clarke_status
replace(const char *name, const long *shape, bool integer, size_t n)
{
  clarke_tensor t[3] = {tensor_of("b", CLARKE_F64, SHAPE(2,)),
                        tensor_of(name, integer ? CLARKE_I64 : CLARKE_F64, shape),
                        tensor_of("extra", CLARKE_F64, SHAPE(1,))};
  clarke_status status;

  t[0].real[0] = 5;
  for (size_t e = 0; !integer && e < t[1].count; e++)
    t[1].real[e] = (double)e;
  status = clarke_graph_replace(&g, t, n, "later.safetensors", &error);
  for (size_t i = 0; i < 3; i++)
    clarke_tensor_clear(&t[i]);
  return status;
}

/* What is made of constants alone has no batch axis, whatever moves it; with what has one it broadcasts. */
START_TEST(batchless)
{
  begin(16, SHAPE(-1, 4,));
  floats("w", SHAPE(2, 3,), 1);
  integers("flat", SHAPE(1, 6,));
  integers("rows", SHAPE(0,));
  model_node(&m, "Mul", "w,w", "a");
  model_node(&m, "Transpose", "a", "b");
  model_node(&m, "Reshape", "b,flat", "c");
  attr_ints(model_node(&m, "ReduceMean", "c", "d"), "axes", SHAPE(1,));
  model_node(&m, "Softmax", "d", "e");
  model_node(&m, "Gather", "e,rows", "f");
  model_node(&m, "Mul", "x,f", "y");
  ck_assert_msg(build(SHAPE(5, 4,)) == CLARKE_OK, "%s", error.text);
  for (size_t s = 0; s + 1 < g.n_steps; s++)
    ck_assert(g.values[g.steps[s].out].batch.none);
  ck_assert(!g.values[g.output].batch.none && g.values[g.output].count == 4);
  end();
  begin(16, SHAPE(-1, 2,));
  floats("w", SHAPE(3,), 1);
  model_node(&m, "Mul", "w,w", "y");
  refused(SHAPE(5, 2,), "output 'y' is computed of constants alone, and the same for all samples");
  begin(16, SHAPE(-1, 1,));
  model_node(&m, "MatMul", "x,x", "y"); /* rows of both are samples */
  refused(SHAPE(5, 1,), "axis 0 is the batch: samples would be mixed");
}
END_TEST

/* A comparison of initializers is decided by their entries, which a checkpoint must keep then. */
START_TEST(compared_parameters_stay)
{
  begin(16, SHAPE(-1, 2,));
  floats("c", SHAPE(1,), 2);
  floats("k", SHAPE(1,), 1);
  model_node(&m, "Sub", "c,k", "d");
  model_node(&m, "Greater", "d,k", "g");
  model_node(&m, "Div", "x,c", "y");
  refused(SHAPE(5, 2,), "node 1 '/g' (Greater): entry 0: both sides are 1");
  begin(16, SHAPE(-1, 2,));
  floats("c", SHAPE(1,), 2);
  floats("k", SHAPE(1,), 0.5);
  model_node(&m, "Sub", "c,k", "d");
  model_node(&m, "Greater", "d,k", "g");
  model_node(&m, "Div", "x,d", "z");
  model_node(&m, "Where", "g,z,x", "y");
  ck_assert_msg(build(SHAPE(5, 2,)) == CLARKE_OK, "%s", error.text);
  ck_assert(g.decided && g.n_parameters == 2 && g.parameters[0].compared && g.parameters[1].compared);
  for (int k = 0; k < 4; k++) { /* from 2 on they are packed */
    const clarke_dtype type = k < 2 ? CLARKE_F64 : CLARKE_F32;
    clarke_tensor both[2] = {tensor_of("c", type, SHAPE(1,)), tensor_of("k", type, SHAPE(1,))};
    float packed[2] = {k % 2 == 0 ? 2 : 3, 0.5};

    both[0].real[0] = packed[0];
    both[1].real[0] = packed[1];
    for (size_t i = 0; i < 2 && k >= 2; i++)
      ck_assert_int_eq(clarke_tensor_pack(&both[i], &packed[i], &error), CLARKE_OK);
    ck_assert_int_eq(clarke_graph_replace(&g, both, 2, "later.npz", &error), k % 2 == 0 ? CLARKE_OK : CLARKE_EINPUT);
    for (size_t i = 0; i < 2; i++)
      clarke_tensor_clear(&both[i]);
  }
  says(error.text, "compared in the model, and so to keep its entries: 'c'");
  end();
}
END_TEST

/* Floats that are not decoded yet become the parameter's, and those of another shape are floats, too. */
START_TEST(replaced_by_packed)
{
  float numbers[4] = {1.5, -2, 0x1p-149F, 3};

  tied();
  for (int turned = 0; turned < 2; turned++) {
    clarke_tensor t[2] = {tensor_of("b", CLARKE_F64, SHAPE(2,)), tensor_of("W", CLARKE_F32, turned ? SHAPE(4, 1,) : SHAPE(2, 2,))};

    ck_assert_int_eq(clarke_tensor_pack(&t[1], numbers, &error), CLARKE_OK);
    ck_assert(t[1].packed != NULL && t[1].real == NULL);
    ck_assert_int_eq(clarke_graph_replace(&g, t, 2, "later.safetensors", &error), turned ? CLARKE_EINPUT : CLARKE_OK);
    for (size_t p = 0; p < g.n_parameters; p++)
      for (size_t e = 0; strcmp(g.parameters[p].name, "W") == 0 && e < 4; e++)
        ck_assert(g.parameters[p].real[e] == (double)numbers[e]);
    clarke_tensor_clear(&t[0]);
    clarke_tensor_clear(&t[1]);
  }
  says(error.text, "of another shape: 'W' (4 x 1, not 2 x 2)");
  end();
}
END_TEST

START_TEST(replaced_parameters)
{
  tied();
  ck_assert_int_eq(replace("W", SHAPE(2, 2,), false, 2), CLARKE_OK);
  for (size_t i = 0; i < g.n_values; i++) {
    if (strcmp(g.values[i].name, "b2") == 0)
      ck_assert_double_eq(g.values[i].real[0], 5);
    if (strcmp(g.values[i].name, "V") == 0)
      ck_assert_double_eq(g.values[i].real[1], 2);
  }
  ck_assert_int_eq(replace("W", SHAPE(2, 2,), false, 1), CLARKE_EINPUT);
  says(error.text, "later.safetensors does not fit net.onnx: missing: 'W'");
  ck_assert_int_eq(replace("W", SHAPE(4,), false, 2), CLARKE_EINPUT);
  says(error.text, "later.safetensors does not fit net.onnx: of another shape: 'W' (4, not 2 x 2)");
  ck_assert_int_eq(replace("W", SHAPE(2, 2,), true, 2), CLARKE_EINPUT);
  says(error.text, "of another shape: 'W' (2 x 2 integers, not 2 x 2 floats)");
  ck_assert_int_eq(replace("W", SHAPE(2, 2,), false, 3), CLARKE_EINPUT);
  says(error.text, "later.safetensors does not fit net.onnx: no parameters of it: 'extra'");
  end();
}
END_TEST

START_TEST(replaced_divisors)
{
  begin(16, SHAPE(-1, 2,));
  floats("b", SHAPE(2,), 7);
  floats("W", SHAPE(2,), 3);
  model_node(&m, "Add", "x,b", "s");
  node("Div", "s,W");
  ck_assert_int_eq(build(SHAPE(3, 2,)), CLARKE_OK);
  ck_assert_int_eq(replace("W", SHAPE(2,), false, 2), CLARKE_EINPUT);
  says(error.text, "later.safetensors: node '/y' of net.onnx divides by 'W', whose entry 0 is zero");
  end();
}
END_TEST

/* x of (first, 2), y = relu(its transpose's transpose), with what the file says of one of the values; asked of three samples. */
static void
declared_as(long first, const char *name, const long *shape)
{
  begin(17, SHAPE(first, 2,));
  attr_ints(model_node(&m, "Transpose", "x", "t"), "perm", SHAPE(1, 0,));
  attr_ints(model_node(&m, "Transpose", "t", "u"), "perm", SHAPE(1, 0,));
  node("Relu", "u");
  floats("w", SHAPE(4,), 1);
  model_output(&m, "y");
  m.declared = calloc(1, sizeof *m.declared);
  m.n_declared = 1;
  m.declared[0] = (clarke_model_port){.name = strdup(name), .shaped = true, .rank = shape_rank(shape)};
  for (size_t a = 0; a < m.declared[0].rank; a++)
    m.declared[0].dims[a] = shape[a];
}

START_TEST(values_have_the_shape_that_is_declared)
{
  static const struct {
    long first;
    const char *name;
    long shape[4];
    const char *refused; /* NULL: it fits */
  } t[] = {
    {-1, "t", {2, 3, SHAPE_END}, NULL},      {-1, "t", {2, 1, SHAPE_END}, NULL}, {-1, "t", {2, 7, SHAPE_END}, NULL},
    {-1, "t", {-1, -1, SHAPE_END}, NULL},    {-1, "other", {9, SHAPE_END}, NULL}, {-1, "w", {4, SHAPE_END}, NULL},
    {3, "t", {2, 3, SHAPE_END}, NULL},       {1, "t", {2, 1, SHAPE_END}, NULL},  {-1, "x", {-1, 2, SHAPE_END}, NULL},
    {-1, "t", {3, 3, SHAPE_END}, "value 't' is declared with shape (3, 3), and has (2, 3)|value_info"},
    {-1, "t", {2, 3, 1, SHAPE_END}, "(2, 3, 1), and has (2, 3)"},
    {3, "t", {2, 1, SHAPE_END}, "(2, 1), and has (2, 3)"},
    {1, "t", {2, 3, SHAPE_END}, "(2, 3), and has (2, 1)"},
    {-1, "w", {2, 2, SHAPE_END}, "value 'w'|(2, 2), and has (4)"},
  };

  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    declared_as(t[i].first, t[i].name, t[i].shape);
    if (t[i].refused != NULL)
      refused(SHAPE(3, 2,), t[i].refused);
    else
      gives(SHAPE(3, 2,), SHAPE(2,));
  }
}
END_TEST

/* Where each sample is a run of its own the output has one. Declared otherwise it is what nodes compute, and that is told. */
START_TEST(outputs_have_the_shape_that_is_declared)
{
  static const struct {
    long first, declared;
    bool fits;
  } t[] = {{-1, 1, true}, {-1, 3, true}, {-1, 2, false}, {3, 3, true}, {3, 1, false}, {1, 1, true}, {1, 3, false}};

  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    declared_as(t[i].first, "other", (long[]){SHAPE_END});
    m.outputs[0] = (clarke_model_port){.name = m.outputs[0].name, .shaped = true, .rank = 2, .dims = {t[i].declared, 2}};
    ck_assert_msg(build(SHAPE(3, 2,)) == CLARKE_OK, "%s", error.text);
    ck_assert_int_eq(g.declared == NULL, t[i].fits);
    if (!t[i].fits)
      says(g.declared, "output 'y' is declared with shape (");
    end();
  }
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("graph");

  tcase_add_test(tcase, batch_sizes);
  tcase_add_test(tcase, models);
  tcase_add_test(tcase, nothing_is_found_in_nothing);
  tcase_add_test(tcase, parameters_are_ordered);
  tcase_add_test(tcase, unsupported_operators);
  tcase_add_test(tcase, pointwise);
  tcase_add_test(tcase, clip_bounds);
  tcase_add_test(tcase, bounds_are_no_parameters);
  tcase_add_test(tcase, products);
  tcase_add_test(tcase, numbers_taken);
  tcase_add_test(tcase, gemms);
  tcase_add_test(tcase, broadcasting);
  tcase_add_test(tcase, what_is_negated);
  tcase_add_test(tcase, operands_that_are_computed);
  tcase_add_test(tcase, squares_powers_and_divisors);
  tcase_add_test(tcase, prelu_slopes);
  tcase_add_test(tcase, a_bias_times_zero_is_a_parameter);
  tcase_add_test(tcase, reshapes);
  tcase_add_test(tcase, flattens_and_transposes);
  tcase_add_test(tcase, batches_move);
  tcase_add_test(tcase, batches_of_frames);
  tcase_add_test(tcase, recurrent_layers);
  tcase_add_test(tcase, squeezes);
  tcase_add_test(tcase, softmaxes);
  tcase_add_test(tcase, constant_nodes);
  tcase_add_test(tcase, tied_parameters);
  tcase_add_test(tcase, no_parameters);
  tcase_add_test(tcase, constants_that_may_be_named);
  tcase_add_test(tcase, constants_are_promoted);
  tcase_add_test(tcase, one_of_several_outputs);
  tcase_add_test(tcase, batchless);
  tcase_add_test(tcase, values_have_the_shape_that_is_declared);
  tcase_add_test(tcase, outputs_have_the_shape_that_is_declared);
  tcase_add_test(tcase, compared_parameters_stay);
  tcase_add_test(tcase, replaced_parameters);
  tcase_add_test(tcase, replaced_by_packed);
  tcase_add_test(tcase, replaced_divisors);
  return run_tests();
}
