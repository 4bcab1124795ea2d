/* A network as a program: one sample of its graph unrolled, an instruction a scalar. */
#ifndef CLARKE_PROGRAM_UNROLL_UNROLL_H
#define CLARKE_PROGRAM_UNROLL_UNROLL_H

#include "network/graph/graph.h"
#include "program/block.h"

/* p is initialized and empty. The program's inputs are the graph's input, named input_name (NULL for
 * "input") and flattened, then the parameters in the graph's wrt, in their order, flattened; other
 * constants are constants of the program. Its outputs are the network's. The parameters are marked
 * wrt, or the input when there are none.
 *
 * point (malloc, *n initialized rationals; NULL on failure) gets the values of all entries: those
 * of sample 0 of x, then the parameters' stored ones.
 *
 * A step that the output does not depend on is left out, so its kinks are touched by no execution.
 * Errors: a network that needs more than the limit of instructions or arguments; a PRelu
 * whose slope is in wrt (no pointwise function has a slope that varies). */
clarke_status clarke_unroll(clarke_code *p, mpq_t **point, size_t *n, const clarke_graph *g,
                            const clarke_tensor *x, const char *input_name, clarke_error *err);

/* A network of a size that its program could not have: matrix products stay whole, and so do normalizations over several samples. */
typedef struct {
  size_t n;
  clarke_block *block;   /* in the order of their results */
  size_t n_couplings;
  clarke_coupling *coupling; /* the same */
  size_t n_values, **at; /* by value of the graph: its entries' instructions; NULL: it has none */
} clarke_folded;

void clarke_folded_clear(clarke_folded *f);

/* As clarke_unroll, but for the DENSE steps, which become blocks, and the NORMALIZE steps that couple several samples, which become
 * couplings: folded, zeroed, gets them. What they make are inputs of the program, behind the parameters and not in wrt, and zeros of
 * the point. The graph outlives folded. */
clarke_status clarke_unroll_folded(clarke_code *p, mpq_t **point, size_t *n, clarke_folded *folded, const clarke_graph *g,
                                   const clarke_tensor *x, clarke_error *err);

#endif
