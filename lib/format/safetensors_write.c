/* Writing float64 tensors as safetensors (safetensors.c says what that is). */
#include "format/safetensors_write.h"

#include "base/output.h"
#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers that are written at a time. */
#define BLOCK ((size_t)512)

static clarke_status
check_tensor(const clarke_tensor *t, clarke_error *err)
{
  if (t->name == NULL || !clarke_text_valid(t->name, strlen(t->name))
      || strcmp(t->name, "__metadata__") == 0)
    return clarke_fail(err, CLARKE_EINPUT, "a tensor has no name that can be written");
  if (t->dtype != CLARKE_F64 || t->real == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "tensor \"%s\" is %s; expected float64", t->name,
                       clarke_dtype_name(t->dtype));
  for (size_t i = 0; i < t->count; i++)
    if (!isfinite(t->real[i]))
      return clarke_fail(err, CLARKE_EINPUT, "tensor \"%s\": entry %zu is not finite", t->name, i);
  return CLARKE_OK;
}

/* {"dtype":"F64","shape":[...],"data_offsets":[at,end]}; NULL out of memory. */
static json_t *
describe(const clarke_tensor *t, size_t at)
{
  json_t *shape = json_array();

  for (size_t k = 0; k < t->rank; k++)
    if (json_array_append_new(shape, json_integer((json_int_t)t->dims[k])) != 0) {
      json_decref(shape);
      return NULL;
    }
  return json_pack("{s:s, s:o, s:[I,I]}", "dtype", "F64", "shape", shape, "data_offsets",
                   (json_int_t)at, (json_int_t)(at + 8 * t->count));
}

static clarke_status
describe_all(json_t *header, const clarke_tensors *ts, clarke_error *err)
{
  size_t at = 0;

  for (size_t i = 0; i < ts->n; i++) {
    const clarke_tensor *t = &ts->tensor[i];
    clarke_status status = check_tensor(t, err);

    if (status != CLARKE_OK)
      return status;
    if (json_object_get(header, t->name) != NULL)
      return clarke_fail(err, CLARKE_EINPUT, "two tensors are named \"%s\"", t->name);
    if (json_object_set_new(header, t->name, describe(t, at)) != 0)
      return clarke_fail(err, CLARKE_ENOMEM, "no memory for the header");
    at += 8 * t->count;
  }
  return CLARKE_OK;
}

/* *text = the header as JSON. */
static clarke_status
make_header(char **text, const clarke_tensors *ts, json_t *metadata, clarke_error *err)
{
  json_t *header = json_object();
  clarke_status status;

  *text = NULL;
  if (header == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for the header");
  status = describe_all(header, ts, err);
  if (status == CLARKE_OK && metadata != NULL && json_object_set(header, "__metadata__", metadata) != 0)
    status = clarke_fail(err, CLARKE_ENOMEM, "no memory for the header");
  if (status == CLARKE_OK) {
    *text = json_dumps(header, JSON_COMPACT);
    if (*text == NULL)
      status = clarke_fail(err, CLARKE_ENOMEM, "no memory for the header");
  }
  json_decref(header);
  return status;
}

static void
set_word(unsigned char *bytes, uint64_t word)
{
  for (size_t k = 0; k < 8; k++)
    bytes[k] = (unsigned char)(word >> (8 * k));
}

static void
put_word(FILE *f, uint64_t word)
{
  unsigned char bytes[8];

  set_word(bytes, word);
  fwrite(bytes, 1, sizeof bytes, f);
}

static void
put_numbers(FILE *f, const double *v, size_t n)
{
  unsigned char bytes[8 * BLOCK];

  for (size_t k = 0; k < n; k++) {
    uint64_t word;

    memcpy(&word, &v[k], sizeof word);
    set_word(bytes + 8 * k, word);
  }
  fwrite(bytes, 8, n, f);
}

/* The length, the header padded with spaces to a multiple of 8, the data. */
static void
put_all(FILE *f, const char *header, const clarke_tensors *ts)
{
  const size_t length = strlen(header), padding = (8 - length % 8) % 8;

  put_word(f, length + padding);
  fwrite(header, 1, length, f);
  fwrite("       ", 1, padding, f);
  for (size_t i = 0; i < ts->n; i++)
    for (size_t k = 0; k < ts->tensor[i].count && ferror(f) == 0; k += BLOCK)
      put_numbers(f, ts->tensor[i].real + k, ts->tensor[i].count - k < BLOCK ? ts->tensor[i].count - k : BLOCK);
}

clarke_status
clarke_safetensors_write(const char *path, const clarke_tensors *ts, json_t *metadata, clarke_error *err)
{
  char *header;
  clarke_output o;
  clarke_status status = make_header(&header, ts, metadata, err);

  if (status == CLARKE_OK)
    status = clarke_output_open(&o, path, err);
  else
    clarke_fail_in(err, status, "%s", path);
  if (status == CLARKE_OK) {
    put_all(o.to, header, ts);
    status = clarke_output_close(&o, status, path, err);
  }
  free(header);
  return status;
}
