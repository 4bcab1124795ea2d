/* Networks of three layers, drawn, and a record of a step of theirs, computed here: convolutions or products over several blocks,
 * rectified, pooled or not, and a last product. */
#ifndef CLARKE_TESTS_TRACE_LAYERED_RECORD_H
#define CLARKE_TESTS_TRACE_LAYERED_RECORD_H

#include "../network/models.h"
#include "trace/certify/certify.h"

extern uint64_t state; /* what is drawn */

/* Which input, by which weight, goes to which output. */
typedef struct {
  size_t out, in, weight;
} path;

typedef struct {
  size_t n_in, n_out, n_paths, n_weights, n_biases;
  path *paths;
  size_t *bias; /* by output */
  float *w, *b;
  bool owned; /* else the layer's before it */
  long weights[5], shape[5], biases[2]; /* out: behind the samples */
} layer;

enum { LAYERS = 3 };

typedef struct {
  size_t n, layers, pool; /* pool: its stride, behind layer 0; 0: none */
  bool blocks, tied, transposed;
  long in[5], group, kernel, stride, dilation, pad;
  layer layer[LAYERS];
  float *x, *y;
} net;

typedef struct {
  int numbers;
  bool narrow; /* sums in float32, else in doubles and rounded once */
} way;

typedef struct {
  const net *s;
  const way *how;
  clarke_tensors trace, gradients;
  const char *changed; /* this tensor's entry is another, and all behind it follows; NULL: none */
  size_t entry;
  float to;
} record;

/* form: 0 several blocks, 1 tied weights, 2 groups, dilation and a pool, 3 strides, 4 a pool that overlaps. All are padded but 0. */
void draw_net(net *s, const way *how, size_t form);
void clear_net(net *s);

/* trace and gradients, in the order of their names. */
void make_record(record *r);
void clear_record(record *r);

#endif
