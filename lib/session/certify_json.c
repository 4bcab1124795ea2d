/* What is certified, as JSON: exact numbers are texts, floats in hexadecimal. */
#include "session/certify.h"

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
  clarke_json_set(&j, "first", c->has_offender ? offender_json(&c->offender) : json_null());
  clarke_json_set(&j, "why", clarke_json_text(c->why));
  return j;
}

json_t *
clarke_certified_json(const clarke_certified *c)
{
  json_t *j = json_object(), *list = json_array();

  for (size_t i = 0; i < c->nodes.n; i++)
    clarke_json_append(&list, certificate_json(&c->nodes.certificate[i]));
  clarke_json_set(&j, "answer", json_string(clarke_certainty_name(clarke_certified_answer(c))));
  clarke_json_set(&j, "step", json_integer((json_int_t)c->record.step->step));
  clarke_json_set(&j, "framework", clarke_json_text(c->record.run.framework));
  clarke_json_set(&j, "version", clarke_json_text(c->record.run.version));
  clarke_json_set(&j, "device", clarke_json_text(c->record.run.device));
  clarke_json_set(&j, "nodes", list);
  return j;
}
