#include "network/graph/masks.h"

#include "base/text.h"
#include "network/graph/build.h"
#include "network/graph/inputs.h"

#include <stdlib.h>
#include <string.h>

#define MASK_INPUT 3

static clarke_model_node *
find_dropout(clarke_model *m, const char *name)
{
  for (size_t i = 0; i < m->n_nodes; i++) {
    clarke_model_node *node = &m->nodes[i];

    if (strcmp(node->op_type, "Dropout") == 0 && node->domain[0] == '\0' && node->n_out > 0 && strcmp(node->out[0], name) == 0)
      return node;
  }
  return NULL;
}

/* The node's fourth input is the mask, under a name of its own. */
static clarke_status
add_input(clarke_model *m, clarke_model_node *node, clarke_error *err)
{
  char **grown;

  if (m->opset < 12 || node->n_in > MASK_INPUT)
    return clarke_fail(err, CLARKE_EINPUT, "%s: node '%s' (Dropout): a mask is for training mode, from operator set 12 on, and for 1 to 3 "
                       "inputs", m->file, node->name);
  grown = realloc(node->in, (MASK_INPUT + 1) * sizeof *grown);
  if (grown == NULL)
    return clarke_no_memory(err);
  node->in = grown;
  while (node->n_in <= MASK_INPUT) {
    grown[node->n_in] = node->n_in < MASK_INPUT ? strdup("") : clarke_text_print("%s mask", node->out[0]);
    if (grown[node->n_in++] == NULL)
      return clarke_no_memory(err);
  }
  node->masked = true;
  return CLARKE_OK;
}

/* One beside the first. */
static clarke_model_port *
find_input(clarke_model *m, const char *name)
{
  for (size_t i = 1; i < m->n_inputs; i++)
    if (strcmp(m->inputs[i].name, name) == 0)
      return &m->inputs[i];
  return NULL;
}

static double
entry(const clarke_tensor *t, size_t e)
{
  return t->real != NULL ? t->real[e] : (double)t->integer[e];
}

static clarke_status
check_entries(const clarke_tensor *t, const char *file, clarke_error *err)
{
  for (size_t e = 0; e < t->count; e++)
    if (entry(t, e) != 0 && entry(t, e) != 1)
      return clarke_fail(err, CLARKE_EINPUT, "%s: array '%s' is the mask of a Dropout: entry %zu is %.17g; expected 1 where an entry stays, 0 "
                         "where it is dropped", file, t->name, e, entry(t, e));
  return CLARKE_OK;
}

/* ---- A single run: constants */

static clarke_status
add_constant(clarke_model *m, const clarke_tensor *mask, clarke_error *err)
{
  clarke_tensor t;
  char *name = clarke_text_print("%s mask", mask->name);
  clarke_status status;

  clarke_tensor_init(&t);
  status = name != NULL ? clarke_tensor_shape(&t, name, CLARKE_F64, mask->rank, mask->dims, err) : clarke_no_memory(err);
  for (size_t e = 0; status == CLARKE_OK && e < mask->count; e++)
    t.real[e] = entry(mask, e);
  if (status == CLARKE_OK)
    status = clarke_inputs_add_constant(m, name, &t, err);
  clarke_tensor_clear(&t);
  free(name);
  return status;
}

/* ---- A batch axis: behind the input's entries */

/* Reads so many entries of each sample, from `from` on, into a value of that shape: (samples, dims...). */
typedef struct {
  char *name;
  size_t from, count, rank, dims[CLARKE_MAX_RANK];
} part;

static clarke_status
add_integers(clarke_model *m, const part *p, const char *what, size_t n, const int64_t *list, clarke_error *err)
{
  clarke_tensor t;
  char *name = clarke_text_print("%s %s", p->name, what);
  clarke_status status;

  clarke_tensor_init(&t);
  status = name != NULL ? clarke_tensor_shape(&t, name, CLARKE_I64, 1, &n, err) : clarke_no_memory(err);
  if (status == CLARKE_OK) {
    memcpy(t.integer, list, n * sizeof *list);
    status = clarke_inputs_add_constant(m, name, &t, err);
  }
  clarke_tensor_clear(&t);
  free(name);
  return status;
}

/* OP of n_in inputs, whose names begin with the part's, as its output's does; but of `first`, if it is not NULL. */
static clarke_status
add_node(clarke_model *m, const part *p, const char *op, const char *first, size_t n_in, const char *const *in, const char *out,
         clarke_error *err)
{
  clarke_model_node *node = clarke_inputs_add_node(m, op, p->name, n_in, err);

  if (node == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t i = 0; i < n_in; i++) {
    node->in[i] = i == 0 && first != NULL ? strdup(first) : clarke_text_print("%s%s", p->name, in[i]);
    if (node->in[i] == NULL)
      return clarke_no_memory(err);
  }
  node->out[0] = clarke_text_print("%s%s", p->name, out);
  return node->out[0] != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* Nodes are put before all others: the last first. */
static clarke_status
take_part(clarke_model *m, const part *p, const char *input, size_t rows, clarke_error *err)
{
  const char *const reshaped[] = {" piece", " shape"}, *const sliced[] = {"", " from", " to", " axis"};
  const int64_t from = (int64_t)p->from, to = (int64_t)(p->from + p->count), axis = 1;
  int64_t shape[CLARKE_MAX_RANK + 1] = {(int64_t)rows};
  clarke_status status;

  for (size_t a = 0; a < p->rank; a++)
    shape[a + 1] = (int64_t)p->dims[a];
  status = add_node(m, p, "Reshape", NULL, 2, reshaped, "", err);
  if (status == CLARKE_OK)
    status = add_integers(m, p, "shape", p->rank + 1, shape, err);
  if (status == CLARKE_OK)
    status = add_node(m, p, "Slice", input, 4, sliced, " piece", err);
  if (status == CLARKE_OK)
    status = add_integers(m, p, "from", 1, &from, err);
  if (status == CLARKE_OK)
    status = add_integers(m, p, "to", 1, &to, err);
  return status == CLARKE_OK ? add_integers(m, p, "axis", 1, &axis, err) : status;
}

/* The port becomes that of rows of `entries`, under another name, which is returned; NULL when there is no memory. */
static const char *
replace_port(clarke_model_port *port, size_t entries)
{
  char *name = clarke_text_print("%s with masks", port->name);

  if (name == NULL)
    return NULL;
  free(port->name);
  port->name = name;
  port->rank = 2;
  port->dims[1] = (int64_t)entries;
  return name;
}

static void
copy_rows(clarke_tensor *with, size_t at, const clarke_tensor *t, size_t each)
{
  for (size_t e = 0; e < t->count; e++)
    with->real[e / each * with->dims[1] + at + e % each] = entry(t, e);
}

/* The parts of a sample: the input, then the masks. */
static clarke_status
join(clarke_model *m, clarke_tensor *with, const clarke_tensor *const *array, part *parts, size_t n, clarke_error *err)
{
  const size_t samples = array[0]->dims[0], rows = m->inputs[0].dims[0] == 1 ? 1 : samples;
  size_t shape[2] = {samples, 0};
  const char *input;
  clarke_status status;

  for (size_t i = 0; i < n; i++) {
    parts[i].from = shape[1];
    shape[1] += parts[i].count;
  }
  status = clarke_tensor_shape(with, array[0]->name, CLARKE_F64, 2, shape, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < n; i++)
    copy_rows(with, parts[i].from, array[i], parts[i].count);
  input = replace_port(&m->inputs[0], shape[1]);
  if (input == NULL)
    return clarke_no_memory(err);
  for (size_t i = n; i-- > 0 && status == CLARKE_OK;)
    status = take_part(m, &parts[i], input, rows, err);
  return status;
}

/* A further input must be data of each sample as the first is: of its type, with its first axis. */
static clarke_status
check_input(const clarke_model *m, const clarke_model_port *port, const clarke_tensor *t, const char *file, clarke_error *err)
{
  const clarke_model_port *first = &m->inputs[0];

  if (!port->shaped || port->rank < 1 || port->rank != t->rank || port->dims[0] != first->dims[0]
      || !clarke_port_fits(port, 1, t->dims + 1, t->rank - 1) || t->real == NULL || port->dtype != first->dtype)
    return clarke_fail(err, CLARKE_EINPUT, "%s: input '%s': beside a batch along the first axis of input '%s' the array of %s is data of each "
                       "sample: expected floats of that input's type, in the declared shape, and the same first axis", m->file, port->name,
                       first->name, file);
  return clarke_inputs_check_name(m, port->name, false, err);
}

/* One behind the input: of the same samples. */
static clarke_status
describe_part(part *p, clarke_model *m, const clarke_tensor *t, size_t samples, const char *file, clarke_error *err)
{
  clarke_model_port *port = find_input(m, t->name);
  clarke_status status = port != NULL ? check_input(m, port, t, file, err) : CLARKE_OK;

  if (status == CLARKE_OK && (t->rank < 1 || t->dims[0] != samples || t->count == 0))
    status = clarke_fail(err, CLARKE_EINPUT, "%s: array '%s' is %s: expected the %zu samples on the first axis", file, t->name,
                         port != NULL ? "data of each sample" : "the mask of a Dropout, of its output's shape", samples);
  if (status != CLARKE_OK)
    return status;
  if (port != NULL)
    port->behind = true;
  p->name = port != NULL ? strdup(t->name) : clarke_text_print("%s mask", t->name);
  p->count = t->count / samples;
  p->rank = t->rank - 1;
  memcpy(p->dims, t->dims + 1, p->rank * sizeof *p->dims);
  return p->name != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* Parts of the shapes of a sample. */
static clarke_status
describe(clarke_model *m, const clarke_tensor *const *array, part *parts, size_t n, const char *file, clarke_error *err)
{
  const clarke_model_port *port = &m->inputs[0];
  const clarke_tensor *x = array[0];
  clarke_status status = CLARKE_OK;
  bool batched, flat;

  if (!clarke_port_takes(port, x, &batched, &flat) || !batched || x->count == 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: masks of Dropout nodes, and further inputs, are for a batch along the first axis of input '%s', or "
                       "for one whole input in a single run", file, port->name);
  parts[0].name = strdup(port->name);
  if (parts[0].name == NULL)
    return clarke_no_memory(err);
  parts[0].count = x->count / x->dims[0];
  parts[0].rank = flat ? port->rank - 1 : x->rank - 1;
  for (size_t a = 0; a < parts[0].rank; a++)
    parts[0].dims[a] = flat ? (size_t)port->dims[a + 1] : x->dims[a + 1];
  for (size_t i = 1; i < n && status == CLARKE_OK; i++)
    status = describe_part(&parts[i], m, array[i], x->dims[0], file, err);
  return status;
}

/* array[0] is the input, the others masks and further inputs; n of all. */
static clarke_status
put_behind(clarke_model *m, clarke_tensor *with, const clarke_tensor *const *array, size_t n, const char *file, clarke_error *err)
{
  part *parts = calloc(n, sizeof *parts);
  clarke_status status = parts != NULL ? describe(m, array, parts, n, file, err) : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = join(m, with, array, parts, n, err);
  for (size_t i = 0; parts != NULL && i < n; i++)
    free(parts[i].name);
  free(parts);
  return status;
}

clarke_status
clarke_masks_take(clarke_model *m, clarke_tensor *with, const clarke_tensor *x, const clarke_tensor *batch, size_t n, const char *file,
                  clarke_error *err)
{
  const bool single = m->n_inputs > 0 && clarke_inputs_are_one_run(&m->inputs[0], x);
  const clarke_tensor **array = calloc(n + 1, sizeof *array);
  size_t found = 1;
  clarke_status status = array != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t i = 0; i < n && status == CLARKE_OK; i++) {
    clarke_model_node *node = strcmp(batch[i].name, "x") != 0 && strcmp(batch[i].name, "y") != 0 ? find_dropout(m, batch[i].name) : NULL;

    if (node == NULL && !single && find_input(m, batch[i].name) != NULL)
      array[found++] = &batch[i];
    if (node == NULL)
      continue;
    array[found++] = &batch[i];
    status = check_entries(&batch[i], file, err);
    if (status == CLARKE_OK)
      status = add_input(m, node, err);
  }
  for (size_t i = 1; i < found && single && status == CLARKE_OK; i++)
    status = add_constant(m, array[i], err);
  if (status == CLARKE_OK && found > 1 && !single) {
    array[0] = x;
    status = put_behind(m, with, array, found, file, err);
  }
  free(array);
  return status;
}
