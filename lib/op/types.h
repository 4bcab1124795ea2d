/* The element types of a model's values: for each operator ONNX says which of its operands must have one type, which a
 * certain one, and what type it makes. Arithmetic here is exact whatever the types. But a file in which they do not fit is
 * none that any runtime would run, and what it was meant to say is a guess. */
#ifndef CLARKE_OP_TYPES_H
#define CLARKE_OP_TYPES_H

#include "op/model.h"

/* Fails where a node's inputs have types that its operator does not take together, or where a value has another type than the
 * file declares. Of what an operator makes that is not known nothing is said. The names of values must be unique. */
clarke_status clarke_types_check(clarke_model *m, clarke_error *err);

#endif
