/* Recorded gradients (certify.h). */
#include "trace/certify/certify.h"
#include "trace/bound/rounding_loss.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"

#include <stdlib.h>

/* The gradient of a step's output is whole; the loss's own, at the network's output, is not multiplied yet. */
static clarke_status
visit(void *context, clarke_matrix *g, size_t step, clarke_error *err)
{
  clarke_certify *c = context;
  const clarke_step *s = &c->g->steps[step];
  double *error = NULL;
  clarke_status status = CLARKE_OK;

  if (c->g->values[s->out].name != NULL && !clarke_certify_is_loss(c, step) && !clarke_certify_is_passed_on(c, s->out))
    status = clarke_certify_gradient(&error, c, s->out, s->op->name, g, err);
  if (status == CLARKE_OK)
    status = clarke_roundback_step(&c->back, step, error, err);
  free(error);
  return status;
}

/* The gradient of a constant, in its own entries. */
static clarke_status
sink(void *context, const clarke_forward *f, const clarke_step *step, size_t operand, const clarke_matrix *g, clarke_error *err)
{
  clarke_certify *c = context;
  clarke_matrix made;
  size_t value;
  clarke_status status;

  clarke_matrix_init(&made);
  status = clarke_constant_gradient(&made, &value, f, step, operand, g, err);
  if (status == CLARKE_OK && c->grad[value].rows == 0)
    clarke_matrix_swap(&c->grad[value], &made);
  else if (status == CLARKE_OK)
    status = clarke_matrix_add(&c->grad[value], &c->grad[value], &made, err);
  clarke_matrix_clear(&made);
  return status;
}

/* A parameter's gradient is the sum of what its constants have; 0 where nothing reads it. */
static clarke_status
certify_parameter(clarke_certify *c, size_t q, clarke_error *err)
{
  const clarke_graph *g = c->g;
  clarke_rounding_sum sum = {.error = NULL};
  clarke_matrix whole;
  bool conv = false;
  clarke_status status;

  clarke_matrix_init(&whole);
  status = clarke_rounding_sum_init(&sum, g->parameters[q].count) ? CLARKE_OK : clarke_no_memory(err);
  for (size_t v = 0; v < g->n_values && status == CLARKE_OK; v++) {
    if (!g->values[v].constant || g->values[v].parameter != q || c->back.sum[v].error == NULL || c->grad[v].rows == 0)
      continue;
    clarke_roundback_fold(&sum, g->parameters[q].count, &c->back, v, g->values[v].origin);
    status = clarke_certify_join(&whole, g->parameters[q].count, &c->grad[v], g->values[v].origin, err);
    conv = conv || clarke_certify_read_by_conv(g, v);
  }
  if (status == CLARKE_OK && whole.rows == 0)
    status = clarke_matrix_resize(&whole, g->parameters[q].count, 1, 1, err);
  if (status == CLARKE_OK)
    status = clarke_certify_parameter(c, q, &whole, &sum, conv, err);
  clarke_rounding_sum_clear(&sum);
  clarke_matrix_clear(&whole);
  return status;
}

clarke_status
clarke_certify_seed(clarke_certify *c, bool alone, clarke_error *err)
{
  clarke_matrix *out = &c->grad[c->g->output];
  clarke_status status = clarke_loss_seed(out, c->loss, &c->pass, NULL, err);

  if (status == CLARKE_OK)
    status = clarke_roundback_begin(&c->back, &c->rounded, c->grad, clarke_up_rational(c->scale), alone, err);
  if (status != CLARKE_OK)
    return status;
  clarke_roundback_seed(&c->back);
  c->back.scale = 1; /* from here on the numbers are multiplied themselves */
  return clarke_matrix_scale(out, out, c->scale, err);
}

clarke_status
clarke_certify_backward(clarke_certify *c, clarke_error *err)
{
  const clarke_graph *g = c->g;
  clarke_status status = clarke_certify_seed(c, false, err);

  if (status == CLARKE_OK)
    status = clarke_reverse_visited(c->grad, &c->pass, &c->slopes, visit, sink, c, err);
  if (status == CLARKE_OK)
    status = clarke_certify_constants_back(c, err);
  for (size_t q = 0; q < g->n_parameters && status == CLARKE_OK; q++)
    if (g->parameters[q].wrt)
      status = certify_parameter(c, q, err);
  return status;
}
