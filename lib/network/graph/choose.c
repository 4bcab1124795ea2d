#define _GNU_SOURCE /* tdestroy */
/* From the last node to the first: one whose output is needed is kept, and then its inputs are needed. A reader has made sure that
 * each name is defined once, so what is kept means what it meant. */
#include "network/graph/choose.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
compare(const void *a, const void *b)
{
  return strcmp(a, b);
}

static void
keep_name(void *name)
{
  (void)name; /* the model's */
}

clarke_status
clarke_output_is_one(const clarke_model *m, clarke_error *err)
{
  char list[400] = "";

  if (m->n_outputs == 1)
    return CLARKE_OK;
  for (size_t i = 0; i < m->n_outputs; i++) {
    const size_t used = strlen(list);
    const int n = snprintf(list + used, sizeof list - used, "%s'%s'", i > 0 ? ", " : ": ", m->outputs[i].name);

    if (n < 0 || (size_t)n >= sizeof list - used) {
      snprintf(list + used, sizeof list - used, "%s", sizeof list - used > 6 ? ", ..." : "");
      break;
    }
  }
  return clarke_fail(err, CLARKE_EINPUT, "%s: %zu outputs%s; one is asked about: name it by --output NAME (docs/operators.md, \"Several "
                     "outputs\")", m->file, m->n_outputs, list);
}

static clarke_status
keep_output(clarke_model *m, const char *name, clarke_error *err)
{
  clarke_error outputs;
  size_t found = 0;

  while (found < m->n_outputs && strcmp(m->outputs[found].name, name) != 0)
    found++;
  if (found == m->n_outputs && m->n_outputs == 1)
    return clarke_fail(err, CLARKE_EINPUT, "%s: no output '%s'; its output is '%s'", m->file, name, m->outputs[0].name);
  if (found == m->n_outputs) {
    clarke_output_is_one(m, &outputs);
    return clarke_fail(err, CLARKE_EINPUT, "no output '%s'. %s", name, outputs.text);
  }
  for (size_t i = 0; i < m->n_outputs; i++)
    if (i != found)
      free(m->outputs[i].name);
  m->outputs[0] = m->outputs[found];
  m->n_outputs = 1;
  return CLARKE_OK;
}

static bool
is_among(void *const *names, const char *name)
{
  return tfind(name, names, compare) != NULL;
}

static bool
add(void **names, const char *name)
{
  return *name == '\0' || tsearch(name, names, compare) != NULL;
}

/* Which nodes are needed? False when out of memory. */
static bool
find_needed(bool *needed, void **names, const clarke_model *m)
{
  bool room = add(names, m->outputs[0].name);

  for (size_t i = m->n_nodes; i-- > 0 && room;) {
    const clarke_model_node *n = &m->nodes[i];

    needed[i] = false;
    for (size_t k = 0; k < n->n_out && !needed[i]; k++)
      needed[i] = is_among(names, n->out[k]);
    for (size_t k = 0; k < n->n_in && needed[i] && room; k++)
      room = add(names, n->in[k]);
  }
  return room;
}

/* Initializers that nothing needs stay, read by no node; a checkpoint has them, too. */
static clarke_status
list_left_out(clarke_model *m, void *const *names, clarke_error *err)
{
  m->left_out = calloc(m->n_tensors + 1, sizeof *m->left_out);
  if (m->left_out == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < m->n_tensors; i++) {
    if (is_among(names, m->tensors[i].name))
      continue;
    m->left_out[m->n_left_out] = strdup(m->tensors[i].name);
    if (m->left_out[m->n_left_out++] == NULL)
      return clarke_no_memory(err);
  }
  return CLARKE_OK;
}

clarke_status
clarke_output_choose(clarke_model *m, const char *name, clarke_error *err)
{
  void *names = NULL;
  bool *needed;
  clarke_status status = name == NULL ? clarke_output_is_one(m, err) : keep_output(m, name, err);

  if (name == NULL || status != CLARKE_OK)
    return status;
  needed = malloc((m->n_nodes + 1) * sizeof *needed);
  if (needed != NULL && find_needed(needed, &names, m))
    status = list_left_out(m, &names, err);
  else
    status = clarke_no_memory(err);
  tdestroy(names, keep_name);
  if (status == CLARKE_OK)
    clarke_model_keep_nodes(m, needed);
  free(needed);
  return status;
}
