/* The loss that a model's own last nodes are. */
#ifndef CLARKE_KERNEL_TAIL_H
#define CLARKE_KERNEL_TAIL_H

#include "check/files/onnx.h"

typedef enum { LOSS_SUM, LOSS_MSE, LOSS_CE, LOSS_NONE } loss_kind;

/* The nodes from `from` on are the loss, of the value `of`; y: the input that it takes, or NULL. Of LOSS_NONE the network has
 * all nodes, and `of` is the model's output. */
typedef struct {
  loss_kind kind;
  size_t from;
  const char *of;
  const port *y;
} tail;

/* docs/operators.md, "Losses in the graph". An input of the model that is no initializer is x, or the loss's. */
tail tail_of(const model *m);

#endif
