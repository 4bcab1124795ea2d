/* Formulas. What is read keeps its promises, is rewritten to clauses of three literals, and written down and read again it is
 * the same. */
#include "format/dimacs.h"
#include "mutate.h"
#include "sat/three.h"
#include "target.h"

MUTATED_AS(mutate_text)

static void
require_formula(const clarke_cnf *f)
{
  REQUIRE(f->n_clauses == 0 || (f->first[0] == 0 && f->first[f->n_clauses] == f->n_literals));
  for (size_t c = 0; c < f->n_clauses; c++)
    REQUIRE(f->first[c] <= f->first[c + 1]);
  for (size_t i = 0; i < f->n_literals; i++)
    REQUIRE(f->literal[i] != 0 && (size_t)labs((long)f->literal[i]) <= f->n_variables);
}

static void
require_read_again(const clarke_cnf *f)
{
  clarke_cnf again;
  clarke_error err;
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);

  REQUIRE(out != NULL);
  fprintf(out, "p cnf %zu %zu\n", f->n_variables, f->n_clauses);
  for (size_t c = 0; c < f->n_clauses; c++) {
    for (size_t i = f->first[c]; i < f->first[c + 1]; i++)
      fprintf(out, "%d ", f->literal[i]);
    fprintf(out, "0\n");
  }
  REQUIRE(fclose(out) == 0);
  clarke_cnf_init(&again);
  REQUIRE(clarke_dimacs_parse(&again, text, size, "again.cnf", &err) == CLARKE_OK);
  REQUIRE(again.n_variables == f->n_variables && again.n_clauses == f->n_clauses && again.n_literals == f->n_literals);
  for (size_t i = 0; i < f->n_literals; i++)
    REQUIRE(again.literal[i] == f->literal[i]);
  clarke_cnf_clear(&again);
  free(text);
}

static void
require_rewritten(const clarke_cnf *f)
{
  clarke_three t;
  clarke_error err;

  clarke_three_init(&t);
  if (f->n_variables < 10000 && clarke_three_make(&t, f, &err) == CLARKE_OK) {
    REQUIRE(t.n_clauses > 0 && (t.n_clauses & (t.n_clauses - 1)) == 0 && t.n_variables >= t.n_own);
    for (size_t c = 0; c < t.n_clauses; c++)
      for (size_t i = 0; i < 3; i++)
        REQUIRE(t.clause[c][i] != 0 && (size_t)labs((long)t.clause[c][i]) <= t.n_variables);
  }
  clarke_three_clear(&t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_cnf f;
  clarke_error err = { CLARKE_OK, "" };
  clarke_status status;

  clarke_cnf_init(&f);
  status = clarke_dimacs_parse(&f, data, size, "fuzzed.cnf", &err);
  if (status == CLARKE_OK) {
    require_formula(&f);
    require_read_again(&f);
    require_rewritten(&f);
  } else {
    require_refusal(status, &err, "fuzzed.cnf:");
    REQUIRE(f.literal == NULL && f.first == NULL);
  }
  clarke_cnf_clear(&f);
  return 0;
}
