/* .npy arrays (numpy.lib.format, versions 1 to 3): magic, a Python dictionary in one line that
 * tells the element type, the order and the shape, and the entries. The dictionary is read by a
 * grammar of just what numpy writes; Python is not parsed, and nothing is unpickled. */
#include "format/npy.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *at, *end;
} cursor;

static void
skip_spaces(cursor *c)
{
  while (c->at < c->end && *c->at == ' ')
    c->at++;
}

/* Takes the word, after spaces, if it comes next. */
static bool
take(cursor *c, const char *word)
{
  const size_t n = strlen(word);

  skip_spaces(c);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
    return false;
  c->at += n;
  return true;
}

/* Takes a quoted string without escapes into text (NUL-terminated). */
static bool
take_string(cursor *c, char *text, size_t room)
{
  char quote;
  size_t n = 0;

  skip_spaces(c);
  if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
    return false;
  quote = *c->at++;
  for (; c->at < c->end && *c->at != quote && n + 1 < room; n++)
    text[n] = *c->at++;
  if (c->at == c->end || *c->at != quote || memchr(text, '\\', n) != NULL)
    return false;
  c->at++;
  text[n] = '\0';
  return clarke_text_valid(text, n);
}

static bool
take_number(cursor *c, size_t *value)
{
  const char *first;

  skip_spaces(c);
  first = c->at;
  *value = 0;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    if (*value > (SIZE_MAX - 9) / 10)
      return false;
    *value = 10 * *value + (size_t)(*c->at - '0');
  }
  return c->at != first && (*first != '0' || c->at == first + 1); /* Python takes no 07 */
}

static clarke_status
unreadable(const char *what, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "the header is not as numpy writes it: %s", what);
}

static const struct {
  const char *code; /* after the byte order */
  clarke_dtype dtype;
} codes[] = {
  { "f2", CLARKE_F16 }, { "f4", CLARKE_F32 }, { "f8", CLARKE_F64 }, { "i1", CLARKE_I8 },
  { "i2", CLARKE_I16 }, { "i4", CLARKE_I32 }, { "i8", CLARKE_I64 }, { "u1", CLARKE_U8 },
  { "u2", CLARKE_U16 }, { "u4", CLARKE_U32 }, { "u8", CLARKE_U64 }, { "b1", CLARKE_BOOL },
};

static clarke_status
refuse_descr(const char *descr, clarke_error *err)
{
  const char *code = *descr != '\0' ? descr + 1 : descr;

  if (*code == 'O')
    return clarke_fail(err, CLARKE_EINPUT,
                       "an array of Python objects ('%s'): pickled data is never read", descr);
  if (strcmp(code, "V2") == 0)
    return clarke_fail(err, CLARKE_EINPUT,
                       "element type '%s' is not supported; if it is bfloat16, save it as float32, "
                       "which holds the same values", descr);
  return clarke_fail(err, CLARKE_EINPUT, "element type '%s' is not supported", descr);
}

static clarke_status
read_descr(clarke_npy_header *h, cursor *c, clarke_error *err)
{
  char descr[32];

  if (take(c, "["))
    return clarke_fail(err, CLARKE_EINPUT, "a structured array is not supported; expected numbers");
  if (!take_string(c, descr, sizeof descr))
    return unreadable("'descr' has no string", err);
  for (size_t k = 0; k < sizeof codes / sizeof codes[0]; k++) {
    if (*descr == '\0' || strcmp(descr + 1, codes[k].code) != 0)
      continue;
    h->dtype = codes[k].dtype;
    h->big_endian = *descr == '>';
    if (*descr == '<' || *descr == '>' || (*descr == '|' && clarke_dtype_size(h->dtype) == 1))
      return CLARKE_OK;
  }
  return refuse_descr(descr, err);
}

static clarke_status
read_order(clarke_npy_header *h, cursor *c, clarke_error *err)
{
  h->fortran_order = take(c, "True");
  if (!h->fortran_order && !take(c, "False"))
    return unreadable("'fortran_order' is neither True nor False", err);
  return CLARKE_OK;
}

/* (), (3,), (3, 4) or (3, 4,). */
static clarke_status
read_shape(clarke_npy_header *h, cursor *c, clarke_error *err)
{
  bool comma = true;

  if (!take(c, "("))
    return unreadable("'shape' is no tuple", err);
  while (!take(c, ")")) {
    if (!comma)
      return unreadable("'shape' is no tuple of sizes", err);
    if (h->rank == CLARKE_MAX_RANK)
      return clarke_fail(err, CLARKE_EINPUT, "more than %d dimensions", CLARKE_MAX_RANK);
    if (!take_number(c, &h->dims[h->rank++]))
      return unreadable("'shape' is no tuple of sizes", err);
    comma = take(c, ",");
  }
  if (h->rank == 1 && !comma)
    return unreadable("'shape' is a number", err);
  return CLARKE_OK;
}

/* The dictionary: its three keys in any order, each once; then spaces and the line's end. */
static clarke_status
read_dictionary(clarke_npy_header *h, cursor c, clarke_error *err)
{
  static const char *const keys[] = { "descr", "fortran_order", "shape" };
  static clarke_status (*const read[])(clarke_npy_header *, cursor *, clarke_error *) = {
    read_descr, read_order, read_shape };
  unsigned seen = 0;
  bool comma = true;

  if (!take(&c, "{"))
    return unreadable("it is no dictionary", err);
  while (!take(&c, "}")) {
    char key[16];
    unsigned k = 0;
    clarke_status status;

    if (!comma || !take_string(&c, key, sizeof key) || !take(&c, ":"))
      return unreadable("expected a key", err);
    while (k < 3 && strcmp(key, keys[k]) != 0)
      k++;
    if (k == 3 || (seen & 1u << k) != 0)
      return clarke_fail(err, CLARKE_EINPUT, "the header's key '%s' is %s", key,
                         k == 3 ? "not known" : "given twice");
    seen |= 1u << k;
    status = read[k](h, &c, err);
    if (status != CLARKE_OK)
      return status;
    comma = take(&c, ",");
  }
  if (seen != 7)
    return unreadable("a key of 'descr', 'fortran_order', 'shape' is missing", err);
  return take(&c, "\n") && c.at == c.end ? CLARKE_OK : unreadable("expected the line's end", err);
}

/* Finds the dictionary between the magic and the data. */
static clarke_status
find_dictionary(cursor *c, const unsigned char *data, size_t size, clarke_error *err)
{
  size_t width, length = 0;

  if (size < 10 || memcmp(data, "\x93NUMPY", 6) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "not an .npy array: it does not begin with \\x93NUMPY");
  if (data[6] < 1 || data[6] > 3 || data[7] != 0)
    return clarke_fail(err, CLARKE_EINPUT, ".npy version %d.%d; versions 1.0, 2.0 and 3.0 are read",
                       data[6], data[7]);
  width = data[6] == 1 ? 2 : 4;
  for (size_t k = width; k-- > 0;)
    length = length << 8 | (8 + k < size ? data[8 + k] : 0);
  if (length > CLARKE_NPY_MAX_HEADER)
    return clarke_fail(err, CLARKE_EINPUT, "a header of %zu bytes; at most %d are read", length,
                       CLARKE_NPY_MAX_HEADER);
  if (size < 8 + width || size - 8 - width < length)
    return clarke_fail(err, CLARKE_EINPUT, "the header of %zu bytes runs past the end", length);
  c->at = (const char *)data + 8 + width;
  c->end = c->at + length;
  return CLARKE_OK;
}

clarke_status
clarke_npy_read_header(clarke_npy_header *h, const void *data, size_t size, size_t total,
                       clarke_error *err)
{
  cursor c;
  clarke_status status = find_dictionary(&c, data, size, err);

  memset(h, 0, sizeof *h);
  if (status != CLARKE_OK)
    return status;
  h->start = (size_t)(c.end - (const char *)data);
  status = read_dictionary(h, c, err);
  if (status == CLARKE_OK)
    status = clarke_extent_of(&h->extent, h->dtype, h->rank, h->dims, err);
  if (status == CLARKE_OK && total - h->start != h->extent.bytes)
    return clarke_fail(err, CLARKE_EINPUT, "%zu bytes of data; expected %zu for %s",
                       total - h->start, h->extent.bytes, h->extent.text);
  return status;
}

/* Copies entries stored with the first index running fastest into row-major order. */
static void
transpose(unsigned char *to, const unsigned char *from, const clarke_npy_header *h)
{
  size_t stride[CLARKE_MAX_RANK];
  size_t step = 1;

  for (size_t k = 0; k < h->rank; k++) {
    stride[k] = step;
    step *= h->dims[k];
  }
  clarke_extent_gather(to, from, &h->extent, clarke_dtype_size(h->dtype), h->rank, h->dims,
                       stride);
}

clarke_status
clarke_npy_read_data(clarke_tensor *t, const clarke_npy_header *h, const char *name,
                     const void *entries, clarke_error *err)
{
  unsigned char *ordered;
  clarke_status status = clarke_tensor_shape(t, name, h->dtype, h->rank, h->dims, err);

  if (status != CLARKE_OK || h->extent.count == 0)
    return status;
  if (!h->fortran_order || h->rank < 2)
    return clarke_tensor_decode(t, entries, h->big_endian, err);
  ordered = malloc(h->extent.bytes);
  if (ordered == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu bytes", h->extent.bytes);
  transpose(ordered, entries, h);
  status = clarke_tensor_decode(t, ordered, h->big_endian, err);
  free(ordered);
  return status;
}

/* The tensor of a lone array is named after its file, "x" for "dir/x.npy". */
static char *
name_after(const char *file)
{
  const char *base = clarke_base_name(file);
  const size_t n = strlen(base);

  return n > 4 && strcmp(base + n - 4, ".npy") == 0 ? strndup(base, n - 4) : strdup(base);
}

clarke_status
clarke_npy_parse(clarke_tensor *t, const void *data, size_t size, const char *file,
                 clarke_error *err)
{
  clarke_npy_header h;
  char *name = name_after(file);
  clarke_status status;

  clarke_tensor_clear(t);
  if (name == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "%s: no memory for its name", file);
  status = clarke_npy_read_header(&h, data, size, size, err);
  if (status == CLARKE_OK)
    status = clarke_npy_read_data(t, &h, name, (const unsigned char *)data + h.start, err);
  free(name);
  if (status == CLARKE_OK)
    return status;
  clarke_tensor_clear(t);
  return clarke_fail_in(err, status, "%s", file);
}
