#include "derive_svg.h"

#include <math.h>
#include <stdlib.h>

#define TEXT_MOST 72 /* characters */

void
clarke_svg_pixel(FILE *out, double pixel)
{
  int64_t n = (int64_t)floor(pixel * 100 + 0.5);
  uint64_t size = n < 0 ? (uint64_t)-n : (uint64_t)n;

  fprintf(out, "%s%llu.%02llu", n < 0 ? "-" : "", (unsigned long long)(size / 100),
          (unsigned long long)(size % 100));
}

void
clarke_svg_decimal(FILE *out, int64_t n, int exponent)
{
  unsigned long long size = n < 0 ? (unsigned long long)-n : (unsigned long long)n;
  unsigned long long power = 1;

  if (n < 0)
    fputs("\xe2\x88\x92", out);
  while (size != 0 && size % 10 == 0) {
    size /= 10;
    exponent++;
  }
  if (size == 0 || (exponent >= 0 && exponent <= 4)) {
    fprintf(out, "%llu", size);
    for (int k = 0; k < exponent && size != 0; k++)
      putc('0', out);
  } else if (exponent < 0 && exponent >= -6) {
    for (int k = exponent; k < 0; k++)
      power *= 10;
    fprintf(out, "%llu.%0*llu", size / power, -exponent, size % power);
  } else
    fprintf(out, "%llue%s%d", size, exponent < 0 ? "\xe2\x88\x92" : "", abs(exponent));
}

/* The length of a well-formed UTF-8 sequence that may stand in XML; 0 when there is none. */
static size_t
sequence(const unsigned char *s)
{
  size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
             : s[0] < 0xf5 ? 4 : 0;

  for (size_t k = 1; k < n; k++)
    if ((s[k] & 0xc0) != 0x80)
      return 0;
  if (n == 1 && (s[0] < 0x20 || s[0] == 0x7f))
    return 0;
  if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
      (s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe) || (s[0] == 0xf0 && s[1] < 0x90) ||
      (s[0] == 0xf4 && s[1] >= 0x90))
    return 0;
  return n;
}

void
clarke_svg_text(FILE *out, const char *text)
{
  const unsigned char *s = (const unsigned char *)text;
  size_t n = 0;

  for (; *s != '\0' && n < TEXT_MOST; n++) {
    size_t length = sequence(s);

    if (*s == '&')
      fputs("&amp;", out);
    else if (*s == '<')
      fputs("&lt;", out);
    else if (*s == '>')
      fputs("&gt;", out);
    else if (length == 0)
      putc('?', out);
    else
      fwrite(s, 1, length, out);
    s += length > 0 ? length : 1;
  }
  if (*s != '\0')
    fputs("\xe2\x80\xa6", out);
}

void
clarke_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *style)
{
  fputs("<line x1=\"", out);
  clarke_svg_pixel(out, x1);
  fputs("\" y1=\"", out);
  clarke_svg_pixel(out, y1);
  fputs("\" x2=\"", out);
  clarke_svg_pixel(out, x2);
  fputs("\" y2=\"", out);
  clarke_svg_pixel(out, y2);
  fprintf(out, "\" %s/>\n", style);
}

void
clarke_svg_circle(FILE *out, double x, double y, const char *style)
{
  fputs("<circle cx=\"", out);
  clarke_svg_pixel(out, x);
  fputs("\" cy=\"", out);
  clarke_svg_pixel(out, y);
  fprintf(out, "\" %s/>\n", style);
}
