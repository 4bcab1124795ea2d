/* What a network costs, layer by layer: the elementary functions of the thesis' model, and the multiply-adds and other operations that
 * counters of frameworks count. A layer is a node of the file.
 *
 * Counts are taken from the steps' shapes, not from the numbers in them: no network is too large to be counted that can be built. */
#ifndef CLARKE_COST_NETWORK_H
#define CLARKE_COST_NETWORK_H

#include "cost/count.h"
#include "network/graph/graph.h"

/* Which quantities are inputs of the program: the parameters in wrt and the network's input, or the parameters alone. */
typedef enum { CLARKE_WITH_INPUT, CLARKE_PARAMETERS_ALONE, CLARKE_N_QUANTITIES } clarke_quantities;

/* Numbers of a layer that counters make their totals of; of all samples. */
typedef enum {
  CLARKE_TERM_CONVOLUTION,        /* multiply-adds of convolutions, with those of padding's zeros */
  CLARKE_TERM_LINEAR,             /* of products with a weight: Gemm, MatMul, Einsum */
  CLARKE_TERM_ATTENTION,          /* of products of two activations */
  CLARKE_TERM_PADDING,            /* of all these: those with padding's zeros */
  CLARKE_TERM_CONVOLUTION_BIAS,   /* additions of a bias behind a convolution, */
  CLARKE_TERM_LINEAR_BIAS,        /* or another product with a weight */
  CLARKE_TERM_RELU,               /* entries of Relu */
  CLARKE_TERM_GELU,               /* of Gelu, */
  CLARKE_TERM_ACTIVATION,         /* of other pointwise functions */
  CLARKE_TERM_POOL_INPUT,         /* entries that maxima are taken of, */
  CLARKE_TERM_POOL_OUTPUT,        /* maxima, */
  CLARKE_TERM_POOL_COMPARISONS,   /* comparisons */
  CLARKE_TERM_MEAN_INPUT,         /* entries that means and other sums are of */
  CLARKE_TERM_MEAN_OUTPUT,
  CLARKE_TERM_BATCH_NORM,         /* entries that are normalized by a batch, or by running statistics, */
  CLARKE_TERM_LAYER_NORM,         /* or by groups of their own */
  CLARKE_TERM_SOFTMAX,            /* entries of softmax */
  CLARKE_TERM_ADDITIONS,          /* of activations */
  CLARKE_TERM_LINEAR_WEIGHTS,     /* entries of weights and biases of products that are no convolutions, for each sample once; */
  CLARKE_TERM_NORM_WEIGHTS,       /* of normalizations */
  CLARKE_TERM_OUTPUTS,            /* of the network: entries, in the layer that makes them */
  CLARKE_TERM_BACK_WEIGHTS,       /* multiply-adds of gradients: of weights, */
  CLARKE_TERM_BACK_ACTIVATIONS,   /* of activations that depend on weights, */
  CLARKE_TERM_BACK_ATTENTION,     /* among these: of the factors of a product of two activations; */
  CLARKE_TERM_BACK_INPUT,         /* of the others: the network's input */
  CLARKE_TERM_BACK_PADDING,       /* of the gradients of weights and activations: those of padding's zeros; */
  CLARKE_TERM_BACK_INPUT_PADDING, /* of those of the input */
  CLARKE_TERM_BACK_BIAS,          /* additions that sum the gradients of a bias */
  CLARKE_N_TERMS
} clarke_term;

/* In words, and the few that --json has: "products of convolutions". */
const char *clarke_term_name(clarke_term t);

typedef struct {
  const char *name; /* the node's; of the graph's steps */
  const clarke_op *op;
  size_t node;
  clarke_count count[CLARKE_N_QUANTITIES];
  mpz_t term[CLARKE_N_TERMS];
} clarke_layer_cost;

typedef struct {
  size_t n;
  clarke_layer_cost *layer;
  clarke_layer_cost total; /* name and op NULL */
  size_t samples, input_entries; /* of a sample */
  mpz_t parameters; /* entries in wrt */
} clarke_network_cost;

void clarke_network_cost_init(clarke_network_cost *c);
void clarke_network_cost_clear(clarke_network_cost *c);
/* The cost of a graph with its wrt marked. c keeps references to it. With padding the elementary functions have products
 * with padding's zeros, too, and their additions, which frameworks compute; the program leaves them out. */
clarke_status clarke_network_cost_find(clarke_network_cost *c, const clarke_graph *g, bool padding, clarke_error *err);

/* The entries that forward mode takes along, p of (2.11). */
void clarke_network_cost_entries(mpz_t p, const clarke_network_cost *c, clarke_quantities q);

/* Multiply-adds, floating-point operations (two each), these without padding's products; of the backward pass, with the input's gradient
 * or not. */
void clarke_layer_products(mpz_t n, const clarke_layer_cost *l);
void clarke_layer_flop(mpz_t n, const clarke_layer_cost *l, bool padding);
void clarke_layer_flop_backward(mpz_t n, const clarke_layer_cost *l, clarke_quantities q, bool padding);

#endif
