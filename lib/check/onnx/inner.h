/* Nodes within a node: an operator that ONNX states as a graph of others is made of them. What is given to them, and what they make,
 * is a value that may be a view: entries of another, in whatever order. */
#ifndef CLARKE_ONNX_INNER_H
#define CLARKE_ONNX_INNER_H

#include "check/onnx/builder.h"

#define INNER_OPSET 24 /* that they are read in */

/* What a node of the operator makes of n values; attribute: its only one, or NULL. */
value inner_node(builder *b, const char *op, size_t n, const value *in, const tensor *attribute);
value inner_node_of(builder *b, const char *op, size_t n, const value *in, size_t n_attributes,
                    const tensor *attributes);                              /* of several */
value inner_of(builder *b, const char *op, const value *x, const value *y); /* of two; y NULL: of one */
value with(builder *b, const char *op, value x, value y);                   /* the same, of two; */
value of(builder *b, const char *op, value x);                              /* and of one */
value rational_of(const builder *b, const rational *q);                     /* a constant: one number */
value inner_joined(builder *b, const value *x, const value *y, size_t axis);
tensor *inner_whole(const char *name, long i); /* attributes */
tensor *inner_list(const char *name, size_t n, const long *list);

/* Entries of v from `first` on, at such strides. A batch axis stays the first. */
value view(const builder *b, const value *v, size_t first, size_t rank, const size_t *dims, const size_t *stride);

/* c times x; x divided by the root of n; each has the shape, and the batch, of x. */
value times(builder *b, const value *x, const rational *c);
value over_root(builder *b, const value *x, size_t n);

/* A constant of so many numbers, zeros to begin with, that no parameter is. */
value list_of(const builder *b, size_t n, const long *list); /* of integers */
value made_numbers(const builder *b, size_t rank, const size_t *dims);

void lift_alone(builder *b); /* of inputs that are all constants the first becomes an activation */
/* Where it has the batch, that is its first axis alone. */
void need_batch_first(const builder *b, const value *v);
/* Is an output behind the first read, or the model's own? */
bool others_are_read(const builder *b);
/* The value is output k of the node, behind the first. */
void give_output(builder *b, size_t k, value v);

#endif
