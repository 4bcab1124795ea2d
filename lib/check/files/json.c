/* Text in headers, and JSON (json.h). */
#include "check/files/json.h"
#include "check/base/allocate.h"

#include <stdlib.h>
#include <string.h>

bool
text_skip(bytes *b, const char *text)
{
  size_t n = strlen(text);
  return b->size >= n && memcmp(b->data, text, n) == 0 && (take(b, n), true);
}

void
text_over(bytes *b, const char *text)
{
  expect(text_skip(b, text), "a header in which '%s' is missing, or not where NumPy or safetensors write it", text);
}

char *
text_quoted(bytes *b, const char *quote)
{
  text_over(b, quote);
  const unsigned char *end = b->size > 0 ? memchr(b->data, *quote, b->size) : NULL;
  bytes s = take(b, end != NULL ? (size_t)(end - b->data) : 0);
  refuse_if(end == NULL || !is_text(s) || memchr(s.data, '\\', s.size) != NULL,
            "a header with a string that does not end, is no text, or holds an escape");
  take(b, 1);
  return copy_text(s.data, s.size);
}

static void
blanks(bytes *h)
{
  while (text_skip(h, " ") || text_skip(h, "\n") || text_skip(h, "\t") || text_skip(h, "\r")) {}
}

bool
json_token(bytes *h, const char *text)
{
  blanks(h);
  bool found = text_skip(h, text);
  blanks(h);
  return found;
}

void
json_over(bytes *h, const char *text)
{
  blanks(h);
  text_over(h, text);
  blanks(h);
}

char *
json_key(bytes *h, name_index *keys)
{
  if (json_token(h, "}"))
    return NULL;
  if (keys->n > 0)
    json_over(h, ",");
  char *key = text_quoted(h, "\"");
  expect(name_add(keys, key), "a header with '%s' twice in one object", key);
  json_over(h, ":");
  return key;
}

/* Behind its first quote; what is escaped is not decoded. */
static void
pass_string(bytes *h)
{
  for (unsigned char c; (c = *take(h, 1).data) != '"';)
    if (c == '\\')
      take(h, 1);
}

/* Of a list or an object all between its brackets, behind the first. */
static void
pass_brackets(bytes *h)
{
  for (size_t deep = 1; deep > 0;) {
    unsigned char c = *take(h, 1).data;
    if (c == '"')
      pass_string(h);
    deep += c == '{' || c == '[';
    deep -= c == '}' || c == ']';
  }
}

bytes
json_value(bytes *h)
{
  blanks(h);
  bytes all = *h;
  unsigned char c = *take(h, 1).data;
  if (c == '"')
    pass_string(h);
  else if (c == '{' || c == '[')
    pass_brackets(h);
  else
    while (h->size > 0 && memchr(" \n\t\r,]}", *h->data, 7) == NULL)
      take(h, 1);
  blanks(h);
  return slice(all, 0, all.size - h->size);
}

bytes
json_member(bytes object, const char *name)
{
  bytes found = {NULL, 0};
  name_index keys = {0};
  json_over(&object, "{");
  for (char *key; (key = json_key(&object, &keys)) != NULL;) {
    bytes value = json_value(&object);
    found = strcmp(key, name) == 0 ? value : found;
  }
  expect(found.size > 0 && object.size == 0, "no object that has '%s', and nothing else", name);
  name_index_free(&keys);
  return found;
}

char *
json_text(bytes value)
{
  return text_quoted(&value, "\"");
}
