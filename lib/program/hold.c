/* Inputs held fixed (hold.h). */
#include "program/hold.h"

#include "base/verify.h"
#include "program/execute.h"

#include <stdlib.h>
#include <string.h>

/* The instruction becomes q * in, or q alone (in CLARKE_NONE). */
static clarke_status
become_linear(clarke_code *p, size_t i, size_t in, const mpq_t q, clarke_error *err)
{
  clarke_instruction *at = &p->instruction[i];
  clarke_instruction linear = {.kind = CLARKE_DO_LINEAR, .n_in = in != CLARKE_NONE, .group = at->group, .line = at->line, .column = at->column};

  linear.in = malloc(sizeof *linear.in);
  linear.coef = clarke_rationals(linear.n_in + 1);
  if (linear.in == NULL || linear.coef == NULL) {
    free(linear.in);
    clarke_rationals_free(linear.coef, linear.coef != NULL ? linear.n_in + 1 : 0);
    return clarke_no_memory(err);
  }
  linear.in[0] = in;
  linear.n_coef = linear.n_in + 1;
  mpq_set(linear.coef[0], q);
  mpq_init(linear.proxy.value);
  p->arguments = p->arguments - at->n_in + linear.n_in;
  clarke_instruction_clear(at);
  *at = linear;
  return CLARKE_OK;
}

/* A product or quotient of what varies and a rational that does not. */
static clarke_status
hold_factor(clarke_code *p, size_t i, const bool *varies, const clarke_execution *e, clarke_error *err)
{
  const clarke_instruction *at = &p->instruction[i];
  const size_t x = varies[at->in[0]] ? 0 : 1;
  const clarke_number *factor = &e->value[at->in[1 - x]];
  clarke_status status;
  mpq_t q;

  if (varies[at->in[1 - x]] || !factor->exact || (at->kind == CLARKE_DO_QUOTIENT && x == 1))
    return CLARKE_OK;
  mpq_init(q);
  mpq_set(q, factor->q);
  if (at->kind == CLARKE_DO_QUOTIENT)
    mpq_inv(q, q);
  status = become_linear(p, i, at->in[x], q, err);
  mpq_clear(q);
  return status;
}

static clarke_status
hold_instruction(clarke_code *p, size_t i, bool *varies, const clarke_execution *e, clarke_error *err)
{
  const clarke_instruction *at = &p->instruction[i];

  for (size_t j = 0; j < at->n_in; j++)
    varies[i] = varies[i] || varies[at->in[j]];
  if (at->kind == CLARKE_DO_INPUT || at->kind == CLARKE_DO_CONSTANT || !e->live[i]) /* not live: no value is known */
    return CLARKE_OK;
  if (varies[i] && (at->kind == CLARKE_DO_PRODUCT || at->kind == CLARKE_DO_QUOTIENT))
    return hold_factor(p, i, varies, e, err);
  return varies[i] || !e->value[i].exact ? CLARKE_OK : become_linear(p, i, CLARKE_NONE, e->value[i].q, err);
}

clarke_status
clarke_code_hold(clarke_code *p, mpq_t *point, clarke_error *err)
{
  bool *varies = calloc(p->n + 1, sizeof *varies);
  clarke_execution e;
  clarke_status status = varies != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_execution_init(&e);
  for (size_t k = 0; status == CLARKE_OK && k < p->n_inputs; k++)
    for (size_t i = 0; i < p->input[k].n; i++)
      varies[p->input[k].first + i] = p->input[k].wrt;
  if (status == CLARKE_OK)
    status = clarke_execute(&e, p, point, err);
  if (status == CLARKE_OK && e.open)
    status = clarke_code_fail(p, e.open_at, err, "a comparison at the point that no precision decides");
  for (size_t i = 0; status == CLARKE_OK && i < p->n; i++)
    status = hold_instruction(p, i, varies, &e, err);
  clarke_execution_clear(&e);
  free(varies);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_code_is_valid(p));
  return status;
}
