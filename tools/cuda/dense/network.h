/* A dense network with ReLU between its layers, and cross entropy: one training step at a time, by kernels.h. In half precision the
 * parameters are float32; they and the input are cast before each product, activations and their gradients are numbers of that
 * type, sums and the parameters' gradients float32. */
#ifndef CLARKE_CUDA_DENSE_NETWORK_H
#define CLARKE_CUDA_DENSE_NETWORK_H

#include "kernels.h"

#include <stdbool.h>
#include <stdint.h>

#define MOST_LAYERS 8

typedef struct {
  size_t in, out;
  float *weight, *bias;       /* out x in; out */
  float *weight_cast, *bias_cast; /* what products take; the same where nothing is cast */
  float *weight_gradient, *bias_gradient;
  float *output, *output_gradient;   /* n x out */
  float *active, *active_gradient;   /* behind ReLU; NULL: of the last layer */
} dense_layer;

typedef struct {
  sum_order order;
  numbers type;
  float scale, rate; /* of the loss; of descent */
  size_t n, features, classes, n_layers;
  dense_layer layer[MOST_LAYERS];
  float *x, *x_cast, *labels, *log_softmax;
  float *pieces, *one;
} dense_network;

/* widths: features, then each layer's. Parameters are drawn. False: no memory. */
bool dense_network_init(dense_network *d, size_t n, const size_t *widths, size_t n_layers, uint64_t seed);
void dense_network_clear(dense_network *d);

/* Is what products take cast? What activations are rounded to, and lie in files as. */
bool dense_network_halves(const dense_network *d);
numbers dense_network_kept(const dense_network *d);

/* Forward and backward. False: the device failed. */
bool dense_network_step(dense_network *d);
bool dense_network_descend(dense_network *d);

/* The mean over samples, not scaled. */
double dense_network_loss(const dense_network *d);

/* Samples on spirals, one a class, drawn: features 0 and 1; others are noise. Labels are 0, 1, ... in turn. */
void dense_network_draw(dense_network *d, uint64_t seed);

#endif
