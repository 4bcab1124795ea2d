/* Theorem 4 of Park, Chun and Lee: distinct biases, one lambda for each layer. */
#include "audit/theorems/theorems.h"

void
clarke_judge_theorem_4(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  const clarke_layer *bare = clarke_without_distinct_bias(a);

  t->name = "Theorem 4";
  if (clarke_pooling(a, q) != NULL)
    clarke_theorem_say(t, t->name, false, CLARKE_NO, "layer %.120s is no pointwise function",
                       clarke_layer_name(q, clarke_pooling(a, q)));
  else if (bare != NULL)
    clarke_theorem_say(t, t->name, false, CLARKE_NO, "layer %.120s has no distinct bias", clarke_layer_name(q, bare));
  else
    clarke_judge_lambdas(t, "distinct biases and one lambda for each layer%s", a, q);
}
