/* The files of a question about a network, and what is read of them, in words. */
#include "check/onnx/inputs.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/kernel/statement.h"
#include "check/onnx/choose.h"
#include "check/onnx/operators.h"
#include "check/onnx/surrogate_line.h"

#include <stdlib.h>
#include <string.h>

/* ---- In words */

/* How a batch is read that is not of the input's declared shape. */
static void
state_samples(const network *net, const tensor *x)
{
  const port *in = net->input;
  if (!net->batched)
    fputs("  no batch axis: each sample is a run of the model of its own\n", account);
  else if (net->together < net->batch)
    fputs("  one sample declared: each sample is a run of the model of its own\n", account);
  if (net->batched && x->rank < in->rank) {
    fputs("  each sample's entries, in row-major order, are read as ", account);
    state_shape(in->dims + 1, in->rank - 1);
    fputc('\n', account);
  }
}

/* What the batch has of further inputs. */
static void
state_given(const network *net, const model *m, const arrays *given)
{
  for (size_t i = 0; i < m->n_inputs && net->n_given > 0; i++) {
    const tensor *t = array_named(given, m->inputs[i].name);
    if (&m->inputs[i] == net->input || &m->inputs[i] == net->own.y || t == NULL)
      continue;
    fputs(net->batched ? "  input of each sample's own " : "  constant input ", account);
    state_name(t->name);
    fputs(": the batch's array of that name, ", account);
    state_shape(t->dims, t->rank);
    fputc('\n', account);
  }
}

/* What it has of masks. */
static void
state_masks(const network *net)
{
  for (size_t s = 0; s < net->n_steps && net->n_masks > 0; s++) {
    const tensor *t = net->steps[s].given;
    if (t == NULL || net->steps[s].node == NULL) /* an input's */
      continue;
    fputs("  mask of the Dropout that computes ", account);
    state_name(t->name);
    fputs(": the batch's array of that name, ", account);
    state_shape(t->dims, t->rank);
    fputc('\n', account);
  }
}

void
state_network(const network *net, const model *m, const arrays *given)
{
  const tensor *x = given->x;
  fprintf(account, "Operators: ONNX, version %ju\nInput: ", (uintmax_t)m->opset);
  state_name(net->input->name);
  fputs(", declared ", account);
  state_shape(net->input->dims, net->input->rank);
  fprintf(account, "; %zu sample%s of ", net->batch, net->batch == 1 ? "" : "s");
  state_shape(x->dims + 1, x->rank - 1);
  fputc('\n', account);
  state_samples(net, x);
  state_given(net, m, given);
  state_masks(net);
  for (size_t i = 0; i < net->n_tensors; i++)
    if (net->tensors[i]->of_node) {
      fputs("Constant node taken for a parameter: ", account);
      state_name(net->tensors[i]->name);
      fputc('\n', account);
    }
  fputs("Output: ", account);
  state_name(net->own.of);
  fputs(", of each sample ", account);
  state_shape(net->dims + net->batched, net->rank - net->batched);
  if (m->n_choices > 0)
    fprintf(account, "; chosen of the model's %zu, and nothing read that it does not need", m->n_choices);
  fputc('\n', account);
  state_surrogates(m);
  for (size_t i = 0; i < N_READINGS; i++)
    if (net->read[i])
      fprintf(account, "Reading rule: %s\n", readings[i]);
}

/* ---- The files */

/* Puts the file's tensors in the place of the model's of the same names and shapes. */
static void
replace_parameters(model *m, bytes file, const struct operator_set *of, bool *replaced)
{
  size_t n;
  expect(of->parameters != NULL, "this checker takes no parameters beside the model");
  tensor *t = of->parameters(file, &n, NULL);
  for (size_t i = 0; i < n; i++) {
    size_t j = name_find(&m->initializers, t[i].name), size = t[i].rank * sizeof *t[i].dims;
    if (!t[i].real)
      continue;
    require(j < m->n_tensors && m->tensors[j]->real && m->tensors[j]->rank == t[i].rank
                && memcmp(m->tensors[j]->dims, t[i].dims, size) == 0,
            "tensor '%s' is no parameter of the model, or has another shape", t[i].name);
    m->tensors[j]->value = t[i].value;
    replaced[j] = true;
  }
}

/* Nodes in the order of the file, those of the graphs that a node holds behind it. */
static node **
all_nodes(node **list, size_t *n, node *nodes, size_t n_nodes)
{
  for (size_t i = 0; i < n_nodes; i++) {
    list = grow(list, *n, sizeof *list);
    list[(*n)++] = &nodes[i];
    for (size_t k = 0; k < nodes[i].n_bodies; k++)
      list = all_nodes(list, n, nodes[i].bodies[k].nodes, nodes[i].bodies[k].n_nodes);
  }
  return list;
}

void
read_constants(model *m)
{
  size_t i = 0, n = 0;
  if (!line_is("constants"))
    return;
  node **list = all_nodes(NULL, &n, m->nodes, m->n_nodes);
  do {
    char *name = next_name();
    while (i < n && (list[i]->n_out == 0 || strcmp(list[i]->out[0], name) != 0))
      i++;
    require(i < n && onnx_promote(m, list[i++]), "no Constant node of floats, behind those before, computes '%s'",
            name);
    free(name);
  } while (more_words());
  free(list);
}

/* The line `samples whole`, if it is next: x of shape (n, ...) is read as (n, 1, ...), and so a sample as (1, ...); or
 * `samples together`: it is read as (1, n, ...), one sample. */
static void
read_samples(arrays *given)
{
  if (!line_is("samples"))
    return;
  const char *word = next_word();
  bool whole = strcmp(word, "whole") == 0;
  require(whole || strcmp(word, "together") == 0, "'samples whole' or 'samples together' is expected, not '%s'", word);
  tensor *x = array_named(given, "x");
  require(x->rank > 0 && x->rank < MAX_RANK, "x has no axis of samples, or too many axes");
  memmove(x->dims + whole + 1, x->dims + whole, (x->rank - whole) * sizeof *x->dims);
  x->dims[whole] = 1;
  x->rank++;
  given->whole = whole;
}

/* The lines `model`, `output`, `constants` and `params` (perhaps), `batch` and `samples` (perhaps). */
void
read_network(point *p, model *m, const char *folder, const struct operator_set *of)
{
  next_line("model");
  bool recorded = onnx_read_step(m, next_file(folder, "Model"));
  if (!recorded)
    of->types(m);
  if (of->fold != NULL)
    of->fold(m);
  read_output(m);
  read_constants(m);
  read_surrogates(m);
  bool *replaced = allocate(m->n_tensors, sizeof *replaced), params = line_is("params");
  if (recorded && !params) /* a step's parameters are recorded, too */
    of->types(m);
  if (params)
    replace_parameters(m, next_file(folder, "Parameters replaced by"), of, replaced);
  next_line("batch");
  arrays given = batch_read(next_file(folder, "Batch"));
  read_samples(&given);
  p->x = given.x;
  p->target = given.y;
  network_build(p->net, m, &given, of);
  for (size_t i = 0; i < m->n_tensors && params; i++) {
    const tensor *t = m->tensors[i];
    require(t->unread || replaced[i] == (t->weight || t->statistic),
            "'%s' is a parameter and not replaced, or the reverse", t->name);
    require(!t->weight || !t->statistic, "'%s' is a weight and a mean or variance, which one tensor cannot replace",
            t->name);
  }
  state_network(p->net, m, &given);
}
