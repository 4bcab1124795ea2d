/* TensorProto: a shape, an element type, and the entries either as raw little-endian bytes or in
 * the typed field that onnx.proto assigns to the element type. */
#include "format/extent.h"
#include "format/onnx_inside.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
  DIMS = 1, DATA_TYPE = 2, SEGMENT = 3, FLOAT_DATA = 4, INT32_DATA = 5, STRING_DATA = 6,
  INT64_DATA = 7, NAME = 8, RAW_DATA = 9, DOUBLE_DATA = 10, UINT64_DATA = 11, DOC_STRING = 12,
  EXTERNAL_DATA = 13, DATA_LOCATION = 14, METADATA_PROPS = 16,
};

                               /* By TensorProto.DataType; typed 0: not read. */
static const struct {
  const char *name;
  clarke_dtype dtype;
  unsigned typed;
} types[] = {
  [0] = { "UNDEFINED", 0, 0 },
  [1] = { "FLOAT", CLARKE_F32, FLOAT_DATA },
  [2] = { "UINT8", CLARKE_U8, INT32_DATA },
  [3] = { "INT8", CLARKE_I8, INT32_DATA },
  [4] = { "UINT16", CLARKE_U16, INT32_DATA },
  [5] = { "INT16", CLARKE_I16, INT32_DATA },
  [6] = { "INT32", CLARKE_I32, INT32_DATA },
  [7] = { "INT64", CLARKE_I64, INT64_DATA },
  [8] = { "STRING", 0, 0 },
  [9] = { "BOOL", CLARKE_BOOL, INT32_DATA },
  [10] = { "FLOAT16", CLARKE_F16, INT32_DATA },
  [11] = { "DOUBLE", CLARKE_F64, DOUBLE_DATA },
  [12] = { "UINT32", CLARKE_U32, UINT64_DATA },
  [13] = { "UINT64", CLARKE_U64, UINT64_DATA },
  [14] = { "COMPLEX64", 0, 0 },
  [15] = { "COMPLEX128", 0, 0 },
  [16] = { "BFLOAT16", CLARKE_BF16, INT32_DATA },
  [17] = { "FLOAT8E4M3FN", CLARKE_F8_E4M3FN, INT32_DATA },
  [18] = { "FLOAT8E4M3FNUZ", CLARKE_F8_E4M3FNUZ, INT32_DATA },
  [19] = { "FLOAT8E5M2", CLARKE_F8_E5M2, INT32_DATA },
  [20] = { "FLOAT8E5M2FNUZ", CLARKE_F8_E5M2FNUZ, INT32_DATA },
  [21] = { "UINT4", CLARKE_U4, INT32_DATA },
  [22] = { "INT4", CLARKE_I4, INT32_DATA },
  [23] = { "FLOAT4E2M1", 0, 0 },
  [24] = { "FLOAT8E8M0", 0, 0 },
  [25] = { "UINT2", CLARKE_U2, INT32_DATA },
  [26] = { "INT2", CLARKE_I2, INT32_DATA },
};

/* TensorProto.DataLocation */
#define EXTERNAL 1

#define N_TYPES (sizeof types / sizeof types[0])

const char *
clarke_onnx_type_name(uint64_t code)
{
  return code < N_TYPES ? types[code].name : "unknown";
}

bool
clarke_onnx_dtype(clarke_dtype *dtype, uint64_t code)
{
  if (code >= N_TYPES || types[code].typed == 0)
    return false;
  *dtype = types[code].dtype;
  return true;
}

/* How many entries a byte of the file holds, the first one in its lowest bits: 4, 2, or 1. */
static size_t
in_a_byte(clarke_dtype dtype)
{
  return dtype == CLARKE_I2 || dtype == CLARKE_U2 ? 4 : dtype == CLARKE_I4 || dtype == CLARKE_U4 ? 2 : 1;
}

/* The bytes that so many entries take in the file. */
static size_t
stored_bytes(clarke_dtype dtype, const clarke_extent *e)
{
  const size_t n = in_a_byte(dtype);

  return n == 1 ? e->bytes : e->count / n + (e->count % n != 0);
}

/* What one pass over the message finds, before anything is allocated. */
typedef struct {
  clarke_wire_span raw;
  bool given;    /* is there a raw_data, which may be empty? */
  uint64_t type; /* TensorProto.DataType */
  size_t rank, dims[CLARKE_MAX_RANK];
  const clarke_wire_rule *typed; /* the typed field that has entries */
  size_t typed_count;
  uint64_t where; /* TensorProto.DataLocation */
  bool external;  /* is there an external_data? */
  clarke_external_range range;
  bool segmented;
} survey;

static clarke_status
survey_dims(survey *s, const clarke_wire_field *f, clarke_error *err)
{
  clarke_wire_span run = f->span;

  while (run.size != 0) {
    uint64_t dim;
    clarke_status status = clarke_wire_number(&run, CLARKE_WIRE_VARINT, &dim, err);

    if (status != CLARKE_OK)
      return status;
    if (s->rank == CLARKE_MAX_RANK)
      return clarke_fail(err, CLARKE_EINPUT, "more than %d dimensions", CLARKE_MAX_RANK);
    if (dim > INT64_MAX)
      return clarke_fail(err, CLARKE_EINPUT, "dimension %zu is negative (%lld)", s->rank,
                         (long long)(int64_t)dim);
    s->dims[s->rank++] = (size_t)dim;
  }
  return CLARKE_OK;
}

static clarke_status
survey_typed(survey *s, const clarke_wire_field *f, clarke_error *err)
{
  size_t count = 1;
  clarke_status status = CLARKE_OK;

  if (f->rule->type != CLARKE_WIRE_BYTES)
    status = clarke_wire_count(f, &count, err);
  if (status != CLARKE_OK || count == 0)
    return status;
  if (s->typed != NULL && s->typed != f->rule)
    return clarke_fail(err, CLARKE_EINPUT, "entries both in %s and in %s", s->typed->name,
                       f->rule->name);
  s->typed = f->rule;
  s->typed_count += count;
  return CLARKE_OK;
}

static clarke_status
survey_field(survey *s, const clarke_wire_field *f, clarke_error *err)
{
  switch (f->number) {
  case DIMS:
    return survey_dims(s, f, err);
  case DATA_TYPE:
    s->type = f->value;
    return CLARKE_OK;
  case NAME:
  case DOC_STRING:
  case METADATA_PROPS:
    return CLARKE_OK;
  case RAW_DATA:
    s->raw = f->span;
    s->given = true;
    return CLARKE_OK;
  case SEGMENT:
    s->segmented = true;
    return CLARKE_OK;
  case EXTERNAL_DATA:
    s->external = true;
    return clarke_external_entry(&s->range, f->span, err);
  case DATA_LOCATION:
    s->where = f->value;
    return CLARKE_OK;
  default:
    return survey_typed(s, f, err);
  }
}

static clarke_status
survey_tensor(survey *s, clarke_wire_span span, clarke_error *err)
{
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  memset(s, 0, sizeof *s);
  clarke_wire_open(&w, &clarke_onnx_tensor_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    status = survey_field(s, &f, err);
    if (status != CLARKE_OK)
      return status;
  }
  return status;
}

/* Are the entries there, in the right field, and exactly as many as the shape says? */
static clarke_status
check_entries(const survey *s, const clarke_extent *e, clarke_error *err)
{
  const unsigned typed = types[s->type].typed;
  const size_t bytes = stored_bytes(types[s->type].dtype, e), count = in_a_byte(types[s->type].dtype) > 1 ? bytes : e->count;

  if (s->typed != NULL && s->given)
    return clarke_fail(err, CLARKE_EINPUT, "entries both in raw_data and in %s", s->typed->name);
  if (s->typed != NULL && s->typed->number != typed)
    return clarke_fail(err, CLARKE_EINPUT, "%s is no field for entries of type %s",
                       s->typed->name, types[s->type].name);
  if (s->typed != NULL && s->typed_count != count)
    return clarke_fail(err, CLARKE_EINPUT, "%s holds %zu entries; expected %zu for %s",
                       s->typed->name, s->typed_count, count, e->text);
  if (s->typed == NULL && s->raw.size == 0 && bytes != 0)
    return clarke_fail(err, CLARKE_EINPUT, "has no data; expected %zu bytes for %s", bytes,
                       e->text);
  if (s->typed == NULL && s->raw.size != bytes)
    return clarke_fail(err, CLARKE_EINPUT, "raw_data holds %zu bytes; expected %zu for %s",
                       s->raw.size, bytes, e->text);
  return CLARKE_OK;
}

/* The same where the entries lie in another file. */
static clarke_status
check_external(const survey *s, const clarke_extent *e, clarke_error *err)
{
  if (s->where != EXTERNAL)
    return clarke_fail(err, CLARKE_EINPUT, "data_location is %llu, which is no external file's, but "
                       "it has external_data", (unsigned long long)s->where);
  if (s->typed != NULL || s->given)
    return clarke_fail(err, CLARKE_EINPUT, "entries both in the model and in an external file");
  return clarke_external_check(&s->range, stored_bytes(types[s->type].dtype, e), err);
}

static clarke_status
check_survey(const survey *s, clarke_extent *e, clarke_error *err)
{
  clarke_status status;

  if (s->where > EXTERNAL)
    return clarke_fail(err, CLARKE_EINPUT, "data_location %llu is not known",
                       (unsigned long long)s->where);
  if (s->segmented)
    return clarke_fail(err, CLARKE_EINPUT, "is stored in segments, which are not supported");
  if (s->type >= N_TYPES || types[s->type].typed == 0)
    return clarke_fail(err, CLARKE_EINPUT, "element type %llu (%s) is not supported",
                       (unsigned long long)s->type, clarke_onnx_type_name(s->type));
  status = clarke_extent_of(e, types[s->type].dtype, s->rank, s->dims, err);
  if (status != CLARKE_OK)
    return status;
  return s->external || s->where == EXTERNAL ? check_external(s, e, err)
                                             : check_entries(s, e, err);
}

/* Does the number fit the element type? Typed fields are wider than most types they carry. */
static bool
fits(clarke_dtype dtype, uint64_t value)
{
  const unsigned bits = 8 * (unsigned)clarke_dtype_size(dtype);
  const int64_t as_signed = (int64_t)value;

  switch (dtype) {
  case CLARKE_BOOL:
    return value <= 1;
  case CLARKE_I8:
  case CLARKE_I16:
  case CLARKE_I32:
    return as_signed >= -((int64_t)1 << (bits - 1)) && as_signed < (int64_t)1 << (bits - 1);
  default:
    return bits == 64 || value >> bits == 0;
  }
}

/* The entries of a typed field as the little-endian bytes that raw_data would hold. */
static clarke_status
gather_typed(unsigned char *bytes, const clarke_tensor *t, const survey *s, clarke_wire_span span,
             clarke_error *err)
{
  const size_t width = clarke_dtype_size(t->dtype);
  size_t i = 0;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &clarke_onnx_tensor_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    clarke_wire_span run = f.span;

    while (f.rule == s->typed && run.size != 0 && i < s->typed_count) {
      uint64_t value;

      status = clarke_wire_number(&run, f.rule->type, &value, err);
      if (status != CLARKE_OK)
        return status;
      if (!fits(t->dtype, value))
        return clarke_fail(err, CLARKE_EINPUT, "%s entry %zu (%lld) is no %s", f.rule->name, i,
                           (long long)(int64_t)value, clarke_dtype_name(t->dtype));
      for (size_t k = 0; k < width; k++)
        bytes[i * width + k] = (unsigned char)(value >> (8 * k));
      i++;
    }
  }
  return status;
}

/* Entries of which a byte holds several, in a byte each. */
static clarke_status
decode_parts(clarke_tensor *t, const unsigned char *bytes, clarke_error *err)
{
  const size_t n = in_a_byte(t->dtype), bits = 8 / n;
  const unsigned half = 1u << (bits - 1), mask = 2 * half - 1;
  const bool negative = t->dtype == CLARKE_I4 || t->dtype == CLARKE_I2;
  unsigned char *whole = malloc(t->count + 1);
  clarke_status status;

  if (whole == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu bytes", t->count);
  for (size_t i = 0; i < t->count; i++) {
    const unsigned entry = bytes[i / n] >> (bits * (i % n)) & mask;

    whole[i] = (unsigned char)(negative && entry >= half ? entry - 2 * half : entry);
  }
  status = clarke_tensor_decode_any(t, whole, err);
  free(whole);
  return status;
}

/* The entries as the file has them. */
static clarke_status
decode(clarke_tensor *t, const void *bytes, clarke_error *err)
{
  return in_a_byte(t->dtype) > 1 ? decode_parts(t, bytes, err) : clarke_tensor_decode_any(t, bytes, err);
}

/* Reads the entries before any room is made for their values: the file may not have them. */
static clarke_status
read_external(clarke_tensor *t, const char *name, const survey *s, const clarke_extent *e,
              clarke_external *external, clarke_error *err)
{
  unsigned char *bytes;
  clarke_status status
      = clarke_external_read(&bytes, external, &s->range, stored_bytes(types[s->type].dtype, e), err);

  if (status != CLARKE_OK)
    return clarke_fail_in(err, status, "tensor \"%s\"", name);
  status = clarke_tensor_shape(t, name, types[s->type].dtype, s->rank, s->dims, err);
  if (status == CLARKE_OK)
    status = decode(t, bytes, err);
  free(bytes);
  return status;
}

static clarke_status
read_internal(clarke_tensor *t, const char *name, const survey *s, const clarke_extent *e,
              clarke_wire_span span, clarke_error *err)
{
  unsigned char *bytes;
  clarke_status status =
      clarke_tensor_shape(t, name, types[s->type].dtype, s->rank, s->dims, err);

  if (status != CLARKE_OK)
    return status;
  if (s->typed == NULL)
    return decode(t, s->raw.data, err);
  bytes = calloc(e->bytes, 1); /* at least as many as are stored */
  if (bytes == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu bytes", e->bytes);
  status = gather_typed(bytes, t, s, span, err);
  if (status != CLARKE_OK)
    clarke_fail_in(err, status, "tensor \"%s\"", t->name);
  else
    status = decode(t, bytes, err);
  free(bytes);
  return status;
}

clarke_wire_span
clarke_onnx_tensor_name(clarke_wire_span span)
{
  return clarke_wire_find(span, &clarke_onnx_tensor_message, NAME);
}

clarke_status
clarke_onnx_tensor(clarke_tensor *t, clarke_wire_span span, const char *unnamed,
                   clarke_external *external, clarke_error *err)
{
  const clarke_wire_span found = clarke_onnx_tensor_name(span);
  survey s;
  clarke_extent e;
  char *name;
  clarke_status status = found.size != 0
      ? clarke_text_copy(&name, found.data, found.size, "a tensor's name", err)
      : clarke_text_copy(&name, unnamed, strlen(unnamed), "a tensor's name", err);

  if (status != CLARKE_OK)
    return status;
  status = survey_tensor(&s, span, err);
  if (status == CLARKE_OK)
    status = check_survey(&s, &e, err);
  if (status != CLARKE_OK)
    clarke_fail_in(err, status, "tensor \"%s\"", name);
  else if (s.external)
    status = read_external(t, name, &s, &e, external, err);
  else
    status = read_internal(t, name, &s, &e, span, err);
  free(name);
  return status;
}
