/* Pieces of an SVG file. Coordinates are whole hundredths of a pixel and labels are made of integers, so that no locale or
 * library decides a byte of it. */
#ifndef CLARKE_TOOLS_DERIVE_SVG_H
#define CLARKE_TOOLS_DERIVE_SVG_H

#include <stdint.h>
#include <stdio.h>

void clarke_svg_pixel(FILE *out, double pixel);
/* n 10^exponent, as 0.25, 1200 or 3e-9; the minus sign is U+2212. */
void clarke_svg_decimal(FILE *out, int64_t n, int exponent);
/* At most 72 characters of text, escaped; bytes that are no text become '?'. */
void clarke_svg_text(FILE *out, const char *text);

/* style: further attributes. */
void clarke_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *style);
void clarke_svg_circle(FILE *out, double x, double y, const char *style);

#endif
