#include "markup.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The character that begins at *text, which moves past it; U+FFFD for bytes that are none (RFC 3629). */
static uint32_t
next_character(const char **text)
{
  static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  const unsigned char *c = (const unsigned char *)*text;
  const size_t more = *c < 0x80                 ? 0
                      : *c >= 0xC2 && *c < 0xE0 ? 1
                      : *c >= 0xE0 && *c < 0xF0 ? 2
                      : *c >= 0xF0 && *c < 0xF5 ? 3
                                                : 4;
  uint32_t code = more == 0 ? *c : more == 4 ? 0 : *c & (0x3Fu >> more);

  ++*text;
  if (more == 4)
    return 0xFFFD;
  for (size_t i = 1; i <= more; i++) {
    if ((c[i] & 0xC0) != 0x80) /* the end of the text, too */
      return 0xFFFD;
    code = code << 6 | (c[i] & 0x3F);
  }
  *text += more;
  return code < least[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0xFFFD : code;
}

/* What is not seen, or changes how its neighbours are: control characters, directions of writing, what has no width; and what
 * XML has not. */
static bool
hides(uint32_t c)
{
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) || c == 0xAD || c == 0x61C || c == 0x180E
         || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF
         || (c >= 0xFFF0 && c <= 0xFFFB) || (c & 0xFFFE) == 0xFFFE || (c >= 0xE0000 && c <= 0xE0FFF);
}

void
clarke_markup_text(FILE *to, const char *text)
{
  while (*text != '\0') {
    const uint32_t c = next_character(&text);

    if (hides(c))
      fprintf(to, "\\u{%X}", (unsigned)c);
    else if (c >= 0x80 || strchr("&<>\"'`=", (int)c) != NULL || c == '\n' || c == '\t')
      fprintf(to, "&#%u;", (unsigned)c);
    else
      putc((int)c, to);
  }
}

void
clarke_markup(FILE *to, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  for (const char *c = format; *c != '\0'; c++)
    if (*c != '%')
      putc(*c, to);
    else if (*++c == 's')
      clarke_markup_text(to, va_arg(args, const char *));
    else if (*c == 'd')
      fprintf(to, "%d", va_arg(args, int));
    else if (*c == 'z' && *++c == 'u')
      fprintf(to, "%zu", va_arg(args, size_t));
    else
      putc(*c, to); /* %% */
  va_end(args);
}
