/* Text from a file (text.h). */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Well-formed sequences by lead byte (Unicode 15, table 3-7), less the controls U+0000-001F and
 * U+007F-009F. Third and fourth bytes are always 80-BF. */
static const struct {
  unsigned char lead_low, lead_high, second_low, second_high, length;
} sequences[] = {
  { 0x20, 0x7e, 0x00, 0x00, 1 }, { 0xc2, 0xc2, 0xa0, 0xbf, 2 }, { 0xc3, 0xdf, 0x80, 0xbf, 2 },
  { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
  { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
  { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

/* The length of the character that starts at s, 0 when there is none. */
static size_t
character(const unsigned char *s, size_t left)
{
  for (size_t k = 0; k < sizeof sequences / sizeof sequences[0]; k++) {
    const size_t length = sequences[k].length;

    if (s[0] < sequences[k].lead_low || s[0] > sequences[k].lead_high)
      continue;
    if (left < length)
      return 0;
    if (length > 1 && (s[1] < sequences[k].second_low || s[1] > sequences[k].second_high))
      return 0;
    for (size_t i = 2; i < length; i++)
      if ((s[i] & 0xc0) != 0x80)
        return 0;
    return length;
  }
  return 0;
}

bool
clarke_text_valid(const void *bytes, size_t size)
{
  const unsigned char *s = bytes;
  size_t length;

  for (size_t i = 0; i < size; i += length) {
    length = character(s + i, size - i);
    if (length == 0)
      return false;
  }
  return true;
}

clarke_status
clarke_text_copy(char **copy, const void *bytes, size_t size, const char *what, clarke_error *err)
{
  *copy = NULL;
  if (!clarke_text_valid(bytes, size))
    return clarke_fail(err, CLARKE_EINPUT,
                       "%s is not text: expected UTF-8 without control characters or NUL", what);
  *copy = malloc(size + 1);
  if (*copy == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %s", what);
  if (size != 0)
    memcpy(*copy, bytes, size);
  (*copy)[size] = '\0';
  return CLARKE_OK;
}

char *
clarke_text_vprint(const char *format, va_list args)
{
  char text[1024];

  vsnprintf(text, sizeof text, format, args);
  return strdup(text);
}

char *
clarke_text_print(const char *format, ...)
{
  va_list args;
  char *text;

  va_start(args, format);
  text = clarke_text_vprint(format, args);
  va_end(args);
  return text;
}

const char *
clarke_base_name(const char *path)
{
  const char *slash = strrchr(path, '/');

  return slash != NULL ? slash + 1 : path;
}

bool
clarke_ends_with(const char *text, const char *ending)
{
  const size_t n = strlen(text), m = strlen(ending);

  return n >= m && strcmp(text + n - m, ending) == 0;
}
