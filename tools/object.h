/* An answer's object as --json prints it, read again: a key that is not there, or of another kind, is nothing. */
#ifndef CLARKE_TOOLS_OBJECT_H
#define CLARKE_TOOLS_OBJECT_H

#include <jansson.h>
#include <stddef.h>

static inline const char *
clarke_text_at(const json_t *object, const char *key)
{
  const char *text = json_string_value(json_object_get(object, key));

  return text != NULL ? text : "";
}

/* A number at a key, or the length of a list there. */
static inline size_t
clarke_count_at(const json_t *object, const char *key)
{
  const json_t *value = json_object_get(object, key);

  return json_is_array(value) ? json_array_size(value) : json_integer_value(value) > 0 ? (size_t)json_integer_value(value) : 0;
}

/* The surrogates that an audit's answer is about, of a profile or of a recorded step. */
static inline const json_t *
clarke_surrogates_in(const json_t *answer)
{
  const json_t *own = json_object_get(answer, "surrogates");

  return own != NULL ? own : json_object_get(json_object_get(answer, "gradient"), "surrogates");
}

#endif
