/* Has every value of a graph that is built the shape that its file declares for it? The output may have another: runtimes compute it all the
 * same, and only warn. */
#include "base/text.h"
#include "network/graph/build.h"
#include "op/axes.h"

#include <stdio.h>
#include <string.h>

/* A value's axes in a run of the file's graph. */
typedef struct {
  size_t rank, dims[CLARKE_MAX_WHOLE];
  size_t batch; /* which of them has the samples, or is merged with theirs; CLARKE_NONE */
} axes_of_run;

static axes_of_run
find_axes(const clarke_graph *g, const clarke_value *v)
{
  const bool batched = g->batched && !v->constant && !v->batch.none, apart = batched && !v->batch.merged;
  const size_t at = apart ? v->batch.axis : v->rank;
  axes_of_run a = {.rank = v->rank + (apart ? 1 : 0), .batch = batched ? v->batch.axis : CLARKE_NONE};

  memcpy(a.dims, v->dims, at * sizeof *a.dims);
  a.dims[at] = 1;
  if (at < v->rank)
    memcpy(a.dims + at + 1, v->dims + at, (v->rank - at) * sizeof *a.dims);
  return a;
}

/* May the batch's axis, of so many entries a sample, be declared with n? A file whose input has any number of samples may
 * have been written when there were others; its output has 1, or those that are there. */
static bool
batch_fits(const clarke_builder *b, size_t n, size_t each, bool output)
{
  const int64_t first = b->m->inputs[0].dims[0];

  if (first > 0)
    return n == each * b->g->together;
  return output ? n == each || n == each * b->g->samples : n % each == 0;
}

static bool
port_fits(const clarke_builder *b, const clarke_model_port *port, const axes_of_run *a, bool output)
{
  bool fits = port->rank == a->rank;

  for (size_t i = 0; i < a->rank && fits; i++) {
    const size_t n = (size_t)port->dims[i];

    if (port->dims[i] > 0)
      fits = i == a->batch ? batch_fits(b, n, a->dims[i], output) : n == a->dims[i];
  }
  return fits;
}

/* The axes as text: those of a sample times the samples of a run. */
static void
describe(char *text, size_t size, const clarke_graph *g, const axes_of_run *a)
{
  size_t at = 0;

  text[0] = '\0';
  for (size_t i = 0; i < a->rank && at + 24 < size; i++)
    at += (size_t)snprintf(text + at, size - at, "%s%zu", i > 0 ? ", " : "", a->dims[i] * (i == a->batch ? g->together : 1));
}

/* Is it an output of a recurrent node that no node reads? PyTorch's exporter declares these wrongly, and nothing depends on them. */
static bool
is_left_out(const clarke_model *m, const char *name)
{
  bool recurrent = false;

  for (size_t i = 0; i < m->n_nodes; i++) {
    const clarke_model_node *n = &m->nodes[i];
    const char *op = n->op_type;

    if (strcmp(op, "LSTM") == 0 || strcmp(op, "GRU") == 0 || strcmp(op, "RNN") == 0)
      for (size_t k = 0; k < n->n_out; k++)
        recurrent = recurrent || strcmp(n->out[k], name) == 0;
  }
  return recurrent && !clarke_model_reads(m, name);
}

static clarke_status
check_shape(const clarke_builder *b, const clarke_model_port *port, size_t value, bool output, clarke_error *err)
{
  char said[256], is[256];
  axes_of_run a;

  if (value == CLARKE_NONE || !port->shaped)
    return CLARKE_OK;
  a = find_axes(b->g, &b->g->values[value]);
  if (port_fits(b, port, &a, output) || (!output && is_left_out(b->m, port->name)))
    return CLARKE_OK;
  clarke_port_describe(port, said, sizeof said);
  describe(is, sizeof is, b->g, &a);
  if (!output)
    return clarke_fail(err, CLARKE_EINPUT, "%s: value '%s' is declared with shape (%s), and has (%s): take it out of the file's value_info or "
                       "inputs, or declare what it is", b->m->file, port->name, said, is);
  b->g->declared = clarke_text_print("output '%s' is declared with shape (%s), and has (%s)", port->name, said, is);
  return b->g->declared != NULL ? CLARKE_OK : clarke_no_memory(err);
}

clarke_status
clarke_builder_declared(const clarke_builder *b, clarke_error *err)
{
  clarke_status status = check_shape(b, &b->m->outputs[0], b->g->output, true, err);

  for (size_t i = 0; i < b->m->n_declared && status == CLARKE_OK; i++)
    status = check_shape(b, &b->m->declared[i], clarke_builder_find(b, b->m->declared[i].name), false, err);
  return status;
}
