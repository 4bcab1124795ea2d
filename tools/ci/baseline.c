#include "baseline.h"

#include "format/file.h"
#include "sarif.h"
#include "watch.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOLD 20 /* lines */

/* A file of findings, and what is known by now of each of its results. */
typedef struct {
  json_t *file;
  const json_t *results;
  bool *met; /* it was found again */
} baseline;

static const char *
print_of(const json_t *result)
{
  return json_string_value(json_object_get(json_object_get(result, "partialFingerprints"), CLARKE_SARIF_FINGERPRINT));
}

static json_int_t
count_of(const json_t *result)
{
  return json_integer_value(json_object_get(result, "occurrenceCount"));
}

static clarke_status
check_results(const baseline *b, const char *path, clarke_error *err)
{
  for (size_t i = 0; i < json_array_size(b->results); i++)
    if (print_of(json_array_get(b->results, i)) == NULL || count_of(json_array_get(b->results, i)) < 1)
      return clarke_fail(err, CLARKE_EINPUT,
                         "%s: result %zu has no fingerprint %s, or no count: a file that --sarif wrote is expected", path,
                         i + 1, CLARKE_SARIF_FINGERPRINT);
  return CLARKE_OK;
}

static clarke_status
read_json(baseline *b, const char *path, const clarke_file *bytes, clarke_error *err)
{
  json_error_t why;
  const json_t *run, *driver;
  const char *name;

  b->file = json_loadb((const char *)bytes->data, bytes->size, JSON_REJECT_DUPLICATES, &why);
  if (b->file == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%d: no JSON: %s; a file that --sarif wrote is expected", path, why.line,
                       why.text);
  run = json_array_get(json_object_get(b->file, "runs"), 0);
  driver = json_object_get(json_object_get(run, "tool"), "driver");
  name = json_string_value(json_object_get(driver, "name"));
  b->results = json_object_get(run, "results");
  if (name == NULL || strcmp(name, "clarke") != 0 || !json_is_array(b->results))
    return clarke_fail(err, CLARKE_EINPUT, "%s: no run of clarke with results: a file that --sarif wrote is expected", path);
  b->met = calloc(json_array_size(b->results) + 1, sizeof *b->met);
  return b->met != NULL ? check_results(b, path, err) : clarke_no_memory(err);
}

static clarke_status
read_baseline(baseline *b, const char *path, clarke_error *err)
{
  clarke_file bytes = {0};
  clarke_status status = clarke_file_read(&bytes, path, err);

  if (status == CLARKE_OK)
    status = read_json(b, path, &bytes, err);
  clarke_file_clear(&bytes);
  return status;
}

/* Each result is met once: two findings of one name need two. */
static void
meet(clarke_finding *f, const char *print, baseline *b)
{
  for (size_t i = 0; i < json_array_size(b->results); i++) {
    const json_t *result = json_array_get(b->results, i);

    if (b->met[i] || strcmp(print_of(result), print) != 0)
      continue;
    b->met[i] = true;
    f->known = f->count <= (size_t)count_of(result);
    if (!f->known)
      fprintf(stderr, "baseline: more than was known, %zu in place of %lld: %s\n", f->count, (long long)count_of(result),
              f->message);
    return;
  }
}

static void
tell_stale(const baseline *b)
{
  size_t n = 0;

  for (size_t i = 0; i < json_array_size(b->results); i++) {
    const char *text = json_string_value(json_object_get(json_object_get(json_array_get(b->results, i), "message"), "text"));

    if (!b->met[i] && n++ < MOST_TOLD)
      fprintf(stderr, "baseline: stale, no longer found: %s\n", text != NULL ? text : print_of(json_array_get(b->results, i)));
  }
  if (n > MOST_TOLD)
    fprintf(stderr, "baseline: %zu more are stale\n", n - MOST_TOLD);
}

static clarke_status
compare(clarke_findings *list, baseline *b, clarke_error *err)
{
  bool asked = true;

  clarke_watch_hide(true);
  for (size_t i = 0; i < list->n; i++) {
    char *print;

    asked = asked && list->finding[i].rule != CLARKE_RULE_NOT_ASKED;
    if (list->finding[i].rule == CLARKE_RULE_NONE)
      continue;
    print = clarke_finding_print(list, &list->finding[i]);
    if (print == NULL)
      return clarke_no_memory(err);
    meet(&list->finding[i], print, b);
    free(print);
  }
  if (asked)
    tell_stale(b);
  return CLARKE_OK;
}

clarke_status
clarke_baseline_compare(clarke_findings *list, const char *path, clarke_error *err)
{
  baseline b = {0};
  clarke_status status = read_baseline(&b, path, err);

  if (status == CLARKE_OK)
    status = compare(list, &b, err);
  free(b.met);
  json_decref(b.file);
  return status;
}
