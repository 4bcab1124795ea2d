#include "profile_rows.h"
#include "op/surrogate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *
proxy_text(const clarke_proxy *p)
{
  char *text, *released;

  if (p == NULL || !p->known)
    return strdup("unknown");
  if (p->kind == CLARKE_PROXY_LEFT || p->kind == CLARKE_PROXY_RIGHT)
    return strdup(p->kind == CLARKE_PROXY_LEFT ? "left" : "right");
  text = mpq_get_str(NULL, 10, p->value);
  if (p->kind == CLARKE_PROXY_INJECTED && text != NULL) {
    released = malloc(strlen(text) + sizeof " as-released");
    if (released != NULL)
      sprintf(released, "%s as-released", text);
    free(text);
    return released;
  }
  return text;
}

static char *
tie_text(const clarke_tie_rule *rule)
{
  static const char *const names[] = {[CLARKE_TIE_FIRST] = "first", [CLARKE_TIE_LAST] = "last", [CLARKE_TIE_STABLE] = "stable"};
  char *beta, *text;

  if (rule == NULL || !rule->known)
    return strdup("unknown");
  if (mpq_sgn(rule->beta) == 0)
    return strdup(names[rule->tie]);
  if (mpq_cmp_ui(rule->beta, 1, 1) == 0)
    return strdup("mean");
  beta = mpq_get_str(NULL, 10, rule->beta);
  text = malloc(strlen(beta) + sizeof "hybrid ");
  if (text != NULL)
    sprintf(text, "hybrid %s", beta);
  free(beta);
  return text;
}

static void
add(clarke_profile_rows *r, char *takes, const char *kind, const char *name, size_t kink)
{
  clarke_profile_row *at = &r->row[r->n++];

  at->takes = takes;
  if (kink == CLARKE_NONE)
    snprintf(at->about, sizeof at->about, "%s%s", kind, name);
  else
    snprintf(at->about, sizeof at->about, "%s %zu", name, kink);
}

void
clarke_profile_rows_clear(clarke_profile_rows *r)
{
  for (size_t i = 0; i < r->n; i++)
    free(r->row[i].takes);
  free(r->row);
  *r = (clarke_profile_rows){0};
}

clarke_status
clarke_profile_rows_read(clarke_profile_rows *r, const char *name, clarke_error *err)
{
  clarke_profile p;
  clarke_status status;

  clarke_profile_init(&p);
  status = clarke_profile_load_any(&p, name, err);
  if (status == CLARKE_OK) {
    r->row = calloc(p.n * CLARKE_MAX_KINKS + p.n_orders + CLARKE_N_SURROGATES + 1, sizeof *r->row);
    status = r->row != NULL ? CLARKE_OK : clarke_no_memory(err);
  }
  for (size_t i = 0; status == CLARKE_OK && i < p.n; i++)
    for (size_t k = 0; k < p.op[i]->n_kinks; k++)
      add(r, proxy_text(&p.proxy[i][k]), "", p.op[i]->name, k);
  for (size_t i = 0; status == CLARKE_OK && i < p.n_orders; i++)
    add(r, tie_text(&p.rule[i]), "tie ", p.order[i]->name, CLARKE_NONE);
  for (size_t i = 0; status == CLARKE_OK && clarke_surrogate_operator(i) != NULL; i++)
    add(r, strdup(clarke_surrogate_name(p.surrogates.rule[i])), "surrogate ", clarke_surrogate_operator(i), CLARKE_NONE);
  if (status == CLARKE_OK)
    add(r, strdup(p.norm_nan ? "nan" : "0"), "norm", "", CLARKE_NONE);
  for (size_t i = 0; status == CLARKE_OK && i < r->n; i++)
    if (r->row[i].takes == NULL)
      status = clarke_no_memory(err);
  clarke_profile_clear(&p);
  return status;
}
