#include "network/pass/constants.h"

#include "network/pass/forward.h"

#include <stdlib.h>

static void
shape(const clarke_graph *g, size_t v, size_t *rows, size_t *cols)
{
  const clarke_value *value = &g->values[v];

  *rows = value->count;
  *cols = 1;
  for (size_t i = 0; i < g->n_steps && value->rank == 2; i++)
    if (g->steps[i].kind == CLARKE_DENSE && g->steps[i].dense.weight == v) {
      *rows = value->dims[0];
      *cols = value->dims[1];
    }
}

clarke_status
clarke_constants_begin(clarke_constants *c, const clarke_graph *g, clarke_error *err)
{
  c->g = g;
  c->made = false;
  c->constant = malloc((g->n_values + 1) * sizeof *c->constant);
  if (c->constant == NULL)
    return clarke_no_memory(err);
  for (size_t v = 0; v < g->n_values; v++)
    clarke_matrix_init(&c->constant[v]);
  return CLARKE_OK;
}

clarke_status
clarke_constants_make(clarke_constants *c, clarke_error *err)
{
  const clarke_graph *g = c->g;
  clarke_status status = CLARKE_OK;

  for (size_t v = 0; v < g->n_values && status == CLARKE_OK && !c->made; v++) {
    size_t rows, cols;

    if (!g->values[v].constant || g->values[v].real == NULL)
      continue;
    shape(g, v, &rows, &cols);
    status = clarke_matrix_set_doubles(&c->constant[v], rows, cols, g->values[v].real, err);
    if (status != CLARKE_OK)
      clarke_fail_in(err, status, "%s: tensor '%s'", g->file,
                     g->values[v].name != NULL ? g->values[v].name : "");
  }
  c->made = c->made || status == CLARKE_OK;
  return status;
}

clarke_status
clarke_constants_init(clarke_constants *c, const clarke_graph *g, clarke_error *err)
{
  clarke_status status = clarke_constants_begin(c, g, err);

  return status == CLARKE_OK ? clarke_constants_make(c, err) : status;
}

void
clarke_constants_clear(clarke_constants *c)
{
  for (size_t v = 0; c->constant != NULL && v < c->g->n_values; v++)
    clarke_matrix_clear(&c->constant[v]);
  free(c->constant);
  c->constant = NULL;
}
