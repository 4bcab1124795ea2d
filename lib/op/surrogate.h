/* Surrogates: where AD hands a gradient through an operator that jumps, as a framework does which trains networks of integers
 * (straight-through estimators). The function that it differentiates is another one than the operator's, by design:
 *
 *   y = c(x) + (f(x) - c(x)), what is in brackets being a constant
 *
 * f is the operator, and c a function whose derivative AD takes. At the stored numbers both have one value. Profiles have a rule for
 * each operator; without one its derivative is 0 off its jumps. */
#ifndef CLARKE_OP_SURROGATE_H
#define CLARKE_OP_SURROGATE_H

#include "op/operator.h"

/* c is f's argument: ALL; between the ends of the type's range: RANGE; between half a step beyond these, where the rounded number is in
 * it: ROUNDED. */

/* The rule by its name; false: there is none of that name. The name of a rule. */
bool clarke_surrogate_parse(clarke_surrogate *rule, const char *name);
const char *clarke_surrogate_name(clarke_surrogate rule);

/* Operator i of those that may have a surrogate; NULL past the end. Does it know the rule? */
const char *clarke_surrogate_operator(size_t i);
bool clarke_surrogate_knows(size_t i, clarke_surrogate rule);

/* The rule that the graph was built with for the operator; QLinearConv and QLinearMatMul quantize as QuantizeLinear does. */
clarke_surrogate clarke_surrogate_of(const clarke_graph *g, const char *op);

/* The first step from there on that a node with a surrogate begins with; CLARKE_NONE: there is none. */
size_t clarke_surrogate_next(const clarke_graph *g, size_t step);
/* "NODE (OPERATOR): what its derivative is"; NULL: there is no memory. */
char *clarke_surrogate_text(const clarke_graph *g, size_t step);

/* Within the lowering of a node: a value as a constant; passed + constant(value - passed), of values of one shape. */
size_t clarke_surrogate_held(clarke_lowering *low, size_t value, clarke_error *err);
size_t clarke_surrogate_straight(clarke_lowering *low, size_t passed, size_t value, clarke_error *err);

/* x between two ends, halves of whole numbers; at each AD passes the gradient, or does not. */
size_t clarke_surrogate_between(clarke_lowering *low, size_t x, const double *end, const bool *passes, clarke_error *err);

#endif
