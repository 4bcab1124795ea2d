/* A graph that a node holds, as it is read once (bodies.h): what its names stand for. */
#include "network/graph/bodies_inside.h"

#include "base/limit.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static int
by_name(const void *a, const void *b)
{
  return strcmp(((const clarke_own_name *)a)->name, ((const clarke_own_name *)b)->name);
}

clarke_status
clarke_instance_begin(clarke_instance *i, clarke_holder *h, const clarke_body *body, clarke_error *err)
{
  size_t n = body->n_inputs;

  memset(i, 0, sizeof *i);
  i->outer = h->b->within;
  i->body = body;
  for (size_t k = 0; k < body->n_nodes; k++)
    n += body->nodes[k].n_out;
  i->own = calloc(n + 1, sizeof *i->own);
  i->given = calloc(body->n_inputs + 1, sizeof *i->given);
  if (i->own == NULL || i->given == NULL)
    return clarke_lower_no_memory(&h->low, err);
  for (size_t k = 0; k < body->n_inputs; k++)
    i->own[i->n_own++] = (clarke_own_name){body->inputs[k].name, k};
  for (size_t k = 0; k < body->n_nodes; k++)
    for (size_t o = 0; o < body->nodes[k].n_out; o++)
      if (body->nodes[k].out[o][0] != '\0' && !body->nodes[k].promoted) /* that is an initializer, one for all rounds */
        i->own[i->n_own++] = (clarke_own_name){body->nodes[k].out[o], CLARKE_NONE};
  qsort(i->own, i->n_own, sizeof *i->own, by_name);
  return CLARKE_OK;
}

void
clarke_instance_end(clarke_instance *i, clarke_holder *h)
{
  for (size_t k = 0; i->given != NULL && k < i->body->n_inputs; k++)
    free(i->given[k]);
  free(i->given);
  free(i->own);
  free(i->suffix);
  h->b->within = i->outer;
}

bool
clarke_instance_suffix(clarke_instance *i, bool round, size_t k)
{
  const char *outer = i->outer != NULL ? i->outer->suffix : "";

  free(i->suffix);
  i->suffix = round ? clarke_text_print("%s/%zu", outer, k) : strdup(outer);
  return i->suffix != NULL;
}

char *
clarke_instance_name(const clarke_instance *i, const char *name)
{
  const clarke_own_name key = {name, 0}, *found = NULL;

  for (; i != NULL && *name != '\0'; i = i->outer) {
    found = i->n_own > 0 ? bsearch(&key, i->own, i->n_own, sizeof key, by_name) : NULL;
    if (found != NULL)
      break;
  }
  if (found == NULL)
    return strdup(name);
  return found->input != CLARKE_NONE ? strdup(i->given[found->input]) : clarke_text_print("%s%s", name, i->suffix);
}

static bool
copy_names(char ***to, char *const *from, size_t n, const clarke_instance *i)
{
  bool room = true;

  *to = calloc(n + 1, sizeof **to);
  for (size_t k = 0; *to != NULL && k < n; k++) {
    (*to)[k] = clarke_instance_name(i, from[k]);
    room = room && (*to)[k] != NULL;
  }
  return room && *to != NULL;
}

static void
free_names(char **names, size_t n)
{
  for (size_t k = 0; names != NULL && k < n; k++)
    free(names[k]);
  free(names);
}

static clarke_status
count(clarke_holder *h, size_t n, clarke_error *err)
{
  h->b->n_within += n;
  if (h->b->n_within + h->b->m->n_nodes > clarke_limit_of(CLARKE_LIMIT_NODES))
    return clarke_limit_fail(err, CLARKE_LIMIT_NODES,
                             "%s: node %zu '%s' (%s): with its graph, round after round, a network of %zu nodes or more",
                             h->low.graph->file, h->low.place, h->low.node->name, h->low.node->op_type,
                             h->b->n_within + h->b->m->n_nodes);
  return CLARKE_OK;
}

/* The node, with the names that its graph's have now. */
static clarke_status
lower_copy(clarke_holder *h, const clarke_instance *i, const clarke_model_node *node, clarke_error *err)
{
  clarke_model_node copy = *node;
  const size_t first = h->low.graph->n_values;
  const bool named = strcmp(node->op_type, "Constant") == 0;
  bool room = copy_names(&copy.in, node->in, node->n_in, i);
  clarke_status status;

  room = copy_names(&copy.out, node->out, node->n_out, i) && room;
  copy.name = node->name[0] != '\0' ? clarke_text_print("%s%s", node->name, i->suffix) : strdup("");
  copy.within = true;
  status = room && copy.name != NULL ? clarke_builder_node(h->b, &copy, h->low.place, err)
                                     : clarke_lower_no_memory(&h->low, err);
  for (size_t v = first; v < h->low.graph->n_values; v++)
    h->low.graph->values[v].within = h->low.graph->values[v].constant && (!named || i->suffix[0] != '\0');
  free_names(copy.in, node->n_in);
  free_names(copy.out, node->n_out);
  free(copy.name);
  return status;
}

clarke_status
clarke_instance_run(clarke_instance *i, clarke_holder *h, clarke_error *err)
{
  clarke_status status = count(h, i->body->n_nodes + 1, err);

  h->b->within = i;
  for (size_t k = 0; k < i->body->n_nodes && status == CLARKE_OK; k++)
    status = i->body->nodes[k].promoted ? CLARKE_OK : lower_copy(h, i, &i->body->nodes[k], err);
  return status;
}

clarke_status
clarke_holder_body(const clarke_holder *h, const char *name, size_t n_in, size_t n_out, const clarke_body **body,
                   clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(h->low.node, name);

  if (attr == NULL || attr->g == NULL)
    return clarke_lower_fail(&h->low, err, "it has no graph '%s'", name);
  *body = attr->g;
  if (attr->g->n_inputs == n_in && attr->g->n_outputs == n_out)
    return CLARKE_OK;
  return clarke_lower_fail(&h->low, err, "its graph '%s' takes %zu values and gives %zu; expected %zu and %zu", name,
                           attr->g->n_inputs, attr->g->n_outputs, n_in, n_out);
}

clarke_status
clarke_holder_value(const clarke_holder *h, const char *name, size_t *value, clarke_error *err)
{
  *value = name != NULL ? clarke_builder_find(h->b, name) : CLARKE_NONE;
  if (name == NULL)
    return clarke_lower_no_memory(&h->low, err);
  return *value != CLARKE_NONE ? CLARKE_OK : clarke_lower_fail(&h->low, err, "'%s' is computed by no node before it", name);
}

clarke_status
clarke_instance_output(const clarke_instance *i, const clarke_holder *h, size_t k, size_t *value, clarke_error *err)
{
  char *name = clarke_instance_name(i, i->body->outputs[k].name);
  const clarke_status status = clarke_holder_value(h, name, value, err);

  free(name);
  return status;
}

bool
clarke_holder_is_true(const clarke_value *v, bool *known)
{
  *known = v->constant && v->integer != NULL && v->dtype == CLARKE_BOOL && v->count == 1;
  return *known && v->integer[0] != 0;
}

clarke_status
clarke_instance_give(clarke_instance *i, clarke_holder *h, size_t k, size_t value, clarke_error *err)
{
  char *name = clarke_text_print("%s%s", i->body->inputs[k].name, i->suffix);

  free(i->given[k]);
  i->given[k] = name;
  if (name == NULL)
    return clarke_lower_no_memory(&h->low, err);
  free(h->low.graph->values[value].name);
  h->low.graph->values[value].name = strdup(name);
  return h->low.graph->values[value].name != NULL ? clarke_builder_bind(h->b, name, value, err)
                                                  : clarke_lower_no_memory(&h->low, err);
}

size_t
clarke_holder_axes(const clarke_holder *h, size_t value, size_t dims[CLARKE_MAX_WHOLE])
{
  clarke_lowering low = h->low;

  low.in = &value;
  low.n_in = 1;
  return clarke_axes_of_run(&low, 0, dims);
}
