#include "base/printable.h"

size_t
clarke_printable(char *to, const char *from, size_t n)
{
  static const char digits[] = "0123456789ABCDEF";
  char *end = to;

  for (size_t i = 0; i < n; i++) {
    const unsigned char byte = (unsigned char)from[i];

    if ((byte >= ' ' && byte <= '~') || byte == '\n' || byte == '\t') {
      *end++ = from[i];
      continue;
    }
    *end++ = '\\';
    *end++ = 'x';
    *end++ = digits[byte >> 4];
    *end++ = digits[byte & 15];
  }
  return (size_t)(end - to);
}
