/* Theorem 5's condition: the columns of z_{l-1}, one a sample, are linearly independent. */
#include "audit/theorems/rank.h"


#define PRECISION 64 /* an enclosure has no rank to tell: no more is needed */

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
  clarke_replay *r = q->replay;
  bool whole = r->near.n == r->samples; /* the replay's own exact pass holds every sample */
  clarke_forward pass;
  bool wanted = false;
  clarke_status status;

  for (size_t i = 0; i < a->n_layers; i++)
    wanted = wanted || (a->layer[i].fully_connected && (all || a->layer[i].touched > 0));
  if (!wanted)
    return CLARKE_OK;
  clarke_forward_init(&pass);
  status = whole ? CLARKE_OK : clarke_replay_all(&pass, r, false, PRECISION, err);
  for (size_t i = 0; i < a->n_layers && status == CLARKE_OK; i++)
    if (a->layer[i].fully_connected && (all || a->layer[i].touched > 0))
      status = one_rank(&a->layer[i], whole ? &r->near : &pass, q->g, err);
  clarke_forward_clear(&pass);
  return status;
}
