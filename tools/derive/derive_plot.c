/* The figure of `clarke derive --plot`, written as text: above, the function; below, AD's output,
 * with the Clarke subdifferential as a vertical bar at each kink. It carries its own white ground,
 * and reads alike on light and dark pages. */
#include "derive_plot.h"
#include "derive_axis.h"
#include "derive_svg.h"
#include "base/output.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 760
#define HEIGHT 600
#define LEFT 84
#define RIGHT 24

#define INK "#1f2328"
#define FAINT "#d8dee4"
#define BLUE "#0969a8"  /* the function */
#define ORANGE "#d1571b" /* AD */
#define GREEN "#2a9d5c" /* Clarke */

typedef struct {
  FILE *out;
  const clarke_plot_sample *sample;
  size_t n_samples;
  const clarke_plot_kink *kink;
  size_t n_kinks;
  clarke_axis t, value, ad;
} figure;

/* --- limits ---------------------------------------------------------------------------------- */

static bool
drawable(double x)
{
  return fabs(x) <= 1e290;
}

/* A few steep samples must not flatten the rest: a panel shows at most this many times the range
 * between the quartiles, and what is beyond is cut off at the frame. */
#define QUARTILE_RANGES 25

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* The limits that the samples' values (or AD's) call for; false when out of memory. */
static bool
fit_samples(const figure *f, clarke_axis *a, bool ad)
{
  double *sorted = malloc((f->n_samples + 1) * sizeof *sorted), low, high, range;
  size_t n = 0;

  if (sorted == NULL)
    return false;
  for (size_t i = 0; i < f->n_samples; i++) {
    double y = ad ? f->sample[i].ad : f->sample[i].value;

    if (drawable(y))
      sorted[n++] = y;
  }
  if (n > 0) {
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    low = sorted[n / 4];
    high = sorted[n - 1 - n / 4];
    range = high > low ? QUARTILE_RANGES * (high - low) : INFINITY;
    for (size_t i = 0; i < n; i++)
      if (sorted[i] >= low - range && sorted[i] <= high + range)
        clarke_axis_widen(a, sorted[i]);
  }
  free(sorted);
  return true;
}

static bool
fit(figure *f)
{
  f->t = (clarke_axis){.low = INFINITY, .high = -INFINITY, .from = LEFT, .to = WIDTH - RIGHT};
  f->value = (clarke_axis){.low = INFINITY, .high = -INFINITY, .from = 308, .to = 92};
  f->ad = (clarke_axis){.low = INFINITY, .high = -INFINITY, .from = 544, .to = 328};
  for (size_t i = 0; i < f->n_samples; i++)
    if (drawable(f->sample[i].t))
      clarke_axis_widen(&f->t, f->sample[i].t);
  for (size_t i = 0; i < f->n_kinks; i++) {
    const clarke_plot_kink *k = &f->kink[i];
    const double all[] = {k->ad, k->lo, k->hi};

    if (drawable(k->t))
      clarke_axis_widen(&f->t, k->t);
    if (drawable(k->value))
      clarke_axis_widen(&f->value, k->value);
    for (size_t j = 0; j < 3; j++)
      if (drawable(all[j]))
        clarke_axis_widen(&f->ad, all[j]);
  }
  if (!fit_samples(f, &f->value, false) || !fit_samples(f, &f->ad, true))
    return false;
  clarke_axis_settle(&f->t, 0, 8);
  clarke_axis_settle(&f->value, 0.08, 5);
  clarke_axis_settle(&f->ad, 0.08, 5);
  return true;
}

/* --- panels ---------------------------------------------------------------------------------- */

/* Ticks, grid, frame, the line of zero and the axis's name of the panel whose vertical axis is y. */
static void
put_panel(const figure *f, const clarke_axis *y, const char *name, bool labels_below)
{
  FILE *out = f->out;

  for (int64_t n = f->t.first; n <= f->t.last; n++) {
    double x = clarke_axis_tick(&f->t, n);

    clarke_svg_line(out, x, y->from, x, y->to, "stroke=\"" FAINT "\"");
    if (!labels_below)
      continue;
    fputs("<text text-anchor=\"middle\" x=\"", out);
    clarke_svg_pixel(out, x);
    fputs("\" y=\"", out);
    clarke_svg_pixel(out, y->from + 19);
    fputs("\">", out);
    clarke_svg_decimal(out, n * f->t.digit, f->t.exponent);
    fputs("</text>\n", out);
  }
  for (int64_t n = y->first; n <= y->last; n++) {
    double at = clarke_axis_tick(y, n);

    clarke_svg_line(out, f->t.from, at, f->t.to, at,
             n == 0 ? "stroke=\"#8c959f\"" : "stroke=\"" FAINT "\"");
    fputs("<text text-anchor=\"end\" x=\"", out);
    clarke_svg_pixel(out, f->t.from - 9);
    fputs("\" y=\"", out);
    clarke_svg_pixel(out, at + 4.5);
    fputs("\">", out);
    clarke_svg_decimal(out, n * y->digit, y->exponent);
    fputs("</text>\n", out);
  }
  fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#8c959f\""
          "/>\n", LEFT, (int)y->to, WIDTH - RIGHT - LEFT, (int)(y->from - y->to));
  fputs("<text text-anchor=\"middle\" transform=\"translate(20 ", out);
  clarke_svg_pixel(out, (y->from + y->to) / 2);
  fprintf(out, ") rotate(-90)\">%s</text>\n", name);
}

/* --- curves ---------------------------------------------------------------------------------- */

/* Is there a kink in (a, b], or at a? Kinks before *next are passed. */
static bool
kink_between(const figure *f, size_t *next, double a, double b)
{
  while (*next < f->n_kinks && f->kink[*next].t < a)
    ++*next;
  return *next < f->n_kinks && f->kink[*next].t <= b;
}

/* A step between two samples beside which those before and after it are small is a jump that no
 * sample fell on. */
static bool
is_jump(const figure *f, size_t i, bool ad, double range)
{
  double y[4];

  for (size_t k = 0; k < 4; k++) {
    size_t at = i + k < 2 ? 0 : i + k - 2;
    const clarke_plot_sample *s = &f->sample[at < f->n_samples ? at : f->n_samples - 1];

    y[k] = ad ? s->ad : s->value;
  }
  return fabs(y[2] - y[1]) > range / 20 && fabs(y[2] - y[1]) > 8 * fabs(y[1] - y[0]) &&
         fabs(y[2] - y[1]) > 8 * fabs(y[3] - y[2]);
}

/* The samples, joined but at gaps and jumps; AD's also are not joined through a kink. */
static void
put_curve(const figure *f, const clarke_axis *y, bool ad, const char *style)
{
  size_t next = 0;
  bool open = false;

  for (size_t i = 0; i < f->n_samples; i++) {
    double t = f->sample[i].t, at = ad ? f->sample[i].ad : f->sample[i].value;
    double before = i > 0 ? f->sample[i - 1].t : t;
    bool parted = i == 0 || is_jump(f, i, ad, y->high - y->low) ||
                  (ad && kink_between(f, &next, before, t));
    bool gap = !drawable(t) || !drawable(at) ||
               (ad && next < f->n_kinks && f->kink[next].t == t);

    if (open && (gap || parted)) {
      fputs("\"/>\n", f->out);
      open = false;
    }
    if (gap)
      continue;
    if (!open)
      fprintf(f->out, "<polyline %s points=\"", style);
    else
      putc(' ', f->out);
    open = true;
    clarke_svg_pixel(f->out, clarke_axis_pixel(&f->t, t));
    putc(',', f->out);
    clarke_svg_pixel(f->out, fmax(-9999, fmin(9999, clarke_axis_pixel(y, at))));
  }
  if (open)
    fputs("\"/>\n", f->out);
}

static void
put_kinks(const figure *f)
{
  for (size_t i = 0; i < f->n_kinks; i++) {
    const clarke_plot_kink *k = &f->kink[i];
    double x = clarke_axis_pixel(&f->t, k->t);

    if (!drawable(k->t))
      continue;
    clarke_svg_line(f->out, x, f->value.from, x, f->value.to,
             "stroke=\"#8c959f\" stroke-dasharray=\"3 4\"");
    clarke_svg_line(f->out, x, f->ad.from, x, f->ad.to,
             "stroke=\"#8c959f\" stroke-dasharray=\"3 4\"");
    if (drawable(k->value))
      clarke_svg_circle(f->out, x, clarke_axis_pixel(&f->value, k->value),
                 "r=\"4\" fill=\"" BLUE "\" stroke=\"#ffffff\"");
    if (drawable(k->lo) && drawable(k->hi))
      clarke_svg_line(f->out, x, clarke_axis_pixel(&f->ad, k->lo), x, clarke_axis_pixel(&f->ad, k->hi),
               "stroke=\"" GREEN "\" stroke-width=\"9\" stroke-opacity=\"0.55\" "
               "stroke-linecap=\"round\"");
  }
}

/* On top of all: what AD gives at the kinks. */
static void
put_answers(const figure *f)
{
  for (size_t i = 0; i < f->n_kinks; i++)
    if (drawable(f->kink[i].t) && drawable(f->kink[i].ad))
      clarke_svg_circle(f->out, clarke_axis_pixel(&f->t, f->kink[i].t), clarke_axis_pixel(&f->ad, f->kink[i].ad),
                 "r=\"4.5\" fill=\"" ORANGE "\" stroke=\"#ffffff\"");
}

/* --- the page -------------------------------------------------------------------------------- */

static void
put_legend(FILE *out)
{
  clarke_svg_line(out, LEFT, 70, LEFT + 28, 70, "stroke=\"" BLUE "\" stroke-width=\"2.2\"");
  fprintf(out, "<text x=\"%d\" y=\"74.5\">function</text>\n", LEFT + 36);
  clarke_svg_line(out, LEFT + 124, 70, LEFT + 152, 70, "stroke=\"" ORANGE "\" stroke-width=\"2.2\"");
  clarke_svg_circle(out, LEFT + 138, 70, "r=\"4.5\" fill=\"" ORANGE "\" stroke=\"#ffffff\"");
  fprintf(out, "<text x=\"%d\" y=\"74.5\">AD, dots at kinks</text>\n", LEFT + 160);
  clarke_svg_line(out, LEFT + 304, 64, LEFT + 304, 76,
           "stroke=\"" GREEN "\" stroke-width=\"9\" stroke-opacity=\"0.55\" "
           "stroke-linecap=\"round\"");
  fprintf(out, "<text x=\"%d\" y=\"74.5\">Clarke subdifferential at a kink</text>\n", LEFT + 316);
}

static void
put_clip(FILE *out, const char *id, const clarke_axis *y)
{
  fprintf(out, "<clipPath id=\"%s\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>"
          "</clipPath>\n", id, LEFT - 6, (int)y->to, WIDTH - RIGHT - LEFT + 12,
          (int)(y->from - y->to));
}

static void
put_page(const figure *f, const char *title)
{
  FILE *out = f->out;

  fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" height=\"%d\" "
          "viewBox=\"0 0 %d %d\" font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, "
          "sans-serif\" font-size=\"13\" fill=\"" INK "\">\n<title>", WIDTH, HEIGHT, WIDTH, HEIGHT);
  clarke_svg_text(out, title);
  fprintf(out, "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", WIDTH, HEIGHT);
  fprintf(out, "<text x=\"%d\" y=\"38\" font-size=\"17\" font-weight=\"600\">", LEFT);
  clarke_svg_text(out, title);
  fputs("</text>\n", out);
  put_legend(out);
  put_clip(out, "above", &f->value);
  put_clip(out, "below", &f->ad);
  put_panel(f, &f->value, "value", false);
  put_panel(f, &f->ad, "AD\xe2\x80\x99s derivative", true);
  fprintf(out, "<text text-anchor=\"middle\" x=\"%d\" y=\"586\" font-style=\"italic\">t</text>\n",
          (LEFT + WIDTH - RIGHT) / 2);
  fputs("<g clip-path=\"url(#above)\" stroke-linejoin=\"round\">\n", out);
  put_curve(f, &f->value, false, "fill=\"none\" stroke=\"" BLUE "\" stroke-width=\"2.2\"");
  fputs("</g>\n<g clip-path=\"url(#below)\" stroke-linejoin=\"round\">\n", out);
  put_curve(f, &f->ad, true, "fill=\"none\" stroke=\"" ORANGE "\" stroke-width=\"2.2\"");
  fputs("</g>\n", out);
  put_kinks(f);
  put_answers(f);
  fputs("</svg>\n", out);
}

clarke_status
clarke_plot_write(const char *path, const clarke_plot_sample *sample, size_t n_samples,
                  const clarke_plot_kink *kink, size_t n_kinks, const char *title,
                  clarke_error *err)
{
  figure f = {.sample = sample, .n_samples = n_samples, .kink = kink, .n_kinks = n_kinks};
  clarke_output o;
  clarke_status status;

  if (!fit(&f))
    return clarke_no_memory(err);
  status = clarke_output_open(&o, path, err);
  if (status != CLARKE_OK)
    return status;
  f.out = o.to;
  put_page(&f, title);
  return clarke_output_close(&o, status, path, err);
}
