/* Records compared: run.json as JSON, the tensors of the steps that both have, and the other files byte for byte. */
#include "difference.h"

#include "base/text.h"
#include "format/file.h"
#include "format/npz.h"
#include "format/safetensors.h"
#include "op/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What else says that files differ: they are compared themselves. */
static const char *const skipped[] = {"sha256", "file", NULL};

static bool
is_one_of(const char *const *list, const char *key)
{
  while (*list != NULL && strcmp(*list, key) != 0)
    list++;
  return *list != NULL;
}

static clarke_status
read_description(json_t **j, char **path, const char *folder, clarke_error *err)
{
  clarke_file file = {0};
  clarke_status status;
  json_error_t why;

  *path = clarke_text_print("%s/run.json", folder);
  if (*path == NULL)
    return clarke_no_memory(err);
  status = clarke_file_read_found(&file, *path, err);
  if (status == CLARKE_OK) {
    *j = json_loadb((const char *)file.data, file.size, JSON_REJECT_DUPLICATES, &why);
    if (*j == NULL)
      status = clarke_fail(err, CLARKE_EINPUT, "%s:%d: no JSON: %s", *path, why.line, why.text);
  }
  clarke_file_clear(&file);
  return status;
}

/* Reads the tensors of a step's file, which a step need not have. */
static clarke_status
read_tensors(clarke_tensors *ts, const json_t *step, const char *key, const char *beside, clarke_error *err)
{
  const json_t *entry = json_object_get(json_object_get(step, "files"), key);
  const char *name = json_string_value(json_object_get(entry, "file"));
  clarke_file file = {0};
  clarke_status status;
  bool stored;

  if (name == NULL)
    return CLARKE_OK;
  status = clarke_file_read_beside(&file, beside, name, err);
  if (status == CLARKE_OK)
    status = clarke_ends_with(name, ".npz") ? clarke_npz_parse(ts, &stored, file.data, file.size, name, err)
                                            : clarke_safetensors_parse(ts, file.data, file.size, name, err);
  clarke_file_clear(&file);
  return status;
}

static clarke_status
compare_tensors(clarke_differences *d, size_t at, const char *key, json_t *const step[2], char *const path[2], clarke_error *err)
{
  clarke_tensors ts[2];
  char before[64];
  clarke_status status = CLARKE_OK;

  snprintf(before, sizeof before, "step %zu, %s: ", at, key);
  for (size_t i = 0; i < 2; i++)
    clarke_tensors_init(&ts[i]);
  for (size_t i = 0; status == CLARKE_OK && i < 2; i++)
    status = read_tensors(&ts[i], step[i], key, path[i], err);
  if (status == CLARKE_OK)
    status = clarke_differences_of_tensors(d, before, &ts[0], &ts[1], err);
  for (size_t i = 0; i < 2; i++)
    clarke_tensors_clear(&ts[i]);
  return status;
}

/* Files of these names beside run.json. Where one has none, that is a row of run.json. */
static clarke_status
compare_bytes(clarke_differences *d, const char *at, const char *const name[2], char *const path[2], clarke_error *err)
{
  clarke_file file[2] = {{0}, {0}};
  char text[2][64];
  clarke_status status = CLARKE_OK;

  if (name[0] == NULL || name[1] == NULL)
    return CLARKE_OK;
  for (size_t i = 0; status == CLARKE_OK && i < 2; i++) {
    status = clarke_file_read_beside(&file[i], path[i], name[i], err);
    snprintf(text[i], sizeof text[i], "%zu bytes, SHA-256 %.12s", file[i].size, file[i].sha256);
  }
  d->compared++;
  if (status == CLARKE_OK && strcmp(file[0].sha256, file[1].sha256) != 0)
    clarke_differences_add(d, at, text[0], text[1]);
  clarke_file_clear(&file[0]);
  clarke_file_clear(&file[1]);
  return status;
}

static const char *
file_of(const json_t *entry)
{
  return json_string_value(json_object_get(entry, "file"));
}

/* A profile that lies in the folder; known ones are rows of run.json. */
static const char *
profile_of(const json_t *run)
{
  const char *name = json_string_value(json_object_get(run, "profile"));

  return name != NULL && !clarke_profile_known(name) ? name : NULL;
}

/* What a step has besides tensors, as trees of sums. */
static clarke_status
compare_others(clarke_differences *d, size_t at, const char *const *tensors, json_t *const step[2], char *const path[2], clarke_error *err)
{
  json_t *const files[2] = {json_object_get(step[0], "files"), json_object_get(step[1], "files")};
  clarke_status status = CLARKE_OK;
  const char *key;
  json_t *entry;

  json_object_foreach (files[0], key, entry) {
    char *place;

    if (status != CLARKE_OK || is_one_of(tensors, key))
      continue;
    place = clarke_text_print("step %zu, %s", at, key);
    status = place != NULL ? compare_bytes(d, place, (const char *const[]){file_of(entry), file_of(json_object_get(files[1], key))}, path, err) : clarke_no_memory(err);
    free(place);
  }
  return status;
}

static clarke_status
compare_steps(clarke_differences *d, json_t *const run[2], char *const path[2], clarke_error *err)
{
  static const char *const keys[] = {"batch", "parameters", "gradients", "trace", "optimizer", NULL};
  const json_t *steps[2] = {json_object_get(run[0], "steps"), json_object_get(run[1], "steps")};
  const size_t n[2] = {json_array_size(steps[0]), json_array_size(steps[1])};
  clarke_status status = CLARKE_OK;

  for (size_t s = 0; status == CLARKE_OK && s < (n[0] < n[1] ? n[0] : n[1]); s++) {
    json_t *const step[2] = {json_array_get(steps[0], s), json_array_get(steps[1], s)};

    for (size_t k = 0; status == CLARKE_OK && keys[k] != NULL; k++)
      status = compare_tensors(d, s, keys[k], step, path, err);
    if (status == CLARKE_OK)
      status = compare_others(d, s, keys, step, path, err);
  }
  return status;
}

clarke_status
clarke_differences_of_records(clarke_differences *d, const char *first, const char *second, clarke_error *err)
{
  json_t *run[2] = {NULL, NULL};
  char *path[2] = {NULL, NULL};
  clarke_status status = read_description(&run[0], &path[0], first, err);

  if (status == CLARKE_OK)
    status = read_description(&run[1], &path[1], second, err);
  if (status == CLARKE_OK) {
    clarke_differences_of_json(d, "", run[0], run[1], skipped);
    status = compare_bytes(d, "graph", (const char *const[]){file_of(json_object_get(run[0], "graph")), file_of(json_object_get(run[1], "graph"))}, path, err);
  }
  if (status == CLARKE_OK) {
    status = compare_bytes(d, "its profile", (const char *const[]){profile_of(run[0]), profile_of(run[1])}, path, err);
  }
  if (status == CLARKE_OK)
    status = compare_steps(d, run, path, err);
  for (size_t i = 0; i < 2; i++) {
    json_decref(run[i]);
    free(path[i]);
  }
  return status;
}
