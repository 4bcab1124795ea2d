#include "network/derive/tail.h"

#include <stdlib.h>
#include <string.h>

/* What the last `n` nodes are: the value before them, and the input that they take besides (or CLARKE_NONE). */
typedef struct {
  clarke_loss_kind kind;
  size_t n, target;
  const char *of;
  const clarke_attr *ignored; /* the label that is; NULL: none */
} tail;

/* Node i from the end; NULL when it is another operator, has another number of inputs, or several outputs. */
static const clarke_model_node *
last_node(const clarke_model *m, size_t i, const char *op, size_t n_in)
{
  const clarke_model_node *node;

  if (i >= m->n_nodes)
    return NULL;
  node = &m->nodes[m->n_nodes - 1 - i];
  return strcmp(node->op_type, op) == 0 && node->domain[0] == '\0' && node->n_in == n_in && node->n_out == 1 ? node
                                                                                                           : NULL;
}

/* Is `name` = value all its attributes? */
static bool
has_only(const clarke_model_node *node, const char *name, int64_t value)
{
  const clarke_attr *a = clarke_model_attr(node, name);

  return node->n_attr == 1 && a != NULL && a->type == CLARKE_ATTR_INT && a->i == value;
}

/* Is the mean its reduction, the default? Beside it a label may be ignored. */
static bool
is_mean(const clarke_model_node *node)
{
  const clarke_attr *a = clarke_model_attr(node, "reduction"), *ignored = clarke_model_attr(node, "ignore_index");

  return node->n_attr == (size_t)(a != NULL) + (size_t)(ignored != NULL) && (ignored == NULL || ignored->type == CLARKE_ATTR_INT)
         && (a == NULL || (a->type == CLARKE_ATTR_STRING && strcmp(a->s, "mean") == 0));
}

/* How many inputs of nodes are of that name. */
static size_t
readers(const clarke_model *m, const char *name)
{
  size_t n = 0;

  for (size_t i = 0; i < m->n_nodes; i++)
    for (size_t k = 0; k < m->nodes[i].n_in; k++)
      n += strcmp(m->nodes[i].in[k], name) == 0;
  return n;
}

static size_t
input_named(const clarke_model *m, const char *name)
{
  for (size_t i = 0; i < m->n_inputs; i++)
    if (strcmp(m->inputs[i].name, name) == 0)
      return i;
  return CLARKE_NONE;
}

/* All inputs of `to`, `times` of them, are what `from` makes, which nothing else reads. */
static bool
follows(const clarke_model *m, const clarke_model_node *to, const clarke_model_node *from, size_t times)
{
  return strcmp(to->in[0], from->out[0]) == 0 && strcmp(to->in[times - 1], from->out[0]) == 0
         && readers(m, from->out[0]) == times;
}

/* LogSoftmax over the classes, and the mean of its entries at the labels. */
static bool
is_cross_entropy(tail *t, const clarke_model *m)
{
  const clarke_model_node *nll = last_node(m, 0, "NegativeLogLikelihoodLoss", 2), *soft = last_node(m, 1, "LogSoftmax", 1);

  if (nll == NULL || soft == NULL || !is_mean(nll) || !has_only(soft, "axis", 1) || !follows(m, nll, soft, 1))
    return false;
  *t = (tail){CLARKE_LOSS_CE, 2, input_named(m, nll->in[1]), soft->in[0], clarke_model_attr(nll, "ignore_index")};
  return t->target != CLARKE_NONE && readers(m, nll->in[1]) == 1;
}

/* The mean of the squares of a difference. */
static bool
is_squared_error(tail *t, const clarke_model *m)
{
  const clarke_model_node *mean = last_node(m, 0, "ReduceMean", 1), *square = last_node(m, 1, "Mul", 2);
  const clarke_model_node *less = last_node(m, 2, "Sub", 2);

  if (mean == NULL || square == NULL || less == NULL || !has_only(mean, "keepdims", 0) || square->n_attr > 0
      || less->n_attr > 0 || !follows(m, mean, square, 1) || !follows(m, square, less, 2))
    return false;
  *t = (tail){CLARKE_LOSS_MSE, 3, input_named(m, less->in[1]), less->in[0], NULL};
  return t->target != CLARKE_NONE && readers(m, less->in[1]) == 1;
}

static bool
is_sum(tail *t, const clarke_model *m)
{
  const clarke_model_node *sum = last_node(m, 0, "ReduceSum", 1);

  if (sum == NULL || !has_only(sum, "keepdims", 0))
    return false;
  *t = (tail){CLARKE_LOSS_SUM, 1, CLARKE_NONE, sum->in[0], NULL};
  return true;
}

/* May y have the shape that the model declares for it? */
static bool
fits(const clarke_model_port *port, const clarke_tensor *y)
{
  bool fits = !port->shaped || port->rank == y->rank;

  for (size_t a = 0; a < y->rank && fits && port->shaped; a++)
    fits = port->dims[a] <= 0 || (size_t)port->dims[a] == y->dims[a];
  return fits;
}

/* The target's place among the inputs closes, and the output becomes `of`, whose shape is not declared. */
static clarke_status
cut(clarke_model *m, const tail *t, clarke_error *err)
{
  clarke_model_port *out = &m->outputs[0];
  char *of = strdup(t->of);

  if (of == NULL)
    return clarke_no_memory(err);
  clarke_model_drop_nodes(m, t->n);
  if (t->target != CLARKE_NONE)
    clarke_model_drop_input(m, t->target);
  free(out->name);
  out->name = of;
  out->shaped = false;
  out->rank = 0;
  return CLARKE_OK;
}

clarke_status
clarke_tail_take(clarke_loss *loss, bool *found, clarke_model *m, const clarke_tensor *y, clarke_error *err)
{
  tail t;

  *found = false;
  if (m->opset < 13 || m->n_outputs != 1 || m->n_nodes == 0 || m->nodes[m->n_nodes - 1].n_out == 0
      || strcmp(m->nodes[m->n_nodes - 1].out[0], m->outputs[0].name) != 0
      || (!is_cross_entropy(&t, m) && !is_squared_error(&t, m) && !is_sum(&t, m)))
    return CLARKE_OK;
  if (m->outputs[0].shaped && m->outputs[0].rank != 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: output '%s' is a loss, and is declared to be no scalar", m->file,
                       m->outputs[0].name);
  if (t.target != CLARKE_NONE && y != NULL && !fits(&m->inputs[t.target], y))
    return clarke_fail(err, CLARKE_EINPUT, "%s: input '%s', the loss's target, is declared with another shape than the "
                       "batch's 'y' has", m->file, m->inputs[t.target].name);
  *found = true;
  loss->kind = t.kind;
  loss->ignores = t.ignored != NULL;
  loss->ignored = t.ignored != NULL ? t.ignored->i : 0;
  return cut(m, &t, err);
}

clarke_status
clarke_tail_check(const clarke_graph *g, clarke_loss_kind kind, clarke_error *err)
{
  if (g->batched ? g->together == g->samples : g->samples == 1 && kind == CLARKE_LOSS_SUM)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "%s: the model ends in its loss, which is of all samples of one run; here each "
                     "sample is a run of its own", g->file);
}
