/* clarke patterns: the sign vectors of an arrangement. */
#include "command.h"
#include "patterns_arrangement.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct argp_option options[] = {
  {"arrangement", 'a', "V.txt", 0, "the hyperplanes' normals: a matrix as text, a column a hyperplane", 0},
  {"offsets", 'o', "T.txt", 0, "an affine arrangement: the numbers t_j of the hyperplanes <v_j, x> = t_j, in one row", 0},
  {"count", 'c', NULL, 0, "print the number alone", 0},
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  {"proof", 'p', "FILE", 0, "write a proof of the list, for clarke-check", 0},
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "All sign vectors of an arrangement of hyperplanes, exactly, each with a point that has it: what the sides of touched "
  "first-layer kinks are (docs/arrangements.md)."
  "\vExample:\n"
  "  clarke patterns --arrangement cases/arrangements/braid.txt --count\n\n"
  "Exit status: 0 all sign vectors were found, 2 the question could not be asked, 3 some may be missing: a limit, an "
  "interrupt (Ctrl-C keeps what was found), or a system that could not be decided.";

static volatile sig_atomic_t interrupted;

static void
note_interrupt(int number)
{
  (void)number;
  interrupted = 1;
}

void
clarke_patterns_catch_interrupt(void)
{
  struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESTART | SA_RESETHAND};

  sigaction(SIGINT, &action, NULL);
}

bool
clarke_patterns_interrupted(void)
{
  return interrupted != 0;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  clarke_arrangement_command *c = state->input;
  const clarke_shared_options shared = {.json = &c->json, .proof = &c->proof};

  if (clarke_take_shared(key, arg, state, &shared))
    return 0;
  switch (key) {
  case 'a':
    c->matrix = arg;
    return 0;
  case 'o':
    c->offsets = arg;
    return 0;
  case 'c':
    c->count = true;
    return 0;
  case ARGP_KEY_END:
    if (c->matrix == NULL)
      argp_error(state, "--arrangement V.txt is missing");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

int
clarke_command_patterns(int argc, char **argv)
{
  static char name[] = "clarke patterns";
  struct argp argp = {options, parse, NULL, doc, NULL, NULL, NULL};
  clarke_arrangement_command c = {NULL, NULL, NULL, false, false};
  clarke_error err = {CLARKE_OK, ""};
  bool complete = false;

  argp_err_exit_status = EXIT_NOT_ASKED;
  argv[0] = name;
  argp_parse(&argp, argc, argv, 0, NULL, &c);
  if (clarke_arrangement_answer(&complete, &c, &err) != CLARKE_OK) {
    fprintf(stderr, "clarke patterns: %s\n", err.text);
    return EXIT_NOT_ASKED;
  }
  return complete ? EXIT_HOLDS : EXIT_UNDECIDED;
}
