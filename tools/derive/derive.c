/* clarke derive: value, AD's output, generalized derivatives and verdict at one point. */
#include "command.h"
#include "derive_report.h"
#include "program/ieee.h"

#include <argp.h>
#include <flint/flint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_PRINT = 256, OPTION_PLOT, OPTION_SWEEP, OPTION_FLOAT, OPTION_DIRECTION };

static const struct argp_option options[] = {
  {"at", 'a', "NAME=V,...", 0,
   "an input's entries, once for each or with commas between; a FILE.npz with an array for each; of a network V,... or a file (.npy, .npz, a "
   "table)", 0},
  {"profile", 'P', "NAME", 0, "proxies: pytorch (default), jax, tensorflow or a profile file", 0},
  {"wrt", 'w', "NAME,...", 0,
   "differentiate in these inputs only; of a network, its input (default), parameters, or params (all)", 0},
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  {"verbose", 'v', NULL, 0, "of JSON, the report's first three lines, too, under summary", 0},
  {"proof", 'p', "FILE", 0, "write a proof that clarke-check verifies", 0},
  {"float", OPTION_FLOAT, "FORMAT", 0,
   "also replay in float16, bfloat16, float32, float64, or all of them", 0},
  {"direction", OPTION_DIRECTION, "NAME=V,...", 0,
   "the derivative along this direction in place of the report, and AD's; along several, one after another", 0},
  {"sweep", OPTION_SWEEP, "[NAME=]A:B:STEP", 0,
   "a table over a scalar input from A to B, in place of the report", 0},
  {"plot", OPTION_PLOT, "FILE.svg", 0,
   "draw function and AD's output over the sweep (default: 2 to either side of --at)", 0},
  {"print", OPTION_PRINT, NULL, 0, "print the program in one layout, and nothing else", 0},
  CLARKE_OPTIONS_OF_CI,
  CLARKE_OPTION_OF_OUTPUT,
  CLARKE_OPTIONS_OF_WATCH,
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "Executes a program or a small network at a point in exact arithmetic. Tells its value, what "
  "automatic differentiation returns, and the kinks it touches. Tells the Bouligand, Clarke and "
  "conservative sets there, and which of them AD's output belongs to. Numbers are exact: 1/3, 0.1 (one tenth), "
  "0.1f (the float32 nearest to it), 0x1p-3."
  "\vExamples:\n"
  "  clarke derive cases/papers/bolte-relu2.prog --at t=0\n"
  "  clarke derive cases/audit/lemma2.onnx --at cases/audit/lemma2.npz --wrt w\n\n"
  "Exit status: 0 in-bouligand or in-clarke (--print, --sweep: done; --direction: AD's derivative is the function's), 1 "
  "not-in-clarke (--direction: it is not), 2 the question could not be asked, 3 undecided. SIGINT and SIGTERM, as --timeout and --memory, end in "
  "undecided and a report of what was found; a second signal ends at once.";

static void
add_text(const char ***list, size_t *n, const char *arg, struct argp_state *state)
{
  const char **grown = realloc(*list, (*n + 1) * sizeof *grown);

  if (grown == NULL)
    argp_failure(state, EXIT_NOT_ASKED, 0, "out of memory");
  else {
    *list = grown;
    grown[(*n)++] = arg;
  }
}

/* --direction asks another question. */
static void
check_directions(const clarke_derive_command *r, struct argp_state *state)
{
  bool floats = false;

  for (size_t f = 0; f < CLARKE_FORMATS; f++)
    floats = floats || r->ask.format[f];
  if (r->n_directions > 0 && (r->sweep != NULL || r->plot != NULL || r->print || floats || clarke_ci_wants(&r->ci, false)))
    argp_error(state, "--direction has a report of its own: it does not go with --sweep, --plot, --print, --float and files of findings");
}

static void
add_format(clarke_derive_command *r, const char *arg, struct argp_state *state)
{
  clarke_error err = {CLARKE_OK, ""};
  clarke_ieee format;

  if (strcmp(arg, "all") == 0)
    for (size_t f = 0; f < CLARKE_FORMATS; f++)
      r->ask.format[f] = true;
  else if (clarke_ieee_parse(&format, arg, &err) == CLARKE_OK)
    r->ask.format[format] = true;
  else
    argp_error(state, "--float: %s", err.text);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  clarke_derive_command *r = state->input;
  const clarke_shared_options shared = {&r->ask.profile, &r->ask.wrt, &r->proof, &r->json, &r->ask.output};

  if (clarke_take_shared(key, arg, state, &shared) || clarke_watch_take(key, arg, state, &r->watch)
      || clarke_ci_take(key, arg, state, &r->ci))
    return 0;
  switch (key) {
  case 'a':
    add_text(&r->at, &r->ask.n_at, arg, state);
    r->ask.at = r->at;
    return 0;
  case OPTION_DIRECTION:
    add_text(&r->direction, &r->n_directions, arg, state);
    return 0;
  case OPTION_FLOAT:
    add_format(r, arg, state);
    return 0;
  case OPTION_SWEEP:
    r->sweep = arg;
    return 0;
  case OPTION_PLOT:
    r->plot = arg;
    return 0;
  case 'v':
    r->verbose = true;
    return 0;
  case OPTION_PRINT:
    r->print = true;
    return 0;
  case ARGP_KEY_ARG:
    if (r->ask.path != NULL)
      argp_error(state, "one FILE is expected");
    r->ask.path = arg;
    return 0;
  case ARGP_KEY_END:
    if (r->ask.path == NULL)
      argp_error(state, "a FILE is needed: a program (.prog) or a network (.onnx)");
    if (r->sweep != NULL && r->proof != NULL)
      argp_error(state, "--proof is about one point: it does not go with --sweep");
    check_directions(r, state);
    if ((r->sweep != NULL || r->print) && (r->ci.quiet || clarke_ci_wants(&r->ci, false)))
      argp_error(state, "what asks for findings, or no report, is about one point: it does not go with --sweep or --print");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

int
clarke_command_derive(int argc, char **argv)
{
  static char name[] = "clarke derive";
  struct argp argp = {options, parse, "FILE --at NAME=V,...", doc, NULL, NULL, NULL};
  bool told = false;
  clarke_derive_command request = {.ask.profile = "pytorch-2.13", .ci.told = &told};
  clarke_error err = {CLARKE_OK, ""};
  int exit_status = EXIT_HOLDS;
  clarke_status status;

  clarke_read_arguments(&request, &argp, name, argc, argv, 0);
  request.watch.quiet = request.ci.quiet;
  clarke_watch_begin(&request.watch);
  status = clarke_derive_answer(&exit_status, &request, &err);
  clarke_watch_end();
  free(request.at);
  free(request.direction);
  flint_cleanup_master();
  if (status == CLARKE_OK)
    return exit_status;
  return clarke_ci_fail(&request.ci, &(clarke_ci_source){.command = "derive", .path = request.ask.path, .json = request.json}, &err);
}
