/* The norm of a convolution as it acts on whole images (docs/filter.md, "Norms of convolutions"). */
#ifndef CLARKE_NETWORK_NORMS_CONVOLUTION_NORM_H
#define CLARKE_NETWORK_NORMS_CONVOLUTION_NORM_H

#include "network/graph/graph.h"

/* A DENSE step behind a GATHER that lays out the windows of a convolution along two axes (one of which may have length 1),
 * image by image. */
typedef struct {
  size_t channels, taps;      /* of a block: inner = channels * taps */
  long stride[2], *offset[2]; /* window (i, j), tap t: the pixel (i stride[0] + offset[0][t], j stride[1] + offset[1][t]) */
  long least[2];              /* of the offsets; they are below least + 2 degree + 1 */
  size_t degree[2];
  size_t around[2];           /* pixels of a circle on which no window meets the image but where it does: at least so many */
} clarke_convolution;

/* Does the GATHER before the step hold exactly that, 0 beyond the images, and nothing else? *found: whether it does. */
clarke_status clarke_convolution_recognize(clarke_convolution *c, bool *found, const clarke_graph *g, const clarke_step *s,
                                           clarke_error *err);
void clarke_convolution_clear(clarke_convolution *c);

/* What its norm costs, in multiplications of floats, roughly; infinity: where it says nothing. */
double clarke_convolution_cost(const clarke_convolution *c, const clarke_step *s);

/* At least its norm, from images to images, w being what stands for the step's weight: by block where it is grouped, outer x
 * inner. */
clarke_status clarke_convolution_norm(double *norm, const clarke_convolution *c, const clarke_step *s, const double *w,
                                      clarke_error *err);

#endif
