/* Files of numbers: .npy, stored .npz and safetensors. Every number is decoded exactly. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define UNSUPPORTED                                                                                                    \
  {                                                                                                                    \
    {"", ""}, 0, 0, 0, false, 0                                                                                        \
  }
const dtype dtypes[N_DTYPES] = {
    UNSUPPORTED,
    {{"<f4", "F32"}, 4, 8, 23, true, 4},
    {{"|u1", "U8"}, 1, 0, 0, false, 5},
    {{"|i1", "I8"}, 1, 0, 0, true, 5},
    {{"<u2", "U16"}, 2, 0, 0, false, 5},
    {{"<i2", "I16"}, 2, 0, 0, true, 5},
    {{"<i4", "I32"}, 4, 0, 0, true, 5},
    {{"<i8", "I64"}, 8, 0, 0, true, 7},
    UNSUPPORTED, /* strings */
    {{"|b1", "BOOL"}, 1, 0, 0, false, 5},
    {{"<f2", "F16"}, 2, 5, 10, true, 5},
    {{"<f8", "F64"}, 8, 11, 52, true, 10},
    {{"<u4", "U32"}, 4, 0, 0, false, 11},
    {{"<u8", "U64"}, 8, 0, 0, false, 11},
    UNSUPPORTED,
    UNSUPPORTED, /* complex numbers */
    {{"", "BF16"}, 2, 8, 7, true, 5},
};

/* The type of that name; 0, which is unsupported, when there is none. */
static size_t
type_named(const char *name, int format)
{
  size_t type = N_DTYPES - 1;
  while (type > 0 && strcmp(dtypes[type].name[format], name) != 0)
    type--;
  return *name != '\0' ? type : 0;
}

static uint64_t
little(bytes b, size_t at, size_t width)
{
  uint64_t x = 0;
  for (size_t i = width; i-- > 0;)
    x = x << 8 | slice(b, at, width).data[i];
  return x;
}

/* False for what is no number, or none that is read. */
static bool
decode(rational *q, const dtype *d, uint64_t x)
{
  uint64_t sign = (uint64_t)1 << (8 * d->width - 1);
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
  mpz_set_ui(mpq_numref(q), x);
  (e < 0 ? mpq_div_2exp : mpq_mul_2exp)(q, q, (unsigned long)labs(e));
  if (negative)
    mpq_neg(q, q);
  return d == &dtypes[BOOL] ? x <= 1 : d != &dtypes[UINT64] || x <= INT64_MAX;
}

void
tensor_fill(tensor *t, size_t type, bytes data)
{
  const dtype *d = &dtypes[type];
  t->count = 1;
  t->real = d->exponent > 0;
  refuse_if(d->width == 0, "tensor '%s' is of an unsupported type", t->name);
  for (size_t i = 0; i < t->rank; i++)
    refuse_if(__builtin_mul_overflow(t->count, t->dims[i], &t->count), "tensor '%s' is too large", t->name);
  refuse_if(t->count > data.size / d->width || t->count * d->width != data.size,
            "tensor '%s': its %zu bytes of data do not fit its shape", t->name, data.size);
  t->value = rationals(t->count);
  for (size_t i = 0; i < t->count; i++)
    expect(decode(&t->value[i], d, little(data, i * d->width, d->width)),
           "tensor '%s', entry %zu: not a finite number of its type, or over 2^63 - 1", t->name, i);
}

/* Steps over the text, if it is next. */
static bool
skip(bytes *b, const char *text)
{
  size_t n = strlen(text);
  return b->size >= n && memcmp(b->data, text, n) == 0 && (take(b, n), true);
}

static void
skip_over(bytes *b, const char *text)
{
  expect(skip(b, text), "a header in which '%s' is missing, or not where NumPy or safetensors write it", text);
}

/* After the text, whose end is a quote, a string up to that quote; without escapes. */
static char *
quoted(bytes *b, const char *text)
{
  skip_over(b, text);
  const unsigned char *end = b->size > 0 ? memchr(b->data, text[strlen(text) - 1], b->size) : NULL;
  refuse_if(end == NULL || memchr(b->data, '\\', (size_t)(end - b->data)) != NULL,
            "a header with a string that does not end, or holds an escape");
  bytes s = take(b, (size_t)(end - b->data));
  take(b, 1);
  return copy_text(s.data, s.size);
}

/* After the text, numbers up to the end, at most `most`; returns how many. */
static size_t
numbers(bytes *b, const char *text, size_t *n, size_t most, const char *end)
{
  size_t i = 0;
  for (skip_over(b, text); !skip(b, end); i++) {
    refuse_if(i == most || b->size == 0 || *b->data < '0' || *b->data > '9',
              "a header with a list that is too long, or not of numbers");
    for (n[i] = 0; b->size > 0 && *b->data >= '0' && *b->data <= '9';)
      refuse_if(__builtin_mul_overflow(n[i], 10, &n[i])
                    || __builtin_add_overflow(n[i], (size_t)*take(b, 1).data - '0', &n[i]),
                "a header with too large a number");
    while (skip(b, ",") || skip(b, " ")) {}
  }
  return i;
}

/* The header as NumPy writes it: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } */
static void
npy(tensor *t, bytes b)
{
  refuse_if(!skip(&b, "\x93NUMPY") || little(b, 0, 1) < 1 || little(b, 0, 1) > 3, "'%s' is not an .npy file", t->name);
  size_t wide = little(b, 0, 1) == 1 ? 2 : 4, length = little(b, 2, wide);
  take(&b, 2 + wide);
  bytes h = take(&b, length);
  size_t type = type_named(quoted(&h, "{'descr': '"), 0);
  t->rank = numbers(&h, ", 'fortran_order': False, 'shape': (", t->dims, MAX_RANK, ")");
  skip_over(&h, ", }");
  tensor_fill(t, type, b);
}

/* The member of an .npz at c in its directory. */
static void
npz_member(tensor *t, bytes file, bytes c)
{
  size_t size = little(c, 20, 4), at = little(c, 42, 4), name = little(c, 28, 2);
  t->name = copy_text(slice(c, 46, name).data, name);
  refuse_if(little(c, 10, 2) != 0 || (little(c, 8, 1) & 1) != 0 || name < 4 || strcmp(t->name + name - 4, ".npy") != 0,
            "member '%s' is compressed, encrypted or no .npy: write it with numpy.savez", t->name);
  refuse_if(memcmp(slice(file, at, 30).data, "PK\3\4", 4) != 0, "member '%s' is not where the archive says", t->name);
  at += 30 + little(file, at + 26, 2) + little(file, at + 28, 2);
  t->name[name - 4] = '\0';
  npy(t, slice(file, at, size));
}

static tensor *
npz(bytes file, size_t *n)
{
  size_t end = file.size - 22;
  while (end > 0 && file.size - end < 22 + 65535 && memcmp(file.data + end, "PK\5\6", 4) != 0)
    end--;
  refuse_if(memcmp(file.data + end, "PK\5\6", 4) != 0, "an archive without a directory");
  size_t at = little(file, end + 16, 4);
  *n = little(file, end + 10, 2);
  tensor *t = allocate(*n, sizeof *t);
  for (size_t i = 0; i < *n; i++) {
    bytes c = slice(file, at, file.size - at);
    refuse_if(memcmp(slice(c, 0, 46).data, "PK\1\2", 4) != 0, "the archive's directory is broken");
    npz_member(&t[i], file, c);
    at += 46 + little(c, 28, 2) + little(c, 30, 2) + little(c, 32, 2);
  }
  return t;
}

/* After eight bytes with its length, a header such as {"w":{"dtype":"F32","shape":[2,3],
 * "data_offsets":[0,24]}}, with "__metadata__":{"key":"text"} perhaps. */
static tensor *
safetensors(bytes file, size_t *n)
{
  size_t length = little(take(&file, 8), 0, 8), offset[2];
  bytes h = take(&file, length);
  tensor *all = NULL;
  *n = 0;
  skip_over(&h, "{");
  while (h.size > 0 && *h.data == '"') {
    char *name = quoted(&h, "\"");
    if (strcmp(name, "__metadata__") == 0) {
      for (skip_over(&h, ":{"); h.size > 0 && *h.data == '"'; skip(&h, ",")) {
        quoted(&h, "\"");
        quoted(&h, ":\"");
      }
    } else {
      all = grow(all, *n, sizeof *all);
      tensor *t = &all[(*n)++];
      size_t type = type_named(quoted(&h, ":{\"dtype\":\""), 1);
      t->name = name;
      t->rank = numbers(&h, ",\"shape\":[", t->dims, MAX_RANK, "]");
      refuse_if(numbers(&h, ",\"data_offsets\":[", offset, 2, "]") != 2 || offset[0] > offset[1],
                "tensor '%s': not two offsets in order", name);
      tensor_fill(t, type, slice(file, offset[0], offset[1] - offset[0]));
    }
    skip_over(&h, "}");
    if (!skip(&h, ","))
      break;
  }
  skip_over(&h, "}");
  return all;
}

tensor *
tensors_read(bytes file, size_t *n)
{
  tensor *t = NULL;
  if (file.size >= 6 && memcmp(file.data, "\x93NUMPY", 6) == 0) {
    t = allocate(1, sizeof *t);
    t->name = copy_text("x", 1);
    npy(t, file);
    *n = 1;
  } else if (file.size >= 22 && memcmp(file.data, "PK", 2) == 0) {
    t = npz(file, n);
  } else {
    refuse_if(file.size < 9 || file.data[8] != '{', "neither .npy nor .npz nor safetensors");
    t = safetensors(file, n);
  }
  for (size_t i = 0; i < *n; i++)
    for (size_t j = 0; j < i; j++)
      refuse_if(strcmp(t[i].name, t[j].name) == 0, "two tensors named '%s'", t[i].name);
  return t;
}
