/* clarke sweep: how far apart gradients are under several profiles, over checkpoints, minibatches and floats. */
#include "command.h"
#include "failed.h"
#include "session/json.h"
#include "session/sweep.h"
#include "sweep_jobs.h"
#include "sweep_summary.h"
#include "watch.h"

#include "base/output.h"
#include "base/stop.h"
#include "base/text.h"

#include <argp.h>
#include <flint/flint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SHARDS ((size_t)1 << 20)
#define TASKS ((size_t)16) /* of a job file that does not say how many */

typedef struct {
  const char *manifest, *output, *reduction, *job_file;
  size_t shard, shards; /* from 1 to shards */
  size_t tasks;         /* of the job file; 0: not said */
  size_t threads;
  clarke_sweep_summing summary;
  clarke_watch_limits watch;
} request;

enum { OPTION_SHARD = 256, OPTION_REDUCTION, OPTION_JOB_FILE, OPTION_SHARDS, OPTION_THREADS };

static const struct argp_option options[] = {
  {"output", 'o', "FILE", 0, "where the results go, a line a job. Jobs that it has are not done again", 0},
  {"shard", OPTION_SHARD, "I/N", 0, "of N parts of the jobs the I-th alone, I from 1 to N; clarke merge puts them together", 0},
  {"reduction", OPTION_REDUCTION, "mean|sum", 0, "of the loss over the minibatch (default: as the manifest says, or else mean)", 0},
  {"job-file", OPTION_JOB_FILE, "FILE", 0, "do nothing, but write a job for `hq job submit-file`, a task for each of --shards parts", 0},
  {"shards", OPTION_SHARDS, "N", 0, "the number of tasks that --job-file writes (default: 16)", 0},
  {"threads", OPTION_THREADS, "N", 0, "at most N threads (default: 1); the results are the same", 0},
  CLARKE_OPTIONS_OF_SUMMARY,
  CLARKE_OPTIONS_OF_WATCH,
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "Frameworks take different slopes at kinks, and different entries among equal ones; a profile says which. Of each checkpoint and minibatch "
  "that MANIFEST names it is asked how far apart the gradients are under two profiles: exactly, and in floats, in a declared order "
  "(docs/sweep.md). A difference in floats is real (exact gradients differ, too: a bifurcation), a branch (only rounding puts a number on "
  "a kink) or rounding of the same numbers. MANIFEST is a JSON file with the keys model, checkpoints or seeds, batches, profiles, formats, loss, reduction, wrt."
  "\vExample:\n"
  "  clarke sweep sweep.json -o results.jsonl\n"
  "  clarke sweep sweep.json --shard 1/3 -o results.1.jsonl\n"
  "  clarke merge results.*.jsonl -o results.jsonl\n\n"
  "Exit status: 0 all jobs are answered (of the part), 2 some could not be asked, 3 work was told to stop before its end. What was answered "
  "stays in FILE, and is not asked again.";

static void
read_shard(request *r, const char *arg, struct argp_state *state)
{
  char rest;

  if (sscanf(arg, "%zu/%zu%c", &r->shard, &r->shards, &rest) != 2 || r->shard < 1 || r->shard > r->shards || r->shards > MOST_SHARDS
      || strspn(arg, "0123456789/") != strlen(arg))
    argp_error(state, "--shard: '%s' is not I/N, I from 1 to N", arg);
}

static size_t
read_shards(const char *arg, struct argp_state *state)
{
  char *end;
  const unsigned long n = strtoul(arg, &end, 10);

  if (*arg < '0' || *arg > '9' || *end != '\0' || n < 1 || n > MOST_SHARDS)
    argp_error(state, "--shards: '%s' is no number from 1 on", arg);
  return n;
}

static void
check_arguments(const request *r, struct argp_state *state)
{
  if (r->manifest == NULL)
    argp_error(state, "a MANIFEST is needed");
  if ((r->output == NULL) == (r->job_file == NULL))
    argp_error(state, "-o FILE is needed for the results, or --job-file FILE");
  if (r->tasks > 0 && r->job_file == NULL)
    argp_error(state, "--shards is of --job-file, which has a task for each part; --shard I/N asks one part");
  if (r->shards > 1 && r->job_file != NULL)
    argp_error(state, "--shard asks one part, and --job-file none: take --shards N for the number of its tasks");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *r = state->input;
  const clarke_shared_options shared = {.json = &r->summary.json};

  if (clarke_take_shared(key, arg, state, &shared) || clarke_sweep_take(key, arg, state, &r->summary) || clarke_watch_take(key, arg, state, &r->watch))
    return 0;
  switch (key) {
  case 'o':
    r->output = arg;
    return 0;
  case OPTION_SHARD:
    read_shard(r, arg, state);
    return 0;
  case OPTION_REDUCTION:
    if (strcmp(arg, "mean") != 0 && strcmp(arg, "sum") != 0)
      argp_error(state, "--reduction: '%s'; expected mean or sum", arg);
    r->reduction = arg;
    return 0;
  case OPTION_JOB_FILE:
    r->job_file = arg;
    return 0;
  case OPTION_SHARDS:
    r->tasks = read_shards(arg, state);
    return 0;
  case OPTION_THREADS:
    r->threads = clarke_read_threads(arg, state);
    return 0;
  case ARGP_KEY_ARG:
    if (r->manifest != NULL)
      argp_error(state, "one MANIFEST is expected");
    r->manifest = arg;
    return 0;
  case ARGP_KEY_END:
    check_arguments(r, state);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

/* --- a job ------------------------------------------------------------------------------------- */

/* The bytes that the job's id stands for. */
static clarke_status
read_same(clarke_file *f, const clarke_sweep_file *named, clarke_error *err)
{
  clarke_status status = clarke_file_read_found(f, named->path, err);

  if (status == CLARKE_OK && *f->sha256 == '\0')
    status = clarke_file_hash(f, named->path, err);
  if (status == CLARKE_OK && strcmp(f->sha256, named->sha256) != 0)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: changed while the sweep ran", named->path);
  return status;
}

/* Asks about a job whose files were read. */
static clarke_status
ask(json_t **line, const clarke_sweep *s, size_t job, const clarke_file *batch, const clarke_file *params, size_t threads, clarke_error *err)
{
  const clarke_sweep_job *j = &s->job[job];
  const bool stored = j->weights != CLARKE_NONE && s->manifest.n_seeds == 0;
  const clarke_sweep_question q = {
    .ask = {.model_path = s->model_path, .model = &s->model, .batch_path = s->batch[j->batch].path, .batch = batch,
            .params_path = stored ? s->checkpoint[j->weights].path : NULL, .params = stored ? params : NULL,
            .profile = s->profile_file[0].path, .loss = s->manifest.loss, .wrt = s->wrt, .threads = threads},
    .n_profiles = s->n_profiles, .profile = s->profile, .profile_name = s->manifest.profiles.text,
    .n_formats = s->n_formats, .format = s->format, .sum = s->manifest.sum,
    .seed = s->manifest.n_seeds > 0 ? &s->manifest.seed[j->weights] : NULL,
  };
  json_t *answer;
  clarke_status status = clarke_sweep_answer(&answer, &q, err);

  if (status != CLARKE_OK)
    return status;
  *line = clarke_sweep_about(s, job);
  if (*line != NULL && json_object_update(*line, answer) != 0) {
    json_decref(*line);
    *line = NULL;
  }
  json_decref(answer);
  return *line != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
answer_job(char **text, const clarke_sweep *s, size_t job, size_t threads, clarke_error *err)
{
  const clarke_sweep_job *j = &s->job[job];
  const bool stored = j->weights != CLARKE_NONE && s->manifest.n_seeds == 0;
  clarke_file batch = {0}, params = {0};
  json_t *line = NULL;
  clarke_status status = read_same(&batch, &s->batch[j->batch], err);

  if (status == CLARKE_OK && stored)
    status = read_same(&params, &s->checkpoint[j->weights], err);
  if (status == CLARKE_OK)
    status = ask(&line, s, job, &batch, &params, threads, err);
  *text = line != NULL ? json_dumps(line, JSON_COMPACT) : NULL;
  json_decref(line);
  clarke_file_clear(&batch);
  clarke_file_clear(&params);
  if (status != CLARKE_OK)
    return status;
  return *text != NULL ? clarke_lines_seal(text, err) : clarke_no_memory(err);
}

/* --- all of them -------------------------------------------------------------------------------- */

/* One that could not be asked does not end the others. */
static clarke_status
do_job(int *exit_status, clarke_lines_appender *to, clarke_lines *r, const clarke_sweep *s, size_t job, size_t threads,
       clarke_error *err)
{
  clarke_error why = {CLARKE_OK, ""};
  char *text = NULL;
  clarke_status status;

  clarke_work_count_from((clarke_work_count){.limited = clarke_work_counted().limited}); /* the limit of work is each job's */
  status = answer_job(&text, s, job, threads, &why);
  clarke_work_count_from((clarke_work_count){.limited = clarke_work_counted().limited});
  if (status == CLARKE_ESTOPPED && clarke_work_stopped() != NULL) {
    *err = why;
    return status;
  }
  if (status != CLARKE_OK) {
    free(text);
    fprintf(stderr, "clarke sweep: job %.12s could not be asked: %s\n", s->job[job].id, why.text);
    *exit_status = clarke_status_worse(*exit_status, EXIT_NOT_ASKED);
    return CLARKE_OK;
  }
  status = clarke_lines_append(to, text, err);
  if (status == CLARKE_OK)
    status = clarke_lines_add(r, s->job[job].id, text, err);
  free(text);
  return status;
}

static clarke_status
do_jobs(int *exit_status, clarke_lines_appender *to, clarke_lines *r, const clarke_sweep *s, const request *q, clarke_error *err)
{
  bool *done = calloc(s->n + 1, sizeof *done);
  clarke_status status = done != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++)
    done[i] = i % q->shards != q->shard - 1 || clarke_lines_have(r, s->job[i].id);
  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++)
    if (!done[i])
      status = do_job(exit_status, to, r, s, i, q->threads, err);
  free(done);
  return status;
}

static clarke_status
run(int *exit_status, const clarke_sweep *s, const request *q, clarke_error *err)
{
  clarke_lines r = {.form = &clarke_sweep_lines};
  clarke_lines_appender to = {0};
  char *head = NULL;
  size_t missing;
  clarke_status status = clarke_sweep_head(&head, s, err), closed;

  if (status == CLARKE_OK)
    status = clarke_lines_append_open(&to, &r, q->output, head, err);
  if (status == CLARKE_OK)
    status = do_jobs(exit_status, &to, &r, s, q, err);
  closed = clarke_lines_append_close(&to, &r, status == CLARKE_ESTOPPED ? CLARKE_OK : status, err);
  if (status == CLARKE_OK)
    status = closed;
  if (status == CLARKE_OK)
    status = clarke_sweep_summary(&missing, &r, &q->summary, err);
  if (status == CLARKE_ESTOPPED) {
    fprintf(stderr, "clarke sweep: stopped (%s); what was answered is in %s, and the same command goes on\n", err->text, q->output);
    *exit_status = clarke_status_worse(*exit_status, EXIT_UNDECIDED);
    status = CLARKE_OK;
  }
  free(head);
  clarke_lines_clear(&r);
  return status;
}

/* --- a job file ---------------------------------------------------------------------------------- */

/* A basic string of TOML. */
static void
put_string(FILE *to, const char *text)
{
  putc('"', to);
  for (; *text != '\0'; text++)
    if (*text == '"' || *text == '\\')
      fprintf(to, "\\%c", *text);
    else
      putc(*text, to);
  putc('"', to);
}

static clarke_status
write_job_file(const clarke_sweep *s, const request *q, clarke_error *err)
{
  const size_t tasks = q->tasks > 0 ? q->tasks : TASKS;
  clarke_output o;
  clarke_status status = clarke_output_open(&o, q->job_file, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(o.to, "# Tasks for `hq job submit-file`; then `clarke merge sweep-*.jsonl -o results.jsonl`\nname = \"clarke-sweep-%.12s\"\n", s->id);
  for (size_t i = 1; i <= tasks; i++) {
    fprintf(o.to, "\n[[task]]\nid = %zu\ncommand = [\"clarke\", \"sweep\", ", i);
    put_string(o.to, q->manifest);
    if (q->reduction != NULL)
      fprintf(o.to, ", \"--reduction\", \"%s\"", q->reduction);
    fprintf(o.to, ", \"--shard\", \"%zu/%zu\", \"-o\", \"sweep-%zu.jsonl\"]\ncrash_limit = 100\n", i, tasks, i);
  }
  return clarke_output_close(&o, CLARKE_OK, q->job_file, err);
}

int
clarke_command_sweep(int argc, char **argv)
{
  static char name[] = "clarke sweep";
  static const char usage[] = "MANIFEST -o FILE\nMANIFEST --shard I/N -o FILE\nMANIFEST --job-file FILE";
  struct argp argp = {options, parse, usage, doc, NULL, NULL, NULL};
  request q = {.shard = 1, .shards = 1, .threads = 1};
  clarke_error err = {CLARKE_OK, ""};
  int exit_status = EXIT_HOLDS;
  clarke_sweep s;
  clarke_status status;

  clarke_read_arguments(&q, &argp, name, argc, argv, 0);
  clarke_watch_begin(&q.watch);
  status = clarke_sweep_read(&s, q.manifest, q.reduction, &err);
  if (status == CLARKE_OK)
    status = q.job_file != NULL ? write_job_file(&s, &q, &err) : run(&exit_status, &s, &q, &err);
  clarke_sweep_clear(&s);
  clarke_watch_end();
  flint_cleanup_master();
  if (status == CLARKE_OK)
    return exit_status;
  return clarke_failed("sweep", q.summary.json, &err);
}
