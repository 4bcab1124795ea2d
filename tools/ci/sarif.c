#include "sarif.h"

#include "base/output.h"
#include "clarke.h"
#include "command.h"
#include "session/json.h"

#include <stdlib.h>
#include <string.h>

/* An index into the list of rules, which has the findings' alone. */
static size_t
index_of(clarke_rule rule)
{
  return (size_t)rule - 1;
}

static json_t *
text_json(const char *text)
{
  return json_pack("{s:s}", "text", text);
}

static json_t *
rules_json(void)
{
  json_t *rules = json_array();

  for (clarke_rule r = CLARKE_RULE_NONE + 1; r < CLARKE_RULE_NOT_ASKED; r++) {
    const clarke_rule_words *w = clarke_rule_told(r);

    clarke_json_append(&rules, json_pack("{s:s, s:s, s:o, s:o, s:o, s:{s:s}}", "id", w->name, "name", w->name,
                                         "shortDescription", text_json(w->summary), "fullDescription", text_json(w->help),
                                         "help", text_json(w->help), "defaultConfiguration", "level", w->level));
  }
  return rules;
}

/* A result without a place in a file is refused by code hosts, and with it the whole file. */
static json_t *
location_json(const clarke_findings *list, const clarke_finding *f)
{
  char *uri = clarke_finding_uri(list, f);
  json_t *region = json_pack("{s:I}", "startLine", (json_int_t)(f->line > 0 ? f->line : 1)), *j;

  if (f->column > 0)
    clarke_json_set(&region, "startColumn", json_integer((json_int_t)f->column));
  j = json_pack("{s:{s:{s:o}, s:o}}", "physicalLocation", "artifactLocation", "uri", clarke_json_text(uri != NULL ? uri : ""),
                "region", region);
  if (uri == NULL) {
    json_decref(j);
    return NULL;
  }
  free(uri);
  if (f->place != NULL)
    clarke_json_set(&j, "logicalLocations", json_pack("[{s:o}]", "fullyQualifiedName", clarke_json_text(f->place)));
  return j;
}

/* In the form in which hosts have the hash of a line: they tell alerts apart by it. */
static json_t *
line_hash(const char *text)
{
  return json_sprintf("%016llx:1", (unsigned long long)clarke_text_hash(text));
}

static json_t *
result_json(const clarke_findings *list, const clarke_finding *f, bool compared)
{
  char *fingerprint = clarke_finding_print(list, f);
  json_t *j = NULL;

  if (fingerprint != NULL)
    j = json_pack("{s:s, s:I, s:s, s:{s:o}, s:[o], s:{s:o, s:o}, s:I}", "ruleId", clarke_rule_told(f->rule)->name, "ruleIndex",
                  (json_int_t)index_of(f->rule), "level", clarke_rule_told(f->rule)->level, "message", "text",
                  clarke_json_text(f->message), "locations", location_json(list, f), "partialFingerprints",
                  CLARKE_SARIF_FINGERPRINT, clarke_json_text(fingerprint), "primaryLocationLineHash", line_hash(fingerprint),
                  "occurrenceCount", (json_int_t)f->count);
  if (compared)
    clarke_json_set(&j, "baselineState", json_string(f->known ? "unchanged" : "new"));
  if (f->subject != NULL || list->checkpoint != NULL)
    clarke_json_set(&j, "properties",
                    json_pack("{s:o}", "checkpoint", clarke_json_text(f->subject != NULL ? f->subject : list->checkpoint)));
  free(fingerprint);
  return j;
}

/* Did the command run to its end, and what could it not ask? */
static json_t *
invocation_json(const clarke_findings *list, int exit_status)
{
  json_t *told = json_array();

  for (size_t i = 0; i < list->n; i++) {
    const clarke_finding *f = &list->finding[i];

    if (f->rule == CLARKE_RULE_NOT_ASKED)
      clarke_json_append(&told, json_pack("{s:s, s:{s:o}}", "level", "error", "message", "text", clarke_json_text(f->message)));
  }
  return json_pack("{s:b, s:i, s:o}", "executionSuccessful", exit_status != EXIT_NOT_ASKED, "exitCode", exit_status,
                   "toolExecutionNotifications", told);
}

static json_t *
sarif_json(const clarke_findings *list, int exit_status, bool compared)
{
  json_t *results = json_array();

  for (size_t i = 0; i < list->n; i++)
    if (list->finding[i].rule != CLARKE_RULE_NONE && list->finding[i].rule != CLARKE_RULE_NOT_ASKED)
      clarke_json_append(&results, result_json(list, &list->finding[i], compared));
  return json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:[o], s:o, s:{s:s}}]}", "$schema",
                   "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", "tool", "driver", "name",
                   "clarke", "version", clarke_version(), "rules", rules_json(), "invocations",
                   invocation_json(list, exit_status), "results", results, "properties", "command", list->command);
}

clarke_status
clarke_sarif_write(const char *path, const clarke_findings *list, int exit_status, bool compared, clarke_error *err)
{
  clarke_output output;
  clarke_status status = clarke_output_open(&output, path, err);

  if (status != CLARKE_OK)
    return status;
  status = clarke_json_print(output.to, sarif_json(list, exit_status, compared), JSON_INDENT(2), "\n", err);
  return clarke_output_close(&output, status, path, err);
}
