/* Random models of every rational operator: each node is drawn so that its shapes fit. */
#ifndef CLARKE_TESTS_NETWORK_NETWORKS_H
#define CLARKE_TESTS_NETWORK_NETWORKS_H

#include "models.h"

typedef struct {
  clarke_model m;
  uint64_t *state;
  /* the activation so far: per sample */
  char at[16];
  size_t rank, dims[CLARKE_MAX_RANK];
  size_t n_names;
  double (*number)(uint64_t *state); /* weights and inputs */
  bool products; /* of activations, too */
  bool quotients, extremes;
} growing;

static inline const char *
new_name(growing *g, const char *letter)
{
  static char name[16];

  snprintf(name, sizeof name, "%s%zu", letter, g->n_names++);
  return name;
}

static inline size_t
grown_count(const growing *g)
{
  size_t n = 1;

  for (size_t a = 0; a < g->rank; a++)
    n *= g->dims[a];
  return n;
}

/* A new initializer, or an earlier one of the same shape; sometimes seen through Identity. */
static inline const char *
a_weight(growing *g, size_t rank, const size_t *dims, bool nonzero)
{
  static char name[16];
  long shape[CLARKE_MAX_RANK + 2] = {0};
  double *v;

  for (size_t i = 0; i < g->m.n_tensors; i++) {
    const clarke_tensor *t = &g->m.tensors[i];
    bool fits = t->real != NULL && t->name[0] == 'w' && t->rank == rank &&
                memcmp(t->dims, dims, rank * sizeof *dims) == 0;

    for (size_t e = 0; fits && nonzero && e < t->count; e++)
      fits = t->real[e] != 0;
    if (!fits || draw_below(g->state, 3) > 0)
      continue;
    strcpy(name, t->name);
    if (draw_below(g->state, 2)) {
      char seen[16];

      strcpy(seen, new_name(g, "i"));
      model_node(&g->m, "Identity", name, seen);
      strcpy(name, seen);
    }
    return name;
  }
  for (size_t a = 0; a < rank; a++)
    shape[a] = (long)dims[a];
  shape[rank] = SHAPE_END;
  strcpy(name, new_name(g, "w"));
  v = model_floats(&g->m, name, shape);
  for (size_t e = 0; e < g->m.tensors[g->m.n_tensors - 1].count; e++)
    do
      v[e] = g->number(g->state);
    while (nonzero && v[e] == 0);
  return name;
}

static inline clarke_model_node *
grow_node(growing *g, const char *op, const char *second, bool second_first)
{
  char in[128];
  clarke_model_node *node;

  if (second == NULL)
    strcpy(in, g->at);
  else
    snprintf(in, sizeof in, "%s,%s", second_first ? second : g->at, second_first ? g->at : second);
  strcpy(g->at, new_name(g, "a"));
  node = model_node(&g->m, op, in, g->at);
  return node;
}

static inline void
grow_integers(growing *g, const char *op, size_t n, const int64_t *list)
{
  char name[16];

  strcpy(name, new_name(g, "n"));
  memcpy(model_integers(&g->m, name, SHAPE((long)n,)), list, n * sizeof *list);
  grow_node(g, op, name, false);
}

static inline void
grow_product(growing *g)
{
  size_t dims[2], width = 1 + draw_below(g->state, 3);

  if (g->rank >= 2 && draw_below(g->state, 2)) { /* W x */
    size_t *axis = &g->dims[g->rank - 2];
    bool vector = draw_below(g->state, 4) == 0;

    dims[0] = vector ? *axis : width;
    dims[1] = *axis;
    grow_node(g, "MatMul", a_weight(g, vector ? 1 : 2, dims, false), true);
    if (!vector)
      *axis = width;
    else {
      *axis = g->dims[g->rank - 1];
      g->rank--;
    }
    return;
  }
  if (g->rank == 0)
    return;
  dims[0] = g->dims[g->rank - 1];
  dims[1] = width;
  if (g->rank >= 2 && draw_below(g->state, 5) == 0) {
    grow_node(g, "MatMul", a_weight(g, 1, dims, false), false);
    g->rank--;
  } else {
    grow_node(g, "MatMul", a_weight(g, 2, dims, false), false);
    g->dims[g->rank - 1] = width;
  }
}

static inline void
grow_gemm(growing *g)
{
  size_t in, out = 1 + draw_below(g->state, 3), dims[2];
  bool trans = draw_below(g->state, 2);
  char bias[16];
  clarke_model_node *node;

  if (g->rank != 1)
    return;
  in = g->dims[0];
  strcpy(bias, a_weight(g, draw_below(g->state, 2), &out, false));
  dims[0] = trans ? out : in;
  dims[1] = trans ? in : out;
  node = grow_node(g, "Gemm", a_weight(g, 2, dims, false), false);
  if (draw_below(g->state, 4) > 0) {
    node->in = realloc(node->in, 3 * sizeof *node->in);
    node->in[node->n_in++] = strdup(bias);
  }
  if (trans)
    attr_int(node, "transB", 1);
  if (draw_below(g->state, 2))
    attr_float(node, "alpha", draw_below(g->state, 2) ? -0.5 : 3);
  if (draw_below(g->state, 3) == 0)
    attr_float(node, "beta", (double)draw_between(g->state, -1, 1) * 2);
  g->dims[0] = out;
}

static inline void
grow_arithmetic(growing *g, const char *op)
{
  size_t dims[CLARKE_MAX_RANK], skip = draw_below(g->state, g->rank + 1), rank = g->rank - skip;
  bool first = op[0] != 'D' && draw_below(g->state, 2);

  for (size_t a = 0; a < rank; a++) {
    dims[a] = draw_below(g->state, 3) == 0 ? 1 : g->dims[a + skip];
    if (g->dims[a + skip] == 1 && draw_below(g->state, 3) == 0)
      g->dims[a + skip] = dims[a] = 2; /* the activation is spread */
  }
  grow_node(g, op, a_weight(g, rank, dims, op[0] == 'D'), first);
}

/* With an earlier form of the activation: the same shape by a pointwise function. */
static inline void
grow_sum_of_two(growing *g)
{
  char before[16];
  bool first;

  strcpy(before, g->at);
  grow_node(g, draw_below(g->state, 2) ? "Abs" : "Relu", NULL, false);
  first = draw_below(g->state, 2); /* draws in a call's arguments would come in any order */
  grow_node(g, draw_below(g->state, 2) ? "Add" : "Sub", before, first);
}

/* The activation times a function of it, entry by entry; or its last two axes as a matrix times the transposed one. */
static inline void
grow_product_of_two(growing *g)
{
  char before[16];
  long perm[CLARKE_MAX_RANK + 2];

  strcpy(before, g->at);
  if (g->rank < 2 || draw_below(g->state, 2)) {
    grow_node(g, draw_below(g->state, 2) ? "LeakyRelu" : "HardSigmoid", NULL, false);
    grow_node(g, "Mul", before, draw_below(g->state, 2));
    return;
  }
  for (size_t a = 0; a <= g->rank; a++)
    perm[a] = (long)a;
  perm[g->rank] = (long)g->rank - 1;
  perm[g->rank - 1] = (long)g->rank;
  perm[g->rank + 1] = SHAPE_END;
  attr_ints(grow_node(g, "Transpose", NULL, false), "perm", perm);
  if (draw_below(g->state, 2)) {
    grow_node(g, "MatMul", before, true);
    g->dims[g->rank - 1] = g->dims[g->rank - 2];
  } else {
    grow_node(g, "MatMul", before, false);
    g->dims[g->rank - 2] = g->dims[g->rank - 1];
  }
}

/* Of the activation, z = 1 + its square: the activation over z or over its root, 1 / z, or 1 over the root. */
static inline void
grow_quotient(growing *g)
{
  char before[16], one[16];
  const size_t kind = draw_below(g->state, 4);

  strcpy(before, g->at);
  strcpy(one, new_name(g, "k"));
  model_floats(&g->m, one, SHAPE(1,))[0] = 1;
  grow_node(g, "Mul", before, true);
  grow_node(g, "Add", one, draw_below(g->state, 2));
  if (kind >= 2)
    grow_node(g, "Sqrt", NULL, false);
  if (kind % 2 == 0)
    grow_node(g, "Div", before, true);
  else
    grow_node(g, "Reciprocal", NULL, false);
}

/* Max or Min of the activation, of that bent and, sometimes, of a weight that is spread. */
static inline void
grow_larger(growing *g)
{
  size_t skip = draw_below(g->state, g->rank + 1), dims[CLARKE_MAX_RANK];
  const bool third = draw_below(g->state, 2), first = draw_below(g->state, 2), least = draw_below(g->state, 2);
  char others[64], before[16];

  strcpy(before, g->at);
  grow_node(g, draw_below(g->state, 2) ? "Abs" : "HardSigmoid", NULL, false);
  for (size_t a = skip; a < g->rank; a++)
    dims[a - skip] = draw_below(g->state, 3) == 0 ? 1 : g->dims[a];
  snprintf(others, sizeof others, "%s%s%s", before, third ? "," : "", third ? a_weight(g, g->rank - skip, dims, false) : "");
  grow_node(g, least ? "Min" : "Max", others, first);
}

/* Over an axis or two, which stay. */
static inline void
grow_extremum(growing *g)
{
  const size_t a = draw_below(g->state, g->rank), c = draw_below(g->state, g->rank);

  attr_ints(grow_node(g, draw_below(g->state, 2) ? "ReduceMin" : "ReduceMax", NULL, false), "axes",
            a != c ? SHAPE((long)a + 1, (long)c - (long)g->rank,) : SHAPE((long)a + 1,));
  g->dims[a] = g->dims[c] = 1;
}

/* Along any axis. */
static inline void
grow_sorted(growing *g)
{
  const size_t a = draw_below(g->state, g->rank);
  const int64_t k = 1 + (int64_t)draw_below(g->state, g->dims[a]);
  const bool largest = draw_below(g->state, 2);
  clarke_model_node *node;

  grow_integers(g, "TopK", 1, &k);
  node = &g->m.nodes[g->m.n_nodes - 1];
  attr_int(node, "axis", (int64_t)a + 1);
  attr_int(node, "largest", largest);
  g->dims[a] = (size_t)k;
}

/* Along an axis, twice: by Tile, of one entry by Expand. */
static inline void
grow_repeated(growing *g)
{
  const size_t a = draw_below(g->state, g->rank);
  int64_t list[CLARKE_MAX_RANK + 1];

  if (grown_count(g) > 20)
    return;
  for (size_t i = 0; i <= g->rank; i++)
    list[i] = i == a + 1 ? 2 : 1;
  grow_integers(g, g->dims[a] == 1 && draw_below(g->state, 2) ? "Expand" : "Tile", g->rank + 1, list);
  g->dims[a] *= 2;
}

static inline void
grow_extreme(growing *g)
{
  switch (draw_below(g->state, 4)) {
  case 0:
    grow_larger(g);
    break;
  case 1:
    grow_extremum(g);
    break;
  case 2:
    grow_sorted(g);
    break;
  default:
    grow_repeated(g);
  }
}

static inline void
grow_clip(growing *g)
{
  char low[16] = "", high[16] = "", both[40];
  double at = (double)draw_between(g->state, -2, 1);

  if (draw_below(g->state, 4) > 0) {
    strcpy(low, new_name(g, "c"));
    model_floats(&g->m, low, SHAPE())[0] = at;
  }
  if (draw_below(g->state, 4) > 0) {
    strcpy(high, new_name(g, "c"));
    model_floats(&g->m, high, SHAPE())[0] = at + (double)draw_between(g->state, 1, 3) / 2;
  }
  snprintf(both, sizeof both, "%s,%s", low, high);
  grow_node(g, "Clip", both, false);
}

static inline void
grow_pointwise(growing *g)
{
  static const char *const ops[] = {"Relu", "LeakyRelu", "Abs", "HardSigmoid", "HardSwish",
                                    "PRelu", "Clip"};
  static const double slopes[] = {0.25, -1, 1, 0, 2};
  const char *op = ops[draw_below(g->state, 7)];
  clarke_model_node *node;

  if (op[0] == 'P') {
    size_t skip = draw_below(g->state, g->rank + 1), dims[CLARKE_MAX_RANK];

    for (size_t a = skip; a < g->rank; a++)
      dims[a - skip] = draw_below(g->state, 3) == 0 ? 1 : g->dims[a];
    grow_node(g, op, a_weight(g, g->rank - skip, dims, false), false);
    return;
  }
  if (op[0] == 'C') {
    grow_clip(g);
    return;
  }
  node = grow_node(g, op, NULL, false);
  if (op[0] == 'L' && draw_below(g->state, 4) > 0)
    attr_float(node, "alpha", slopes[draw_below(g->state, 5)]);
  if (strcmp(op, "HardSigmoid") == 0 && draw_below(g->state, 2))
    attr_float(node, "alpha", draw_below(g->state, 2) ? (double)(1.0f / 6.0f) : 0.25);
}

static inline void
grow_shape(growing *g)
{
  int64_t list[CLARKE_MAX_RANK + 2];
  size_t count = grown_count(g);

  switch (draw_below(g->state, 5)) {
  case 0: /* Transpose: some permutation that keeps the batch first */
    list[0] = 0;
    for (size_t a = 0; a < g->rank; a++) {
      size_t at = 1 + draw_below(g->state, a + 1);

      memmove(list + at + 1, list + at, (a + 1 - at) * sizeof *list);
      list[at] = (int64_t)a + 1;
    }
    {
      size_t before[CLARKE_MAX_RANK];
      long perm[CLARKE_MAX_RANK + 2];

      memcpy(before, g->dims, sizeof before);
      for (size_t a = 0; a <= g->rank; a++)
        perm[a] = (long)list[a];
      perm[g->rank + 1] = SHAPE_END;
      for (size_t a = 0; a < g->rank; a++)
        g->dims[a] = before[list[a + 1] - 1];
      attr_ints(grow_node(g, "Transpose", NULL, false), "perm", perm);
    }
    break;
  case 1: /* Reshape: to a row, or the last axis split off */
    list[0] = draw_below(g->state, 2) ? 0 : -1;
    if (count % 2 == 0) {
      list[1] = 2;
      list[2] = list[0] == 0 ? -1 : (int64_t)count / 2;
      g->rank = 2;
      g->dims[0] = 2;
      g->dims[1] = count / 2;
    } else {
      list[1] = (int64_t)count;
      g->rank = 1;
      g->dims[0] = count;
    }
    grow_integers(g, "Reshape", g->rank + 1, list);
    break;
  case 2:
    grow_node(g, "Flatten", NULL, false);
    g->rank = 1;
    g->dims[0] = count;
    break;
  case 3: /* Unsqueeze */
    if (g->rank >= 3)
      break;
    list[0] = 1 + (int64_t)draw_below(g->state, g->rank + 1);
    memmove(g->dims + list[0], g->dims + list[0] - 1, (g->rank + 1 - (size_t)list[0]) * sizeof *g->dims);
    g->dims[list[0] - 1] = 1;
    g->rank++;
    grow_integers(g, "Unsqueeze", 1, list);
    break;
  default: /* Squeeze */
    for (size_t a = 0; a < g->rank; a++)
      if (g->dims[a] == 1) {
        list[0] = (int64_t)a + 1;
        memmove(g->dims + a, g->dims + a + 1, (g->rank - a - 1) * sizeof *g->dims);
        g->rank--;
        grow_integers(g, "Squeeze", 1, list);
        return;
      }
  }
}

/* Of two axes, the first is time: RNN with relu, whose directions are beside each other then. */
static inline void
grow_recurrent(growing *g)
{
  const size_t ways = 1 + draw_below(g->state, 2), units = 1 + draw_below(g->state, 2), inputs = g->dims[1];
  const bool biased = draw_below(g->state, 2), back = ways == 1 && draw_below(g->state, 2);
  char w[16], r[16], in[64];
  clarke_model_node *node;

  strcpy(w, a_weight(g, 3, (size_t[]){ways, units, inputs}, false));
  strcpy(r, a_weight(g, 3, (size_t[]){ways, units, units}, false));
  snprintf(in, sizeof in, "%s,%s%s%s", w, r, biased ? "," : "", biased ? a_weight(g, 2, (size_t[]){ways, 2 * units}, false) : "");
  attr_ints(grow_node(g, "Transpose", NULL, false), "perm", SHAPE(1, 0, 2,));
  node = grow_node(g, "RNN", in, false);
  attr_string(node, "direction", ways == 2 ? "bidirectional" : back ? "reverse" : "forward");
  node_attr(node, "activations", CLARKE_ATTR_STRINGS)->s = strdup(ways == 2 ? "Relu Relu" : "Relu");
  attr_ints(grow_node(g, "Transpose", NULL, false), "perm", SHAPE(2, 0, 1, 3,)); /* batch, time, direction, unit */
  grow_integers(g, "Reshape", 3, (int64_t[]){0, (int64_t)g->dims[0], -1});
  g->dims[1] = ways * units;
}

static inline void
grow_once(growing *g)
{
  static const char *const arithmetic[] = {"Add", "Sub", "Mul", "Div", "Add"};

  if (g->quotients && draw_below(g->state, 4) == 0) {
    grow_quotient(g);
    return;
  }
  if (g->extremes && g->rank > 0 && draw_below(g->state, 4) == 0) {
    grow_extreme(g);
    return;
  }
  if (g->products && draw_below(g->state, 3) == 0) {
    grow_product_of_two(g);
    return;
  }
  if (g->rank == 2 && draw_below(g->state, 6) == 0) {
    grow_recurrent(g);
    return;
  }
  switch (draw_below(g->state, 8)) {
  case 0:
  case 1:
    grow_product(g);
    break;
  case 2:
    grow_gemm(g);
    break;
  case 3:
    grow_arithmetic(g, arithmetic[draw_below(g->state, 5)]);
    break;
  case 4:
    grow_shape(g);
    break;
  case 5:
    grow_sum_of_two(g);
    break;
  default:
    grow_pointwise(g);
  }
}

/* A model of about that many nodes, and a batch. */
static inline clarke_tensor
grow_any(growing *g, uint64_t *state, double (*number)(uint64_t *state), size_t nodes, bool products, bool quotients,
         bool extremes)
{
  long shape[CLARKE_MAX_RANK + 2] = {0}, batch[CLARKE_MAX_RANK + 2] = {0};
  clarke_tensor x;

  memset(g, 0, sizeof *g);
  g->state = state;
  g->number = number;
  g->products = products || quotients;
  g->quotients = quotients;
  g->extremes = extremes;
  model_begin(&g->m, 16);
  g->rank = 1 + draw_below(state, 3);
  shape[0] = -1;
  batch[0] = draw_between(state, 1, 3);
  for (size_t a = 0; a < g->rank; a++) {
    g->dims[a] = 1 + draw_below(state, 3);
    shape[a + 1] = batch[a + 1] = (long)g->dims[a];
  }
  shape[g->rank + 1] = batch[g->rank + 1] = SHAPE_END;
  model_input(&g->m, "x", shape);
  strcpy(g->at, "x");
  for (size_t i = 0; i < nodes; i++)
    if (g->m.n_nodes + 8 < MODEL_MOST)
      grow_once(g);
  if (strcmp(g->at, "x") == 0)
    grow_node(g, "Relu", NULL, false);
  model_output(&g->m, g->at);
  x = tensor_of("x", CLARKE_F64, batch);
  for (size_t e = 0; e < x.count; e++)
    x.real[e] = number(state);
  return x;
}

/* The same with windows and without quotients. */
static inline clarke_tensor
grow_network(growing *g, uint64_t *state, double (*number)(uint64_t *state), size_t nodes, bool products)
{
  return grow_any(g, state, number, nodes, products, false, true);
}

/* The same without windows and products of activations: piecewise linear but for HardSwish. */
static inline clarke_tensor
grow_model(growing *g, uint64_t *state, double (*number)(uint64_t *state), size_t nodes)
{
  return grow_any(g, state, number, nodes, false, false, false);
}

#endif
