/* Scalars, vectors and constants while a program is lowered, all of them counted. */
#include "program/prog_value.h"

#include <stdlib.h>
#include <string.h>

const clarke_prog_node *
clarke_prog_node_at(const prog_lowering *low, uint32_t node)
{
  return &low->g->node[node];
}

prog_scalar
clarke_prog_entry(const prog_value *v, size_t i)
{
  return v->vector ? v->entry[i] : v->one;
}

void
clarke_prog_set(prog_value *v, size_t i, prog_scalar s)
{
  if (v->vector)
    v->entry[i] = s;
  else
    v->one = s;
}

void
clarke_prog_value_clear(prog_value *v)
{
  if (v->owned)
    free(v->entry);
  *v = (prog_value){ 0 };
}

clarke_status
clarke_prog_count(prog_lowering *low, size_t n, size_t at)
{
  if (n > clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS))
    return clarke_prog_fail_limit(low->g, at, low->err, CLARKE_LIMIT_INSTRUCTIONS, "the entries of a vector are more");
  if (n > clarke_limit_of(CLARKE_LIMIT_VECTORS) - low->entries)
    return clarke_prog_fail_limit(low->g, at, low->err, CLARKE_LIMIT_VECTORS,
                                  "the entries of all vectors that the program makes are more");
  low->entries += n;
  return CLARKE_OK;
}

clarke_status
clarke_prog_vector(prog_value *v, prog_lowering *low, size_t n, size_t at)
{
  clarke_status status = clarke_prog_count(low, n, at);

  *v = (prog_value){ .vector = true, .n = n, .owned = true };
  if (status != CLARKE_OK)
    return status;
  v->entry = calloc(n + 1, sizeof *v->entry);
  if (v->entry == NULL)
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  return CLARKE_OK;
}

clarke_status
clarke_prog_result(prog_value *out, prog_lowering *low, bool vector, size_t n, size_t at)
{
  if (vector)
    return clarke_prog_vector(out, low, n, at);
  *out = (prog_value){ .n = 1 };
  return CLARKE_OK;
}

mpq_t *
clarke_prog_constant(const prog_lowering *low, prog_scalar s)
{
  return &low->pool[s.index];
}

clarke_status
clarke_prog_charge(prog_lowering *low, const mpq_t value, size_t at)
{
  const size_t limbs = mpz_size(mpq_numref(value)) + mpz_size(mpq_denref(value));

  if (mpz_sizeinbase(mpq_numref(value), 2) + mpz_sizeinbase(mpq_denref(value), 2) > clarke_limit_of(CLARKE_LIMIT_BITS))
    return clarke_prog_fail_limit(low->g, at, low->err, CLARKE_LIMIT_BITS, "a constant has more bits");
  if (limbs <= 2)
    return CLARKE_OK;
  if (limbs > clarke_limit_of(CLARKE_LIMIT_WORDS) - low->limbs)
    return clarke_prog_fail_limit(low->g, at, low->err, CLARKE_LIMIT_WORDS, "the program's constants have more words in all");
  low->limbs += limbs;
  return CLARKE_OK;
}

clarke_status
clarke_prog_new_constant(prog_scalar *s, prog_lowering *low, const mpq_t value, size_t at)
{
  clarke_status status = clarke_prog_charge(low, value, at);
  mpq_t *grown;

  if (status != CLARKE_OK)
    return status;
  if (low->n_pool >= clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS))
    return clarke_prog_fail_limit(low->g, at, low->err, CLARKE_LIMIT_INSTRUCTIONS, "one more constant");
  grown = clarke_prog_grow(low->pool, low->n_pool, &low->pool_capacity, sizeof *grown);
  if (grown == NULL)
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  low->pool = grown;
  mpq_init(low->pool[low->n_pool]);
  mpq_set(low->pool[low->n_pool], value);
  *s = (prog_scalar){ .constant = true, .index = (uint32_t)low->n_pool++ };
  return CLARKE_OK;
}

clarke_status
clarke_prog_room(prog_lowering *low, size_t instructions, size_t arguments, size_t at)
{
  const size_t most = clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS);

  if (instructions > most - low->p->n)
    return clarke_prog_fail_limit(low->g, at, low->err, CLARKE_LIMIT_INSTRUCTIONS, "the program has more instructions");
  if (arguments > most - low->p->arguments)
    return clarke_prog_fail_limit(low->g, at, low->err, CLARKE_LIMIT_INSTRUCTIONS,
                                  "the program's instructions have more arguments in all");
  return CLARKE_OK;
}

prog_scalar
clarke_prog_added(prog_lowering *low, size_t at)
{
  clarke_instruction *i = &low->p->instruction[low->p->n - 1];

  clarke_prog_place(low->g, at, &i->line, &i->column);
  return (prog_scalar){ .constant = false, .index = (uint32_t)(low->p->n - 1) };
}

clarke_status
clarke_prog_add_status(prog_lowering *low, clarke_status status, const clarke_error *err,
                       size_t at)
{
  if (status == CLARKE_EINPUT)
    return clarke_prog_fail(low->g, at, low->err, "%s", err->text);
  return status == CLARKE_OK ? status : clarke_fail(low->err, status, "%s: %s", low->g->file,
                                                    err->text);
}

clarke_status
clarke_prog_solid(size_t *instruction, prog_lowering *low, prog_scalar s, size_t at)
{
  clarke_error err = { .text = "" };
  clarke_status status;

  *instruction = s.index;
  if (!s.constant)
    return CLARKE_OK;
  status = clarke_prog_room(low, 1, 0, at);
  if (status == CLARKE_OK)
    status = clarke_prog_charge(low, low->pool[s.index], at);
  if (status != CLARKE_OK)
    return status;
  clarke_code_new_group(low->p);
  status = clarke_code_add_constant(low->p, instruction, low->pool[s.index], &err);
  if (status == CLARKE_OK)
    clarke_prog_added(low, at);
  return clarke_prog_add_status(low, status, &err, at);
}
