/* What the library reads of a model and a batch, as `clarke-check --show` prints what it reads. */
#include <stdio.h> /* before gmp.h, for its printing */

#include "reading.h"
#include "op/axes.h"
#include "network/graph/build.h"
#include "network/pass/fingerprint.h"
#include "network/pass/forward.h"
#include "network/graph/inputs.h"
#include "network/replay/replay_inside.h"
#include "network/derive/tail.h"
#include "format/file.h"
#include "format/npy.h"
#include "format/npz.h"
#include "format/onnx.h"

#include <gmp.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static FILE *to; /* where all is printed */

static const char *const type_names[] = {
  [CLARKE_F8_E4M3FN] = "F8E4M3FN", [CLARKE_F8_E4M3FNUZ] = "F8E4M3FNUZ", [CLARKE_F8_E5M2] = "F8E5M2",
  [CLARKE_F8_E5M2FNUZ] = "F8E5M2FNUZ", [CLARKE_F16] = "F16", [CLARKE_BF16] = "BF16", [CLARKE_F32] = "F32", [CLARKE_F64] = "F64",
  [CLARKE_I8] = "I8",   [CLARKE_I16] = "I16",   [CLARKE_I32] = "I32", [CLARKE_I64] = "I64",
  [CLARKE_U8] = "U8",   [CLARKE_U16] = "U16",   [CLARKE_U32] = "U32", [CLARKE_U64] = "U64",
  [CLARKE_BOOL] = "BOOL", [CLARKE_I4] = "I4",   [CLARKE_U4] = "U4",   [CLARKE_I2] = "I2",   [CLARKE_U2] = "U2",
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
show_nodes(const clarke_model_node *nodes, size_t n_nodes)
{
  for (size_t i = 0; i < n_nodes; i++) {
    const clarke_model_node *n = &nodes[i];

    fprintf(to, "node");
    show_name(n->op_type);
    show_name(n->name);
    putc('\n', to);
    show_names("in", n->in, n->own_in);
    show_names("out", n->out, n->n_out);
    for (size_t k = 0; k < n->n_attr; k++)
      if (n->attr[k].g == NULL)
        show_attribute(&n->attr[k]);
    for (size_t k = 0; k < n->n_attr; k++)
      if (n->attr[k].g != NULL) {
        fprintf(to, "graph");
        show_name(n->attr[k].name);
        putc('\n', to);
        show_nodes(n->attr[k].g->nodes, n->attr[k].g->n_nodes);
        fprintf(to, "end\n");
      }
  }
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
  show_nodes(m->nodes, m->n_nodes);
}

static void
show_rational(const mpq_t q)
{
  putc(' ', to);
  mpq_out_str(to, 10, q);
}

static void
show_constant_entry(const clarke_value *v, size_t e)
{
  mpq_t q;

  if (v->real != NULL && isfinite(v->real[e])) {
    mpq_init(q);
    mpq_set_d(q, v->negated ? -v->real[e] : v->real[e]);
    show_rational(q);
    mpq_clear(q);
  } else if (v->real != NULL) {
    show_double(v->real[e]);
  } else {
    fprintf(to, " %lld", (long long)v->integer[e]);
  }
}

/* An exact number; of an enclosed one a float near it. */
static void
show_matrix_entry(const clarke_matrix *m, size_t feature, size_t sample)
{
  mpq_t q;

  if (clarke_matrix_radius(m, feature, sample) > 0) {
    fprintf(to, " ~%.17g", clarke_matrix_get_double(m, feature, sample));
    return;
  }
  mpq_init(q);
  clarke_matrix_get(q, m, feature, sample);
  show_rational(q);
  mpq_clear(q);
}

/* A tensor as the file has it: that of a run, and where its batch is among the axes (CLARKE_NONE: nowhere). Entries before the
 * samples on that axis, samples, entries behind them. */
typedef struct {
  size_t rank, dims[CLARKE_MAX_WHOLE], count, samples, behind;
} whole;

static whole
whole_of(const clarke_graph *g, const clarke_value *v)
{
  const bool batched = g->batched && !v->constant && !v->batch.none;
  whole w = {.rank = v->rank, .count = 1, .samples = batched ? g->together : 1, .behind = 1};

  memcpy(w.dims, v->dims, v->rank * sizeof *w.dims);
  if (batched && !v->batch.merged) {
    memmove(w.dims + v->batch.axis + 1, w.dims + v->batch.axis, (v->rank - v->batch.axis) * sizeof *w.dims);
    w.dims[v->batch.axis] = 1;
    w.rank++;
  }
  for (size_t a = batched ? v->batch.axis + 1 : w.rank; a < w.rank; a++)
    w.behind *= w.dims[a];
  if (batched && v->batch.merged)
    w.behind *= v->batch.inner;
  if (batched)
    w.dims[v->batch.axis] *= w.samples;
  for (size_t a = 0; a < w.rank; a++)
    w.count *= w.dims[a];
  return w;
}

static void
show_value(const clarke_graph *g, const clarke_value *v, const clarke_matrix *m)
{
  const whole w = whole_of(g, v);
  const size_t runs = v->constant ? 1 : g->samples / g->together;

  fprintf(to, "value");
  show_name(v->name);
  fprintf(to, " [");
  for (size_t a = 0; a < w.rank; a++)
    fprintf(to, "%s%zu", a > 0 ? "," : "", w.dims[a]);
  putc(']', to);
  for (size_t i = 0; i < runs * w.count; i++) {
    const size_t f = i % w.count, sample = i / w.count * g->together + f / w.behind % w.samples;
    const size_t entry = f / w.behind / w.samples * w.behind + f % w.behind;

    if (v->constant)
      show_constant_entry(v, entry);
    else if (v->excluded != NULL && v->excluded[entry])
      fputs(v->undefined ? " ?" : " -inf", to);
    else
      show_matrix_entry(m, entry, sample);
  }
  putc('\n', to);
}

/* Is it an initializer, or no node's output? */
static bool
is_internal(const clarke_model *m, const clarke_value *v)
{
  bool made = false;

  for (size_t i = 0; i < m->n_inputs; i++)
    made = made || strcmp(m->inputs[i].name, v->name) == 0;
  for (size_t i = 0; i < m->n_nodes; i++)
    for (size_t k = 0; k < m->nodes[i].n_out; k++)
      made = made || strcmp(m->nodes[i].out[k], v->name) == 0;
  return !made;
}

#define BITS 256

static clarke_status
show_values(const clarke_model *m, const clarke_graph *g, const clarke_tensor *x, clarke_error *err)
{
  clarke_constants constants;
  clarke_forward f;
  clarke_matrix input;
  size_t *sample = calloc(g->samples + 1, sizeof *sample);
  bool *needed = calloc(g->n_values + 1, sizeof *needed);
  clarke_status status = clarke_constants_init(&constants, g, err);

  clarke_forward_init(&f);
  clarke_matrix_init(&input);
  for (size_t i = 0; i < g->samples; i++)
    sample[i] = i;
  for (size_t i = 0; i < g->n_values; i++)
    needed[i] = true;
  if (status == CLARKE_OK)
    status = clarke_samples_matrix(&input, x, sample, g->samples, err);
  if (status == CLARKE_OK)
    status = clarke_forward_run(&f, &constants, &input, needed, BITS, err);
  for (size_t i = 0; i < g->n_values && status == CLARKE_OK; i++)
    if (g->values[i].name != NULL && !is_internal(m, &g->values[i]))
      show_value(g, &g->values[i], &f.value[i]);
  clarke_forward_clear(&f);
  clarke_matrix_clear(&input);
  clarke_constants_clear(&constants);
  free(needed);
  free(sample);
  return status;
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

static clarke_status
show_fingerprints(const clarke_graph *g, clarke_error *err)
{
  uint64_t *print = calloc(g->n_values + 1, sizeof *print);
  const clarke_status status = print != NULL ? clarke_fingerprints(print, g, err) : clarke_no_memory(err);

  for (size_t v = 0; v < g->n_values && status == CLARKE_OK; v++)
    if (g->values[v].printed && !g->values[v].constant) {
      fprintf(to, "fingerprint");
      show_name(g->values[v].name);
      fprintf(to, " %016" PRIx64 "\n", print[v]);
    }
  free(print);
  return status;
}

/* Prints nothing unless all is accepted. */
clarke_status
reading_show(FILE *out, const clarke_file *model, const char *model_path, const clarke_file *batch,
             const char *batch_path, bool values, clarke_error *err)
{
  clarke_model m, cut; /* as it is; without its loss */
  clarke_tensors ts;
  clarke_graph g;
  clarke_loss loss;
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
    status = clarke_tail_take(&loss, &own, &cut, NULL, err);
  if (status == CLARKE_OK)
    status = clarke_inputs_take(&cut, clarke_tensors_find(&ts, "x"), ts.tensor, ts.n, batch_path, err);
  if (status == CLARKE_OK)
    status = clarke_graph_build(&g, &cut, clarke_tensors_find(&ts, "x"), err);
  if (status == CLARKE_OK && own)
    status = clarke_tail_check(&g, loss.kind, err);
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
    if (values)
      status = show_values(&m, &g, x, err);
    if (values && status == CLARKE_OK)
      status = show_fingerprints(&g, err);
  }
  clarke_graph_clear(&g);
  clarke_tensors_clear(&ts);
  clarke_model_clear(&m);
  clarke_model_clear(&cut);
  return status;
}
