/* Random networks with normalizations, each by a sample's groups or by the whole minibatch, between
 * convolutions, dense layers, residuals and pools. */
#ifndef CLARKE_TESTS_NETWORK_NORMALIZED_H
#define CLARKE_TESTS_NETWORK_NORMALIZED_H

#include "convolutional.h"

static inline const char *
two_weights(growing *g, size_t rank, const size_t *dims)
{
  static char both[40];
  char scale[16];

  strcpy(scale, a_weight(g, rank, dims, false));
  snprintf(both, sizeof both, "%s,%s", scale, a_weight(g, rank, dims, false));
  return both;
}

static inline void
grow_layer_norm(growing *g)
{
  size_t from = draw_below(g->state, g->rank), rank = g->rank - from;
  size_t one[1] = {g->dims[g->rank - 1]};
  const char *others;
  clarke_model_node *node;

  if (draw_below(g->state, 3) == 0) /* the last axis alone, and no B */
    others = a_weight(g, 1, one, false);
  else
    others = two_weights(g, rank, g->dims + from);
  node = grow_node(g, "LayerNormalization", others, false);
  attr_int(node, "axis", draw_below(g->state, 2) ? (int64_t)from + 1 : -(int64_t)rank);
}

static inline void
grow_group_norm(growing *g)
{
  size_t groups = g->dims[0] % 2 == 0 && draw_below(g->state, 2) ? g->dims[0] / 2 : draw_below(g->state, 2)
                                                                                  ? g->dims[0] : 1;
  size_t scales[1] = {g->m.opset < 21 ? groups : g->dims[0]};

  attr_int(grow_node(g, "GroupNormalization", two_weights(g, 1, scales), false), "num_groups",
           (int64_t)groups);
}

static inline void
grow_trained(growing *g)
{
  char all[80], mean[16], var[16], both[40];

  strcpy(both, two_weights(g, 1, g->dims));
  strcpy(mean, new_name(g, "s"));
  strcpy(var, new_name(g, "s"));
  model_floats(&g->m, mean, SHAPE((long)g->dims[0],));
  model_floats(&g->m, var, SHAPE((long)g->dims[0],));
  snprintf(all, sizeof all, "%s,%s,%s", both, mean, var);
  attr_int(grow_node(g, "BatchNormalization", all, false), "training_mode", 1);
}

static inline void
grow_normalization(growing *g)
{
  static const double epsilon[] = {0.25, 0.5625, 0x1p-20};
  size_t kind = draw_below(g->state, 4);

  if (kind == 0)
    grow_layer_norm(g);
  else if (kind == 1)
    grow_group_norm(g);
  else if (kind == 2 && g->rank > 1)
    grow_node(g, "InstanceNormalization", two_weights(g, 1, g->dims), false);
  else
    grow_trained(g);
  if (draw_below(g->state, 2))
    attr_float(&g->m.nodes[g->m.n_nodes - 1], "epsilon", epsilon[draw_below(g->state, 3)]);
}

static inline void
grow_between(growing *g)
{
  bool spatial = g->rank > 1;

  switch (draw_below(g->state, 5)) {
  case 0:
    if (spatial)
      grow_conv(g, 3, draw_below(g->state, 2));
    else
      grow_dense(g, 1 + draw_below(g->state, 4));
    break;
  case 1:
    if (spatial)
      grow_residual(g);
    break;
  case 2:
    grow_kink(g);
    break;
  case 3:
    grow_arithmetic(g, draw_below(g->state, 2) ? "Mul" : "Add");
    break;
  default:
    break;
  }
}

/* One to three normalizations, and a kink at the end, or a pool of all of space; no output yet. */
static inline void
grow_normalizing(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  static const int64_t opsets[] = {18, 20, 21};
  size_t dims[3] = {1 + draw_below(state, 4), 1 + draw_below(state, 4), 1 + draw_below(state, 3)};

  grow_begin(g, state, number, 1 + draw_below(state, 3), dims);
  g->m.opset = opsets[draw_below(state, 3)];
  for (size_t n = 1 + draw_below(state, 3); n > 0 && grown_count(g) < 60; n--) {
    grow_between(g);
    grow_normalization(g);
    grow_between(g);
  }
  if (g->rank > 1 && draw_below(state, 3) == 0) {
    grow_node(g, "GlobalMaxPool", NULL, false);
    for (size_t a = 1; a < g->rank; a++)
      g->dims[a] = 1;
  }
  grow_kink(g);
}

static inline void
grow_normalized(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  grow_normalizing(g, state, number);
  model_output(&g->m, g->at);
}

#endif
