#include "tensors.h"

#include "../narrow.h"
#include "base/output.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

void
tensor_add(tensor_list *l, const char *name, const float *at, numbers type, size_t rows, size_t cols)
{
  tensor *t = &l->tensor[l->n++];

  assert(l->n <= MOST_TENSORS && strlen(name) < sizeof t->name);
  strcpy(t->name, name);
  t->at = at;
  t->type = type == NUMBERS_TF32 ? NUMBERS_FLOAT32 : type;
  t->rank = cols > 0 ? 2 : 1;
  t->dims[0] = rows;
  t->dims[1] = cols;
}

size_t
tensor_entries(const tensor *t)
{
  return t->rank == 2 ? t->dims[0] * t->dims[1] : t->dims[0];
}

static size_t
bytes_of(const tensor *t)
{
  return tensor_entries(t) * (t->type == NUMBERS_FLOAT32 ? 4 : 2);
}

static int
by_name(const void *a, const void *b)
{
  return strcmp(((const tensor *)a)->name, ((const tensor *)b)->name);
}

static json_t *
header_of(const tensor_list *l)
{
  static const char *const type[] = {"F32", "F16", "BF16"};
  json_t *header = json_object();
  size_t at = 0;

  for (size_t i = 0; i < l->n; i++) {
    const tensor *t = &l->tensor[i];
    json_t *shape = t->rank == 2 ? json_pack("[I, I]", (json_int_t)t->dims[0], (json_int_t)t->dims[1])
                                 : json_pack("[I]", (json_int_t)t->dims[0]);

    json_object_set_new(header, t->name, json_pack("{s:s, s:o, s:[I, I]}", "dtype", type[t->type], "shape", shape, "data_offsets",
                                                   (json_int_t)at, (json_int_t)(at + bytes_of(t))));
    at += bytes_of(t);
  }
  return header;
}

static void
put(FILE *to, uint64_t bits, size_t bytes)
{
  for (; bytes > 0; bytes--, bits >>= 8)
    fputc((int)(bits & 0xff), to);
}

clarke_status
tensors_check(const tensor_list *l, clarke_error *err)
{
  for (size_t i = 0; i < l->n; i++)
    for (size_t e = 0; e < tensor_entries(&l->tensor[i]); e++)
      if (!isfinite(l->tensor[i].at[e]))
        return clarke_fail(err, CLARKE_EINPUT, "%s: entry %zu is not finite; a step with such numbers is not recorded", l->tensor[i].name,
                           e);
  return CLARKE_OK;
}

static void
put_numbers(FILE *to, const tensor *t)
{
  for (size_t e = 0; e < tensor_entries(t); e++) {
    uint32_t bits;

    memcpy(&bits, &t->at[e], sizeof bits);
    if (t->type == NUMBERS_FLOAT32)
      put(to, bits, 4);
    else
      put(to, t->type == NUMBERS_FLOAT16 ? narrow_float16(bits) : narrow_bfloat16(bits), 2);
  }
}

clarke_status
tensors_write(const char *path, const tensor_list *l, clarke_error *err)
{
  tensor_list sorted = *l;
  clarke_output o;
  char *text;
  json_t *header;
  clarke_status status = clarke_output_open(&o, path, err);

  if (status != CLARKE_OK)
    return status;
  qsort(sorted.tensor, sorted.n, sizeof *sorted.tensor, by_name);
  header = header_of(&sorted);
  text = json_dumps(header, JSON_COMPACT);
  json_decref(header);
  if (text == NULL)
    status = clarke_no_memory(err);
  else {
    put(o.to, strlen(text), 8);
    fputs(text, o.to);
  }
  free(text);
  for (size_t i = 0; i < sorted.n && status == CLARKE_OK; i++)
    put_numbers(o.to, &sorted.tensor[i]);
  return clarke_output_close(&o, status, path, err);
}

/* --- .npz --- */

/* An .npy in memory: malloc; NULL when out of memory. */
static unsigned char *
npy(size_t *size, const float *from, size_t rows, size_t cols, bool integers)
{
  const size_t n = cols > 0 ? rows * cols : rows, width = integers ? 8 : 4, header = 128;
  unsigned char *data = malloc(header + n * width);
  char text[119], shape[64];

  if (data == NULL)
    return NULL;
  snprintf(shape, sizeof shape, cols > 0 ? "(%zu, %zu)" : "(%zu,)", rows, cols);
  snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", integers ? "<i8" : "<f4", shape);
  memcpy(data, "\x93NUMPY\1\0\x76\0", 10);
  memset(data + 10, ' ', header - 10);
  memcpy(data + 10, text, strlen(text));
  data[header - 1] = '\n';
  for (size_t e = 0; e < n; e++) {
    const int64_t whole = (int64_t)from[e];

    if (integers)
      memcpy(data + header + 8 * e, &whole, 8);
    else
      memcpy(data + header + 4 * e, &from[e], 4);
  }
  *size = header + n * width;
  return data;
}

static bool
put_array(zip_t *z, const char *name, unsigned char *data, size_t size)
{
  zip_source_t *source = data != NULL ? zip_source_buffer(z, data, size, 1) : NULL;
  const zip_int64_t at = source != NULL ? zip_file_add(z, name, source, ZIP_FL_OVERWRITE) : -1;

  return at >= 0 && zip_set_file_compression(z, (zip_uint64_t)at, ZIP_CM_STORE, 0) == 0
         && zip_file_set_dostime(z, (zip_uint64_t)at, 0, 0x21, 0) == 0;
}

clarke_status
batch_write(const char *path, const float *x, const float *y, size_t rows, size_t cols, clarke_error *err)
{
  int why;
  zip_t *z = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &why);
  size_t size_x, size_y;
  unsigned char *of_x, *of_y;

  if (z == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: it cannot be written", path);
  of_x = npy(&size_x, x, rows, cols, false);
  of_y = npy(&size_y, y, rows, 0, true);
  if (of_x == NULL || of_y == NULL || !put_array(z, "x.npy", of_x, size_x) || !put_array(z, "y.npy", of_y, size_y)) {
    zip_discard(z);
    return clarke_fail(err, CLARKE_ENOMEM, "%s: no memory for its arrays", path);
  }
  if (zip_close(z) != 0) {
    zip_discard(z);
    return clarke_fail(err, CLARKE_EINPUT, "%s: it cannot be written", path);
  }
  return CLARKE_OK;
}
