/* What our own passes do on a network's batch, counted as they run: the exact pass, and reverse mode from the sum of its outputs. */
#include "session/cost.h"

#include "network/derive/reverse.h"
#include "network/derive/sink.h"

#include <stdlib.h>
#include <string.h>

#define PRECISION 128

static clarke_status
seed_ones(clarke_matrix *grad, const clarke_matrix *output, clarke_error *err)
{
  const size_t n = output->rows * output->cols;
  double *one = malloc((n + 1) * sizeof *one);
  clarke_status status;

  if (one == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < n; e++)
    one[e] = 1;
  status = clarke_matrix_set_doubles(grad, output->rows, output->cols, one, err);
  free(one);
  return status;
}

static clarke_status
count_backward(const clarke_forward *pass, clarke_audit_session *s, clarke_error *err)
{
  const clarke_graph *g = pass->g;
  clarke_matrix *grad = clarke_matrices_new(g->n_values), *gradient = clarke_matrices_new(g->n_parameters);
  clarke_slopes slopes;
  clarke_status status = grad != NULL && gradient != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_slopes_init(&slopes);
  if (status == CLARKE_OK)
    status = clarke_slopes_of_ad(&slopes, pass, &s->replay, &s->profile, err);
  if (status == CLARKE_OK)
    status = seed_ones(&grad[g->output], &pass->value[g->output], err);
  if (status == CLARKE_OK)
    status = clarke_reverse_run(grad, pass, &slopes, CLARKE_NONE, clarke_gradient_sink, gradient, err);
  clarke_slopes_clear(&slopes);
  clarke_matrices_free(grad, g->n_values);
  clarke_matrices_free(gradient, g->n_parameters);
  return status;
}

/* Kinks are found before anything is counted. */
static clarke_status
count_network(clarke_cost_run *run, clarke_audit_session *s, clarke_error *err)
{
  clarke_forward pass;
  clarke_status status;

  clarke_forward_init(&pass);
  status = clarke_replay_run(&s->replay, NULL, &s->graph, s->x, true, 1, err);
  if (status == CLARKE_OK && s->replay.open > 0)
    status = clarke_fail(err, CLARKE_EINPUT, "--at: on which side of its kink an argument lies is not decided, so that no pass can be counted");
  clarke_tally_keep(&run->forward);
  if (status == CLARKE_OK)
    status = clarke_replay_all(&pass, &s->replay, true, PRECISION, err);
  clarke_tally_keep(&run->backward);
  if (status == CLARKE_OK)
    status = count_backward(&pass, s, err);
  clarke_tally_keep(NULL);
  clarke_forward_clear(&pass);
  return status;
}

clarke_status
clarke_cost_run_network(clarke_cost_run *run, clarke_cost_session *s, const clarke_cost_request *r, const char *batch, clarke_error *err)
{
  clarke_file model = {0}, of_batch = {0};
  const clarke_audit_request ask = {.model_path = r->path, .model = &model, .batch_path = batch, .batch = &of_batch, .profile = "pytorch",
                                    .wrt = r->wrt, .output = r->output, .threads = 1};
  const bool recorded = s->loss && s->audit.x != NULL;
  clarke_audit_session of_file;
  clarke_status status;

  *run = (clarke_cost_run){.forward = {0}};
  if (recorded != (strcmp(batch, "recorded") == 0))
    return clarke_fail(err, CLARKE_EINPUT, recorded ? "--at: of a run folder the batch is the recorded one: --at recorded"
                                                    : "--at: a file with the batch is expected, .npz or .npy");
  if (recorded)
    return count_network(run, &s->audit, err);
  clarke_audit_session_init(&of_file);
  status = clarke_file_read(&model, r->path, err);
  if (status == CLARKE_OK)
    status = clarke_file_read(&of_batch, batch, err);
  if (status == CLARKE_OK)
    status = clarke_audit_session_read(&of_file, &ask, err);
  if (status == CLARKE_OK)
    status = count_network(run, &of_file, err);
  clarke_audit_session_clear(&of_file);
  clarke_file_clear(&of_batch);
  clarke_file_clear(&model);
  return status;
}
