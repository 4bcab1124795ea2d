/* What every operator makes its steps with (docs/operators.md).
 *
 * Shapes are ONNX's for a batch of one: an activation of a batched graph has 1 as its axis `at`,
 * where ONNX has the samples of a run (net->together); or, merged, axis `at` has outer * inner entries, and the samples lie
 * between the two. Every operator checks that they are not mixed, for that number of samples, so that a batch is so many runs
 * of a batch of one. */
#ifndef CLARKE_KERNEL_BUILDER_H
#define CLARKE_KERNEL_BUILDER_H

#include "check/files/onnx.h"
#include "check/kernel/steps.h"
#include "check/files/arrays.h"

typedef graph_value value;

typedef struct builder {
  network *net;
  const model *m;
  const tensor *x; /* the batch's */
  const arrays *given;
  const node *node;
  const char *op;
  size_t place;
  value *in, out; /* of this node; what is omitted is among in, to the eighth */
  uint64_t opset; /* that the node is read in */
  const char *of; /* of a node within another one (inner.h): that one's operator; NULL */
  const struct operator_set *operators;
  const struct frame *frame; /* the graph within a node that is read (flow.c); NULL: the model's */
  size_t n_within;           /* nodes of such graphs, and rounds of loops */
  bool shared;               /* what the node makes has no batch axis: its activations have none */
} builder;

/* Inputs that may be left out at the end, and are looked at: b->in has so many more than the node. */
#define MOST_OMITTED 8

#define need(condition, why) expect(condition, "node %zu '%s' (%s): %s", b->place, b->node->name, b->op, why)

size_t product(const size_t *dims, size_t n); /* of n numbers; one that overflows is a failure */

/* ---- Values */

/* map[f] = base[sum of index * stride], f running over the indices of dims; base NULL: itself. */
size_t *index_map(const builder *b, size_t rank, const size_t *dims, const size_t *stride, const size_t *base);
bool is_batch(const builder *b, const value *v);                /* it has a batch axis */
bool on_batch(const builder *b, const value *v, size_t axis);   /* the axis is the batch, or merged with it */
void whole_run(const builder *b, const value *v, size_t *dims); /* its axes, all samples together on the batch's */
bool has_input(const builder *b, size_t i);                     /* is input i there? */
/* Input i's axes, its batch axis having all samples of a run, are so many; 0: it has none, being left out. */
size_t run_axes(const builder *b, size_t i, size_t *dims);
/* The node's output: the entries of a constant or step, map NULL: all of them, in some shape. */
void put(builder *b, tensor *t, size_t s, size_t *map, size_t rank, const size_t *dims);
const value *find(const builder *b, const char *name); /* or NULL */
void define(builder *b, const char *name);             /* the node's output has that name, which is new */
/* The node's output has the batch of one of the two, spread to `rank` axes; both must have it in one place, a constant 1 there. */
void put_batch(builder *b, const value *v, const value *w, size_t rank);
/* The shape that both broadcast to, as NumPy's. */
size_t broadcast(const builder *b, const value *v, const value *w, size_t *dims);
value broadcast_all(const builder *b, size_t n); /* that of the first n inputs, as a value that has their batch */
value spread(const builder *b, const value *v, size_t rank, const size_t *dims); /* over such a shape */
/* A constant that has, along the axis, one and the same of its tensor's entries for each sample of a run becomes one of one
 * sample; false where it has not. */
bool make_shared(const builder *b, value *v, size_t axis);
/* Constants among the inputs that have one sample's entries for each become one of one sample, where an activation has the batch. */
void share_constants(builder *b);
/* Input 0, where it is a constant, becomes an activation of its entries, the same for all samples: with a batch axis where
 * it has one sample's entries for each along an axis, else without. */
void lift_constant(builder *b);
/* A constant's entry i as entry f of a step: a term without an x. All of them as an activation that is the same for all samples. */
void lift_entry(const builder *b, step *s, size_t f, const value *v, size_t i);
value lifted_constant(builder *b, const value *v);
void note_shared(builder *b); /* are the node's activations without a batch axis? */
/* Is entry i of a constant minus infinity ('-'), infinity ('+'), NaN ('?'), or a number (0)? Is any entry no number? */
char odd_entry(const value *v, size_t i);
bool is_odd(const value *v);
/* The entries of a constant of floats, or of what they are known of: lifted constants, and sums of these of one shape. NULL. */
rational *known_entries(const value *v);
/* Input i, a constant or computed of such, spread over the shape of an activation. */
value spread_over(const builder *b, size_t i, const value *over);
/* The batch of x, if it has one, must be the first axis, or merged with others there. */
void need_rows(const builder *b, const value *x);

/* ---- Steps */

/* A new step, whose output is the node's if it is the last; each feature has its own row of factors and of
 * sources. */
step *add_step(builder *b, kind k, size_t width, size_t rank, const size_t *dims);
/* Room for so many rows of factors and of sources, for the features to share; for each its own, if there
 * are as many. */
void add_rows(const builder *b, step *s, size_t width, size_t factors, size_t sources);
/* Makes entry i of constant v a factor's weight: a parameter, if it is an initializer. */
factor *factor_of(const builder *b, factor *t, const value *v, size_t i);
/* In a step that shares none, makes entry i of v the x of term t, or its weight; the term's factor. */
factor *operand(const builder *b, step *s, size_t t, const value *v, size_t i);
/* Makes entry i of v, an activation, the x of term t. */
void factor_source(const builder *b, step *s, size_t t, const value *v, size_t i);
step *add_function(builder *b, kind k, const value *x); /* whose features are functions of x's */
/* The node's output is that function of x; the products of v and w, which have that shape. */
void put_function(builder *b, function f, const value *x);
void put_products(builder *b, const value *v, const value *w, size_t rank, const size_t *dims);

/* The constant with 0 in the place of what is infinite or NaN, which no parameter moves; what has none stays what it is. */
value without_odd(const builder *b, const value *v);
/* Where entry f of the constant is minus infinity, so is feature f of the step, the node's last: it is left out, and marked in the
 * node's output. False where it is a number. */
bool exclude(builder *b, step *s, size_t f, const value *v);

/* ---- Attributes, and inputs that were attributes */

const tensor *find_attribute(const builder *b, const char *name);      /* NULL: there is none of that name */
long whole_entry(const builder *b, const tensor *t, size_t i);         /* entry i as an integer, which it must be */
long whole_attribute(const builder *b, const char *name, long absent); /* the integer; `absent` when there is none */
/* Its default is the float32 nearest to `absent`. False when it is absent. */
bool real_attribute(const builder *b, const char *name, rational *q, float absent);
/* The string, or the default when there is none. */
const char *text_attribute(const builder *b, const char *name, const char *absent);
size_t axis_of(const builder *b, long axis, size_t rank);
/* For a reduction: marks the axes that are named; then what stays of the shape and what goes, each with 1 at the other's axes,
 * the strides of both, and the result's dims, the number of which is returned (keepdims: as many as there were). */
void mark_axes(const builder *b, const long *axes, size_t count, size_t rank, bool *over);
size_t split_axes(const builder *b, const value *x, const bool *over, size_t *kept, size_t *gone, size_t *stride,
                  size_t *dims);
/* The result of such a reduction of x has the batch where it is then. */
void put_split(builder *b, const value *x, const bool *over);
/* The integers of input i, or of the attribute that held them in earlier versions: the number of
 * them, at most MAX_RANK; or at most so many. */
size_t whole_list(const builder *b, size_t i, const char *before, long *list);
size_t whole_list_within(const builder *b, size_t i, const char *before, long *list, size_t most);

#endif
