/* Formulas and proofs about their networks, read by the checker: an input is a formula, a line "===", and a proof of f.cnf
 * and f.onnx, whose hashes are put right first. The model is the formula's network as the library makes it; of a text that
 * the library refuses, or would make large, it is an empty file. What the checker verifies the library reads, and the solver
 * agrees. */
#define _GNU_SOURCE /* open_memstream */
#include "beside.h"
#include "mutate.h"
#include "sat/network.h"
#include "sat/solve.h"
#include "target.h"
#include "format/onnx_write.h"

MUTATED_AS(mutate_text)

/* Writes both files. Has the formula a network, of t? */
static bool
write_files(clarke_three *t, const uint8_t *data, size_t size)
{
  char *bytes = NULL;
  size_t length = 0;
  FILE *network = open_memstream(&bytes, &length);
  clarke_cnf f;
  clarke_sign_network net;
  clarke_model m;
  bool good;

  REQUIRE(network != NULL);
  clarke_cnf_init(&f);
  clarke_sign_network_init(&net);
  clarke_model_init(&m);
  good = clarke_dimacs_parse(&f, data, size, "f.cnf", NULL) == CLARKE_OK && f.n_variables < 50 && f.n_literals < 100 &&
         f.n_clauses < 40;
  if (good) {
    REQUIRE(clarke_three_make(t, &f, NULL) == CLARKE_OK);
    REQUIRE(clarke_sign_network_make(&net, t, NULL) == CLARKE_OK);
    REQUIRE(clarke_sign_network_model(&m, &net, NULL) == CLARKE_OK);
    REQUIRE(clarke_onnx_write(network, &m, NULL) == CLARKE_OK);
  }
  clarke_model_clear(&m);
  clarke_sign_network_clear(&net);
  clarke_cnf_clear(&f);
  REQUIRE(fclose(network) == 0);
  folder_write("f.cnf", data, size);
  folder_write("f.onnx", bytes, length);
  free(bytes);
  return good;
}

static void
require_true(const clarke_three *t, const char *said)
{
  const bool smooth = strstr(said, "\nVerdict: differentiable. ") != NULL;
  clarke_solution s;

  REQUIRE(smooth != (strstr(said, "\nVerdict: not-differentiable. ") != NULL));
  clarke_solution_init(&s);
  REQUIRE(clarke_solve(&s, t, SIZE_MAX, NULL) == CLARKE_OK);
  REQUIRE((s.answer == CLARKE_FORMULA_REFUTED) == smooth);
  clarke_solution_clear(&s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const size_t n = end_of_first(data, size);
  checker_answer answer;
  clarke_three t;
  bool good;

  clarke_three_init(&t);
  good = write_files(&t, data, n);
  answer = checked_beside(data, size, n);
  if (answer.status == 0) {
    REQUIRE(good);
    require_true(&t, answer.said);
  }
  clarke_three_clear(&t);
  return 0;
}
