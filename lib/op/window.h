/* The geometry that convolutions and poolings share. An activation is `planes` arrays of `axes`
 * spatial axes; a kernel of `taps` entries goes over each of them and stops at `positions` places.
 * Along an axis, tap k at position p reads place p * stride + k * dilation - before of the array;
 * places outside it are padding. Taps and positions are numbered in row-major order.
 *
 * The kernel of a transposed convolution stands at each of the array's places and stops at no positions: tap k at position p
 * reads the place q with q * stride + k * dilation - before = p, if there is one. */
#ifndef CLARKE_OP_WINDOW_H
#define CLARKE_OP_WINDOW_H

#include "op/operator.h"

#define CLARKE_MAX_SPATIAL 4

/* What its attributes are called, for a clarke_op. */
#define CLARKE_WINDOW_ATTRIBUTES "auto_pad:s kernel_shape:I pads:I strides:I"

typedef struct {
  size_t whole;    /* arrays of so many channels in one activation: 1 when the first axis is the batch */
  size_t channels; /* of one of them */
  size_t planes;   /* whole * channels */
  size_t axes;
  size_t in[CLARKE_MAX_SPATIAL], kernel[CLARKE_MAX_SPATIAL], stride[CLARKE_MAX_SPATIAL];
  size_t dilation[CLARKE_MAX_SPATIAL], before[CLARKE_MAX_SPATIAL], after[CLARKE_MAX_SPATIAL];
  size_t out[CLARKE_MAX_SPATIAL];
  size_t taps, positions, entries; /* products of kernel, out, in */
  bool transposed;
} clarke_window;

/* From input 0, an activation, and the node's attributes. kernel: as many axes as the input has
 * spatial ones, checked against kernel_shape, which must be there when it is NULL. */
clarke_status clarke_window_read(clarke_window *w, const clarke_lowering *low,
                                 const size_t *kernel, clarke_error *err);

/* The same of a transposed convolution. */
clarke_status clarke_window_read_transposed(clarke_window *w, const clarke_lowering *low, const size_t *kernel,
                                            clarke_error *err);

/* How many spatial axes input 0, an activation, has. */
clarke_status clarke_window_axes(size_t *axes, const clarke_lowering *low, clarke_error *err);

/* The entry of a plane that a tap reads; CLARKE_NONE in the padding. */
size_t clarke_window_entry(const clarke_window *w, size_t position, size_t tap);
/* How many taps read no padding; how many read none past the declared one (with ceil_mode the last
 * windows may). */
size_t clarke_window_inside(const clarke_window *w, size_t position);
size_t clarke_window_declared(const clarke_window *w, size_t position);

/* The per-sample shape of an output with that many channels: its rank. */
size_t clarke_window_shape(const clarke_window *w, const clarke_lowering *low, size_t channels,
                           size_t *dims);

/* The windows of input 0 laid out along (planes, taps, positions), zeros for padding: the value of
 * a GATHER, or input 0 itself when it is so already. */
clarke_status clarke_window_gather(const clarke_window *w, clarke_lowering *low, size_t *value,
                                   clarke_error *err);

#endif
