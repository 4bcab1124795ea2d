/* Answers (clarke.h). */
#include "session/handles.h"

#include "session/gradient.h"
#include "session/json.h"

#include "base/output.h"

#include <stdlib.h>
#include <string.h>

clarke_verdict
clarke_answer_verdict(const clarke_answer *a)
{
  return a->of_network ? a->audit.audit.verdict : a->found.verdict;
}

const char *
clarke_answer_reason(const clarke_answer *a)
{
  return a->of_network ? a->audit.audit.why : a->found.why;
}

/* --- JSON and proofs --- */

static clarke_status
make_json(json_t **j, const clarke_answer *a, clarke_error *err)
{
  clarke_derive_text t;
  clarke_status status;

  if (a->of_network) {
    *j = clarke_audit_json(&a->audit);
    return CLARKE_OK;
  }
  clarke_derive_text_init(&t);
  status = clarke_derive_text_fill(&t, &a->derive, &a->found, err);
  if (status == CLARKE_OK)
    *j = clarke_derive_json(&a->derive, &a->found, &t);
  clarke_derive_text_clear(&t);
  return status;
}

clarke_status
clarke_answer_json(char **json, const clarke_answer *a, clarke_error *err)
{
  clarke_text text;
  json_t *j = NULL;
  clarke_status status = clarke_text_open(&text, err);

  *json = NULL;
  if (status != CLARKE_OK)
    return status;
  status = make_json(&j, a, err);
  if (status == CLARKE_OK)
    status = clarke_json_print(text.to, j, JSON_INDENT(2), "\n", err);
  status = clarke_text_close(&text, status, err);
  if (status == CLARKE_OK) {
    *json = text.text;
    text.text = NULL;
  }
  clarke_text_clear(&text);
  return status;
}

clarke_status
clarke_answer_prove(const clarke_answer *a, const char *path, clarke_error *err)
{
  if (a->of_network)
    return clarke_audit_session_prove(&a->audit, path, err);
  if (a->found.verdict == CLARKE_UNDECIDED)
    return clarke_fail(err, CLARKE_EINPUT, "undecided: there is no proof");
  return clarke_derive_prove(&a->derive, &a->found, path, err);
}

/* --- gradients --- */

static clarke_status
not_known(clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "an argument cannot be told from its kink: AD's gradient is not known");
}

/* Those of a parameter; of one that the loss does not move with, zeros. */
static clarke_status
put_parameter(double *to, clarke_answer *a, size_t p, size_t n, clarke_error *err)
{
  clarke_gradient gradient;
  bool known = false;
  clarke_status status = clarke_audit_gradient(&known, &gradient, &a->audit, err);

  if (status == CLARKE_OK && !known)
    status = not_known(err);
  for (size_t e = 0; status == CLARKE_OK && e < n; e++)
    to[e] = gradient.entry[p] != NULL ? gradient.entry[p][e] : 0;
  clarke_gradient_clear(&gradient);
  return status;
}

static clarke_status
of_parameter(double **gradient, size_t *n, clarke_answer *a, const char *name, clarke_error *err)
{
  const clarke_graph *g = &a->audit.graph;
  size_t p = 0;
  clarke_status status;

  while (p < g->n_parameters && (!g->parameters[p].wrt || strcmp(g->parameters[p].name, name) != 0))
    p++;
  if (p == g->n_parameters)
    return clarke_fail(err, CLARKE_EINPUT, "%s: no parameter '%s' that the question is about", g->file, name);
  *gradient = malloc((g->parameters[p].count + 1) * sizeof **gradient);
  *n = g->parameters[p].count;
  status = *gradient != NULL ? put_parameter(*gradient, a, p, *n, err)
                             : clarke_no_memory(err);
  return status;
}

static clarke_status
of_input(double **gradient, size_t *n, const clarke_answer *a, const char *name, clarke_error *err)
{
  const clarke_code *p = &a->derive.program;
  const size_t width = clarke_code_wrt_count(p);
  size_t i = 0, first = 0;

  for (; i < p->n_inputs && (!p->input[i].wrt || strcmp(p->input[i].name, name) != 0); i++)
    first += p->input[i].wrt ? p->input[i].n : 0;
  if (i == p->n_inputs)
    return clarke_fail(err, CLARKE_EINPUT, "%s: no input '%s' that the question is about", p->file, name);
  if (a->found.execution.open)
    return not_known(err);
  *n = p->n_outputs * p->input[i].n;
  *gradient = malloc((*n + 1) * sizeof **gradient);
  if (*gradient == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < *n; k++)
    (*gradient)[k] = clarke_number_double(&a->found.ad[k / p->input[i].n * width + first + k % p->input[i].n]);
  return CLARKE_OK;
}

clarke_status
clarke_answer_gradient(double **gradient, size_t *n, clarke_answer *a, const char *name, clarke_error *err)
{
  clarke_status status;

  *gradient = NULL;
  *n = 0;
  status = a->of_network ? of_parameter(gradient, n, a, name, err) : of_input(gradient, n, a, name, err);
  if (status != CLARKE_OK) {
    free(*gradient);
    *gradient = NULL;
    *n = 0;
  }
  return status;
}

clarke_status
clarke_answer_save_gradient(clarke_answer *a, const char *path, clarke_error *err)
{
  bool written = false;
  clarke_status status;

  if (!a->of_network)
    return clarke_fail(err, CLARKE_EINPUT, "a program's gradient is no file of tensors");
  status = clarke_audit_save_gradient(&written, &a->audit, path, err);
  return status == CLARKE_OK && !written ? not_known(err) : status;
}
