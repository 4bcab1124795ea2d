/* Theorem 6 of Park, Chun and Lee: biases that neurons share, one lambda for each layer, trivial maxpools; a touched window
 * is no such thing. */
#include "audit/theorems/theorems.h"

void
clarke_judge_theorem_6(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  t->name = "Theorem 6";
  for (size_t i = 0; i < a->n_layers; i++) {
    const clarke_layer *layer = &a->layer[i];
    bool pointwise = q->g->steps[layer->step].kind == CLARKE_PIECEWISE;

    if (pointwise ? layer->bias == CLARKE_NONE || !layer->bias_covers : layer->touched > 0) {
      clarke_theorem_say(t, t->name, false, CLARKE_NO,
                         pointwise ? "layer %.120s has no bias that covers its neurons"
                                   : "layer %.120s has ties that are not trivial", clarke_layer_name(q, layer));
      return;
    }
  }
  clarke_judge_lambdas(t, "shared biases, trivial maxpools and one lambda for each layer%s", a, q);
  if (clarke_pooling(a, q) != NULL)
    clarke_require_no_open(t, q);
}
