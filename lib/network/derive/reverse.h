/* Derivatives of a pass in reverse mode. */
#ifndef CLARKE_NETWORK_DERIVE_REVERSE_H
#define CLARKE_NETWORK_DERIVE_REVERSE_H

#include "network/derive/slopes.h"

/* What reverse mode meets: step's operand `value` (a constant that shows a wrt parameter) has the
 * step's output gradient g. The receiver makes of it what it needs. */
typedef clarke_status (*clarke_sink)(void *context, const clarke_forward *f,
                                     const clarke_step *step, size_t operand,
                                     const clarke_matrix *g, clarke_error *err);

/* Reverse mode: grad holds n_values initialized matrices, those seeded having the value's shape;
 * all end as gradients of the seeded combination. With segment, the number of the seeded step with
 * kinks, it stops at the nearest kinks and transcendental functions (of a MAX at those before the
 * pointwise function it may pool): the derivative in a layer's own parameters. */
clarke_status clarke_reverse_run(clarke_matrix *grad, const clarke_forward *f,
                                 const clarke_slopes *s, size_t segment, clarke_sink sink,
                                 void *context, clarke_error *err);

/* The same over all parameters. The visitor is asked when all of the gradient g of a step's output has been added up, before it
 * goes on: it may put other numbers in its place (a record's). context goes to both. */
typedef clarke_status (*clarke_visit)(void *context, clarke_matrix *g, size_t step, clarke_error *err);
clarke_status clarke_reverse_visited(clarke_matrix *grad, const clarke_forward *f, const clarke_slopes *s,
                                     clarke_visit visit, clarke_sink sink, void *context, clarke_error *err);

/* The same over all parameters. A step hands on what came to it only where `asks` says *on, which is asked of each step, from the last to the
 * first, when grad has all that came to it: it may be none. context goes to both. */
typedef clarke_status (*clarke_asks)(bool *on, void *context, size_t step, clarke_error *err);
clarke_status clarke_reverse_asked(clarke_matrix *grad, const clarke_forward *f, const clarke_slopes *s, clarke_asks asks,
                                   clarke_sink sink, void *context, clarke_error *err);

/* The same over all parameters, of which gradient[p] (0 x 0 to begin with) is the sum of what clarke_gradient_sink makes; up to
 * a positive factor: where all that is on its way is at entries with one irrational root, that is left out. */
clarke_status clarke_reverse_up_to_root(clarke_matrix *gradient, clarke_matrix *grad, const clarke_forward *f,
                                        const clarke_slopes *s, clarke_error *err);

/* Reverse mode in enclosures of about that many bits: grad is seeded as above, and holds afterwards the
 * gradients of the values in keep (n_values) alone. */
clarke_status clarke_reverse_enclose(clarke_matrix *grad, const bool *keep,
                                     const clarke_forward *f, const clarke_slopes *s, size_t bits,
                                     clarke_error *err);

/* carries[v] (n_values): does the value depend on a wrt parameter, within the segment? */
void clarke_reverse_carriers(bool *carries, const clarke_graph *g, size_t segment);

#endif
