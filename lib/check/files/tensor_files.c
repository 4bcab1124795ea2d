/* Safetensors, and NumPy's files. What the safetensors library would read otherwise, or refuse, is refused. */
#include "check/files/tensor_files.h"
#include "check/base/allocate.h"
#include "check/files/header_text.h"
#include "check/files/json.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  size_t from, to;
} range;

static int
by_place(const void *a, const void *b)
{
  const range *p = a, *q = b;
  return p->from != q->from ? (p->from > q->from) - (p->from < q->from) : (p->to > q->to) - (p->to < q->to);
}

/* The tensors' data must be all there is, without holes or overlaps. */
static void
check_tiling(range *ranges, size_t n, size_t size)
{
  size_t at = 0;
  if (n > 0)
    qsort(ranges, n, sizeof *ranges, by_place);
  for (size_t i = 0; i < n; i++) {
    refuse_if(ranges[i].from != at, "tensors whose data overlap, or leave a hole");
    at = ranges[i].to;
  }
  refuse_if(at != size, "data that belong to no tensor");
}

/* A list of whole numbers, at most `most`; returns how many. */
static size_t
json_numbers(bytes *h, size_t *n, size_t most)
{
  size_t i = 0;
  json_over(h, "[");
  for (; !json_token(h, "]"); i++) {
    if (i > 0)
      json_over(h, ",");
    refuse_if(i == most, "a header with a list that is too long");
    n[i] = text_number(h);
  }
  return i;
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, its keys in any order. */
static range
safetensors_entry(tensor *t, bytes *h, bytes data, bool hold)
{
  size_t offset[2] = {0}, type = 0;
  name_index keys = {0};
  json_over(h, "{");
  for (char *key; (key = json_key(h, &keys)) != NULL;) {
    if (strcmp(key, "dtype") == 0)
      type = type_named(text_quoted(h, "\""), 1);
    else if (strcmp(key, "shape") == 0)
      t->rank = json_numbers(h, t->dims, MAX_RANK);
    else
      expect(strcmp(key, "data_offsets") == 0 && json_numbers(h, offset, 2) == 2,
             "tensor '%s': a key other than dtype, shape and data_offsets, or not two of these", t->name);
  }
  refuse_if(keys.n != 3 || offset[0] > offset[1], "tensor '%s': not a dtype, a shape and two offsets in order",
            t->name);
  name_index_free(&keys);
  (hold ? tensor_hold : tensor_fill)(t, type, slice(data, offset[0], offset[1] - offset[0]));
  return (range){offset[0], offset[1]};
}

/* {"key": "text", "key": "text"} */
static void
skip_metadata(bytes *h)
{
  name_index keys = {0};
  json_over(h, "{");
  while (json_key(h, &keys) != NULL)
    free(text_quoted(h, "\""));
  name_index_free(&keys);
}

/* After eight bytes with its length, a header: the JSON object {"w": {...}}, with "__metadata__": {"key": "text"} perhaps. It
 * begins at once; between its tokens and at its end are blanks, or none. */
static tensor *
safetensors(bytes file, size_t *n, bool hold)
{
  size_t length = little(take(&file, 8), 0, 8);
  refuse_if(length > 100000000, "a header of over 100000000 bytes");
  bytes h = take(&file, length);
  tensor *all = NULL;
  range *ranges = NULL;
  name_index keys = {0};
  *n = 0;
  text_over(&h, "{");
  for (char *name; (name = json_key(&h, &keys)) != NULL;) {
    if (strcmp(name, "__metadata__") == 0) {
      skip_metadata(&h);
      continue;
    }
    all = grow(all, *n, sizeof *all);
    ranges = grow(ranges, *n, sizeof *ranges);
    all[*n].name = name;
    ranges[*n] = safetensors_entry(&all[*n], &h, file, hold);
    ++*n;
  }
  name_index_free(&keys);
  refuse_if(h.size > 0, "a header with more after its end");
  check_tiling(ranges, *n, file.size);
  return all;
}

static tensor *
read_tensors(bytes file, size_t *n, name_index *names, bool hold)
{
  name_index own = {0};
  tensor *t = NULL;
  if (!is_of_arrays(file)) {
    refuse_if(file.size < 9 || file.data[8] != '{', "neither .npy nor .npz nor safetensors");
    t = safetensors(file, n, hold);
  } else
    t = arrays_read(file, n);
  tensors_name(t, *n, names != NULL ? names : &own);
  name_index_free(&own);
  return t;
}

tensor *
tensors_read(bytes file, size_t *n, name_index *names)
{
  return read_tensors(file, n, names, false);
}

tensor *
tensors_hold(bytes file, size_t *n, name_index *names)
{
  return read_tensors(file, n, names, true);
}
