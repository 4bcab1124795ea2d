/* Theorem 8 of Park, Chun and Lee: Algorithm 1's P_l is not empty for any layer. */
#include "audit/theorems/theorems.h"

/* A layer whose own parameters move the arguments of a layer before it, or NULL: they are tied, or two branches share
 * them. The layers' directions need not add up to one, as Theorem 8 has it. */
static const clarke_layer *
disturbing(const clarke_audit *a)
{
  for (size_t i = 0; i < a->n_layers; i++)
    if (a->layer[i].disturbs)
      return &a->layer[i];
  return NULL;
}

void
clarke_judge_theorem_8(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  clarke_theorem_say(t, "Theorem 8", true, CLARKE_YES, "P_l is not empty for any layer%s", NULL);
  for (size_t k = 0; k < q->replay->n_touches; k++)
    if (q->touch[k].ad_side == CLARKE_PROXY) {
      clarke_theorem_say(t, "Theorem 8", false, CLARKE_NO, "AD's choice at what is touched in %.120s is no one side",
                         q->g->steps[q->replay->touch[k].step].name);
      return;
    }
  for (size_t i = 0; i < a->n_layers; i++) {
    const clarke_layer *layer = &a->layer[i];

    if (layer->moving == 0 || layer->pool != CLARKE_NONE || layer->feasible == CLARKE_YES)
      continue; /* a pool and what it pools are one layer: the pool's */
    clarke_theorem_say(t, "Theorem 8", true, layer->feasible,
                       layer->feasible == CLARKE_NO ? "P_l of layer %.120s is empty"
                                                    : "P_l of layer %.120s was not decided",
                       clarke_layer_name(q, layer));
    if (layer->feasible == CLARKE_NO)
      return;
  }
  clarke_require_no_open(t, q);
  if (t->holds != CLARKE_YES || !a->global_tried)
    return;
  /* Directions were found layer by layer, but did not lead to AD's pattern together. */
  if (disturbing(a) != NULL)
    clarke_theorem_say(t, "Theorem 8", false, CLARKE_NO, "parameters of layer %.120s move what is before it, too",
                       clarke_layer_name(q, disturbing(a)));
  else
    clarke_theorem_say(t, "Theorem 8", true, CLARKE_UNKNOWN, "the layers' directions were not verified%s", NULL);
}
