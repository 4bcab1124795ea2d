#include "session/json.h"

#include "base/printable.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are no UTF-8, which JSON cannot hold, as they are printed elsewhere. */
static json_t *
printable_text(const char *text)
{
  const size_t n = strlen(text);
  char *room = malloc(CLARKE_PRINTABLE_MOST * n + 1);
  json_t *j = NULL;

  if (room != NULL)
    j = json_stringn(room, clarke_printable(room, text, n));
  free(room);
  return j;
}

json_t *
clarke_json_text(const char *text)
{
  json_t *j;

  if (text == NULL)
    return json_null();
  j = json_string(text);
  return j != NULL ? j : printable_text(text);
}

void
clarke_json_set(json_t **object, const char *key, json_t *value)
{
  if (*object == NULL)
    json_decref(value);
  else if (json_object_set_new(*object, key, value) != 0) {
    json_decref(*object);
    *object = NULL;
  }
}

void
clarke_json_append(json_t **list, json_t *value)
{
  if (*list == NULL)
    json_decref(value);
  else if (json_array_append_new(*list, value) != 0) {
    json_decref(*list);
    *list = NULL;
  }
}

/* jansson leaves DEL as it is, which can only stand in a string. */
static int
print_piece(const char *text, size_t n, void *out)
{
  for (size_t i = 0; i < n; i++)
    if (text[i] == '\x7f')
      fputs("\\u007F", out);
    else
      putc(text[i], out);
  return 0; /* a stream remembers its errors: base/output.h */
}

clarke_status
clarke_json_print(FILE *out, json_t *j, size_t flags, const char *end, clarke_error *err)
{
  bool printed;

  if (j == NULL)
    return clarke_no_memory(err);
  printed = json_dump_callback(j, print_piece, out, flags | JSON_ENSURE_ASCII) == 0;
  json_decref(j);
  if (!printed)
    return clarke_no_memory(err);
  fputs(end, out);
  return CLARKE_OK;
}
