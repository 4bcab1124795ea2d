#include "reproduce_run.h"

#include "reproduce_keys.h"
#include "reproduce_line.h"
#include "reproduce_network.h"
#include "reproduce_suite.h"
#include "reproduce_sweep.h"
#include "reproduce_training.h"

#include <stdlib.h>
#include <string.h>

void
clarke_run_init(clarke_run *r)
{
  memset(r, 0, sizeof *r);
  clarke_profile_init(&r->profile);
  clarke_derivation_init(&r->d);
  clarke_count_init(&r->count);
  clarke_prices_init(&r->prices);
}

void
clarke_run_clear(clarke_run *r)
{
  clarke_derivation_clear(&r->d);
  clarke_count_clear(&r->count);
  clarke_prices_clear(&r->prices);
  clarke_profile_clear(&r->profile);
  for (size_t i = 0; i < r->n_at; i++)
    mpq_clear(r->at[i]);
  free(r->at);
  if (r->network != NULL)
    clarke_audit_session_clear(r->network);
  free(r->network);
  clarke_run_line_clear(r);
  free(r->training);
  free(r->sweep);
  free(r->counts);
  free(r->model_path);
  free(r->batch_path);
  clarke_file_clear(&r->model);
  clarke_file_clear(&r->batch);
  memset(r, 0, sizeof *r);
}

clarke_status
clarke_words_cut(clarke_words *w, const char *text, clarke_error *err)
{
  char *rest = NULL;

  memset(w, 0, sizeof *w);
  w->text = strdup(text);
  if (w->text == NULL)
    return clarke_no_memory(err);
  for (const char *word = strtok_r(w->text, " \t", &rest); word != NULL && w->n <= CLARKE_MOST_WORDS; word = strtok_r(NULL, " \t", &rest))
    w->word[w->n++] = word;
  return CLARKE_OK;
}

void
clarke_words_clear(clarke_words *w)
{
  free(w->text);
}

/* Calls each with the words of a text, cut in a copy at the separators. */
static clarke_status
each_word(const char *text, const char *separators,
          clarke_status (*each)(void *closure, char *word, clarke_error *err), void *closure,
          clarke_error *err)
{
  char *copy = strdup(text), *rest = NULL;
  clarke_status status = CLARKE_OK;

  if (copy == NULL)
    return clarke_no_memory(err);
  for (char *word = strtok_r(copy, separators, &rest); word != NULL && status == CLARKE_OK;
       word = strtok_r(NULL, separators, &rest))
    status = each(closure, word, err);
  free(copy);
  return status;
}

typedef struct {
  clarke_run *r;
  bool *given;
} pointing;

static clarke_status
point_word(void *closure, char *word, clarke_error *err)
{
  pointing *w = closure;

  return clarke_point_parse(w->r->at, w->given, w->r->p, word, err);
}

static clarke_status
read_point(clarke_run *r, const char *text, clarke_error *err)
{
  size_t n = clarke_code_entries(r->p);
  pointing w = {r, calloc(r->p->n_inputs + 1, 1)};
  clarke_status status;

  r->at = malloc((n + 1) * sizeof *r->at);
  for (; r->at != NULL && r->n_at < n; r->n_at++)
    mpq_init(r->at[r->n_at]);
  if (r->at == NULL || w.given == NULL) {
    free(w.given);
    return clarke_no_memory(err);
  }
  status = each_word(text, " \t", point_word, &w, err);
  for (size_t i = 0; i < r->p->n_inputs && status == CLARKE_OK; i++)
    if (!w.given[i])
      status = clarke_fail(err, CLARKE_EINPUT, "the point does not give input '%s'",
                           r->p->input[i].name);
  free(w.given);
  return status;
}

typedef struct {
  size_t n;
  char *name[16];
} naming;

static clarke_status
name_word(void *closure, char *word, clarke_error *err)
{
  naming *w = closure;

  if (w->n == sizeof w->name / sizeof *w->name)
    return clarke_fail(err, CLARKE_EINPUT, "wrt names too many inputs");
  w->name[w->n] = strdup(word);
  return w->name[w->n++] != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
mark_wrt(clarke_code *p, const char *names, clarke_error *err)
{
  naming w = {0, {NULL}};
  clarke_status status = names != NULL ? each_word(names, ", \t", name_word, &w, err) : CLARKE_OK;

  if (status == CLARKE_OK)
    status = clarke_code_wrt(p, w.name, w.n, err);
  for (size_t i = 0; i < w.n; i++)
    free(w.name[i]);
  return status;
}

/* c_nl=2 or the like. */
static clarke_status
price_word(void *closure, char *word, clarke_error *err)
{
  static const char *const names[CLARKE_N_OPERATIONS] = {"c+=", "cx=", "c_nl=", "c_R="};
  clarke_run *r = closure;

  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    if (strncmp(word, names[k], strlen(names[k])) == 0)
      return clarke_prices_set(&r->prices, k, word + strlen(names[k]), "prices", err);
  return clarke_fail(err, CLARKE_EINPUT, "prices: '%s' is none of c+=Q, cx=Q, c_nl=Q, c_R=Q", word);
}

static bool
needs_derivation(const clarke_facts *f)
{
  for (size_t i = 0; i < f->n; i++)
    if (clarke_fact_derived(f->fact[i].key))
      return true;
  return false;
}

/* The execution and AD alone. */
static clarke_status
differentiate(clarke_derivation *d, const clarke_run *r, clarke_error *err)
{
  clarke_status status = clarke_execute(&d->execution, r->p, r->at, err);

  d->verdict = CLARKE_UNDECIDED;
  if (status != CLARKE_OK || d->execution.open)
    return status;
  d->dim = r->p->n_outputs * clarke_code_wrt_count(r->p);
  d->ad = clarke_numbers(d->dim);
  if (d->ad == NULL)
    return clarke_no_memory(err);
  status = clarke_execution_ad(d->ad, &d->execution, &r->profile, err);
  d->ad_exact = status == CLARKE_OK;
  for (size_t i = 0; i < d->dim; i++)
    d->ad_exact = d->ad_exact && d->ad[i].exact;
  return status;
}

clarke_verdict
clarke_run_verdict(const clarke_run *r)
{
  return r->network != NULL ? r->network->audit.verdict : r->d.verdict;
}

static clarke_status
derive(clarke_run *r, clarke_case *c, const clarke_check *check, clarke_error *err)
{
  clarke_status status;

  r->p = &c->program;
  status = mark_wrt(r->p, check->wrt, err);
  if (status == CLARKE_OK)
    status = clarke_profile_parse(&r->profile, check->profile, strlen(check->profile), "case", err);
  if (status == CLARKE_OK)
    status = clarke_profile_check_plain(&r->profile, err);
  if (status == CLARKE_OK && check->prices != NULL)
    status = each_word(check->prices, " \t", price_word, r, err);
  if (status == CLARKE_OK)
    status = clarke_count_program(&r->count, r->p, err);
  if (status == CLARKE_OK)
    status = read_point(r, check->at, err);
  if (status == CLARKE_OK)
    status = needs_derivation(&c->facts[check->facts])
               ? clarke_derive(&r->d, r->p, r->at, &r->profile, err)
               : differentiate(&r->d, r, err);
  return status;
}

clarke_status
clarke_run_check(clarke_run *r, clarke_case *c, const clarke_check *check, clarke_error *err)
{
  clarke_status status;

  r->c = c;
  r->check = check;
  status = check->kind == CLARKE_CHECK_NETWORK ? clarke_run_network(r, err)
           : check->kind == CLARKE_CHECK_LINE  ? clarke_run_line(r, err)
           : check->kind == CLARKE_CHECK_SUITE ? clarke_run_suite(r, err)
           : check->kind == CLARKE_CHECK_SWEEP ? clarke_run_sweep_ask(r, err)
           : check->kind == CLARKE_CHECK_TRAINING ? clarke_run_training_ask(r, err)
                                               : derive(r, c, check, err);
  return status == CLARKE_OK
           ? CLARKE_OK
           : clarke_fail_in(err, status, "%s:%zu", c->name, check->line);
}
