/* Drawn formulas and their networks (suite.h): thesis, Theorem 6. */
#include "suite.h"
#include "suite_posed.h"

#include "sat/network.h"

#define VARIABLES 3

/* From two to four clauses of one to three literals. */
static clarke_status
draw_formula(clarke_cnf *f, clarke_draws *d, clarke_error *err)
{
  const size_t clauses = 2 + clarke_draw_below(d, 3);
  clarke_status status = CLARKE_OK;

  f->n_variables = VARIABLES;
  for (size_t c = 0; c < clauses && status == CLARKE_OK; c++) {
    const size_t literals = clarke_draw_below(d, 3) == 0 ? 3 : 1;

    for (size_t k = 0; k < literals && status == CLARKE_OK; k++) {
      const int32_t v = 1 + (int32_t)clarke_draw_below(d, VARIABLES);

      status = clarke_cnf_add(f, clarke_draw_below(d, 2) ? v : -v, err);
    }
    if (status == CLARKE_OK)
      status = clarke_cnf_end(f, err);
  }
  return status;
}

/* The program of the formula's network, F. */
static clarke_status
pose(clarke_posed *q, const clarke_cnf *f, clarke_error *err)
{
  clarke_three three;
  clarke_sign_network net;
  clarke_text t = {0};
  clarke_status status;

  clarke_three_init(&three);
  clarke_sign_network_init(&net);
  status = clarke_three_make(&three, f, err);
  if (status == CLARKE_OK)
    status = clarke_sign_network_make(&net, &three, err);
  if (status == CLARKE_OK)
    status = clarke_text_open(&t, err);
  if (status == CLARKE_OK) {
    clarke_sign_network_print(t.to, &net, "F");
    status = clarke_posed_read(q, &t, NULL, three.n_variables, err);
  }
  clarke_sign_network_clear(&net);
  clarke_three_clear(&three);
  return status;
}

/* At vectors of signs F is above 0 where the assignment satisfies the formula, and 0 elsewhere. */
static clarke_status
compare_signs(bool *right, bool *satisfied, clarke_posed *q, const clarke_cnf *f, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *right = true;
  *satisfied = false;
  for (size_t bits = 0; bits < 1 << VARIABLES && status == CLARKE_OK; bits++) {
    bool value[VARIABLES];
    size_t clause;

    for (size_t v = 0; v < VARIABLES; v++) {
      value[v] = bits >> v & 1;
      mpq_set_si(q->at[v], value[v] ? 1 : -1, 1);
    }
    status = clarke_posed_run(q, NULL, err);
    if (status != CLARKE_OK)
      return status;
    const bool holds = clarke_cnf_holds(f, value, &clause);

    *satisfied = *satisfied || holds;
    *right = *right && (mpq_sgn(q->d.execution.value[q->p.output[0]].q) > 0) == holds;
  }
  for (size_t v = 0; v < VARIABLES; v++)
    mpq_set_ui(q->at[v], 0, 1);
  return status;
}

/* F is differentiable at 0 if and only if nothing satisfies the formula. Formulas that nothing satisfies count as empty. */
clarke_status
clarke_suite_formulas(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_cnf f;
  clarke_posed q;
  bool right = false, satisfied = false;
  clarke_status status;

  clarke_cnf_init(&f);
  clarke_posed_init(&q);
  status = draw_formula(&f, d, err);
  if (status == CLARKE_OK)
    status = pose(&q, &f, err);
  if (status == CLARKE_OK)
    status = compare_signs(&right, &satisfied, &q, &f, err);
  if (status == CLARKE_OK)
    status = clarke_posed_derive(&q, err);
  if (status == CLARKE_OK) {
    t->of[CLARKE_COUNT_TOUCHED] += q.d.execution.n_touched;
    t->of[CLARKE_COUNT_EMPTY] += !satisfied;
    clarke_suite_add(t, !right                                                  ? CLARKE_NO
                        : q.d.differentiable == CLARKE_UNKNOWN                  ? CLARKE_UNKNOWN
                        : (q.d.differentiable == CLARKE_YES) == !satisfied ? CLARKE_YES
                                                                               : CLARKE_NO);
  }
  clarke_posed_clear(&q);
  clarke_cnf_clear(&f);
  return status;
}
