/* Gradient descent on one minibatch, in floats: the gradient is that of sweep_floats.c, and so are its rounded operations. */
#include "session/sweep_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
clarke_sweep_training_clear(clarke_sweep_training *t)
{
  clarke_tensors_clear(&t->weights);
  memset(t, 0, sizeof *t);
}

/* The drawn weights, as numbers of the format. */
static clarke_status
begin(clarke_sweep_training *t, clarke_graph *g, clarke_error *err)
{
  clarke_status status = clarke_sweep_draw(g, *t->q.seed, err);
  clarke_ieee_unit u;

  clarke_tensors_init(&t->weights);
  if (status == CLARKE_OK)
    status = clarke_checkpoint_of(&t->weights, g, err);
  clarke_ieee_begin(&u, t->format);
  for (size_t p = 0; status == CLARKE_OK && p < t->weights.n; p++)
    for (size_t e = 0; e < t->weights.tensor[p].count; e++)
      t->weights.tensor[p].real[e] = clarke_ieee_round(&u, t->weights.tensor[p].real[e]);
  clarke_ieee_end(&u);
  return status;
}

clarke_status
clarke_sweep_training_ask(clarke_audit_session *s, clarke_sweep_training *t, clarke_error *err)
{
  clarke_status status = clarke_audit_session_read(s, &t->q.ask, err);

  if (status == CLARKE_OK && t->weights.n == 0)
    status = begin(t, &s->graph, err);
  if (status == CLARKE_OK)
    status = clarke_graph_replace(&s->graph, t->weights.tensor, t->weights.n, "weights of a training", err);
  if (status == CLARKE_OK)
    status = clarke_audit_session_ask(s, &t->q.ask, err);
  if (status == CLARKE_OK && s->stopped != NULL)
    status = clarke_fail(err, CLARKE_ESTOPPED, "%s", s->stopped);
  return status;
}

static void
move(clarke_sweep_training *t, const clarke_graph *g, const double *gradient)
{
  clarke_ieee_unit u;
  size_t at = 0;

  clarke_ieee_begin(&u, t->format);
  for (size_t p = 0; p < g->n_parameters; p++)
    for (size_t e = 0; g->parameters[p].wrt && e < g->parameters[p].count; e++) {
      double *w = &t->weights.tensor[p].real[e];

      *w = clarke_ieee_add(&u, *w, -clarke_ieee_mul(&u, t->rate, gradient[at++]));
      t->left = t->left || !isfinite(*w);
    }
  clarke_ieee_end(&u);
}

clarke_status
clarke_sweep_training_step(clarke_sweep_training *t, const clarke_audit_session *s, clarke_error *err)
{
  clarke_sweep_floats f = {0};
  const clarke_status status = clarke_sweep_replay(&f, s, &t->q, t->format, err);

  if (status == CLARKE_OK)
    move(t, &s->graph, f.gradient[0]);
  clarke_sweep_floats_clear(&f, &t->q);
  return status;
}

clarke_status
clarke_sweep_training_right(size_t *right, const clarke_sweep_training *t, const clarke_audit_session *s, clarke_error *err)
{
  const size_t outputs = s->graph.values[s->graph.output].count;
  double *output = calloc(s->x->dims[0] * outputs + 1, sizeof *output);
  clarke_floats *f = NULL;
  clarke_status status = output != NULL ? clarke_floats_new(&f, &s->graph, s->x, t->format, err) : clarke_no_memory(err);

  *right = 0;
  for (size_t j = 0; status == CLARKE_OK && s->loss.kind == CLARKE_LOSS_CE && j < s->x->dims[0]; j++) {
    const double *y = output + j * outputs;
    size_t most = 0;

    if (j % clarke_floats_together(f) == 0)
      status = clarke_floats_forward(f, output + j * outputs, j, err);
    for (size_t i = 1; i < outputs; i++)
      most = y[i] > y[most] ? i : most;
    *right += most == clarke_loss_label(&s->loss, j);
  }
  clarke_floats_free(f);
  free(output);
  return status;
}
