/* The loss that a model's own last nodes are: sum, mse or ce in the one form that docs/operators.md has for each. */
#include "check/onnx/tail.h"

#include <string.h>

/* Node i from the end; NULL when it is another operator, has other inputs than that many, or more than one output. */
static const node *
last_node(const model *m, size_t i, const char *op, size_t n_in)
{
  if (i >= m->n_nodes)
    return NULL;
  const node *n = &m->nodes[m->n_nodes - 1 - i];
  return strcmp(n->op, op) == 0 && !n->own && n->n_in == n_in && n->n_out == 1 ? n : NULL;
}

/* Is the attribute one integer? */
static bool
is_whole(const tensor *t)
{
  return t->text == NULL && !t->of_tensor && !t->real && t->rank == 0;
}

/* Is `name` = value all its attributes? */
static bool
has_only(const node *n, const char *name, long value)
{
  const tensor *t = n->attributes;
  return n->n_attributes == 1 && strcmp(t->name, name) == 0 && is_whole(t) && mpq_cmp_si(t->value, value, 1) == 0;
}

/* Is the mean its reduction, the default? Beside it a label may be ignored, which *ignored is then. */
static bool
is_mean(const node *n, const tensor **ignored)
{
  bool well = true, told = false;
  *ignored = NULL;
  for (size_t i = 0; i < n->n_attributes && well; i++) {
    const tensor *t = &n->attributes[i];
    if (strcmp(t->name, "ignore_index") == 0) {
      well = *ignored == NULL && is_whole(t);
      *ignored = t;
    } else {
      well = !told && strcmp(t->name, "reduction") == 0 && t->text != NULL && strcmp(t->text, "mean") == 0;
      told = true;
    }
  }
  return well;
}

/* How many inputs of nodes are of that name. */
static size_t
readers(const model *m, const char *name)
{
  size_t n = 0;
  for (size_t i = 0; i < m->n_nodes; i++)
    for (size_t j = 0; j < m->nodes[i].n_in; j++)
      n += strcmp(m->nodes[i].in[j], name) == 0;
  return n;
}

static const port *
input_named(const model *m, const char *name)
{
  size_t i = name_find(&m->ports, name);
  return i != NONE ? &m->inputs[i] : NULL;
}

/* `to` reads what `from` makes, in all its inputs, and nothing else does. */
static bool
follows(const model *m, const node *to, const node *from, size_t times)
{
  return strcmp(to->in[0], from->out[0]) == 0 && readers(m, from->out[0]) == times
         && (times == 1 || strcmp(to->in[1], from->out[0]) == 0);
}

tail
tail_of(const model *m)
{
  const tail none = {LOSS_NONE, m->n_nodes, m->outputs[0].name, NULL, NULL};
  const node *nll = last_node(m, 0, "NegativeLogLikelihoodLoss", 2), *soft = last_node(m, 1, "LogSoftmax", 1);
  const node *mean = last_node(m, 0, "ReduceMean", 1), *square = last_node(m, 1, "Mul", 2);
  const node *less = last_node(m, 2, "Sub", 2), *sum = last_node(m, 0, "ReduceSum", 1);
  if (m->opset < 13 || m->n_nodes == 0 || m->nodes[m->n_nodes - 1].n_out == 0
      || strcmp(m->nodes[m->n_nodes - 1].out[0], m->outputs[0].name) != 0)
    return none;
  if (sum != NULL && has_only(sum, "keepdims", 0))
    return (tail){LOSS_SUM, m->n_nodes - 1, sum->in[0], NULL, NULL};
  const char *y = nll != NULL ? nll->in[1] : less != NULL ? less->in[1] : "";
  const port *target = input_named(m, y);
  const tensor *ignored;
  if (target == NULL || readers(m, y) != 1)
    return none;
  if (nll != NULL && soft != NULL && is_mean(nll, &ignored) && has_only(soft, "axis", 1) && follows(m, nll, soft, 1))
    return (tail){LOSS_CE, m->n_nodes - 2, soft->in[0], target, ignored};
  if (mean != NULL && square != NULL && less != NULL && has_only(mean, "keepdims", 0) && square->n_attributes == 0
      && less->n_attributes == 0 && follows(m, mean, square, 1) && follows(m, square, less, 2))
    return (tail){LOSS_MSE, m->n_nodes - 3, less->in[0], target, NULL};
  return none;
}
