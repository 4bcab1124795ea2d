/* Nodes that are made of others, where their operators take more than one step does. */
#include "check/onnx/composed.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"

#include <string.h>

/* Gemm of a matrix turned round, or with a bias of several rows, as others: is it one? */
static bool
is_general(const builder *b)
{
  size_t dims[MAX_RANK];
  if (strcmp(b->op, "Gemm") != 0 || !has_input(b, 0) || !has_input(b, 1))
    return false;
  if (whole_attribute(b, "transA", 0) != 0)
    return b->in[0].rank == 2;
  return run_axes(b, 2, dims) == 2 && dims[0] > 1;
}

static void
multiply_generally(builder *b)
{
  size_t n = 0, y_dims[MAX_RANK], c_dims[MAX_RANK];
  tensor *passed = allocate(2, sizeof *passed);
  value y = b->in[0], c = b->in[2];
  rational *beta = rationals(1);
  real_attribute(b, "beta", beta, 1);
  for (size_t i = 0; i < b->node->n_attributes; i++)
    if (strcmp(b->node->attributes[i].name, "alpha") == 0 || strcmp(b->node->attributes[i].name, "transB") == 0)
      passed[n++] = b->node->attributes[i];
  if (whole_attribute(b, "transA", 0) != 0)
    y = inner_node(b, "Transpose", 1, &y, inner_list("perm", 2, (long[]){1, 0}));
  y = inner_node_of(b, "Gemm", 2, (value[]){y, b->in[1]}, n, passed);
  if (has_input(b, 2)) {
    size_t rank = run_axes(b, 2, c_dims);
    whole_run(b, &y, y_dims);
    for (size_t i = 0; i < rank; i++)
      need(rank <= 2 && (c_dims[i] == 1 || c_dims[i] == y_dims[i + 2 - rank]), "a bias that does not fit the product");
    if (!mpq_equal(beta, &plus_one)) {
      value by = made_numbers(b, 0, (size_t[]){0});
      mpq_set(by.constant->value, beta);
      c = c.constant != NULL ? inner_of(b, "Sum", &c, NULL) : c;
      c = inner_of(b, "Mul", &c, &by);
    }
    y = inner_of(b, "Add", &y, &c);
  }
  b->out = y;
}

/* ONNX's Clip by an activation: the larger of x and the one bound, the smaller of that and the other. */
static void
clip_by_activations(builder *b)
{
  size_t x[MAX_RANK], w[MAX_RANK];
  value y = b->in[0].constant != NULL ? inner_of(b, "Sum", &b->in[0], NULL) : b->in[0];
  for (size_t i = 1; i < 3; i++) {
    if (!has_input(b, i))
      continue;
    size_t rank = run_axes(b, i, w);
    need(product(w, rank) == 1 && rank <= run_axes(b, 0, x), "a bound is no scalar");
    value bound = b->in[i];
    if (bound.constant != NULL) { /* a number, which no parameter is */
      need(bound.constant->real && bound.count == 1, "a bound is no number");
      bound.constant->number = true;
      bound = made_numbers(b, 0, (size_t[]){0});
      mpq_set(bound.constant->value, &b->in[i].constant->value[b->in[i].map[0]]);
    }
    y = inner_of(b, i == 1 ? "Max" : "Min", &y, &bound);
  }
  b->out = y;
  b->in[0].at = y.at; /* where the node keeps it */
  b->in[0].inner = y.inner;
}

/* Is a bound of ONNX's Clip an activation? */
static bool
is_moved(const builder *b)
{
  bool moves = false;
  for (size_t i = 1; i < 3 && b->opset >= 11 && !b->node->own; i++)
    moves = moves || (has_input(b, i) && b->in[i].constant == NULL);
  return moves && strcmp(b->op, "Clip") == 0;
}

bool
lower_composed(builder *b)
{
  bool general = is_general(b), moved = is_moved(b);
  if (general)
    multiply_generally(b);
  if (moved)
    clip_by_activations(b);
  return general || moved;
}
