/* clarke sweep --svg: how many differences are of which size, a histogram for each pair of profiles and format. */
#include "derive_svg.h"
#include "object.h"
#include "sweep_summary.h"

#include "base/output.h"

#include <stdio.h>

#define LEFT 60.0
#define BAR 34.0
#define HEIGHT 110.0 /* of the longest bar */
#define PANEL 190.0
#define TOP 54.0
#define MOST_GROUPS ((size_t)480) /* panels */

static const struct {
  const char *label, *colour, *words;
} kinds[] = {{"rounding", "#8d99ae", "rounding"}, {"branch", "#e9c46a", "a branch that floats alone take"}, {"bifurcation", "#e07a5f", "a real bifurcation"},
             {"unknown", "#444444", "not known"}};

#define N_KINDS (sizeof kinds / sizeof *kinds)

static void
put_rect(FILE *out, double x, double y, double width, double height, const char *colour)
{
  fputs("<rect x=\"", out);
  clarke_svg_pixel(out, x);
  fputs("\" y=\"", out);
  clarke_svg_pixel(out, y);
  fputs("\" width=\"", out);
  clarke_svg_pixel(out, width);
  fputs("\" height=\"", out);
  clarke_svg_pixel(out, height);
  fprintf(out, "\" fill=\"%s\"/>\n", colour);
}

static void
put_label(FILE *out, double x, double y, const char *text)
{
  fputs("<text x=\"", out);
  clarke_svg_pixel(out, x);
  fputs("\" y=\"", out);
  clarke_svg_pixel(out, y);
  fputs("\" font-size=\"10\">", out);
  clarke_svg_text(out, text);
  fputs("</text>\n", out);
}

static size_t
of_decade(const json_t *decade)
{
  size_t n = 0;

  for (size_t i = 0; i < N_KINDS; i++)
    n += clarke_count_at(decade, kinds[i].label);
  return n;
}

static void
put_count(FILE *out, double x, double y, size_t n)
{
  char text[32];

  snprintf(text, sizeof text, "%zu", n);
  put_label(out, x, y - 3, text);
}

/* One bar: its parts by kind, their sum above, what it stands for below. */
static void
put_bar(FILE *out, double x, double base, const json_t *decade, size_t most, const char *below)
{
  double y = base;

  for (size_t i = 0; i < N_KINDS; i++) {
    const double height = HEIGHT * (double)clarke_count_at(decade, kinds[i].label) / (double)most;

    y -= height;
    if (height > 0)
      put_rect(out, x, y, BAR - 3, height, kinds[i].colour);
  }
  put_count(out, x, y, of_decade(decade));
  put_label(out, x, base + 12, below);
}

/* Differences that are 0, or not finite: a bar of their own. */
static double
put_other(FILE *out, double x, double base, size_t n, size_t most, const char *below)
{
  const double height = HEIGHT * (double)n / (double)most;

  if (n == 0)
    return x;
  put_rect(out, x, base - height, BAR - 3, height, "#2a6f97");
  put_count(out, x, base - height, n);
  put_label(out, x, base + 12, below);
  return x + BAR;
}

static size_t
longest(const json_t *group)
{
  const json_t *histogram = json_object_get(group, "histogram");
  size_t most = clarke_count_at(group, "zero");

  if (clarke_count_at(group, "infinite") > most)
    most = clarke_count_at(group, "infinite");
  for (size_t i = 0; i < json_array_size(histogram); i++)
    if (of_decade(json_array_get(histogram, i)) > most)
      most = of_decade(json_array_get(histogram, i));
  return most > 0 ? most : 1;
}

static void
put_panel(FILE *out, const json_t *group, double top, double width)
{
  const json_t *names = json_object_get(group, "profiles"), *histogram = json_object_get(group, "histogram");
  const size_t most = longest(group);
  const double base = top + 40 + HEIGHT;
  double x = LEFT;
  int last = 0;
  char title[256], below[16];

  snprintf(title, sizeof title, "%.80s, %.80s against %.80s", clarke_text_at(group, "format"), json_string_value(json_array_get(names, 0)),
           json_string_value(json_array_get(names, 1)));
  put_label(out, 6, top + 12, title);
  clarke_svg_line(out, LEFT - 4, base, width - 8, base, "stroke=\"black\"");
  x = put_other(out, x, base, clarke_count_at(group, "zero"), most, "0");
  for (size_t i = 0; i < json_array_size(histogram); i++, x += BAR) {
    const json_t *decade = json_array_get(histogram, i);
    const int at = (int)json_integer_value(json_object_get(decade, "decade"));

    x += i > 0 && at > last + 1 ? BAR / 2 : 0; /* a gap stands for decades that have none */
    last = at;
    snprintf(below, sizeof below, "1e%d", at);
    put_bar(out, x, base, decade, most, below);
  }
  put_other(out, x, base, clarke_count_at(group, "infinite"), most, "inf");
}

static void
put_legend(FILE *out)
{
  double x = 6;

  put_label(out, 6, 16, "Differences D of gradients: a bar from each power of ten to the next");
  for (size_t i = 0; i < N_KINDS; i++, x += 200) {
    put_rect(out, x, 26, 10, 10, kinds[i].colour);
    put_label(out, x + 14, 35, kinds[i].words);
  }
}

/* Room for the panel with the most bars, and the gaps between. */
static double
width_of(const json_t *groups, size_t n)
{
  size_t bars = 14;

  for (size_t i = 0; i < n; i++)
    if (clarke_count_at(json_array_get(groups, i), "histogram") > bars)
      bars = clarke_count_at(json_array_get(groups, i), "histogram");
  return LEFT + BAR * (1.5 * (double)bars + 3);
}

clarke_status
clarke_sweep_histograms(const json_t *groups, const char *path, clarke_error *err)
{
  const size_t all = json_array_size(groups), n = all < MOST_GROUPS ? all : MOST_GROUPS;
  const double width = width_of(groups, n);
  clarke_output file;
  clarke_status status = clarke_output_open(&file, path, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(file.to, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" font-family=\"sans-serif\">\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", (size_t)width, (size_t)(TOP + PANEL * (double)n + 10));
  put_legend(file.to);
  for (size_t i = 0; i < n; i++)
    put_panel(file.to, json_array_get(groups, i), TOP + PANEL * (double)i, width);
  fputs("</svg>\n", file.to);
  return clarke_output_close(&file, status, path, err);
}
