#include "format/manifest.h"

#include "base/text.h"
#include "format/object.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void
clarke_manifest_init(clarke_manifest *m)
{
  memset(m, 0, sizeof *m);
}

static void
texts_clear(clarke_manifest_texts *t)
{
  for (size_t i = 0; i < t->n; i++)
    free(t->text[i]);
  free(t->text);
}

void
clarke_manifest_clear(clarke_manifest *m)
{
  free(m->model);
  free(m->loss);
  free(m->seed);
  texts_clear(&m->checkpoints);
  texts_clear(&m->batches);
  texts_clear(&m->profiles);
  texts_clear(&m->formats);
  texts_clear(&m->wrt);
  clarke_manifest_init(m);
}

/* Copies a text of one line that is not empty: the name of something. */
static clarke_status
copy_text(char **to, const json_t *j, const char *key, clarke_error *err)
{
  const char *text = json_string_value(j);

  if (text == NULL || *text == '\0' || strchr(text, '\n') != NULL)
    return clarke_object_wrong(key, "a text of one line", err);
  return clarke_text_copy(to, text, json_string_length(j), key, err);
}

/* A text, or a list of `least` or more that differ; a key that is missing has none, and an empty list does not stand for that. */
static clarke_status
read_texts(clarke_manifest_texts *to, const json_t *object, const char *key, size_t least, size_t most, clarke_error *err)
{
  const json_t *list = json_object_get(object, key);
  const size_t n = list == NULL ? 0 : json_is_array(list) ? json_array_size(list) : 1;
  clarke_status status = CLARKE_OK;

  if (n < least || n > most || (list != NULL && n == 0))
    return clarke_fail(err, CLARKE_EINPUT, "'%s': expected a list of %zu to %zu texts; there are %zu", key, least > 0 ? least : 1,
                       most, n);
  to->text = calloc(n + 1, sizeof *to->text);
  if (to->text == NULL)
    return clarke_no_memory(err);
  while (to->n < n && status == CLARKE_OK) {
    status = copy_text(&to->text[to->n], json_is_array(list) ? json_array_get(list, to->n) : list, key, err);
    for (size_t i = 0; i < to->n && status == CLARKE_OK; i++)
      if (strcmp(to->text[i], to->text[to->n]) == 0)
        status = clarke_fail(err, CLARKE_EINPUT, "'%s': '%s' is there twice", key, to->text[i]);
    to->n++;
  }
  return status;
}

static clarke_status
add_seed(clarke_manifest *m, json_int_t value, clarke_error *err)
{
  if (value < 0 || value > UINT32_MAX)
    return clarke_object_wrong("seeds", "whole numbers from 0 to 4294967295", err);
  for (size_t i = 0; i < m->n_seeds; i++)
    if (m->seed[i] == value)
      return clarke_fail(err, CLARKE_EINPUT, "'seeds': %u is there twice", m->seed[i]);
  m->seed[m->n_seeds++] = (uint32_t)value;
  return CLARKE_OK;
}

/* {"from": A, "count": N} */
static clarke_status
read_range(clarke_manifest *m, const json_t *range, clarke_error *err)
{
  const json_t *from = json_object_get(range, "from"), *count = json_object_get(range, "count");
  const json_int_t first = json_integer_value(from), n = json_integer_value(count);

  if (!json_is_integer(from) || !json_is_integer(count) || json_object_size(range) != 2 || n < 1 || (size_t)n > CLARKE_MOST_SEEDS
      || first < 0 || first > (json_int_t)UINT32_MAX - n + 1)
    return clarke_object_wrong("seeds", "{\"from\": A, \"count\": N}, N from 1 to 1048576, seeds below 2^32", err);
  m->seed = malloc((size_t)n * sizeof *m->seed);
  if (m->seed == NULL)
    return clarke_no_memory(err);
  for (; m->n_seeds < (size_t)n; m->n_seeds++)
    m->seed[m->n_seeds] = (uint32_t)(first + (json_int_t)m->n_seeds);
  return CLARKE_OK;
}

/* A list, which is short, or a range. */
static clarke_status
read_seeds(clarke_manifest *m, const json_t *object, clarke_error *err)
{
  const json_t *seeds = json_object_get(object, "seeds");
  clarke_status status = CLARKE_OK;

  if (seeds == NULL)
    return CLARKE_OK;
  if (json_is_object(seeds))
    return read_range(m, seeds, err);
  if (json_array_size(seeds) < 1 || json_array_size(seeds) > CLARKE_MOST_PATTERNS)
    return clarke_object_wrong("seeds", "a list of 1 to 4096 whole numbers, or {\"from\": A, \"count\": N}", err);
  m->seed = malloc((json_array_size(seeds) + 1) * sizeof *m->seed);
  if (m->seed == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < json_array_size(seeds) && status == CLARKE_OK; i++)
    status = json_is_integer(json_array_get(seeds, i)) ? add_seed(m, json_integer_value(json_array_get(seeds, i)), err)
                                                       : clarke_object_wrong("seeds", "whole numbers", err);
  return status;
}

static clarke_status
read_reduction(clarke_manifest *m, const json_t *object, clarke_error *err)
{
  const json_t *j = json_object_get(object, "reduction");
  const char *text = j == NULL ? "mean" : json_string_value(j);

  if (text == NULL || (strcmp(text, "mean") != 0 && strcmp(text, "sum") != 0))
    return clarke_object_wrong("reduction", "\"mean\" or \"sum\"", err);
  m->sum = *text == 's';
  return CLARKE_OK;
}

static clarke_status
check_keys(const json_t *object, clarke_error *err)
{
  static const char *const known[] = {"model", "loss", "reduction", "checkpoints", "seeds", "batches", "profiles", "formats", "wrt"};
  const char *key;
  json_t *value;

  json_object_foreach((json_t *)object, key, value) {
    bool found = false;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      found = found || strcmp(key, known[i]) == 0;
    if (!found)
      return clarke_fail(err, CLARKE_EINPUT, "no key '%.64s'; known: model, loss, reduction, checkpoints, seeds, batches, profiles, "
                         "formats, wrt", clarke_text_valid(key, strlen(key)) ? key : "(not readable)");
  }
  return CLARKE_OK;
}

static clarke_status
read_object(clarke_manifest *m, const json_t *object, clarke_error *err)
{
  clarke_status status = json_is_object(object) ? check_keys(object, err)
                                                : clarke_fail(err, CLARKE_EINPUT, "expected one JSON object");

  if (status == CLARKE_OK)
    status = copy_text(&m->model, json_object_get(object, "model"), "model", err);
  if (status == CLARKE_OK && json_object_get(object, "loss") != NULL)
    status = copy_text(&m->loss, json_object_get(object, "loss"), "loss", err);
  if (status == CLARKE_OK)
    status = read_reduction(m, object, err);
  if (status == CLARKE_OK)
    status = read_texts(&m->checkpoints, object, "checkpoints", 0, CLARKE_MOST_PATTERNS, err);
  if (status == CLARKE_OK)
    status = read_texts(&m->batches, object, "batches", 1, CLARKE_MOST_PATTERNS, err);
  if (status == CLARKE_OK)
    status = read_texts(&m->profiles, object, "profiles", 2, CLARKE_MOST_PROFILES, err);
  if (status == CLARKE_OK)
    status = read_texts(&m->formats, object, "formats", 0, CLARKE_FLOAT_FORMATS, err);
  if (status == CLARKE_OK)
    status = read_texts(&m->wrt, object, "wrt", 0, CLARKE_MOST_PATTERNS, err);
  if (status == CLARKE_OK)
    status = read_seeds(m, object, err);
  if (status == CLARKE_OK && m->n_seeds > 0 && m->checkpoints.n > 0)
    status = clarke_fail(err, CLARKE_EINPUT, "'checkpoints' and 'seeds': the weights are stored, or drawn; expected one of them");
  return status;
}

clarke_status
clarke_manifest_parse(clarke_manifest *m, const void *data, size_t size, const char *file, clarke_error *err)
{
  json_t *object;
  clarke_status status = clarke_object_parse(&object, data, size, file, err);

  if (status != CLARKE_OK)
    return status;
  status = read_object(m, object, err);
  json_decref(object);
  if (status == CLARKE_OK)
    return status;
  clarke_manifest_clear(m);
  return clarke_fail_in(err, status, "%s", file);
}
