#include "folder.h"

#include "orders.h"
#include "tensors.h"

#include "base/output.h"
#include "format/file.h"
#include "format/onnx_write.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LONGEST 64

static const char *
named(char name[LONGEST], const char *format, size_t i)
{
  snprintf(name, LONGEST, format, i + 1);
  return name;
}

/* --- tensors --- */

static void
list_parameters(tensor_list *l, const dense_network *d, bool gradients)
{
  char name[LONGEST];

  for (size_t i = 0; i < d->n_layers; i++) {
    const dense_layer *p = &d->layer[i];

    tensor_add(l, named(name, "fc%zu.weight", i), gradients ? p->weight_gradient : p->weight, NUMBERS_FLOAT32, p->out, p->in);
    tensor_add(l, named(name, "fc%zu.bias", i), gradients ? p->bias_gradient : p->bias, NUMBERS_FLOAT32, p->out, 0);
  }
}

/* picked: the gradient of the loss in the log-softmax. */
static void
list_trace(tensor_list *l, const dense_network *d, const float *picked)
{
  char name[LONGEST];

  if (dense_network_halves(d))
    tensor_add(l, "output/cast", d->x_cast, dense_network_kept(d), d->n, d->features);
  for (size_t i = 0; i < d->n_layers; i++) {
    const dense_layer *p = &d->layer[i];

    tensor_add(l, named(name, "output/fc%zu", i), p->output, dense_network_kept(d), d->n, p->out);
    tensor_add(l, named(name, "gradient/fc%zu", i), p->output_gradient, dense_network_kept(d), d->n, p->out);
    if (p->active == NULL)
      continue;
    tensor_add(l, named(name, "output/relu%zu", i), p->active, dense_network_kept(d), d->n, p->out);
    tensor_add(l, named(name, "gradient/relu%zu", i), p->active_gradient, dense_network_kept(d), d->n, p->out);
  }
  tensor_add(l, "output/log_softmax", d->log_softmax, NUMBERS_FLOAT32, d->n, d->classes);
  tensor_add(l, "gradient/log_softmax", picked, NUMBERS_FLOAT32, d->n, d->classes);
}

/* --- the graph --- */

typedef struct {
  char text[8][LONGEST];
  char *in[3], *out[1];
  clarke_attr attr;
} node_room;

static void
set_node(clarke_model_node *node, node_room *r, const char *op, const char *out, size_t n_in, const char *const *in)
{
  static char none[] = "";

  snprintf(r->text[0], LONGEST, "%s", op);
  snprintf(r->text[1], LONGEST, "%s", out);
  for (size_t k = 0; k < n_in; k++) {
    snprintf(r->text[2 + k], LONGEST, "%s", in[k]);
    r->in[k] = r->text[2 + k];
  }
  r->out[0] = r->text[1];
  *node = (clarke_model_node){.op_type = r->text[0], .domain = none, .name = r->text[1], .n_in = n_in, .n_out = 1, .in = r->in,
                              .out = r->out};
}

static void
set_integer(clarke_model_node *node, node_room *r, const char *name, int64_t value)
{
  snprintf(r->text[7], LONGEST, "%s", name);
  r->attr = (clarke_attr){.name = r->text[7], .type = CLARKE_ATTR_INT, .i = value};
  node->attr = &r->attr;
  node->n_attr = 1;
}

static size_t
make_nodes(clarke_model_node *node, node_room *r, const dense_network *d)
{
  char before[LONGEST] = "x", weight[LONGEST], bias[LONGEST], made[LONGEST];
  size_t n = 0;

  if (dense_network_halves(d)) {
    set_node(&node[n], &r[n], "Identity", "cast", 1, (const char *[]){before});
    snprintf(before, LONGEST, "cast");
    n++;
  }
  for (size_t i = 0; i < d->n_layers; i++) {
    const char *const in[] = {before, named(weight, "fc%zu.weight", i), named(bias, "fc%zu.bias", i)};

    set_node(&node[n], &r[n], "Gemm", named(made, "fc%zu", i), 3, in);
    set_integer(&node[n], &r[n], "transB", 1);
    n++;
    snprintf(before, LONGEST, "%s", made);
    if (d->layer[i].active == NULL)
      continue;
    set_node(&node[n], &r[n], "Relu", named(made, "relu%zu", i), 1, (const char *[]){before});
    n++;
    snprintf(before, LONGEST, "%s", made);
  }
  set_node(&node[n], &r[n], "LogSoftmax", "log_softmax", 1, (const char *[]){before});
  set_integer(&node[n], &r[n], "axis", 1);
  n++;
  set_node(&node[n], &r[n], "NegativeLogLikelihoodLoss", "loss", 2, (const char *[]){"log_softmax", "y"});
  return n + 1;
}

static clarke_status
make_initializers(clarke_tensor *to, const tensor_list *l, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < l->n && status == CLARKE_OK; i++) {
    const tensor *t = &l->tensor[i];

    status = clarke_tensor_shape(&to[i], t->name, CLARKE_F32, t->rank, t->dims, err);
    for (size_t e = 0; status == CLARKE_OK && e < tensor_entries(t); e++)
      to[i].real[e] = (double)t->at[e];
  }
  return status;
}

static clarke_status
write_graph(const char *path, const dense_network *d, const tensor_list *parameters, clarke_error *err)
{
  static char file[] = "dense", x[] = "x", y[] = "y", loss[] = "loss";
  clarke_model_node node[2 * MOST_LAYERS + 3];
  node_room *rooms = calloc(2 * MOST_LAYERS + 3, sizeof *rooms);
  clarke_tensor initializer[2 * MOST_LAYERS] = {{0}};
  clarke_model_port input[] = {
    {.name = x, .dtype = CLARKE_F32, .shaped = true, .rank = 2, .dims = {(int64_t)d->n, (int64_t)d->features}},
    {.name = y, .dtype = CLARKE_I64, .shaped = true, .rank = 1, .dims = {(int64_t)d->n}}};
  clarke_model_port output = {.name = loss, .dtype = CLARKE_F32, .shaped = true};
  clarke_model m = {.file = file, .opset = 21, .n_tensors = parameters->n, .n_inputs = 2, .n_outputs = 1, .nodes = node,
                    .tensors = initializer, .inputs = input, .outputs = &output};
  clarke_output o;
  clarke_status status = rooms != NULL ? make_initializers(initializer, parameters, err) : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = clarke_output_open(&o, path, err);
  if (status == CLARKE_OK) {
    m.n_nodes = make_nodes(node, rooms, d);
    status = clarke_output_close(&o, clarke_onnx_write(o.to, &m, err), path, err);
  }
  for (size_t i = 0; i < parameters->n; i++)
    clarke_tensor_clear(&initializer[i]);
  free(rooms);
  return status;
}

/* --- the trees of the kernels --- */

static clarke_status
add_tree(json_t *sums, const dense_network *d, const char *part, const char *name, size_t k, bool bias, size_t rows, size_t cols,
         clarke_error *err)
{
  clarke_text text;
  clarke_status status = clarke_text_open(&text, err);

  if (status != CLARKE_OK)
    return status;
  order_write(text.to, d->order, k, bias);
  status = clarke_text_close(&text, CLARKE_OK, err);
  if (status == CLARKE_OK
      && json_array_append_new(sums, json_pack("{s:s, s:s, s:I, s:s, s:[{s:s, s:[i, I], s:[i, I]}]}", "part", part, "name", name, "leaves",
                                               (json_int_t)(k + bias), "type", "float32", "trees", "tree", text.text, "rows", 0,
                                               (json_int_t)(rows - 1), "columns", 0, (json_int_t)(cols - 1))) != 0)
    status = clarke_no_memory(err);
  clarke_text_clear(&text);
  return status;
}

static clarke_status
add_trees(json_t *sums, const dense_network *d, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  char name[LONGEST];

  for (size_t i = 0; i < d->n_layers && status == CLARKE_OK; i++) {
    const dense_layer *l = &d->layer[i];

    status = add_tree(sums, d, "output", named(name, "fc%zu", i), l->in, true, d->n, l->out, err);
    if (status == CLARKE_OK && l->active != NULL)
      status = add_tree(sums, d, "gradient", named(name, "relu%zu", i), d->layer[i + 1].out, false, d->n, l->out, err);
    if (status == CLARKE_OK)
      status = add_tree(sums, d, "parameter", named(name, "fc%zu.weight", i), d->n, false, l->out, l->in, err);
    if (status == CLARKE_OK)
      status = add_tree(sums, d, "parameter", named(name, "fc%zu.bias", i), d->n, false, 1, l->out, err);
  }
  return status;
}

static clarke_status
write_json(const char *path, json_t *j, clarke_error *err)
{
  clarke_output o;
  clarke_status status = clarke_output_open(&o, path, err);

  if (status == CLARKE_OK) {
    json_dumpf(j, o.to, JSON_INDENT(1));
    fputc('\n', o.to);
    status = clarke_output_close(&o, CLARKE_OK, path, err);
  }
  return status;
}

static clarke_status
write_trees(const char *path, const dense_network *d, clarke_error *err)
{
  json_t *sums = json_array(), *j = json_pack("{s:s, s:i, s:o}", "format", "clarke-trees", "version", 1, "sums", sums);
  clarke_status status = j != NULL ? add_trees(sums, d, err) : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = write_json(path, j, err);
  json_decref(j);
  return status;
}

/* --- all of it --- */

typedef struct {
  const char *folder;
  const dense_network *d;
  size_t step;
  json_t *files;
  char path[4096], name[2 * LONGEST];
  tensor_list *list;
} writer;

/* Names the step's next file. */
static void
begin(writer *w, const char *ending)
{
  snprintf(w->name, sizeof w->name, "step-%06zu.%s", w->step, ending);
  snprintf(w->path, sizeof w->path, "%s/%s", w->folder, w->name);
}

/* A file that was written, with its hash. */
static clarke_status
hashed(json_t *to, const char *key, const writer *w, clarke_error *err)
{
  clarke_file f = {0};
  clarke_status status = clarke_file_read(&f, w->path, err);

  if (status == CLARKE_OK && json_object_set_new(to, key, json_pack("{s:s, s:s}", "file", w->name, "sha256", f.sha256)) != 0)
    status = clarke_no_memory(err);
  clarke_file_clear(&f);
  return status;
}

static clarke_status
write_tensors(writer *w, const char *key, clarke_error *err)
{
  char ending[LONGEST];
  clarke_status status;

  snprintf(ending, sizeof ending, "%s.safetensors", key);
  begin(w, ending);
  status = tensors_write(w->path, w->list, err);
  w->list->n = 0;
  return status == CLARKE_OK ? hashed(w->files, key, w, err) : status;
}

static clarke_status
write_trace(writer *w, clarke_error *err)
{
  const dense_network *d = w->d;
  float *picked = calloc(d->n * d->classes + 1, sizeof *picked);
  clarke_status status = picked != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t j = 0; status == CLARKE_OK && j < d->n; j++)
    picked[j * d->classes + (size_t)d->labels[j]] = -(d->scale / (float)d->n);
  if (status == CLARKE_OK) {
    list_trace(w->list, d, picked);
    status = write_tensors(w, "trace", err);
  }
  free(picked);
  return status;
}

static clarke_status
write_step(writer *w, json_t *graph, clarke_error *err)
{
  const dense_network *d = w->d;
  clarke_status status;

  begin(w, "batch.npz");
  status = batch_write(w->path, d->x, d->labels, d->n, d->features, err);
  if (status == CLARKE_OK)
    status = hashed(w->files, "batch", w, err);
  list_parameters(w->list, d, false);
  snprintf(w->name, sizeof w->name, "graph.onnx");
  snprintf(w->path, sizeof w->path, "%s/%s", w->folder, w->name);
  if (status == CLARKE_OK)
    status = write_graph(w->path, d, w->list, err);
  if (status == CLARKE_OK)
    status = hashed(graph, "graph", w, err);
  if (status == CLARKE_OK)
    status = write_tensors(w, "parameters", err);
  list_parameters(w->list, d, true);
  if (status == CLARKE_OK)
    status = write_tensors(w, "gradients", err);
  if (status == CLARKE_OK)
    status = write_trace(w, err);
  begin(w, "trees.json");
  if (status == CLARKE_OK && d->order != ORDER_CUBLAS) {
    status = write_trees(w->path, d, err);
    if (status == CLARKE_OK)
      status = hashed(w->files, "trees", w, err);
  }
  return status;
}

/* run.json but for the files. */
static json_t *
describe(const dense_network *d)
{
  json_t *j = json_pack("{s:s, s:i, s:{s:s, s:s}, s:s, s:{s:s, s:s}, s:{s:s, s:b, s:b, s:s, s:s}, s:s}", "format", "clarke-run", "version", 1,
                        "framework", "name", "clarke-dense", "version", "1", "profile", "pytorch-2.13", "device", "type", device_type(),
                        "name", device_name(), "flags", "float32_matmul_precision", "highest", "tf32_matmul", d->type == NUMBERS_TF32,
                        "tf32_cudnn", 0, "products", order_names[d->order], "numbers", numbers_names[d->type], "loss", "ce");
  json_t *types = json_array(), *parameters = json_array();
  char name[LONGEST];

  json_array_append_new(types, json_string("float32"));
  if (dense_network_halves(d))
    json_array_append_new(types, json_string(numbers_names[d->type]));
  for (size_t i = 0; i < d->n_layers; i++) {
    json_array_append_new(parameters, json_string(named(name, "fc%zu.weight", i)));
    json_array_append_new(parameters, json_string(named(name, "fc%zu.bias", i)));
  }
  json_object_set_new(j, "dtypes", types);
  json_object_set_new(j, "parameters", parameters);
  return j;
}

static clarke_status
finish(writer *w, json_t *run, clarke_error *err)
{
  char loss[64], scale[64];

  snprintf(loss, sizeof loss, "%a", dense_network_loss(w->d));
  snprintf(scale, sizeof scale, "%.0f", (double)w->d->scale);
  if (json_object_set_new(run, "steps", json_pack("[{s:I, s:s, s:s, s:O}]", "step", (json_int_t)w->step, "loss", loss, "loss_scale", scale,
                                                  "files", w->files)) != 0)
    return clarke_no_memory(err);
  snprintf(w->path, sizeof w->path, "%s/run.json", w->folder);
  return write_json(w->path, run, err);
}

/* Before anything is written. */
static clarke_status
check_numbers(tensor_list *l, const dense_network *d, clarke_error *err)
{
  clarke_status status;

  list_trace(l, d, d->log_softmax);
  list_parameters(l, d, true);
  status = tensors_check(l, err);
  l->n = 0;
  return status;
}

clarke_status
folder_write(const char *folder, const dense_network *d, size_t step, clarke_error *err)
{
  writer w = {.folder = folder, .d = d, .step = step, .files = json_object(), .list = calloc(1, sizeof *w.list)};
  json_t *run = describe(d);
  clarke_status status = run != NULL && w.files != NULL && w.list != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = check_numbers(w.list, d, err);
  if (status == CLARKE_OK && mkdir(folder, 0777) != 0 && errno != EEXIST)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: %s", folder, strerror(errno));
  if (status == CLARKE_OK)
    status = write_step(&w, run, err);
  if (status == CLARKE_OK)
    status = finish(&w, run, err);
  json_decref(run);
  json_decref(w.files);
  free(w.list);
  return status;
}
