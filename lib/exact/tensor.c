/* Stored tensors: bytes in, exact values out (tensor.h says what a tensor is). */
#include "exact/tensor.h"
#include "base/wide.h"
#include "exact/float8.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  size_t size;
  bool real;
} dtypes[] = {
  [CLARKE_F16] = { "float16", 2, true },   [CLARKE_BF16] = { "bfloat16", 2, true },
  [CLARKE_F32] = { "float32", 4, true },   [CLARKE_F64] = { "float64", 8, true },
  [CLARKE_I8] = { "int8", 1, false },      [CLARKE_I16] = { "int16", 2, false },
  [CLARKE_I32] = { "int32", 4, false },    [CLARKE_I64] = { "int64", 8, false },
  [CLARKE_U8] = { "uint8", 1, false },     [CLARKE_U16] = { "uint16", 2, false },
  [CLARKE_U32] = { "uint32", 4, false },   [CLARKE_U64] = { "uint64", 8, false },
  [CLARKE_BOOL] = { "bool", 1, false },
  [CLARKE_I4] = { "int4", 1, false },      [CLARKE_U4] = { "uint4", 1, false },
  [CLARKE_I2] = { "int2", 1, false },      [CLARKE_U2] = { "uint2", 1, false },
  [CLARKE_F8_E4M3FN] = { "float8e4m3fn", 1, true }, [CLARKE_F8_E4M3FNUZ] = { "float8e4m3fnuz", 1, true },
  [CLARKE_F8_E5M2] = { "float8e5m2", 1, true },     [CLARKE_F8_E5M2FNUZ] = { "float8e5m2fnuz", 1, true },
};

static bool
dtype_known(clarke_dtype dtype)
{
  return (size_t)dtype < sizeof dtypes / sizeof dtypes[0];
}

size_t
clarke_dtype_size(clarke_dtype dtype)
{
  return dtype_known(dtype) ? dtypes[dtype].size : 0;
}

const char *
clarke_dtype_name(clarke_dtype dtype)
{
  return dtype_known(dtype) ? dtypes[dtype].name : "unknown";
}

void
clarke_tensor_init(clarke_tensor *t)
{
  memset(t, 0, sizeof *t);
}

void
clarke_tensor_clear(clarke_tensor *t)
{
  free(t->name);
  free(t->real);
  free(t->integer);
  clarke_tensor_init(t);
}

static const char *
printable(const clarke_tensor *t)
{
  return t->name != NULL ? t->name : "(unnamed)";
}

/* The product of dims, or CLARKE_MAX_ENTRIES + 1 when it is more than allowed. */
static size_t
entries(size_t rank, const size_t *dims)
{
  size_t count = 1;

  /* A zero anywhere makes the tensor empty, however large its other sides are. */
  for (size_t k = 0; k < rank; k++)
    if (dims[k] == 0)
      return 0;
  for (size_t k = 0; k < rank; k++) {
    if (dims[k] > CLARKE_MAX_ENTRIES / count)
      return CLARKE_MAX_ENTRIES + 1;
    count *= dims[k];
  }
  return count;
}

/* Zeros. */
static clarke_status
allocate(clarke_tensor *t, clarke_error *err)
{
  if (dtypes[t->dtype].real)
    t->real = calloc(t->count + 1, sizeof *t->real);
  else
    t->integer = calloc(t->count + 1, sizeof *t->integer);
  return t->real != NULL || t->integer != NULL
           ? CLARKE_OK
           : clarke_fail(err, CLARKE_ENOMEM, "tensor %s: no memory for its entries", printable(t));
}

clarke_status
clarke_tensor_describe(clarke_tensor *t, const char *name, clarke_dtype dtype, size_t rank, const size_t *dims, clarke_error *err)
{
  const char *shown = name != NULL ? name : "(unnamed)";
  clarke_tensor fresh;

  clarke_tensor_init(&fresh);
  if (!dtype_known(dtype))
    return clarke_fail(err, CLARKE_EINTERNAL, "tensor %s: no such element type", shown);
  if (rank > CLARKE_MAX_RANK)
    return clarke_fail(err, CLARKE_EINPUT, "tensor %s: %zu dimensions; at most %d are read",
                       shown, rank, CLARKE_MAX_RANK);
  fresh.dtype = dtype;
  fresh.rank = rank;
  fresh.count = entries(rank, dims);
  if (fresh.count > CLARKE_MAX_ENTRIES)
    return clarke_fail(err, CLARKE_ENOMEM, "tensor %s: more than %zu entries", shown,
                       CLARKE_MAX_ENTRIES);
  for (size_t k = 0; k < rank; k++)
    fresh.dims[k] = dims[k];
  if (name != NULL && (fresh.name = strdup(name)) == NULL)
    return clarke_no_memory(err);
  clarke_tensor_clear(t);
  *t = fresh;
  return CLARKE_OK;
}

clarke_status
clarke_tensor_shape(clarke_tensor *t, const char *name, clarke_dtype dtype, size_t rank,
                    const size_t *dims, clarke_error *err)
{
  clarke_tensor fresh;
  clarke_status status;

  clarke_tensor_init(&fresh);
  status = clarke_tensor_describe(&fresh, name, dtype, rank, dims, err);
  if (status == CLARKE_OK)
    status = allocate(&fresh, err);
  if (status != CLARKE_OK) {
    clarke_tensor_clear(&fresh);
    return status;
  }
  clarke_tensor_clear(t);
  *t = fresh;
  return CLARKE_OK;
}

/* The value of a finite IEEE-style number with 1 sign bit, `exponent` exponent bits and `fraction`
 * fraction bits; infinity and NaN give themselves. */
static double
small_float_value(unsigned bits, int exponent, int fraction)
{
  const int top = (1 << exponent) - 1;
  const int bias = top >> 1;
  const int e = (int)(bits >> fraction) & top;
  const unsigned f = bits & ((1u << fraction) - 1);
  double magnitude;

  if (e == top)
    magnitude = f != 0 ? (double)NAN : (double)INFINITY;
  else if (e == 0)
    magnitude = ldexp((double)f, 1 - bias - fraction);
  else
    magnitude = ldexp((double)(f | 1u << fraction), e - bias - fraction);
  return bits >> (exponent + fraction) & 1 ? -magnitude : magnitude;
}

double
clarke_f16_value(uint16_t bits)
{
  return small_float_value(bits, 5, 10);
}

double
clarke_bf16_value(uint16_t bits)
{
  return small_float_value(bits, 8, 7);
}

/* The unsigned integer of `size` bytes. */
static uint64_t
read_word(const unsigned char *p, size_t size, bool big_endian)
{
  uint64_t word = 0;

  for (size_t k = 0; k < size; k++)
    word = word << 8 | p[big_endian ? k : size - 1 - k];
  return word;
}

static double
real_value(clarke_dtype dtype, uint64_t word)
{
  const uint32_t half = (uint32_t)word;
  float f;
  double d;

  switch (dtype) {
  case CLARKE_F16:
    return clarke_f16_value((uint16_t)word);
  case CLARKE_BF16:
    return clarke_bf16_value((uint16_t)word);
  case CLARKE_F32:
    memcpy(&f, &half, sizeof f);
    return (double)f;
  case CLARKE_F8_E4M3FN:
  case CLARKE_F8_E4M3FNUZ:
  case CLARKE_F8_E5M2:
  case CLARKE_F8_E5M2FNUZ:
    return clarke_float8_value(dtype, (uint8_t)word);
  default:
    memcpy(&d, &word, sizeof d);
    return d;
  }
}

static int64_t
integer_value(clarke_dtype dtype, uint64_t word)
{
  switch (dtype) {
  case CLARKE_I8:
  case CLARKE_I4:
  case CLARKE_I2:
    return (int8_t)word;
  case CLARKE_I16:
    return (int16_t)word;
  case CLARKE_I32:
    return (int32_t)word;
  default:
    return (int64_t)word;
  }
}

/* The loops below are what large files are made of: no branch, no call, so that compilers make
 * vectors of them. Those of floats return whether all entries are finite. */
static bool
decode_f32(double *real, const unsigned char *p, size_t n)
{
  bool finite = true;

  for (size_t i = 0; i < n; i++) {
    uint32_t word;
    float f;

    memcpy(&word, p + 4 * i, sizeof word);
    word = le32toh(word);
    memcpy(&f, &word, sizeof f);
    real[i] = (double)f;
    finite &= (word & 0x7f800000) != 0x7f800000;
  }
  return finite;
}

static bool
decode_f64(double *real, const unsigned char *p, size_t n)
{
  const uint64_t exponent = (uint64_t)0x7ff << 52;
  bool finite = true;

  for (size_t i = 0; i < n; i++) {
    uint64_t word;

    memcpy(&word, p + 8 * i, sizeof word);
    word = le64toh(word);
    memcpy(&real[i], &word, sizeof word);
    finite &= (word & exponent) != exponent;
  }
  return finite;
}

static void
decode_i64(int64_t *integer, const unsigned char *p, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    uint64_t word;

    memcpy(&word, p + 8 * i, sizeof word);
    integer[i] = (int64_t)le64toh(word);
  }
}

/* Entry by entry: any type, and the place of what cannot be read. */
static clarke_status
decode_each(clarke_tensor *t, const unsigned char *p, bool big_endian, bool any, clarke_error *err)
{
  const size_t size = clarke_dtype_size(t->dtype);

  for (size_t i = 0; i < t->count; i++, p += size) {
    const uint64_t word = read_word(p, size, big_endian);

    if (t->real == NULL) {
      if (t->dtype == CLARKE_U64 && word > INT64_MAX)
        return clarke_fail(err, CLARKE_EINPUT,
                           "tensor %s: entry %zu is %llu; integers up to 2^63 - 1 are read",
                           printable(t), i, (unsigned long long)word);
      if (t->dtype == CLARKE_BOOL && word > 1)
        return clarke_fail(err, CLARKE_EINPUT, "tensor %s: entry %zu is %llu; a boolean is 0 or 1",
                           printable(t), i, (unsigned long long)word);
      t->integer[i] = integer_value(t->dtype, word);
      continue;
    }
    t->real[i] = real_value(t->dtype, word);
    if ((!any || clarke_float8_is(t->dtype)) && !isfinite(t->real[i]))
      return clarke_fail(err, CLARKE_EINPUT, "tensor %s: entry %zu is %s; it must be finite",
                         printable(t), i, isnan(t->real[i]) ? "NaN" : "infinite");
  }
  return CLARKE_OK;
}

clarke_status
clarke_tensor_decode_any(clarke_tensor *t, const void *bytes, clarke_error *err)
{
  if (t->dtype == CLARKE_F32 && decode_f32(t->real, bytes, t->count))
    return CLARKE_OK;
  return decode_each(t, bytes, false, true, err);
}

clarke_status
clarke_tensor_decode(clarke_tensor *t, const void *bytes, bool big_endian, clarke_error *err)
{
  if (!big_endian && t->dtype == CLARKE_F32 && decode_f32(t->real, bytes, t->count))
    return CLARKE_OK;
  if (!big_endian && t->dtype == CLARKE_F64 && decode_f64(t->real, bytes, t->count))
    return CLARKE_OK;
  if (big_endian || t->dtype != CLARKE_I64)
    return decode_each(t, bytes, big_endian, false, err);
  decode_i64(t->integer, bytes, t->count);
  return CLARKE_OK;
}

/* Are all floats finite? */
CLARKE_WIDE static bool
finite_f32(const unsigned char *p, size_t n)
{
  int32_t largest = 0; /* signed ones are compared side by side by any processor */

  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    int32_t word;

    memcpy(&bits, p + 4 * i, sizeof bits);
    word = (int32_t)(le32toh(bits) & 0x7fffffff);
    largest = word > largest ? word : largest;
  }
  return largest < 0x7f800000;
}

clarke_status
clarke_tensor_pack(clarke_tensor *t, const void *bytes, clarke_error *err)
{
  if (t->dtype != CLARKE_F32 || !finite_f32(bytes, t->count)) { /* decoding says which is not */
    const clarke_status status = t->real == NULL && t->integer == NULL ? allocate(t, err) : CLARKE_OK;

    return status == CLARKE_OK ? clarke_tensor_decode(t, bytes, false, err) : status;
  }
  free(t->real);
  t->real = NULL;
  t->packed = bytes;
  return CLARKE_OK;
}

clarke_status
clarke_tensor_unpack(clarke_tensor *t, clarke_error *err)
{
  const unsigned char *bytes = t->packed;
  clarke_status status;

  if (bytes == NULL)
    return CLARKE_OK;
  t->real = malloc((t->count + 1) * sizeof *t->real);
  if (t->real == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "tensor %s: no memory for its entries", printable(t));
  status = clarke_tensor_decode(t, bytes, false, err);
  t->packed = NULL;
  return status;
}
