/* The network of a model's nodes: its inputs, each node by its operator, its output. */
#include "check/onnx/build.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/onnx/lower.h"
#include "check/onnx/tail.h"

#include <string.h>

/* The batch axis rule of docs/operators.md. */
static void
read_input(builder *b, const port *p, const tensor *x)
{
  size_t dims[MAX_RANK], from = x->rank == p->rank + 1;
  bool flat = x->rank == 2 && p->rank > 2, fits = from == 1 || x->rank == p->rank || flat;
  expect(p->shaped && x->rank > 0 && x->count > 0, "the input's shape is not declared, or the batch is empty");
  b->net->input = p;
  b->net->batch = b->net->apart = x->dims[0];
  b->net->batched = from == 0;
  b->net->together = from == 0 && p->rank > 0 && p->dims[0] != 1 ? x->dims[0] : 1;
  for (size_t i = 0; i < p->rank && fits; i++) {
    bool first = i == 0 && from == 0;
    dims[i] = first ? 1 : flat ? p->dims[i] : x->dims[i + from];
    fits = p->dims[i] == 0 || p->dims[i] == dims[i] || (first && p->dims[i] == x->dims[0]);
  }
  expect(fits && product(dims, p->rank) * x->dims[0] == x->count,
         "the batch does not have the shape that input '%s' declares", p->name);
  add_step(b, INPUT, 0, p->rank, dims);
  define(b, p->name);
}

/* May the axis of the batch, of so many entries a sample, be declared with n? Where the input has any number of samples it may
 * have been another; the output's is 1, or the batch's. */
static bool
batch_fits(const network *net, size_t n, size_t each, bool output)
{
  if (net->input->dims[0] != 0)
    return n == each * net->together;
  return output ? n == each || n == each * net->batch : n % each == 0;
}

/* Is it an output of a recurrent node that no node reads? PyTorch's exporter declares these wrongly. */
static bool
is_left_out(const model *m, const char *name)
{
  bool recurrent = false;
  for (size_t i = 0; i < m->n_nodes; i++) {
    const node *n = &m->nodes[i];
    bool steps = strcmp(n->op, "LSTM") == 0 || strcmp(n->op, "GRU") == 0 || strcmp(n->op, "RNN") == 0;
    for (size_t k = 0; steps && k < n->n_out; k++)
      recurrent = recurrent || strcmp(n->out[k], name) == 0;
  }
  return recurrent && !is_read(m, name);
}

/* Does the value have the shape that is declared, if one is? The output may have another: runtimes compute it all the same. */
static void
check_shape(const builder *b, const port *p, const value *v, bool output)
{
  bool fits = !p->shaped || p->rank == v->rank;
  for (size_t i = 0; p->shaped && i < p->rank && fits; i++)
    fits = p->dims[i] == 0
           || (on_batch(b, v, i) ? batch_fits(b->net, p->dims[i], v->dims[i], output) : p->dims[i] == v->dims[i]);
  b->net->read[COMPUTED] = b->net->read[COMPUTED] || (output && !fits);
  expect(fits || output || is_left_out(b->m, p->name), "value '%s' does not have the shape that is declared", p->name);
}

/* The same of all values, and of initializers that are inputs. */
static void
check_shapes(const builder *b)
{
  const model *m = b->m;
  for (size_t i = 0; i < m->n_inputs + m->n_declared; i++) {
    const port *p = i < m->n_inputs ? &m->inputs[i] : &m->declared[i - m->n_inputs];
    const value *v = i >= m->n_inputs || is_initializer(m, p->name) ? find(b, p->name) : NULL;
    if (v != NULL)
      check_shape(b, p, v, false);
  }
}

const char *const readings[N_READINGS] = {
    [SIXTH] = "HardSigmoid's alpha, stored as the float32 nearest to 1/6, is 1/6",
    [DEFAULTS] = "an attribute that is not in the file is the float32 nearest to ONNX's default",
    [UNBOUNDED] = "a Clip without a bound has none, not its type's largest number",
    [MINIBATCH] = "BatchNormalization in training mode takes mean and variance of all samples of a run, not the file's",
    [APART] = "an initializer that is a weight and a mean or variance is two: the mean or variance does not move",
    [ROUNDED] = "a float that nodes compute of constants alone is rounded to its type at each node, as IEEE 754 has it",
    [STORED] = ("a weight stored as integers is each less its zero point, as a float32, times its scale, rounded to "
                "that one's type"),
    [DECIDED] = "a comparison of initializers is decided by their numbers, which differ: near them it is the same",
    [COMPUTED] = "the output has the shape that nodes compute, which is another one than the file declares"};

/* An input beside the network's, of each sample its own: an activation that no parameter moves. */
static void
read_beside(builder *b, const port *p, const tensor *t)
{
  const port *first = b->net->input;
  size_t dims[MAX_RANK] = {1};
  expect(t->real && p->type == first->type && t->rank > 0 && t->count > 0 && p->dims[0] == first->dims[0]
             && t->dims[0] == b->net->batch,
         "input '%s' is not of the first one's type, or has not its first axis, or the batch's array not the samples",
         p->name);
  expect(strcmp(p->name, "y") != 0, "input 'y' is beside the first, but the batch's y is the loss's target");
  for (size_t i = 1; i < t->rank; i++) {
    dims[i] = t->dims[i];
    expect(p->dims[i] == 0 || p->dims[i] == dims[i], "input '%s' has another shape than the batch's array", p->name);
  }
  step *s = add_step(b, INPUT, 0, t->rank, dims);
  s->given = t;
  s->name = p->name;
  s->op = "";
  s->place = NONE; /* no node's */
  define(b, p->name);
  b->net->n_given++;
}

/* An input beside the network's, which the batch has by its name: of a single run a constant. */
static void
read_constant(builder *b, const port *p, const arrays *given)
{
  tensor *t = array_named(given, p->name);
  expect(t != NULL && p->shaped && p->rank == t->rank, "the batch has no array for input '%s'", p->name);
  expect(t != given->x, "input '%s' is beside the first, but the batch's x is that one's", p->name);
  if (b->net->batched) {
    read_beside(b, p, t);
    return;
  }
  expect(b->net->batch == 1, "the model has more than one input, no batch axis, and several samples");
  for (size_t i = 0; i < t->rank; i++)
    expect(p->dims[i] == 0 || p->dims[i] == t->dims[i], "input '%s' has another shape than the batch's array", p->name);
  put(b, t, 0, NULL, t->rank, t->dims);
  define(b, p->name);
  b->net->n_given++;
}

/* The inputs that are no initializers and not the loss's: the first is the network's. */
static void
read_inputs(builder *b, const arrays *given)
{
  const model *m = b->m;
  const port *input = NULL;
  for (size_t i = 0; i < m->n_inputs; i++) {
    const port *p = &m->inputs[i];
    if (p == b->net->own.y || is_initializer(m, p->name))
      continue;
    if (input != NULL)
      read_constant(b, p, given);
    else
      read_input(b, input = p, given->x);
  }
  expect(input != NULL, "the model has no input");
  for (size_t i = 0; i < given->n; i++) {
    const char *name = given->array[i].name;
    bool known = strcmp(name, "x") == 0 || strcmp(name, "y") == 0;
    size_t k = name_find(&m->ports, name);
    known = known || (k != NONE && &m->inputs[k] != input && !is_initializer(m, name));
    for (size_t j = 0; j < m->n_nodes && !known; j++)
      known = m->nodes[j].n_out > 0 && strcmp(m->nodes[j].op, "Dropout") == 0 && !m->nodes[j].own
              && strcmp(name, m->nodes[j].out[0]) == 0;
    expect(known, "the batch holds '%s', which no further input is named by, nor a Dropout's output", name);
  }
}

void
network_build(network *net, const model *m, const arrays *given, const struct operator_set *of)
{
  builder b = {.net = net, .m = m, .x = given->x, .given = given, .opset = m->opset, .operators = of};
  within(LIMIT_NODES, m->n_nodes, "a network of %zu nodes", m->n_nodes);
  *net = (network){.tensors = m->tensors, .n_tensors = m->n_tensors};
  net->operators = operators_with_kinks(of, &net->n_operators);
  net->smooth = of->smooth;
  net->near = of->near;
  net->rough = of->rough;
  for (size_t i = 0; i < m->n_tensors; i++) {
    put(&b, m->tensors[i], 0, NULL, m->tensors[i]->rank, m->tensors[i]->dims);
    define(&b, m->tensors[i]->name);
  }
  expect(m->n_outputs == 1, "the model has %zu outputs, of which a proof chooses one by the line `output`",
         m->n_outputs);
  net->own = tail_of(m);
  read_inputs(&b, given);
  expect(net->own.kind == LOSS_NONE
             || (net->batched ? net->together == net->batch : net->batch == 1 && net->own.kind == LOSS_SUM),
         "the model's own loss is of all samples of one run");
  for (size_t i = 0; i < net->own.from; i++) {
    b.node = &m->nodes[i];
    b.place = b.node->place;
    lower_node(&b);
  }
  const value *v = find(&b, net->own.of);
  expect(v != NULL && v->constant == NULL && !v->shared, "output '%s' is not computed from the input", net->own.of);
  expect(v->holds == HOLDS_FLOATS, "output '%s' holds truth values or integers", net->own.of);
  expect(v->excluded == NULL, "output '%s' has entries that are minus infinity or NaN", net->own.of);
  expect(!net->batched || (v->inner == 0 ? v->at == 0 : net->together == 1),
         "output '%s' has not the batch on its first axis", net->own.of);
  if (net->own.kind == LOSS_NONE)
    check_shape(&b, &m->outputs[0], v, true);
  else
    expect(!m->outputs[0].shaped || m->outputs[0].rank == 0, "output '%s' is a loss, and no scalar",
           m->outputs[0].name);
  check_shapes(&b);
  net->output = v->step;
  net->map = v->map;
  net->n_outputs = v->count;
  size_t apart = net->batched && v->inner > 0; /* a run is one sample, whose entries all of these are */
  net->rank = v->rank + apart;
  expect(net->rank <= MAX_RANK, "output '%s' has more axes than supported", net->own.of);
  net->dims[0] = 1;
  memcpy(net->dims + apart, v->dims, v->rank * sizeof *v->dims);
  if (given->whole && !net->batched && net->rank > 0 && net->dims[0] == 1)
    memmove(net->dims, net->dims + 1, --net->rank * sizeof *net->dims);
  for (size_t i = 0; i < N_SURROGATES; i++)
    net->replaced = net->replaced || m->surrogates[i] != PASSES_NOTHING;
  for (size_t i = 0; i < m->n_nodes; i++)
    net->read[STORED] = net->read[STORED] || (m->nodes[i].promoted && strcmp(m->nodes[i].op, "Constant") != 0);
  for (size_t i = 0; i < m->n_tensors; i++) {
    const tensor *t = m->tensors[i];
    expect(
        !t->number || (!t->weight && !t->statistic),
        "'%s' is used in two ways: as a number (a bound of Clip, the value of Pad) and as a weight, mean or variance",
        t->name);
    net->read[APART] = net->read[APART] || (t->weight && t->statistic);
  }
}
