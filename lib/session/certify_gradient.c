/* The gradient that ran: explained, turned or refuted (certify.h). */
#include "session/certify.h"

/* The weakest answer of what a gradient is made of: statistics are brought up to date beside it, and only a refuted one counts. */
static const clarke_certificate *
weakest(const clarke_certify *n)
{
  const clarke_certificate *found = NULL;

  for (size_t i = 0; i < n->n; i++) {
    const clarke_certificate *c = &n->certificate[i];

    if ((found == NULL || c->certainty > found->certainty) && (c->part != CLARKE_STATISTIC || c->certainty == CLARKE_IS_REFUTED))
      found = c;
  }
  return found;
}

static clarke_status
say_refuted(clarke_record *r, const clarke_certificate *c, clarke_error *err)
{
  const clarke_offender *o = &c->offender;

  if (!c->has_offender)
    return clarke_record_say(r, CLARKE_RAN_REFUTED, err, "%s %s: %s", clarke_part_name(c->part), c->name, c->why != NULL ? c->why : "refuted");
  return clarke_record_say(r, CLARKE_RAN_REFUTED, err, "%s %s%s was recorded as %.9g, and is exactly about %.9g of what was recorded around it; "
                           "rounding explains %.3g", clarke_part_name(c->part), c->name, o->index, o->recorded, o->near, o->bound);
}

/* Branches that parted, so that AD's gradient is another. */
static const clarke_parted *
first_turned(size_t *n, const clarke_branches *p)
{
  const clarke_parted *first = NULL;

  *n = 0;
  for (size_t i = 0; i < p->n; i++) {
    if (p->parted[i].alike)
      continue;
    first = first == NULL ? &p->parted[i] : first;
    ++*n;
  }
  return first;
}

static clarke_status
say_turned(clarke_certified *c, clarke_error *err)
{
  size_t n;
  const clarke_parted *p = first_turned(&n, &c->pattern);
  const clarke_step *s = &c->audit.graph.steps[p->step];
  const clarke_value *v = &c->audit.graph.values[s->out];
  char index[256];

  clarke_put_index(index, sizeof index, v->dims, v->rank, p->feature);
  return clarke_record_say(&c->record, CLARKE_RAN_TURNED, err, "at %zu of %zu kinks and windows rounding took a branch that exact arithmetic does "
                           "not take, the first %s%s of sample %zu", n, c->pattern.asked, v->name != NULL ? v->name : s->name, index, p->sample);
}

/* What is known of branches, behind the comparison. */
static clarke_status
judge_branches(clarke_certified *c, bool certified, clarke_error *err)
{
  clarke_record *r = &c->record;
  size_t turned = 0;

  if (c->compared)
    first_turned(&turned, &c->pattern);
  if (!c->compared && r->ran == CLARKE_RAN_EXPLAINED)
    return clarke_record_say(r, CLARKE_RAN_UNKNOWN, err, "the recorded branches were not compared with exact ones");
  if (r->ran == CLARKE_RAN_EXPLAINED && certified && turned > 0 && c->pattern.doubtful == 0)
    return say_turned(c, err);
  if (r->ran == CLARKE_RAN_EXPLAINED && (turned > 0 || c->pattern.doubtful > 0))
    return clarke_record_say(r, CLARKE_RAN_UNKNOWN, err, "%zu branches were turned, and of %zu it is not known", turned, c->pattern.doubtful);
  return CLARKE_OK;
}

clarke_status
clarke_certified_gradient(clarke_certified *c, clarke_error *err)
{
  clarke_record *r = &c->record;
  const clarke_certificate *weak = c->traced ? weakest(&c->nodes) : NULL;
  const bool certified = weak != NULL && weak->certainty <= CLARKE_FOLLOWED;
  bool settled = false;
  clarke_status status;

  if (weak != NULL && weak->certainty == CLARKE_IS_REFUTED)
    return say_refuted(r, weak, err);
  if (weak != NULL && weak->certainty == CLARKE_NOT_CERTIFIED)
    return clarke_record_say(r, CLARKE_RAN_UNKNOWN, err, "%s %s: %s", clarke_part_name(weak->part), weak->name, weak->why);
  status = clarke_certified_settle(&settled, c, err);
  if (status == CLARKE_OK && !settled && c->nodes.by_doubles)
    status = clarke_certified_again(c, err);
  if (status == CLARKE_OK && !settled)
    status = clarke_record_compare(r, &c->audit, certified ? &c->nodes : NULL,
                                   certified && c->compared && c->pattern.n > 0 ? &c->pattern : NULL, err);
  if (status == CLARKE_OK && certified && r->ran == CLARKE_RAN_UNKNOWN && c->audit.stopped == NULL)
    status = clarke_certified_by_nodes(c, err);
  if (status == CLARKE_OK && c->traced && r->ran != CLARKE_RAN_REFUTED && c->audit.stopped == NULL)
    status = judge_branches(c, certified, err);
  if (status == CLARKE_OK && c->claimed && (r->ran == CLARKE_RAN_EXPLAINED || r->ran == CLARKE_RAN_TURNED))
    status = clarke_record_say(r, CLARKE_RAN_UNKNOWN, err, "nodes are certified only if rounding was as coarse as run.json alone says");
  return status;
}
