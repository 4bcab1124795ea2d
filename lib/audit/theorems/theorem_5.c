/* Theorem 5 of Park, Chun and Lee: fully connected layers whose inputs over the batch are independent. */
#include "audit/theorems/theorems.h"

void
clarke_judge_theorem_5(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  clarke_theorem_say(t, "Theorem 5", true, CLARKE_YES,
                     "fully connected; the inputs of every layer with a touched kink are independent%s", NULL);
  for (size_t i = 0; i < a->n_layers; i++) {
    const clarke_layer *layer = &a->layer[i];
    clarke_proxies p;

    if (!layer->fully_connected || q->g->steps[layer->step].kind != CLARKE_PIECEWISE) {
      clarke_theorem_say(t, "Theorem 5", false, CLARKE_NO, "layer %.120s is not W z + b", clarke_layer_name(q, layer));
      return;
    }
    p = clarke_judge_proxies(q, layer);
    clarke_theorem_require(t, p.clarke, "a proxy of layer %.120s lies outside its Clarke set",
                           clarke_layer_name(q, layer));
    if (p.clarke == CLARKE_NO)
      continue;
    if (layer->touched > 0 && !layer->rank_known && t->holds != CLARKE_NO)
      clarke_theorem_say(t, "Theorem 5", true, CLARKE_UNKNOWN, "the rank before layer %.120s is not known",
                         clarke_layer_name(q, layer));
    else if (layer->touched > 0 && layer->rank_known && layer->rank < layer->columns)
      clarke_theorem_say(t, "Theorem 5", true, CLARKE_NO, "the inputs of layer %.120s are dependent",
                         clarke_layer_name(q, layer));
  }
  clarke_require_no_open(t, q);
}
