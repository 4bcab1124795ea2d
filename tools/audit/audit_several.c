/* clarke audit of one set of weights, or of several checkpoints in one call. */
#include "audit_report.h"
#include "base/text.h"
#include "command.h"
#include "object.h"
#include "session/json.h"
#include "format/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
compare_names(const void *a, const void *b)
{
  return strcmp(clarke_base_name(*(const char *const *)a), clarke_base_name(*(const char *const *)b));
}

/* Files of outputs are told apart by the checkpoints' base names. */
static clarke_status
check_pattern(const char *option, const char *pattern, const clarke_audit_command *c,
              clarke_error *err)
{
  const char **sorted;
  clarke_status status = CLARKE_OK;

  if (pattern == NULL)
    return CLARKE_OK;
  if (strchr(pattern, '%') == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s %s: of several checkpoints, expected a name with a "
                       "%% in it, for which each checkpoint's name is put", option, pattern);
  sorted = malloc(c->n_params * sizeof *sorted);
  if (sorted == NULL)
    return clarke_no_memory(err);
  memcpy(sorted, c->params, c->n_params * sizeof *sorted);
  qsort(sorted, c->n_params, sizeof *sorted, compare_names);
  for (size_t i = 1; i < c->n_params && status == CLARKE_OK; i++)
    if (compare_names(&sorted[i - 1], &sorted[i]) == 0)
      status = clarke_fail(err, CLARKE_EINPUT, "%s: %s and %s have one name, and would be written to "
                           "one file", option, sorted[i - 1], sorted[i]);
  free(sorted);
  return status;
}

static int
width_of(const clarke_audit_command *c)
{
  size_t width = strlen("checkpoint");

  for (size_t i = 0; i < c->n_params; i++)
    if (strlen(c->params[i]) > width)
      width = strlen(c->params[i]);
  return width < 200 ? (int)width : 200;
}

/* What is known of several checkpoints. */
typedef struct {
  json_t *rows, *verdicts; /* rows: NULL if no JSON is wanted */
  clarke_text table;       /* printed behind the summary */
  size_t unasked;
  const char *worst; /* the first one that is not right; NULL: all are */
} several_answers;

static void
put_row(FILE *to, const clarke_audit_session *s, const char *file, int width, const char *why)
{
  size_t ties = 0;

  for (size_t i = 0; why == NULL && i < s->audit.n_layers; i++)
    ties += s->audit.layer[i].ties;
  if (why != NULL)
    fprintf(to, "%-*s %9s %9s %9s  could not be asked\n", width, file, "-", "-", "-");
  else if (!clarke_audit_touches_known(s))
    fprintf(to, "%-*s %9s %9s %9s  %s\n", width, file, "-", "-", "-", clarke_verdict_name(s->audit.verdict));
  else
    fprintf(to, "%-*s %9zu %9zu %9zu  %s\n", width, file, ties, s->replay.n_touches, s->audit.flat,
            clarke_verdict_name(s->audit.verdict));
}

/* The answer's object; NULL when out of memory. */
static json_t *
answer_json(const clarke_audit_session *s, const clarke_summary *summary, const clarke_check_needs *needs, const clarke_audit_command *c)
{
  json_t *answer = clarke_audit_json(s);

  clarke_audit_set_pictures(&answer, s, clarke_audit_draws(c));
  clarke_audit_set_separator(&answer, s, clarke_audit_draws(c));
  clarke_set_check_needs(&answer, needs);
  clarke_summary_set(&answer, summary, c->verbose);
  return answer;
}

/* The answer's object and the checkpoint's file, or why it could not be asked about. */
static json_t *
row_json(const clarke_audit_session *s, const clarke_summary *summary, const clarke_check_needs *needs, const clarke_audit_command *c,
         const char *file, const char *why)
{
  json_t *row = json_object(), *answer = why == NULL ? answer_json(s, summary, needs, c) : json_object();

  clarke_json_set(&row, "file", clarke_json_text(file));
  if (why != NULL)
    clarke_json_set(&answer, "error", clarke_json_text(why));
  if (json_object_update(row, answer) != 0) {
    json_decref(row);
    row = NULL;
  }
  json_decref(answer);
  return row;
}

/* verdict NULL: it could not be asked about. */
static void
count_row(several_answers *found, const char *verdict, const char *file)
{
  if (verdict == NULL)
    found->unasked++;
  else
    clarke_json_set(&found->verdicts, verdict, json_integer((json_int_t)clarke_count_at(found->verdicts, verdict) + 1));
  if (found->worst == NULL && (verdict == NULL || strcmp(verdict, clarke_verdict_name(CLARKE_IN_BOULIGAND)) != 0))
    found->worst = file;
}

/* Answers for a checkpoint; one that cannot be asked about does not end the run. */
static void
answer_row(int *exit_status, several_answers *found, const clarke_audit_command *c, size_t i)
{
  clarke_error err = {CLARKE_OK, ""};
  clarke_audit_session s;
  clarke_summary summary = {0};
  clarke_check_needs needs;
  clarke_status status;
  const char *why;

  clarke_audit_session_init(&s);
  status = clarke_audit_session_read(&s, &c->ask, &err);
  clarke_watch_hide(false);
  if (status == CLARKE_OK)
    status = clarke_audit_one(&needs, &s, c, c->params[i], &err);
  if (status == CLARKE_OK && c->verbose && clarke_ci_wants(&c->ci, c->json))
    status = clarke_audit_find_zeros(&s, false, &err);
  if (status == CLARKE_OK)
    status = clarke_audit_summary(&summary, &s, NULL, NULL, &err);
  clarke_watch_hide(true);
  why = status == CLARKE_OK ? NULL : err.text;
  if (why != NULL)
    fprintf(stderr, "clarke audit: %s\n", why);
  *exit_status = clarke_status_worse(*exit_status, why == NULL ? clarke_verdict_status(s.audit.verdict) : EXIT_NOT_ASKED);
  count_row(found, why == NULL ? clarke_verdict_name(s.audit.verdict) : NULL, c->params[i]);
  if (found->rows != NULL)
    clarke_json_append(&found->rows, row_json(&s, &summary, &needs, c, c->params[i], why));
  put_row(found->table.to, &s, c->params[i], width_of(c), why);
  clarke_summary_clear(&summary);
  clarke_audit_session_clear(&s);
}

static clarke_ci_source
source_of(const clarke_audit_command *c)
{
  return (clarke_ci_source){.command = "audit", .path = c->ask.model_path, .batch = c->ask.batch_path,
                            .checkpoint = c->n_params == 1 ? c->params[0] : NULL, .json = c->json};
}

static clarke_status
tell_several(const several_answers *found, const clarke_audit_session *s, const clarke_audit_command *c, clarke_error *err)
{
  clarke_summary lines;
  clarke_status status = clarke_summary_begin(&lines, err);

  if (status == CLARKE_OK) {
    fprintf(lines.asked.to, "Is AD's gradient right at these weights? %zu checkpoints; ", c->n_params);
    clarke_audit_put_question(lines.asked.to, s);
    fputs("; model ", lines.asked.to);
    clarke_put_hash(lines.asked.to, s->model.sha256);
    fputs(".", lines.asked.to);
    clarke_put_verdicts(lines.answer.to, found->verdicts, found->unasked > 0, "AD's gradient is ", "at", "checkpoint");
    if (found->unasked > 0)
      fprintf(lines.answer.to, "%zu could not be asked about. ", found->unasked);
    clarke_audit_put_surrogates(lines.answer.to, &s->graph);
    fprintf(lines.next.to, found->worst != NULL ? "The first to look at is %s: asked about alone, it has the whole report." : "Nothing needs doing.",
            found->worst);
  }
  return clarke_summary_tell(&lines, status, err);
}

/* With the table, which is closed. */
static clarke_status
print_several(const several_answers *found, const clarke_audit_session *s, const clarke_audit_command *c, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (c->json || c->ci.quiet)
    return status;
  status = tell_several(found, s, c, err);
  if (status == CLARKE_OK)
    printf("%-*s %9s %9s %9s  verdict\n%s", width_of(c), "checkpoint", "ties", "touched", "flat", found->table.text);
  return status;
}

/* s was read: what is wrong with the model or the batch ends the run before. */
static clarke_status
answer_several(int *exit_status, const clarke_audit_session *s, const clarke_audit_command *c, clarke_error *err)
{
  const bool wanted = clarke_ci_wants(&c->ci, c->json);
  const clarke_ci_source source = source_of(c);
  several_answers found = {.rows = wanted ? json_array() : NULL, .verdicts = json_object()};
  clarke_status status = clarke_text_open(&found.table, err);

  if (status == CLARKE_OK) {
    clarke_watch_hide(true);
    *exit_status = EXIT_HOLDS;
    for (size_t i = 0; i < c->n_params; i++)
      answer_row(exit_status, &found, c, i);
    status = clarke_text_close(&found.table, status, err);
  }
  if (status == CLARKE_OK)
    status = print_several(&found, s, c, err);
  if (status == CLARKE_OK)
    status = clarke_ci_tell(exit_status, &c->ci, &source,
                            wanted ? json_pack("{s:s, s:O}", "verdict", clarke_worst_verdict(found.verdicts, found.unasked > 0), "checkpoints", found.rows) : NULL,
                            err);
  clarke_text_clear(&found.table);
  json_decref(found.rows);
  json_decref(found.verdicts);
  return status;
}

static clarke_status
print(const clarke_audit_session *s, const clarke_summary *summary, const clarke_audit_command *c, clarke_error *err)
{
  if (c->json || c->ci.quiet)
    return CLARKE_OK;
  clarke_summary_print(summary);
  return clarke_audit_print_text(s, NULL, c, err);
}

static clarke_status
answer_one(int *exit_status, clarke_audit_session *s, const clarke_audit_command *c, clarke_error *err)
{
  clarke_ci_source source = source_of(c);
  clarke_summary summary = {0};
  clarke_check_needs needs;
  clarke_status status = clarke_audit_one(&needs, s, c, c->n_params == 1 ? c->params[0] : NULL, err);

  if (status == CLARKE_OK && (c->verbose || !(c->json || c->ci.quiet)))
    status = clarke_audit_find_zeros(s, !c->verbose, err);
  clarke_watch_hide(true);
  source.proof = clarke_audit_proof_written(s, c);
  if (status == CLARKE_OK)
    status = clarke_audit_summary(&summary, s, NULL, source.proof, err);
  if (status == CLARKE_OK)
    status = print(s, &summary, c, err);
  *exit_status = clarke_verdict_status(s->audit.verdict);
  if (status == CLARKE_OK)
    status = clarke_ci_tell(exit_status, &c->ci, &source, clarke_ci_wants(&c->ci, c->json) ? answer_json(s, &summary, &needs, c) : NULL, err);
  clarke_summary_clear(&summary);
  return status;
}

static clarke_status
read_and_answer(int *exit_status, const clarke_audit_command *c, clarke_error *err)
{
  const bool several = c->n_params > 1;
  clarke_audit_session s;
  clarke_status status;

  clarke_audit_session_init(&s);
  status = clarke_audit_session_read(&s, &c->ask, err);
  if (status == CLARKE_OK)
    status = several ? answer_several(exit_status, &s, c, err) : answer_one(exit_status, &s, c, err);
  clarke_audit_session_clear(&s);
  return status;
}

clarke_status
clarke_audit_answer(int *exit_status, const clarke_audit_command *command, clarke_error *err)
{
  clarke_audit_command c = *command;
  clarke_file model = {0}, batch = {0};
  clarke_status status = CLARKE_OK;

  if (c.serve)
    return clarke_audit_serve(exit_status, command, err);
  if (c.run != NULL && c.all_steps)
    return clarke_audit_steps(exit_status, command, err);
  if (c.run != NULL)
    return clarke_audit_run_folder(exit_status, command, err);
  c.ask.provable = c.proof != NULL || c.zone_proof != NULL;
  c.ask.model = &model;
  c.ask.batch = &batch;
  if (c.n_params > 1)
    status = check_pattern("--proof", c.proof, &c, err);
  if (status == CLARKE_OK && c.n_params > 1)
    status = check_pattern("--zone-proof", c.zone_proof, &c, err);
  if (c.n_params > 1 && status == CLARKE_OK)
    status = check_pattern("--gradient", c.gradient, &c, err);
  if (status == CLARKE_OK)
    status = clarke_file_read(&batch, c.ask.batch_path, err);
  if (status == CLARKE_OK)
    status = clarke_file_read(&model, c.ask.model_path, err);
  if (status == CLARKE_OK)
    status = read_and_answer(exit_status, &c, err);
  clarke_file_clear(&model);
  clarke_file_clear(&batch);
  return status;
}
