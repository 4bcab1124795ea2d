/* Drawn networks with a pass over their batch, slopes by a profile, and tangents along a direction. */
#ifndef CLARKE_TESTS_NETWORK_DRAWN_PASS_H
#define CLARKE_TESTS_NETWORK_DRAWN_PASS_H

#include "machine.h"
#include "networks.h"
#include "convolutional.h"
#include "compared.h"
#include "network/derive/tangent.h"

static const char profile_text[] =
  "Relu 0 1/3\nLeakyRelu 0 right\nPRelu 0 left\nAbs 0 -1/2\nClip 0 left\nClip 1 2/7\nHardSigmoid 0 1/12\nHardSigmoid 1 right\n"
  "HardSwish 0 right\nHardSwish 1 5\ntie MaxPool mean\n"
  "tie Maximum mean\ntie Minimum mean\ntie ReduceMax mean\ntie ReduceMin mean\ntie TopK first\n";

typedef struct {
  growing grown;
  clarke_tensor x;
  machine k;
} drawn;

/* Networks of all operators, and with windows, one after another; a direction, and tangents along it. */
static inline void
drawn_begin(drawn *n, size_t i, uint64_t *state)
{
  if (i % 2 == 0)
    n->x = grow_network(&n->grown, state, small_number, 2 + draw_below(state, 8), i % 4 == 0);
  else {
    grow_convolutional(&n->grown, state, small_number);
    n->x = grow_batch(&n->grown, 1 + draw_below(state, 3));
  }
  machine_begin(&n->k, &n->grown.m, &n->x, profile_text, draw_below(state, 2));
  for (size_t p = 0; p < n->k.g.n_parameters; p++) {
    const clarke_parameter *w = &n->k.g.parameters[p];
    double *d = calloc(w->count + 1, sizeof *d);

    for (size_t e = 0; e < w->count; e++)
      d[e] = (double)draw_between(state, -9, 9) / 4;
    if (w->wrt && draw_below(state, 4) > 0)
      OK(clarke_matrix_set_doubles(&n->k.d[p], w->count, 1, d, &error));
    free(d);
  }
  OK(clarke_tangent_run(n->k.tangent, &n->k.pass, &n->k.slopes, n->k.d, &error));
}

static inline void
drawn_end(drawn *n)
{
  machine_end(&n->k);
  clarke_tensor_clear(&n->x);
  clarke_model_clear(&n->grown.m);
}

#endif
