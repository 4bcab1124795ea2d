#include "describe.h"
#include "format/tensors.h"

#include <inttypes.h>
#include <string.h>

static void
describe_real(FILE *out, double x)
{
  uint64_t bits;

  memcpy(&bits, &x, sizeof bits);
  fprintf(out, " %016" PRIx64, bits);
}

void
describe_tensor(FILE *out, const clarke_tensor *t)
{
  fprintf(out, "tensor %s %s [", t->name, clarke_dtype_name(t->dtype));
  for (size_t k = 0; k < t->rank; k++)
    fprintf(out, "%s%zu", k ? ", " : "", t->dims[k]);
  fputs("]", out);
  for (size_t i = 0; i < t->count; i++)
    if (t->real != NULL)
      describe_real(out, t->real[i]);
    else
      fprintf(out, " %" PRId64, t->integer[i]);
  fputs("\n", out);
}

void
describe_tensors(FILE *out, const clarke_tensors *ts)
{
  for (size_t i = 0; i < ts->n; i++)
    describe_tensor(out, &ts->tensor[i]);
}

static void
describe_port(FILE *out, const char *kind, const clarke_model_port *port)
{
  fprintf(out, "%s %s %s", kind, port->name, clarke_dtype_name(port->dtype));
  for (size_t k = 0; k < port->rank; k++) {
    fputs(k ? ", " : " [", out);
    if (port->dims[k] == -1)
      fputs("?", out);
    else
      fprintf(out, "%" PRId64, port->dims[k]);
  }
  fputs(!port->shaped ? "\n" : port->rank == 0 ? " []\n" : "]\n", out);
}

static void
describe_attr(FILE *out, const clarke_attr *a)
{
  static const char *const types[] = { "int", "float", "string", "tensor", "ints", "floats",
                                       "strings", "graph", "other" };

  fprintf(out, " %s", a->name);
  if (a->type == CLARKE_ATTR_TENSOR) {
    fputs(" ", out);
    describe_tensor(out, &a->t);
    return;
  }
  fprintf(out, " %s", types[a->type]);
  if (a->type == CLARKE_ATTR_INT)
    fprintf(out, " %" PRId64, a->i);
  else if (a->type == CLARKE_ATTR_FLOAT)
    describe_real(out, a->f);
  else if (a->type == CLARKE_ATTR_STRING || a->type == CLARKE_ATTR_STRINGS)
    fprintf(out, " %s", a->s);
  for (size_t k = 0; k < a->n; k++)
    if (a->type == CLARKE_ATTR_INTS)
      fprintf(out, " %" PRId64, a->ints[k]);
    else
      describe_real(out, a->floats[k]);
  fputs("\n", out);
}

static void
describe_names(FILE *out, const char *label, char *const *names, size_t n)
{
  fprintf(out, " %s=", label);
  for (size_t k = 0; k < n; k++)
    fprintf(out, "%s%s", k ? "," : "", names[k]);
}

void
describe_model(FILE *out, const clarke_model *m)
{
  fprintf(out, "opset %" PRId64 "\n", m->opset);
  for (size_t i = 0; i < m->n_tensors; i++)
    describe_tensor(out, &m->tensors[i]);
  for (size_t i = 0; i < m->n_inputs; i++)
    describe_port(out, "input", &m->inputs[i]);
  for (size_t i = 0; i < m->n_outputs; i++)
    describe_port(out, "output", &m->outputs[i]);
  for (size_t i = 0; i < m->n_nodes; i++) {
    const clarke_model_node *node = &m->nodes[i];

    fprintf(out, "node %s domain=%s name=%s", node->op_type, node->domain, node->name);
    describe_names(out, "in", node->in, node->n_in);
    describe_names(out, "out", node->out, node->n_out);
    fputs("\n", out);
    for (size_t k = 0; k < node->n_attr; k++)
      describe_attr(out, &node->attr[k]);
  }
}
