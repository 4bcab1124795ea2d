/* Drawn networks of dense layers, whose numbers are small integers, at kinks. Parameters are the entries of one vector w. */
#ifndef CLARKE_TOOLS_SUITE_KINKED_H
#define CLARKE_TOOLS_SUITE_KINKED_H

#include "suite.h"
#include "suite_posed.h"

#define MOST_LAYERS 3
#define MOST_WIDTH 3
#define MOST_SAMPLES 3
#define MOST_PARAMETERS 64
#define NO_PARAMETER SIZE_MAX

typedef enum { CLARKE_KINKED_RELU, CLARKE_KINKED_RELU6, CLARKE_KINKED_HARDTANH } clarke_kinked_function;
typedef enum { CLARKE_KINKED_UNBIASED, CLARKE_KINKED_DISTINCT, CLARKE_KINKED_SHARED } clarke_kinked_bias;

/* A fraction, d > 0. */
typedef struct {
  long n, d;
} clarke_kinked_number;

typedef struct {
  clarke_kinked_function function;
  size_t n_in, n_out;
  bool residual; /* takes what the layer before takes, too, behind what that gives */
  size_t weight[MOST_WIDTH][2 * MOST_WIDTH], bias[MOST_WIDTH]; /* entries of w; a bias may be several neurons', or none's */
  long y[MOST_SAMPLES][MOST_WIDTH], z[MOST_SAMPLES][MOST_WIDTH];
  clarke_kinked_number proxy[MOST_SAMPLES][MOST_WIDTH]; /* AD's number where a kink is touched */
} clarke_kinked_layer;

/* The loss is a sum of the last layer's outputs by the coefficients c. */
typedef struct {
  size_t samples, n_layers, n_w, n_in;
  long x[MOST_SAMPLES][MOST_WIDTH], w[MOST_PARAMETERS], c[MOST_SAMPLES][MOST_WIDTH];
  clarke_kinked_layer layer[MOST_LAYERS];
} clarke_kinked;

void clarke_kinked_draw(clarke_kinked *net, clarke_draws *d, size_t samples, clarke_kinked_bias bias);
/* Is an argument of the layer at a kink? left and right: the slopes there, of which NULL are not set. */
bool clarke_kinked_touches(const clarke_kinked_layer *l, size_t sample, size_t neuron, long *left, long *right);
size_t clarke_kinked_touched(const clarke_kinked *net); /* in all */
/* What the layer takes: entry i of sample s. */
long clarke_kinked_argument(const clarke_kinked *net, size_t layer, size_t s, size_t i);

/* What the program has for outputs. ROWS: touched kinks' arguments less the kinks, each with the sign that it must have to lie on the side
 * whose slope the proxy is (both if none is). ARGUMENTS: all, by layer, sample and neuron. */
typedef enum { CLARKE_KINKED_LOSS, CLARKE_KINKED_ROWS, CLARKE_KINKED_ARGUMENTS } clarke_kinked_outputs;

/* Writes the program. */
clarke_status clarke_kinked_pose(clarke_posed *q, const clarke_kinked *net, clarke_kinked_outputs outputs, clarke_error *err);

#endif
