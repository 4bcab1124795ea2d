/* Operators of convolutional networks, in convolution.c, and what network.c shares with it. */
#ifndef CLARKE_KERNEL_CONVOLUTION_H
#define CLARKE_KERNEL_CONVOLUTION_H

#include "kernel.h"

/* ---- network.c */

/* Entry i: entry map[i] of a constant, or feature map[i] of a step's output. */
typedef struct {
  const char *name; /* NULL: omitted */
  tensor *constant;
  size_t step, *map, rank, dims[MAX_RANK], count;
} value;

typedef struct {
  network *net;
  const model *m;
  const node *node;
  const char *op;
  size_t place, n_values;
  value *values, *in, out; /* in, out: of this node; what is omitted is among in, to the fifth */
} builder;

#define need(condition, why) expect(condition, "node %zu '%s' (%s): %s", b->place, b->node->name, b->op, why)

size_t product(const size_t *dims, size_t n);
/* map[f] = base[sum of index * stride], f running over the indices of dims; base NULL: itself. */
size_t *index_map(const builder *b, size_t rank, const size_t *dims, const size_t *stride, const size_t *base);
bool is_batch(const builder *b, const value *v); /* its first axis is the batch */
/* Counts n times `each` entries of activations or tables, before there is room for them. */
void count_entries(const builder *b, size_t n, size_t each);
/* A new step, whose output is the node's if it is the last; each feature has its own row of factors and of
 * sources. */
step *add_step(builder *b, kind k, size_t width, size_t rank, const size_t *dims);
/* Makes entry i of constant v a factor's weight: a parameter, if it is an initializer. */
factor *factor_of(const builder *b, factor *t, const value *v, size_t i);
/* In a step that shares none, makes entry i of v the x of term t, or its weight; the term's factor. */
factor *operand(const builder *b, step *s, size_t t, const value *v, size_t i);
step *add_function(builder *b, kind k, const value *x); /* whose features are functions of x's */
/* Input i, a constant, spread over the shape of an activation. */
value spread_over(const builder *b, size_t i, const value *over);
const tensor *find_attribute(const builder *b, const char *name);
long whole_entry(const builder *b, const tensor *t, size_t i);
long whole_attribute(const builder *b, const char *name, long absent);
/* Its default is the float32 nearest to `absent`. False when it is absent. */
bool real_attribute(const builder *b, const char *name, rational *q, float absent);
size_t axis_of(const builder *b, long axis, size_t rank);
/* The integers of input i, or of the attribute that held them in earlier versions: the number of
 * them, at most MAX_RANK. */
size_t whole_list(const builder *b, size_t i, const char *before, long *list);

/* ---- convolution.c: for network.c */

/* Room for so many rows of factors and of sources, for the features to share; for each its own, if there
 * are as many. */
void add_rows(const builder *b, step *s, size_t width, size_t factors, size_t sources);

void lower_convolution(builder *b); /* Conv */
void lower_pool(builder *b);        /* AveragePool, MaxPool */
void lower_mean(builder *b);        /* GlobalAveragePool, ReduceMean */
void lower_concat(builder *b);
void lower_pad(builder *b);

/* ---- normalization.c: for network.c */

void lower_batch(builder *b);          /* BatchNormalization */
void lower_groups(builder *b);         /* GroupNormalization, InstanceNormalization */
void lower_layer(builder *b);          /* LayerNormalization */
void lower_global_maximum(builder *b); /* GlobalMaxPool */

#endif
