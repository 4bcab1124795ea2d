/* Regions as polygons of an SVG file (patterns_picture.h). Coordinates are floats: a picture proves nothing. */
#include <stdio.h> /* before flint.h */

#include "patterns_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 600.0 /* pixels of a side */

clarke_status
clarke_picture_init(clarke_picture *p, mpq_t *first, mpq_t *second, clarke_error *err)
{
  clarke_status status;

  memset(p, 0, sizeof *p);
  p->low[0] = mpq_get_d(first[0]);
  p->high[0] = mpq_get_d(first[1]);
  p->low[1] = mpq_get_d(second[0]);
  p->high[1] = mpq_get_d(second[1]);
  status = clarke_text_open(&p->svg, err);
  if (status == CLARKE_OK)
    fprintf(p->svg.to, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\">\n"
                       "<g stroke=\"#333\" stroke-width=\"0.6\" stroke-linejoin=\"round\">\n", SIZE, SIZE, SIZE, SIZE);
  return status;
}

void
clarke_picture_clear(clarke_picture *p)
{
  clarke_text_clear(&p->svg);
  free(p->x);
  memset(p, 0, sizeof *p);
}

static double
across(const clarke_picture *p, double x)
{
  return SIZE * (x - p->low[0]) / (p->high[0] - p->low[0]);
}

static double
down(const clarke_picture *p, double y)
{
  return SIZE * (p->high[1] - y) / (p->high[1] - p->low[1]);
}

/* What of the polygon lies where a x + b y + c > 0 (Sutherland and Hodgman): n corners from `from` to `to`; how many. */
static size_t
clip(double *to, const double *from, size_t n, const double row[3])
{
  size_t m = 0;

  for (size_t i = 0; i < n; i++) {
    const double *u = from + 2 * i, *v = from + 2 * ((i + 1) % n);
    const double at_u = row[0] * u[0] + row[1] * u[1] + row[2], at_v = row[0] * v[0] + row[1] * v[1] + row[2];

    if (at_u >= 0) {
      to[2 * m] = u[0];
      to[2 * m++ + 1] = u[1];
    }
    if ((at_u > 0 && at_v < 0) || (at_u < 0 && at_v > 0)) {
      const double part = at_u / (at_u - at_v);

      to[2 * m] = u[0] + part * (v[0] - u[0]);
      to[2 * m++ + 1] = u[1] + part * (v[1] - u[1]);
    }
  }
  return m;
}

/* A row over its largest entry. */
static void
row_to_doubles(double row[3], const fmpz *integer)
{
  slong most = 0;

  for (size_t j = 0; j < 3; j++)
    most = (slong)fmpz_bits(integer + j) > most ? (slong)fmpz_bits(integer + j) : most;
  for (size_t j = 0; j < 3; j++) {
    slong e;
    const double m = fmpz_get_d_2exp(&e, integer + j);

    row[j] = e - most < -1000 ? 0 : ldexp(m, (int)(e - most));
  }
}

/* The number times the golden angle: colours that differ. */
static void
put_colour(FILE *to, size_t number)
{
  fprintf(to, "hsl(%d,%d%%,%d%%)", (int)fmod(137.50776 * (double)number, 360), 45 + (int)(number % 3) * 15, 62 + (int)(number / 3 % 4) * 7);
}

clarke_status
clarke_picture_add(clarke_picture *p, const clarke_region *region, size_t function, clarke_error *err)
{
  const size_t rows = (size_t)fmpz_mat_nrows(region->cone), most = rows + 8;
  double *from, *to;
  size_t n = 4;

  if (p->room < most) {
    from = reallocarray(p->x, 4 * most, sizeof *from);
    if (from == NULL)
      return clarke_no_memory(err);
    p->x = from;
    p->room = most;
  }
  from = p->x;
  to = p->x + 2 * most;
  memcpy(from, (double[]){p->low[0], p->low[1], p->high[0], p->low[1], p->high[0], p->high[1], p->low[0], p->high[1]}, 8 * sizeof *from);
  for (size_t i = 0; i < rows && n > 0; i++) {
    double row[3], *old = from;

    row_to_doubles(row, fmpz_mat_entry(region->cone, (slong)i, 0));
    n = clip(to, from, n, row);
    from = to;
    to = old;
  }
  fputs("<path d=\"", p->svg.to);
  for (size_t k = 0; k < n; k++)
    fprintf(p->svg.to, "%c%.2f %.2f", k == 0 ? 'M' : 'L', across(p, from[2 * k]), down(p, from[2 * k + 1]));
  fputs("Z\" fill=\"", p->svg.to);
  put_colour(p->svg.to, function);
  fputs("\"/>\n", p->svg.to);
  return CLARKE_OK;
}

void
clarke_picture_mark(clarke_picture *p, const mpq_t x, const mpq_t y)
{
  fprintf(p->svg.to, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4\" fill=\"#000\"/>\n", across(p, mpq_get_d(x)), down(p, mpq_get_d(y)));
}

void
clarke_picture_unfinished(clarke_picture *p, const char *why)
{
  fprintf(p->svg.to, "<rect x=\"3\" y=\"3\" width=\"%g\" height=\"%g\" fill=\"none\" stroke=\"#c00\" stroke-width=\"6\" stroke-dasharray=\"18 9\"/>\n"
                     "<text x=\"18\" y=\"36\" fill=\"#c00\" stroke=\"none\" font-size=\"20\" font-family=\"sans-serif\">"
                     "unfinished: regions are missing</text>\n"
                     "<text x=\"18\" y=\"60\" fill=\"#c00\" stroke=\"none\" font-size=\"14\" font-family=\"sans-serif\">",
          SIZE - 6, SIZE - 6);
  for (; *why != '\0'; why++)
    fputs(*why == '<' ? "&lt;" : *why == '&' ? "&amp;" : (char[]){*why, '\0'}, p->svg.to);
  fputs("</text>\n", p->svg.to);
}

clarke_status
clarke_picture_save(clarke_picture *p, const char *path, clarke_error *err)
{
  clarke_output o;
  clarke_status status;

  fputs("</g>\n</svg>\n", p->svg.to);
  status = clarke_text_close(&p->svg, CLARKE_OK, err);
  if (status == CLARKE_OK)
    status = clarke_output_open(&o, path, err);
  if (status != CLARKE_OK)
    return status;
  fwrite(p->svg.text, 1, p->svg.size, o.to);
  return clarke_output_close(&o, CLARKE_OK, path, err);
}
