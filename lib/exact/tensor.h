/* A tensor as a file stores it: a name, a shape, and every entry read exactly.
 *
 * fp16, bf16, fp32 and fp64 values are dyadic rationals that a double holds exactly (subnormals
 * and -0 included), so `real` carries the exact values; integers and booleans are in `integer`.
 * Exactly one of the two is set (count entries, row-major), or neither while the tensor is packed. NaN and infinity are
 * refused with the tensor's name and index. */
#ifndef CLARKE_EXACT_TENSOR_H
#define CLARKE_EXACT_TENSOR_H

#include "base/status.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CLARKE_MAX_RANK 8
/* No tensor larger than this is read: 2^31 entries. */
#define CLARKE_MAX_ENTRIES ((size_t)1 << 31)

typedef enum {
  CLARKE_F16, CLARKE_BF16, CLARKE_F32, CLARKE_F64,
  CLARKE_I8, CLARKE_I16, CLARKE_I32, CLARKE_I64,
  CLARKE_U8, CLARKE_U16, CLARKE_U32, CLARKE_U64, CLARKE_BOOL,
  CLARKE_I4, CLARKE_U4, CLARKE_I2, CLARKE_U2, /* in a byte each: files have several in one */
  CLARKE_F8_E4M3FN, CLARKE_F8_E4M3FNUZ, CLARKE_F8_E5M2, CLARKE_F8_E5M2FNUZ,
} clarke_dtype;

typedef struct {
  char *name;
  clarke_dtype dtype; /* as stored */
  size_t rank;
  size_t dims[CLARKE_MAX_RANK];
  size_t count;     /* product of dims; 1 for rank 0 */
  double *real;     /* float dtypes */
  const unsigned char *packed; /* F32 that is not decoded yet: another's little-endian bytes, all finite; else NULL */
  int64_t *integer; /* integer dtypes; a U64 above INT64_MAX is refused */
} clarke_tensor;

/* Bytes per entry; "float32" and so on. */
size_t clarke_dtype_size(clarke_dtype dtype);
const char *clarke_dtype_name(clarke_dtype dtype);

void clarke_tensor_init(clarke_tensor *t);
void clarke_tensor_clear(clarke_tensor *t);

/* Sets the name (copied, may be NULL), shape and count, and allocates zeros. Refuses a rank over
 * CLARKE_MAX_RANK and a product of dims that overflows or is over CLARKE_MAX_ENTRIES. */
clarke_status clarke_tensor_shape(clarke_tensor *t, const char *name, clarke_dtype dtype,
                                  size_t rank, const size_t *dims, clarke_error *err);
/* The same without the entries, for clarke_tensor_pack. */
clarke_status clarke_tensor_describe(clarke_tensor *t, const char *name, clarke_dtype dtype,
                                     size_t rank, const size_t *dims, clarke_error *err);

/* Fills a shaped tensor from count * clarke_dtype_size(dtype) bytes (any alignment), little-endian
 * unless big_endian. */
clarke_status clarke_tensor_decode(clarke_tensor *t, const void *bytes, bool big_endian,
                                   clarke_error *err);

/* The same, little-endian, where floats may be infinite or NaN: who reads them must look. */
clarke_status clarke_tensor_decode_any(clarke_tensor *t, const void *bytes, clarke_error *err);

/* The same without decoding it: float32, little-endian bytes that outlive the tensor. Other types are decoded. The tensor has been
 * shaped or described. */
clarke_status clarke_tensor_pack(clarke_tensor *t, const void *bytes, clarke_error *err);
/* Decodes what is packed; does nothing else. */
clarke_status clarke_tensor_unpack(clarke_tensor *t, clarke_error *err);

/* The float32 at a place of such bytes. */
static inline float
clarke_f32_at(const unsigned char *from, size_t i)
{
  uint32_t word;
  float value;

  memcpy(&word, from + 4 * i, sizeof word);
  word = le32toh(word);
  memcpy(&value, &word, sizeof value);
  return value;
}

/* The double equal to the IEEE half, or bfloat16, with these bits. */
double clarke_f16_value(uint16_t bits);
double clarke_bf16_value(uint16_t bits);

#endif
