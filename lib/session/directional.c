/* Derivatives along directions, asked (directional.h). */
#include "session/directional.h"

#include "base/text.h"
#include "exact/literal.h"
#include "program/convex.h"
#include "session/json.h"

#include <stdlib.h>
#include <string.h>

void
clarke_directional_answer_init(clarke_directional_answer *a)
{
  memset(a, 0, sizeof *a);
  clarke_directional_init(&a->found);
  clarke_derive_text_init(&a->text);
}

void
clarke_directional_answer_clear(clarke_directional_answer *a)
{
  for (size_t k = 0; a->line != NULL && k < a->n; k++)
    clarke_rationals_free(a->line[k], a->line[k] != NULL ? clarke_code_wrt_count(a->found.p) : 0);
  free(a->line);
  clarke_rationals_free(a->subgradient, a->subgradient != NULL ? clarke_code_wrt_count(a->found.p) : 0);
  clarke_directional_clear(&a->found);
  clarke_derive_text_clear(&a->text);
  clarke_directional_answer_init(a);
}

/* --- a direction's text ----------------------------------------------------------------------- */

/* The length of NAME=V,V,... at the beginning: up to the comma before the next name. */
static size_t
first_part(const char *text)
{
  const char *equals = strchr(text, '='), *next = equals != NULL ? strchr(equals + 1, '=') : NULL;

  if (next == NULL)
    return strlen(text);
  while (next > equals && *next != ',')
    next--;
  return (size_t)(next - text);
}

/* All entries of all inputs, by name. */
static clarke_status
parse_named(mpq_t *all, bool *given, const clarke_code *p, const char *text, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  while (status == CLARKE_OK && *text != '\0') {
    const size_t length = first_part(text);
    char *part = strndup(text, length);

    status = part != NULL ? clarke_point_parse(all, given, p, part, err) : clarke_no_memory(err);
    free(part);
    text += length + (text[length] == ',');
  }
  for (size_t i = 0; status == CLARKE_OK && i < p->n_inputs; i++)
    if (given[i] && !p->input[i].wrt)
      status = clarke_fail(err, CLARKE_EINPUT, "input '%.60s' does not vary: a direction moves inputs of --wrt", p->input[i].name);
  return status;
}

/* An entry for each of wrt, in their order. */
static clarke_status
parse_plain(mpq_t *d, size_t n, const char *text, clarke_error *err)
{
  size_t k = 0;

  for (bool more = true; more; k++) {
    const size_t length = strcspn(text, ",");
    char *word = strndup(text, length);
    const bool good = word != NULL && k < n && clarke_literal_parse(d[k], word);

    free(word);
    if (!good && k < n)
      return clarke_fail(err, CLARKE_EINPUT, "'%.*s' is no number: a direction is NAME=V,...,NAME=V,... or a number for each entry of --wrt",
                         length > 40 ? 40 : (int)length, text);
    more = text[length] == ',';
    text += length + more;
  }
  return k == n ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "a direction of %zu entries: --wrt has %zu", k, n);
}

static clarke_status
take_named(mpq_t *d, const clarke_code *p, const char *text, clarke_error *err)
{
  const size_t n = clarke_code_entries(p);
  mpq_t *all = clarke_rationals(n);
  bool *given = calloc(p->n_inputs + 1, sizeof *given);
  clarke_status status = all != NULL && given != NULL ? parse_named(all, given, p, text, err) : clarke_no_memory(err);

  for (size_t e = 0, k = 0; status == CLARKE_OK && e < n; e++)
    if (clarke_code_varies(p, e))
      mpq_set(d[k++], all[e]);
  clarke_rationals_free(all, all != NULL ? n : 0);
  free(given);
  return status;
}

clarke_status
clarke_directional_parse(mpq_t *d, const clarke_code *p, const char *text, clarke_error *err)
{
  const size_t n = clarke_code_wrt_count(p);
  bool moves = false;
  clarke_status status = strchr(text, '=') != NULL ? take_named(d, p, text, err) : parse_plain(d, n, text, err);

  for (size_t k = 0; k < n; k++)
    moves = moves || mpq_sgn(d[k]) != 0;
  if (status == CLARKE_OK && !moves)
    status = clarke_fail(err, CLARKE_EINPUT, "--direction %.60s: all its entries are 0", text);
  return status;
}

/* --- asking ----------------------------------------------------------------------------------- */

/* A convex function's lexicographic derivative is an element of Clarke's subdifferential, which is the convex one. */
static clarke_status
find_subgradient(clarke_directional_answer *a, clarke_error *err)
{
  const size_t width = clarke_code_wrt_count(a->found.p);
  mpq_t *g;
  clarke_status status;

  if (!a->found.known || a->found.n_outputs != 1)
    return CLARKE_OK;
  status = clarke_convex_find(&a->convex, &a->found.execution, 0, err);
  if (status != CLARKE_OK || !a->convex)
    return status;
  g = clarke_rationals(width);
  if (g == NULL)
    return clarke_no_memory(err);
  if (clarke_gradient_along(g, a->line, a->found.derivative, a->n, width))
    a->subgradient = g;
  else
    clarke_rationals_free(g, width);
  return CLARKE_OK;
}

clarke_status
clarke_directional_ask(clarke_directional_answer *a, const clarke_derive_session *s, const char *const *text, size_t n, clarke_error *err)
{
  const size_t width = clarke_code_wrt_count(&s->program);
  clarke_status status = CLARKE_OK;

  a->found.p = &s->program;
  a->n = n;
  a->line = calloc(n + 1, sizeof *a->line);
  if (a->line == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < n && status == CLARKE_OK; k++) {
    a->line[k] = clarke_rationals(width);
    status = a->line[k] != NULL ? clarke_directional_parse(a->line[k], &s->program, text[k], err) : clarke_no_memory(err);
  }
  if (status == CLARKE_OK)
    status = clarke_directional_find(&a->found, &s->program, s->at, a->line, n, &s->profile, err);
  if (status == CLARKE_OK && !a->found.execution.open)
    status = clarke_derive_touched(&a->text, s, &a->found.execution, &s->profile, err);
  return status == CLARKE_OK ? find_subgradient(a, err) : status;
}

clarke_status
clarke_directional_prove(const clarke_directional_answer *a, const clarke_derive_session *s, const char *path, clarke_error *err)
{
  const clarke_proof_input of = {s->program.file, s->sha256, s->output};

  return clarke_proof_write_direction(path, s->network, &of, &a->found, a->line, &s->profile, err);
}

/* --- telling ---------------------------------------------------------------------------------- */

char *
clarke_turn_text(const clarke_directional_answer *a, size_t touched)
{
  const clarke_turn *turn = &a->found.turn[touched];
  const clarke_do kind = a->found.p->instruction[a->found.execution.touched[touched].instruction].kind;

  if (!turn->left)
    return strdup("not executed there");
  if (kind == CLARKE_DO_BRANCH)
    return strdup(turn->side != 0 ? "then" : "else");
  if (turn->line == CLARKE_NONE)
    return strdup("either");
  if (kind == CLARKE_DO_ORDER)
    return clarke_text_print("argument %zu", turn->side);
  if (kind == CLARKE_DO_NORM)
    return strdup("away from 0");
  return strdup(turn->side != 0 ? "right" : "left");
}

static json_t *
numbers_json(const clarke_number *x, size_t n)
{
  json_t *list = json_array();

  for (size_t i = 0; i < n; i++) {
    char *text = clarke_number_text(&x[i]);

    clarke_json_append(&list, text != NULL ? json_string(text) : NULL);
    free(text);
  }
  return list;
}

static json_t *
rationals_json(mpq_t *q, size_t n)
{
  json_t *list = json_array();

  for (size_t e = 0; e < n; e++) {
    char *text = mpq_get_str(NULL, 10, q[e]);

    clarke_json_append(&list, json_string(text));
    free(text);
  }
  return list;
}

static json_t *
line_json(const clarke_directional_answer *a, size_t k)
{
  const clarke_directional *x = &a->found;
  json_t *j = json_object();

  clarke_json_set(&j, "direction", rationals_json(a->line[k], clarke_code_wrt_count(x->p)));
  clarke_json_set(&j, "derivative", x->known ? numbers_json(&x->derivative[k * x->n_outputs], x->n_outputs) : json_null());
  clarke_json_set(&j, "ad", x->ad_known ? numbers_json(&x->ad[k * x->n_outputs], x->n_outputs) : json_null());
  return j;
}

static json_t *
turns_json(const clarke_directional_answer *a)
{
  json_t *list = json_array();

  for (size_t t = 0; t < a->text.n_touched; t++) {
    json_t *j = json_object();
    char *side = a->found.known ? clarke_turn_text(a, t) : NULL;

    clarke_json_set(&j, "node", clarke_json_text(a->text.touched[t].node));
    clarke_json_set(&j, "argument", clarke_json_text(a->text.touched[t].argument));
    clarke_json_set(&j, "side", clarke_json_text(side));
    clarke_json_set(&j, "told_by", a->found.known && a->found.turn[t].line != CLARKE_NONE ? json_integer((json_int_t)a->found.turn[t].line + 1) : json_null());
    free(side);
    clarke_json_append(&list, j);
  }
  return list;
}

json_t *
clarke_directional_json(const clarke_directional_answer *a, const clarke_derive_session *s)
{
  const clarke_directional *x = &a->found;
  json_t *j = json_object(), *list = json_array();

  clarke_json_set(&j, "ad_agrees", x->agrees == CLARKE_UNKNOWN ? json_null() : json_boolean(x->agrees == CLARKE_YES));
  clarke_json_set(&j, "file", clarke_json_text(s->program.file));
  if (s->output != NULL)
    clarke_json_set(&j, "output", clarke_json_text(s->output));
  clarke_json_set(&j, "profile", clarke_json_text(s->profile.name));
  clarke_json_set(&j, "semantics", json_string("real"));
  clarke_json_set(&j, "why", clarke_json_text(!x->known ? x->why : !x->ad_known ? x->ad_why : ""));
  for (size_t k = 0; k < a->n; k++)
    clarke_json_append(&list, line_json(a, k));
  clarke_json_set(&j, "directions", list);
  clarke_json_set(&j, "touched", x->execution.open ? json_null() : turns_json(a));
  if (a->convex)
    clarke_json_set(&j, "convex", json_true());
  if (a->subgradient != NULL)
    clarke_json_set(&j, "subgradient", rationals_json(a->subgradient, clarke_code_wrt_count(x->p)));
  return j;
}
