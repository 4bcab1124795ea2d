/* Nodes that hold graphs (bodies.h), and the If among them. */
#include "network/graph/bodies.h"

#include "base/text.h"
#include "network/graph/bodies_inside.h"
#include "op/node.h"

#include <stdlib.h>
#include <string.h>

static clarke_status
give_all(clarke_holder *h, const size_t *value, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < h->low.node->n_out && status == CLARKE_OK; k++)
    if (h->low.node->out[k][0] != '\0')
      status = clarke_inner_done(&h->low, k, value[k], err);
  return status == CLARKE_OK ? clarke_builder_outputs(h->b, &h->low, err) : status;
}

/* --- If --- */

static clarke_status
run_branch(clarke_holder *h, const char *name, size_t *value, clarke_error *err)
{
  const size_t n = h->low.node->n_out;
  const clarke_body *body = NULL;
  clarke_instance i;
  clarke_status status = clarke_holder_body(h, name, 0, n, &body, err);

  if (status != CLARKE_OK)
    return status;
  status = clarke_instance_begin(&i, h, body, err);
  if (status == CLARKE_OK && !clarke_instance_suffix(&i, false, 0))
    status = clarke_lower_no_memory(&h->low, err);
  if (status == CLARKE_OK)
    status = clarke_instance_run(&i, h, err);
  for (size_t k = 0; k < n && status == CLARKE_OK; k++)
    status = clarke_instance_output(&i, h, k, &value[k], err);
  clarke_instance_end(&i, h);
  return status;
}

/* Both branches, and of them what a condition that is computed of activations chooses: it jumps where that does. */
static clarke_status
choose_branches(clarke_holder *h, size_t condition, size_t *value, size_t *other, clarke_error *err)
{
  size_t dims[2][CLARKE_MAX_WHOLE], one[CLARKE_MAX_WHOLE], rank;
  clarke_status status = run_branch(h, "then_branch", value, err);

  if (status == CLARKE_OK)
    status = run_branch(h, "else_branch", other, err);
  for (size_t k = 0; k < h->low.node->n_out && status == CLARKE_OK; k++) {
    rank = clarke_holder_axes(h, value[k], dims[0]);
    if (clarke_holder_axes(h, other[k], dims[1]) != rank || memcmp(dims[0], dims[1], rank * sizeof *dims[0]) != 0
        || clarke_holder_axes(h, condition, one) > rank)
      return clarke_lower_fail(&h->low, err,
                               "output %zu has another shape in each branch, and activations choose, or fewer axes than "
                               "the condition: expected one shape", k);
    value[k] = clarke_inner_node(&h->low, "Where", (size_t[]){condition, value[k], other[k]}, 3, NULL, 0, err);
    if (value[k] == CLARKE_NONE)
      status = clarke_inner_failed(err);
  }
  return status;
}

static clarke_status
lower_if(clarke_holder *h, size_t *value, clarke_error *err)
{
  const size_t n = h->low.node->n_out;
  const clarke_graph *g = h->low.graph;
  size_t condition;
  bool known, holds;
  clarke_status status;

  if (h->low.node->own_in != 1)
    return clarke_lower_fail(&h->low, err, "%zu inputs; expected one, the condition", h->low.node->own_in);
  status = clarke_holder_value(h, h->low.node->in[0], &condition, err);
  if (status != CLARKE_OK)
    return status;
  holds = clarke_holder_is_true(&g->values[condition], &known);
  if (known)
    return run_branch(h, holds ? "then_branch" : "else_branch", value, err);
  if (g->values[condition].constant || g->values[condition].holds != CLARKE_HOLDS_TRUTHS || g->values[condition].count != 1
      || (g->batched && !g->values[condition].batch.none && g->together != 1))
    return clarke_lower_fail(&h->low, err, "its condition is not one truth value");
  return choose_branches(h, condition, value, value + n, err);
}

/* --- */

/* What each may have, and from which operator set on it is. */
static const struct {
  const char *op;
  clarke_status (*lower)(clarke_holder *h, size_t *value, clarke_error *err);
  const char *attributes;
} holders[] = {
  {"If", lower_if, " then_branch else_branch "},
  {"Loop", clarke_holder_loop, " body "},
  {"Scan", clarke_holder_scan,
   " body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions "},
};

#define N_HOLDERS (sizeof holders / sizeof *holders)

static size_t
find_holder(const clarke_model_node *node)
{
  size_t i = 0;

  while (i < N_HOLDERS && (node->domain[0] != '\0' || strcmp(holders[i].op, node->op_type) != 0))
    i++;
  return i;
}

bool
clarke_bodies_hold(const clarke_model_node *node)
{
  return find_holder(node) < N_HOLDERS;
}

static clarke_status
check_attributes(const clarke_holder *h, const char *known, clarke_error *err)
{
  for (size_t k = 0; k < h->low.node->n_attr; k++) {
    char *name = clarke_text_print(" %s ", h->low.node->attr[k].name);
    const bool found = name != NULL && strstr(known, name) != NULL;

    free(name);
    if (!found)
      return clarke_lower_fail(&h->low, err, "attribute '%s' is not known here; expected:%s", h->low.node->attr[k].name, known);
  }
  return CLARKE_OK;
}

clarke_status
clarke_bodies_lower(clarke_builder *b, const clarke_model_node *node, size_t own, clarke_error *err)
{
  const size_t i = find_holder(node);
  clarke_holder h = {.b = b, .low = {.graph = b->g, .node = node, .place = own, .opset = b->m->opset}};
  clarke_error local;
  size_t *value = calloc(3 * node->n_out + 1, sizeof *value); /* of the outputs, of another branch's; and for the lowering */
  clarke_status status;

  if (value == NULL)
    return clarke_lower_no_memory(&h.low, err);
  if (err == NULL)
    err = &local;
  h.low.out = value + 2 * node->n_out;
  for (size_t k = 0; k < node->n_out; k++)
    h.low.out[k] = CLARKE_NONE;
  status = check_attributes(&h, holders[i].attributes, err);
  if (status == CLARKE_OK && node->n_out == 0)
    status = clarke_lower_fail(&h.low, err, "it has no output");
  if (status == CLARKE_OK)
    status = holders[i].lower(&h, value, err);
  if (status == CLARKE_OK)
    status = give_all(&h, value, err);
  free(value);
  return status;
}
