/* safetensors (https://github.com/huggingface/safetensors): the length N of a header (8 bytes,
 * little-endian), N bytes of JSON that give each tensor a dtype, a shape and a range of bytes, and
 * after them the data, which the ranges must tile: no hole, no overlap, nothing left. */
#include "format/safetensors.h"

#include "format/extent.h"
#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The reference reader's limit. */
#define MAX_HEADER 100000000

static const struct {
  const char *name;
  clarke_dtype dtype;
} dtypes[] = {
  { "F64", CLARKE_F64 }, { "F32", CLARKE_F32 }, { "F16", CLARKE_F16 }, { "BF16", CLARKE_BF16 },
  { "I64", CLARKE_I64 }, { "I32", CLARKE_I32 }, { "I16", CLARKE_I16 }, { "I8", CLARKE_I8 },
  { "U64", CLARKE_U64 }, { "U32", CLARKE_U32 }, { "U16", CLARKE_U16 }, { "U8", CLARKE_U8 },
  { "BOOL", CLARKE_BOOL },
};

/* One entry of the header; the name is the JSON's. */
typedef struct {
  const char *name;
  clarke_dtype dtype;
  size_t rank, dims[CLARKE_MAX_RANK];
  size_t begin, end;
} entry;

typedef struct {
  const unsigned char *data; /* what follows the header */
  size_t size;
  size_t n;
  entry *entries;
} layout;

static clarke_status
read_dtype(entry *e, const json_t *value, clarke_error *err)
{
  const char *text = json_string_value(value);

  if (text == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "has no dtype; expected a string");
  for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++)
    if (strcmp(text, dtypes[k].name) == 0) {
      e->dtype = dtypes[k].dtype;
      return CLARKE_OK;
    }
  return clarke_fail(err, CLARKE_EINPUT, "dtype \"%s\" is not supported",
                     clarke_text_valid(text, strlen(text)) ? text : "?");
}

/* A size or an offset: an integer that is not negative. */
static clarke_status
read_size(size_t *size, const json_t *value, const char *what, clarke_error *err)
{
  if (!json_is_integer(value) || json_integer_value(value) < 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s holds what is no non-negative integer", what);
  *size = (size_t)json_integer_value(value);
  return CLARKE_OK;
}

static clarke_status
read_shape(entry *e, const json_t *value, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (!json_is_array(value))
    return clarke_fail(err, CLARKE_EINPUT, "has no shape; expected an array");
  if (json_array_size(value) > CLARKE_MAX_RANK)
    return clarke_fail(err, CLARKE_EINPUT, "has %zu dimensions; at most %d are read",
                       json_array_size(value), CLARKE_MAX_RANK);
  e->rank = json_array_size(value);
  for (size_t k = 0; k < e->rank && status == CLARKE_OK; k++)
    status = read_size(&e->dims[k], json_array_get(value, k), "shape", err);
  return status;
}

static clarke_status
read_range(entry *e, const json_t *value, clarke_error *err)
{
  clarke_status status;

  if (!json_is_array(value) || json_array_size(value) != 2)
    return clarke_fail(err, CLARKE_EINPUT, "has no data_offsets; expected [begin, end]");
  status = read_size(&e->begin, json_array_get(value, 0), "data_offsets", err);
  if (status == CLARKE_OK)
    status = read_size(&e->end, json_array_get(value, 1), "data_offsets", err);
  return status;
}

static clarke_status
check_range(const entry *e, const layout *l, clarke_error *err)
{
  clarke_extent x;
  clarke_status status;

  if (e->begin > e->end || e->end > l->size)
    return clarke_fail(err, CLARKE_EINPUT,
                       "data_offsets [%zu, %zu] lie outside the %zu bytes of data", e->begin,
                       e->end, l->size);
  status = clarke_extent_of(&x, e->dtype, e->rank, e->dims, err);
  if (status == CLARKE_OK && e->end - e->begin != x.bytes)
    return clarke_fail(err, CLARKE_EINPUT, "data_offsets [%zu, %zu] hold %zu bytes; expected %zu "
                       "for %s", e->begin, e->end, e->end - e->begin, x.bytes, x.text);
  return status;
}

static clarke_status
read_entry(entry *e, json_t *value, const layout *l, clarke_error *err)
{
  clarke_status status;

  if (!json_is_object(value))
    return clarke_fail(err, CLARKE_EINPUT, "is no object");
  status = read_dtype(e, json_object_get(value, "dtype"), err);
  if (status == CLARKE_OK)
    status = read_shape(e, json_object_get(value, "shape"), err);
  if (status == CLARKE_OK)
    status = read_range(e, json_object_get(value, "data_offsets"), err);
  if (status == CLARKE_OK && json_object_size(value) != 3)
    status = clarke_fail(err, CLARKE_EINPUT,
                         "has a key other than dtype, shape and data_offsets");
  return status == CLARKE_OK ? check_range(e, l, err) : status;
}

static clarke_status
check_metadata(json_t *metadata, clarke_error *err)
{
  const char *key;
  json_t *value;

  if (!json_is_object(metadata))
    return clarke_fail(err, CLARKE_EINPUT, "__metadata__ is no object");
  json_object_foreach(metadata, key, value)
    if (!json_is_string(value))
      return clarke_fail(err, CLARKE_EINPUT, "__metadata__ holds what is no string");
  return CLARKE_OK;
}

static clarke_status
read_entries(layout *l, json_t *header, clarke_error *err)
{
  const char *name;
  json_t *value;
  clarke_status status;

  l->entries = calloc(json_object_size(header) + 1, sizeof *l->entries);
  if (l->entries == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu tensors", json_object_size(header));
  json_object_foreach(header, name, value) {
    if (strcmp(name, "__metadata__") == 0) {
      status = check_metadata(value, err);
    } else if (!clarke_text_valid(name, strlen(name))) {
      status = clarke_fail(err, CLARKE_EINPUT, "a tensor's name holds control characters");
    } else {
      l->entries[l->n].name = name;
      status = read_entry(&l->entries[l->n++], value, l, err);
      if (status != CLARKE_OK)
        clarke_fail_in(err, status, "tensor \"%s\"", name);
    }
    if (status != CLARKE_OK)
      return status;
  }
  return CLARKE_OK;
}

static int
by_range(const void *a, const void *b)
{
  const entry *p = a, *q = b;

  if (p->begin != q->begin)
    return p->begin < q->begin ? -1 : 1;
  if (p->end != q->end)
    return p->end < q->end ? -1 : 1;
  return strcmp(p->name, q->name);
}

static clarke_status
check_tiling(layout *l, clarke_error *err)
{
  size_t at = 0;

  if (l->n > 1)
    qsort(l->entries, l->n, sizeof *l->entries, by_range);
  for (size_t k = 0; k < l->n; k++) {
    const entry *e = &l->entries[k];

    if (e->begin != at)
      return clarke_fail(err, CLARKE_EINPUT,
                         "tensor \"%s\": its data begins at %zu, %s the tensor before it, which "
                         "ends at %zu", e->name, e->begin,
                         e->begin < at ? "inside" : "past a hole after", at);
    at = e->end;
  }
  if (at != l->size)
    return clarke_fail(err, CLARKE_EINPUT, "%zu bytes of data; the tensors hold %zu", l->size, at);
  return CLARKE_OK;
}

static clarke_status
decode(clarke_tensors *ts, const layout *l, bool packed, clarke_error *err)
{
  clarke_status status = clarke_tensors_alloc(ts, l->n, err);

  for (size_t k = 0; k < l->n && status == CLARKE_OK; k++) {
    const entry *e = &l->entries[k];
    clarke_tensor *t = &ts->tensor[k];

    status = packed ? clarke_tensor_describe(t, e->name, e->dtype, e->rank, e->dims, err)
                    : clarke_tensor_shape(t, e->name, e->dtype, e->rank, e->dims, err);
    if (status == CLARKE_OK)
      status = packed ? clarke_tensor_pack(t, l->data + e->begin, err) : clarke_tensor_decode(t, l->data + e->begin, false, err);
  }
  return status == CLARKE_OK ? clarke_tensors_sort(ts, err) : status;
}

/* Splits the file into the header's JSON and the data. */
static clarke_status
split(const char **json, size_t *length, layout *l, const unsigned char *data, size_t size,
      clarke_error *err)
{
  uint64_t n = 0;

  if (size < 8)
    return clarke_fail(err, CLARKE_EINPUT, "%zu bytes; a safetensors file has at least 8", size);
  for (size_t k = 8; k-- > 0;)
    n = n << 8 | data[k];
  if (n > MAX_HEADER)
    return clarke_fail(err, CLARKE_EINPUT,
                       "not a safetensors file: a header of %llu bytes; at most %d are read",
                       (unsigned long long)n, MAX_HEADER);
  if (n > size - 8)
    return clarke_fail(err, CLARKE_EINPUT, "a header of %llu bytes in a file of %zu",
                       (unsigned long long)n, size);
  if (n == 0 || data[8] != '{')
    return clarke_fail(err, CLARKE_EINPUT, "the header does not begin with '{'");
  *json = (const char *)data + 8;
  *length = (size_t)n;
  l->data = data + 8 + n;
  l->size = size - 8 - (size_t)n;
  return CLARKE_OK;
}

static clarke_status
load_header(json_t **header, const char *json, size_t length, clarke_error *err)
{
  json_error_t why;

  *header = json_loadb(json, length, JSON_REJECT_DUPLICATES, &why);
  if (*header == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "the header is no JSON: byte %d: %s", why.position,
                       clarke_text_valid(why.text, strlen(why.text)) ? why.text : "not readable");
  return CLARKE_OK;
}

static clarke_status
parse(clarke_tensors *ts, const void *data, size_t size, const char *file, bool packed, clarke_error *err)
{
  layout l = { NULL, 0, 0, NULL };
  const char *json = NULL;
  size_t length = 0;
  json_t *header = NULL;
  clarke_status status;

  clarke_tensors_clear(ts);
  status = split(&json, &length, &l, data, size, err);
  if (status == CLARKE_OK)
    status = load_header(&header, json, length, err);
  if (status == CLARKE_OK)
    status = read_entries(&l, header, err);
  if (status == CLARKE_OK)
    status = check_tiling(&l, err);
  if (status == CLARKE_OK)
    status = decode(ts, &l, packed, err);
  free(l.entries);
  json_decref(header);
  if (status == CLARKE_OK)
    return status;
  clarke_tensors_clear(ts);
  return clarke_fail_in(err, status, "%s", file);
}

clarke_status
clarke_safetensors_parse(clarke_tensors *ts, const void *data, size_t size, const char *file, clarke_error *err)
{
  return parse(ts, data, size, file, false, err);
}

clarke_status
clarke_safetensors_parse_packed(clarke_tensors *ts, const void *data, size_t size, const char *file, clarke_error *err)
{
  return parse(ts, data, size, file, true, err);
}
