/* The numbers of tensors, as files store them. */
#ifndef CLARKE_KERNEL_TENSORS_H
#define CLARKE_KERNEL_TENSORS_H

#include "check/kernel/tensor.h"

/* Types of numbers, by their number in ONNX. */
enum {
  FLOAT = 1,
  UINT8 = 2,
  INT8 = 3,
  UINT16 = 4,
  INT16 = 5,
  INT32 = 6,
  INT64 = 7,
  BOOL = 9,
  FLOAT16 = 10,
  DOUBLE = 11,
  UINT64 = 13,
  BFLOAT16 = 16,
  FLOAT8E4M3FN = 17,
  FLOAT8E4M3FNUZ = 18,
  FLOAT8E5M2 = 19,
  FLOAT8E5M2FNUZ = 20,
  UINT4 = 21,
  INT4 = 22,
  UINT2 = 25,
  INT2 = 26,
  N_DTYPES
};
typedef struct {
  const char *name[2];              /* in .npy; in safetensors */
  size_t width, exponent, fraction; /* in bytes, 0: not supported; bits, of a floating-point type */
  bool negative;                    /* has negative numbers */
  unsigned field;                   /* of TensorProto, beside raw_data */
  unsigned part;                    /* bits of a number that shares its byte with others, the lowest first; else 0 */
} dtype;
extern const dtype dtypes[N_DTYPES];

bool is_float8(size_t type); /* one of the four */
/* The number of a code of 8 bits; false: it is infinite, or none. */
bool float8_number(rational *q, size_t type, uint64_t code);

/* Raw little-endian data that must fit t's shape. It stays packed; or is decoded, and every number must be finite. */
void tensor_hold(tensor *t, size_t type, bytes data);
void tensor_fill(tensor *t, size_t type, bytes data);
void tensor_entry(rational *q, const tensor *t, size_t i); /* of a packed one; it must be finite */
double tensor_double(const tensor *t, size_t i);           /* likewise; NaN: it is no double */
double rational_double(const rational *q);                 /* likewise, of any number */

#endif
