/* Graphs that nodes hold, on models made by hand. */
#define _GNU_SOURCE /* tdestroy */
#include "models.h"

#include "network/graph/bodies.h"
#include "network/graph/bodies_inside.h"
#include "op/node.h"

#include <search.h>

static clarke_model m;
static clarke_graph g;
static clarke_error error;

/* An input x of (1, 2), and y, which a node that holds a graph makes of it in so many rounds, r: v + w of v. */
static clarke_model_node *
begin(const char *op, int64_t rounds)
{
  clarke_model_node *node, *within;
  clarke_body *body = calloc(1, sizeof *body);
  clarke_model inner;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(1, 2, ));
  model_output(&m, "y");
  memcpy(model_floats(&m, "w", SHAPE(2, )), (const double[]){1, -2}, 2 * sizeof(double));
  model_integers(&m, "r", SHAPE())[0] = rounds;
  node = model_node(&m, op, "r,,x,w", "y");
  node->own_in = 3;
  node_attr(node, "body", CLARKE_ATTR_GRAPH)->g = body;
  model_begin(&inner, 17);
  model_input(&inner, "i", SHAPE());
  model_input(&inner, "c", SHAPE());
  model_input(&inner, "v", SHAPE(1, 2, ));
  model_output(&inner, "d");
  model_output(&inner, "s");
  model_node(&inner, "Identity", "c", "d");
  within = model_node(&inner, "Add", "v,w", "s");
  within->own_in = within->n_in;
  *body = (clarke_body){.n_nodes = 2, .n_inputs = 3, .n_outputs = 2, .nodes = inner.nodes, .inputs = inner.inputs, .outputs = inner.outputs};
  free(inner.file);
  free(inner.tensors);
  return node;
}

static void
end(void)
{
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
}

static clarke_status
build(void)
{
  double numbers[2] = {0};
  clarke_tensor x = {.rank = 2, .dims = {1, 2}, .count = 2, .real = numbers, .name = (char *)(uintptr_t)"x"};

  clarke_graph_init(&g);
  return clarke_graph_build(&g, &m, &x, &error);
}

START_TEST(a_loop_is_its_rounds)
{
  for (int64_t rounds = 0; rounds < 4; rounds++) {
    const clarke_model_node *node = begin("Loop", rounds);
    size_t sums = 0;

    ck_assert(clarke_bodies_hold(node) && !clarke_bodies_hold(&node->attr[0].g->nodes[1]));
    ck_assert_msg(build() == CLARKE_OK, "%s", error.text);
    for (size_t s = 0; s < g.n_steps; s++)
      sums += strcmp(g.steps[s].op->name, "Add") == 0;
    ck_assert_uint_eq(sums, (size_t)rounds);
    ck_assert_uint_eq(g.n_parameters, rounds > 0);
    end();
  }
}
END_TEST

/* Its values, and its nodes, have the round behind their names. */
START_TEST(rounds_are_named)
{
  bool named = false;

  begin("Loop", 2);
  ck_assert_int_eq(build(), CLARKE_OK);
  for (size_t v = 0; v < g.n_values; v++)
    named = named || (g.values[v].name != NULL && strcmp(g.values[v].name, "s/1") == 0 && g.values[v].printed);
  ck_assert(named);
  named = false;
  for (size_t s = 0; s < g.n_steps; s++)
    named = named || strcmp(g.steps[s].name, "/s/1") == 0;
  ck_assert(named);
  end();
}
END_TEST

START_TEST(what_is_not_known_is_refused)
{
  const clarke_model_node *node;

  begin("Loop", 1 << 20);
  ck_assert_int_ne(build(), CLARKE_OK);
  ck_assert_ptr_nonnull(strstr(error.text, "round after round, a network of"));
  end();
  begin("Loop", 1)->attr[0].g->n_inputs--;
  ck_assert_int_eq(build(), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "its graph 'body' takes 2 values and gives 2; expected 3 and 2"));
  m.nodes[0].attr[0].g->n_inputs++;
  end();
  node = begin("Loop", 2);
  free(node->attr[0].g->outputs[1].name);
  node->attr[0].g->outputs[1].name = strdup("i");
  ck_assert_int_eq(build(), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "the round's number 'i' itself goes out of its graph"));
  end();
  begin("If", 1);
  ck_assert_int_eq(build(), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "attribute 'body' is not known here"));
  end();
}
END_TEST

static void
free_bound(void *entry)
{
  free(*(char **)entry);
  free(entry);
}

/* A node's steps, and its outputs' names, one by one. */
START_TEST(nodes_are_read_by_themselves)
{
  const clarke_model_node *node = begin("Loop", 1);
  clarke_builder b = {.g = &g, .m = &m};
  clarke_model_node relu;
  size_t out[1] = {CLARKE_NONE};
  clarke_lowering low;

  ck_assert_int_eq(build(), CLARKE_OK);
  ck_assert(clarke_model_reads(&m, "w") && clarke_model_reads(&m, "y") && !clarke_model_reads(&m, "s"));
  ck_assert_int_eq(clarke_builder_bind(&b, "x", g.input, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_builder_bind(&b, "x", g.input, &error), CLARKE_EINPUT);
  relu = *model_node(&m, "Relu", "x", "z");
  ck_assert_int_eq(clarke_builder_node(&b, &m.nodes[1], 5, &error), CLARKE_OK);
  ck_assert(g.steps[g.n_steps - 1].node == 5 && clarke_builder_find(&b, "z") == g.n_values - 1);
  ck_assert_int_eq(clarke_bodies_lower(&b, node, 6, &error), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "node 6 '/y' (Loop): 'r' is computed by no node before it"));
  low = (clarke_lowering){.graph = &g, .node = &relu, .place = 7, .in = &g.input, .n_in = 1, .out = out};
  ck_assert_int_eq(clarke_lower_first(&low, &error), CLARKE_OK);
  relu.n_out = 1;
  free(relu.out[0]);
  relu.out[0] = strdup("again");
  ck_assert_int_eq(clarke_builder_outputs(&b, &low, &error), CLARKE_OK);
  ck_assert_uint_eq(clarke_builder_find(&b, "again"), g.n_values - 1);
  tdestroy(b.names, free_bound);
  end();
  clarke_body_free(NULL);
}
END_TEST

static void
named(const clarke_instance *i, const char *name, const char *as)
{
  char *own = clarke_instance_name(i, name);

  ck_assert_str_eq(own, as);
  free(own);
}

/* A graph in round 7 by itself: what its names stand for, what is handed in, what comes out. */
START_TEST(a_graph_is_read_once)
{
  const clarke_model_node *node = begin("Loop", 1);
  const clarke_body *body = NULL;
  clarke_builder b = {.g = &g, .m = &m};
  size_t out[1] = {CLARKE_NONE}, dims[CLARKE_MAX_WHOLE], truth, value;
  clarke_holder h = {.b = &b, .low = {.graph = &g, .node = node, .place = 6, .opset = 17, .out = out}};
  clarke_instance i;
  bool known;

  ck_assert_int_eq(build(), CLARKE_OK);
  ck_assert_int_eq(clarke_holder_body(&h, "body", 3, 1, &body, &error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_holder_body(&h, "then_branch", 3, 2, &body, &error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_holder_body(&h, "body", 3, 2, &body, &error), CLARKE_OK);
  ck_assert_ptr_eq(body, node->attr[0].g);
  ck_assert(clarke_holder_axes(&h, g.input, dims) == 2 && dims[0] == 1 && dims[1] == 2);
  ck_assert_int_eq(clarke_holder_value(&h, NULL, &value, &error), CLARKE_ENOMEM);
  ck_assert_int_eq(clarke_holder_value(&h, "w", &value, &error), CLARKE_EINPUT);
  for (size_t v = 0; v < g.n_values; v++)
    if (g.values[v].name != NULL && strcmp(g.values[v].name, "w") == 0)
      ck_assert_int_eq(clarke_builder_bind(&b, "w", v, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_holder_value(&h, "w", &value, &error), CLARKE_OK);
  clarke_holder_is_true(&g.values[value], &known);
  ck_assert(!known);
  truth = clarke_inner_integers(&h.low, (const int64_t[]){1}, 1, &error);
  ck_assert(!clarke_holder_is_true(&g.values[truth], &known) && !known);
  g.values[truth].dtype = CLARKE_BOOL;
  ck_assert(clarke_holder_is_true(&g.values[truth], &known) && known);

  ck_assert_int_eq(clarke_instance_begin(&i, &h, body, &error), CLARKE_OK);
  ck_assert(clarke_instance_suffix(&i, true, 7));
  ck_assert_int_eq(clarke_instance_give(&i, &h, 1, truth, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_instance_give(&i, &h, 2, g.input, &error), CLARKE_OK);
  named(&i, "s", "s/7");
  named(&i, "v", "v/7");
  named(&i, "w", "w");
  ck_assert_int_eq(clarke_instance_output(&i, &h, 1, &value, &error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_instance_run(&i, &h, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_instance_output(&i, &h, 1, &value, &error), CLARKE_OK);
  ck_assert_str_eq(g.values[value].name, "s/7");
  ck_assert_int_eq(clarke_instance_output(&i, &h, 0, &value, &error), CLARKE_OK);
  ck_assert(clarke_holder_is_true(&g.values[value], &known) && known);
  clarke_instance_end(&i, &h);
  ck_assert_ptr_null(b.within);
  ck_assert_int_eq(clarke_holder_loop(&h, &value, &error), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "'r' is computed by no node before it"));
  ck_assert_int_eq(clarke_holder_scan(&h, &value, &error), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "num_scan_inputs is 0 of 3 inputs"));
  tdestroy(b.names, free_bound);
  end();
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("bodies");

  tcase_add_test(tests, a_loop_is_its_rounds);
  tcase_add_test(tests, rounds_are_named);
  tcase_add_test(tests, what_is_not_known_is_refused);
  tcase_add_test(tests, nodes_are_read_by_themselves);
  tcase_add_test(tests, a_graph_is_read_once);
  return run_tests();
}
