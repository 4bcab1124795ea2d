/* clarke certify: is what was recorded what exact arithmetic, or the hardware's rule, allows? */
#include "certify_report.h"
#include "base/stop.h"
#include "command.h"
#include "session/json.h"
#include "trace/tensorcore/mma_certify.h"
#include "trace/tensorcore/mma_gpu.h"

#include <argp.h>
#include <flint/flint.h>
#include <string.h>

typedef struct {
  const char *mma;
  clarke_certify_command run;
} request;

#define OPTION_MMA 'm'
#define OPTION_STEP 's'
#define OPTION_NODES 'n'
#define OPTION_AGAINST 'a'
#define OPTION_PROOF 'p'

static const struct argp_option options[] = {
  {"mma", OPTION_MMA, "DIR", 0, "the folder with results of tensor cores' instructions (docs/certify.md)", 0},
  {"step", OPTION_STEP, "N", 0, "of a run folder, the step with that number (the first)", 0},
  {"against", OPTION_AGAINST, "RUN", 0, "another record of the step, or of its whole run: is the first difference rounding, or branches?", 0},
  {"nodes", OPTION_NODES, NULL, 0, "of a run folder, the nodes alone: no exact replay of the network", 0},
  {"verbose", 'v', NULL, 0, "the whole report: a row for each recorded tensor; of JSON, the first three lines, too", 0},
  {"proof", OPTION_PROOF, "FILE", 0, "of a run folder: write a proof of bounds and branches that clarke-check verifies", 0},
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  CLARKE_OPTIONS_OF_CI,
  CLARKE_OPTION_OF_LIMIT,
  CLARKE_OPTIONS_OF_WATCH,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "Of a recorded training step: is every node's output, and every gradient, what the exact operator makes of the recorded "
  "inputs, but for rounding? Each has the strongest answer that can be proved: bit-exact, within a bound, refuted. With --mma: "
  "does every recorded result of tensor cores, d = a . b + c, follow the rule of its GPU, bit for bit?"
  "\vExamples:\n"
  "  clarke certify cases/runs/small\n"
  "  clarke certify cases/runs/small --proof small.proof && clarke-check small.proof --data cases/runs/small\n"
  "  clarke certify cases/runs/small --against cases/runs/small-plain\n"
  "  clarke certify --mma proofs-data/gpu\n\n"
  "Exit status: 0 all that was recorded is certified, and what was not is followed, 1 something is refuted (the first is shown), "
  "2 the question could not be asked, 3 of something nothing can be said, or no rule is known. SIGINT and SIGTERM, as "
  "--timeout and --memory, end in 3, with the reason; a second signal ends at once.";

static void
check_arguments(const request *r, struct argp_state *state)
{
  if ((r->mma == NULL) == (r->run.ask.folder == NULL))
    argp_error(state, "a run folder is needed, or --mma DIR");
  if (r->mma != NULL
      && (r->run.ask.step != CLARKE_NONE || r->run.ask.nodes_only || r->run.against != NULL || r->run.proof != NULL))
    argp_error(state, "--step, --nodes, --against and --proof are of a run folder");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *r = state->input;
  const clarke_shared_options shared = {.json = &r->run.json};

  if (clarke_take_shared(key, arg, state, &shared) || clarke_watch_take(key, arg, state, &r->run.watch)
      || clarke_ci_take(key, arg, state, &r->run.ci))
    return 0;
  switch (key) {
  case OPTION_MMA:
    r->mma = arg;
    return 0;
  case OPTION_STEP:
    r->run.ask.step = clarke_read_step(arg, state);
    return 0;
  case OPTION_AGAINST:
    r->run.against = arg;
    return 0;
  case OPTION_PROOF:
    r->run.proof = arg;
    r->run.ask.provable = true;
    return 0;
  case 'v':
    r->run.verbose = true;
    return 0;
  case OPTION_NODES:
    r->run.ask.nodes_only = true;
    return 0;
  case ARGP_KEY_ARG:
    if (r->run.ask.folder != NULL)
      argp_error(state, "one run folder is expected");
    r->run.ask.folder = arg;
    return 0;
  case ARGP_KEY_END:
    check_arguments(r, state);
    r->run.ask.sieved = r->run.against == NULL; /* which asks for all numbers of both */
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const char *const outcome_name[] = {"bit-exact", "differs", "unexplained"};

/* --- text ------------------------------------------------------------------------------------ */

static void
rule_text(char *text, size_t size, const clarke_mma_result *r)
{
  if (r->rule != NULL)
    clarke_mma_describe(text, size, r->rule);
  else
    snprintf(text, size, "none is known");
}

static int
longest_file(const clarke_mma_report *report)
{
  int most = 4;

  for (size_t i = 0; i < report->n; i++) {
    int n = (int)strlen(report->result[i].file);

    most = n > most ? n : most;
  }
  return most;
}

static void
print_row(const clarke_mma_result *r, int width)
{
  char rule[128];

  rule_text(rule, sizeof rule, r);
  printf("%-*s  %-9s  %2d  %7zu  %-46s  %s\n", width, r->file, clarke_architecture_name(r->architecture), r->k, r->results, rule,
         outcome_name[r->outcome]);
}

static void
print_bits(const char *who, uint32_t bits)
{
  printf("  %-8s  %08x  ", who, (unsigned)bits);
  for (int i = 31; i >= 0; i--)
    putchar('0' + (int)(bits >> i & 1));
  putchar('\n');
}

static const clarke_mma_result *
first_of(const clarke_mma_report *report, clarke_mma_outcome outcome)
{
  for (size_t i = 0; i < report->n; i++)
    if (report->result[i].outcome == outcome)
      return &report->result[i];
  return NULL;
}

static size_t
results_of(const clarke_mma_report *report, clarke_mma_outcome outcome, size_t *files)
{
  size_t results = 0;

  *files = 0;
  for (size_t i = 0; i < report->n; i++)
    if (report->result[i].outcome == outcome) {
      results += report->result[i].results;
      ++*files;
    }
  return results;
}

static void
print_difference(const clarke_mma_result *r)
{
  printf("differs: %s:%zu is not what the rule gives (%zu of %zu results are)\n", r->file, r->line, r->agree, r->results);
  print_bits("recorded", r->recorded);
  print_bits("rule", r->given);
}

static void
print_answer(const clarke_mma_report *report, clarke_mma_outcome outcome)
{
  size_t files, results = results_of(report, outcome, &files);

  putchar('\n');
  if (outcome == CLARKE_MMA_DIFFERS)
    print_difference(first_of(report, outcome));
  else if (outcome == CLARKE_MMA_UNEXPLAINED)
    printf("unexplained: no rule is known for %zu results in %zu file%s, the first %s\n", results, files, files == 1 ? "" : "s",
           first_of(report, outcome)->file);
  else
    printf("bit-exact: all %zu results in %zu file%s are what the rules give.\n", results, files, files == 1 ? "" : "s");
}

static void
print_text(const clarke_mma_report *report)
{
  int width = longest_file(report);

  printf("%-*s  %-9s  %2s  %7s  %-46s  %s\n", width, "file", "GPU", "K", "results", "rule", "outcome");
  for (size_t i = 0; i < report->n; i++)
    print_row(&report->result[i], width);
  print_answer(report, clarke_mma_report_outcome(report));
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *
bits_json(uint32_t bits)
{
  char text[9];

  snprintf(text, sizeof text, "%08x", (unsigned)bits);
  return json_string(text);
}

static json_t *
difference_json(const clarke_mma_result *r)
{
  json_t *j = json_object();

  clarke_json_set(&j, "line", json_integer((json_int_t)r->line));
  clarke_json_set(&j, "recorded", bits_json(r->recorded));
  clarke_json_set(&j, "rule", bits_json(r->given));
  return j;
}

static json_t *
result_json(const clarke_mma_result *r)
{
  json_t *j = json_object();
  char rule[128];

  rule_text(rule, sizeof rule, r);
  clarke_json_set(&j, "file", clarke_json_text(r->file));
  clarke_json_set(&j, "gpu", clarke_json_text(r->gpu));
  clarke_json_set(&j, "architecture", json_string(clarke_architecture_name(r->architecture)));
  clarke_json_set(&j, "instruction", clarke_json_text(r->instruction));
  clarke_json_set(&j, "input", json_string(clarke_mma_formats[r->input].name));
  clarke_json_set(&j, "output", json_string(clarke_mma_formats[r->output].name));
  clarke_json_set(&j, "k", json_integer(r->k));
  clarke_json_set(&j, "results", json_integer((json_int_t)r->results));
  clarke_json_set(&j, "agree", r->rule != NULL ? json_integer((json_int_t)r->agree) : json_null());
  clarke_json_set(&j, "rule", r->rule != NULL ? json_string(rule) : json_null());
  clarke_json_set(&j, "outcome", json_string(outcome_name[r->outcome]));
  if (r->line != 0)
    clarke_json_set(&j, "first", difference_json(r));
  return j;
}

static json_t *
report_json(const clarke_mma_report *report, const char *stopped)
{
  json_t *j = json_object(), *list = json_array();

  for (size_t i = 0; i < report->n; i++)
    clarke_json_append(&list, result_json(&report->result[i]));
  clarke_json_set(&j, "verdict", json_string(stopped != NULL ? "undecided" : outcome_name[clarke_mma_report_outcome(report)]));
  if (stopped != NULL)
    clarke_json_set(&j, "stopped", clarke_json_text(stopped));
  clarke_json_set(&j, "sets", list);
  return j;
}

/* --- the command ----------------------------------------------------------------------------- */

static clarke_status
summary_of(clarke_summary *summary, const clarke_mma_report *report, const char *stopped, clarke_error *err)
{
  static const char *const answer[] = {"Yes: each is what its GPU's rule gives, bit for bit", "No: some are not what their GPU's rule gives",
                                       "Not decided: for some no rule is known"},
                          *const next[] = {"Nothing needs doing.", "Below: the first that is not, and what the rule gives.",
                                           "Below: the first file of these, and its GPU; docs/certify.md has the GPUs that are known."};
  const clarke_mma_outcome outcome = clarke_mma_report_outcome(report);
  clarke_status status = clarke_summary_begin(summary, err);
  size_t results = 0;

  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < report->n; i++)
    results += report->result[i].results;
  fputs("Are these results of tensor cores right?", summary->asked.to);
  if (stopped == NULL)
    fprintf(summary->asked.to, " %zu results in %zu files.", results, report->n);
  if (stopped != NULL) {
    fputs("Not decided: the work was stopped (undecided).", summary->answer.to);
    fprintf(summary->next.to, "Ask again with more time or memory: %s.", stopped);
  } else {
    fprintf(summary->answer.to, "%s (%s).", answer[outcome], outcome_name[outcome]);
    fputs(next[outcome], summary->next.to);
  }
  return clarke_summary_end(summary, CLARKE_OK, err);
}

static void
print_report(const clarke_mma_report *report, const clarke_summary *summary, const char *stopped)
{
  clarke_summary_print(summary);
  if (stopped != NULL)
    printf("undecided: %s.\n", stopped);
  else
    print_text(report);
}

static json_t *
answer_json(const clarke_mma_report *report, const clarke_summary *summary, const char *stopped, bool verbose)
{
  json_t *answer = report_json(report, stopped);

  clarke_summary_set(&answer, summary, verbose);
  return answer;
}

static clarke_status
certify_mma(int *answer, const request *q, clarke_error *err)
{
  static const int answers[] = {EXIT_HOLDS, EXIT_FAILS, EXIT_UNDECIDED};
  clarke_mma_report report = {0, NULL};
  clarke_status status = clarke_mma_certify(&report, q->mma, err);
  const char *stopped = status == CLARKE_ESTOPPED ? clarke_work_stopped() : NULL;
  clarke_summary summary = {0};

  if (stopped != NULL)
    status = CLARKE_OK;
  if (status == CLARKE_OK)
    status = summary_of(&summary, &report, stopped, err);
  if (status == CLARKE_OK)
    *answer = stopped != NULL ? EXIT_UNDECIDED : answers[clarke_mma_report_outcome(&report)];
  if (status == CLARKE_OK && !q->run.json && !q->run.ci.quiet)
    print_report(&report, &summary, stopped);
  if (status == CLARKE_OK)
    status = clarke_ci_tell(answer, &q->run.ci, &(clarke_ci_source){.command = "certify", .path = q->mma, .json = q->run.json},
                            clarke_ci_wants(&q->run.ci, q->run.json) ? answer_json(&report, &summary, stopped, q->run.verbose) : NULL, err);
  clarke_summary_clear(&summary);
  clarke_mma_report_clear(&report);
  return status;
}

int
clarke_command_certify(int argc, char **argv)
{
  static char name[] = "clarke certify";
  static const char usage[] = "RUN/\n--mma DIR";
  struct argp argp = {options, parse, usage, doc, NULL, NULL, NULL};
  bool told = false;
  request q = {.run = {.ask.step = CLARKE_NONE, .ci.told = &told}};
  clarke_error err = {CLARKE_OK, ""};
  clarke_status status;
  int answer = EXIT_NOT_ASKED;

  clarke_read_arguments(&q, &argp, name, argc, argv, 0);
  q.run.watch.quiet = q.run.ci.quiet;
  clarke_watch_begin(&q.run.watch);
  status = q.mma != NULL ? certify_mma(&answer, &q, &err) : clarke_certify_run_folder(&answer, &q.run, &err);
  clarke_watch_end();
  flint_cleanup_master();
  if (status == CLARKE_OK)
    return answer;
  return clarke_ci_fail(&q.run.ci, &(clarke_ci_source){.command = "certify", .path = q.mma != NULL ? q.mma : q.run.ask.folder,
                                                       .json = q.run.json}, &err);
}
