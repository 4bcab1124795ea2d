/* clarke profile: what frameworks take for derivatives at kinks and ties, by version; as the files that profiles are. */
#include "command.h"
#include "failed.h"
#include "profile_rows.h"
#include "session/json.h"
#include "summary.h"

#include <argp.h>
#include <flint/flint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *what, *name[2];
  size_t n; /* names */
  bool json;
} request;

static const struct argp_option options[] = {
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "Shows profiles: AD's number at each kink of each operator, and its rule for ties. NAME is one of the list, or a file. What show "
  "prints is such a file."
  "\vExample:\n"
  "  clarke profile list\n"
  "  clarke profile show jax-0.10\n"
  "  clarke profile diff pytorch-2.13 pytorch-2.14\n\n"
  "Exit status: 0 done, or no difference; 1 the two differ; 2 the question could not be asked.";

static void
check_arguments(const request *r, struct argp_state *state)
{
  static const char *const whats[] = {"list", "show", "diff"};

  for (size_t i = 0; i < 3; i++)
    if (r->what != NULL && strcmp(r->what, whats[i]) == 0) {
      if (r->n != i)
        argp_error(state, "%s takes %zu name%s of profiles", r->what, i, i == 1 ? "" : "s");
      return;
    }
  argp_error(state, "list, show NAME or diff NAME NAME is expected");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *r = state->input;
  const clarke_shared_options shared = {.json = &r->json};

  if (clarke_take_shared(key, arg, state, &shared))
    return 0;
  switch (key) {
  case ARGP_KEY_ARG:
    if (r->what == NULL)
      r->what = arg;
    else if (r->n < 2)
      r->name[r->n++] = arg;
    else
      argp_error(state, "two profiles at most are compared");
    return 0;
  case ARGP_KEY_END:
    check_arguments(r, state);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

/* --- answers ----------------------------------------------------------------------------------- */

static clarke_status
list(const request *r, clarke_error *err)
{
  json_t *names = json_array();

  for (clarke_known_profile i = 0; i < CLARKE_N_PROFILES; i++) {
    const char *bare, *name = clarke_profile_name(i, &bare);

    if (r->json)
      clarke_json_append(&names, json_pack("{s:s, s:s?}", "name", name, "also", bare));
    else
      printf("%s%s%s\n", name, bare != NULL ? "  also called " : "", bare != NULL ? bare : "");
  }
  if (r->json)
    return clarke_json_print(stdout, json_pack("{s:o}", "profiles", names), JSON_INDENT(2), "\n", err);
  json_decref(names);
  return CLARKE_OK;
}

static clarke_status
show(const request *r, clarke_error *err)
{
  clarke_profile_rows own = {0};
  clarke_status status = clarke_profile_rows_read(&own, r->name[0], err);
  json_t *object = json_object();

  if (status == CLARKE_OK && !r->json)
    printf("# %s\n", r->name[0]);
  for (size_t i = 0; status == CLARKE_OK && i < own.n; i++)
    if (r->json)
      clarke_json_set(&object, own.row[i].about, clarke_json_text(own.row[i].takes));
    else
      printf("%s %s\n", own.row[i].about, own.row[i].takes);
  if (status == CLARKE_OK && r->json)
    status = clarke_json_print(stdout, json_pack("{s:o, s:o}", "profile", clarke_json_text(r->name[0]), "takes", object),
                               JSON_INDENT(2), "\n", err);
  else
    json_decref(object);
  clarke_profile_rows_clear(&own);
  return status;
}

/* Does row i differ, and is it its operator's first that does? *length: of the operator's name, which it begins with. */
static bool
begins_operator(int *length, const clarke_profile_rows *one, const clarke_profile_rows *two, size_t i)
{
  const char *about = one->row[i].about;
  const size_t n = strncmp(about, "tie ", 4) == 0 || strncmp(about, "surrogate ", 10) == 0 ? strlen(about) : strcspn(about, " ");

  *length = (int)n;
  if (strcmp(one->row[i].takes, two->row[i].takes) == 0)
    return false;
  for (size_t k = 0; k < i; k++)
    if (strcmp(one->row[k].takes, two->row[k].takes) != 0 && strncmp(one->row[k].about, about, n) == 0 && strchr(" ", one->row[k].about[n]) != NULL)
      return false;
  return true;
}

/* "Clamp, tie Maximum": what differs, by operator. */
static void
put_operators(FILE *to, const clarke_profile_rows *one, const clarke_profile_rows *two)
{
  int length;
  bool begun = false;

  for (size_t i = 0; i < one->n; i++)
    if (begins_operator(&length, one, two, i)) {
      fprintf(to, "%s%.*s", begun ? ", " : "", length, one->row[i].about);
      begun = true;
    }
}

static clarke_status
tell_difference(const request *r, const clarke_profile_rows *one, const clarke_profile_rows *two, size_t differ, clarke_error *err)
{
  clarke_summary s;
  clarke_status status = clarke_summary_begin(&s, err);

  if (status == CLARKE_OK) {
    fprintf(s.asked.to, "What do %s and %s take differently, for slopes at kinks and among equal entries?", r->name[0], r->name[1]);
    if (differ == 0)
      fprintf(s.answer.to, "Nothing: all %zu rows are the same.", one->n);
    else {
      fprintf(s.answer.to, "%zu of %zu rows: ", differ, one->n);
      put_operators(s.answer.to, one, two);
      fputs(".", s.answer.to);
    }
    if (differ == 0)
      fputs("Nothing needs doing.", s.next.to);
    else
      fputs("A model with such operators may train otherwise: clarke audit with --profile, once for each, tells whether its gradient does.", s.next.to);
  }
  return clarke_summary_tell(&s, status, err);
}

static size_t
count_differing(const clarke_profile_rows *one, const clarke_profile_rows *two)
{
  size_t n = 0;

  for (size_t i = 0; i < one->n; i++)
    n += strcmp(one->row[i].takes, two->row[i].takes) != 0;
  return n;
}

static clarke_status
print_difference(int *exit_status, const request *r, const clarke_profile_rows *one, const clarke_profile_rows *two, clarke_error *err)
{
  const size_t differ = count_differing(one, two);
  json_t *differing = json_array();
  clarke_status status = r->json ? CLARKE_OK : tell_difference(r, one, two, differ, err);

  *exit_status = differ > 0 ? EXIT_FAILS : EXIT_HOLDS;
  for (size_t i = 0; i < one->n && status == CLARKE_OK; i++) {
    const char *a = one->row[i].takes, *b = two->row[i].takes;

    if (strcmp(a, b) == 0)
      continue;
    if (r->json)
      clarke_json_append(&differing, json_pack("{s:s, s:s, s:s}", "at", one->row[i].about, "first", a, "second", b));
    else
      printf("%-16s %-10s in %s, %s in %s\n", one->row[i].about, a, r->name[0], b, r->name[1]);
  }
  if (r->json)
    return clarke_json_print(stdout, json_pack("{s:b, s:o}", "same", differ == 0, "differing", differing), JSON_INDENT(2), "\n", err);
  json_decref(differing);
  return status;
}

static clarke_status
diff(int *exit_status, const request *r, clarke_error *err)
{
  clarke_profile_rows one = {0}, two = {0};
  clarke_status status = clarke_profile_rows_read(&one, r->name[0], err);

  if (status == CLARKE_OK)
    status = clarke_profile_rows_read(&two, r->name[1], err);
  if (status == CLARKE_OK)
    status = print_difference(exit_status, r, &one, &two, err);
  clarke_profile_rows_clear(&two);
  clarke_profile_rows_clear(&one);
  return status;
}

int
clarke_command_profile(int argc, char **argv)
{
  static char name[] = "clarke profile";
  static const char usage[] = "list\nshow NAME\ndiff NAME NAME";
  struct argp argp = {options, parse, usage, doc, NULL, NULL, NULL};
  request r = {.what = NULL};
  clarke_error err = {CLARKE_OK, ""};
  int exit_status = EXIT_HOLDS;
  clarke_status status;

  clarke_read_arguments(&r, &argp, name, argc, argv, 0);
  status = r.n == 0 ? list(&r, &err) : r.n == 1 ? show(&r, &err) : diff(&exit_status, &r, &err);
  flint_cleanup_master();
  if (status == CLARKE_OK)
    return exit_status;
  return clarke_failed("profile", r.json, &err);
}
