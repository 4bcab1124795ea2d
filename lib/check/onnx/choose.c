/* What one output needs: from the last node to the first, a node one of whose outputs is needed, and then its inputs. The file
 * defines each name once, and before it is read, so nothing else can change what the output is. */
#include "check/onnx/choose.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"

#include <stdlib.h>
#include <string.h>

static bool
is_needed(const node *n, const name_index *needed)
{
  bool some = false;
  for (size_t i = 0; i < n->n_out; i++)
    some = some || name_find(needed, n->out[i]) != NONE;
  return some;
}

/* Moves the nodes that are needed to the front, in their order. */
static void
keep_nodes(model *m, name_index *needed)
{
  size_t first = m->n_nodes;
  for (size_t i = m->n_nodes; i-- > 0;) {
    node n = m->nodes[i];
    if (!is_needed(&n, needed))
      continue;
    for (size_t k = 0; k < n.n_in; k++)
      if (*n.in[k] != '\0')
        name_add(needed, n.in[k]);
    m->nodes[--first] = n;
  }
  m->n_nodes -= first;
  memmove(m->nodes, m->nodes + first, m->n_nodes * sizeof *m->nodes);
}

void
read_output(model *m)
{
  name_index needed = {0};
  size_t i = 0;
  if (!line_is("output"))
    return;
  char *name = next_name();
  while (i < m->n_outputs && strcmp(m->outputs[i].name, name) != 0)
    i++;
  require(i < m->n_outputs, "the model has no output '%s'", name);
  m->n_choices = m->n_outputs;
  m->outputs[0] = m->outputs[i];
  m->n_outputs = 1;
  name_add(&needed, m->outputs[0].name);
  keep_nodes(m, &needed);
  for (size_t t = 0; t < m->n_tensors; t++)
    m->tensors[t]->unread = name_find(&needed, m->tensors[t]->name) == NONE;
  name_index_free(&needed);
  free(name);
}
