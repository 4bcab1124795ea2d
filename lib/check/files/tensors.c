/* Numbers as files store them, each decoded exactly. */
#include "check/files/tensors.h"
#include "check/base/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNSUPPORTED                                                                                                    \
  {                                                                                                                    \
    {"", ""}, 0, 0, 0, false, 0, 0                                                                                     \
  }
const dtype dtypes[N_DTYPES] = {
    UNSUPPORTED,
    {{"<f4", "F32"}, 4, 8, 23, true, 4, 0},
    {{"|u1", "U8"}, 1, 0, 0, false, 5, 0},
    {{"|i1", "I8"}, 1, 0, 0, true, 5, 0},
    {{"<u2", "U16"}, 2, 0, 0, false, 5, 0},
    {{"<i2", "I16"}, 2, 0, 0, true, 5, 0},
    {{"<i4", "I32"}, 4, 0, 0, true, 5, 0},
    {{"<i8", "I64"}, 8, 0, 0, true, 7, 0},
    UNSUPPORTED, /* strings */
    {{"|b1", "BOOL"}, 1, 0, 0, false, 5, 0},
    {{"<f2", "F16"}, 2, 5, 10, true, 5, 0},
    {{"<f8", "F64"}, 8, 11, 52, true, 10, 0},
    {{"<u4", "U32"}, 4, 0, 0, false, 11, 0},
    {{"<u8", "U64"}, 8, 0, 0, false, 11, 0},
    UNSUPPORTED,
    UNSUPPORTED, /* complex numbers */
    {{"", "BF16"}, 2, 8, 7, true, 5, 0},
    {{"", "F8E4M3FN"}, 1, 4, 3, true, 5, 0}, /* floats of 8 bits, in models alone */
    {{"", "F8E4M3FNUZ"}, 1, 4, 3, true, 5, 0},
    {{"", "F8E5M2"}, 1, 5, 2, true, 5, 0},
    {{"", "F8E5M2FNUZ"}, 1, 5, 2, true, 5, 0},
    {{"", "U4"}, 1, 0, 0, false, 5, 4},
    {{"", "I4"}, 1, 0, 0, true, 5, 4},
    UNSUPPORTED, /* floats of 4 bits, and powers of two */
    UNSUPPORTED,
    {{"", "U2"}, 1, 0, 0, false, 5, 2},
    {{"", "I2"}, 1, 0, 0, true, 5, 2},
};

bool
is_float8(size_t type)
{
  return type >= FLOAT8E4M3FN && type <= FLOAT8E5M2FNUZ;
}

/* What is not as in IEEE 754: E4M3FN has numbers with the largest exponent, all but one; of FNUZ the code of -0 is the only one
 * that is none, and exponents are one less. */
bool
float8_number(rational *q, size_t type, uint64_t code)
{
  bool unsigned_zero = type == FLOAT8E4M3FNUZ || type == FLOAT8E5M2FNUZ;
  unsigned fraction = (unsigned)dtypes[type].fraction, size = code & 0x7f, hidden = 1u << fraction;
  unsigned exponent = size >> fraction, number = size & (hidden - 1);
  unsigned most = type == FLOAT8E4M3FN ? 0x7e : type == FLOAT8E5M2 ? 0x7b : 0x7f;
  if (size > most || (unsigned_zero && code == 0x80))
    return false;
  mpq_set_ui(q, exponent > 0 ? number + hidden : number, 1);
  mpq_mul_2exp(q, q, exponent > 0 ? exponent : 1);
  mpq_div_2exp(q, q, fraction + (fraction == 3 ? 7 : 15) + unsigned_zero);
  if (code >> 7 != 0)
    mpq_neg(q, q);
  return true;
}

/* False for what is no number, or none that is read. */
static bool
decode(rational *q, const dtype *d, uint64_t x)
{
  if (is_float8((size_t)(d - dtypes)))
    return float8_number(q, (size_t)(d - dtypes), x);
  uint64_t sign = (uint64_t)1 << ((d->part > 0 ? d->part : 8 * d->width) - 1);
  bool negative = d->negative && (x & sign) != 0;
  long e = 0, top = (1L << d->exponent) - 1;
  if (d->exponent > 0) { /* IEEE 754: an exponent of 0 is read as 1, without the hidden bit */
    e = (long)(x >> d->fraction) & top;
    if (e == top)
      return false;
    x &= ((uint64_t)1 << d->fraction) - 1;
    x |= (uint64_t)(e > 0) << d->fraction;
    e = (e > 0 ? e : 1) - top / 2 - (long)d->fraction;
  } else if (negative) {
    x = sign - (x & (sign - 1));
  }
  mpq_set_ui(q, x, 1);
  (e < 0 ? mpq_div_2exp : mpq_mul_2exp)(q, q, (unsigned long)labs(e));
  if (negative)
    mpq_neg(q, q);
  return d == &dtypes[BOOL] ? x <= 1 : d != &dtypes[UINT64] || x <= INT64_MAX;
}

void
tensor_hold(tensor *t, size_t type, bytes data)
{
  const dtype *d = &dtypes[type];
  t->count = 1;
  t->type = type;
  t->real = d->exponent > 0;
  refuse_if(d->width == 0, "tensor '%s' is of an unsupported type", t->name);
  for (size_t i = 0; i < t->rank; i++)
    refuse_if(__builtin_mul_overflow(t->count, t->dims[i], &t->count), "tensor '%s' is too large", t->name);
  size_t shared = d->part > 0 ? 8 / d->part : 1, items = t->count / shared + (t->count % shared > 0);
  refuse_if(items > data.size / d->width || items * d->width != data.size,
            "tensor '%s': its %zu bytes of data do not fit its shape", t->name, data.size);
  t->packed = data;
}

void
tensor_entry(rational *q, const tensor *t, size_t i)
{
  const dtype *d = &dtypes[t->type];
  size_t shared = d->part > 0 ? 8 / d->part : 1;
  uint64_t x = little(t->packed, i / shared * d->width, d->width);
  if (shared > 1)
    x = x >> (i % shared * d->part) & ((1U << d->part) - 1);
  expect(decode(q, d, x), "tensor '%s', entry %zu: not a finite number of its type, or over 2^63 - 1", t->name, i);
}

static double
uncut_double(const rational *q)
{
  double d = mpq_get_d(q);
  RATIONAL(back);
  if (isfinite(d))
    mpq_set_d(&back, d);
  return mpq_equal(&back, q) ? d : NAN;
}

double
rational_double(const rational *q)
{
  const integer *up = mpq_numref(q), *down = mpq_denref(q);
  unsigned long bits = mpz_sizeinbase(down, 2) - 1;
  if (bits < 64 && mpz_scan1(down, 0) == bits && mpz_cmpabs_ui(up, 1ul << 53) < 0)
    return (double)mpz_get_si(up) / (double)(1ul << bits);
  return uncut_double(q);
}

static double
decoded_double(const tensor *t, size_t i)
{
  RATIONAL(q);
  tensor_entry(&q, t, i);
  return rational_double(&q);
}

double
tensor_double(const tensor *t, size_t i)
{
  float f;
  if (t->type != FLOAT)
    return decoded_double(t, i);
  const unsigned char *b = t->packed.data + 4 * i;
  uint32_t x = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
  memcpy(&f, &x, sizeof f);
  return isfinite(f) ? f : decoded_double(t, i); /* which refuses it */
}

void
tensor_fill(tensor *t, size_t type, bytes data)
{
  tensor_hold(t, type, data);
  t->value = rationals(t->count);
  for (size_t i = 0; i < t->count; i++)
    tensor_entry(&t->value[i], t, i);
}
