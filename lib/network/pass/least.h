/* What the operators alone tell of where activations lie. */
#ifndef CLARKE_NETWORK_PASS_LEAST_H
#define CLARKE_NETWORK_PASS_LEAST_H

#include "op/step.h"

/* Does every argument of a function that has a domain lie in it, whatever the input? False where the operators do not tell, as sums of squares
 * to which something is added do: then numbers must. */
bool clarke_least_is_inside(const clarke_graph *g);

#endif
