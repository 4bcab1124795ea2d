/* ONNX files all the way to a typed graph, for a few shapes of minibatch. */
#include "base/limit.h"
#include "network/graph/build.h"
#include "mutate.h"
#include "target.h"
#include "format/onnx.h"

MUTATED_AS(mutate_message)

/* An entry of the operand, or padding where a step may have it. */
static void
check_map(const clarke_graph *g, const clarke_step *s, const clarke_operand *o)
{
  bool padded = s->kind == CLARKE_GATHER || s->kind == CLARKE_SUM || s->kind == CLARKE_MAX;
  size_t n = g->values[s->out].count * (s->kind == CLARKE_MAX ? s->width : 1);

  REQUIRE(s->kind != CLARKE_MAX || (o->map != NULL && s->width <= CLARKE_MAX_WIDTH));
  for (size_t f = 0; o->map != NULL && f < n; f++)
    REQUIRE(o->map[f] < g->values[o->value].count || (padded && o->map[f] == CLARKE_NONE));
}

static void
build(const clarke_model *m, size_t rank, const size_t *dims)
{
  clarke_graph g;
  clarke_tensor x;
  clarke_error err;

  clarke_graph_init(&g);
  clarke_tensor_init(&x);
  if (clarke_tensor_shape(&x, "x", CLARKE_F32, rank, dims, &err) == CLARKE_OK &&
      clarke_graph_build(&g, m, &x, &err) == CLARKE_OK) {
    REQUIRE(g.output < g.n_values && !g.values[g.output].constant);
    REQUIRE(g.activations <= clarke_limit_of(CLARKE_LIMIT_ENTRIES));
    for (size_t i = 0; i < g.n_steps; i++)
      for (size_t k = 0; k < g.steps[i].n_in; k++) {
        const clarke_operand *o = &g.steps[i].in[k];

        REQUIRE(o->value < g.n_values);
        check_map(&g, &g.steps[i], o);
      }
    REQUIRE(clarke_graph_wrt(&g, NULL, 0, &err) == CLARKE_OK);
  }
  clarke_tensor_clear(&x);
  clarke_graph_clear(&g);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const size_t shapes[][3] = {{2, 4, 0}, {1, 1, 0}, {2, 3, 4}, {3, 5, 0}, {2, 64, 0}};
  clarke_model m;
  clarke_error err;

  clarke_model_init(&m);
  if (clarke_onnx_parse(&m, data, size, "fuzzed.onnx", &err) == CLARKE_OK)
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
      build(&m, shapes[i][2] != 0 ? 3 : 2, shapes[i]);
  clarke_model_clear(&m);
  return 0;
}
