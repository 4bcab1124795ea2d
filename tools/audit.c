/* clarke audit: is AD's gradient of the loss on this minibatch in the Bouligand or Clarke set? */
#include "audit_report.h"
#include "command.h"

#include <argp.h>
#include <flint/flint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_PARAMS = 256, OPTION_GRADIENT, OPTION_EXACT, OPTION_RANKS };

static const struct argp_option options[] = {
  {"batch", 'b', "FILE", 0, "the minibatch: .npz with x and y, or .npy with the inputs alone", 0},
  {"loss", 'l', "ce|mse|sum", 0,
   "default: ce for integer labels y, mse for other y, sum without y", 0},
  {"profile", 'P', "NAME", 0, "proxies: pytorch-2.13 (default) or a profile file", 0},
  {"params", OPTION_PARAMS, "FILE", 0, "a .safetensors file that replaces all weights by name", 0},
  {"wrt", 'w', "NAME,...", 0, "differentiate in these parameters only", 0},
  {"proof", 'p', "FILE", 0, "write a proof that clarke-check verifies", 0},
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  {"gradient", OPTION_GRADIENT, "FILE", 0,
   "write AD's gradient, rounded to float64, as .safetensors", 0},
  {"ranks", OPTION_RANKS, NULL, 0, "the rank before every layer, not only where a kink is touched",
   0},
  {"exact", OPTION_EXACT, NULL, 0, "no floating-point filter: the same answer, slower", 0},
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "Replays the ONNX network MODEL on a minibatch in exact arithmetic, finds the kinks it touches, "
  "and decides whether the gradient that automatic differentiation computes there is an element of "
  "the Bouligand or Clarke subdifferential of the loss."
  "\vExample:\n"
  "  clarke audit cases/audit/lemma2.onnx --batch cases/audit/lemma2.npz --loss sum\n\n"
  "Exit status: 0 in-bouligand or in-clarke, 1 not-in-clarke, 2 the question could not be asked, "
  "3 undecided.";

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  clarke_audit_request *r = state->input;

  switch (key) {
  case 'b':
    r->batch = arg;
    return 0;
  case 'l':
    r->loss = arg;
    return 0;
  case 'P':
    r->profile = arg;
    return 0;
  case 'w':
    r->wrt = arg;
    return 0;
  case 'p':
    r->proof = arg;
    return 0;
  case 'j':
    r->json = true;
    return 0;
  case OPTION_PARAMS:
    r->params = arg;
    return 0;
  case OPTION_GRADIENT:
    r->gradient = arg;
    return 0;
  case OPTION_RANKS:
    r->ranks = true;
    return 0;
  case OPTION_EXACT:
    r->exact = true;
    return 0;
  case ARGP_KEY_ARG:
    if (r->model != NULL)
      argp_error(state, "one MODEL is expected");
    r->model = arg;
    return 0;
  case ARGP_KEY_END:
    if (r->model == NULL || r->batch == NULL)
      argp_error(state, "a MODEL and --batch FILE are needed");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

int
clarke_command_audit(int argc, char **argv)
{
  static char name[] = "clarke audit";
  struct argp argp = {options, parse, "MODEL.onnx --batch FILE", doc, NULL, NULL, NULL};
  clarke_audit_request request = {.profile = "pytorch-2.13"};
  clarke_error err = {CLARKE_OK, ""};
  clarke_verdict verdict = CLARKE_UNDECIDED;
  clarke_status status;

  argp_err_exit_status = EXIT_NOT_ASKED;
  argv[0] = name;
  argp_parse(&argp, argc, argv, 0, NULL, &request);
  status = clarke_audit_answer(&verdict, &request, &err);
  flint_cleanup_master();
  if (status != CLARKE_OK) {
    fprintf(stderr, "clarke audit: %s\n", err.text);
    return EXIT_NOT_ASKED;
  }
  return verdict == CLARKE_UNDECIDED       ? EXIT_UNDECIDED
         : verdict == CLARKE_NOT_IN_CLARKE ? EXIT_FAILS
                                           : EXIT_HOLDS;
}
