/* clarke audit of one set of weights, or of several checkpoints in one call. */
#include "audit_report.h"
#include "command.h"
#include "report_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
status_of(clarke_verdict verdict)
{
  return verdict == CLARKE_UNDECIDED       ? EXIT_UNDECIDED
         : verdict == CLARKE_NOT_IN_CLARKE ? EXIT_FAILS
                                           : EXIT_HOLDS;
}

/* The one that a script must not overlook: a file that could not be read, a gradient proved wrong,
 * one not decided. */
static int
worse(int a, int b)
{
  static const int rank[] = {
    [EXIT_HOLDS] = 0, [EXIT_UNDECIDED] = 1, [EXIT_FAILS] = 2, [EXIT_NOT_ASKED] = 3};

  return rank[a] > rank[b] ? a : b;
}

static int
compare_names(const void *a, const void *b)
{
  return strcmp(clarke_base_name(*(const char *const *)a), clarke_base_name(*(const char *const *)b));
}

/* Files of outputs are told apart by the checkpoints' base names. */
static clarke_status
check_pattern(const char *option, const char *pattern, const clarke_audit_request *r,
              clarke_error *err)
{
  const char **sorted;
  clarke_status status = CLARKE_OK;

  if (pattern == NULL)
    return CLARKE_OK;
  if (strchr(pattern, '%') == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s %s: of several checkpoints, expected a name with a "
                       "%% in it, for which each checkpoint's name is put", option, pattern);
  sorted = malloc(r->n_params * sizeof *sorted);
  if (sorted == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  memcpy(sorted, r->params, r->n_params * sizeof *sorted);
  qsort(sorted, r->n_params, sizeof *sorted, compare_names);
  for (size_t i = 1; i < r->n_params && status == CLARKE_OK; i++)
    if (compare_names(&sorted[i - 1], &sorted[i]) == 0)
      status = clarke_fail(err, CLARKE_EINPUT, "%s: %s and %s have one name, and would be written to "
                           "one file", option, sorted[i - 1], sorted[i]);
  free(sorted);
  return status;
}

static int
width_of(const clarke_audit_request *r)
{
  size_t width = strlen("checkpoint");

  for (size_t i = 0; i < r->n_params; i++)
    if (strlen(r->params[i]) > width)
      width = strlen(r->params[i]);
  return width < 200 ? (int)width : 200;
}

static void
print_row(const clarke_audit_session *s, const char *file, int width, const char *why)
{
  size_t ties = 0;

  for (size_t i = 0; why == NULL && i < s->audit.n_layers; i++)
    ties += s->audit.layer[i].ties;
  if (why != NULL)
    printf("%-*s %9s %9s %9s  could not be asked\n", width, file, "-", "-", "-");
  else
    printf("%-*s %9zu %9zu %9zu  %s\n", width, file, ties, s->replay.n_touches, s->audit.flat,
           clarke_verdict_name(s->audit.verdict));
  fflush(stdout); /* a row when it is known */
}

static void
print_head(const clarke_audit_session *s, const clarke_audit_request *r)
{
  clarke_audit_print_inputs(s);
  printf("%-*s %9s %9s %9s  verdict\n", width_of(r), "checkpoint", "ties", "touched", "flat");
}

/* Answers for a checkpoint; one that cannot be asked about does not end the run. */
static clarke_status
answer_row(int *exit_status, json_t *rows, clarke_audit_session *s, const clarke_audit_request *r,
           size_t i, clarke_error *out_of_memory)
{
  clarke_error err = {CLARKE_OK, ""};
  const clarke_status status = clarke_audit_one(s, r, r->params[i], &err);
  const char *why = status == CLARKE_OK ? NULL : err.text;

  if (why != NULL)
    fprintf(stderr, "clarke audit: %s\n", why);
  *exit_status = worse(*exit_status,
                       why == NULL ? status_of(s->audit.verdict) : EXIT_NOT_ASKED);
  if (!r->json)
    print_row(s, r->params[i], width_of(r), why);
  else if (json_array_append_new(rows, clarke_audit_row_json(s, r->params[i], why)) != 0)
    return clarke_fail(out_of_memory, CLARKE_ENOMEM, "out of memory");
  return CLARKE_OK;
}

static clarke_status
answer_several(int *exit_status, clarke_audit_session *s, const clarke_audit_request *r,
               clarke_error *err)
{
  json_t *rows = json_array();
  clarke_status status = CLARKE_OK;

  if (!r->json)
    print_head(s, r);
  *exit_status = EXIT_HOLDS;
  for (size_t i = 0; i < r->n_params && status == CLARKE_OK; i++)
    status = answer_row(exit_status, rows, s, r, i, err);
  if (status == CLARKE_OK && r->json)
    return clarke_json_print(json_pack("{s:o}", "checkpoints", rows), JSON_INDENT(2), "\n", err);
  json_decref(rows);
  return status;
}

static clarke_status
answer_one(int *exit_status, clarke_audit_session *s, const clarke_audit_request *r,
           clarke_error *err)
{
  clarke_status status = clarke_audit_one(s, r, r->n_params == 1 ? r->params[0] : NULL, err);

  if (status == CLARKE_OK && r->json)
    status = clarke_audit_print_json(s, err);
  else if (status == CLARKE_OK)
    clarke_audit_print_text(s);
  *exit_status = status_of(s->audit.verdict);
  return status;
}

clarke_status
clarke_audit_answer(int *exit_status, const clarke_audit_request *r, clarke_error *err)
{
  const bool several = r->n_params > 1;
  clarke_audit_session s;
  clarke_status status = CLARKE_OK;

  clarke_audit_session_init(&s);
  if (several)
    status = check_pattern("--proof", r->proof, r, err);
  if (several && status == CLARKE_OK)
    status = check_pattern("--gradient", r->gradient, r, err);
  if (status == CLARKE_OK)
    status = clarke_audit_read(&s, r, err);
  if (status == CLARKE_OK)
    status = several ? answer_several(exit_status, &s, r, err)
                     : answer_one(exit_status, &s, r, err);
  clarke_audit_session_clear(&s);
  return status;
}
