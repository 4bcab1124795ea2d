/* Proofs about networks of formulas (docs/proof-format.md, "Networks of formulas"): the statement, and its two kinds of
 * evidence. */
#include "check/formula/formula_proof.h"
#include "check/formula/construction.h"
#include "check/base/lines.h"
#include "check/files/model_types.h"
#include "check/formula/refutation.h"

#include <string.h>

static const char *const smooth = "differentiable", *const kinked = "not-differentiable";

bool
formula_verdict_known(const char *verdict)
{
  return strcmp(verdict, smooth) == 0 || strcmp(verdict, kinked) == 0;
}

/* F(d) + F(-d) is not 0. The model is the network that was built, so F is computed by that. */
static void
check_opposite(const three *t)
{
  size_t n = t->n_variables;
  rational *d = rationals(n);
  RATIONAL(there);
  RATIONAL(back);
  RATIONAL(sum);
  next_line("d");
  for (size_t i = 0; i < n; i++)
    next_rational(&d[i]);
  construction_value(&there, t, d);
  for (size_t i = 0; i < n; i++)
    mpq_neg(&d[i], &d[i]);
  construction_value(&back, t, d);
  mpq_add(&sum, &there, &back);
  gmp_fprintf(account,
              "In a direction d, F(d) = %Qd and F(-d) = %Qd. F(t x) = t F(x) for t > 0, so a derivative at 0\n"
              "would make their sum 0.\n",
              &there, &back);
  require(mpq_sgn(&sum) != 0, "F(d) + F(-d) is 0");
  rationals_free(d, n);
}

void
check_formula(const char *folder, const char *verdict)
{
  cnf f;
  three t;
  model m;
  cnf_read(&f, next_file(folder, "Formula"));
  next_line("model");
  onnx_read_packed(&m, next_file(folder, "Model"));
  model_check_types(&m);
  three_make(&t, &f);
  size_t layers = construction_compare(&t, &m);
  fprintf(account,
          "The formula has %zu variables and %zu clauses. The model is its network: %zu clauses of three literals\n"
          "in %zu variables, %zu layers of relu, matrices of -1, 0 and 1, no biases. F is its output as a\n"
          "function of its input.\n",
          f.n_variables, f.n, t.n, t.n_variables, layers);
  next_line("evidence");
  if (strcmp(verdict, smooth) == 0) {
    require(strcmp(next_word(), "refutation") == 0, "'evidence refutation' is expected");
    fprintf(account, "Refutation: %zu clauses were learned, the last one empty.\n", check_refutation(&t));
  } else {
    require(strcmp(next_word(), "opposite") == 0, "'evidence opposite' is expected");
    check_opposite(&t);
  }
  last_line();
  printf("VERIFIED\n%sVerdict: %s. %s\nSemantics: real arithmetic, every number taken exactly.\n", account_text(),
         verdict,
         strcmp(verdict, smooth) == 0 ? "F is differentiable at 0: it is 0 everywhere. The formula cannot be satisfied."
                                      : "F is not differentiable at 0. The formula can be satisfied.");
}
