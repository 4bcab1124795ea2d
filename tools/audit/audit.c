/* clarke audit: is AD's gradient of the loss on this minibatch in the Bouligand or Clarke set? */
#include "audit_report.h"
#include "command.h"

#include <argp.h>
#include <flint/flint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPTION_PARAMS = 256, OPTION_GRADIENT, OPTION_EXACT, OPTION_RANKS,
       OPTION_THREADS, OPTION_STEP, OPTION_NEAREST, OPTION_TOUCHED, OPTION_BATCH_AXIS, OPTION_ZONE_PROOF,
       OPTION_RUN, OPTION_LINES, OPTION_THEOREMS, OPTION_LIKE, OPTION_KEEP, OPTION_TRAIN, OPTION_SERVE };

static const struct argp_option options[] = {
  {"batch", 'b', "FILE", 0, "the minibatch: .npz with x and y, or .npy with the inputs alone", 0},
  {"batch-axis", OPTION_BATCH_AXIS, "none", 0, "no axis of the input is the batch: all of x is one input, or each sample is where the input declares 1 first", 0},
  {"loss", 'l', "ce|mse|sum", 0,
   "default: ce for integer labels y, mse for other y, sum without y", 0},
  {"profile", 'P', "NAME", 0, "proxies: pytorch-2.13 (default), pytorch-2.14, jax-0.10, tensorflow-2, or a profile file", 0},
  {"params", OPTION_PARAMS, "FILE", 0,
   "a later checkpoint, which replaces all weights by name: .safetensors, a state dict of torch.save "
   "(.pt; FILE:KEY where it is under a key), .npz, or an index of shards (.index.json). Files that follow MODEL "
   "are further ones, one row each", 0},
  {"wrt", 'w', "NAME,...", 0, "differentiate in these parameters only: initializers, or Constant nodes that are weights", 0},
  {"proof", 'p', "FILE", 0, "write a proof that clarke-check verifies; % in FILE is the checkpoint's name. With --run: of the first step that is "
   "not in-bouligand", 0},
  {"zone-proof", OPTION_ZONE_PROOF, "FILE", 0,
   "write a proof of the zone, compensation or bifurcation: does the gradient depend on what AD takes at kinks and ties?", 0},
  {"step", OPTION_STEP, "N", 0, "of a run folder the step of that number (default: the first)", 0},
  {"run", OPTION_RUN, NULL, 0, "ask about all steps of a run folder, a row each, and sum them up", 0},
  {"lines", OPTION_LINES, "FILE", 0,
   "with --run, append each step's answer to FILE as one line of JSON; the steps that FILE has are not asked about again", 0},
  {"serve", OPTION_SERVE, NULL, 0,
   "run folders come on standard input, a line each, perhaps with a tab and a file for the proof; print a JSON object for each, when it is answered", 0},
  {"like", OPTION_LIKE, "NAME", 0,
   "MODEL is a checkpoint without a graph, of the network torchvision.NAME, timm.NAME, transformers.CLASS or MODULE:FUNCTION; or NAME is keras, and "
   "MODEL a .keras or .h5 file. Python's package clarke records a step of it, which is asked about", 0},
  {"keep", OPTION_KEEP, "RUN", 0, "with --like, keep the recorded step in this folder", 0},
  {"train", OPTION_TRAIN, NULL, 0, "with --like, the network is in training mode (default: as in use)", 0},
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  {"gradient", OPTION_GRADIENT, "FILE", 0,
   "write AD's gradient in float64, as .safetensors; of a large network within a bound that is told. Of a run folder the recorded one is "
   "compared with it as a whole, too", 0},
  {"theorems", OPTION_THEOREMS, NULL, 0, "the papers' theorems: which apply, which hold, and why; systems and ranks of the layers", 0},
  {"ranks", OPTION_RANKS, NULL, 0, "--theorems, with the rank before every layer, not only where a kink is touched",
   0},
  {"nearest", OPTION_NEAREST, "N", 0,
   "list the N arguments and windows of each layer that come nearest to a kink without touching it, exactly", 0},
  {"touched", OPTION_TOUCHED, NULL, 0, "list every touched kink: where it is, its slopes, and what AD takes", 0},
  {"exact", OPTION_EXACT, NULL, 0, "no floating-point filter: the same answer, slower; --gradient is rounded from the exact one", 0},
  {"verbose", 'v', NULL, 0, "the whole report: gradients that are 0, too, and with --run all steps; of JSON, these zeros, the first three lines, and what pages draw", 0},
  {"threads", OPTION_THREADS, "N", 0,
   "at most N threads (default: as many as processors); the answer is the same", 0},
  CLARKE_OPTIONS_OF_CI,
  CLARKE_OPTION_OF_OUTPUT,
  CLARKE_OPTIONS_OF_WATCH,
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "Replays the ONNX network MODEL on a minibatch in exact arithmetic and finds the kinks it touches. "
  "Decides whether the gradient that automatic differentiation computes there is an element of "
  "the Bouligand or Clarke subdifferential of the loss. RUN is a folder with a recorded training step (docs/run-format.md): "
  "its own graph, batch and parameters are asked about, and first whether its recorded gradient is AD's, but for rounding."
  "\vExample:\n"
  "  clarke audit cases/audit/lemma2.onnx --batch cases/audit/lemma2.npz --loss sum\n"
  "  clarke audit net.onnx --batch b.npz --params epoch1.pt epoch2.pt epoch3.pt\n"
  "  clarke audit --like torchvision.resnet18 W.pth --batch b.npz\n"
  "  clarke audit run/\n"
  "  clarke audit --run run/ --lines steps.jsonl\n\n"
  "Exit status: 0 in-bouligand or in-clarke, 1 not-in-clarke, 2 the question could not be asked, "
  "3 undecided. Of several checkpoints or steps it is the worst, in the order 2, 1, 3, 0. SIGINT and SIGTERM, as "
  "--timeout and --memory, end in undecided and a report of what was found; a second signal ends at once.";

/* What the command line holds: the files that follow MODEL are checkpoints if --params is given. */
typedef struct {
  clarke_audit_command command;
  bool params;
} command_line;

static bool
is_folder(const char *path)
{
  struct stat st;

  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A step of a checkpoint is to be recorded: what is asked of a graph is not of it. */
static void
check_like(const clarke_audit_command *c, struct argp_state *state)
{
  if (c->like == NULL && (c->keep != NULL || c->train))
    argp_error(state, "%s needs --like", c->keep != NULL ? "--keep" : "--train");
  if (c->like == NULL)
    return;
  if (c->ask.model_path == NULL || c->ask.batch_path == NULL)
    argp_error(state, "--like needs a checkpoint and --batch FILE");
  if (c->n_params > 0 || c->ask.output != NULL || c->ask.whole || c->all_steps || c->step != CLARKE_NONE)
    argp_error(state, "--like records one step of one checkpoint: leave out --params, --output, --batch-axis, --run and --step");
  if (c->keep == NULL && (c->proof != NULL || c->zone_proof != NULL))
    argp_error(state, "a proof is about files that stay: --like needs --keep RUN/ beside it");
}

/* All that is asked about comes on standard input. */
static void
check_serve(const clarke_audit_command *c, struct argp_state *state)
{
  const bool written = c->proof != NULL || c->zone_proof != NULL || c->gradient != NULL || c->ci.sarif != NULL || c->ci.junit != NULL
                       || c->ci.html != NULL || c->ci.baseline != NULL;

  if (c->ask.model_path != NULL || c->ask.batch_path != NULL || c->n_params > 0 || c->like != NULL || c->all_steps || c->step != CLARKE_NONE)
    argp_error(state, "--serve asks about the run folders that come on standard input: leave out other files, --like, --run and --step");
  if (written || c->lines != NULL || c->ci.quiet)
    argp_error(state, "--serve prints its answers, and writes proofs where standard input says: leave out files to write, and --quiet");
}

/* Does what is given fit together? A folder stands for model, batch and checkpoint. */
static void
check_arguments(clarke_audit_command *c, bool params, struct argp_state *state)
{
  const bool folder = c->like == NULL && c->ask.model_path != NULL && is_folder(c->ask.model_path);

  if (c->serve) {
    check_serve(c, state);
    return;
  }
  check_like(c, state);
  if (folder && (c->ask.batch_path != NULL || c->n_params > 0 || c->ask.loss != NULL || c->ask.output != NULL || c->ask.whole))
    argp_error(state, "%s is a run folder, which has its batch, parameters and loss", c->ask.model_path);
  if (folder)
    c->run = c->ask.model_path;
  else if (c->ask.model_path != NULL && c->ask.batch_path == NULL && (c->step != CLARKE_NONE || c->all_steps))
    argp_error(state, "%s: there is no folder of that name; %s wants the folder that clarke.record wrote", c->ask.model_path,
               c->all_steps ? "--run" : "--step");
  else if (c->ask.model_path == NULL || c->ask.batch_path == NULL)
    argp_error(state, "a MODEL and --batch FILE are needed, or a run folder");
  else if (c->step != CLARKE_NONE || c->all_steps)
    argp_error(state, "%s is of a run folder", c->all_steps ? "--run" : "--step");
  if (c->all_steps && c->step != CLARKE_NONE)
    argp_error(state, "--run asks about all steps: leave out --step");
  if (c->lines != NULL && !c->all_steps)
    argp_error(state, "--lines needs --run");
  if (c->all_steps && ((c->gradient != NULL && strchr(c->gradient, '%') == NULL) || (c->zone_proof != NULL && strchr(c->zone_proof, '%') == NULL)))
    argp_error(state, "with --run --gradient and --zone-proof write a file for each step: expected a name with a %%, for which step-NUMBER is put");
  if (c->n_params > 0 && !params)
    argp_error(state, "one MODEL is expected; checkpoints come with --params");
}

static size_t
read_count(const char *text, struct argp_state *state)
{
  size_t n = 1;

  if (!clarke_count_parse(&n, text))
    argp_error(state, "--nearest: '%s' is no number from 1 on", text);
  return n;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  command_line *line = state->input;
  clarke_audit_command *c = &line->command;
  const clarke_shared_options shared = {&c->ask.profile, &c->ask.wrt, &c->proof, &c->json, &c->ask.output};

  if (clarke_take_shared(key, arg, state, &shared) || clarke_watch_take(key, arg, state, &c->watch)
      || clarke_ci_take(key, arg, state, &c->ci))
    return 0;
  switch (key) {
  case 'b':
    c->ask.batch_path = arg;
    return 0;
  case 'l':
    c->ask.loss = arg;
    return 0;
  case OPTION_BATCH_AXIS:
    if (strcmp(arg, "none") != 0)
      argp_error(state, "--batch-axis: '%s'; expected none. The batch is the first axis otherwise", arg);
    c->ask.whole = true;
    return 0;
  case OPTION_PARAMS:
    line->params = true;
    c->params[c->n_params++] = arg;
    return 0;
  case OPTION_GRADIENT:
    c->gradient = arg;
    return 0;
  case OPTION_ZONE_PROOF:
    c->zone_proof = arg;
    return 0;
  case OPTION_RANKS:
    c->ask.ranks = true;
    c->theorems = true;
    return 0;
  case OPTION_THEOREMS:
    c->theorems = true;
    return 0;
  case OPTION_THREADS:
    c->ask.threads = clarke_read_threads(arg, state);
    return 0;
  case OPTION_NEAREST:
    c->ask.nearest = read_count(arg, state);
    return 0;
  case OPTION_TOUCHED:
    c->ask.touched = true;
    return 0;
  case OPTION_EXACT:
    c->ask.exact = true;
    return 0;
  case 'v':
    c->verbose = true;
    return 0;
  case OPTION_RUN:
    c->all_steps = true;
    return 0;
  case OPTION_SERVE:
    c->serve = true;
    return 0;
  case OPTION_LINES:
    c->lines = arg;
    return 0;
  case OPTION_LIKE:
    c->like = arg;
    return 0;
  case OPTION_KEEP:
    c->keep = arg;
    return 0;
  case OPTION_TRAIN:
    c->train = true;
    return 0;
  case OPTION_STEP:
    c->step = clarke_read_step(arg, state);
    return 0;
  case ARGP_KEY_ARG:
    if (c->ask.model_path == NULL)
      c->ask.model_path = arg;
    else
      c->params[c->n_params++] = arg;
    return 0;
  case ARGP_KEY_END:
    check_arguments(c, line->params, state);
    if ((c->n_params > 1 || c->all_steps) && !c->json && (c->ask.nearest > 0 || c->ask.touched || c->theorems))
      argp_error(state, "--nearest, --touched, --theorems and --ranks of several checkpoints or steps need --json");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

int
clarke_command_audit(int argc, char **argv)
{
  static char name[] = "clarke audit";
  static const char usage[] = "MODEL.onnx --batch FILE\nMODEL.onnx --batch FILE --params FILE...\n--like NAME CHECKPOINT --batch FILE\n"
                              "RUN/\n--run RUN/\n--serve";
  struct argp argp = {options, parse, usage, doc, NULL, NULL, NULL};
  bool told = false;
  command_line line = {.command = {.ask = {.threads = clarke_processors(), .margins = true}, .step = CLARKE_NONE, .ci.told = &told}};
  clarke_error err = {CLARKE_OK, ""};
  clarke_audit_like like = {"", ""};
  int exit_status = EXIT_NOT_ASKED;
  clarke_status status = CLARKE_OK;

  line.command.params = calloc((size_t)argc, sizeof *line.command.params);
  if (line.command.params == NULL) {
    fprintf(stderr, "clarke audit: out of memory\n");
    return EXIT_NOT_ASKED;
  }
  /* In order: checkpoints are listed as they are given, whatever stands between them. */
  clarke_read_arguments(&line, &argp, name, argc, argv, ARGP_IN_ORDER);
  line.command.watch.quiet = line.command.ci.quiet;
  clarke_watch_begin(&line.command.watch);
  if (line.command.like != NULL)
    status = clarke_audit_like_record(&line.command, &like, &err);
  if (status == CLARKE_OK)
    status = clarke_audit_answer(&exit_status, &line.command, &err);
  clarke_audit_like_leave(&like);
  clarke_watch_end();
  free(line.command.params);
  flint_cleanup_master();
  if (status == CLARKE_OK)
    return exit_status;
  return clarke_ci_fail(&line.command.ci, &(clarke_ci_source){.command = "audit", .path = line.command.ask.model_path,
                                                              .batch = line.command.ask.batch_path, .json = line.command.json}, &err);
}
