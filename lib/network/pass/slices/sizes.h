/* How large a network's values are, roughly: some samples in plain floats. */
#ifndef CLARKE_NETWORK_PASS_SLICES_SIZES_H
#define CLARKE_NETWORK_PASS_SLICES_SIZES_H

#include "network/graph/graph.h"

typedef struct {
  double *rms;        /* n_values: root of the mean square of an activation's entries */
  double **deviation; /* n_steps: of a NORMALIZE step, by group */
} clarke_sizes;

/* Measures the needed values, which have no ANALYTIC or SOFTMAX step before them, over the first n samples of x. No bound is
 * meant: a NaN where something overflows. A NORMALIZE that couples takes its groups over these samples. */
clarke_status clarke_sizes_measure(clarke_sizes *z, const clarke_graph *g, const clarke_tensor *x, size_t n,
                                   const bool *needed, clarke_error *err);
void clarke_sizes_clear(clarke_sizes *z, const clarke_graph *g);

#endif
