/* clarke cost --against: another counter's number, explained term by term. */
#include "cost_report.h"

#include "base/text.h"
#include "cost/convention.h"
#include "format/file.h"
#include "session/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const modes[] = {"forward", "backward", "with-input"};

#define N_MODES (sizeof modes / sizeof *modes)

void
clarke_against_clear(clarke_against *a)
{
  for (size_t i = 0; i < a->n; i++) {
    mpz_clears(a->claim[i].total, a->claim[i].remainder, NULL);
    free(a->claim[i].counter);
  }
  free(a->claim);
  memset(a, 0, sizeof *a);
}

static clarke_status
add_claim(clarke_against *a, const char *counter, const char *mode, json_int_t total, clarke_error *err)
{
  clarke_counter_claim *grown = realloc(a->claim, (a->n + 1) * sizeof *grown), *c;

  if (grown == NULL)
    return clarke_no_memory(err);
  a->claim = grown;
  c = &a->claim[a->n];
  memset(c, 0, sizeof *c);
  c->counter = counter != NULL ? strdup(counter) : NULL;
  c->mode = mode;
  mpz_init_set_si(c->total, (long)total);
  mpz_init(c->remainder);
  a->n++;
  return counter == NULL || c->counter != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* --- the file ------------------------------------------------------------------------------------------- */

static clarke_status
fail(const char *file, const char *what, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "%s: %s; expected {\"counter\": NAME, \"total\": N, \"mode\": \"forward\"}, "
                     "{NAME: {\"forward\": N}}, or what torch's FlopCounterMode.get_flop_counts() says, as JSON", file, what);
}

static const char *
mode_named(const char *text)
{
  for (size_t k = 0; text != NULL && k < N_MODES; k++)
    if (strcmp(modes[k], text) == 0)
      return modes[k];
  return NULL;
}

static bool
is_counter(const char *name)
{
  for (size_t i = 0; clarke_convention_at(i) != NULL; i++)
    if (strcmp(clarke_convention_at(i)->counter, name) == 0)
      return true;
  return false;
}

static clarke_status
known_counter(const char *name, const char *file, clarke_error *err)
{
  char text[160];

  if (is_counter(name))
    return CLARKE_OK;
  snprintf(text, sizeof text, "no counter '%.60s' is known (torch, fvcore, thop, ptflops, ptflops-aten, calflops, torchinfo, jax)", name);
  return fail(file, text, err);
}

/* {"counter": NAME, "total": N, "mode": MODE}: the first and the last may be missing. */
static clarke_status
read_total(clarke_against *a, const json_t *j, const char *file, clarke_error *err)
{
  const json_t *total = json_object_get(j, "total"), *counter = json_object_get(j, "counter"), *mode = json_object_get(j, "mode");
  clarke_status status = CLARKE_OK;

  if (!json_is_integer(total) || json_integer_value(total) < 0)
    return fail(file, "its total is no whole number from 0 on", err);
  if ((counter != NULL && !json_is_string(counter)) || (mode != NULL && mode_named(json_string_value(mode)) == NULL))
    return fail(file, "its counter is no text, or its mode none of forward, backward, with-input", err);
  if (counter != NULL)
    status = known_counter(json_string_value(counter), file, err);
  return status == CLARKE_OK ? add_claim(a, json_string_value(counter), mode != NULL ? mode_named(json_string_value(mode)) : NULL,
                                         json_integer_value(total), err) : status;
}

/* {"Global": {"aten.convolution": N, ...}, MODULE: ..., ...} */
static clarke_status
read_torch(clarke_against *a, json_t *global, const char *file, clarke_error *err)
{
  const char *operator;
  json_t *n;
  json_int_t total = 0;

  json_object_foreach(global, operator, n)
    if (!json_is_integer(n) || json_integer_value(n) < 0 || __builtin_add_overflow(total, json_integer_value(n), &total))
      return fail(file, "an operator's number is no whole one from 0 on", err);
  return add_claim(a, "torch", NULL, total, err);
}

/* {NAME: {MODE: N, ...}, ...} */
static clarke_status
read_counters(clarke_against *a, json_t *j, const char *file, clarke_error *err)
{
  const char *counter, *mode;
  json_t *found, *n;
  clarke_status status = CLARKE_OK;

  json_object_foreach(j, counter, found) {
    status = json_is_object(found) ? known_counter(counter, file, err) : fail(file, "an entry is no object", err);
    if (status != CLARKE_OK)
      return status;
    json_object_foreach(found, mode, n) {
      if (mode_named(mode) == NULL || !json_is_integer(n) || json_integer_value(n) < 0)
        return fail(file, "an entry is no mode with a whole number from 0 on", err);
      status = add_claim(a, counter, mode_named(mode), json_integer_value(n), err);
      if (status != CLARKE_OK)
        return status;
    }
  }
  return a->n > 0 ? CLARKE_OK : fail(file, "it has no number", err);
}

static clarke_status
read_object(clarke_against *a, json_t *j, const char *file, clarke_error *err)
{
  if (!json_is_object(j))
    return fail(file, "it is no object", err);
  if (json_object_get(j, "total") != NULL)
    return read_total(a, j, file, err);
  return json_is_object(json_object_get(j, "Global")) ? read_torch(a, json_object_get(j, "Global"), file, err)
                                                      : read_counters(a, j, file, err);
}

clarke_status
clarke_against_read(clarke_against *a, const char *path, clarke_error *err)
{
  clarke_file file = {0};
  json_error_t wrong;
  json_t *j = NULL;
  clarke_status status = clarke_file_read(&file, path, err);

  if (status == CLARKE_OK) {
    j = json_loadb((const char *)file.data, file.size, JSON_REJECT_DUPLICATES, &wrong);
    status = j != NULL ? read_object(a, j, clarke_base_name(path), err)
                       : clarke_fail(err, CLARKE_EINPUT, "%s: line %d: no JSON: %s", clarke_base_name(path), wrong.line, wrong.text);
  }
  json_decref(j);
  clarke_file_clear(&file);
  return status;
}

/* --- explaining ------------------------------------------------------------------------------------------- */

/* Explains a claim by the one of the conventions it may mean that gives its number, else by the first. */
static void
explain(clarke_counter_claim *c, const clarke_layer_cost *l)
{
  mpz_t says;

  mpz_init(says);
  for (size_t i = 0; clarke_convention_at(i) != NULL && !c->explained; i++) {
    const clarke_convention *by = clarke_convention_at(i);

    if ((c->counter != NULL && strcmp(by->counter, c->counter) != 0) || (c->mode != NULL && strcmp(by->mode, c->mode) != 0))
      continue;
    clarke_convention_total(says, by, l);
    c->explained = mpz_cmp(says, c->total) == 0;
    if (c->by == NULL || c->explained) {
      c->by = by;
      mpz_sub(c->remainder, c->total, says);
    }
  }
  mpz_clear(says);
}

void
clarke_against_explain(clarke_against *a, const clarke_layer_cost *l)
{
  a->explained = true;
  for (size_t i = 0; i < a->n; i++) {
    explain(&a->claim[i], l);
    a->explained = a->explained && a->claim[i].explained;
  }
}

/* --- text and JSON ------------------------------------------------------------------------------------------ */

static void
print_claim(const clarke_counter_claim *c, const clarke_layer_cost *l)
{
  const clarke_convention *own = clarke_convention_own(c->by != NULL ? c->by->mode : "forward", c->by != NULL && c->by->both);
  mpz_t ours, n;

  if (c->by == NULL) {
    gmp_printf("\n%s counts %Zd (%s): of that mode no convention is known.\n", c->counter != NULL ? c->counter : "It", c->total,
               c->mode != NULL ? c->mode : "?");
    return;
  }
  mpz_inits(ours, n, NULL);
  clarke_convention_total(ours, own, l);
  mpz_sub(n, c->total, ours);
  gmp_printf("\n%s counts %Zd (%s%s): %s.\n", c->by->counter, c->total, c->by->both ? "forward and " : "", c->by->mode, c->by->says);
  gmp_printf("  two for each multiply-add              %41Zd\n", ours);
  for (int t = 0; t < CLARKE_N_TERMS; t++) {
    const int more = c->by->of[t] - own->of[t];

    mpz_mul_si(n, l->term[t], more);
    if (mpz_sgn(n) != 0)
      gmp_printf("  %-56s %12Zd  x %2d %+14Zd\n", clarke_term_name((clarke_term)t), l->term[t], more, n);
  }
  if (c->by->constant != 0)
    printf("  %-56s %12s       %+14d\n", "a constant", "", c->by->constant);
  if (mpz_sgn(c->remainder) != 0)
    gmp_printf("  %-56s %12s       %+14Zd\n", "NOT EXPLAINED", "", c->remainder);
  gmp_printf("  %-56s %12s       %14Zd\n", c->explained ? "explained to the unit" : "in all", "", c->total);
  mpz_clears(ours, n, NULL);
}

void
clarke_against_print(const clarke_against *a, const clarke_layer_cost *l)
{
  for (size_t i = 0; i < a->n; i++)
    print_claim(&a->claim[i], l);
}

static json_t *
claim_terms_json(const clarke_counter_claim *c, const clarke_layer_cost *l)
{
  const clarke_convention *own = clarke_convention_own(c->by->mode, c->by->both);
  json_t *list = json_array();
  mpz_t n;

  mpz_init(n);
  for (int t = 0; t < CLARKE_N_TERMS; t++) {
    const int more = c->by->of[t] - own->of[t];
    json_t *j;

    mpz_mul_si(n, l->term[t], more);
    if (mpz_sgn(n) == 0)
      continue;
    j = json_object();
    clarke_json_set(&j, "term", json_string(clarke_term_name((clarke_term)t)));
    clarke_json_set(&j, "amount", clarke_cost_whole(l->term[t]));
    clarke_json_set(&j, "factor", json_integer(more));
    clarke_json_set(&j, "difference", clarke_cost_whole(n));
    clarke_json_append(&list, j);
  }
  mpz_clear(n);
  return list;
}

json_t *
clarke_against_json(const clarke_against *a, const clarke_layer_cost *l)
{
  json_t *list = json_array();

  for (size_t i = 0; i < a->n; i++) {
    const clarke_counter_claim *c = &a->claim[i];
    const clarke_convention *own = c->by != NULL ? clarke_convention_own(c->by->mode, c->by->both) : NULL;
    json_t *j = json_object();
    mpz_t ours;

    clarke_json_set(&j, "counter", clarke_json_text(c->counter != NULL ? c->counter : c->by != NULL ? c->by->counter : NULL));
    clarke_json_set(&j, "mode", clarke_json_text(c->by != NULL ? c->by->mode : c->mode));
    clarke_json_set(&j, "total", clarke_cost_whole(c->total));
    clarke_json_set(&j, "explained", json_boolean(c->explained));
    if (c->by != NULL) {
      mpz_init(ours);
      clarke_convention_total(ours, own, l);
      clarke_json_set(&j, "convention", json_string(c->by->says));
      clarke_json_set(&j, "own", clarke_cost_whole(ours));
      clarke_json_set(&j, "terms", claim_terms_json(c, l));
      clarke_json_set(&j, "constant", json_integer(c->by->constant));
      clarke_json_set(&j, "remainder", clarke_cost_whole(c->remainder));
      mpz_clear(ours);
    }
    clarke_json_append(&list, j);
  }
  return list;
}
