#include "mutate.h"
#include "target.h"
#include "format/onnx.h"

#include <unistd.h>

MUTATED_AS(mutate_message)

static void
require_attr(const clarke_model_node *node, const clarke_attr *a)
{
  REQUIRE(a->name != NULL && clarke_model_attr(node, a->name) == a);
  REQUIRE(a->type <= CLARKE_ATTR_OTHER);
  REQUIRE((a->type != CLARKE_ATTR_STRING && a->type != CLARKE_ATTR_STRINGS) || a->s != NULL);
  REQUIRE(a->type != CLARKE_ATTR_INTS || a->ints != NULL);
  REQUIRE(a->type != CLARKE_ATTR_FLOATS || a->floats != NULL);
  REQUIRE(isfinite(a->f));
  REQUIRE((a->type == CLARKE_ATTR_GRAPH) == (a->g != NULL));
  if (a->type == CLARKE_ATTR_TENSOR)
    require_entries(&a->t);
}

static void
require_node(const clarke_model_node *node)
{
  REQUIRE(node->op_type != NULL && *node->op_type != '\0');
  REQUIRE(node->domain != NULL && node->name != NULL);
  for (size_t k = 0; k < node->n_in; k++)
    REQUIRE(node->in[k] != NULL);
  for (size_t k = 0; k < node->n_out; k++)
    REQUIRE(node->out[k] != NULL);
  for (size_t k = 0; k < node->n_attr; k++)
    require_attr(node, &node->attr[k]);
}

static void
require_ports(const clarke_model_port *ports, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    REQUIRE(ports[i].name != NULL && *ports[i].name != '\0');
    REQUIRE(ports[i].rank <= CLARKE_MAX_RANK && (ports[i].shaped || ports[i].rank == 0));
    for (size_t k = 0; k < ports[i].rank; k++)
      REQUIRE(ports[i].dims[k] >= -1);
  }
}

static void
require_model(const clarke_model *m)
{
  REQUIRE(strcmp(m->file, "x.onnx") == 0 && m->opset > 0);
  for (size_t i = 0; i < m->n_tensors; i++)
    require_entries(&m->tensors[i]);
  for (size_t i = 0; i < m->n_nodes; i++)
    require_node(&m->nodes[i]);
  require_ports(m->inputs, m->n_inputs);
  require_ports(m->outputs, m->n_outputs);
}

/* The folder of the models: there is one file beside them, "w", of 64 bytes. */
static char folder[] = "/tmp/clarke-fuzz-XXXXXX", beside[64], model[64];

static void
remove_folder(void)
{
  unlink(beside);
  rmdir(folder);
}

static void
make_folder(void)
{
  FILE *f;

  REQUIRE(mkdtemp(folder) != NULL);
  snprintf(beside, sizeof beside, "%s/w", folder);
  snprintf(model, sizeof model, "%s/x.onnx", folder);
  f = fopen(beside, "wb");
  REQUIRE(f != NULL);
  for (int k = 0; k < 64; k++)
    putc(k % 4 == 3 ? 63 : k, f);
  fclose(f);
  atexit(remove_folder);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_model m;
  clarke_error err = { CLARKE_OK, "" };
  clarke_status status;

  if (*model == '\0')
    make_folder();
  clarke_model_init(&m);
  status = clarke_onnx_parse_at(&m, data, size, model, &err);
  if (status == CLARKE_OK)
    require_model(&m);
  else
    require_refusal(status, &err, "x.onnx: ");
  clarke_model_clear(&m);
  return 0;
}
