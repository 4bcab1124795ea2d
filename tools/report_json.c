#include "report_json.h"

#include "base/printable.h"

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

/* jansson leaves DEL as it is, which can only stand in a string. */
static int
print_piece(const char *text, size_t n, void *unused)
{
  (void)unused;
  for (size_t i = 0; i < n; i++)
    if (text[i] == '\x7f')
      fputs("\\u007F", stdout);
    else
      putchar(text[i]);
  return 0; /* standard output remembers its errors: process.h */
}

clarke_status
clarke_json_print(json_t *j, size_t flags, const char *end, clarke_error *err)
{
  if (j == NULL)
    return clarke_fail(err, CLARKE_EINTERNAL, "a JSON object could not be made");
  json_dump_callback(j, print_piece, NULL, flags | JSON_ENSURE_ASCII);
  fputs(end, stdout);
  json_decref(j);
  return CLARKE_OK;
}
