/* If, Loop and Scan: nodes that hold graphs. A branch that is known is read in the node's place, a loop of so many rounds as that
 * many copies of its body. A value of round k, from 0, is called NAME/k; what is read of names around it has these. */
#ifndef CLARKE_NETWORK_GRAPH_BODIES_H
#define CLARKE_NETWORK_GRAPH_BODIES_H

#include "network/graph/build.h"

bool clarke_bodies_hold(const clarke_model_node *node); /* is it an If, a Loop or a Scan? */
/* Lowers such a node, with the bodies that run; own: its place among the nodes. What it does not take is an error. */
clarke_status clarke_bodies_lower(clarke_builder *b, const clarke_model_node *node, size_t own, clarke_error *err);

#endif
