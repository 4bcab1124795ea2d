/* Formulas and proofs about their networks, read by the checker: an input is a formula, a line "===", and a proof of f.cnf
 * and f.onnx, whose hashes are put right first. The model is the formula's network as the library makes it; of a text that
 * the library refuses, or would make large, it is an empty file. What the checker verifies the library reads, and the solver
 * agrees. */
#include "checker.h"
#include "mutate.h"
#include "sat/network.h"
#include "sat/solve.h"
#include "seal.h"
#include "target.h"

#include <unistd.h>

MUTATED_AS(mutate_text)

static char folder[] = "/tmp/clarke-fuzz-XXXXXX", formula[64], model[64];

static void
remove_folder(void)
{
  unlink(formula);
  unlink(model);
  rmdir(folder);
}

static void
make_folder(void)
{
  if (*formula != '\0')
    return;
  REQUIRE(mkdtemp(folder) != NULL);
  snprintf(formula, sizeof formula, "%s/f.cnf", folder);
  snprintf(model, sizeof model, "%s/f.onnx", folder);
  atexit(remove_folder);
}

/* Writes both files. Has the formula a network, of t? */
static bool
write_files(clarke_three *t, const uint8_t *data, size_t size)
{
  FILE *text = fopen(formula, "wb"), *network = fopen(model, "wb");
  clarke_cnf f;
  clarke_sign_network net;
  clarke_model m;
  bool good;

  REQUIRE(text != NULL && fwrite(data, 1, size, text) == size && fclose(text) == 0 && network != NULL);
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

/* The end of the formula: "===\n" at the beginning of a line, or the end of the input. */
static size_t
end_of_formula(const uint8_t *data, size_t size)
{
  for (size_t i = 0; i + 4 <= size; i++)
    if ((i == 0 || data[i - 1] == '\n') && memcmp(data + i, "===\n", 4) == 0)
      return i;
  return size;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const size_t n = end_of_formula(data, size), from = n < size ? n + 4 : n;
  checker_proof what = {NULL, folder};
  checker_answer answer;
  clarke_three t;
  buffer proof;
  bool good;

  make_folder();
  clarke_three_init(&t);
  good = write_files(&t, data, n);
  proof = sealed_proof(folder, data + from, size - from);
  what.proof = checker_file(0, proof.data, proof.size);
  answer = checker_run(checker_check, &what);
  REQUIRE(answer.status >= 0 && answer.status <= 3);
  if (answer.status == 0) {
    REQUIRE(good && strncmp(answer.said, "VERIFIED\n", 9) == 0);
    require_true(&t, answer.said);
  }
  clarke_three_clear(&t);
  buffer_clear(&proof);
  return 0;
}
