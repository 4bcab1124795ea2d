#include "format/object.h"

#include "base/text.h"

#include <string.h>

clarke_status
clarke_object_parse(json_t **to, const void *data, size_t size, const char *file, clarke_error *err)
{
  json_error_t why;

  *to = json_loadb(data, size, JSON_REJECT_DUPLICATES, &why);
  if (*to != NULL)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "%s: is no JSON: line %d: %s", file, why.line,
                     clarke_text_valid(why.text, strlen(why.text)) ? why.text : "not readable");
}

clarke_status
clarke_object_wrong(const char *key, const char *expected, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "'%s': expected %s", key, expected);
}

clarke_status
clarke_object_text(char **to, const json_t *j, const char *key, clarke_error *err)
{
  if (!json_is_string(j))
    return clarke_object_wrong(key, "a text", err);
  return clarke_text_copy(to, json_string_value(j), json_string_length(j), key, err);
}
