/* The network of a formula as an ONNX model, and as a program. */
#include "base/limit.h"
#include "sat/network.h"

#include <stdlib.h>
#include <string.h>

/* The newest that Gemm without a bias and Relu ask for is 14. */
#define OPSET 17

/* --- a model ---------------------------------------------------------------------------------- */

static char *
numbered(const char *what, size_t k)
{
  char name[32];

  snprintf(name, sizeof name, "%s%zu", what, k);
  return strdup(name);
}

/* A name, or NULL in the node's place of what could not be had. */
static bool
name_node(clarke_model_node *n, const char *op, size_t k, size_t n_in)
{
  n->op_type = strdup(op);
  n->domain = strdup("");
  n->name = numbered(op, k);
  n->in = calloc(n_in, sizeof *n->in);
  n->out = calloc(1, sizeof *n->out);
  if (n->in == NULL || n->out == NULL)
    return false;
  n->n_in = n_in;
  n->n_out = 1;
  return n->op_type != NULL && n->domain != NULL && n->name != NULL;
}

static bool
make_gemm(clarke_model_node *n, size_t k, bool last)
{
  if (!name_node(n, "Gemm", k, 2) || (n->attr = calloc(1, sizeof *n->attr)) == NULL)
    return false;
  n->n_attr = 1;
  n->attr[0].type = CLARKE_ATTR_INT;
  n->attr[0].name = strdup("transB");
  n->attr[0].i = 1;
  clarke_tensor_init(&n->attr[0].t);
  n->in[0] = k == 1 ? strdup("x") : numbered("z", k - 1);
  n->in[1] = numbered("M", k);
  n->out[0] = last ? strdup("F") : numbered("y", k);
  return n->attr[0].name != NULL && n->in[0] != NULL && n->in[1] != NULL && n->out[0] != NULL;
}

static bool
make_relu(clarke_model_node *n, size_t k)
{
  if (!name_node(n, "Relu", k, 1))
    return false;
  n->in[0] = numbered("y", k);
  n->out[0] = numbered("z", k);
  return n->in[0] != NULL && n->out[0] != NULL;
}

static bool
make_port(clarke_model_port *p, const char *name, size_t width)
{
  p->name = strdup(name);
  p->dtype = CLARKE_F32;
  p->shaped = true;
  p->rank = 2;
  p->dims[0] = -1;
  p->dims[1] = (int64_t)width;
  return p->name != NULL;
}

static clarke_status
make_tensor(clarke_tensor *t, const clarke_sign_matrix *m, size_t k, clarke_error *err)
{
  char name[32];
  clarke_status status;

  snprintf(name, sizeof name, "M%zu", k);
  status = clarke_tensor_shape(t, name, CLARKE_F32, 2, (size_t[2]){m->n_rows, m->n_columns}, err);
  for (size_t i = 0; status == CLARKE_OK && i < m->n_rows; i++)
    for (size_t j = 0; j < m->row[i].n; j++)
      t->real[i * m->n_columns + m->row[i].column[j]] = m->row[i].entry[j];
  return status;
}

static clarke_status
within_limit(const clarke_sign_network *net, clarke_error *err)
{
  const size_t most = clarke_limit_of(CLARKE_LIMIT_ENTRIES);
  size_t entries = 0;

  for (size_t k = 0; k < net->n_matrices; k++) {
    size_t n;

    if (__builtin_mul_overflow(net->matrix[k].n_rows, net->matrix[k].n_columns, &n) ||
        __builtin_add_overflow(entries, n, &entries) || entries > most)
      return clarke_limit_fail(err, CLARKE_LIMIT_ENTRIES, "the matrices of the network have more entries "
                               "(a program, FILE.prog, holds only those that are not zero)");
  }
  return CLARKE_OK;
}

clarke_status
clarke_sign_network_model(clarke_model *m, const clarke_sign_network *net, clarke_error *err)
{
  const size_t n = net->n_matrices;
  clarke_status status = within_limit(net, err);
  bool good;

  if (status != CLARKE_OK)
    return status;
  m->file = strdup("network");
  m->opset = OPSET;
  m->nodes = calloc(2 * n, sizeof *m->nodes);
  m->tensors = calloc(n, sizeof *m->tensors);
  m->inputs = calloc(1, sizeof *m->inputs);
  m->outputs = calloc(1, sizeof *m->outputs);
  if (m->file == NULL || m->nodes == NULL || m->tensors == NULL || m->inputs == NULL || m->outputs == NULL)
    return clarke_no_memory(err);
  m->n_inputs = m->n_outputs = 1;
  good = make_port(m->inputs, "x", net->n_inputs) && make_port(m->outputs, "F", 1);
  for (size_t k = 1; good && status == CLARKE_OK && k <= n; k++) {
    good = make_gemm(&m->nodes[m->n_nodes++], k, k == n) && (k == n || make_relu(&m->nodes[m->n_nodes++], k));
    clarke_tensor_init(&m->tensors[k - 1]);
    m->n_tensors++;
    status = make_tensor(&m->tensors[k - 1], &net->matrix[k - 1], k, err);
  }
  return good ? status : clarke_no_memory(err);
}

/* --- a program -------------------------------------------------------------------------------- */

/* What multiplies column k of a matrix. */
static void
put_entry(FILE *out, size_t layer, size_t k)
{
  if (layer == 0)
    fprintf(out, "x[%zu]", k);
  else
    fprintf(out, "z%zu[%zu]", layer, k);
}

static void
put_row(FILE *out, size_t layer, const clarke_sign_row *r)
{
  for (size_t j = 0; j < r->n; j++) {
    fputs(j == 0 ? (r->entry[j] < 0 ? "-" : "") : r->entry[j] < 0 ? " - " : " + ", out);
    put_entry(out, layer, r->column[j]);
  }
  if (r->n == 0)
    fputc('0', out);
}

void
clarke_sign_network_print(FILE *out, const clarke_sign_network *net, const char *comment)
{
  fprintf(out, "# %s\ninput x[%zu]\n", comment, net->n_inputs);
  for (size_t k = 0; k < net->n_matrices; k++) {
    const bool last = k + 1 == net->n_matrices;
    const clarke_sign_matrix *m = &net->matrix[k];

    if (last)
      fputs("output ", out);
    else
      fprintf(out, "let z%zu = relu([", k + 1);
    for (size_t i = 0; i < m->n_rows; i++) {
      fputs(i > 0 ? ", " : "", out);
      put_row(out, k, &m->row[i]);
    }
    fputs(last ? "\n" : "])\n", out);
  }
}
