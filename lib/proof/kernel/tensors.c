/* Files of numbers: .npy, stored .npz and safetensors. Every number is decoded exactly. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *npy, *safetensors;
  size_t width;
  unsigned exponent, fraction; /* bits, of a floating-point type */
} types[] = {
  [F16] = {"<f2", "F16", 2, 5, 10}, [BF16] = {"", "BF16", 2, 8, 7},
  [F32] = {"<f4", "F32", 4, 8, 23}, [F64] = {"<f8", "F64", 8, 11, 52},
  [I8] = {"|i1", "I8", 1, 0, 0},    [I16] = {"<i2", "I16", 2, 0, 0},
  [I32] = {"<i4", "I32", 4, 0, 0},  [I64] = {"<i8", "I64", 8, 0, 0},
  [U8] = {"|u1", "U8", 1, 0, 0},    [U16] = {"<u2", "U16", 2, 0, 0},
  [U32] = {"<u4", "U32", 4, 0, 0},  [U64] = {"<u8", "U64", 8, 0, 0},
  [BOOL] = {"|b1", "BOOL", 1, 0, 0},
};

size_t dtype_width(dtype d) {
  return types[d].width;
}

static uint64_t little(const unsigned char *p, size_t width) {
  uint64_t x = 0;
  for (size_t i = width; i-- > 0;) x = x << 8 | p[i];
  return x;
}

/* False for what is no number. */
static bool decode(rational *q, dtype d, const unsigned char *p) {
  uint64_t x = little(p, types[d].width), sign = (uint64_t)1 << (8 * types[d].width - 1);
  bool negative = d <= I64 && (x & sign) != 0;
  long e = 0, top = (1L << types[d].exponent) - 1;
  if (d <= F64) { /* IEEE 754: an exponent of 0 is read as 1, without the hidden bit */
    e = (long)(x >> types[d].fraction) & top;
    if (e == top) return false;
    x &= ((uint64_t)1 << types[d].fraction) - 1;
    x |= (uint64_t)(e > 0) << types[d].fraction;
    e = (e > 0 ? e : 1) - top / 2 - (long)types[d].fraction;
  } else if (negative) {
    x = sign - (x & (sign - 1));
  }
  mpz_set_ui(mpq_numref(q), x);
  (e < 0 ? mpq_div_2exp : mpq_mul_2exp)(q, q, (unsigned long)labs(e));
  if (negative) mpq_neg(q, q);
  return d != BOOL || x <= 1;
}

void tensor_fill(tensor *t, dtype d, bytes data) {
  t->count = 1; t->real = d <= F64;
  for (size_t i = 0; i < t->rank; i++)
    refuse_if(__builtin_mul_overflow(t->count, t->dims[i], &t->count),
              "tensor '%s' is too large", t->name);
  refuse_if(t->count > data.size / types[d].width || t->count * types[d].width != data.size,
            "tensor '%s': its %zu bytes of data do not fit its shape", t->name, data.size);
  t->value = rationals(t->count);
  for (size_t i = 0; i < t->count; i++)
    expect(decode(&t->value[i], d, data.data + i * types[d].width),
           "tensor '%s', entry %zu: not a finite number", t->name, i);
}

/* Steps over the text, if it is next. */
static bool skip(bytes *b, const char *text) {
  size_t n = strlen(text);
  if (b->size < n || memcmp(b->data, text, n) != 0) return false;
  *b = (bytes){b->data + n, b->size - n};
  return true;
}

static void take(bytes *b, const char *text) {
  expect(skip(b, text),
         "a header in which '%s' is missing, or not where NumPy or safetensors write it", text);
}

/* A string up to the quote; without escapes. */
static char *quoted(bytes *b, char quote) {
  const unsigned char *end = b->size > 0 ? memchr(b->data, quote, b->size) : NULL;
  refuse_if(end == NULL || memchr(b->data, '\\', (size_t)(end - b->data)) != NULL,
            "a header with a string that does not end, or holds an escape");
  size_t n = (size_t)(end - b->data);
  char *s = copy_text(b->data, n);
  *b = (bytes){b->data + n + 1, b->size - n - 1};
  return s;
}

/* Numbers up to the end, at most `most`; returns how many. */
static size_t numbers(bytes *b, size_t *list, size_t most, const char *end) {
  size_t n = 0;
  for (; !skip(b, end); n++) {
    refuse_if(n == most || b->size == 0 || *b->data < '0' || *b->data > '9',
              "a header with a list that is too long, or not of numbers");
    for (list[n] = 0; b->size > 0 && *b->data >= '0' && *b->data <= '9'; b->data++, b->size--)
      refuse_if(__builtin_mul_overflow(list[n], 10, &list[n])
          || __builtin_add_overflow(list[n], (size_t)*b->data - '0', &list[n]),
                "a header with too large a number");
    while (skip(b, ",") || skip(b, " ")) {}
  }
  return n;
}

/* The header as NumPy writes it: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } */
static void npy(tensor *t, bytes b) {
  refuse_if(b.size < 12 || memcmp(b.data, "\x93NUMPY", 6) != 0 || b.data[6] < 1 || b.data[6] > 3,
            "'%s' is not an .npy file", t->name);
  size_t wide = b.data[6] == 1 ? 2 : 4, length = little(b.data + 8, wide), d = 0;
  refuse_if(length > b.size - 8 - wide, "'%s': its header does not end", t->name);
  bytes h = {b.data + 8 + wide, length};
  take(&h, "{'descr': '");
  char *descr = quoted(&h, '\'');
  take(&h, ", 'fortran_order': False, 'shape': (");
  t->rank = numbers(&h, t->dims, MAX_RANK, ")");
  take(&h, ", }");
  while (d <= BOOL && strcmp(types[d].npy, descr) != 0) d++;
  refuse_if(d > BOOL, "'%s': unsupported type %s", t->name, descr);
  tensor_fill(t, (dtype)d, (bytes){b.data + 8 + wide + length, b.size - 8 - wide - length});
}

/* One member of an .npz, at central directory entry c. */
static void npz_member(tensor *t, bytes file, const unsigned char *c) {
  size_t size = little(c + 20, 4), at = little(c + 42, 4), name = little(c + 28, 2);
  t->name = copy_text(c + 46, name);
  refuse_if(little(c + 10, 2) != 0 || (c[8] & 1) != 0,
            "member '%s' is compressed or encrypted: write it with numpy.savez", t->name);
  refuse_if(name < 4 || strcmp(t->name + name - 4,
            ".npy") != 0, "member '%s' is not an .npy file", t->name);
  refuse_if(at > file.size || file.size - at < 30 || memcmp(file.data + at,
            "PK\3\4", 4) != 0, "member '%s' is not where the archive says", t->name);
  size_t head = 30 + little(file.data + at + 26, 2) + little(file.data + at + 28, 2);
  refuse_if(file.size - at < head || file.size - at - head < size,
            "member '%s' is cut off", t->name);
  t->name[name - 4] = '\0'; npy(t, (bytes){file.data + at + head, size});
}

static tensor *npz(bytes file, size_t *n) {
  const unsigned char *end = NULL, *c;
  for (size_t back = 22; back <= file.size && back < 22 + 65536 && end == NULL; back++)
    if (memcmp(file.data + file.size - back, "PK\5\6", 4) == 0) end = file.data + file.size - back;
  refuse_if(end == NULL, "an archive without a directory");
  size_t at = little(end + 16, 4);
  *n = little(end + 10, 2);
  tensor *t = allocate(*n, sizeof *t);
  for (size_t i = 0; i < *n; i++) {
    c = file.data + at;
    refuse_if(at > file.size || file.size - at < 46 || memcmp(c, "PK\1\2", 4) != 0
        || file.size - at - 46 < little(c + 28, 2), "the archive's directory is broken");
    npz_member(&t[i], file, c);
    at += 46 + little(c + 28, 2) + little(c + 30, 2) + little(c + 32, 2);
  }
  return t;
}

/* After eight bytes with its length, a header such as {"w":{"dtype":"F32","shape":[2,3],
 * "data_offsets":[0,24]}}, with "__metadata__":{"key":"text"} perhaps. */
static tensor *safetensors(bytes file, size_t *n) {
  size_t length = little(file.data, 8), d, offset[2];
  tensor *t = NULL;
  *n = 0;
  refuse_if(length > file.size - 8, "a header that does not end");
  bytes h = {file.data + 8, length}, data = {file.data + 8 + length, file.size - 8 - length};
  take(&h, "{");
  while (skip(&h, "\"")) {
    char *name = quoted(&h, '"');
    if (strcmp(name, "__metadata__") == 0) {
      for (take(&h, ":{"); skip(&h, "\""); skip(&h, ",")) {
        quoted(&h, '"');
        take(&h, ":\"");
        quoted(&h, '"');
      }
    } else {
      t = grow(t, *n, sizeof *t); t[*n].name = name;
      take(&h, ":{\"dtype\":\"");
      char *type = quoted(&h, '"');
      for (d = 0; d <= BOOL && strcmp(types[d].safetensors, type) != 0;) d++;
      take(&h, ",\"shape\":[");
      t[*n].rank = numbers(&h, t[*n].dims, MAX_RANK, "]");
      take(&h, ",\"data_offsets\":[");
      refuse_if(numbers(&h, offset, 2, "]") != 2 || offset[0] > offset[1] || offset[1] > data.size
                || d > BOOL, "tensor '%s': unsupported type, or data outside the file", name);
      tensor_fill(&t[(*n)++], (dtype)d, (bytes){data.data + offset[0], offset[1] - offset[0]});
    }
    take(&h, "}");
    if (!skip(&h, ",")) break;
  }
  take(&h, "}");
  return t;
}

tensor *tensors_read(bytes file, size_t *n) {
  tensor *t = NULL;
  if (file.size >= 6 && memcmp(file.data, "\x93NUMPY", 6) == 0) {
    t = allocate(1, sizeof *t);
    t->name = copy_text("x", 1);
    npy(t, file);
    *n = 1;
  } else if (file.size >= 22 && memcmp(file.data, "PK", 2) == 0) {
    t = npz(file, n);
  } else if (file.size >= 9 && file.data[8] == '{') {
    t = safetensors(file, n);
  } else {
    leave(REFUSED, "neither .npy nor .npz nor safetensors");
  }
  for (size_t i = 0; i < *n; i++)
    for (size_t j = 0; j < i; j++)
      refuse_if(strcmp(t[i].name, t[j].name) == 0, "two tensors named '%s'", t[i].name);
  return t;
}
