/* The operand of a product, where it was recorded (sieve.h). */
#include "trace/certify/sieve.h"

/* The GATHER that lays out the operand; NULL: it is there already. */
static const clarke_step *
layout_of(const clarke_sieve *s, const clarke_step *dense)
{
  const size_t x = dense->in[0].value, producer = s->g->values[x].producer;

  return s->value[x].exact == NULL && producer != CLARKE_NONE && s->g->steps[producer].kind == CLARKE_GATHER
           ? &s->g->steps[producer]
           : NULL;
}

const size_t *
clarke_sieve_map(const clarke_sieve *s, const clarke_step *dense)
{
  const clarke_step *layout = layout_of(s, dense);

  return layout != NULL ? layout->in[0].map : NULL;
}

size_t
clarke_sieve_source(const clarke_sieve *s, const clarke_step *dense)
{
  const clarke_step *layout = layout_of(s, dense);
  const size_t x = layout != NULL ? layout->in[0].value : dense->in[0].value;

  return s->value[x].exact != NULL ? x : CLARKE_NONE;
}

const float *
clarke_sieve_operand(const clarke_sieve *s, const clarke_step *dense, size_t f)
{
  const size_t *map = clarke_sieve_map(s, dense);
  const size_t from = map != NULL ? map[f] : f;

  return from != CLARKE_NONE ? s->value[clarke_sieve_source(s, dense)].exact + from * s->n : NULL;
}
