/* clarke report: an answer as a page. */
#include "report.h"

#include "command.h"
#include "format/file.h"

#include <argp.h>
#include <flint/flint.h>
#include <string.h>

typedef struct {
  const char *answer, *output, *proof, *data;
} request;

#define OPTION_DATA 'd'

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "where the page goes (default: standard output)", 0},
    {"proof", 'p', "FILE", 0, "the proof of the answer: the page has its SHA-256, and how to check it", 0},
    {"data", OPTION_DATA, "DIR", 0, "the folder with the proof's files, as clarke-check takes it", 0},
    CLARKE_OPTION_OF_LIMIT,
    {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] = "Writes an answer as one page of HTML: what a command printed with --json. It needs no other file and no "
                    "network, runs nothing, and says the same "
                    "without its style."
                    "\vExample:\n"
                    "  clarke audit cases/audit/lemma2.onnx --batch cases/audit/lemma2.npz --loss sum --json > answer.json\n"
                    "  clarke report answer.json -o report.html\n\n"
                    "Exit status: 0 the page was written, 2 it could not be.";

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *r = state->input;
  const clarke_shared_options shared = {.proof = &r->proof};

  if (clarke_take_shared(key, arg, state, &shared))
    return 0;
  switch (key) {
  case 'o': r->output = arg; return 0;
  case OPTION_DATA: r->data = arg; return 0;
  case ARGP_KEY_ARG:
    if (r->answer != NULL)
      argp_error(state, "one FILE is expected");
    r->answer = arg;
    return 0;
  case ARGP_KEY_END:
    if (r->answer == NULL)
      argp_error(state, "a FILE is needed: what a command printed with --json");
    if (r->data != NULL && r->proof == NULL)
      argp_error(state, "--data goes with --proof");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static clarke_status
write_report(const request *r, const clarke_file *bytes, const clarke_file *proof, clarke_error *err)
{
  const clarke_report_source source = {.file = r->answer,
                                       .sha256 = bytes->sha256,
                                       .proof = r->proof,
                                       .proof_sha256 = r->proof != NULL ? proof->sha256 : NULL,
                                       .data = r->data};
  json_error_t why;
  json_t *answer = json_loadb((const char *)bytes->data, bytes->size, JSON_REJECT_DUPLICATES, &why);
  clarke_status status;

  if (answer == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%d: no JSON: %s; what a command printed with --json is expected", r->answer,
                       why.line, why.text);
  status = clarke_report_write(r->output, answer, &source, err);
  json_decref(answer);
  return status;
}

int
clarke_command_report(int argc, char **argv)
{
  static char name[] = "clarke report";
  struct argp argp = {options, parse, "FILE.json [-o FILE.html]", doc, NULL, NULL, NULL};
  request r = {.answer = NULL};
  clarke_error err = {CLARKE_OK, ""};
  clarke_file bytes = {0}, proof = {0};
  clarke_status status;

  clarke_read_arguments(&r, &argp, name, argc, argv, 0);
  status = clarke_file_read(&bytes, r.answer, &err);
  if (status == CLARKE_OK && r.proof != NULL)
    status = clarke_file_read(&proof, r.proof, &err);
  if (status == CLARKE_OK)
    status = write_report(&r, &bytes, &proof, &err);
  clarke_file_clear(&proof);
  clarke_file_clear(&bytes);
  flint_cleanup_master();
  if (status == CLARKE_OK)
    return EXIT_HOLDS;
  fprintf(stderr, "clarke report: %s\n", err.text);
  return EXIT_NOT_ASKED;
}
