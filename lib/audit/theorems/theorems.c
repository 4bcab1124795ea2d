/* Theorems 1, 4, 5, 6 and 8 of Park, Chun and Lee, N-1, and the global system: does each apply to this
 * network and batch, do its conditions hold, and why. Theorems 1, 4, 5, 6 and N-1 are judged by their
 * own conditions; the verdict rests on directions, not on them. */
#include "audit/audit.h"

#include <stdio.h>
#include <string.h>

static const char *
layer_name(const clarke_question *q, const clarke_layer *layer)
{
  return q->g->steps[layer->step].name;
}

/* The first layer with kinks but no distinct bias, or NULL. */
static const clarke_layer *
without_distinct_bias(const clarke_audit *a)
{
  for (size_t i = 0; i < a->n_layers; i++)
    if (a->layer[i].bias == CLARKE_NONE || !a->layer[i].bias_distinct)
      return &a->layer[i];
  return NULL;
}

/* The first layer that is no pointwise function, or NULL. */
static const clarke_layer *
pooling(const clarke_audit *a, const clarke_question *q)
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

/* What the proxies of a layer's kinks are like. */
typedef struct {
  clarke_truth clarke;    /* all lambdas in [0, 1] */
  clarke_truth one_sided; /* all 0 or 1 */
  clarke_truth shared;    /* all equal, in [0, 1] */
} proxy_kind;

static proxy_kind
judge_proxies(const clarke_question *q, const clarke_layer *layer)
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
  return (proxy_kind){.clarke = outside ? CLARKE_NO : other,
                      .one_sided = two_sided ? CLARKE_NO : other,
                      .shared = outside || different ? CLARKE_NO : other};
}

static void
say(clarke_theorem *t, const char *name, bool applies, clarke_truth holds, const char *format,
    const char *layer)
{
  t->name = name;
  t->applies = applies;
  t->holds = holds;
  snprintf(t->why, sizeof t->why, format, layer != NULL ? layer : "");
}

/* A condition on a layer's proxies: what it says if it does not hold, or is not known to. */
static void
require(clarke_theorem *t, clarke_truth condition, const char *fails, const char *layer)
{
  if (condition == CLARKE_NO)
    say(t, t->name, true, CLARKE_NO, fails, layer);
  else if (condition == CLARKE_UNKNOWN && t->holds == CLARKE_YES)
    say(t, t->name, true, CLARKE_UNKNOWN, "the profile has no proxy at a kink of layer %.120s", layer);
}

static void
judge_1(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  const clarke_layer *bare = without_distinct_bias(a);

  if (pooling(a, q) != NULL)
    say(t, "Theorem 1", false, CLARKE_NO, "layer %.120s is no pointwise function",
        layer_name(q, pooling(a, q)));
  else if (bare != NULL)
    say(t, "Theorem 1", false, CLARKE_NO, "layer %.120s has no distinct bias", layer_name(q, bare));
  else if (q->replay->samples != 1)
    say(t, "Theorem 1", false, CLARKE_NO, "the minibatch has more than one sample%s", NULL);
  else
    say(t, "Theorem 1", true, CLARKE_YES,
        "one sample, distinct biases, proxies in the Clarke sets%s", NULL);
  for (size_t i = 0; t->applies && i < a->n_layers; i++)
    require(t, judge_proxies(q, &a->layer[i]).clarke,
            "a proxy of layer %.120s lies outside its Clarke set", layer_name(q, &a->layer[i]));
}

/* Theorems 4 and 6: proxies of one lambda for each layer. */
static void
judge_lambdas(clarke_theorem *t, const char *holds, const clarke_audit *a, const clarke_question *q)
{
  say(t, t->name, true, CLARKE_YES, holds, NULL);
  for (size_t i = 0; i < a->n_layers; i++)
    if (q->g->steps[a->layer[i].step].kind == CLARKE_PIECEWISE)
      require(t, judge_proxies(q, &a->layer[i]).shared,
              "no one lambda gives all proxies of layer %.120s", layer_name(q, &a->layer[i]));
}

static void
judge_4(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  const clarke_layer *bare = without_distinct_bias(a);

  t->name = "Theorem 4";
  if (pooling(a, q) != NULL)
    say(t, t->name, false, CLARKE_NO, "layer %.120s is no pointwise function",
        layer_name(q, pooling(a, q)));
  else if (bare != NULL)
    say(t, t->name, false, CLARKE_NO, "layer %.120s has no distinct bias", layer_name(q, bare));
  else
    judge_lambdas(t, "distinct biases and one lambda for each layer%s", a, q);
}

/* What is touched is not known where arguments could not be told from their kinks. */
static void
require_no_open(clarke_theorem *t, const clarke_question *q)
{
  if (q->replay->open > 0 && t->holds == CLARKE_YES)
    say(t, t->name, true, CLARKE_UNKNOWN, "some arguments could not be told from their kinks%s", NULL);
}

/* Shared biases; its maxpools are trivial: a touched window is no such thing. */
static void
judge_6(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  t->name = "Theorem 6";
  for (size_t i = 0; i < a->n_layers; i++) {
    const clarke_layer *layer = &a->layer[i];
    bool pointwise = q->g->steps[layer->step].kind == CLARKE_PIECEWISE;

    if (pointwise ? layer->bias == CLARKE_NONE || !layer->bias_covers : layer->touched > 0) {
      say(t, t->name, false, CLARKE_NO,
          pointwise ? "layer %.120s has no bias that covers its neurons"
                    : "layer %.120s has ties that are not trivial", layer_name(q, layer));
      return;
    }
  }
  judge_lambdas(t, "shared biases, trivial maxpools and one lambda for each layer%s", a, q);
  if (pooling(a, q) != NULL)
    require_no_open(t, q);
}

static void
judge_5(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  say(t, "Theorem 5", true, CLARKE_YES,
      "fully connected; the inputs of every layer with a touched kink are independent%s", NULL);
  for (size_t i = 0; i < a->n_layers; i++) {
    const clarke_layer *layer = &a->layer[i];
    proxy_kind p;

    if (!layer->fully_connected || q->g->steps[layer->step].kind != CLARKE_PIECEWISE) {
      say(t, "Theorem 5", false, CLARKE_NO, "layer %.120s is not W z + b", layer_name(q, layer));
      return;
    }
    p = judge_proxies(q, layer);
    require(t, p.clarke, "a proxy of layer %.120s lies outside its Clarke set", layer_name(q, layer));
    if (p.clarke == CLARKE_NO)
      continue;
    if (layer->touched > 0 && !layer->rank_known && t->holds != CLARKE_NO)
      say(t, "Theorem 5", true, CLARKE_UNKNOWN, "the rank before layer %.120s is not known",
          layer_name(q, layer));
    else if (layer->touched > 0 && layer->rank_known && layer->rank < layer->columns)
      say(t, "Theorem 5", true, CLARKE_NO, "the inputs of layer %.120s are dependent",
          layer_name(q, layer));
  }
  require_no_open(t, q);
}

/* Layers with touched kinks: a bias for every neuron, two kinks at most, one-sided proxies. */
static void
judge_two_kinks(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  say(t, "N-1", true, CLARKE_YES,
      "every layer is W z + b with two kinks at most, and proxies are one-sided%s", NULL);
  for (size_t i = 0; i < a->n_layers; i++) {
    const clarke_layer *layer = &a->layer[i];

    if (q->g->steps[layer->step].kind != CLARKE_PIECEWISE) {
      say(t, "N-1", false, CLARKE_NO, "layer %.120s is no pointwise function", layer_name(q, layer));
      return;
    }
    if (layer->bias == CLARKE_NONE || !layer->plain_sum) {
      say(t, "N-1", false, CLARKE_NO, "layer %.120s is not W z + b", layer_name(q, layer));
      return;
    }
    if (!layer->alone || q->g->parameters[layer->bias].uses != 1 ||
        q->g->parameters[layer->weight].uses != 1) {
      say(t, "N-1", false, CLARKE_NO, "layer %.120s shares its parameters", layer_name(q, layer));
      return;
    }
    require(t, judge_proxies(q, layer).one_sided, "a proxy of layer %.120s is no one-sided slope",
            layer_name(q, layer));
  }
}

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

/* Theorem 8: P_l is not empty for any l. */
static void
judge_8(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  say(t, "Theorem 8", true, CLARKE_YES, "P_l is not empty for any layer%s", NULL);
  for (size_t k = 0; k < q->replay->n_touches; k++)
    if (q->ad_side[k] == CLARKE_PROXY) {
      say(t, "Theorem 8", false, CLARKE_NO, "AD's choice at what is touched in %.120s is no one side",
          q->g->steps[q->replay->touch[k].step].name);
      return;
    }
  for (size_t i = 0; i < a->n_layers; i++) {
    const clarke_layer *layer = &a->layer[i];

    if (layer->moving == 0 || layer->feasible == CLARKE_YES)
      continue;
    say(t, "Theorem 8", true, layer->feasible,
        layer->feasible == CLARKE_NO ? "P_l of layer %.120s is empty"
                                     : "P_l of layer %.120s was not decided",
        layer_name(q, layer));
    if (layer->feasible == CLARKE_NO)
      return;
  }
  require_no_open(t, q);
  if (t->holds != CLARKE_YES || !a->global_tried)
    return;
  /* Directions were found layer by layer, but did not lead to AD's pattern together. */
  if (disturbing(a) != NULL)
    say(t, "Theorem 8", false, CLARKE_NO, "parameters of layer %.120s move what is before it, too",
        layer_name(q, disturbing(a)));
  else
    say(t, "Theorem 8", true, CLARKE_UNKNOWN, "the layers' directions were not verified%s", NULL);
}

static void
judge_global(clarke_theorem *t, const clarke_audit *a)
{
  if (!a->global_tried)
    say(t, "global system", true, a->verdict == CLARKE_IN_BOULIGAND ? CLARKE_YES : CLARKE_UNKNOWN,
        a->verdict == CLARKE_IN_BOULIGAND ? "follows from the layers' systems%s" : "not asked%s",
        NULL);
  else
    say(t, "global system", true, a->global,
        a->global == CLARKE_YES  ? "one direction in all parameters realizes AD's pattern%s"
        : a->global == CLARKE_NO ? "no direction realizes AD's pattern to first order%s"
                                 : "neither a direction nor a refutation was found%s",
        NULL);
}

void
clarke_theorems_judge(clarke_audit *a, const clarke_question *q)
{
  judge_1(&a->theorem[0], a, q);
  judge_4(&a->theorem[1], a, q);
  judge_5(&a->theorem[2], a, q);
  judge_6(&a->theorem[3], a, q);
  judge_8(&a->theorem[4], a, q);
  judge_two_kinks(&a->theorem[5], a, q);
  judge_global(&a->theorem[6], a);
}
