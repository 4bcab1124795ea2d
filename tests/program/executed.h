/* A program of at most three scalar inputs, all in wrt, executed at integers. */
#ifndef CLARKE_TESTS_PROGRAM_EXECUTED_H
#define CLARKE_TESTS_PROGRAM_EXECUTED_H

#include "../ok.h"

#include "program/execute.h"
#include "program/prog.h"

#include <string.h>

typedef struct {
  clarke_code p;
  clarke_execution e;
  mpq_t at[3];
} executed;

static inline void
begin(executed *x, const char *text, long a, long b)
{
  clarke_code_init(&x->p);
  clarke_execution_init(&x->e);
  OK(clarke_prog_parse(&x->p, text, strlen(text), "t.prog", &error));
  OK(clarke_code_wrt(&x->p, NULL, 0, &error));
  for (size_t i = 0; i < 3; i++)
    mpq_init(x->at[i]);
  mpq_set_si(x->at[0], a, 1);
  mpq_set_si(x->at[1], b, 1);
  OK(clarke_execute_at(&x->e, &x->p, x->at, CLARKE_PRECISION_FIRST, &error));
}

static inline void
end(executed *x)
{
  for (size_t i = 0; i < 3; i++)
    mpq_clear(x->at[i]);
  clarke_execution_clear(&x->e);
  clarke_code_clear(&x->p);
}

static inline bool
is(const clarke_number *x, long n)
{
  return x->exact && mpq_cmp_si(x->q, n, 1) == 0;
}

/* The last instruction of a kind. */
static inline size_t
last_of(const executed *x, clarke_do kind)
{
  size_t i = x->p.n;

  while (i-- > 0)
    if (x->p.instruction[i].kind == kind)
      return i;
  ck_abort_msg("no such instruction");
}

/* What an instruction is at another point. It is rational. */
static inline void
value_at(mpq_t y, const executed *x, size_t instruction, mpq_t *point)
{
  clarke_execution e;

  clarke_execution_init(&e);
  OK(clarke_execute_at(&e, &x->p, point, CLARKE_PRECISION_FIRST, &error));
  ck_assert(!e.open && e.live[instruction] && e.value[instruction].exact);
  mpq_set(y, e.value[instruction].q);
  clarke_execution_clear(&e);
}

#endif
