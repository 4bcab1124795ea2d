#include "ci.h"

#include "baseline.h"
#include "command.h"
#include "format/file.h"
#include "junit.h"
#include "report.h"
#include "sarif.h"
#include "session/json.h"

#include <stdio.h>
#include <string.h>

/* --- options ---------------------------------------------------------------------------------- */

/* The rule that the first n characters name; NONE: there is none. */
static clarke_rule
rule_named(const char *text, size_t n)
{
  for (clarke_rule r = CLARKE_RULE_NONE + 1; r < CLARKE_RULE_NOT_ASKED; r++)
    if (strlen(clarke_rule_told(r)->name) == n && strncmp(clarke_rule_told(r)->name, text, n) == 0)
      return r;
  return CLARKE_RULE_NONE;
}

/* The names up to one that is no rule's; rule: stops at that one, too. What is left, or NULL. */
static const char *
find_name(const char *names, clarke_rule rule)
{
  for (const char *name = names; name != NULL; name = strchr(name, ',')) {
    clarke_rule found;

    name += name != names; /* past the comma */
    found = rule_named(name, strcspn(name, ","));
    if (found == CLARKE_RULE_NONE || found == rule)
      return name;
  }
  return NULL;
}

static const char *
checked_names(const char *names, const struct argp_state *state)
{
  const char *wrong = find_name(names, CLARKE_RULE_NONE);

  if (wrong != NULL)
    argp_error(state, "--fail-on: '%.*s' is none of in-clarke, undecided, not-in-clarke, touched, turned, refuted, not-known",
               (int)strcspn(wrong, ","), wrong);
  return names;
}

bool
clarke_ci_take(int key, const char *arg, const struct argp_state *state, clarke_ci *to)
{
  const char **file = key == CLARKE_OPTION_SARIF      ? &to->sarif
                      : key == CLARKE_OPTION_JUNIT    ? &to->junit
                      : key == CLARKE_OPTION_HTML     ? &to->html
                      : key == CLARKE_OPTION_BASELINE ? &to->baseline
                                                      : NULL;

  if (file != NULL)
    *file = arg;
  else if (key == CLARKE_OPTION_FAIL_ON)
    to->fail_on = checked_names(arg, state);
  else if (key == CLARKE_OPTION_EXIT_ZERO)
    to->exit_zero = true;
  else if (key == 'q')
    to->quiet = true;
  else
    return false;
  return true;
}

bool
clarke_ci_wants(const clarke_ci *ci, bool json)
{
  return json || ci->sarif != NULL || ci->junit != NULL || ci->html != NULL || ci->baseline != NULL || ci->fail_on != NULL;
}

/* --- the exit status -------------------------------------------------------------------------- */

/* A finding's status: 1 where --fail-on names it, 0 where the baseline has it. A question that could not be asked is never
 * known. */
static int
status_of(const clarke_finding *f, const clarke_ci *ci)
{
  if (f->status == EXIT_NOT_ASKED)
    return EXIT_NOT_ASKED;
  if (f->known)
    return EXIT_HOLDS;
  return ci->fail_on != NULL && f->rule != CLARKE_RULE_NONE && find_name(ci->fail_on, f->rule) != NULL ? EXIT_FAILS : f->status;
}

static int
judge(clarke_findings *list, const clarke_ci *ci)
{
  int worst = EXIT_HOLDS;

  for (size_t i = 0; i < list->n; i++) {
    list->finding[i].status = status_of(&list->finding[i], ci);
    worst = clarke_status_worse(worst, list->finding[i].status);
  }
  return worst != EXIT_NOT_ASKED && ci->exit_zero ? EXIT_HOLDS : worst;
}

/* --- files ------------------------------------------------------------------------------------ */

static clarke_status
write_page(const clarke_ci *ci, const clarke_ci_source *source, const json_t *answer, clarke_error *err)
{
  clarke_file proof = {0};
  clarke_status status = CLARKE_OK;

  if (ci->html == NULL)
    return CLARKE_OK;
  if (source->proof != NULL)
    status = clarke_file_read(&proof, source->proof, err);
  if (status == CLARKE_OK)
    status = clarke_report_write(ci->html, answer,
                                 &(clarke_report_source){.proof = source->proof, .proof_sha256 = proof.sha256}, err);
  clarke_file_clear(&proof);
  return status;
}

static clarke_status
write_files(const clarke_findings *list, const clarke_ci *ci, int exit_status, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (ci->sarif != NULL)
    status = clarke_sarif_write(ci->sarif, list, exit_status, ci->baseline != NULL, err);
  if (status == CLARKE_OK && ci->junit != NULL)
    status = clarke_junit_write(ci->junit, list, err);
  return status;
}

static clarke_status
tell(int *exit_status, const clarke_ci *ci, const clarke_ci_source *source, const json_t *answer, clarke_error *err)
{
  clarke_findings list = {
      .command = source->command, .path = source->path, .batch = source->batch, .checkpoint = source->checkpoint};
  clarke_status status = clarke_findings_read(&list, answer, *exit_status, err);

  if (status == CLARKE_OK && ci->baseline != NULL)
    status = clarke_baseline_compare(&list, ci->baseline, err);
  if (status == CLARKE_OK) {
    *exit_status = judge(&list, ci);
    status = write_files(&list, ci, *exit_status, err);
  }
  if (status == CLARKE_OK)
    status = write_page(ci, source, answer, err);
  clarke_findings_clear(&list);
  return status;
}

clarke_status
clarke_ci_tell(int *exit_status, const clarke_ci *ci, const clarke_ci_source *source, json_t *answer, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (clarke_ci_wants(ci, false) && answer == NULL)
    return clarke_no_memory(err);
  if (clarke_ci_wants(ci, false))
    status = tell(exit_status, ci, source, answer, err);
  else if (ci->exit_zero && *exit_status != EXIT_NOT_ASKED)
    *exit_status = EXIT_HOLDS;
  if (status == CLARKE_OK && source->json && !ci->quiet && ci->told != NULL)
    *ci->told = true;
  if (status == CLARKE_OK && source->json && !ci->quiet)
    return clarke_json_print(stdout, answer, JSON_INDENT(2), "\n", err);
  json_decref(answer);
  return status;
}

static clarke_status
tell_failure(const clarke_ci *ci, const clarke_ci_source *source, const char *why, int exit_status, clarke_error *err)
{
  clarke_findings list = {.command = source->command, .path = source->path != NULL ? source->path : ""};
  clarke_status status = clarke_findings_fail(&list, why, exit_status, err);
  json_t *object = json_pack("{s:o}", "error", clarke_json_text(why));

  if (status == CLARKE_OK)
    status = write_files(&list, ci, exit_status, err);
  if (status == CLARKE_OK && object == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = write_page(ci, source, object, err);
  if (status == CLARKE_OK && source->json && !ci->quiet && (ci->told == NULL || !*ci->told))
    status = clarke_json_print(stdout, json_incref(object), JSON_INDENT(2), "\n", err);
  json_decref(object);
  clarke_findings_clear(&list);
  return status;
}

int
clarke_ci_fail(const clarke_ci *ci, const clarke_ci_source *source, const clarke_error *why)
{
  const int exit_status = why->code == CLARKE_ESTOPPED ? EXIT_UNDECIDED : EXIT_NOT_ASKED;
  clarke_error err = {CLARKE_OK, ""};

  fprintf(stderr, "clarke %s: %s\n", source->command, why->text);
  if (tell_failure(ci, source, why->text, exit_status, &err) != CLARKE_OK && strcmp(err.text, why->text) != 0)
    fprintf(stderr, "clarke %s: %s\n", source->command, err.text);
  return exit_status;
}
