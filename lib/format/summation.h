/* In which order sums were added: the file of trees in a run folder (docs/run-format.md). A tree is a text:
 *
 *   [0 1* 2* 3*]            ((0 + 1) + 2) + 3, where 1, 2 and 3 are added by a fused multiplication and addition
 *   [[0 4-60/4] [1 5-61/4]] two chains, of every fourth leaf, and then their sum
 *
 * Leaf k is the k-th product of the sum. A bracket adds what it holds from left to right. `a-b` is the leaves from a to b, one after
 * another; `a-b/s` every s-th. An asterisk says that the product (each of a range) is not rounded before it is added. */
#ifndef CLARKE_FORMAT_SUMMATION_H
#define CLARKE_FORMAT_SUMMATION_H

#include "exact/tensor.h"

/* Brackets in brackets. */
#define CLARKE_SUMMATION_DEPTH 64
/* Trees of one tensor: with more of them any number could be found in some tree. */
#define CLARKE_SUMMATION_TREES 16

/* What is done to a stack of sums: */
typedef enum {
  CLARKE_SUMMATION_PUSH, /* the product of a leaf is a new sum */
  CLARKE_SUMMATION_FUSE, /* it is added to the last sum, unrounded */
  CLARKE_SUMMATION_ADD,  /* the last sum is added to the one before it */
} clarke_summation_act;

typedef struct {
  clarke_summation_act act;
  uint32_t leaf; /* of ADD: 0 */
} clarke_summation_step;

/* Each of the leaves is in the steps once; they leave one sum; never more than CLARKE_SUMMATION_DEPTH + 1 are there. */
typedef struct {
  size_t leaves, n;
  clarke_summation_step *step;
} clarke_summation_tree;

void clarke_summation_tree_clear(clarke_summation_tree *t);

/* Reads a tree of so many leaves, at least one. Memory: in proportion to them. */
clarke_status clarke_summation_tree_parse(clarke_summation_tree *t, const char *text, size_t leaves, clarke_error *err);

/* Where a factor of products is multiplied in, each time with a rounding. */
typedef enum {
  CLARKE_FORM_NONE,   /* it is not said: there is no factor */
  CLARKE_FORM_FIRST,  /* with the first factor of each product */
  CLARKE_FORM_SECOND, /* with the second */
  CLARKE_FORM_SUM,    /* with each whole sum of products, before something is added to it, or it to something */
  CLARKE_FORM_FUSED,  /* the same, and fused with that addition */
} clarke_summation_form;

/* The entries that a tree is of: rows and columns of the tensor, whose last axis are its columns. */
typedef struct {
  char *tree;
  clarke_summation_form form;
  size_t row[2], column[2]; /* first and last */
} clarke_summation_part;

typedef struct {
  char *part, *name; /* "output", "gradient" or "parameter", as in a report of certify */
  size_t leaves;
  clarke_dtype type; /* of the sums: CLARKE_F32 or CLARKE_F64 */
  size_t n_parts;
  clarke_summation_part *at;
} clarke_summation;

typedef struct {
  size_t n;
  clarke_summation *sum;
} clarke_summations;

void clarke_summations_init(clarke_summations *s);
void clarke_summations_clear(clarke_summations *s);

/* From the bytes of such a file. Trees stay texts: how many leaves a sum has is for the graph to say. */
clarke_status clarke_summations_parse(clarke_summations *s, const void *data, size_t size, const char *file, clarke_error *err);

#endif
