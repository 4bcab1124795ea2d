/* The loss that a model's own last nodes are: taken off in the one form that is known, else left. */
#include "models.h"

#include "network/derive/tail.h"

static clarke_error error;
static clarke_model m;

static void
begin(void)
{
  model_begin(&m, 21);
  model_input(&m, "x", SHAPE(3, 2,));
  model_floats(&m, "w", SHAPE(2, 4,));
  model_node(&m, "MatMul", "x,w", "o");
}

/* Of the last node. */
static void
attribute(const char *name, int64_t i)
{
  attr_int(&m.nodes[m.n_nodes - 1], name, i);
}

static void
last(const char *op, const char *in, const char *out)
{
  model_node(&m, op, in, out);
}

/* The label that the last node ignores; 0: none. */
static int64_t ignored;

/* Is it taken, and of this kind? Then the network's output is o, and nothing is left of the loss. */
static void
taken(clarke_loss_kind expected)
{
  clarke_loss loss;
  bool found = false;

  model_output(&m, "loss");
  ck_assert_int_eq(clarke_tail_take(&loss, &found, &m, NULL, &error), CLARKE_OK);
  ck_assert(found && loss.kind == expected && loss.ignores == (ignored != 0) && loss.ignored == ignored);
  ck_assert_uint_eq(m.n_nodes, 1);
  ck_assert_uint_eq(m.n_inputs, 1);
  ck_assert_str_eq(m.inputs[0].name, "x");
  ck_assert_str_eq(m.outputs[0].name, "o");
  clarke_model_clear(&m);
}

static void
left(void)
{
  const size_t n = m.n_nodes, inputs = m.n_inputs;
  clarke_loss loss;
  bool found = true;

  model_output(&m, "loss");
  ck_assert_int_eq(clarke_tail_take(&loss, &found, &m, NULL, &error), CLARKE_OK);
  ck_assert(!found && m.n_nodes == n && m.n_inputs == inputs);
  ck_assert_str_eq(m.outputs[0].name, "loss");
  clarke_model_clear(&m);
}

START_TEST(known)
{
  begin();
  last("ReduceSum", "o", "loss");
  attribute("keepdims", 0);
  taken(CLARKE_LOSS_SUM);
  begin();
  model_input(&m, "y", SHAPE(3,));
  last("LogSoftmax", "o", "l");
  attribute("axis", 1);
  last("NegativeLogLikelihoodLoss", "l,y", "loss");
  taken(CLARKE_LOSS_CE);
  begin();
  model_input(&m, "y", SHAPE(3,));
  last("LogSoftmax", "o", "l");
  attribute("axis", 1);
  last("NegativeLogLikelihoodLoss", "l,y", "loss");
  attribute("ignore_index", -100);
  ignored = -100;
  taken(CLARKE_LOSS_CE);
  ignored = 0;
  begin();
  model_input(&m, "y", SHAPE(3, 4,));
  last("Sub", "o,y", "d");
  last("Mul", "d,d", "s");
  last("ReduceMean", "s", "loss");
  attribute("keepdims", 0);
  taken(CLARKE_LOSS_MSE);
}
END_TEST

/* A cross entropy with one thing else. */
static void
entropy(int axis, bool more, bool other)
{
  begin();
  model_input(&m, "y", SHAPE(3,));
  last("LogSoftmax", "o", "l");
  attribute("axis", axis);
  if (more)
    last("Relu", "l", "r");
  last("NegativeLogLikelihoodLoss", other ? "l,x" : "l,y", "loss");
}

START_TEST(unknown)
{
  entropy(-1, false, false);
  left();
  entropy(1, true, false);
  left();
  entropy(1, false, true); /* the target is read by the network, too */
  left();
  begin();
  last("ReduceSum", "o", "loss");
  left();
  begin();
  last("ReduceSum", "o,w", "loss");
  attribute("keepdims", 0);
  left();
  begin();
  model_input(&m, "y", SHAPE(3, 4,));
  last("Sub", "o,y", "d");
  last("Mul", "d,o", "s");
  last("ReduceMean", "s", "loss");
  attribute("keepdims", 0);
  left();
  begin();
  last("ReduceSum", "o", "loss");
  attribute("keepdims", 0);
  m.opset = 11;
  left();
}
END_TEST

/* A mean, and which label it leaves out. */
START_TEST(ignoring)
{
  clarke_tensor y = tensor_of("y", CLARKE_I64, SHAPE(4,));
  clarke_loss loss = {.kind = CLARKE_LOSS_CE, .y = &y, .samples = 4};

  for (size_t j = 0; j < 4; j++)
    y.integer[j] = j == 1 ? -100 : (int64_t)j / 2;
  loss.ignored = 1;
  ck_assert(clarke_loss_label(&loss, 3) == 1 && clarke_loss_counted(&loss) == 4);
  loss.ignores = true;
  ck_assert(clarke_loss_label(&loss, 3) == CLARKE_NONE && clarke_loss_label(&loss, 0) == 0 && clarke_loss_counted(&loss) == 2);
  loss.ignored = -100;
  ck_assert(clarke_loss_label(&loss, 1) == CLARKE_NONE && clarke_loss_label(&loss, 3) == 1 && clarke_loss_counted(&loss) == 3);
  y.integer[1] = -1; /* no class, and no label that is ignored */
  ck_assert_uint_eq(clarke_loss_counted(&loss), 4);
  clarke_tensor_clear(&y);
}
END_TEST

START_TEST(shapes)
{
  clarke_tensor y = tensor_of("y", CLARKE_I64, SHAPE(4,));
  clarke_loss loss;
  bool found;

  entropy(1, false, false);
  model_output(&m, "loss");
  ck_assert_int_eq(clarke_tail_take(&loss, &found, &m, &y, &error), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "input 'y', the loss's target, is declared with another shape"));
  m.outputs[0].shaped = true;
  m.outputs[0].rank = 1;
  ck_assert_int_eq(clarke_tail_take(&loss, &found, &m, NULL, &error), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "is declared to be no scalar"));
  clarke_model_clear(&m);
  clarke_tensor_clear(&y);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("tail");

  tcase_add_test(tcase, known);
  tcase_add_test(tcase, unknown);
  tcase_add_test(tcase, ignoring);
  tcase_add_test(tcase, shapes);
  return run_tests();
}
