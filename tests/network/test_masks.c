/* Masks of Dropout nodes: what is dropped, and by what the rest is divided, of all samples and in a single run; what is refused. */
#include "../ok.h"
#include "../op/steps.h"

#include "network/graph/build.h"
#include "network/graph/inputs.h"
#include "network/graph/masks.h"

#define FAILS(call, words)                        \
  do {                                            \
    ck_assert_int_eq(call, CLARKE_EINPUT);        \
    says(error.text, words);                      \
  } while (0)

static clarke_model m;
static clarke_graph g;
static clarke_tensor with, arrays[3];
static size_t n_arrays;
static uint64_t state = 5;

static clarke_tensor *
array(const char *name, clarke_dtype dtype, const long *shape)
{
  arrays[n_arrays] = tensor_of(name, dtype, shape);
  return &arrays[n_arrays++];
}

/* x of that declared shape; d = Dropout(x, ratio), e = Dropout(d, no ratio), both in training mode. */
static void
begin(const long *declared, double ratio, int64_t mode)
{
  model_begin(&m, 17);
  clarke_graph_init(&g);
  clarke_tensor_init(&with);
  n_arrays = 0;
  model_input(&m, "x", declared);
  *model_floats(&m, "ratio", SHAPE()) = ratio;
  *model_integers(&m, "mode", SHAPE()) = mode;
  model_node(&m, "Dropout", "x,ratio,mode", "d");
  model_node(&m, "Dropout", "d,,mode", "e");
  model_output(&m, "e");
}

static void
end(void)
{
  for (size_t i = 0; i < n_arrays; i++)
    clarke_tensor_clear(&arrays[i]);
  clarke_tensor_clear(&with);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
}

static clarke_status
take(void)
{
  clarke_status status = clarke_masks_take(&m, &with, &arrays[0], arrays, n_arrays, "b.npz", &error);

  if (status == CLARKE_OK)
    status = clarke_inputs_take(&m, &arrays[0], arrays, n_arrays, "b.npz", &error);
  return status == CLARKE_OK ? clarke_graph_build(&g, &m, with.count > 0 ? &with : &arrays[0], &error) : status;
}

/* how: 0 a symbolic first axis, 1 a first axis of 1, 2 the samples flat, 3 a single run. */
static void
draw_one(int how)
{
  const long n = draw_between(&state, 1, 3), a = draw_between(&state, 1, 3), b = draw_between(&state, 1, 3);
  const double ratio = 0.25;
  steps_run run;

  begin(SHAPE(how == 1 ? 1 : how == 3 ? n : -1, a, b,), ratio, 1);
  if (how == 2)
    array("x", CLARKE_F64, SHAPE(n, a * b,));
  else if (how == 3)
    array("x", CLARKE_F64, SHAPE(1, n, a, b,));
  else
    array("x", CLARKE_F32, SHAPE(n, a, b,));
  array("d", CLARKE_BOOL, SHAPE(n, a, b,));
  array("e", CLARKE_F32, SHAPE(n, a, b,));
  for (size_t e = 0; e < arrays[0].count; e++) {
    arrays[0].real[e] = (double)draw_between(&state, -5, 5);
    arrays[1].integer[e] = draw_between(&state, 0, 1);
    arrays[2].real[e] = (double)draw_between(&state, 0, 1);
  }
  OK(take());
  ck_assert(clarke_inputs_has_mask(&m, "d") && clarke_inputs_has_mask(&m, "e") && !clarke_inputs_has_mask(&m, "x"));
  ck_assert_uint_eq(g.batched, how != 3);
  ck_assert_uint_eq(g.together, how == 0 || how == 2 ? (size_t)n : 1);
  ck_assert_uint_eq(g.values[g.output].count, (size_t)(how == 3 ? n * a * b : a * b));
  ck_assert_uint_eq(g.n_parameters, 0);
  ck_assert_str_eq(g.steps[g.n_steps - 1].name, "/e");
  ck_assert_uint_eq(g.steps[g.n_steps - 1].node, 1); /* as the file counts */
  steps_begin(&run, &g);
  for (size_t s = 0, all = g.values[g.output].count; s < arrays[0].count / all; s++) {
    steps_go(&run, with.count > 0 ? &with : &arrays[0], s);
    for (size_t e = 0; e < all; e++) {
      mpq_t expected;

      mpq_init(expected);
      mpq_set_si(expected, (long)(arrays[0].real[s * all + e] * (double)arrays[1].integer[s * all + e] * arrays[2].real[s * all + e]) * 8, 3);
      mpq_canonicalize(expected); /* divided by 3/4, and by 1/2 */
      ck_assert(mpq_equal(run.value[g.output][e], expected));
      mpq_clear(expected);
    }
  }
  steps_end(&run);
  end();
}

START_TEST(what_is_dropped)
{
  for (int i = 0; i < 80; i++)
    draw_one(i % 4);
}
END_TEST

/* The first input, q, times the second, beside a mask: of each sample its own. */
static void
begin_named(const char *second, const long *declared, const long *x, const long *z)
{
  char both[16];

  snprintf(both, sizeof both, "q,%s", second);
  model_begin(&m, 17);
  clarke_graph_init(&g);
  clarke_tensor_init(&with);
  n_arrays = 0;
  model_input(&m, "q", SHAPE(-1, 2,));
  model_input(&m, second, declared);
  *model_integers(&m, "mode", SHAPE()) = 1;
  model_node(&m, "Mul", both, "p");
  model_node(&m, "Dropout", "p,,mode", "d");
  model_output(&m, "d");
  array("x", CLARKE_F64, x);
  array("d", CLARKE_BOOL, x);
  if (strcmp(second, "x") != 0)
    array(second, CLARKE_F64, z);
}

static void
begin_two(const long *declared, const long *x, const long *z)
{
  begin_named("z", declared, x, z);
}


START_TEST(further_inputs)
{
  steps_run run;

  begin_two(SHAPE(-1, 2,), SHAPE(3, 2,), SHAPE(3, 2,));
  for (size_t e = 0; e < 6; e++) {
    arrays[0].real[e] = (double)e - 2;
    arrays[1].integer[e] = e % 3 != 1;
    arrays[2].real[e] = 3 * (double)e + 1;
  }
  OK(take());
  ck_assert_uint_eq(m.n_inputs, 1);
  ck_assert(g.batched && g.together == 3 && with.dims[1] == 6);
  steps_begin(&run, &g);
  for (size_t s = 0; s < 3; s++) {
    steps_go(&run, &with, s);
    for (size_t e = 0; e < 2; e++) {
      const size_t at = 2 * s + e;

      ck_assert(mpq_cmp_si(run.value[g.output][e], (long)(2 * arrays[0].real[at] * (double)arrays[1].integer[at] * arrays[2].real[at]), 1) == 0);
    }
  }
  steps_end(&run);
  end();
  begin_two(SHAPE(-1, 3,), SHAPE(3, 2,), SHAPE(3, 2,)); /* another shape than it declares */
  FAILS(take(), "data of each sample");
  end();
  begin_two(SHAPE(3, 2,), SHAPE(3, 2,), SHAPE(3, 2,)); /* another first axis */
  FAILS(take(), "the same first axis");
  end();
  begin_two(SHAPE(-1, 2,), SHAPE(3, 2,), SHAPE(2, 2,)); /* not the samples */
  FAILS(take(), "expected the 3 samples on the first axis");
  end();
  begin_named("x", SHAPE(-1, 2,), SHAPE(3, 2,), SHAPE(3, 2,)); /* would read what the first one reads */
  FAILS(take(), "'x' is beside 'q', but a batch's array 'x' is of the first input");
  end();
  begin_named("y", SHAPE(-1, 2,), SHAPE(3, 2,), SHAPE(3, 2,));
  FAILS(take(), "a batch's array 'y' is the loss's target");
  OK(clarke_inputs_check_name(&m, "y", true, &error)); /* a single run's loss is nodes */
  FAILS(clarke_inputs_check_name(&m, "x", true, &error), "of the first input");
  end();
}
END_TEST

/* x (3, 2); the mask `d` of that shape, one entry `entry`. */
static void
refused(const long *declared, const long *x, const long *mask, double ratio, int64_t mode, double entry, const char *words)
{
  begin(declared, ratio, mode);
  array("x", CLARKE_F32, x);
  array("d", CLARKE_F32, mask);
  if (arrays[1].count > 1)
    arrays[1].real[1] = entry;
  ck_assert_msg(take() == CLARKE_EINPUT, "%s", words);
  says(error.text, words);
  end();
}

START_TEST(what_is_refused)
{
  const long *const any = SHAPE(-1, 2,), *const full = SHAPE(3, 2,);

  refused(any, full, full, 0.25, 1, 2, "b.npz: array 'd' is the mask of a Dropout: entry 1 is 2; expected 1 where");
  refused(any, full, SHAPE(2, 3,), 0.25, 1, 1, "array 'd' is the mask|the 3 samples on the first axis");
  refused(any, full, SHAPE(3, 1,), 0.25, 1, 1, "node 0 '/d' (Dropout): the mask 'd' of the batch has not the shape");
  refused(any, full, SHAPE(3, 2, 1,), 0.25, 1, 1, "has not the shape of the output");
  refused(any, full, full, 0.25, 0, 1, "node 0 '/d' (Dropout): the batch has a mask for it, array 'd', and it is not in training mode");
  refused(any, full, full, 0, 1, 1, "a mask, and a ratio of 0");
  refused(any, full, full, 1, 1, 1, "a mask, and a ratio of 1");
  refused(any, full, full, 0x1p-60, 1, 1, "a mask, and a ratio of 8.67");
  refused(any, full, full, 0.25, 1, 1, "node 1 '/e' (Dropout): in training mode it draws a mask|array 'e' of zeros and ones|clarke.record");
  refused(SHAPE(2,), full, full, 0.25, 1, 1, "masks of Dropout nodes, and further inputs, are for a batch along the first axis");
  begin(any, 0.25, 1);
  m.opset = 11;
  array("x", CLARKE_F32, full);
  array("d", CLARKE_F32, full);
  ck_assert_int_eq(take(), CLARKE_EINPUT);
  says(error.text, "from operator set 12 on");
  end();
  begin(any, 0.25, 1);
  array("x", CLARKE_F32, full);
  array("m", CLARKE_F32, full);
  ck_assert_int_eq(take(), CLARKE_EINPUT);
  says(error.text, "array 'm'; a batch has x, y perhaps, and arrays by the names of further inputs, or of outputs of Dropout nodes");
  end();
  begin(any, 0.25, 1); /* four inputs in the file: none is a mask */
  array("x", CLARKE_F32, full);
  m.nodes[0].in = realloc(m.nodes[0].in, 4 * sizeof *m.nodes[0].in);
  m.nodes[0].in[m.nodes[0].n_in++] = strdup("x");
  ck_assert_int_eq(take(), CLARKE_EINPUT);
  says(error.text, "4 inputs and 1 outputs; expected 1 to 3");
  end();
}
END_TEST

START_TEST(ports_and_nodes)
{
  bool batched, flat;
  clarke_model_node *node;

  begin(SHAPE(-1, 2, 3,), 0.25, 1);
  array("x", CLARKE_F32, SHAPE(4, 2, 3,));
  ck_assert(clarke_port_takes(&m.inputs[0], &arrays[0], &batched, &flat) && batched && !flat);
  ck_assert(!clarke_inputs_are_one_run(&m.inputs[0], &arrays[0]));
  array("x", CLARKE_F32, SHAPE(4, 6,));
  ck_assert(clarke_port_takes(&m.inputs[0], &arrays[1], &batched, &flat) && batched && flat);
  array("x", CLARKE_F32, SHAPE(1, 4, 2, 3,));
  ck_assert(clarke_port_takes(&m.inputs[0], &arrays[2], &batched, &flat) && !batched && !flat);
  ck_assert(clarke_inputs_are_one_run(&m.inputs[0], &arrays[2]));
  arrays[2].dims[2] = 5;
  ck_assert(!clarke_port_takes(&m.inputs[0], &arrays[2], &batched, &flat));
  OK(clarke_inputs_add_constant(&m, "c", &arrays[0], &error));
  node = clarke_inputs_add_node(&m, "Relu", "r", 1, &error);
  ck_assert(node == &m.nodes[0] && node->n_in == 1 && node->n_out == 1 && strcmp(node->op_type, "Relu") == 0);
  node->in[0] = strdup("x");
  node->out[0] = strdup("z");
  ck_assert(m.added == 2 && m.n_nodes == 4 && strcmp(m.nodes[1].out[0], "c") == 0 && m.nodes[1].attr[0].t.count == 24);
  arrays[2].dims[2] = 2;
  end();
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("masks");

  tcase_add_test(tcase, what_is_dropped);
  tcase_add_test(tcase, further_inputs);
  tcase_add_test(tcase, what_is_refused);
  tcase_add_test(tcase, ports_and_nodes);
  return run_tests();
}
