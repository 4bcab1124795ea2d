/* What is certified, as JSON: exact numbers are texts, floats in hexadecimal. */
#include "session/certify.h"

#include "base/limit.h"
#include "session/json.h"

#include <math.h>

static json_t *
hexadecimal(double d)
{
  char text[64];

  snprintf(text, sizeof text, "%a", d);
  return json_string(text);
}

static json_t *
offender_json(const clarke_offender *o)
{
  json_t *j = json_object();

  clarke_json_set(&j, "index", clarke_json_text(o->index));
  clarke_json_set(&j, "recorded", hexadecimal(o->recorded));
  clarke_json_set(&j, "exact", clarke_json_text(o->should));
  clarke_json_set(&j, "bound", isfinite(o->bound) ? hexadecimal(o->bound) : json_null());
  return j;
}

/* null: no tree was recorded. */
static json_t *
tree_json(const clarke_certificate *c)
{
  json_t *j = json_object();

  if (c->tree == CLARKE_NO_TREE) {
    json_decref(j);
    return json_null();
  }
  clarke_json_set(&j, "explains", json_boolean(c->tree == CLARKE_TREE_EXPLAINS));
  clarke_json_set(&j, "why", clarke_json_text(c->tree_why));
  return j;
}

static json_t *
certificate_json(const clarke_certificate *c)
{
  json_t *j = json_object();

  clarke_json_set(&j, "part", json_string(clarke_part_name(c->part)));
  clarke_json_set(&j, "name", clarke_json_text(c->name));
  clarke_json_set(&j, "operator", clarke_json_text(c->op));
  clarke_json_set(&j, "answer", json_string(clarke_certainty_name(c->certainty)));
  clarke_json_set(&j, "entries", json_integer((json_int_t)c->entries));
  clarke_json_set(&j, "exact", json_integer((json_int_t)c->exact));
  clarke_json_set(&j, "refuted", json_integer((json_int_t)c->beyond));
  clarke_json_set(&j, "open", json_integer((json_int_t)c->open));
  clarke_json_set(&j, "worst", isfinite(c->worst) ? json_real(c->worst) : json_null());
  clarke_json_set(&j, "worst_is", json_string(c->at_most ? "at most" : "exact"));
  clarke_json_set(&j, "first", c->has_offender ? offender_json(&c->offender) : json_null());
  clarke_json_set(&j, "why", clarke_json_text(c->why));
  clarke_json_set(&j, "tree", tree_json(c));
  return j;
}

static json_t *
parted_json(const clarke_parted *p, const clarke_certified *c)
{
  static const char *const kink[] = {"recorded at the kink", "exactly at the kink", "other side"};
  static const char *const window[] = {"recorded as a tie", "exactly a tie", "a loser taken as winner"};
  const clarke_step *s = &c->audit.graph.steps[p->step];
  const clarke_value *v = &c->audit.graph.values[s->out];
  json_t *j = json_object();
  char index[256];

  clarke_put_index(index, sizeof index, v->dims, v->rank, p->feature);
  clarke_json_set(&j, "node", clarke_json_text(v->name != NULL ? v->name : s->name));
  clarke_json_set(&j, "index", clarke_json_text(index));
  clarke_json_set(&j, "sample", json_integer((json_int_t)p->sample));
  clarke_json_set(&j, "parting", json_string((s->kind == CLARKE_MAX ? window : kink)[p->kind]));
  clarke_json_set(&j, "same_gradient", json_boolean(p->alike));
  return j;
}

static json_t *
pattern_json(const clarke_certified *c)
{
  const clarke_branches *p = &c->pattern;
  const size_t most = clarke_limit_of(CLARKE_LIMIT_LISTED);
  json_t *j = json_object(), *list = json_array();

  if (!c->compared || c->stopped != NULL) {
    json_decref(list);
    json_decref(j);
    return json_null();
  }
  for (size_t i = 0; i < p->n && i < most; i++)
    clarke_json_append(&list, parted_json(&p->parted[i], c));
  clarke_json_set(&j, "asked", json_integer((json_int_t)p->asked));
  clarke_json_set(&j, "open", json_integer((json_int_t)p->open));
  clarke_json_set(&j, "unrecorded", json_integer((json_int_t)p->unrecorded));
  clarke_json_set(&j, "doubtful", json_integer((json_int_t)p->doubtful));
  clarke_json_set(&j, "parted", json_integer((json_int_t)p->n));
  clarke_json_set(&j, "list", list);
  return j;
}

static json_t *
judged_json(const clarke_judged *judged)
{
  json_t *j = json_object();

  clarke_json_set(&j, "verdict", json_string(clarke_verdict_name(judged->verdict)));
  clarke_json_set(&j, "why", clarke_json_text(judged->why));
  return j;
}

json_t *
clarke_turned_json(const clarke_certified *c)
{
  const size_t most = clarke_limit_of(CLARKE_LIMIT_LISTED);
  json_t *j = json_object(), *list = json_array();

  if (c->record.ran != CLARKE_RAN_TURNED) {
    json_decref(list);
    json_decref(j);
    return json_null();
  }
  for (size_t i = 0, n = 0; i < c->pattern.n && n < most; i++)
    if (!c->pattern.parted[i].alike) {
      clarke_json_append(&list, parted_json(&c->pattern.parted[i], c));
      n++;
    }
  clarke_json_set(&j, "kinks", list);
  clarke_json_set(&j, "recorded", judged_json(&c->along));
  return j;
}

/* What run.json says, and the record cannot show. */
static json_t *
claims_json(const clarke_record *r)
{
  json_t *list = json_array();

  for (size_t i = 0; i < r->n_claims; i++)
    clarke_json_append(&list, clarke_json_text(r->claim[i]));
  return list;
}

static json_t *
semantics_json(const clarke_certified *c)
{
  json_t *j = json_object();

  if (!c->replayed || c->stopped != NULL) {
    json_decref(j);
    return json_null();
  }
  clarke_json_set(&j, "real", judged_json(&c->real));
  clarke_json_set(&j, "recorded", judged_json(&c->along));
  return j;
}

json_t *
clarke_certified_json(const clarke_certified *c)
{
  json_t *j = json_object(), *list = json_array();

  for (size_t i = 0; i < c->nodes.n && c->stopped == NULL; i++)
    clarke_json_append(&list, certificate_json(&c->nodes.certificate[i]));
  clarke_json_set(&j, "answer", json_string(clarke_certainty_name(clarke_certified_answer(c))));
  if (c->stopped != NULL)
    clarke_json_set(&j, "stopped", clarke_json_text(c->stopped));
  clarke_json_set(&j, "step", c->record.step != NULL ? json_integer((json_int_t)c->record.step->step) : json_null());
  clarke_json_set(&j, "framework", clarke_json_text(c->record.run.framework));
  clarke_json_set(&j, "version", clarke_json_text(c->record.run.version));
  clarke_json_set(&j, "device", clarke_json_text(c->record.run.device));
  clarke_json_set(&j, "types", json_string(c->record.types));
  clarke_json_set(&j, "claims", claims_json(&c->record));
  clarke_json_set(&j, "surrogates", clarke_record_surrogates_json(&c->record));
  clarke_json_set(&j, "matmul_factors", clarke_json_text(clarke_record_factors(&c->record, false)));
  clarke_json_set(&j, "conv_factors", clarke_json_text(clarke_record_factors(&c->record, true)));
  clarke_json_set(&j, "nodes", list);
  clarke_json_set(&j, "pattern", pattern_json(c));
  clarke_json_set(&j, "semantics", semantics_json(c));
  return j;
}
