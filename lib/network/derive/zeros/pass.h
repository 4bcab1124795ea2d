/* The two halves of zeros.c: forward which entries are 0, back which causes make a gradient 0. */
#ifndef CLARKE_NETWORK_DERIVE_ZEROS_PASS_H
#define CLARKE_NETWORK_DERIVE_ZEROS_PASS_H

#include "network/derive/zeros.h"

/* Entries of a step, samples counted, that are taken at a time. */
#define CLARKE_ZEROS_BLOCK ((size_t)1 << 14)

typedef struct {
  const clarke_replay *r;
  const clarke_graph *g;
  const clarke_profile *profile;
  size_t n;                       /* samples */
  bool loose, *needed, *carries;  /* n_values: is the loss made of it; does it depend on a wrt parameter? */
  uint8_t **zero;                 /* n_values: 1 where an activation is known to be 0; NULL: of none */
  uint8_t **cause;                /* n_values: of the gradient in an activation that carries; 0: nothing has come back yet */
  uint8_t **by_kink;              /* n_steps: of PIECEWISE, what is touched: the causes that AD's slope there makes, or 0 */
  clarke_zeros *z;
  clarke_error *err;
} clarke_zeros_pass;

/* Fills p->zero of the values that are needed. */
clarke_status clarke_zeros_forward(clarke_zeros_pass *p);
/* From p->cause of the output to those of parameters, in p->z. */
clarke_status clarke_zeros_backward(clarke_zeros_pass *p);

/* Is no entry of the operand that `entries` of a step take known to be 0? */
bool clarke_zeros_lack(const clarke_zeros_pass *p, const clarke_operand *o, size_t entries);
/* zero &= the operand's, for a step's entries from `first` to `end` of all samples. */
void clarke_zeros_and(uint8_t *zero, const clarke_zeros_pass *p, const clarke_operand *o, size_t first, size_t end);

static inline bool
clarke_zeros_of_constant(const clarke_value *v, size_t e)
{
  return v->real != NULL ? v->real[e] == 0 : v->integer != NULL && v->integer[e] == 0;
}

/* Entry e of a value; none is 0. */
static inline bool
clarke_zeros_at(const clarke_zeros_pass *p, size_t value, size_t e, size_t j)
{
  if (e == CLARKE_NONE)
    return true;
  if (p->g->values[value].constant)
    return clarke_zeros_of_constant(&p->g->values[value], e);
  return p->zero[value] != NULL && p->zero[value][e * p->n + j];
}

/* Where entry (o, i) of block b's weight is stored. */
static inline size_t
clarke_zeros_weight(const clarke_dense *d, size_t b, size_t o, size_t i)
{
  return d->grouped ? (b * d->outer + o) * d->inner + i : d->transposed ? i * d->outer + o : o * d->inner + i;
}

/* So many entries of a step make one block, with all samples. */
static inline size_t
clarke_zeros_rows(const clarke_zeros_pass *p)
{
  return CLARKE_ZEROS_BLOCK / p->n + 1;
}

#endif
