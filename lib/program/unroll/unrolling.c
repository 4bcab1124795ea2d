/* Room for instructions, and the linear ones and products that several steps are made of. */
#include "program/unroll/unroll_inside.h"

#include "base/limit.h"
#include "program/code.h"

#include <stdlib.h>

/* Entries of all activations together, moved ones counted. */
#define HELD_MOST (4 * clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS))

clarke_status
clarke_unroll_no_memory(const clarke_unrolling *u)
{
  return clarke_fail(u->err, CLARKE_ENOMEM, "%s: out of memory", u->g->file);
}

size_t
clarke_unroll_entry(const clarke_unrolling *u, size_t value, size_t e)
{
  const clarke_value *v = &u->g->values[value];

  if (!v->constant)
    return u->at[value][e];
  return u->first[v->parameter] + (v->origin != NULL ? v->origin[e] : e);
}

bool
clarke_unroll_is_number(const clarke_unrolling *u, size_t value)
{
  return u->g->values[value].constant && !clarke_value_is_wrt(u->g, value);
}

clarke_status
clarke_unroll_hold(clarke_unrolling *u, size_t value)
{
  size_t count = u->g->values[value].count;

  if (count > HELD_MOST - u->held)
    return clarke_limit_fail(u->err, CLARKE_LIMIT_INSTRUCTIONS, "%s: as a program more than four times as many "
                             "entries in all; a network this large is not unrolled", u->g->file);
  u->held += count;
  u->at[value] = malloc((count + 1) * sizeof *u->at[value]);
  return u->at[value] != NULL ? CLARKE_OK : clarke_unroll_no_memory(u);
}

clarke_status
clarke_unroll_make_room(clarke_unrolling *u, size_t n)
{
  size_t *in;
  mpq_t *coef;

  if (n <= u->room)
    return CLARKE_OK;
  if (n > clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS))
    return clarke_limit_fail(u->err, CLARKE_LIMIT_INSTRUCTIONS, "%s: a sum of %zu terms", u->g->file, n);
  in = realloc(u->in, n * sizeof *in);
  if (in == NULL)
    return clarke_unroll_no_memory(u);
  u->in = in;
  coef = realloc(u->coef, (n + 1) * sizeof *coef);
  if (coef == NULL)
    return clarke_unroll_no_memory(u);
  u->coef = coef;
  for (size_t i = u->room + 1; i <= n; i++)
    mpq_init(coef[i]);
  u->room = n;
  return CLARKE_OK;
}

clarke_status
clarke_unroll_add_linear(clarke_unrolling *u, size_t *at, size_t n, const mpq_t constant)
{
  if (n == 0)
    return clarke_code_add_constant(u->p, at, constant, u->err);
  mpq_set(u->coef[n], constant);
  return clarke_code_add_linear(u->p, at, n, u->in, u->coef, u->err);
}

clarke_status
clarke_unroll_add_product(clarke_unrolling *u, size_t *at, clarke_do kind, size_t a, size_t b)
{
  size_t in[2] = {a, b};

  return clarke_code_add(u->p, at, kind, 2, in, u->err);
}

clarke_status
clarke_unroll_add_results(clarke_unrolling *u, const clarke_step *s, size_t *first)
{
  const size_t n = u->g->values[s->out].count;
  clarke_status status;

  clarke_code_new_group(u->p);
  status = clarke_code_add_input(u->p, first, s->name, n, true, u->err);
  clarke_code_new_group(u->p);
  for (size_t f = 0; status == CLARKE_OK && f < n; f++)
    u->at[s->out][f] = *first + f;
  return status;
}
