/* The conventions of counters of operations: what each makes of a network's terms (network.h). They are measured (tests/interop/
 * cost_counters.py), and differ in the factor 2, in padding, in what they leave out. */
#ifndef CLARKE_COST_CONVENTION_H
#define CLARKE_COST_CONVENTION_H

#include "cost/network.h"

typedef struct {
  const char *counter; /* "torch", "fvcore", ... */
  const char *mode;    /* "forward"; "backward": of the backward pass alone, or with the forward pass where both is set; "with-input": the
                        * same with the input's gradient */
  bool both;
  const char *says;    /* what it counts, in words */
  int of[CLARKE_N_TERMS];
  int constant;
} clarke_convention;

/* NULL past the last. Several of one counter's mode are in turn (with an attention that it sees, or does not). */
const clarke_convention *clarke_convention_at(size_t i);
/* Floating-point operations as clarke counts them, for the same mode: two for each multiply-add, padding's too. */
const clarke_convention *clarke_convention_own(const char *mode, bool both);

/* What it says of the network. */
void clarke_convention_total(mpz_t total, const clarke_convention *c, const clarke_layer_cost *l);

#endif
