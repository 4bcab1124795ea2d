/* Rows, and values of JSON compared. */
#include "difference.h"

#include "base/text.h"
#include "session/json.h"

#include <stdlib.h>
#include <string.h>

void
clarke_differences_add(clarke_differences *d, const char *at, const char *first, const char *second)
{
  clarke_json_append(&d->rows, json_pack("{s:o, s:o, s:o}", "at", clarke_json_text(at), "first", clarke_json_text(first), "second",
                                         clarke_json_text(second)));
}

/* A value as text: a string as it is. */
static void
add_values(clarke_differences *d, const char *at, const json_t *first, const json_t *second)
{
  const json_t *value[2] = {first, second};
  char *text[2] = {NULL, NULL};

  for (size_t i = 0; i < 2; i++)
    if (value[i] != NULL)
      text[i] = json_is_string(value[i]) ? strdup(json_string_value(value[i])) : json_dumps(value[i], JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);
  if ((first != NULL && text[0] == NULL) || (second != NULL && text[1] == NULL)) {
    json_decref(d->rows);
    d->rows = NULL;
  } else
    clarke_differences_add(d, at, text[0], text[1]);
  free(text[0]);
  free(text[1]);
}

/* A place inside: "at/key". */
static void
inside(clarke_differences *d, const char *at, const char *key, const json_t *first, const json_t *second, const char *const *skipped)
{
  char *place = *at == '\0' ? strdup(key) : clarke_text_print("%s/%s", at, key);

  if (place != NULL)
    clarke_differences_of_json(d, place, first, second, skipped);
  else {
    json_decref(d->rows);
    d->rows = NULL;
  }
  free(place);
}

static bool
is_skipped(const char *key, const char *const *skipped)
{
  while (skipped != NULL && *skipped != NULL && strcmp(*skipped, key) != 0)
    skipped++;
  return skipped != NULL && *skipped != NULL;
}

static void
of_objects(clarke_differences *d, const char *at, const json_t *first, const json_t *second, const char *const *skipped)
{
  const char *key;
  json_t *value;

  json_object_foreach ((json_t *)first, key, value)
    if (!is_skipped(key, skipped))
      inside(d, at, key, value, json_object_get(second, key), skipped);
  json_object_foreach ((json_t *)second, key, value)
    if (!is_skipped(key, skipped) && json_object_get(first, key) == NULL)
      inside(d, at, key, NULL, value, skipped);
}

static void
of_lists(clarke_differences *d, const char *at, const json_t *first, const json_t *second, const char *const *skipped)
{
  const size_t n = json_array_size(first), m = json_array_size(second);
  char key[32];

  for (size_t i = 0; i < (n > m ? n : m); i++) {
    snprintf(key, sizeof key, "%zu", i);
    inside(d, at, key, json_array_get(first, i), json_array_get(second, i), skipped);
  }
}

void
clarke_differences_of_json(clarke_differences *d, const char *at, const json_t *first, const json_t *second, const char *const *skipped)
{
  if (json_is_object(first) && json_is_object(second))
    of_objects(d, at, first, second, skipped);
  else if (json_is_array(first) && json_is_array(second))
    of_lists(d, at, first, second, skipped);
  else {
    d->compared++;
    if (!json_equal(first, second))
      add_values(d, at, first, second);
  }
}
