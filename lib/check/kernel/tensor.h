/* Tensors: their shapes and numbers, and what they are read as. */
#ifndef CLARKE_KERNEL_TENSOR_H
#define CLARKE_KERNEL_TENSOR_H

#include "check/base/bytes.h"
#include "check/base/value.h"

#define MAX_RANK 8

typedef struct tensor {
  char *name;
  size_t type, rank, dims[MAX_RANK], count;
  bool real, initializer; /* of a floating-point type (else integers); of the model */
  /* What it is read as: a parameter, which steps hold and directions move; a number that was read when the network was
   * built, and so must not move (a bound of Clip, the value of Pad); a statistic of a BatchNormalization, which steps hold
   * as `still`, the same entries at rest. A number is nothing else. wrt: a parameter in wrt. */
  bool weight, number, statistic, wrt;
  bool unread;  /* no node that the chosen output needs reads it */
  bool of_node; /* a Constant node's, which a proof takes for a parameter */
  struct tensor *still;
  rational *value; /* row-major; NULL: the entries are packed */
  char *odd; /* of a model's floats: '-' is minus infinity, '+' infinity, '?' NaN, and the value 0; NULL: all finite */
  bytes packed;           /* the entries as they are stored */
  char *text;             /* of an attribute that is a string */
  bool of_tensor;         /* an attribute that is a tensor */
  rational *move;         /* wrt: the direction at hand, in the network's */
  rational *gradient;     /* wrt: what gradient() computed, in the network's */
  struct recorded *whole; /* of a record: the values, as sums take them (record_sum.h) */
  bool torn;              /* of a record: a node that moves its entries was recorded with others */
} tensor;

/* A tensor that is declared: an input or an output of a network. */
typedef struct {
  char *name;
  bool shaped;
  size_t type, rank, *dims; /* 0: symbolic. Of values within, type 0: none that is read */
} port;

#endif
