/* clarke-check --show: what was read of a model and a batch, in one text that a test compares with what the reference
 * libraries read. */
#include "show.h"
#include "network.h"

#include <stdlib.h>
#include <string.h>

/* As in proofs: bytes that are no letters, digits or . _ / : - are written %XX. */
static void
show_name(const char *name)
{
  static const char safe[] = "._/:-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  putchar(' ');
  if (*name == '\0')
    putchar('*');
  for (const char *c = name; *c != '\0'; c++)
    if (strchr(safe, *c) != NULL)
      putchar(*c);
    else
      printf("%%%02X", (unsigned)(unsigned char)*c);
}

static void
show_names(const char *what, char **names, size_t n)
{
  printf(" %s", what);
  for (size_t i = 0; i < n; i++)
    show_name(names[i]);
  putchar('\n');
}

/* The type and the shape: F32 [2,3] */
static void
show_shape(size_t type, size_t rank, const size_t *dims, bool symbolic)
{
  printf(" %s [", dtypes[type].name[1]);
  for (size_t i = 0; i < rank; i++)
    if (symbolic && dims[i] == 0)
      printf("%s?", i > 0 ? "," : "");
    else
      printf("%s%zu", i > 0 ? "," : "", dims[i]);
  putchar(']');
}

static void
show_values(const tensor *t)
{
  for (size_t i = 0; i < t->count; i++) {
    putchar(' ');
    if (t->odd != NULL && t->odd[i] != 0)
      printf("%s", t->odd[i] == '-' ? "-inf" : "?");
    else
      mpq_out_str(stdout, 10, &t->value[i]);
  }
  putchar('\n');
}

static void
show_tensor(const char *what, const tensor *t)
{
  printf("%s", what);
  show_name(t->name);
  show_shape(t->type, t->rank, t->dims, false);
  show_values(t);
}

static void
show_port(const char *what, const port *p)
{
  printf("%s", what);
  show_name(p->name);
  if (p->shaped)
    show_shape(p->type, p->rank, p->dims, true);
  else
    printf(" %s", dtypes[p->type].name[1]);
  putchar('\n');
}

static void
show_attribute(const tensor *t)
{
  printf(" attribute");
  show_name(t->name);
  if (t->text != NULL) {
    printf(" string%s", t->rank > 0 ? "s" : "");
    show_name(t->text);
    putchar('\n');
    return;
  }
  if (t->of_tensor) {
    printf(" tensor");
    show_shape(t->type, t->rank, t->dims, false);
  } else {
    printf(" %s%s", t->real ? "float" : "int", t->rank > 0 ? "s" : "");
  }
  show_values(t);
}

static void
show_model(const model *m)
{
  printf("opset %ju\n", (uintmax_t)m->opset);
  for (size_t i = 0; i < m->n_inputs; i++)
    if (!is_initializer(m, m->inputs[i].name))
      show_port("input", &m->inputs[i]);
  for (size_t i = 0; i < m->n_outputs; i++)
    show_port("output", &m->outputs[i]);
  for (size_t i = 0; i < m->n_tensors; i++)
    show_tensor("initializer", m->tensors[i]);
  for (size_t i = 0; i < m->n_nodes; i++) {
    const node *n = &m->nodes[i];
    printf("node");
    show_name(n->op);
    show_name(n->name);
    putchar('\n');
    show_names("in", n->in, n->n_in);
    show_names("out", n->out, n->n_out);
    for (size_t j = 0; j < n->n_attributes; j++)
      show_attribute(&n->attributes[j]);
  }
}

void
clarke_show(const char *model_path, const char *batch_path)
{
  static model m;
  static network net;
  arrays given = {0};
  onnx_read(&m, read_file(model_path));
  if (batch_path != NULL) {
    given = batch_read(read_file(batch_path));
    network_build(&net, &m, &given);
  }
  const tensor *x = given.x, *target = given.y;
  printf("model\n");
  show_model(&m);
  if (x == NULL)
    return;
  printf("batch\n");
  show_tensor("tensor", x);
  if (target != NULL)
    show_tensor("tensor", target);
  printf("samples %zu", net.batch);
  show_shape(x->type, net.rank - net.batched, net.dims + net.batched, false);
  putchar('\n');
}
