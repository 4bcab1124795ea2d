/* Theorem 1 of Park, Chun and Lee: one sample, a distinct bias in every layer. */
#include "audit/theorems/theorems.h"

void
clarke_judge_theorem_1(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  const clarke_layer *bare = clarke_without_distinct_bias(a);

  if (clarke_pooling(a, q) != NULL)
    clarke_theorem_say(t, "Theorem 1", false, CLARKE_NO, "layer %.120s is no pointwise function",
                       clarke_layer_name(q, clarke_pooling(a, q)));
  else if (bare != NULL)
    clarke_theorem_say(t, "Theorem 1", false, CLARKE_NO, "layer %.120s has no distinct bias",
                       clarke_layer_name(q, bare));
  else if (q->replay->samples != 1)
    clarke_theorem_say(t, "Theorem 1", false, CLARKE_NO, "the minibatch has more than one sample%s", NULL);
  else
    clarke_theorem_say(t, "Theorem 1", true, CLARKE_YES,
                       "one sample, distinct biases, proxies in the Clarke sets%s", NULL);
  for (size_t i = 0; t->applies && i < a->n_layers; i++)
    clarke_theorem_require(t, clarke_judge_proxies(q, &a->layer[i]).clarke,
                           "a proxy of layer %.120s lies outside its Clarke set", clarke_layer_name(q, &a->layer[i]));
}
