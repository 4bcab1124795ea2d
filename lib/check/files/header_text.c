/* Text in headers (header_text.h). */
#include "check/files/header_text.h"
#include "check/base/allocate.h"

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

void
text_spaces(bytes *b)
{
  while (text_skip(b, " ")) {}
}

size_t
text_number(bytes *b)
{
  size_t n = 0, digits = 0;
  bool nought = b->size > 0 && *b->data == '0';
  for (; b->size > 0 && *b->data >= '0' && *b->data <= '9'; digits++)
    refuse_if(__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (size_t)*take(b, 1).data - '0', &n),
              "a header with too large a number");
  refuse_if(digits == 0 || (nought && digits > 1), "a header with a list that is not of numbers");
  return n;
}
