/* clarke-check --show: what was read of a model and a batch, in one text that a test compares with what the reference
 * libraries read. With --values also what each node gives, as they compute it; with --tape the steps that are made of it. */
#include "check/show.h"
#include "check/proof.h"
#include "check/base/lines.h"
#include "check/kernel/evaluate.h"
#include "check/kernel/place.h"
#include "check/kernel/tape.h"
#include "check/onnx/builder.h"
#include "check/onnx/fingerprint.h"
#include "check/onnx/network.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* As in proofs: bytes that are no letters, digits or . _ / : - are written %XX. */
static void
show_name(const char *name)
{
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
show_nodes(const node *nodes, size_t n_nodes)
{
  for (size_t i = 0; i < n_nodes; i++) {
    const node *n = &nodes[i];
    printf("node");
    show_name(n->op);
    show_name(n->name);
    putchar('\n');
    show_names("in", n->in, n->n_own);
    show_names("out", n->out, n->n_out);
    for (size_t j = 0; j < n->n_attributes; j++)
      show_attribute(&n->attributes[j]);
    for (size_t j = 0; j < n->n_bodies; j++) {
      printf("graph");
      show_name(n->bodies[j].name);
      putchar('\n');
      show_nodes(n->bodies[j].nodes, n->bodies[j].n_nodes);
      printf("end\n");
    }
  }
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
  show_nodes(m->nodes, m->n_nodes);
}

/* Where entry f of a whole run's tensor is: its sample, and the entry of that sample. */
typedef struct {
  size_t sample, entry;
} placed;

static placed
place_in_run(const network *net, const graph_value *v, bool batched, size_t f)
{
  placed at = {0, 0};
  size_t stride = 1;
  for (size_t i = v->rank; i-- > 0; stride *= v->dims[i]) {
    size_t rows = batched && i == v->at ? net->together : 1, length = rows * v->dims[i], c = f % length,
           inner = v->inner > 0 ? v->inner : 1;
    f /= length;
    if (rows > 1) {
      at.sample = c / inner % rows;
      c = c / inner / rows * inner + c % inner;
    }
    at.entry += c * stride;
  }
  return at;
}

/* An exact number; of an enclosed one a float near it. */
static void
show_number(const interval *x)
{
  RATIONAL(middle);
  if (interval_exact(x)) {
    putchar(' ');
    mpq_out_str(stdout, 10, &x->lo);
    return;
  }
  mpq_add(&middle, &x->lo, &x->hi);
  mpq_div(&middle, &middle, &two);
  printf(" ~%.17g", mpq_get_d(&middle));
}

static void
show_entry(const point *p, const graph_value *v, placed at)
{
  if (v->constant != NULL) {
    RATIONAL(q);
    mpq_set(&q, &v->constant->value[v->map[at.entry]]);
    if (v->negated)
      mpq_neg(&q, &q);
    char odd = odd_entry(v, at.entry);
    if (odd != 0)
      printf(odd == '-' ? " -inf" : " ?");
    else
      gmp_printf(" %Qd", &q);
  } else if (v->excluded != NULL && v->excluded[at.entry]) {
    printf(v->undefined ? " ?" : " -inf");
  } else {
    show_number(value_at(p, v->step, v->map[at.entry] * p->net->batch + at.sample));
  }
}

/* A node's output, whole: all samples of a run on the axis where they are, and so one run after another. */
static void
show_value(const point *p, const graph_value *v)
{
  const network *net = p->net;
  bool batched = net->batched && v->constant == NULL && !v->shared;
  size_t rows = batched ? net->together : 1, runs = v->constant != NULL ? 1 : net->batch / net->together;
  printf("value");
  show_name(v->name);
  printf(" [");
  for (size_t i = 0; i < v->rank; i++)
    printf("%s%zu", i > 0 ? "," : "", v->dims[i] * (batched && i == v->at ? rows : 1));
  putchar(']');
  for (size_t r = 0; r < runs; r++)
    for (size_t f = 0; f < v->count * rows; f++) {
      placed at = place_in_run(net, v, batched, f);
      at.sample += r * net->together;
      show_entry(p, v, at);
    }
  putchar('\n');
}

static void
show_fingerprints(const network *net)
{
  const prints taken = prints_take(net);
  for (size_t i = 0; i < net->n_values; i++)
    if (net->values[i].constant == NULL) {
      printf("fingerprint");
      show_name(net->values[i].name);
      printf(" %016" PRIx64 "\n", print_of(&taken, &net->values[i]));
    }
}

static void
show_all_values(network *net, const arrays *given)
{
  point p = {.net = net, .x = given->x, .target = given->y};
  point_evaluate(&p);
  for (size_t i = 0; i < net->n_values; i++)
    if (net->values[i].constant == NULL || !net->values[i].constant->initializer || i >= net->n_tensors)
      show_value(&p, &net->values[i]);
  show_fingerprints(net);
}

static void
show_pair(const char *model_path, const char *batch_path, bool values)
{
  model m;
  network net = {0};
  arrays given = {0};
  onnx_read(&m, read_file(model_path));
  onnx_operators.fold(&m);
  if (batch_path != NULL) {
    given = batch_read(read_file(batch_path));
    network_build(&net, &m, &given, &onnx_operators);
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
  if (values)
    show_all_values(&net, &given);
}

void
clarke_show(const char *model_path, const char *batch_path)
{
  show_pair(model_path, batch_path, false);
}

void
clarke_show_values(const char *model_path, const char *batch_path)
{
  show_pair(model_path, batch_path, true);
}

static void
print_tape(const network *net, const tensor *x, const tensor *y, bool whole)
{
  tape_hash hex;
  tape_write(stdout, net, x, y, whole);
  tape_digest(net, x, y, hex);
  printf("hash %s\n", hex);
}

static void
show_tape(const char *model_path, const char *batch_path, bool whole)
{
  model m;
  network net;
  expect(batch_path != NULL, "a model's tape is that for a batch");
  onnx_read(&m, read_file(model_path));
  onnx_operators.fold(&m);
  const arrays given = batch_read(read_file(batch_path));
  network_build(&net, &m, &given, &onnx_operators);
  print_tape(&net, given.x, given.y, whole);
}

void
clarke_show_tape(const char *model_path, const char *batch_path)
{
  show_tape(model_path, batch_path, false);
}

void
clarke_show_whole_tape(const char *model_path, const char *batch_path)
{
  show_tape(model_path, batch_path, true);
}

/* The lines before `model` are of all proofs about networks: what is claimed, and the semantics of a claim that has one. */
static void
show_tape_of(const char *path, const char *data, bool whole)
{
  network net;
  point p = {.net = &net};
  model m;
  account_begin();
  lines_begin(read_file(path));
  known_line("clarke-proof", "1");
  if (!line_is("claim"))
    next_line("verdict");
  next_word();
  if (line_is("semantics"))
    require(strcmp(next_word(), "real") == 0, "'semantics real' is expected");
  read_described_network(&p, &m, proof_folder(path, data));
  print_tape(&net, p.x, p.target, whole);
}

void
clarke_show_tape_of(const char *proof, const char *data)
{
  show_tape_of(proof, data, false);
}

void
clarke_show_whole_tape_of(const char *proof, const char *data)
{
  show_tape_of(proof, data, true);
}
