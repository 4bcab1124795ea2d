/* Theorem 5's condition: the columns of z_{l-1}, one a sample, are linearly independent. */
#include "theorem/audit.h"

#include <stdlib.h>

static clarke_status
one_rank(clarke_layer *layer, const clarke_forward *all, const clarke_graph *g, clarke_error *err)
{
  const clarke_matrix *z = &all->value[g->steps[layer->dense].in[0].value];
  clarke_rank rank;
  clarke_status status;

  if (z->radius != NULL)
    return CLARKE_OK;
  clarke_rank_init(&rank);
  status = clarke_rank_compute(&rank, z, err);
  layer->rank_known = rank.known;
  layer->rank = rank.rank;
  clarke_rank_clear(&rank);
  return status;
}

clarke_status
clarke_layer_ranks(clarke_audit *a, const clarke_question *q, bool all, clarke_error *err)
{
  clarke_forward pass;
  clarke_constants own = {0};
  const clarke_replay *r = q->replay;
  bool wanted = false;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < a->n_layers; i++)
    wanted = wanted || (a->layer[i].fully_connected && (all || a->layer[i].touched > 0));
  if (!wanted)
    return CLARKE_OK;
  clarke_forward_init(&pass);
  /* The replay's own constants are made only when it needed an exact pass. */
  if (r->constants.constant == NULL)
    status = clarke_constants_init(&own, q->g, err);
  if (status == CLARKE_OK) {
    bool *needed = malloc((q->g->n_values + 1) * sizeof *needed);

    if (needed == NULL)
      status = clarke_fail(err, CLARKE_ENOMEM, "out of memory");
    else {
      clarke_graph_needed(q->g, false, needed);
      status = clarke_forward_run(&pass, r->constants.constant != NULL ? &r->constants : &own,
                                  &r->input, needed, 64, err);
    }
    free(needed);
  }
  for (size_t i = 0; i < a->n_layers && status == CLARKE_OK; i++)
    if (a->layer[i].fully_connected && (all || a->layer[i].touched > 0))
      status = one_rank(&a->layer[i], &pass, q->g, err);
  clarke_forward_clear(&pass);
  if (own.g != NULL)
    clarke_constants_clear(&own);
  return status;
}
