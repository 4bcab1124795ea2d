/* What else a step may have been: the rule with one thing otherwise, or another rule. */
#include "step_run_inside.h"

#include <stdio.h>
#include <string.h>

/* Changes of the rule itself. */
static const struct {
  const char *says;
  clarke_other change;
} changes[] = {
  {"%s with epsilon", {.eps = true}}, /* and how: clarke_other_change */
  {"%s with weight decay", {.decay = true}},
  {"%s without weight decay", {.undecayed = true}},
  {"%s with Nesterov's momentum the other way (on, off)", {.nesterov = true}},
  {"%s up along the gradient, not down", {.ascends = true}},
  {"%s one step later in its count", {.later = 1}},
  {"%s one step earlier in its count", {.later = -1}},
};

bool
clarke_other_at(clarke_other *o, const clarke_rule *rule, size_t i)
{
  const size_t n = sizeof changes / sizeof *changes;
  const clarke_rule *other;

  if (i < n) {
    *o = changes[i].change;
    o->rule = rule;
    snprintf(o->says, sizeof o->says, changes[i].says, rule->name);
    return true;
  }
  other = clarke_rule_at(i - n);
  if (other == NULL)
    return false;
  *o = (clarke_other){.rule = other};
  snprintf(o->says, sizeof o->says, "%s (%s)", other->name, other->where);
  return true;
}

/* How the rule's words go on. */
static void
say(clarke_other *o, const clarke_hypers *h)
{
  const char *more = o->eps     ? (h->place == CLARKE_EPS_INSIDE ? " inside the root: sqrt(v + eps)" : " outside the root: sqrt(v) + eps")
                     : o->decay ? (h->decay == CLARKE_DECAY_COUPLED ? " in the gradient (coupled)" : " of the parameters, before the step (decoupled)")
                                : "";

  snprintf(o->says + strlen(o->says), sizeof o->says - strlen(o->says), "%s", more);
}

bool
clarke_other_change(clarke_step_settings *s, clarke_other *o)
{
  clarke_hypers *h = &s->hypers;
  const bool decays = mpq_sgn(h->of[CLARKE_HYPER_DECAY]) != 0;

  if ((o->eps && s->rule->eps == NULL) || ((o->decay || o->undecayed) && !decays) || (o->nesterov && strcmp(s->rule->name, "torch-sgd") != 0))
    return false;
  if (o->eps)
    h->place = h->place == CLARKE_EPS_INSIDE ? CLARKE_EPS_OUTSIDE : CLARKE_EPS_INSIDE;
  if (o->decay)
    h->decay = h->decay == CLARKE_DECAY_COUPLED ? CLARKE_DECAY_DECOUPLED : CLARKE_DECAY_COUPLED;
  if (o->undecayed)
    mpq_set_ui(h->of[CLARKE_HYPER_DECAY], 0, 1);
  if (o->nesterov)
    h->nesterov = !h->nesterov;
  say(o, h);
  return true;
}
