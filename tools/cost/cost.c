/* clarke cost: what a program, a network, and their derivatives cost. */
#include "cost_report.h"

#include "base/text.h"
#include "command.h"
#include "failed.h"
#include "cost/table.h"
#include "session/audit.h"
#include "session/json.h"
#include "watch.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

enum {
  OPTION_MODE = 256, OPTION_NONLINEAR, OPTION_SIGN, OPTION_PLUS, OPTION_TIMES, OPTION_PADDING, OPTION_TOKENS, OPTION_STEP,
  OPTION_AGAINST, OPTION_TABLE, OPTION_MATRICES, OPTION_SVG,
};

#define MOST_INPUTS 64 /* that --at may give */

typedef struct {
  clarke_cost_request ask;
  const char *against, *table, *matrices, *svg, *mode, *price[CLARKE_N_OPERATIONS], *tokens;
  const char *at[MOST_INPUTS];
  size_t n_at;
  bool json;
  clarke_watch_limits watch;
} request;

static const struct argp_option options[] = {
  {"mode", OPTION_MODE, "MODE", 0, "backward (the default) or forward: of which mode the text speaks", 0},
  {"cnl", OPTION_NONLINEAR, "Q", 0, "what a smooth nonlinear operation costs (exp, log, 1/x, ...)", 0},
  {"cr", OPTION_SIGN, "Q", 0, "what it costs to evaluate a sign, or to compare two numbers", 0},
  {"cplus", OPTION_PLUS, "Q", 0, "what an addition costs (1)", 0},
  {"ctimes", OPTION_TIMES, "Q", 0, "what a multiplication costs (1)", 0},
  {"padding", OPTION_PADDING, NULL, 0, "of a network: products with padding's zeros are operations, too", 0},
  {"at", 'a', "POINT", 0, "count what our own passes do there, too: NAME=V,... once for each input of a program; of a network a file with the batch; of "
                          "a run folder `recorded'", 0},
  {"wrt", 'w', "NAMES", 0, "the quantities: inputs of a program, parameters of a network (all); others are constants", 0},
  {"against", OPTION_AGAINST, "FILE", 0, "of a network: explain another counter's number, term by term (JSON; docs/cost.md)", 0},
  {"table", OPTION_TABLE, "N", 0, "the thesis' table 2.1, 2.2 or 2.3, computed, beside a file or alone", 0},
  {"matrices", OPTION_MATRICES, "P", 0, "instead of a file: Theorem 4 for matrices of P x P", 0},
  {"tokens", OPTION_TOKENS, "D", 0, "D of 6 N D (the number of samples)", 0},
  {"step", OPTION_STEP, "N", 0, "of a run folder, the step with that number (the first)", 0},
  {"svg", OPTION_SVG, "FILE", 0, "draw what each layer or function costs, forward and backward", 0},
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  CLARKE_OPTION_OF_OUTPUT,
  CLARKE_OPTIONS_OF_WATCH,
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "What do a program and its derivatives cost? Counts operations as the thesis' chapter 2 does, exactly: cost(P), the cost of "
  "backward and of forward mode, their ratios, and the bounds of Theorem 3. Of a network, an ONNX file or a run folder, also what "
  "counters of frameworks count: multiply-adds, floating-point operations, layer by layer."
  "\vExamples:\n"
  "  clarke cost cases/papers/thesis-lemma1.prog\n"
  "  clarke cost cases/audit/lenet.onnx --cr 0\n"
  "  clarke cost cases/runs/small --json\n"
  "  clarke cost net.onnx --against torch.json\n"
  "  clarke cost --table 2.3\n\n"
  "Exit status: 0 counted (--against: and explained to the unit), 1 with --against, a number is not explained, 2 the question "
  "could not be asked.";

static void
take_mode(request *q, const char *arg, const struct argp_state *state)
{
  if (strcmp(arg, "backward") != 0 && strcmp(arg, "forward") != 0)
    argp_error(state, "--mode: '%s' is no mode; expected backward or forward", arg);
  q->mode = arg;
}

static void
take_table(request *q, const char *arg, const struct argp_state *state)
{
  clarke_table_row_of_costs row[CLARKE_COST_ROWS];

  if (clarke_cost_table(row, arg) == 0)
    argp_error(state, "--table: there is no table '%s'; expected 2.1, 2.2 or 2.3", arg);
  q->table = arg;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *q = state->input;
  const clarke_shared_options shared = {.wrt = &q->ask.wrt, .json = &q->json, .output = &q->ask.output};

  if (clarke_take_shared(key, arg, state, &shared) || clarke_watch_take(key, arg, state, &q->watch))
    return 0;
  switch (key) {
  case OPTION_MODE:
    take_mode(q, arg, state);
    return 0;
  case 'a':
    if (q->n_at == MOST_INPUTS)
      argp_error(state, "--at: at most %d inputs", MOST_INPUTS);
    q->at[q->n_at++] = arg;
    return 0;
  case OPTION_NONLINEAR:
    q->price[CLARKE_NONLINEAR] = arg;
    return 0;
  case OPTION_SIGN:
    q->price[CLARKE_SIGN] = arg;
    return 0;
  case OPTION_PLUS:
    q->price[CLARKE_ADDITION] = arg;
    return 0;
  case OPTION_TIMES:
    q->price[CLARKE_MULTIPLICATION] = arg;
    return 0;
  case OPTION_PADDING:
    q->ask.padding = true;
    return 0;
  case OPTION_AGAINST:
    q->against = arg;
    return 0;
  case OPTION_TABLE:
    take_table(q, arg, state);
    return 0;
  case OPTION_SVG:
    q->svg = arg;
    return 0;
  case OPTION_MATRICES:
    q->matrices = arg;
    return 0;
  case OPTION_TOKENS:
    q->tokens = arg;
    return 0;
  case OPTION_STEP:
    q->ask.step = clarke_read_step(arg, state);
    return 0;
  case ARGP_KEY_ARG:
    if (q->ask.path != NULL)
      argp_error(state, "one file is expected");
    q->ask.path = arg;
    return 0;
  case ARGP_KEY_END:
    if ((q->ask.path != NULL || q->table != NULL) + (q->matrices != NULL) != 1)
      argp_error(state, "a file is needed: FILE.prog, FILE.onnx, or a run folder; or --table N, or --matrices P");
    if (q->svg != NULL && q->ask.path == NULL)
      argp_error(state, "--svg goes with a file");
    if (q->n_at > 0 && q->ask.path == NULL)
      argp_error(state, "--at goes with a file");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static clarke_status
set_prices(clarke_prices *p, const request *q, clarke_error *err)
{
  static const char *const option[CLARKE_N_OPERATIONS] = {"--cplus", "--ctimes", "--cnl", "--cr"};
  clarke_status status = CLARKE_OK;

  for (int k = 0; k < CLARKE_N_OPERATIONS && status == CLARKE_OK; k++)
    if (q->price[k] != NULL)
      status = clarke_prices_set(p, k, q->price[k], option[k], err);
  return status;
}

#define MOST_MATRICES ((size_t)1 << 20)

static clarke_status
print_matrices(const request *q, clarke_error *err)
{
  size_t p = 0;

  if (!clarke_count_parse(&p, q->matrices) || p > MOST_MATRICES)
    return clarke_fail(err, CLARKE_EINPUT, "--matrices: '%s' is no number from 1 to 2^20", q->matrices);
  return clarke_cost_matrices_print(p, q->json, err);
}

static clarke_status
print_table(const clarke_cost_report *r, const request *q, clarke_error *err)
{
  json_t *j = json_object();
  clarke_status status;

  if (!q->json) {
    json_decref(j);
    status = clarke_cost_table_tell(q->table, err);
    return status == CLARKE_OK ? clarke_cost_table_print(q->table, &r->prices, err) : status;
  }
  status = clarke_cost_table_json(&j, q->table, &r->prices, err);
  if (status == CLARKE_OK)
    return clarke_json_print(stdout, j, JSON_INDENT(2), "\n", err);
  json_decref(j);
  return status;
}

static clarke_status
print_file(const clarke_cost_report *r, clarke_error *err)
{
  clarke_status status = clarke_cost_tell_summary(r, err);

  if (status == CLARKE_OK)
    status = clarke_cost_text(r, err);
  if (status != CLARKE_OK || r->table == NULL)
    return status;
  puts("");
  return clarke_cost_table_print(r->table, &r->prices, err);
}

static clarke_status
count_run(clarke_cost_report *r, const request *q, clarke_error *err)
{
  r->ran = q->n_at > 0;
  if (!r->ran)
    return CLARKE_OK;
  if (!r->session.network)
    return clarke_cost_session_run(&r->run, &r->session, q->at, q->n_at, err);
  return q->n_at > 1 ? clarke_fail(err, CLARKE_EINPUT, "--at: one batch is expected, of %s", r->session.name)
                     : clarke_cost_run_network(&r->run, &r->session, &q->ask, q->at[0], err);
}

static clarke_status
answer(clarke_cost_report *r, const request *q, clarke_error *err)
{
  clarke_status status = set_prices(&r->prices, q, err);

  r->forward = q->mode != NULL && strcmp(q->mode, "forward") == 0;
  r->padding = q->ask.padding;
  r->table = q->table;
  if (status == CLARKE_OK && q->tokens != NULL && !clarke_count_parse(&r->tokens, q->tokens))
    return clarke_fail(err, CLARKE_EINPUT, "--tokens: '%s' is no number from 1 on", q->tokens);
  if (status == CLARKE_OK)
    status = q->matrices != NULL ? print_matrices(q, err) : q->ask.path == NULL ? print_table(r, q, err) : CLARKE_OK;
  if (q->ask.path == NULL)
    return status;
  if (status == CLARKE_OK)
    status = clarke_cost_session_read(&r->session, &q->ask, err);
  if (status == CLARKE_OK)
    status = count_run(r, q, err);
  if (status == CLARKE_OK && q->against != NULL && !r->session.network)
    status = clarke_fail(err, CLARKE_EINPUT, "--against: %s is a program; counters of frameworks speak of networks", r->session.name);
  if (status == CLARKE_OK && q->against != NULL)
    status = clarke_against_read(&r->against, q->against, err);
  if (status == CLARKE_OK && q->against != NULL)
    clarke_against_explain(&r->against, &r->session.cost.total);
  if (status == CLARKE_OK && q->svg != NULL)
    status = clarke_cost_svg(r, q->svg, err);
  clarke_watch_hide(true);
  if (status != CLARKE_OK)
    return status;
  return q->json ? clarke_cost_json(r, err) : print_file(r, err);
}

int
clarke_command_cost(int argc, char **argv)
{
  static char name[] = "clarke cost";
  struct argp argp = {options, parse, "FILE\n--table N\n--matrices P", doc, NULL, NULL, NULL};
  request q = {.ask = {.step = CLARKE_NONE}};
  clarke_error err = {CLARKE_OK, ""};
  clarke_cost_report report;
  clarke_status status;
  int result;

  clarke_read_arguments(&q, &argp, name, argc, argv, 0);
  memset(&report, 0, sizeof report);
  clarke_prices_init(&report.prices);
  clarke_cost_session_init(&report.session);
  clarke_watch_begin(&q.watch);
  status = answer(&report, &q, &err);
  clarke_watch_end();
  result = status != CLARKE_OK ? clarke_failed("cost", q.json, &err)
           : report.against.n > 0 && !report.against.explained ? EXIT_FAILS : EXIT_HOLDS;
  clarke_against_clear(&report.against);
  clarke_cost_session_clear(&report.session);
  clarke_prices_clear(&report.prices);
  return result;
}
