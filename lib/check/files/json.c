/* JSON, of which headers are made, too (json.h). */
#include "check/files/json.h"
#include "check/base/allocate.h"
#include "check/files/header_text.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- Values of any kind, which must be as RFC 8259 has them */

#define MOST_DEEP 100 /* brackets within brackets */

static const char no_text[] = "JSON with a text that does not end, is none, or has an escape that is none";

/* Behind \u: four digits. */
static uint32_t
escaped_unit(bytes *raw)
{
  static const char digits[] = "0123456789abcdefABCDEF";
  uint32_t unit = 0;
  for (size_t i = 0; i < 4; i++) {
    const char *at = memchr(digits, *take(raw, 1).data, 22);
    refuse_if(at == NULL, no_text);
    unit = unit << 4 | (uint32_t)(at - digits < 16 ? at - digits : at - digits - 6);
  }
  return unit;
}

/* Behind a backslash: one character, of two units perhaps; none of them is 0, or half of one. */
static uint32_t
escaped_character(bytes *raw)
{
  static const char after[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
  unsigned char c = *take(raw, 1).data;
  const char *at = memchr(after, c, 8);
  if (at != NULL)
    return (uint32_t)means[at - after];
  refuse_if(c != 'u', no_text);
  uint32_t unit = escaped_unit(raw);
  if (unit >> 10 == 0xd800 >> 10) {
    refuse_if(!text_skip(raw, "\\u"), no_text);
    uint32_t low = escaped_unit(raw);
    refuse_if(low >> 10 != 0xdc00 >> 10, no_text);
    return 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
  }
  refuse_if(unit == 0 || unit >> 10 == 0xdc00 >> 10, no_text);
  return unit;
}

/* In UTF-8; behind it. */
static char *
put_character(char *to, uint32_t c)
{
  int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  *to++ = (char)(more == 0 ? c : (0xff00u >> (more + 1) & 0xff) | c >> 6 * more);
  while (more-- > 0)
    *to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
  return to;
}

/* What a text says, which is no longer than it is written. */
static char *
pass_text(bytes *h)
{
  size_t n = 0;
  text_over(h, "\"");
  while (slice(*h, n, 1).data[0] != '"')
    n += h->data[n] == '\\' ? 2 : 1;
  bytes raw = take(h, n);
  char *text = allocate(n + 1, 1), *to = text;
  refuse_if(!is_text(raw), no_text);
  while (raw.size > 0) {
    unsigned char c = *take(&raw, 1).data;
    if (c == '\\')
      to = put_character(to, escaped_character(&raw));
    else
      *to++ = (char)c;
  }
  take(h, 1);
  return text;
}

static void
pass_digits(bytes *h)
{
  refuse_if(h->size == 0 || *h->data < '0' || *h->data > '9', "JSON with a value that is none");
  while (h->size > 0 && *h->data >= '0' && *h->data <= '9')
    take(h, 1);
}

static void
pass_number(bytes *h)
{
  text_skip(h, "-");
  if (!text_skip(h, "0"))
    pass_digits(h);
  if (text_skip(h, "."))
    pass_digits(h);
  if (text_skip(h, "e") || text_skip(h, "E")) {
    if (!text_skip(h, "+"))
      text_skip(h, "-");
    pass_digits(h);
  }
}

static void pass_value(bytes *h, size_t deep);

/* Behind its first bracket. */
static void
pass_brackets(bytes *h, size_t deep, bool object)
{
  name_index keys = {0};
  const char *end = object ? "}" : "]";
  refuse_if(deep == MOST_DEEP, "JSON with more than %d brackets within brackets", MOST_DEEP);
  for (bool first = true; !json_token(h, end); first = false) {
    if (!first)
      json_over(h, ",");
    if (object) {
      char *key = pass_text(h);
      expect(name_add(&keys, key), "JSON with a key twice in one object");
      json_over(h, ":");
    }
    pass_value(h, deep + 1);
  }
  name_index_free(&keys);
}

static void
pass_value(bytes *h, size_t deep)
{
  blanks(h);
  bool object = text_skip(h, "{");
  if (object || text_skip(h, "["))
    pass_brackets(h, deep, object);
  else if (h->size > 0 && *h->data == '"')
    free(pass_text(h));
  else if (!text_skip(h, "true") && !text_skip(h, "false") && !text_skip(h, "null"))
    pass_number(h);
  blanks(h);
}

bytes
json_value(bytes *h)
{
  blanks(h);
  bytes all = *h;
  pass_value(h, 0);
  return slice(all, 0, all.size - h->size);
}

bytes
json_find(bytes object, const char *name)
{
  bytes found = {NULL, 0};
  name_index keys = {0};
  json_over(&object, "{");
  for (char *key; (key = json_key(&object, &keys)) != NULL;) {
    bytes value = json_value(&object);
    found = strcmp(key, name) == 0 ? value : found;
  }
  expect(object.size == 0, "more than an object");
  name_index_free(&keys);
  return found;
}

bytes
json_member(bytes object, const char *name)
{
  bytes found = json_find(object, name);
  expect(found.size > 0, "no object that has '%s'", name);
  return found;
}

char *
json_text(bytes value)
{
  return pass_text(&value);
}

bool
json_item(bytes *list, bytes *item)
{
  bool first = json_token(list, "[");
  if (json_token(list, "]"))
    return false;
  if (!first)
    json_over(list, ",");
  *item = json_value(list);
  return true;
}
