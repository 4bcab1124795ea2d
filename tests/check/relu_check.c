/* clarke-relu-check: verifies proofs of evidence `ad` and `mix` about networks of sums, products, pieces and windows, and links nothing
 * that these do not need: the operators of one table, exact values, the two kinds of evidence. What it does not have it refuses by
 * name.
 *
 *     clarke-relu-check PROOF DATA
 *
 * DATA is the folder of the files that the proof names. Exit statuses are clarke-check's. */
#include "check/base/lines.h"
#include "check/base/limit.h"
#include "check/kernel/mix.h"
#include "check/network_verdict.h"
#include "check/onnx/inputs.h"
#include "check/onnx/operators.h"
#include "check/onnx/piecewise_operators.h"

#include <stdlib.h>
#include <string.h>

/* Constant's tensor or number is of that type, or of integers. */
static void
check_constant(const node *n, size_t type)
{
  for (size_t i = 0; i < n->n_attributes && strcmp(n->op, "Constant") == 0; i++)
    expect(n->attributes[i].type == type || n->attributes[i].type == INT64, "a Constant of another type of numbers");
}

/* All floats are of the input's type, float32 or float64, and integers of 64 bits: then the types of all operators fit. */
static void
check_one_type(model *m)
{
  const size_t type = m->n_inputs > 0 ? m->inputs[0].type : FLOAT;
  expect(type == FLOAT || type == DOUBLE, "this checker has no %s", dtypes[type].name[1]);
  for (size_t i = 0; i < m->n_tensors; i++)
    expect(m->tensors[i]->type == type || m->tensors[i]->type == INT64,
           "this checker has one type of floats: '%s' is of another", m->tensors[i]->name);
  for (size_t i = 0; i < m->n_inputs; i++)
    expect(m->inputs[i].type == type || m->inputs[i].type == INT64,
           "this checker has one type of floats: '%s' is of another", m->inputs[i].name);
  for (size_t i = 0; i < m->n_declared; i++)
    expect(m->declared[i].type == type || m->declared[i].type == INT64 || m->declared[i].type == 0,
           "this checker has one type of floats: '%s' is of another", m->declared[i].name);
  for (size_t i = 0; i < m->n_outputs; i++)
    expect(m->outputs[i].type == type, "output '%s' is of another type than the input", m->outputs[i].name);
  for (size_t i = 0; i < m->n_nodes; i++)
    check_constant(&m->nodes[i], type);
}

static void
lacks(claim *q, bool bouligand)
{
  (void)q;
  (void)bouligand;
  leave(REFUSED, "this checker has no such evidence");
}

/* The words of all kinds, so that a right proof by another one is not called wrong. */
static const evidence_kind evidence[] = {
    {"ad", true, false, false, check_ad},    {"mix", false, true, false, check_mix},
    {"hull", true, true, false, lacks},      {"compensation", true, false, false, lacks},
    {"simplices", true, true, false, lacks}, {"separator", false, false, true, lacks},
    {"bound", false, false, true, lacks},    {"balance", true, true, false, lacks},
};

static const operator_set operators = {.tables = {&piecewise_operators, NULL}, .types = check_one_type};

/* Lines by which a proof's writer and its checker compare how they read the network. It is read here as it is; these are another
 * reader's. */
static void
pass_over_prints(void)
{
  size_t n = 0;
  if (line_is("tape"))
    n += *next_word() != '\0';
  for (; line_is("fingerprint"); n++) {
    free(next_name());
    next_word();
  }
  if (n > 0)
    fprintf(account, "Not compared: the lines of the tape and of fingerprints\n");
}

static void
check_verdict(const char *path, const char *folder)
{
  network net;
  point p = {.net = &net};
  model m;
  account_begin();
  lines_begin(read_file(path));
  known_line("clarke-proof", "1");
  expect(!line_is("claim"), "this checker has no claims, but verdicts alone");
  next_line("verdict");
  const char *word = next_word();
  expect(verdict_known(word), "this checker has no verdict '%s'", word);
  known_line("semantics", "real");
  expect(!line_is("formula") && !line_is("program") && !line_is("network"),
         "this checker has no proofs but of networks as steps");
  read_network(&p, &m, folder, &operators);
  pass_over_prints();
  check_output(&p, word, evidence, sizeof evidence / sizeof *evidence);
  printf("VERIFIED\n%s", account_text());
  print_verdict(&net, word);
}

int
main(int argc, char **argv)
{
  if (argc != 3) {
    fputs("Usage: clarke-relu-check PROOF DATA\n", stderr);
    return REFUSED;
  }
  limit_require_stack();
  check_verdict(argv[1], argv[2]);
  return output_arrived() ? VERIFIED : REFUSED;
}
