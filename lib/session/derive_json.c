/* The report of clarke derive as one JSON object (docs/programs.md). Keys come in one
 * order; numbers are strings. */
#include "session/derive.h"
#include "session/json.h"
#include "program/ieee.h"

#include <stdio.h>

static json_t *
strings_json(char *const *x, size_t n)
{
  json_t *j = json_array();

  for (size_t i = 0; i < n; i++)
    clarke_json_append(&j, clarke_json_text(x[i]));
  return j;
}

/* A gradient: a list, of several outputs a list of rows. */
static json_t *
gradient_json(const clarke_vectors *v, size_t row, const clarke_derive_text *t)
{
  char *const *x = &v->text[row * v->dim];
  json_t *j;

  if (!t->rows || v->dim != t->n_outputs * t->width)
    return strings_json(x, v->dim);
  j = json_array();
  for (size_t o = 0; o < t->n_outputs; o++)
    clarke_json_append(&j, strings_json(x + o * t->width, t->width));
  return j;
}

static json_t *
set_json(const clarke_vectors *v, const clarke_derive_text *t)
{
  json_t *j;

  if (!v->known)
    return json_null();
  j = json_array();
  for (size_t i = 0; i < v->n; i++)
    clarke_json_append(&j, gradient_json(v, i, t));
  return j;
}

static json_t *
one_json(const clarke_vectors *v, const clarke_derive_text *t)
{
  return v->known ? gradient_json(v, 0, t) : json_null();
}

static json_t *
value_json(const clarke_vectors *v, const clarke_derive_text *t)
{
  return !v->known ? json_null()
         : t->rows ? strings_json(v->text, v->dim)
                   : clarke_json_text(v->text[0]);
}

static json_t *
answer_json(clarke_truth a)
{
  return a == CLARKE_UNKNOWN ? json_null() : json_boolean(a == CLARKE_YES);
}

/* --- the parts -------------------------------------------------------------------------------- */

static json_t *
touched_json(const clarke_derive_text *t)
{
  json_t *list = json_array();

  for (size_t i = 0; i < t->n_touched; i++) {
    const clarke_touched_text *k = &t->touched[i];
    json_t *j = json_object();

    clarke_json_set(&j, "node", clarke_json_text(k->node));
    clarke_json_set(&j, "argument", clarke_json_text(k->argument));
    clarke_json_set(&j, "slopes",
                        k->n_slopes > 0 ? strings_json(k->slope, k->n_slopes) : json_null());
    clarke_json_set(&j, "proxy",
                        k->several ? strings_json(k->proxy, k->n_proxies) : clarke_json_text(k->proxy[0]));
    if (k->line > 0) {
      clarke_json_set(&j, "line", json_integer((json_int_t)k->line));
      clarke_json_set(&j, "column", json_integer((json_int_t)k->column));
    }
    clarke_json_append(&list, j);
  }
  return list;
}

/* The point, by input; of a network it is in the file. */
static json_t *
point_json(const clarke_derive_session *s)
{
  json_t *j = json_object();
  size_t e = 0;

  for (size_t i = 0; i < s->program.n_inputs; i++) {
    json_t *entries = json_array();

    for (size_t k = 0; k < s->program.input[i].n; k++, e++) {
      char *text = mpq_get_str(NULL, 10, s->at[e]);

      clarke_json_append(&entries, json_string(text));
      free(text);
    }
    clarke_json_set(&j, s->program.input[i].name, entries);
  }
  return j;
}

static json_t *
wrt_json(const clarke_code *p)
{
  json_t *j = json_array();

  for (size_t i = 0; i < p->n_inputs; i++)
    if (p->input[i].wrt)
      clarke_json_append(&j, clarke_json_text(p->input[i].name));
  return j;
}

static json_t *
floats_json(const clarke_derive_text *t)
{
  json_t *list = json_object();

  for (size_t f = 0; f < 4; f++) {
    const clarke_float_text *r = &t->rounded[f];
    json_t *j;

    if (!r->asked)
      continue;
    j = json_object();
    clarke_json_set(&j, "value", value_json(&r->value, t));
    clarke_json_set(&j, "ad", one_json(&r->ad, t));
    clarke_json_set(&j, "agrees", answer_json(r->agrees));
    clarke_json_set(&list, clarke_ieee_name((clarke_ieee)f), j);
  }
  return list;
}

static void
set_sets(json_t **j, const clarke_derivation *d, const clarke_derive_text *t)
{
  const clarke_conservative *c = &d->conservative;

  clarke_json_set(j, "bouligand", set_json(&t->bouligand, t));
  if (!t->bouligand.known)
    clarke_json_set(j, "realized", set_json(&t->realized, t));
  clarke_json_set(j, "clarke", set_json(&t->clarke, t));
  clarke_json_set(j, "conservative", set_json(&t->conservative, t));
  clarke_json_set(j, "conservative_singleton",
                      d->zone == CLARKE_ZONE_REGULAR ? json_true()
                      : c->known                     ? json_boolean(c->singleton)
                                                     : json_null());
  clarke_json_set(j, "selection", set_json(&t->selection, t));
  clarke_json_set(j, "associated", one_json(&t->associated, t));
}

static void
set_representation(json_t **j, const clarke_representation *r)
{
  static const char *const answer[] = {"yes", "no", "unknown"};

  clarke_json_set(j, "representation",
                      r->declared ? json_string(answer[r->answer]) : json_null());
  if (r->declared && r->why[0] != '\0')
    clarke_json_set(j, "representation_why", clarke_json_text(r->why));
}

json_t *
clarke_derive_json(const clarke_derive_session *s, const clarke_derivation *d, const clarke_derive_text *t)
{
  json_t *j = json_object();

  clarke_json_set(&j, "verdict", json_string(clarke_verdict_name(d->verdict)));
  clarke_json_set(&j, "why", clarke_json_text(d->why));
  clarke_json_set(&j, "file", clarke_json_text(s->program.file));
  if (s->output != NULL)
    clarke_json_set(&j, "output", clarke_json_text(s->output));
  clarke_json_set(&j, "profile", clarke_json_text(s->profile.name));
  clarke_json_set(&j, "semantics", json_string("real"));
  if (!s->network)
    clarke_json_set(&j, "at", point_json(s));
  clarke_json_set(&j, "wrt", wrt_json(&s->program));
  clarke_json_set(&j, "value", value_json(&t->value, t));
  clarke_json_set(&j, "ad", one_json(&t->ad, t));
  clarke_json_set(&j, "touched", d->execution.live != NULL ? touched_json(t) : json_null());
  set_sets(&j, d, t);
  set_representation(&j, &d->representation);
  clarke_json_set(&j, "least", one_json(&t->least, t));
  clarke_json_set(&j, "differentiable", answer_json(d->differentiable));
  clarke_json_set(&j, "zone", d->zone == CLARKE_ZONE_UNKNOWN
                                   ? json_null()
                                   : json_string(clarke_zone_name(d->zone)));
  if (d->convex)
    clarke_json_set(&j, "convex", json_true());
  for (size_t f = 0; f < 4; f++)
    if (t->rounded[f].asked)
      clarke_json_set(&j, "float", floats_json(t));
  return j;
}

/* --- a row of a sweep ------------------------------------------------------------------------- */

/* why: what went wrong there, in place of an answer (d is NULL then). */
clarke_status
clarke_derive_row_json(FILE *out, const char *at, const clarke_derivation *d, const clarke_derive_text *t,
                       const char *why, bool last, clarke_error *err)
{
  json_t *j = json_object();

  clarke_json_set(&j, "t", json_string(at));
  clarke_json_set(&j, "value", value_json(&t->value, t));
  clarke_json_set(&j, "ad", one_json(&t->ad, t));
  if (d != NULL) {
    clarke_json_set(&j, "zone", d->zone == CLARKE_ZONE_UNKNOWN
                                     ? json_null()
                                     : json_string(clarke_zone_name(d->zone)));
    clarke_json_set(&j, "verdict", json_string(clarke_verdict_name(d->verdict)));
  } else
    clarke_json_set(&j, "why", clarke_json_text(why));
  for (size_t f = 0; f < 4; f++)
    if (t->rounded[f].asked)
      clarke_json_set(&j, "float", floats_json(t));
  return clarke_json_print(out, j, JSON_COMPACT, last ? "\n" : ",\n", err);
}
