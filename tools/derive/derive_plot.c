/* The figure of `clarke derive --plot`, written as text: above, the function; below, AD's output,
 * with the Clarke subdifferential as a vertical bar at each kink. It carries its own white ground,
 * and reads alike on light and dark pages. Coordinates are whole hundredths of a pixel and labels
 * are made of integers, so that no locale or library decides a byte of it. */
#include "derive_plot.h"
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
#define TITLE_MOST 72 /* characters */

#define INK "#1f2328"
#define FAINT "#d8dee4"
#define BLUE "#0969a8"  /* the function */
#define ORANGE "#d1571b" /* AD */
#define GREEN "#2a9d5c" /* Clarke */

/* An axis: its limits, ticks at first, first + 1, ..., last times step = digit 10^exponent, drawn
 * from pixel `from` to pixel `to`. */
typedef struct {
  double low, high, from, to;
  int64_t first, last;
  int digit, exponent;
} axis;

typedef struct {
  FILE *out;
  const clarke_plot_sample *sample;
  size_t n_samples;
  const clarke_plot_kink *kink;
  size_t n_kinks;
  axis t, value, ad;
} figure;

/* --- numbers as text ------------------------------------------------------------------------- */

static void
put_pixel(FILE *out, double pixel)
{
  int64_t n = (int64_t)floor(pixel * 100 + 0.5);
  uint64_t size = n < 0 ? (uint64_t)-n : (uint64_t)n;

  fprintf(out, "%s%llu.%02llu", n < 0 ? "-" : "", (unsigned long long)(size / 100),
          (unsigned long long)(size % 100));
}

/* n 10^exponent, as 0.25, 1200 or 3e-9; the minus sign is U+2212. */
static void
put_label(FILE *out, int64_t n, int exponent)
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

/* At most TITLE_MOST characters of text, escaped; bytes that are no text become '?'. */
static void
put_text(FILE *out, const char *text)
{
  const unsigned char *s = (const unsigned char *)text;
  size_t n = 0;

  for (; *s != '\0' && n < TITLE_MOST; n++) {
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

/* --- axes ------------------------------------------------------------------------------------ */

static void
widen(axis *a, double x)
{
  if (!isfinite(x))
    return;
  a->low = x < a->low ? x : a->low;
  a->high = x > a->high ? x : a->high;
}

/* digit 10^exponent: the least of 1, 2, 5 times a power of ten that is no less than x > 0. */
static double
round_step(axis *a, double x)
{
  static const int digits[] = {1, 2, 5};
  double power = 1;

  for (a->exponent = 0; power > x; a->exponent--)
    power /= 10;
  for (; power * 10 <= x; a->exponent++)
    power *= 10;
  for (size_t k = 0; k < 3; k++)
    if (digits[k] * power >= x) {
      a->digit = digits[k];
      return digits[k] * power;
    }
  a->digit = 1;
  a->exponent++;
  return power * 10;
}

/* Limits and ticks, about `ticks` of them. Numbers beyond 1e300 are left out by the caller. */
static void
settle(axis *a, double margin, int ticks)
{
  double size, step;

  if (!(a->low <= a->high))
    a->low = a->high = 0;
  size = a->high - a->low;
  if (size <= 1e-12 * fmax(fabs(a->low), fabs(a->high)) || size < 1e-290) {
    double around = a->low == 0 || fabs(a->low) < 1e-280 ? 1 : fabs(a->low) / 2;

    a->low -= around;
    a->high += around;
    size = a->high - a->low;
  }
  a->low -= margin * size;
  a->high += margin * size;
  step = round_step(a, (a->high - a->low) / ticks);
  a->first = (int64_t)ceil(a->low / step);
  a->last = (int64_t)floor(a->high / step);
}

static double
pixel(const axis *a, double x)
{
  return a->from + (x - a->low) / (a->high - a->low) * (a->to - a->from);
}

/* Where tick n is: between the limits by the same formula as everything else. */
static double
tick_pixel(const axis *a, int64_t n)
{
  double x = (double)n * a->digit;

  for (int k = 0; k < a->exponent; k++)
    x *= 10;
  for (int k = a->exponent; k < 0; k++)
    x /= 10;
  return pixel(a, x);
}

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
fit_samples(const figure *f, axis *a, bool ad)
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
        widen(a, sorted[i]);
  }
  free(sorted);
  return true;
}

static bool
fit(figure *f)
{
  f->t = (axis){.low = INFINITY, .high = -INFINITY, .from = LEFT, .to = WIDTH - RIGHT};
  f->value = (axis){.low = INFINITY, .high = -INFINITY, .from = 308, .to = 92};
  f->ad = (axis){.low = INFINITY, .high = -INFINITY, .from = 544, .to = 328};
  for (size_t i = 0; i < f->n_samples; i++)
    if (drawable(f->sample[i].t))
      widen(&f->t, f->sample[i].t);
  for (size_t i = 0; i < f->n_kinks; i++) {
    const clarke_plot_kink *k = &f->kink[i];
    const double all[] = {k->ad, k->lo, k->hi};

    if (drawable(k->t))
      widen(&f->t, k->t);
    if (drawable(k->value))
      widen(&f->value, k->value);
    for (size_t j = 0; j < 3; j++)
      if (drawable(all[j]))
        widen(&f->ad, all[j]);
  }
  if (!fit_samples(f, &f->value, false) || !fit_samples(f, &f->ad, true))
    return false;
  settle(&f->t, 0, 8);
  settle(&f->value, 0.08, 5);
  settle(&f->ad, 0.08, 5);
  return true;
}

/* --- lines ----------------------------------------------------------------------------------- */

static void
put_line(FILE *out, double x1, double y1, double x2, double y2, const char *style)
{
  fputs("<line x1=\"", out);
  put_pixel(out, x1);
  fputs("\" y1=\"", out);
  put_pixel(out, y1);
  fputs("\" x2=\"", out);
  put_pixel(out, x2);
  fputs("\" y2=\"", out);
  put_pixel(out, y2);
  fprintf(out, "\" %s/>\n", style);
}

static void
put_circle(FILE *out, double x, double y, const char *style)
{
  fputs("<circle cx=\"", out);
  put_pixel(out, x);
  fputs("\" cy=\"", out);
  put_pixel(out, y);
  fprintf(out, "\" %s/>\n", style);
}

/* Ticks, grid, frame, the line of zero and the axis's name of the panel whose vertical axis is y. */
static void
put_panel(const figure *f, const axis *y, const char *name, bool labels_below)
{
  FILE *out = f->out;

  for (int64_t n = f->t.first; n <= f->t.last; n++) {
    double x = tick_pixel(&f->t, n);

    put_line(out, x, y->from, x, y->to, "stroke=\"" FAINT "\"");
    if (!labels_below)
      continue;
    fputs("<text text-anchor=\"middle\" x=\"", out);
    put_pixel(out, x);
    fputs("\" y=\"", out);
    put_pixel(out, y->from + 19);
    fputs("\">", out);
    put_label(out, n * f->t.digit, f->t.exponent);
    fputs("</text>\n", out);
  }
  for (int64_t n = y->first; n <= y->last; n++) {
    double at = tick_pixel(y, n);

    put_line(out, f->t.from, at, f->t.to, at,
             n == 0 ? "stroke=\"#8c959f\"" : "stroke=\"" FAINT "\"");
    fputs("<text text-anchor=\"end\" x=\"", out);
    put_pixel(out, f->t.from - 9);
    fputs("\" y=\"", out);
    put_pixel(out, at + 4.5);
    fputs("\">", out);
    put_label(out, n * y->digit, y->exponent);
    fputs("</text>\n", out);
  }
  fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#8c959f\""
          "/>\n", LEFT, (int)y->to, WIDTH - RIGHT - LEFT, (int)(y->from - y->to));
  fputs("<text text-anchor=\"middle\" transform=\"translate(20 ", out);
  put_pixel(out, (y->from + y->to) / 2);
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
put_curve(const figure *f, const axis *y, bool ad, const char *style)
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
    put_pixel(f->out, pixel(&f->t, t));
    putc(',', f->out);
    put_pixel(f->out, fmax(-9999, fmin(9999, pixel(y, at))));
  }
  if (open)
    fputs("\"/>\n", f->out);
}

static void
put_kinks(const figure *f)
{
  for (size_t i = 0; i < f->n_kinks; i++) {
    const clarke_plot_kink *k = &f->kink[i];
    double x = pixel(&f->t, k->t);

    if (!drawable(k->t))
      continue;
    put_line(f->out, x, f->value.from, x, f->value.to,
             "stroke=\"#8c959f\" stroke-dasharray=\"3 4\"");
    put_line(f->out, x, f->ad.from, x, f->ad.to,
             "stroke=\"#8c959f\" stroke-dasharray=\"3 4\"");
    if (drawable(k->value))
      put_circle(f->out, x, pixel(&f->value, k->value),
                 "r=\"4\" fill=\"" BLUE "\" stroke=\"#ffffff\"");
    if (drawable(k->lo) && drawable(k->hi))
      put_line(f->out, x, pixel(&f->ad, k->lo), x, pixel(&f->ad, k->hi),
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
      put_circle(f->out, pixel(&f->t, f->kink[i].t), pixel(&f->ad, f->kink[i].ad),
                 "r=\"4.5\" fill=\"" ORANGE "\" stroke=\"#ffffff\"");
}

/* --- the page -------------------------------------------------------------------------------- */

static void
put_legend(FILE *out)
{
  put_line(out, LEFT, 70, LEFT + 28, 70, "stroke=\"" BLUE "\" stroke-width=\"2.2\"");
  fprintf(out, "<text x=\"%d\" y=\"74.5\">function</text>\n", LEFT + 36);
  put_line(out, LEFT + 124, 70, LEFT + 152, 70, "stroke=\"" ORANGE "\" stroke-width=\"2.2\"");
  put_circle(out, LEFT + 138, 70, "r=\"4.5\" fill=\"" ORANGE "\" stroke=\"#ffffff\"");
  fprintf(out, "<text x=\"%d\" y=\"74.5\">AD, dots at kinks</text>\n", LEFT + 160);
  put_line(out, LEFT + 304, 64, LEFT + 304, 76,
           "stroke=\"" GREEN "\" stroke-width=\"9\" stroke-opacity=\"0.55\" "
           "stroke-linecap=\"round\"");
  fprintf(out, "<text x=\"%d\" y=\"74.5\">Clarke subdifferential at a kink</text>\n", LEFT + 316);
}

static void
put_clip(FILE *out, const char *id, const axis *y)
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
  put_text(out, title);
  fprintf(out, "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", WIDTH, HEIGHT);
  fprintf(out, "<text x=\"%d\" y=\"38\" font-size=\"17\" font-weight=\"600\">", LEFT);
  put_text(out, title);
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
