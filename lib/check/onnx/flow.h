/* If, Loop, Scan: nodes that hold graphs. A branch that is known stands in the node's place, and a loop of a known number of rounds
 * is so many copies of its graph (docs/operators.md, "Branches and loops"). */
#ifndef CLARKE_ONNX_FLOW_H
#define CLARKE_ONNX_FLOW_H

#include "check/onnx/builder.h"

bool lower_flow(builder *b); /* makes the node with its bodies, if it is an If, a Loop or a Scan */

#endif
