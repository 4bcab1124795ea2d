/* Proofs about networks of formulas (docs/proof-format.md, section 4): the statement, and its two kinds of evidence. */
#include "formula_proof.h"
#include "allocate.h"
#include "evaluate.h"
#include "lines.h"
#include "near.h"
#include "network.h"
#include "refutation.h"

#include <string.h>

static const char *const smooth = "differentiable", *const kinked = "not-differentiable";

bool
formula_verdict_known(const char *verdict)
{
  return strcmp(verdict, smooth) == 0 || strcmp(verdict, kinked) == 0;
}

/* d and -d, a batch of two. */
static tensor
opposite_directions(size_t n)
{
  tensor x = {.name = copy_text("x", 1), .type = FLOAT, .rank = 2, .dims = {2, n}, .count = 2 * n, .real = true};
  x.value = rationals(2 * n);
  next_line("d");
  for (size_t i = 0; i < n; i++) {
    next_rational(&x.value[i]);
    mpq_neg(&x.value[n + i], &x.value[i]);
  }
  return x;
}

/* F(d) + F(-d) is not 0. */
static void
check_opposite(const model *m, size_t n)
{
  static network net;
  static point p = {.net = &net};
  RATIONAL(sum);
  tensor x = opposite_directions(n);
  const arrays given = {&x, 1, &x, NULL};
  network_build(&net, m, &given);
  p.x = &x;
  require(net.batch == 2 && net.n_outputs == 1, "the model has not one output of two samples");
  point_evaluate(&p);
  const interval *there = value_at(&p, net.output, net.map[0] * 2),
                 *back = value_at(&p, net.output, net.map[0] * 2 + 1);
  require(interval_exact(there) && interval_exact(back), "a value is not exact");
  mpq_add(&sum, &there->lo, &back->lo);
  gmp_fprintf(account,
              "In a direction d, F(d) = %Qd and F(-d) = %Qd. F(t x) = t F(x) for t > 0, so a derivative at 0\n"
              "would make their sum 0.\n",
              &there->lo, &back->lo);
  require(mpq_sgn(&sum) != 0, "F(d) + F(-d) is 0");
}

void
check_formula(const char *folder, const char *verdict)
{
  cnf f;
  three t;
  model m;
  cnf_read(&f, next_file(folder, "Formula"));
  next_line("model");
  onnx_read(&m, next_file(folder, "Model"));
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
    check_opposite(&m, t.n_variables);
  }
  last_line();
  printf("VERIFIED\n%sVerdict: %s. %s\nSemantics: real arithmetic, every number taken exactly.\n", account_text(),
         verdict,
         strcmp(verdict, smooth) == 0 ? "F is differentiable at 0: it is 0 everywhere. The formula cannot be satisfied."
                                      : "F is not differentiable at 0. The formula can be satisfied.");
}
