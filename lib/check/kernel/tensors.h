/* Tensors, as files store them. */
#ifndef CLARKE_KERNEL_TENSORS_H
#define CLARKE_KERNEL_TENSORS_H

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
  struct tensor *still;
  rational *value; /* row-major; NULL: the entries are packed */
  char *odd;    /* of a model's floats: '-' is minus infinity, '?' infinity or NaN, and the value 0; NULL: all finite */
  bytes packed; /* the entries as they are stored */
  char *text;   /* of an attribute that is a string */
  bool of_tensor;     /* an attribute that is a tensor */
  rational *move;     /* wrt: the direction at hand, in the network's */
  rational *gradient; /* wrt: what gradient() computed, in the network's */
  integer *whole;     /* of a record: the values times a power of two (record.h) */
  bool torn;          /* of a record: a node that moves its entries was recorded with others */
} tensor;

/* A tensor that is declared: an input or an output of a network. */
typedef struct {
  char *name;
  bool shaped;
  size_t type, rank, *dims; /* 0: symbolic */
} port;

/* Types of numbers, by their number in ONNX. */
enum { FLOAT = 1, INT32 = 6, INT64 = 7, BOOL = 9, DOUBLE = 11, UINT64 = 13, N_DTYPES = 17 };
typedef struct {
  const char *name[2];              /* in .npy; in safetensors */
  size_t width, exponent, fraction; /* in bytes, 0: not supported; bits, of a floating-point type */
  bool negative;                    /* has negative numbers */
  unsigned field;                   /* of TensorProto, beside raw_data */
} dtype;
extern const dtype dtypes[N_DTYPES];

/* Raw little-endian data that must fit t's shape. It stays packed; or is decoded, and every number must be finite. */
void tensor_hold(tensor *t, size_t type, bytes data);
void tensor_fill(tensor *t, size_t type, bytes data);
void tensor_entry(rational *q, const tensor *t, size_t i); /* of a packed one; it must be finite */

#endif
