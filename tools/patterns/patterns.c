/* clarke patterns: regions of piecewise linear functions, sign vectors of arrangements. */
#include "command.h"
#include "failed.h"
#include "patterns_arrangement.h"
#include "patterns_regions.h"
#include "watch.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  clarke_arrangement_command arrangement;
  clarke_regions_command regions;
  clarke_watch_limits watch;
  bool wants_end; /* --line A was read, and B is next */
} request;

enum { OPTION_THREADS = 256, OPTION_AS_FOUND, OPTION_GRID };

static const struct argp_option options[] = {
  {"at", 't', "POINT", 0, "around a point: v,v,... or a file (.npy, .npz, a table)", 0},
  {"box", 'b', "FILE", 0, "inside a box: a table with the lower and upper bound of each input entry, or a query (.vnnlib)", 0},
  {"wrt", 'w', "NAME,...", 0, "with --at: what varies around the point, in --box or on --line: inputs of a program; of a network parameters, or params", 0},
  {"pieces", 'i', NULL, 0, "of --at and --box: count the maximal affine pieces, too", 0},
  {"threads", OPTION_THREADS, "N", 0,
   "of --at and --box: at most N threads (default: as many as processors); the answer is the same", 0},
  {"line", 'l', "A B", 0, "along the segment from A to B, points as of --at: exact breakpoints, and the integral of AD", 0},
  {"grid", OPTION_GRID, "FORMAT", 0,
   "of --line along one entry, or --box of two: how many numbers of float16, bfloat16, float32 or float64 lie in the bifurcation zone", 0},
  {"arrangement", 'a', "V.txt", 0, "no MODEL: the sign vectors of hyperplanes, whose normals are the columns of a matrix", 0},
  {"offsets", 'o', "T.txt", 0, "of an affine arrangement: the numbers t_j of the hyperplanes <v_j, x> = t_j", 0},
  {"count", 'c', NULL, 0, "print the number alone", 0},
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  {"as-found", OPTION_AS_FOUND, NULL, 0, "print rows as they are found, before what is said of all", 0},
  {"profile", 'P', "PROFILE", 0, "of --line: AD's numbers at kinks (default pytorch-2.13)", 0},
  {"proof", 'p', "FILE", 0, "write a proof that the list is right and whole, for clarke-check", 0},
  {"slice", 's', NULL, 0, "of --box: entries with equal bounds are held fixed", 0},
  {"svg", 'g', "FILE", 0, "of --box in two dimensions: a picture; --at marks a point", 0},
  CLARKE_OPTION_OF_OUTPUT,
  CLARKE_OPTIONS_OF_WATCH,
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "All activation patterns of a piecewise linear network or program, exactly: around a point, inside a box, along a segment, each "
  "with an interior point and its affine piece (docs/regions.md). Or all sign vectors of an arrangement (docs/arrangements.md)."
  "\vExamples:\n"
  "  clarke patterns cases/regions/bump.prog --box cases/regions/square.txt\n"
  "  clarke patterns --arrangement cases/arrangements/braid.txt --count\n\n"
  "Exit status: 0 all were found, 2 the question could not be asked, 3 some may be missing: a limit, a system or a pattern that could "
  "not be decided, or a stop. SIGINT (Ctrl-C) and SIGTERM, as --timeout and --memory, keep what was found; a second signal ends at "
  "once. Of --line 1: the integral is not f(B) - f(A).";

static void
check_request(request *r, const struct argp_state *state)
{
  const clarke_regions_command *c = &r->regions;
  const bool draws = c->svg != NULL;

  if (r->wants_end)
    argp_error(state, "--line takes two points: --line A B");
  if (r->arrangement.matrix != NULL) {
    if (c->model != NULL || c->at != NULL || c->box != NULL || c->from != NULL || draws || c->slice || c->pieces || c->profile != NULL || c->wrt != NULL
        || c->output != NULL || c->grid != NULL)
      argp_error(state, "--arrangement goes with --offsets, --count, --as-found, --json, --proof and --limit alone");
    return;
  }
  if (c->wrt != NULL && strcmp(c->wrt, "inputs") == 0)
    r->regions.wrt = NULL;
  if (c->model == NULL)
    argp_error(state, "a MODEL is needed (.onnx or .prog), or --arrangement V.txt");
  if (r->arrangement.offsets != NULL)
    argp_error(state, "--offsets goes with --arrangement");
  if ((draws || c->slice) && c->box == NULL)
    argp_error(state, "--svg and --slice go with --box");
  if (c->at == NULL && c->box == NULL && c->from == NULL)
    argp_error(state, "one of --at POINT, --box FILE and --line A B is needed");
  if (c->box != NULL && c->from != NULL)
    argp_error(state, "--box and --line are two questions: one is asked at a time");
  if (c->at != NULL && c->wrt == NULL && ((c->box != NULL && !draws) || c->from != NULL))
    argp_error(state, "--at goes beside --box with --svg or --wrt, and beside --line with --wrt");
  if (c->wrt != NULL && c->at == NULL)
    argp_error(state, "--wrt goes with --at, alone or with --box or --line");
  if (c->pieces && c->from != NULL)
    argp_error(state, "--pieces goes with --at and --box");
  if (c->as_found && c->from != NULL)
    argp_error(state, "--as-found goes with --at, --box and --arrangement: pieces of a segment are all found before they are sorted");
  if (c->grid != NULL && ((c->from == NULL && c->box == NULL) || c->count))
    argp_error(state, "--grid goes with --line or --box, and not with --count");
  if (c->profile != NULL && c->from == NULL)
    argp_error(state, "--profile goes with --line: regions do not depend on it");
}

static void
take_argument(request *r, const char *arg, const struct argp_state *state)
{
  if (r->wants_end)
    r->regions.to = arg;
  else if (r->regions.model == NULL)
    r->regions.model = arg;
  else
    argp_error(state, "one MODEL is expected, not '%s' too", arg);
  r->wants_end = false;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *r = state->input;
  const clarke_shared_options shared = {.json = &r->regions.json, .proof = &r->arrangement.proof, .profile = &r->regions.profile, .wrt = &r->regions.wrt,
                                        .output = &r->regions.output};

  if (r->wants_end && key != ARGP_KEY_ARG)
    argp_error(state, "--line takes two points: --line A B");
  if (clarke_take_shared(key, arg, state, &shared) || clarke_watch_take(key, arg, state, &r->watch))
    return 0;
  switch (key) {
  case 't':
    r->regions.at = arg;
    return 0;
  case 'b':
    r->regions.box = arg;
    return 0;
  case 'l':
    r->regions.from = arg;
    r->wants_end = true;
    return 0;
  case OPTION_THREADS:
    r->regions.threads = clarke_read_threads(arg, state);
    return 0;
  case OPTION_GRID:
    r->regions.grid = arg;
    return 0;
  case OPTION_AS_FOUND:
    r->arrangement.as_found = r->regions.as_found = true;
    return 0;
  case 'i':
    r->regions.pieces = true;
    return 0;
  case 'a':
    r->arrangement.matrix = arg;
    return 0;
  case 'o':
    r->arrangement.offsets = arg;
    return 0;
  case 'c':
    r->arrangement.count = r->regions.count = true;
    return 0;
  case 's':
    r->regions.slice = true;
    return 0;
  case 'g':
    r->regions.svg = arg;
    return 0;
  case ARGP_KEY_ARG:
    take_argument(r, arg, state);
    return 0;
  case ARGP_KEY_END:
    check_request(r, state);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

/* In --line A B, B may begin with a minus, as no argument may that is no option: it gets a space before. To be freed. */
static char *
protect_end(int argc, char **argv)
{
  for (int i = 1; i + 2 < argc; i++)
    if (strcmp(argv[i], "--line") == 0 && argv[i + 2][0] == '-' && strchr("0123456789.", argv[i + 2][1]) != NULL) {
      char *with_space = malloc(strlen(argv[i + 2]) + 2);

      if (with_space == NULL) {
        fputs("clarke patterns: out of memory\n", stderr);
        exit(EXIT_NOT_ASKED);
      }
      sprintf(with_space, " %s", argv[i + 2]);
      return argv[i + 2] = with_space;
    }
  return NULL;
}

int
clarke_command_patterns(int argc, char **argv)
{
  static char name[] = "clarke patterns";
  struct argp argp = {options, parse, "[MODEL]", doc, NULL, NULL, NULL};
  request r = {.regions.threads = clarke_processors()};
  clarke_error err = {CLARKE_OK, ""};
  bool complete = false, holds = true;
  clarke_status status;
  char *end = protect_end(argc, argv);

  clarke_read_arguments(&r, &argp, name, argc, argv, ARGP_IN_ORDER);
  r.arrangement.json = r.regions.json;
  clarke_watch_begin(&r.watch);
  clarke_watch_hide(r.regions.as_found && !r.regions.count && isatty(STDOUT_FILENO) == 1); /* the list shows how far it is */
  r.regions.proof = r.arrangement.proof;
  if (r.arrangement.matrix != NULL)
    status = clarke_arrangement_answer(&complete, &r.arrangement, &err);
  else if (r.regions.from != NULL)
    status = clarke_segment_answer(&complete, &holds, &r.regions, &err);
  else
    status = clarke_regions_answer(&complete, &r.regions, &err);
  clarke_watch_end();
  free(end);
  if (status != CLARKE_OK)
    return clarke_failed("patterns", r.regions.json, &err);
  return !complete ? EXIT_UNDECIDED : holds ? EXIT_HOLDS : EXIT_FAILS;
}
