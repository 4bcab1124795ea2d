/* clarke merge: the results of a sweep's parts as one file, which is the same however the sweep was parted. */
#include "command.h"
#include "failed.h"
#include "object.h"
#include "sweep_jobs.h"
#include "sweep_summary.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *output;
  size_t n;
  const char **file;
  clarke_sweep_summing summary;
} request;

static const struct argp_option options[] = {
  {"output", 'o', "FILE", 0, "where all results go, by job", 0},
  CLARKE_OPTIONS_OF_SUMMARY,
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "Puts the results of clarke sweep together: FILEs of parts (--shard), of one sweep. The bytes of what is written do not depend on "
  "the number of parts, nor on the order in which jobs were done, or how often."
  "\vExample:\n"
  "  clarke merge results.*.jsonl -o results.jsonl\n\n"
  "Exit status: 0 all of the sweep's jobs are there, 2 the question could not be asked, 3 some are missing.";

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *r = state->input;
  const clarke_shared_options shared = {.json = &r->summary.json};

  if (clarke_take_shared(key, arg, state, &shared) || clarke_sweep_take(key, arg, state, &r->summary))
    return 0;
  switch (key) {
  case 'o':
    r->output = arg;
    return 0;
  case ARGP_KEY_ARG:
    r->file[r->n++] = arg;
    return 0;
  case ARGP_KEY_END:
    if (r->n == 0 || r->output == NULL)
      argp_error(state, "FILEs and -o FILE are needed");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

/* Complete results are of the jobs that the first line stands for. */
static clarke_status
check_jobs(const clarke_lines *r, clarke_error *err)
{
  json_t *head = json_loads(r->head, 0, NULL);
  const char **ids = calloc(r->n + 1, sizeof *ids);
  char id[65] = "";
  clarke_status status = head != NULL && ids != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t i = 0; status == CLARKE_OK && i < r->n; i++)
    ids[i] = r->line[i].id;
  if (status == CLARKE_OK && r->n >= clarke_count_at(head, "jobs"))
    status = clarke_sweep_id(id, ids, r->n, err);
  if (status == CLARKE_OK && *id != '\0' && strcmp(id, clarke_text_at(head, "sweep")) != 0)
    status = clarke_fail(err, CLARKE_EINPUT, "the results are not of the jobs that their first line is about");
  json_decref(head);
  free(ids);
  return status;
}

static clarke_status
merge(int *exit_status, const request *q, clarke_error *err)
{
  clarke_lines r = {.form = &clarke_sweep_lines};
  size_t missing = 0;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < q->n && status == CLARKE_OK; i++) {
    r.cut = false;
    status = clarke_lines_read(&r, q->file[i], err);
    if (status == CLARKE_OK && r.cut)
      fprintf(stderr, "clarke merge: %s: its last line has no end, and was left out: the part was not finished\n", q->file[i]);
  }
  if (status == CLARKE_OK && r.head == NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: no results", q->file[0]);
  if (status == CLARKE_OK)
    status = check_jobs(&r, err);
  if (status == CLARKE_OK)
    status = clarke_lines_write(&r, q->output, err);
  if (status == CLARKE_OK)
    status = clarke_sweep_summary(&missing, &r, &q->summary, err);
  *exit_status = missing > 0 ? EXIT_UNDECIDED : EXIT_HOLDS;
  if (status == CLARKE_OK && missing > 0)
    fprintf(stderr, "clarke merge: %zu jobs are missing: run clarke sweep for them, and merge again\n", missing);
  clarke_lines_clear(&r);
  return status;
}

int
clarke_command_merge(int argc, char **argv)
{
  static char name[] = "clarke merge";
  static const char usage[] = "FILE... -o FILE";
  struct argp argp = {options, parse, usage, doc, NULL, NULL, NULL};
  request q = {.file = calloc((size_t)argc + 1, sizeof *q.file)};
  clarke_error err = {CLARKE_OK, ""};
  int exit_status = EXIT_NOT_ASKED;
  clarke_status status;

  if (q.file == NULL) {
    fprintf(stderr, "clarke merge: out of memory\n");
    return EXIT_NOT_ASKED;
  }
  clarke_read_arguments(&q, &argp, name, argc, argv, 0);
  status = merge(&exit_status, &q, &err);
  free(q.file);
  if (status == CLARKE_OK)
    return exit_status;
  return clarke_failed("merge", q.summary.json, &err);
}
