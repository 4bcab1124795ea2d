/* Records compared: run.json as JSON, and the tensors of the steps that both have. */
#include "difference.h"

#include "base/text.h"
#include "format/file.h"
#include "format/npz.h"
#include "format/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What else says that files differ: their tensors are compared themselves, or their nodes are in run.json. */
static const char *const skipped[] = {"sha256", "file", NULL};

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

/* Of a step's file, which a step need not have. */
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
compare_files(clarke_differences *d, size_t at, const char *key, json_t *const step[2], char *const path[2], clarke_error *err)
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

static clarke_status
compare_steps(clarke_differences *d, json_t *const run[2], char *const path[2], clarke_error *err)
{
  static const char *const keys[] = {"batch", "parameters", "gradients", "trace"};
  const json_t *steps[2] = {json_object_get(run[0], "steps"), json_object_get(run[1], "steps")};
  const size_t n[2] = {json_array_size(steps[0]), json_array_size(steps[1])};
  clarke_status status = CLARKE_OK;

  for (size_t s = 0; status == CLARKE_OK && s < (n[0] < n[1] ? n[0] : n[1]); s++) {
    json_t *const step[2] = {json_array_get(steps[0], s), json_array_get(steps[1], s)};

    for (size_t k = 0; status == CLARKE_OK && k < sizeof keys / sizeof *keys; k++)
      status = compare_files(d, s, keys[k], step, path, err);
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
    status = compare_steps(d, run, path, err);
  }
  for (size_t i = 0; i < 2; i++) {
    json_decref(run[i]);
    free(path[i]);
  }
  return status;
}
