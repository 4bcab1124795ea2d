/* What frameworks take at the kinks of an operator, or among its equal entries. */
#include "explain_kink.h"

#include "format/file.h"
#include "object.h"
#include "profile_rows.h"
#include "since_when.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The operator's name in a row; the rest says which kink. */
static bool
is_of(const clarke_profile_row *row, const char *op)
{
  const bool tie = strncmp(row->about, "tie ", 4) == 0;
  const char *name = row->about + (tie ? 4 : 0);
  const size_t n = strcspn(name, " ");

  return strlen(op) == n && strncasecmp(name, op, n) == 0;
}

/* What a profile's file has, in words. */
static void
print_taken(const char *takes, bool tie)
{
  static const char *const said[][2] = {
    {"unknown", "what is not known"}, {"left", "the slope on the left"}, {"right", "the slope on the right"}, {"first", "the first"},
    {"last", "the last"}, {"stable", "the one that a stable sort puts there"}, {"mean", "their mean"}};

  for (size_t i = 0; i < sizeof said / sizeof *said; i++)
    if (strcmp(takes, said[i][0]) == 0) {
      fputs(said[i][1], stdout);
      return;
    }
  printf("%s%s", tie ? "" : "the slope ", takes);
}

/* "the slope 0 in pytorch-2.13, jax-0.10; the slope 1 in ...": one line of all profiles' rows of that number. */
static void
print_row(const clarke_profile_rows rows[CLARKE_N_PROFILES], size_t at)
{
  const clarke_profile_row *row = &rows[0].row[at];
  const bool tie = strncmp(row->about, "tie ", 4) == 0;
  bool told[CLARKE_N_PROFILES] = {false};
  const char *bare, *before = "";

  if (tie)
    printf("  among several equal entries AD takes ");
  else
    printf("  at its kink number %s (from 0, the leftmost) AD takes ", row->about + strcspn(row->about, " ") + 1);
  for (size_t i = 0; i < CLARKE_N_PROFILES; i++) {
    if (told[i])
      continue;
    fputs(before, stdout);
    print_taken(rows[i].row[at].takes, tie);
    printf(" in %s", clarke_profile_name((clarke_known_profile)i, &bare));
    for (size_t j = i + 1; j < CLARKE_N_PROFILES; j++)
      if (strcmp(rows[i].row[at].takes, rows[j].row[at].takes) == 0) {
        told[j] = true;
        printf(", %s", clarke_profile_name((clarke_known_profile)j, &bare));
      }
    before = "; ";
  }
  puts("");
}

static size_t
print_rows(const clarke_profile_rows rows[CLARKE_N_PROFILES], const char *op, bool first)
{
  size_t n = 0;

  for (size_t at = 0; at < rows[0].n; at++) {
    if (!is_of(&rows[0].row[at], op))
      continue;
    if (n++ == 0)
      printf("%s%.*s, an operator with kinks\n", first ? "" : "\n", (int)strlen(op),
             rows[0].row[at].about + (strncmp(rows[0].row[at].about, "tie ", 4) == 0 ? 4 : 0));
    print_row(rows, at);
  }
  for (size_t i = 0; n > 0 && i < sizeof since / sizeof *since; i++)
    if (strcasecmp(since[i].op, op) == 0)
      printf("  by version: %s\n", since[i].text);
  return n;
}

clarke_status
clarke_explain_kink(bool *found, const char *op, bool first, clarke_error *err)
{
  clarke_profile_rows rows[CLARKE_N_PROFILES] = {{0}};
  clarke_status status = CLARKE_OK;
  const char *bare;

  for (size_t i = 0; status == CLARKE_OK && i < CLARKE_N_PROFILES; i++)
    status = clarke_profile_rows_read(&rows[i], clarke_profile_name((clarke_known_profile)i, &bare), err);
  *found = status == CLARKE_OK && print_rows(rows, op, first) > 0;
  for (size_t i = 0; i < CLARKE_N_PROFILES; i++)
    clarke_profile_rows_clear(&rows[i]);
  return status;
}

/* --- touched kinks of a report ------------------------------------------------------------------- */

#define SHOWN ((size_t)10)

/* Layers' names may hold commas: so each way of reading it is tried. */
static bool
is_asked(const json_t *row, const char *kink)
{
  const char *layer = clarke_text_at(row, "layer"), *node = clarke_text_at(row, "node");
  char name[1024];

  if (kink == NULL || (*node != '\0' && strncmp(node, kink, strlen(kink)) == 0))
    return true;
  if (strcmp(layer, kink) == 0)
    return true;
  snprintf(name, sizeof name, "%s,%zu", layer, clarke_count_at(row, "neuron"));
  if (strcmp(name, kink) == 0)
    return true;
  snprintf(name, sizeof name, "%s,%zu,%zu", layer, clarke_count_at(row, "neuron"), clarke_count_at(row, "sample"));
  return strcmp(name, kink) == 0;
}

static void
print_list(const char *what, const json_t *list)
{
  printf("%s ", what);
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *entry = json_array_get(list, i);

    fputs(i == 0 ? "" : i + 1 < json_array_size(list) ? ", " : " and ", stdout);
    if (json_is_integer(entry))
      printf("%lld", (long long)json_integer_value(entry));
    else
      fputs(json_string_value(entry) != NULL ? json_string_value(entry) : "?", stdout);
  }
}

/* What AD multiplied by: a text, or one for each of a tie's entries. */
static void
print_proxy(const json_t *row)
{
  const json_t *proxy = json_object_get(row, json_object_get(row, "ad") != NULL ? "ad" : "proxy");

  if (json_is_array(proxy))
    print_list("AD took", proxy);
  else
    printf("AD took %s", json_string_value(proxy) != NULL ? json_string_value(proxy) : "what is not told");
}

static void
print_touched(const json_t *row, const char *profile)
{
  if (*clarke_text_at(row, "node") != '\0')
    printf("%s", clarke_text_at(row, "node"));
  else
    printf("%s (%s), neuron %zu, sample %zu", clarke_text_at(row, "layer"), clarke_text_at(row, "op"), clarke_count_at(row, "neuron"),
           clarke_count_at(row, "sample"));
  printf(": its argument is exactly %s\n  ", clarke_text_at(row, "argument"));
  if (json_object_get(row, "tied") != NULL)
    print_list("equal: entries", json_object_get(row, "tied"));
  else
    print_list("slopes on its sides:", json_object_get(row, "slopes"));
  fputs("; ", stdout);
  print_proxy(row);
  printf(" (%s)\n", profile);
}

/* The operator's name: of a program the first word of the node's. */
static void
name_operator(char op[64], const json_t *row)
{
  const char *name = clarke_text_at(row, "op"), *node = clarke_text_at(row, "node");

  snprintf(op, 64, "%.*s", *name != '\0' ? (int)strlen(name) : (int)strcspn(node, " "), *name != '\0' ? name : node);
}

static clarke_status
explain_rows(const json_t *rows, const char *kink, const char *profile, const char *report, clarke_error *err)
{
  char ops[SHOWN][64];
  size_t n = 0, n_ops = 0;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < json_array_size(rows); i++) {
    const json_t *row = json_array_get(rows, i);
    size_t k = 0;

    if (!is_asked(row, kink) || n++ >= SHOWN)
      continue;
    print_touched(row, profile);
    name_operator(ops[n_ops], row);
    while (k < n_ops && strcmp(ops[k], ops[n_ops]) != 0)
      k++;
    n_ops += k == n_ops;
  }
  if (n == 0 && json_array_size(rows) == 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: no kink is touched there, or none is listed (audit lists them with --touched)", report);
  if (n == 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: '%s' is none of its %zu touched kinks; the first is %s%s", report, kink, json_array_size(rows),
                       clarke_text_at(json_array_get(rows, 0), "layer"), clarke_text_at(json_array_get(rows, 0), "node"));
  if (n > SHOWN)
    printf("%zu more\n", n - SHOWN);
  for (size_t k = 0; status == CLARKE_OK && k < n_ops; k++) {
    bool found;

    status = clarke_explain_kink(&found, ops[k], false, err);
  }
  return status;
}

clarke_status
clarke_explain_touched(const char *report, const char *kink, clarke_error *err)
{
  clarke_file file = {0};
  json_error_t why;
  json_t *answer = NULL;
  clarke_status status = clarke_file_read(&file, report, err);

  if (status != CLARKE_OK)
    return status;
  answer = json_loadb((const char *)file.data, file.size, JSON_REJECT_DUPLICATES, &why);
  if (answer == NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "%s:%d: no JSON: %s; what a command printed with --json is expected", report, why.line, why.text);
  else {
    const json_t *rows = json_object_get(answer, "touched_kinks");

    status = explain_rows(json_is_array(rows) ? rows : json_object_get(answer, "touched"), kink, clarke_text_at(answer, "profile"), report, err);
  }
  json_decref(answer);
  clarke_file_clear(&file);
  return status;
}
