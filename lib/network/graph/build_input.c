/* The input of a graph being built: does the batch fit the model's port? */
#include "network/graph/build.h"
#include "base/limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
clarke_port_fits(const clarke_model_port *port, size_t skip, const size_t *dims, size_t n)
{
  if (port->rank != n + skip)
    return false;
  for (size_t a = 0; a < n; a++)
    if (port->dims[a + skip] > 0 && (size_t)port->dims[a + skip] != dims[a])
      return false;
  return true;
}

/* May the port's first axis be the batch? */
static bool
first_axis_is_free(const clarke_model_port *port, size_t batch)
{
  return port->rank >= 1 && (port->dims[0] <= 1 || (size_t)port->dims[0] == batch);
}

/* x of shape (batch, n) for a declared sample of n entries on several axes. */
static bool
flat_fits(const clarke_model_port *port, const clarke_tensor *x)
{
  size_t count = 1;

  for (size_t a = 1; a < port->rank; a++) {
    if (port->dims[a] <= 0 || count > CLARKE_MAX_ENTRIES / (size_t)port->dims[a])
      return false;
    count *= (size_t)port->dims[a];
  }
  return x->rank == 2 && x->dims[1] == count;
}

bool
clarke_port_takes(const clarke_model_port *port, const clarke_tensor *x, bool *batched, bool *flat)
{
  const bool axes = clarke_port_fits(port, 1, x->dims + 1, x->rank - 1) && first_axis_is_free(port, x->dims[0]);
  const bool apart = !axes && clarke_port_fits(port, 0, x->dims + 1, x->rank - 1);

  *flat = !axes && !apart && first_axis_is_free(port, x->dims[0]) && flat_fits(port, x);
  *batched = axes || *flat;
  return axes || apart || *flat;
}

void
clarke_port_describe(const clarke_model_port *port, char *text, size_t size)
{
  size_t at = 0;

  text[0] = '\0';
  for (size_t a = 0; a < port->rank && at + 24 < size; a++)
    at += (size_t)snprintf(text + at, size - at, port->dims[a] > 0 ? "%s%lld" : "%s?",
                           a > 0 ? ", " : "", (long long)port->dims[a]);
}

/* The integers of a single run's input may be places, which a graph is built with. */
static clarke_status
keep_integers(clarke_value *v, const clarke_tensor *x, clarke_error *err)
{
  v->integer = malloc((x->count + 1) * sizeof *v->integer);
  if (v->integer == NULL)
    return clarke_no_memory(err);
  memcpy(v->integer, x->integer, x->count * sizeof *v->integer);
  v->dtype = x->dtype;
  return CLARKE_OK;
}

clarke_status
clarke_builder_input(clarke_builder *b, const clarke_tensor *x, clarke_error *err)
{
  const clarke_model_port *port = &b->m->inputs[0];
  clarke_value *v;
  char shape[256];
  bool flat;

  if (x->rank < 1 || x->count == 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: expected a first axis of one or more samples, of one or more entries each",
                       x->name != NULL ? x->name : "x");
  if (!port->shaped)
    return clarke_fail(err, CLARKE_EINPUT, "%s: input '%s' declares no shape", b->m->file, port->name);
  if (!clarke_port_takes(port, x, &b->g->batched, &flat)) {
    clarke_port_describe(port, shape, sizeof shape);
    return clarke_fail(err, CLARKE_EINPUT, "%s: input '%s' has shape (%s); the batch has samples of "
                       "%zu entries on %zu axes, which do not fit", b->m->file, port->name, shape,
                       x->count / x->dims[0], x->rank - 1);
  }
  v = clarke_builder_value(b, port->name, err);
  if (v == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  v->rank = flat ? port->rank - 1 : x->rank - 1;
  for (size_t a = 0; a < v->rank; a++)
    v->dims[a] = flat ? (size_t)port->dims[a + 1] : x->dims[a + 1];
  v->count = x->count / x->dims[0];
  b->g->samples = x->dims[0];
  b->g->together = b->g->batched && (!port->shaped || port->dims[0] != 1) ? x->dims[0] : 1;
  if (x->count > clarke_limit_of(CLARKE_LIMIT_ENTRIES))
    return clarke_limit_fail(err, CLARKE_LIMIT_ENTRIES, "x: %zu entries", x->count);
  b->g->activations = x->count;
  b->g->input = b->g->n_values - 1;
  return x->integer != NULL && !b->g->batched && x->dims[0] == 1 ? keep_integers(v, x, err) : CLARKE_OK;
}
