/* The types of a model's values, and what ONNX allows each operator to take. */
#ifndef CLARKE_KERNEL_TYPES_H
#define CLARKE_KERNEL_TYPES_H

#include "check/base/name_index.h"
#include "check/files/tensors.h"

typedef struct {
  name_index names;
  size_t *type; /* of each name, by its number in ONNX; 0: not known */
} value_types;

void types_set(value_types *v, const char *name, size_t type);    /* unless it has one, or is "" */
size_t type_of(const value_types *v, const char *name);           /* 0: not known */
void types_change(value_types *v, const char *name, size_t type); /* of a name that is there */

/* A node's operator and its operands; made: the type that an attribute gives what it makes, or 0; N_DTYPES: none that is known. */
typedef struct {
  const char *name, *op;
  uint64_t opset;
  size_t place, n_in, n_out, made;
  char **in, **out;
} typed_node;

/* The types of inputs must be such as the operator takes together; those of outputs become known. */
void types_follow(value_types *v, const typed_node *n);

/* The value, if its type is known, must have the one that is declared. */
void types_compare(const value_types *v, const char *what, const char *name, size_t declared);

#endif
