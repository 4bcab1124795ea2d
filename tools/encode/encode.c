/* clarke encode: a formula as a network, and answers carried over. */
#include "base/output.h"
#include "base/stop.h"
#include "base/text.h"
#include "command.h"
#include "failed.h"
#include "encode_report.h"
#include "program/prog.h"
#include "proof/write_formula.h"
#include "sat/decode.h"
#include "sat/follow.h"
#include "session/audit.h"
#include "watch.h"
#include "format/npy.h"
#include "format/onnx_write.h"

#include <argp.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_DECIDE = 256, OPTION_DECODE, OPTION_WORK, OPTION_DRAT, OPTION_LRAT };

/* Visits of clauses: half a minute at most. */
#define WORK 300000000

typedef struct {
  const char *formula, *output, *proof, *decode, *refutation;
  clarke_clausal_format format; /* of the refutation */
  bool decide, json;
  size_t work;
  clarke_watch_limits watch;
} request;

static const struct argp_option options[] = {
  {"output", 'o', "FILE", 0, "write the network there: FILE.onnx, or FILE.prog", 0},
  {"decide", OPTION_DECIDE, NULL, 0, "is the network's function F differentiable at 0?", 0},
  {"proof", 'p', "FILE", 0, "write a proof of that, which clarke-check verifies (with -o FILE.onnx)", 0},
  {"drat", OPTION_DRAT, "FILE", 0, "decide by a solver's refutation of the formula (DRAT), instead of a search", 0},
  {"lrat", OPTION_LRAT, "FILE", 0, "so, by a refutation with hints (LRAT)", 0},
  {"work", OPTION_WORK, "N", 0, "give up after so many visits of clauses (default 300000000)", 0},
  {"decode", OPTION_DECODE, "DIRECTION", 0,
   "x=V,V,... or FILE.npy: the assignment that a direction d with F(d) > 0 stands for", 0},
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  CLARKE_OPTIONS_OF_WATCH,
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "Writes the network of a formula in conjunctive normal form (a DIMACS file): layers of relu with matrices of -1, 0 and 1 "
  "and no biases. Its function F is differentiable at 0 if and only if no assignment satisfies the formula (thesis, Theorem "
  "6). --decide says which, with proof."
  "\vExamples:\n"
  "  clarke encode cases/encode/example4.cnf -o example4.onnx\n"
  "  clarke encode cases/encode/eight.cnf -o eight.onnx --decide --proof eight.proof\n"
  "  clarke encode cases/encode/eight.cnf -o eight.onnx --drat eight.drat --proof eight.proof\n"
  "  clarke encode cases/encode/example4.cnf --decode x=1,2,-1,0,0,-3\n\n"
  "Exit status: 0 F is differentiable at 0 (--decode: the assignment satisfies the formula; else: done), 1 F is not "
  "(--decode: F(d) is 0), 2 the question could not be asked, 3 undecided. SIGINT and SIGTERM, as --timeout and --memory, end "
  "in undecided; a second signal ends at once.";

static size_t
read_count(const char *arg, const struct argp_state *state)
{
  size_t n = 1;

  if (!clarke_count_parse(&n, arg))
    argp_error(state, "--work: '%s' is no number from 1 on", arg);
  return n;
}

static void
take_refutation(request *q, clarke_clausal_format format, const char *file, const struct argp_state *state)
{
  if (q->refutation != NULL)
    argp_error(state, "one refutation is expected: --drat FILE or --lrat FILE");
  q->refutation = file;
  q->format = format;
  q->decide = true;
}

static void
check_request(const request *q, const struct argp_state *state)
{
  if (q->formula == NULL)
    argp_error(state, "a formula is needed: a DIMACS file");
  if (q->decide && q->decode != NULL)
    argp_error(state, "--decide, --drat or --lrat, and --decode are two questions: one at a time");
  if (q->output != NULL && !clarke_ends_with(q->output, ".onnx") && !clarke_ends_with(q->output, ".prog"))
    argp_error(state, "-o %s: expected FILE.onnx or FILE.prog", q->output);
  if (q->proof != NULL && (!q->decide || q->output == NULL || !clarke_ends_with(q->output, ".onnx")))
    argp_error(state, "--proof goes with --decide and -o FILE.onnx: it speaks of that file");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *q = state->input;
  const clarke_shared_options shared = {.proof = &q->proof, .json = &q->json};

  if (clarke_take_shared(key, arg, state, &shared) || clarke_watch_take(key, arg, state, &q->watch))
    return 0;
  switch (key) {
  case 'o':
    q->output = arg;
    return 0;
  case OPTION_DECIDE:
    q->decide = true;
    return 0;
  case OPTION_WORK:
    q->work = read_count(arg, state);
    return 0;
  case OPTION_DRAT:
    take_refutation(q, CLARKE_CLAUSAL_DRAT, arg, state);
    return 0;
  case OPTION_LRAT:
    take_refutation(q, CLARKE_CLAUSAL_LRAT, arg, state);
    return 0;
  case OPTION_DECODE:
    q->decode = arg;
    return 0;
  case ARGP_KEY_ARG:
    if (q->formula != NULL)
      argp_error(state, "one FORMULA is expected");
    q->formula = arg;
    return 0;
  case ARGP_KEY_END:
    check_request(q, state);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

/* --- the network's file ------------------------------------------------------------------------- */

static clarke_status
put_model(FILE *out, const clarke_encode_report *r, clarke_error *err)
{
  clarke_model m;
  clarke_status status;

  clarke_model_init(&m);
  status = clarke_sign_network_model(&m, &r->network, err);
  if (status == CLARKE_OK)
    status = clarke_onnx_write(out, &m, err);
  clarke_model_clear(&m);
  return status;
}

static clarke_status
put_network(FILE *out, const clarke_encode_report *r, bool onnx, clarke_error *err)
{
  char comment[128];

  if (onnx)
    return put_model(out, r, err);
  snprintf(comment, sizeof comment, "the network of a formula of %zu variables and %zu clauses (thesis, Theorem 6)",
           r->cnf.n_variables, r->cnf.n_clauses);
  clarke_sign_network_print(out, &r->network, comment);
  return CLARKE_OK;
}

static clarke_status
hash(char hex[65], const clarke_text *t, clarke_error *err)
{
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned n = 0;

  if (EVP_Digest(t->text, t->size, digest, &n, EVP_sha256(), NULL) != 1 || n != 32)
    return clarke_fail(err, CLARKE_EINTERNAL, "SHA-256 failed");
  for (unsigned i = 0; i < n; i++)
    sprintf(hex + 2 * i, "%02x", digest[i]);
  return CLARKE_OK;
}

/* Writes the network, all of it or nothing; hex becomes its SHA-256. */
static clarke_status
write_network(char hex[65], clarke_encode_report *r, const char *path, clarke_error *err)
{
  clarke_text text;
  clarke_output file;
  clarke_status status = clarke_text_open(&text, err);

  if (status != CLARKE_OK)
    return status;
  status = clarke_text_close(&text, put_network(text.to, r, clarke_ends_with(path, ".onnx"), err), err);
  if (status == CLARKE_OK)
    status = hash(hex, &text, err);
  if (status == CLARKE_OK)
    status = clarke_output_open(&file, path, err);
  if (status == CLARKE_OK) {
    fwrite(text.text, 1, text.size, file.to);
    status = clarke_output_close(&file, status, path, err);
  }
  r->written = clarke_base_name(path);
  r->bytes = text.size;
  clarke_text_clear(&text);
  return status;
}

/* --- directions --------------------------------------------------------------------------------- */

/* x=V,V,...: as the point of a program with that input. */
static clarke_status
parse_direction(mpq_t *d, size_t n, const char *text, clarke_error *err)
{
  clarke_code program;
  bool given = false;
  size_t first;
  clarke_status status;

  clarke_code_init(&program);
  status = clarke_code_add_input(&program, &first, "x", n, true, err);
  if (status == CLARKE_OK)
    status = clarke_point_parse(d, &given, &program, text, err);
  clarke_code_clear(&program);
  return status;
}

static clarke_status
read_direction(mpq_t *d, size_t n, const char *path, clarke_error *err)
{
  const char *name = clarke_base_name(path);
  clarke_tensor t;
  clarke_file file = {0};
  clarke_status status = clarke_file_read(&file, path, err);

  clarke_tensor_init(&t);
  if (status == CLARKE_OK)
    status = clarke_npy_parse(&t, file.data, file.size, name, err);
  if (status == CLARKE_OK && t.count != n)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: %zu numbers, expected one for each of the network's %zu inputs", name,
                         t.count, n);
  for (size_t v = 0; status == CLARKE_OK && v < n; v++)
    if (t.real != NULL)
      mpq_set_d(d[v], t.real[v]);
    else
      mpq_set_si(d[v], (long)t.integer[v], 1);
  clarke_tensor_clear(&t);
  clarke_file_clear(&file);
  return status;
}

static clarke_status
decode(clarke_encode_report *r, const char *direction, clarke_error *err)
{
  const size_t n = r->three.n_variables;
  mpq_t *d = clarke_rationals(n);
  size_t clause;
  clarke_status status;

  if (d == NULL)
    return clarke_no_memory(err);
  status = strchr(direction, '=') != NULL ? parse_direction(d, n, direction, err) : read_direction(d, n, direction, err);
  r->decoded.asked = status == CLARKE_OK;
  if (status == CLARKE_OK)
    clarke_three_value(r->decoded.value, &r->three, d);
  if (status == CLARKE_OK && mpq_sgn(r->decoded.value) > 0) {
    r->decoded.assignment = calloc(n, sizeof *r->decoded.assignment);
    if (r->decoded.assignment == NULL)
      status = clarke_no_memory(err);
    else
      clarke_direction_assignment(r->decoded.assignment, &r->three, d);
    if (status == CLARKE_OK && !clarke_cnf_holds(&r->cnf, r->decoded.assignment, &clause))
      status = clarke_fail(err, CLARKE_EINTERNAL, "the assignment of a direction does not satisfy clause %zu", clause + 1);
  }
  clarke_rationals_free(d, n);
  return status;
}

/* --- the command ----------------------------------------------------------------------------- */

/* By the refutation of another solver. */
static clarke_status
follow(clarke_encode_report *r, const request *q, clarke_error *err)
{
  clarke_clausal p;
  clarke_file file = {0};
  clarke_status status = clarke_file_read(&file, q->refutation, err);

  r->followed = clarke_base_name(q->refutation);
  clarke_clausal_init(&p);
  if (status == CLARKE_OK)
    status = clarke_clausal_parse(&p, q->format, file.data, file.size, r->followed, err);
  clarke_file_clear(&file);
  if (status == CLARKE_OK) {
    r->followed_steps = p.n;
    clarke_work_begin("steps", p.n);
    status = clarke_follow(&r->solution, &r->three, &r->cnf, &p, r->followed, q->work, err);
  }
  clarke_clausal_clear(&p);
  return status;
}

static clarke_status
search(clarke_encode_report *r, const request *q, clarke_error *err)
{
  clarke_work_begin("conflicts", 0);
  return clarke_solve(&r->solution, &r->three, q->work, err);
}

static clarke_status
decide(clarke_encode_report *r, const request *q, clarke_error *err)
{
  size_t clause;
  clarke_status status = (q->refutation != NULL ? follow : search)(r, q, err);

  r->decided = true;
  if (status == CLARKE_OK && r->solution.answer == CLARKE_FORMULA_SATISFIED && !clarke_cnf_holds(&r->cnf, r->solution.value, &clause))
    return clarke_fail(err, CLARKE_EINTERNAL, "the assignment found does not satisfy clause %zu", clause + 1);
  return status;
}

static clarke_status
prove(const clarke_encode_report *r, const char *path, const char *formula_hash, const char *model_hash, clarke_error *err)
{
  const clarke_proof_input formula = {r->formula, formula_hash, NULL}, model = {r->written, model_hash, NULL};

  if (r->solution.answer == CLARKE_FORMULA_GIVEN_UP)
    return CLARKE_OK;
  return clarke_proof_write_formula(path, &formula, &model, &r->three, &r->solution, err);
}

static clarke_status
answer(clarke_encode_report *r, const request *q, clarke_error *err)
{
  char model_hash[65] = "";
  clarke_file file = {0};
  clarke_status status = clarke_file_read(&file, q->formula, err);

  r->formula = clarke_base_name(q->formula);
  if (status == CLARKE_OK)
    status = clarke_dimacs_parse(&r->cnf, file.data, file.size, r->formula, err);
  if (status == CLARKE_OK)
    status = clarke_three_make(&r->three, &r->cnf, err);
  if (status == CLARKE_OK)
    status = clarke_sign_network_make(&r->network, &r->three, err);
  if (status == CLARKE_OK && q->decide)
    status = decide(r, q, err);
  if (status == CLARKE_OK && q->output != NULL)
    status = write_network(model_hash, r, q->output, err);
  if (status == CLARKE_OK && q->proof != NULL)
    status = prove(r, q->proof, file.sha256, model_hash, err);
  if (status == CLARKE_OK && q->decode != NULL)
    status = decode(r, q->decode, err);
  clarke_file_clear(&file);
  clarke_watch_hide(true);
  if (status == CLARKE_OK && q->json)
    return clarke_encode_json(r, err);
  return status == CLARKE_OK ? clarke_encode_text(r, q->proof, err) : status;
}

static int
exit_status(const clarke_encode_report *r)
{
  static const int answers[] = {EXIT_FAILS, EXIT_HOLDS, EXIT_UNDECIDED};

  if (r->decided)
    return answers[r->solution.answer];
  return r->decoded.asked && r->decoded.assignment == NULL ? EXIT_FAILS : EXIT_HOLDS;
}

static void
report_init(clarke_encode_report *r)
{
  memset(r, 0, sizeof *r);
  clarke_cnf_init(&r->cnf);
  clarke_three_init(&r->three);
  clarke_sign_network_init(&r->network);
  clarke_solution_init(&r->solution);
  mpq_init(r->decoded.value);
}

static void
report_clear(clarke_encode_report *r)
{
  clarke_cnf_clear(&r->cnf);
  clarke_three_clear(&r->three);
  clarke_sign_network_clear(&r->network);
  clarke_solution_clear(&r->solution);
  mpq_clear(r->decoded.value);
  free(r->decoded.assignment);
}

int
clarke_command_encode(int argc, char **argv)
{
  static char name[] = "clarke encode";
  struct argp argp = {options, parse, "FORMULA.cnf", doc, NULL, NULL, NULL};
  request q = {.work = WORK};
  clarke_error err = {CLARKE_OK, ""};
  clarke_encode_report report;
  clarke_status status;
  int result;

  clarke_read_arguments(&q, &argp, name, argc, argv, 0);
  report_init(&report);
  clarke_watch_begin(&q.watch);
  status = answer(&report, &q, &err);
  clarke_watch_end();
  result = status == CLARKE_OK ? exit_status(&report) : clarke_failed("encode", q.json, &err);
  report_clear(&report);
  return result;
}
