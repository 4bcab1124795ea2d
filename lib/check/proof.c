/* Proofs of every kind (docs/proof-format.md): what each is about is read, and handed to those who check it. */
#include "check/proof.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/formula/formula_proof.h"
#include "check/evidence_kinds.h"
#include "check/kernel/statement.h"
#include "check/kernel/tape.h"
#include "check/kernel/zone.h"
#include "check/onnx/fingerprint.h"
#include "check/onnx/network.h"
#include "check/program/arrangement.h"
#include "check/program/direction_proof.h"
#include "check/program/pattern_proof.h"
#include "check/program/program_cones.h"
#include "check/program/program_lipschitz.h"
#include "check/program/program_mean.h"
#include "check/program/program_norm.h"
#include "check/program/program_proof.h"
#include "check/program/program_tree.h"
#include "check/program/region_proof.h"
#include "check/program/segment_proof.h"
#include "check/program/vanish_proof.h"
#include "check/record/record_proof.h"
#include "check/unroll.h"
#include "check/update/update_proof.h"
#include "check/update/update_record.h"

#include <string.h>

/* With all that a program may ask for. */
static const program empty_program = {.smooth = &all_smooth_functions, .lipschitz = check_lipschitz};

void
read_described_network(point *p, model *m, const char *folder)
{
  read_network(p, m, folder, &onnx_operators);
  check_tape(p->net, p->x, p->target);
  check_fingerprints(p->net);
}

/* About recorded training steps. A run's folder holds its files. */
static void
check_step(const char *folder)
{
  network net;
  point p = {.net = &net};
  model m;
  refuse_links();
  read_described_network(&p, &m, folder);
  require(m.n_choices == 0, "a recorded step has one output, and none is chosen");
  check_record(&p, &m, folder);
}

/* The zone of a network at its weights. */
static void
check_zone_of(const char *folder)
{
  network net;
  point p = {.net = &net};
  model m;
  known_line("semantics", "real");
  read_described_network(&p, &m, folder);
  check_zone(&p);
}

/* What is said of functions on regions, along a segment, around a point. */
static void
check_function(const char *folder, const char *what)
{
  program of = empty_program;
  known_line("semantics", "real");
  bool of_network = line_is("model");
  if (!of_network)
    next_line("program");
  bool parameters = read_function(&of, folder, of_network ? &onnx_operators : NULL);
  if (strcmp(what, "regions") == 0)
    check_regions(&of, parameters, folder);
  else if (strcmp(what, "segment") == 0)
    check_segment(&of, parameters);
  else
    check_patterns(&of, parameters);
}

/* A program's outputs are 0 for all inputs. */
static void
check_identity(const char *folder)
{
  program of = empty_program;
  known_line("semantics", "real");
  next_line("program");
  read_function(&of, folder, NULL);
  check_vanishing(&of);
}

/* Derivatives of a program along directions. */
static void
check_directional(const char *folder)
{
  program of = empty_program;
  known_line("semantics", "real");
  bool of_network = line_is("network");
  if (!of_network)
    next_line("program");
  bool parameters = read_function(&of, folder, of_network ? &onnx_operators : NULL);
  check_direction(&of, parameters);
  printf("VERIFIED\n%sSemantics: real arithmetic, every number taken exactly.\n", account_text());
}

/* `claim WHAT`. */
static void
check_claim(const char *folder)
{
  const char *what = next_word();
  if (strcmp(what, "arrangement") == 0)
    check_arrangement(folder);
  else if (strcmp(what, "record") == 0)
    check_step(folder);
  else if (strcmp(what, "update") == 0)
    check_update();
  else if (strcmp(what, "stepped") == 0)
    check_recorded_update(folder);
  else if (strcmp(what, "zone") == 0)
    check_zone_of(folder);
  else if (strcmp(what, "identity") == 0)
    check_identity(folder);
  else if (strcmp(what, "direction") == 0)
    check_directional(folder);
  else {
    require(strcmp(what, "patterns") == 0 || strcmp(what, "regions") == 0 || strcmp(what, "segment") == 0,
            "'claim arrangement', 'claim direction', 'claim identity', 'claim patterns', 'claim record', 'claim "
            "regions', 'claim segment', "
            "'claim stepped', "
            "'claim update' or 'claim zone' is expected");
    check_function(folder, what);
  }
}

/* About AD's output of a network, from `model` on. */
static void
check_network(const char *folder, const char *verdict)
{
  network net;
  point p = {.net = &net};
  model m;
  read_described_network(&p, &m, folder);
  check_output(&p, verdict, evidence_kinds, N_EVIDENCE);
  printf("VERIFIED\n%s", account_text());
  print_verdict(&net, verdict);
}

/* About AD's output of a program, or of a network that is read as one. */
static void
check_as_program(const char *folder, const char *verdict, bool of_network)
{
  static const evidence_rules rules = {&arc_means, check_tree, check_cones};
  program of = empty_program;
  bool parameters = read_function(&of, folder, of_network ? &onnx_operators : NULL);
  check_program(&of, parameters, verdict, &rules);
  printf("VERIFIED\n%sSemantics: real arithmetic, every number taken exactly.\n", account_text());
}

const char *
proof_folder(const char *path, const char *data)
{
  const char *slash = strrchr(path, '/');
  size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
  const char *folder = data != NULL ? data : copy_text(path, length);
  return *folder != '\0' ? folder : ".";
}

void
clarke_check_proof(const char *path, const char *data)
{
  const char *folder = proof_folder(path, data);
  account_begin();
  lines_begin(read_file(path));
  known_line("clarke-proof", "1");
  if (line_is("claim")) {
    check_claim(folder);
    return;
  }
  next_line("verdict");
  const char *word = next_word();
  bool formula = formula_verdict_known(word);
  require(formula || verdict_known(word), "unknown verdict '%s'", word);
  known_line("semantics", "real");
  if (formula) {
    next_line("formula");
    check_formula(folder, word);
    return;
  }
  bool of_network = line_is("network");
  if (of_network || line_is("program")) {
    check_as_program(folder, word, of_network);
    return;
  }
  check_network(folder, word);
}
