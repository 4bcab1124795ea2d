/* What the library reads of a model and a batch, as `clarke-check --show` prints what it reads. */
#include <stdio.h> /* before gmp.h, for its printing */

#include "reading.h"
#include "network/build.h"
#include "network/inputs.h"
#include "network/tail.h"
#include "format/file.h"
#include "format/npy.h"
#include "format/npz.h"
#include "format/onnx.h"

#include <gmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static FILE *to; /* where all is printed */

static const char *const type_names[] = {
  [CLARKE_F16] = "F16", [CLARKE_BF16] = "BF16", [CLARKE_F32] = "F32", [CLARKE_F64] = "F64",
  [CLARKE_I8] = "I8",   [CLARKE_I16] = "I16",   [CLARKE_I32] = "I32", [CLARKE_I64] = "I64",
  [CLARKE_U8] = "U8",   [CLARKE_U16] = "U16",   [CLARKE_U32] = "U32", [CLARKE_U64] = "U64",
  [CLARKE_BOOL] = "BOOL",
};

static void
show_name(const char *name)
{
  static const char safe[] = "._/:-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

  putc(' ', to);
  if (*name == '\0')
    putc('*', to);
  for (; *name != '\0'; name++)
    fprintf(to, strchr(safe, *name) != NULL ? "%c" : "%%%02X", (unsigned char)*name);
}

static void
show_names(const char *what, char **names, size_t n)
{
  fprintf(to, " %s", what);
  for (size_t i = 0; i < n; i++)
    show_name(names[i]);
  putc('\n', to);
}

/* A number; of others whether it is minus infinity. */
static void
show_double(double x)
{
  mpq_t q;

  if (!isfinite(x)) {
    fputs(isinf(x) && x < 0 ? " -inf" : " ?", to);
    return;
  }
  mpq_init(q);
  mpq_set_d(q, x);
  putc(' ', to);
  mpq_out_str(to, 10, q);
  mpq_clear(q);
}

static void
show_shape(clarke_dtype type, size_t rank, const size_t *dims)
{
  fprintf(to, " %s [", type_names[type]);
  for (size_t a = 0; a < rank; a++)
    fprintf(to, "%s%zu", a > 0 ? "," : "", dims[a]);
  putc(']', to);
}

static void
show_entries(const clarke_tensor *t)
{
  show_shape(t->dtype, t->rank, t->dims);
  for (size_t i = 0; i < t->count; i++)
    if (t->real != NULL)
      show_double(t->real[i]);
    else
      fprintf(to, " %lld", (long long)t->integer[i]);
  putc('\n', to);
}

static void
show_tensor(const char *what, const char *name, const clarke_tensor *t)
{
  fprintf(to, "%s", what);
  show_name(name);
  show_entries(t);
}

static void
show_port(const char *what, const clarke_model_port *p)
{
  fprintf(to, "%s", what);
  show_name(p->name);
  fprintf(to, " %s", type_names[p->dtype]);
  if (p->shaped)
    fprintf(to, " [");
  for (size_t a = 0; a < p->rank; a++)
    if (p->dims[a] > 0)
      fprintf(to, "%s%lld", a > 0 ? "," : "", (long long)p->dims[a]);
    else
      fprintf(to, "%s?", a > 0 ? "," : "");
  fprintf(to, p->shaped ? "]\n" : "\n");
}

static void
show_attribute(const clarke_attr *a)
{
  static const char *const kinds[] = {
    [CLARKE_ATTR_INT] = "int",   [CLARKE_ATTR_FLOAT] = "float",   [CLARKE_ATTR_STRING] = "string",
    [CLARKE_ATTR_INTS] = "ints", [CLARKE_ATTR_FLOATS] = "floats", [CLARKE_ATTR_TENSOR] = "tensor",
    [CLARKE_ATTR_STRINGS] = "strings",
  };

  fprintf(to, " attribute");
  show_name(a->name);
  fprintf(to, " %s", kinds[a->type]);
  if (a->type == CLARKE_ATTR_TENSOR) {
    show_entries(&a->t);
    return;
  }
  if (a->type == CLARKE_ATTR_INT)
    fprintf(to, " %lld", (long long)a->i);
  if (a->type == CLARKE_ATTR_FLOAT)
    show_double(a->f);
  if (a->type == CLARKE_ATTR_STRING || a->type == CLARKE_ATTR_STRINGS)
    show_name(a->s);
  for (size_t i = 0; i < a->n && a->type == CLARKE_ATTR_INTS; i++)
    fprintf(to, " %lld", (long long)a->ints[i]);
  for (size_t i = 0; i < a->n && a->type == CLARKE_ATTR_FLOATS; i++)
    show_double(a->floats[i]);
  putc('\n', to);
}

static void
show_model(const clarke_model *m)
{
  fprintf(to, "model\nopset %lld\n", (long long)m->opset);
  for (size_t i = 0; i < m->n_inputs; i++)
    show_port("input", &m->inputs[i]);
  for (size_t i = 0; i < m->n_outputs; i++)
    show_port("output", &m->outputs[i]);
  for (size_t i = 0; i < m->n_tensors; i++)
    show_tensor("initializer", m->tensors[i].name, &m->tensors[i]);
  for (size_t i = 0; i < m->n_nodes; i++) {
    const clarke_model_node *n = &m->nodes[i];

    fprintf(to, "node");
    show_name(n->op_type);
    show_name(n->name);
    putc('\n', to);
    show_names("in", n->in, n->n_in);
    show_names("out", n->out, n->n_out);
    for (size_t k = 0; k < n->n_attr; k++)
      show_attribute(&n->attr[k]);
  }
}

/* An .npy as one array called x, or an .npz, which must hold x and may hold y besides. */
clarke_status
reading_batch(clarke_tensors *ts, const clarke_file *f, const char *path, clarke_error *err)
{
  bool stored = true;
  clarke_status status;

  if (f->size >= 6 && memcmp(f->data, "\x93NUMPY", 6) == 0) {
    ts->tensor = calloc(1, sizeof *ts->tensor);
    ts->n = 1;
    clarke_tensor_init(&ts->tensor[0]);
    status = clarke_npy_parse(&ts->tensor[0], f->data, f->size, path, err);
    if (status == CLARKE_OK) {
      free(ts->tensor[0].name);
      ts->tensor[0].name = strdup("x");
    }
    return status;
  }
  status = clarke_npz_parse(ts, &stored, f->data, f->size, path, err);
  if (status == CLARKE_OK && clarke_tensors_find(ts, "x") == NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "no x");
  return status == CLARKE_OK && !stored ? clarke_fail(err, CLARKE_EINPUT, "deflated") : status;
}

/* Prints nothing unless all is accepted. */
clarke_status
reading_show(FILE *out, const clarke_file *model, const char *model_path, const clarke_file *batch,
             const char *batch_path, clarke_error *err)
{
  clarke_model m, cut; /* as it is; without its loss */
  clarke_tensors ts;
  clarke_graph g;
  clarke_loss_kind kind;
  bool own = false;
  clarke_status status;

  clarke_model_init(&m);
  clarke_model_init(&cut);
  clarke_tensors_init(&ts);
  clarke_graph_init(&g);
  to = out;
  status = clarke_onnx_parse(&m, model->data, model->size, model_path, err);
  if (status == CLARKE_OK)
    status = reading_batch(&ts, batch, batch_path, err);
  if (status == CLARKE_OK)
    status = clarke_onnx_parse(&cut, model->data, model->size, model_path, err);
  if (status == CLARKE_OK)
    status = clarke_tail_take(&kind, &own, &cut, NULL, err);
  if (status == CLARKE_OK)
    status = clarke_inputs_take(&cut, clarke_tensors_find(&ts, "x"), ts.tensor, ts.n, batch_path, err);
  if (status == CLARKE_OK)
    status = clarke_graph_build(&g, &cut, clarke_tensors_find(&ts, "x"), err);
  if (status == CLARKE_OK && own)
    status = clarke_tail_check(&g, kind, err);
  if (status == CLARKE_OK) {
    const clarke_tensor *x = clarke_tensors_find(&ts, "x"), *y = clarke_tensors_find(&ts, "y");

    show_model(&m);
    fprintf(to, "batch\n");
    show_tensor("tensor", "x", x);
    if (y != NULL)
      show_tensor("tensor", "y", y);
    fprintf(to, "samples %zu", g.samples);
    show_shape(x->dtype, g.values[g.output].rank, g.values[g.output].dims);
    putc('\n', to);
  }
  clarke_graph_clear(&g);
  clarke_tensors_clear(&ts);
  clarke_model_clear(&m);
  clarke_model_clear(&cut);
  return status;
}
