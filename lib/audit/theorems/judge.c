/* What the judgements of theorems share (judge.h). */
#include "audit/theorems/judge.h"

#include <stdio.h>

const char *
clarke_layer_name(const clarke_question *q, const clarke_layer *layer)
{
  return q->g->steps[layer->step].name;
}

const clarke_layer *
clarke_without_distinct_bias(const clarke_audit *a)
{
  for (size_t i = 0; i < a->n_layers; i++)
    if (a->layer[i].bias == CLARKE_NONE || !a->layer[i].bias_distinct)
      return &a->layer[i];
  return NULL;
}

const clarke_layer *
clarke_pooling(const clarke_audit *a, const clarke_question *q)
{
  for (size_t i = 0; i < a->n_layers; i++)
    if (q->g->steps[a->layer[i].step].kind != CLARKE_PIECEWISE)
      return &a->layer[i];
  return NULL;
}

/* lambda of the profile's proxy at a kink of the step, for feature f. *kink: the slopes differ; *known: the
 * profile has a proxy (it need not, where nothing is touched). */
static void
kink_lambda(mpq_t lambda, bool *kink, bool *known, const clarke_question *q, size_t step, size_t f,
            size_t k)
{
  clarke_touch t = {.step = step, .feature = f, .kink = k};
  mpq_t left, right;

  mpq_inits(left, right, NULL);
  clarke_touch_side(left, q->g, &t, false);
  clarke_touch_side(right, q->g, &t, true);
  *known = clarke_touch_proxy(lambda, q->g, &t, q->profile, NULL) == CLARKE_OK;
  *kink = !mpq_equal(left, right);
  if (*kink && *known) {
    mpq_sub(lambda, lambda, right);
    mpq_sub(left, left, right);
    mpq_div(lambda, lambda, left);
  }
  mpq_clears(left, right, NULL);
}

clarke_proxies
clarke_judge_proxies(const clarke_question *q, const clarke_layer *layer)
{
  const clarke_step *s = &q->g->steps[layer->step];
  size_t features = s->pieces.slope != CLARKE_NONE ? layer->neurons : 1;
  bool outside = false, two_sided = false, different = false, unknown = false, begun = false;
  clarke_truth other;
  mpq_t lambda, first;

  mpq_inits(lambda, first, NULL);
  for (size_t f = 0; f < features; f++)
    for (size_t k = 0; k < s->pieces.n_kinks; k++) {
      bool kink, known;

      kink_lambda(lambda, &kink, &known, q, layer->step, f, k);
      unknown = unknown || (kink && !known);
      if (!kink || !known)
        continue;
      outside = outside || mpq_sgn(lambda) < 0 || mpq_cmp_ui(lambda, 1, 1) > 0;
      two_sided = two_sided || (mpq_sgn(lambda) != 0 && mpq_cmp_ui(lambda, 1, 1) != 0);
      different = different || (begun && !mpq_equal(lambda, first));
      if (!begun)
        mpq_set(first, lambda);
      begun = true;
    }
  mpq_clears(lambda, first, NULL);
  other = unknown ? CLARKE_UNKNOWN : CLARKE_YES;
  return (clarke_proxies){.clarke = outside ? CLARKE_NO : other,
                          .one_sided = two_sided ? CLARKE_NO : other,
                          .shared = outside || different ? CLARKE_NO : other};
}

void
clarke_theorem_say(clarke_theorem *t, const char *name, bool applies, clarke_truth holds, const char *format,
                   const char *layer)
{
  t->name = name;
  t->applies = applies;
  t->holds = holds;
  snprintf(t->why, sizeof t->why, format, layer != NULL ? layer : "");
}

void
clarke_theorem_require(clarke_theorem *t, clarke_truth condition, const char *fails, const char *layer)
{
  if (condition == CLARKE_NO)
    clarke_theorem_say(t, t->name, true, CLARKE_NO, fails, layer);
  else if (condition == CLARKE_UNKNOWN && t->holds == CLARKE_YES)
    clarke_theorem_say(t, t->name, true, CLARKE_UNKNOWN, "the profile has no proxy at a kink of layer %.120s", layer);
}

void
clarke_judge_lambdas(clarke_theorem *t, const char *holds, const clarke_audit *a, const clarke_question *q)
{
  clarke_theorem_say(t, t->name, true, CLARKE_YES, holds, NULL);
  for (size_t i = 0; i < a->n_layers; i++)
    if (q->g->steps[a->layer[i].step].kind == CLARKE_PIECEWISE)
      clarke_theorem_require(t, clarke_judge_proxies(q, &a->layer[i]).shared,
                             "no one lambda gives all proxies of layer %.120s", clarke_layer_name(q, &a->layer[i]));
}

void
clarke_require_no_open(clarke_theorem *t, const clarke_question *q)
{
  if (q->replay->open > 0 && t->holds == CLARKE_YES)
    clarke_theorem_say(t, t->name, true, CLARKE_UNKNOWN, "some arguments could not be told from their kinks%s", NULL);
}
