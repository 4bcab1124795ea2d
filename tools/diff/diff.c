/* clarke diff: two checkpoints, profiles, records or reports, and where they differ. */
#include "difference.h"

#include "base/printable.h"
#include "base/text.h"
#include "command.h"
#include "failed.h"
#include "format/onnx.h"
#include "profile_rows.h"
#include "session/checkpoint.h"
#include "session/json.h"
#include "summary.h"

#include <argp.h>
#include <flint/flint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROWS ((size_t)20)

typedef enum { PROFILES, RECORDS, REPORTS, CHECKPOINTS } kind;

static const char *const kinds[] = {"profiles", "records", "reports", "checkpoints"};
static const char *const places[] = {"row", "place", "value", "tensor"};

typedef struct {
  const char *name[2];
  size_t n;
  bool json, all;
} request;

static const struct argp_option options[] = {
  {"json", 'j', NULL, 0, "print one JSON object, with all that differs", 0},
  {"all", 'a', NULL, 0, "print all that differs, not the first 20 lines alone", 0},
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "Says where two of a kind differ. They are checkpoints (.safetensors, .npz, torch.save's, an index of shards; of an .onnx its weights), or "
  "profiles (a known name, or a file). Or they are records (RUN/), or reports (FILE.json, which a command printed with --json). Entries of tensors are compared as numbers: "
  "0 and -0 are equal."
  "\vExamples:\n"
  "  clarke diff before.safetensors after.safetensors\n"
  "  clarke diff cases/runs/small cases/runs/small-plain\n"
  "  clarke diff monday.json tuesday.json\n"
  "  clarke diff pytorch-2.13 pytorch-2.14\n\n"
  "Exit status: 0 no difference, 1 they differ, 2 they could not be compared.";

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *r = state->input;
  const clarke_shared_options shared = {.json = &r->json};

  if (clarke_take_shared(key, arg, state, &shared))
    return 0;
  switch (key) {
  case 'a': r->all = true; return 0;
  case ARGP_KEY_ARG:
    if (r->n == 2)
      argp_error(state, "two are compared, not more");
    r->name[r->n++] = arg;
    return 0;
  case ARGP_KEY_END:
    if (r->n != 2)
      argp_error(state, "two of a kind are needed: checkpoints, profiles, records or reports");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* --- what they are -------------------------------------------------------------------------------- */

static bool
is_checkpoint(const char *name)
{
  static const char *const endings[] = {".safetensors", ".npz", ".pt", ".pth", ".bin", ".ckpt", ".onnx", ".index.json"};

  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (clarke_ends_with(name, endings[i]))
      return true;
  return false;
}

/* By name alone. *path is the file's, *key the part of it that is asked about (clarke_checkpoint_name). */
static clarke_status
kind_of(kind *k, char **path, const char **key, const char *given, clarke_error *err)
{
  struct stat at;
  clarke_status status;

  *k = PROFILES;
  if (clarke_profile_known(given))
    return CLARKE_OK;
  status = clarke_checkpoint_name(path, key, given, err);
  if (status == CLARKE_OK && stat(*path, &at) == 0 && S_ISDIR(at.st_mode))
    *k = RECORDS;
  else if (status == CLARKE_OK && is_checkpoint(*path))
    *k = CHECKPOINTS;
  else if (status == CLARKE_OK && clarke_ends_with(*path, ".json"))
    *k = REPORTS;
  return status;
}

/* --- differences ----------------------------------------------------------------------------------- */

static clarke_status
of_profiles(clarke_differences *d, const request *r, clarke_error *err)
{
  clarke_profile_rows rows[2] = {{0}, {0}};
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; status == CLARKE_OK && i < 2; i++)
    status = clarke_profile_rows_read(&rows[i], r->name[i], err);
  for (size_t i = 0; status == CLARKE_OK && i < rows[0].n; i++) {
    d->compared++;
    if (strcmp(rows[0].row[i].takes, rows[1].row[i].takes) != 0)
      clarke_differences_add(d, rows[0].row[i].about, rows[0].row[i].takes, rows[1].row[i].takes);
  }
  clarke_profile_rows_clear(&rows[0]);
  clarke_profile_rows_clear(&rows[1]);
  return status;
}

static clarke_status
of_reports(clarke_differences *d, char *const path[2], clarke_error *err)
{
  json_t *report[2] = {NULL, NULL};
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; status == CLARKE_OK && i < 2; i++) {
    clarke_file file = {0};
    json_error_t why;

    status = clarke_file_read(&file, path[i], err);
    if (status == CLARKE_OK && (report[i] = json_loadb((const char *)file.data, file.size, JSON_REJECT_DUPLICATES, &why)) == NULL)
      status = clarke_fail(err, CLARKE_EINPUT, "%s:%d: no JSON: %s; what a command printed with --json is expected", path[i], why.line, why.text);
    clarke_file_clear(&file);
  }
  if (status == CLARKE_OK)
    clarke_differences_of_json(d, "", report[0], report[1], NULL);
  json_decref(report[0]);
  json_decref(report[1]);
  return status;
}

/* An .onnx's initializers become the checkpoint, sorted. */
static clarke_status
read_weights(clarke_tensors *ts, const clarke_file *f, const char *path, clarke_error *err)
{
  clarke_model m;
  clarke_status status;

  clarke_model_init(&m);
  status = clarke_onnx_parse_at(&m, f->data, f->size, path, err);
  if (status == CLARKE_OK)
    status = clarke_tensors_alloc(ts, m.n_tensors, err);
  for (size_t i = 0; status == CLARKE_OK && i < m.n_tensors; i++) {
    ts->tensor[i] = m.tensors[i];
    clarke_tensor_init(&m.tensors[i]);
  }
  clarke_model_clear(&m);
  return status == CLARKE_OK ? clarke_tensors_sort(ts, err) : status;
}

static clarke_status
read_checkpoint(clarke_tensors *ts, clarke_file *f, const char *path, const char *key, clarke_error *err)
{
  bool checked;
  clarke_status status = clarke_file_read(f, path, err);

  if (status == CLARKE_OK && clarke_ends_with(path, ".onnx"))
    status = read_weights(ts, f, path, err);
  else if (status == CLARKE_OK)
    status = clarke_checkpoint_tensors(ts, &checked, path, key, f, err);
  return status == CLARKE_OK ? clarke_tensors_unpack(ts, err) : status;
}

static clarke_status
of_checkpoints(clarke_differences *d, char *const path[2], const char *const key[2], clarke_error *err)
{
  clarke_tensors ts[2];
  clarke_file file[2] = {{0}, {0}};
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < 2; i++)
    clarke_tensors_init(&ts[i]);
  for (size_t i = 0; status == CLARKE_OK && i < 2; i++)
    status = read_checkpoint(&ts[i], &file[i], path[i], key[i], err);
  if (status == CLARKE_OK)
    status = clarke_differences_of_tensors(d, "", &ts[0], &ts[1], err);
  for (size_t i = 0; i < 2; i++) {
    clarke_tensors_clear(&ts[i]);
    clarke_file_clear(&file[i]);
  }
  return status;
}

static clarke_status
compare(clarke_differences *d, kind k, const request *r, char *const path[2], const char *const key[2], clarke_error *err)
{
  switch (k) {
  case PROFILES: return of_profiles(d, r, err);
  case RECORDS: return clarke_differences_of_records(d, path[0], path[1], err);
  case REPORTS: return of_reports(d, path, err);
  case CHECKPOINTS: return of_checkpoints(d, path, key, err);
  }
  return clarke_fail(err, CLARKE_EINTERNAL, "no such kind");
}

/* --- answers ---------------------------------------------------------------------------------------- */

/* Prints what of others' texts may go to a terminal, on one line. */
static void
print_text(const char *text)
{
  const size_t n = strlen(text), shown = n > 60 ? 60 : n;
  char room[60 * CLARKE_PRINTABLE_MOST + 1];
  const size_t printed = clarke_printable(room, text, shown);

  for (size_t i = 0; i < printed; i++)
    if (room[i] == '\n' || room[i] == '\t')
      room[i] = ' ';
  printf("%.*s%s", (int)printed, room, shown < n ? "..." : "");
}

static void
print_row(const request *r, const json_t *row)
{
  const char *first = json_string_value(json_object_get(row, "first")), *second = json_string_value(json_object_get(row, "second"));
  const json_int_t entries = json_integer_value(json_object_get(row, "entries"));

  fputs("  ", stdout);
  print_text(json_string_value(json_object_get(row, "at")));
  fputs(": ", stdout);
  if (first == NULL || second == NULL) {
    printf("only in %s: ", r->name[first == NULL]);
    print_text(first == NULL ? second : first);
  } else {
    print_text(first);
    fputs(" and ", stdout);
    print_text(second);
  }
  if (entries > 0)
    printf(" (%lld of %lld entries differ, this one most)", (long long)entries, (long long)json_integer_value(json_object_get(row, "of")));
  putchar('\n');
}

static clarke_status
print_answer(const request *r, kind k, const clarke_differences *d, clarke_error *err)
{
  const size_t n = json_array_size(d->rows), shown = r->all || n <= ROWS ? n : ROWS;
  clarke_summary s = {0};
  clarke_status status = clarke_summary_begin(&s, err);

  if (status == CLARKE_OK) {
    fprintf(s.asked.to, "Where do these %s differ? %s and %s.", kinds[k], r->name[0], r->name[1]);
    if (n == 0)
      fputs("Nowhere: none of ", s.answer.to);
    else
      fprintf(s.answer.to, "In %zu of ", n);
    clarke_put_count(s.answer.to, d->compared, places[k]);
    fputs(n == 0 ? " differs." : ".", s.answer.to);
    fputs(n == 0 ? "Nothing." : k == RECORDS ? "clarke certify A --against B says whether rounding explains it." : "Look at the lines below.", s.next.to);
    status = clarke_summary_end(&s, status, err);
  }
  if (status == CLARKE_OK)
    clarke_summary_print(&s);
  for (size_t i = 0; status == CLARKE_OK && i < shown; i++)
    print_row(r, json_array_get(d->rows, i));
  if (status == CLARKE_OK && shown < n)
    printf("  %zu more (--all)\n", n - shown);
  clarke_summary_clear(&s);
  return status;
}

static clarke_status
answer(int *exit_status, const request *r, clarke_error *err)
{
  clarke_differences d = {.rows = json_array()};
  char *path[2] = {NULL, NULL};
  const char *key[2] = {NULL, NULL};
  kind k[2] = {PROFILES, PROFILES};
  clarke_status status = kind_of(&k[0], &path[0], &key[0], r->name[0], err);

  if (status == CLARKE_OK)
    status = kind_of(&k[1], &path[1], &key[1], r->name[1], err);
  if (status == CLARKE_OK && k[0] != k[1])
    status = clarke_fail(err, CLARKE_EINPUT, "two of a kind are compared, but %s is one of the %s and %s one of the %s", r->name[0], kinds[k[0]],
                         r->name[1], kinds[k[1]]);
  if (status == CLARKE_OK)
    status = compare(&d, k[0], r, path, key, err);
  if (status == CLARKE_OK && d.rows == NULL)
    status = clarke_no_memory(err);
  *exit_status = json_array_size(d.rows) > 0 ? EXIT_FAILS : EXIT_HOLDS;
  if (status == CLARKE_OK && r->json)
    status = clarke_json_print(stdout, json_pack("{s:b, s:s, s:I, s:O}", "same", json_array_size(d.rows) == 0, "kind", kinds[k[0]], "compared", (json_int_t)d.compared, "differing", d.rows),
                               JSON_INDENT(2), "\n", err);
  else if (status == CLARKE_OK)
    status = print_answer(r, k[0], &d, err);
  json_decref(d.rows);
  free(path[0]);
  free(path[1]);
  return status;
}

int
clarke_command_diff(int argc, char **argv)
{
  static char name[] = "clarke diff";
  struct argp argp = {options, parse, "A B", doc, NULL, NULL, NULL};
  request r = {.n = 0};
  clarke_error err = {CLARKE_OK, ""};
  int exit_status = EXIT_HOLDS;
  clarke_status status;

  clarke_read_arguments(&r, &argp, name, argc, argv, 0);
  status = answer(&exit_status, &r, &err);
  flint_cleanup_master();
  if (status == CLARKE_OK)
    return exit_status;
  return clarke_failed("diff", r.json, &err);
}
