/* Tensors in several files, of safetensors or (.bin) of torch.save, and the index that says where: {"metadata": {...}, "weight_map": {TENSOR: FILE}}. */
#include "format/shards.h"

#include "format/file.h"
#include "format/object.h"
#include "format/pt.h"
#include "format/safetensors.h"
#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void
clarke_shards_init(clarke_shards *s)
{
  memset(s, 0, sizeof *s);
}

void
clarke_shards_clear(clarke_shards *s)
{
  for (size_t i = 0; i < s->n; i++) {
    free(s->shard[i].file);
    free(s->shard[i].tensor);
  }
  free(s->shard);
  clarke_shards_init(s);
}

static int
compare_shards(const void *one, const void *other)
{
  const clarke_shard *a = one, *b = other;
  const int order = strcmp(a->file, b->file);

  return order != 0 ? order : strcmp(a->tensor, b->tensor);
}

/* --- the index -------------------------------------------------------------------------------- */

/* A name that stays in the folder. */
static bool
is_plain(const char *name)
{
  return *name != '\0' && *name != '.' && strchr(name, '/') == NULL && strlen(name) < 256 &&
         clarke_text_valid(name, strlen(name));
}

static clarke_status
read_shard(clarke_shard *shard, const char *tensor, const json_t *value, clarke_error *err)
{
  const char *file = json_string_value(value);

  if (!clarke_text_valid(tensor, strlen(tensor)))
    return clarke_fail(err, CLARKE_EINPUT, "a tensor's name holds control characters");
  if (file == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "tensor \"%s\": has no file; expected a string", tensor);
  if (!is_plain(file))
    return clarke_fail(err, CLARKE_EINPUT, "tensor \"%s\": its file is not a name in the index's own folder", tensor);
  shard->tensor = strdup(tensor);
  shard->file = strdup(file);
  return shard->tensor != NULL && shard->file != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
read_map(clarke_shards *s, json_t *map, clarke_error *err)
{
  const char *tensor;
  json_t *value;
  clarke_status status = CLARKE_OK;

  if (!json_is_object(map))
    return clarke_fail(err, CLARKE_EINPUT, "has no weight_map; expected an object that says which file holds which tensor");
  s->shard = calloc(json_object_size(map) + 1, sizeof *s->shard);
  if (s->shard == NULL)
    return clarke_no_memory(err);
  json_object_foreach(map, tensor, value) {
    if (status == CLARKE_OK)
      status = read_shard(&s->shard[s->n++], tensor, value, err);
  }
  if (s->n > 1 && status == CLARKE_OK)
    qsort(s->shard, s->n, sizeof *s->shard, compare_shards);
  return status;
}

clarke_status
clarke_shards_parse(clarke_shards *s, const void *data, size_t size, const char *file, clarke_error *err)
{
  json_t *index;
  clarke_status status = clarke_object_parse(&index, data, size, file, err);

  clarke_shards_clear(s);
  if (status != CLARKE_OK)
    return status;
  status = json_is_object(index) ? read_map(s, json_object_get(index, "weight_map"), err)
                                 : clarke_fail(err, CLARKE_EINPUT, "is no JSON object");
  json_decref(index);
  if (status == CLARKE_OK)
    return status;
  clarke_shards_clear(s);
  return clarke_fail_in(err, status, "%s", file);
}

/* --- the files -------------------------------------------------------------------------------- */

/* Are the tensors just those of the n shards, which are sorted as they are? */
static clarke_status
compare_names(const clarke_tensors *ts, const clarke_shard *shard, size_t n, clarke_error *err)
{
  for (size_t i = 0; i < n || i < ts->n; i++) {
    const int order = i == n ? 1 : i == ts->n ? -1 : strcmp(shard[i].tensor, ts->tensor[i].name);

    if (order < 0)
      return clarke_fail(err, CLARKE_EINPUT, "no tensor \"%s\", which the index says it holds", shard[i].tensor);
    if (order > 0)
      return clarke_fail(err, CLARKE_EINPUT, "tensor \"%s\", of which the index says nothing", ts->tensor[i].name);
  }
  return CLARKE_OK;
}

/* The n shards are of one file. Its tensors go to `to`, which has room. */
static clarke_status
read_file(clarke_tensor *to, const clarke_shard *shard, size_t n, const char *path, clarke_error *err)
{
  clarke_file file = {0};
  clarke_tensors ts;
  clarke_status status = clarke_file_read_beside(&file, path, shard->file, err);

  clarke_tensors_init(&ts);
  if (status == CLARKE_OK && clarke_ends_with(shard->file, ".bin"))
    status = clarke_pt_parse(&ts, NULL, file.data, file.size, shard->file, err);
  else if (status == CLARKE_OK)
    status = clarke_safetensors_parse(&ts, file.data, file.size, shard->file, err);
  clarke_file_clear(&file);
  if (status == CLARKE_OK) {
    status = compare_names(&ts, shard, n, err);
    if (status != CLARKE_OK)
      clarke_fail_in(err, status, "%s", shard->file);
  }
  for (size_t i = 0; i < n && status == CLARKE_OK; i++) {
    to[i] = ts.tensor[i];
    clarke_tensor_init(&ts.tensor[i]);
  }
  clarke_tensors_clear(&ts);
  return status;
}

clarke_status
clarke_shards_read(clarke_tensors *ts, const clarke_shards *s, const char *path, clarke_error *err)
{
  clarke_status status;

  clarke_tensors_clear(ts);
  status = clarke_tensors_alloc(ts, s->n, err);
  for (size_t first = 0, n; first < s->n && status == CLARKE_OK; first += n) {
    for (n = 1; first + n < s->n && strcmp(s->shard[first + n].file, s->shard[first].file) == 0;)
      n++;
    status = read_file(&ts->tensor[first], &s->shard[first], n, path, err);
  }
  if (status == CLARKE_OK)
    status = clarke_tensors_sort(ts, err);
  if (status == CLARKE_OK)
    return status;
  clarke_tensors_clear(ts);
  return clarke_fail_in(err, status, "%s", clarke_base_name(path));
}
