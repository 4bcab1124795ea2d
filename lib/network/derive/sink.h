/* What becomes of the gradients that reverse mode meets (clarke_sink). */
#ifndef CLARKE_NETWORK_DERIVE_SINK_H
#define CLARKE_NETWORK_DERIVE_SINK_H

#include "network/derive/slopes.h"

/* The sink that sums whole gradients: gradient[p], count x 1, for the parameters in wrt. */
clarke_status clarke_gradient_sink(void *gradient, const clarke_forward *f,
                                   const clarke_step *step, size_t operand,
                                   const clarke_matrix *g, clarke_error *err);

/* What a sink has met: the constant's value, and the gradient in its own entries, count x 1. */
clarke_status clarke_constant_gradient(clarke_matrix *c, size_t *value, const clarke_forward *f, const clarke_step *step,
                                       size_t operand, const clarke_matrix *g, clarke_error *err);

/* The sink that emits single entries of one column's derivative: only nonzero ones. */
typedef struct {
  clarke_status (*emit)(void *context, size_t parameter, size_t entry, const mpq_t value,
                        clarke_error *err);
  void *context;
} clarke_emitter;
clarke_status clarke_emit_sink(void *emitter, const clarke_forward *f, const clarke_step *step,
                               size_t operand, const clarke_matrix *g, clarke_error *err);

#endif
