#include "session/sample.h"

#include "base/limit.h"
#include "network/graph/build.h"

#include <string.h>

clarke_status
clarke_sample_zeros(clarke_tensor *x, const clarke_model *m, clarke_error *err)
{
  const clarke_model_port *port = m->inputs;
  size_t dims[CLARKE_MAX_RANK], count = 1, most = clarke_limit_of(CLARKE_LIMIT_ENTRIES);

  if (m->n_inputs != 1)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %zu inputs; expected one", m->file, m->n_inputs);
  if (!port->shaped || port->rank == 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: input '%s' has no declared shape", m->file, port->name);
  for (size_t k = 0; k < port->rank; k++) {
    if (port->dims[k] <= 0 && k > 0)
      return clarke_fail(err, CLARKE_EINPUT, "%s: axis %zu of input '%s' has no declared length", m->file, k, port->name);
    dims[k] = port->dims[k] <= 0 ? 1 : (size_t)port->dims[k];
    if (dims[k] > most / count)
      return clarke_limit_fail(err, CLARKE_LIMIT_ENTRIES, "%s: the entries of input '%s'", m->file, port->name);
    count *= dims[k];
  }
  return clarke_tensor_shape(x, "x", CLARKE_F64, port->rank, dims, err);
}

void
clarke_sample_lift(clarke_tensor *x, const clarke_model *m)
{
  const clarke_model_port *port = m->inputs;

  if (!port->shaped || port->rank != x->rank + 1 || port->dims[0] > 1 || !clarke_port_fits(port, 1, x->dims, x->rank))
    return;
  memmove(x->dims + 1, x->dims, x->rank * sizeof *x->dims);
  x->dims[0] = 1;
  x->rank++;
}
