/* AD's gradient of the whole minibatch's loss under the profile, and the loss itself. */
#include "session/gradient.h"

#include "network/reverse.h"
#include "network/sink.h"
#include "format/safetensors_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRECISION_FIRST 128
#define PRECISION_LAST 1024
/* An output is told well enough where its radius is so small a part of the largest. */
#define TOLD 0x1p-40

/* Reverse mode over the whole batch: gradient[p] by parameter. */
static clarke_status
whole_gradient(clarke_matrix *gradient, const clarke_forward *f, const clarke_audit_session *s,
               clarke_error *err)
{
  const clarke_graph *g = &s->graph;
  clarke_matrix *grad = clarke_matrices_new(g->n_values);
  clarke_slopes slopes;
  clarke_status status = grad != NULL ? CLARKE_OK
                                      : clarke_no_memory(err);

  clarke_slopes_init(&slopes);
  if (status == CLARKE_OK)
    status = clarke_slopes_of_ad(&slopes, f, &s->replay, &s->profile, err);
  if (status == CLARKE_OK)
    status = clarke_loss_seed(&grad[g->output], &s->question.loss, f, NULL, err);
  if (status == CLARKE_OK)
    status = clarke_reverse_run(grad, f, &slopes, CLARKE_NONE, clarke_gradient_sink, gradient, err);
  clarke_matrices_free(grad, g->n_values);
  clarke_slopes_clear(&slopes);
  return status;
}

/* The gradient's midpoints, rounded to float64, with the parameters' names and shapes. */
static clarke_status
write_gradient(const char *path, const clarke_matrix *gradient, const clarke_graph *g,
               clarke_error *err)
{
  clarke_tensors ts;
  clarke_status status = CLARKE_OK;

  clarke_tensors_init(&ts);
  ts.tensor = calloc(g->n_parameters + 1, sizeof *ts.tensor);
  if (ts.tensor == NULL)
    return clarke_no_memory(err);
  for (size_t p = 0; p < g->n_parameters && status == CLARKE_OK; p++) {
    clarke_tensor *t = &ts.tensor[ts.n];

    if (!g->parameters[p].wrt)
      continue;
    clarke_tensor_init(t);
    ts.n++;
    status = clarke_tensor_shape(t, g->parameters[p].name, CLARKE_F64, g->parameters[p].rank,
                                 g->parameters[p].dims, err);
    for (size_t e = 0; status == CLARKE_OK && e < t->count && gradient[p].rows > 0; e++)
      t->real[e] = clarke_matrix_get_double(&gradient[p], e, 0);
  }
  if (status == CLARKE_OK)
    status = clarke_safetensors_write(path, &ts, err);
  clarke_tensors_clear(&ts);
  return status;
}

static clarke_status
value_text(clarke_audit_session *s, const clarke_forward *f, clarke_error *err)
{
  const clarke_matrix *out = &f->value[s->graph.output];
  clarke_status status;

  s->loss_exact = out->radius == NULL && clarke_loss_is_rational(&s->question.loss);
  if (s->loss_exact) {
    mpq_t q;

    mpq_init(q);
    status = clarke_loss_exact(q, &s->question.loss, f, err);
    if (status == CLARKE_OK)
      s->loss_value = mpq_get_str(NULL, 10, q);
    mpq_clear(q);
  } else {
    arb_t ball;

    arb_init(ball);
    status = clarke_loss_value(ball, &s->question.loss, f, err);
    if (status == CLARKE_OK)
      s->loss_value = arb_get_str(ball, 20, ARB_STR_NO_RADIUS);
    arb_clear(ball);
  }
  s->valued = status == CLARKE_OK;
  return status;
}

/* Are the outputs' enclosures narrow? */
static bool
is_told(const clarke_forward *pass)
{
  const clarke_matrix *out = &pass->value[pass->g->output];
  double most = 0, widest = 0;

  for (size_t e = 0; out->radius != NULL && e < out->rows * out->cols; e++) {
    most = fmax(most, fabs(clarke_matrix_get_double(out, e / out->cols, e % out->cols)));
    widest = fmax(widest, out->radius[e]);
  }
  return widest <= most * TOLD;
}

/* All samples, at growing precision while entries are open, or outputs vague. */
static clarke_status
run_all(clarke_forward *pass, clarke_audit_session *s, clarke_error *err)
{
  long precision = PRECISION_FIRST;
  clarke_status status;

  do {
    clarke_forward_clear(pass);
    status = clarke_replay_all(pass, &s->replay, true, precision, err);
    precision = 2 * pass->precision;
  } while (status == CLARKE_OK && (pass->open > 0 || !is_told(pass)) && precision <= PRECISION_LAST);
  return status;
}

clarke_status
clarke_audit_pass(clarke_forward *pass, clarke_audit_session *s, clarke_error *err)
{
  clarke_status status;

  free(s->loss_value);
  s->loss_value = NULL;
  s->valued = false;
  status = run_all(pass, s, err);
  return status == CLARKE_OK ? value_text(s, pass, err) : status;
}

clarke_status
clarke_audit_gradient(bool *known, clarke_matrix *gradient, clarke_audit_session *s, clarke_error *err)
{
  clarke_forward pass;
  clarke_status status;

  *known = false;
  clarke_forward_init(&pass);
  status = clarke_audit_pass(&pass, s, err);
  if (status == CLARKE_OK && s->replay.open == 0 && pass.open == 0) {
    status = whole_gradient(gradient, &pass, s, err);
    *known = status == CLARKE_OK;
  }
  clarke_forward_clear(&pass);
  return status;
}

clarke_status
clarke_audit_save_gradient(bool *written, clarke_audit_session *s, const char *path, clarke_error *err)
{
  clarke_matrix *gradient = clarke_matrices_new(s->graph.n_parameters);
  clarke_status status = gradient != NULL ? clarke_audit_gradient(written, gradient, s, err)
                                          : clarke_no_memory(err);

  if (status == CLARKE_OK && *written)
    status = write_gradient(path, gradient, &s->graph, err);
  if (gradient != NULL)
    clarke_matrices_free(gradient, s->graph.n_parameters);
  return status;
}
