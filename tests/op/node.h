/* A node being lowered, made by hand, whose input 0 is an activation of shape (2, 3, 4), 1 a constant of integers, 2 a constant of
 * floats of shape (3), 3 left out. */
#ifndef CLARKE_TESTS_OP_NODE_H
#define CLARKE_TESTS_OP_NODE_H

#include "../network/models.h"

#include "op/operator.h"

static clarke_error error;

static clarke_graph g;
static clarke_model m;
static clarke_lowering low;

static inline void
set_value(size_t v, bool constant, size_t rank, const size_t *dims)
{
  clarke_value *x = &g.values[v];

  memset(x, 0, sizeof *x);
  x->constant = constant;
  x->producer = x->parameter = x->made_of = CLARKE_NONE;
  x->rank = rank;
  x->count = 1;
  for (size_t a = 0; a < rank; a++)
    x->count *= x->dims[a] = dims[a];
}

static inline void
begin(void)
{
  static const size_t grid[] = {2, 3, 4}, one[] = {3};
  static size_t in[4];

  memcpy(in, (const size_t[]){0, 1, 2, CLARKE_NONE}, sizeof in); /* whatever a test before this one put there */
  model_begin(&m, 21);
  clarke_graph_init(&g);
  g.file = strdup("net.onnx");
  g.batched = true;
  g.values = calloc(g.capacity_values = 16, sizeof *g.values);
  g.n_values = 3;
  set_value(0, false, 3, grid);
  set_value(1, true, 1, one);
  g.values[1].integer = calloc(3, sizeof *g.values[1].integer);
  set_value(2, true, 1, one);
  g.values[2].real = calloc(3, sizeof *g.values[2].real);
  model_node(&m, "LayerNormalization", "x,s,b", "y");
  low = (clarke_lowering){.graph = &g, .node = &m.nodes[0], .place = 7, .opset = 21, .n_in = 4, .in = in};
}

static inline void
end(void)
{
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
}

#endif
