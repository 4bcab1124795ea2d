/* clarke audit --run RUN/: each of its recorded steps, a line each, and what they come to. */
#include "audit_report.h"
#include "audit_steps.h"
#include "base/stop.h"
#include "command.h"
#include "object.h"
#include "session/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- lines ------------------------------------------------------------------------------------ */

static bool
begins(const json_t *head)
{
  return json_object_get(head, "profile") != NULL && json_object_get(head, "wrt") != NULL;
}

/* Steps by number: as texts of one length they are in the same order. */
static void
step_id(char id[65], size_t step)
{
  snprintf(id, 65, "%020zu", step);
}

/* The step that a line answers for. A line that nobody here writes has none: nothing would be known by it. */
static bool
id_of(char id[65], const json_t *line)
{
  const json_t *step = json_object_get(line, "step");

  if (!json_is_integer(step) || json_integer_value(step) < 0 || !clarke_steps_known(line) || !json_is_array(json_object_get(line, "layers")))
    return false;
  step_id(id, (size_t)json_integer_value(step));
  return true;
}

static const clarke_lines_form form = {CLARKE_STEPS_ANSWERS, "run", begins, id_of, false};

/* All that answers depend on beside the steps' own files; NULL when out of memory. */
static char *
head_of(const clarke_audit_request *ask)
{
  json_t *head = json_pack("{s:s, s:s, s:s?, s:s?}", "format", CLARKE_STEPS_ANSWERS, "clarke", clarke_version(), "profile", ask->profile, "wrt", ask->wrt);
  char *text = head != NULL ? json_dumps(head, JSON_COMPACT) : NULL;

  json_decref(head);
  return text;
}

/* A layer's tied windows, less those that are known to hold zeros alone. Null: it is not known which are tied. */
static json_t *
above_zero(const json_t *layer)
{
  if (json_is_null(json_object_get(layer, "ties")))
    return json_null();
  return json_integer((json_int_t)(clarke_count_at(layer, "ties") - clarke_count_at(layer, "ties_of_zeros")));
}

/* The layers with a kink that is touched, or a window that is tied, or where that is not known. */
static json_t *
layers_of(const json_t *answer)
{
  const json_t *layers = json_object_get(answer, "layers");
  json_t *list = json_array();

  for (size_t i = 0; i < json_array_size(layers); i++) {
    const json_t *l = json_array_get(layers, i);
    const char *name = clarke_text_at(l, "name"), *end = strrchr(name, '/');
    const json_t *touched = json_object_get(l, "touched"), *windows = json_object_get(l, "ties");
    const json_t *parted = json_object_get(l, "parted");

    if (clarke_count_at(l, "touched") + clarke_count_at(l, "ties") > 0 || json_is_null(touched) || json_is_null(json_object_get(l, "s_less_t")))
      clarke_json_append(&list, json_pack("{s:s, s:s%, s:s, s:O, s:O, s:o, s:o, s:O*, s:O*}", "layer", name, "module", name, end != NULL ? (size_t)(end - name) : (size_t)0,
                                          "op", clarke_text_at(l, "op"), "touched", touched, "windows", windows, "above_zero",
                                          above_zero(l), "parted", parted != NULL ? json_incref((json_t *)parted) : json_integer(0),
                                          "s_less_t", json_object_get(l, "s_less_t"), "s_less_t_by_identity", json_object_get(l, "s_less_t_by_identity")));
  }
  return list;
}

/* What is kept of a step's answer; NULL when out of memory. */
static json_t *
line_of(const json_t *answer, const clarke_audit_step *step)
{
  const json_t *gradient = json_object_get(answer, "gradient"), *along = json_object_get(json_object_get(gradient, "turned"), "recorded");
  const char *ran = clarke_text_at(gradient, "answer");
  const json_t *said = along != NULL ? along : answer;
  const bool refuted = strcmp(ran, clarke_ran_name(CLARKE_RAN_REFUTED)) == 0; /* the verdict is about a program that did not run */

  return json_pack("{s:I, s:O, s:s, s:s, s:O?, s:s, s:O?, s:I, s:O?, s:o}", "step", (json_int_t)step->step, "files", step->files, "verdict",
                   refuted ? CLARKE_STEP_NOT_EXPLAINED : clarke_text_at(said, "verdict"), "why",
                   refuted ? clarke_text_at(gradient, "why") : clarke_text_at(said, "why"), "zone", json_object_get(answer, "zone"), "gradient", ran,
                   "by", json_object_get(gradient, "by"), "surrogates", (json_int_t)json_array_size(json_object_get(gradient, "surrogates")), "touched",
                   json_object_get(answer, "touched"), "layers", layers_of(answer));
}

/* Lines that there are must be of these steps, as they are now. */
static clarke_status
check_known(const clarke_lines *lines, const clarke_audit_step_list *steps, const char *path, clarke_error *err)
{
  for (size_t i = 0; i < lines->n; i++) {
    json_t *line = json_loads(lines->line[i].text, 0, NULL);
    const size_t number = clarke_count_at(line, "step");
    const clarke_audit_step *step = clarke_audit_step_find(steps, number);
    const bool same = step != NULL && json_equal(step->files, json_object_get(line, "files"));

    json_decref(line);
    if (!same)
      return clarke_fail(err, CLARKE_EINPUT, "%s: its step %zu is not the one that is there now: take another name", path, number);
  }
  return CLARKE_OK;
}

/* --- a step ----------------------------------------------------------------------------------- */

typedef struct {
  const clarke_audit_command *command;
  clarke_audit_step_list steps;
  clarke_lines lines;
  clarke_lines_appender to; /* its stream is NULL: lines are kept in no file */
  json_t *rows;             /* whole answers, if they are wanted */
  size_t unasked;
  bool proved; /* the proof that was asked for is written */
} asking;

/* With no % in its name the first proof is kept, of a step that is decided and not in-bouligand. */
static clarke_status
prove(clarke_check_needs *needs, asking *a, clarke_audit_command *c, clarke_certified *answer, clarke_error *err)
{
  const clarke_verdict verdict = answer->audit.audit.verdict;
  const bool each = c->proof != NULL && strchr(c->proof, '%') != NULL;
  char name[64];

  snprintf(name, sizeof name, "step-%06zu", c->step);
  if (answer->record.ran == CLARKE_RAN_REFUTED)
    c->proof = c->zone_proof = NULL;
  if (verdict == CLARKE_UNDECIDED || (!each && (a->proved || verdict == CLARKE_IN_BOULIGAND)))
    c->proof = NULL;
  a->proved = a->proved || (c->proof != NULL && !each);
  return clarke_audit_write(needs, &answer->audit, c, name, err);
}

static clarke_status
ask(json_t **row, asking *a, const clarke_audit_step *step, clarke_error *err)
{
  clarke_audit_command c = *a->command;
  clarke_certified answer;
  clarke_check_needs needs;
  clarke_summary summary = {0};
  clarke_status status;

  clarke_certified_init(&answer);
  c.run = step->folder;
  c.step = step->step;
  status = clarke_audit_ask_step(&answer, &c, &c.ask, err);
  if (answer.record.run.n_outside > 0) {
    status = clarke_audit_outside_json(row, &answer.record.run, c.run, err);
    clarke_certified_clear(&answer);
    return status;
  }
  if (status == CLARKE_OK && answer.audit.stopped != NULL && clarke_work_stopped() != NULL)
    status = clarke_fail(err, CLARKE_ESTOPPED, "%s", answer.audit.stopped);
  if (status == CLARKE_OK)
    status = prove(&needs, a, &c, &answer, err);
  if (status == CLARKE_OK)
    status = clarke_audit_summary(&summary, &answer.audit, &answer, NULL, err);
  if (status == CLARKE_OK && (*row = clarke_audit_step_json(&answer, &summary, &needs, a->command)) == NULL)
    status = clarke_no_memory(err);
  clarke_summary_clear(&summary);
  clarke_certified_clear(&answer);
  return status;
}

static clarke_status
keep(asking *a, const clarke_audit_step *step, const json_t *row, clarke_error *err)
{
  json_t *line = line_of(row, step);
  char *text = line != NULL ? json_dumps(line, JSON_COMPACT) : NULL, id[65];
  clarke_status status = text != NULL ? CLARKE_OK : clarke_no_memory(err);

  step_id(id, step->step);
  if (status == CLARKE_OK && a->to.to != NULL)
    status = clarke_lines_append(&a->to, text, err);
  if (status == CLARKE_OK)
    status = clarke_lines_add(&a->lines, id, text, err);
  json_decref(line);
  free(text);
  return status;
}

/* One that cannot be asked about does not end the others, and is asked about the next time. */
static clarke_status
answer_step(asking *a, const clarke_audit_step *step, clarke_error *err)
{
  clarke_error why = {CLARKE_OK, ""};
  json_t *row = NULL;
  char name[64];
  clarke_status status;

  clarke_watch_hide(false);
  status = ask(&row, a, step, &why);
  clarke_watch_hide(true);
  if (status == CLARKE_ESTOPPED) {
    *err = why;
    return status;
  }
  snprintf(name, sizeof name, "step %zu", step->step);
  if (status == CLARKE_OK)
    status = keep(a, step, row, err);
  else {
    fprintf(stderr, "clarke audit: %s: %s\n", name, why.text);
    a->unasked++;
    row = json_pack("{s:o}", "error", clarke_json_text(why.text));
    status = CLARKE_OK;
  }
  if (a->rows != NULL) {
    clarke_json_set(&row, "file", clarke_json_text(name));
    clarke_json_append(&a->rows, row);
  } else
    json_decref(row);
  return status;
}

/* --- all of them ------------------------------------------------------------------------------ */

static clarke_status
open_lines(asking *a, clarke_error *err)
{
  const char *path = a->command->lines;
  char *head = head_of(&a->command->ask);
  clarke_status status = head != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK && path != NULL)
    status = clarke_lines_append_open(&a->to, &a->lines, path, head, err);
  if (status == CLARKE_OK && path != NULL)
    status = check_known(&a->lines, &a->steps, path, err);
  free(head);
  return status;
}

static clarke_status
answer_steps(asking *a, clarke_error *err)
{
  const size_t known = a->lines.n;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < a->steps.n && status == CLARKE_OK; i++) {
    clarke_lines before = a->lines;
    char id[65];

    before.n = known; /* these are in order */
    step_id(id, a->steps.step[i].step);
    if (!clarke_lines_have(&before, id))
      status = answer_step(a, &a->steps.step[i], err);
  }
  return status;
}

static clarke_status
tell(int *exit_status, asking *a, const char *stopped, clarke_error *err)
{
  const clarke_audit_command *c = a->command;
  const clarke_ci_source source = {.command = "audit", .path = a->steps.graph, .json = c->json, .proof = a->proved ? c->proof : NULL};
  const clarke_steps_asked asked = {.folder = c->run, .stopped = stopped, .steps = a->steps.n, .unasked = a->unasked, .proof = source.proof,
                                    .lines = c->lines, .list = &a->steps};
  json_t *summed = NULL, *answer = NULL;
  clarke_status status;

  clarke_lines_sort(&a->lines);
  status = clarke_steps_sum(&summed, exit_status, &a->lines, &asked, err);
  if (status == CLARKE_OK && !c->json && !c->ci.quiet)
    status = clarke_steps_print(summed, &a->lines, &asked, c->verbose, err);
  if (status == CLARKE_OK && a->rows != NULL) {
    answer = json_pack("{s:s, s:O, s:O}", "verdict", clarke_steps_verdict(summed, &asked), "run", summed, "checkpoints", a->rows);
    status = answer != NULL ? CLARKE_OK : clarke_no_memory(err);
  }
  if (status == CLARKE_OK)
    status = clarke_ci_tell(exit_status, &c->ci, &source, answer, err);
  json_decref(summed);
  return status;
}

clarke_status
clarke_audit_steps(int *exit_status, const clarke_audit_command *command, clarke_error *err)
{
  asking a = {.command = command, .lines.form = &form};
  clarke_error why = {CLARKE_OK, ""};
  clarke_status status = clarke_audit_step_list_read(&a.steps, command->run, err), asked, closed;

  if (status == CLARKE_OK)
    status = open_lines(&a, err);
  a.rows = status == CLARKE_OK && clarke_ci_wants(&command->ci, command->json) ? json_array() : NULL;
  asked = status == CLARKE_OK ? answer_steps(&a, &why) : status;
  if (status == CLARKE_OK && asked != CLARKE_OK && asked != CLARKE_ESTOPPED)
    status = clarke_fail(err, asked, "%s", why.text);
  closed = clarke_lines_append_close(&a.to, &a.lines, status, err);
  if (status == CLARKE_OK)
    status = closed;
  if (status == CLARKE_OK)
    status = tell(exit_status, &a, asked == CLARKE_ESTOPPED ? why.text : NULL, err);
  json_decref(a.rows);
  clarke_lines_clear(&a.lines);
  clarke_audit_step_list_clear(&a.steps);
  return status;
}
