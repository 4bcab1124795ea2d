/* What touched kinks see, as rectangles on the pictures of the minibatch. */
#include "report.h"

#include "markup.h"
#include "object.h"
#include "page.h"

#include <string.h>

#define SIDE ((size_t)240)    /* pixels of a picture's longer side, and the fewest of the shorter one */
#define THINNEST ((size_t)12)
#define UNIT ((size_t)100)    /* of a drawing: to an entry of the sample */
#define MOST_SIDE ((size_t)64)
#define MOST_PICTURES ((size_t)6)
#define MOST_WINDOWS ((size_t)120)
#define MOST_ENTRIES ((size_t)1 << 24) /* of a side */
#define COLOURS 4096

typedef struct {
  size_t height, width, shrunk, rows, columns, digits; /* rows and columns of dots; digits of a dot */
} canvas;

static bool
read_canvas(canvas *c, const json_t *pictures)
{
  *c = (canvas){.height = clarke_count_at(pictures, "height"), .width = clarke_count_at(pictures, "width"), .shrunk = clarke_count_at(pictures, "shrunk"),
                .digits = clarke_count_at(pictures, "channels") == 1 ? 1 : 3};
  if (c->height == 0 || c->width == 0 || c->shrunk == 0 || c->height > MOST_ENTRIES || c->width > MOST_ENTRIES || c->shrunk > MOST_ENTRIES)
    return false;
  c->rows = (c->height + c->shrunk - 1) / c->shrunk;
  c->columns = (c->width + c->shrunk - 1) / c->shrunk;
  return c->rows <= MOST_SIDE && c->columns <= MOST_SIDE;
}

/* --- dots ------------------------------------------------------------------------------------- */

static int
digit_of(char c)
{
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* By row and column; grey has three digits alike. false: the rows are no picture of that size. */
static bool
read_dots(int dot[MOST_SIDE][MOST_SIDE], const canvas *c, const json_t *rows)
{
  if (json_array_size(rows) != c->rows)
    return false;
  for (size_t i = 0; i < c->rows; i++) {
    const char *text = json_string_value(json_array_get(rows, i));

    if (text == NULL || strlen(text) != c->columns * c->digits)
      return false;
    for (size_t j = 0; j < c->columns; j++) {
      const char *at = text + j * c->digits;
      const int red = digit_of(at[0]), green = digit_of(at[c->digits / 2]), blue = digit_of(at[c->digits - 1]);

      if (red < 0 || green < 0 || blue < 0)
        return false;
      dot[i][j] = red << 8 | green << 4 | blue;
    }
  }
  return true;
}

/* All dots of a colour, runs of them at once. */
static void
put_colour(FILE *to, int dot[MOST_SIDE][MOST_SIDE], const canvas *c, int colour)
{
  fprintf(to, "<path fill=\"#%03x\" d=\"", (unsigned)colour);
  for (size_t i = 0; i < c->rows; i++)
    for (size_t j = 0, run; j < c->columns; j += run) {
      for (run = 1; j + run < c->columns && dot[i][j + run] == dot[i][j]; run++)
        continue;
      if (dot[i][j] == colour)
        fprintf(to, "M%zu %zuh%zuv1h-%zuz", j, i, run, run);
    }
  fputs("\"/>\n", to);
}

static void
put_dots(FILE *to, int dot[MOST_SIDE][MOST_SIDE], const canvas *c)
{
  bool there[COLOURS] = {false};

  for (size_t i = 0; i < c->rows; i++)
    for (size_t j = 0; j < c->columns; j++)
      there[dot[i][j]] = true;
  fprintf(to, "<g shape-rendering=\"crispEdges\" transform=\"scale(%zu)\">\n", UNIT * c->shrunk);
  for (int colour = 0; colour < COLOURS; colour++)
    if (there[colour])
      put_colour(to, dot, c, colour);
  fputs("</g>\n", to);
}

/* --- rectangles ------------------------------------------------------------------------------- */

/* Top, left, rows, columns. */
static bool
read_box(size_t box[4], const json_t *field)
{
  if (json_array_size(field) != 4)
    return false;
  for (size_t i = 0; i < 4; i++) {
    const json_int_t n = json_integer_value(json_array_get(field, i));

    if (!json_is_integer(json_array_get(field, i)) || n < (i < 2 ? 0 : 1) || n > (json_int_t)MOST_ENTRIES)
      return false;
    box[i] = (size_t)n;
  }
  return true;
}

/* A pixel in units of the drawing, at least one. */
static size_t
pixel(const canvas *c)
{
  const size_t side = c->height > c->width ? c->height : c->width, units = UNIT * side / SIDE;

  return units > 0 ? units : 1;
}

/* A line has its own width inside of what it goes around. */
static size_t
inner(size_t side, size_t wide)
{
  return side > wide ? side - wide : 1;
}

static bool
put_box(FILE *to, const canvas *c, const json_t *field, const char *stroke, size_t pixels)
{
  const size_t wide = pixels * pixel(c);
  size_t box[4];

  if (!read_box(box, field) || box[0] + box[2] > c->height || box[1] + box[3] > c->width)
    return false;
  fprintf(to, "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\" fill=\"none\" stroke=\"%s\" stroke-width=\"%zu\"/>\n",
          UNIT * box[1] + wide / 2, UNIT * box[0] + wide / 2, inner(UNIT * box[3], wide), inner(UNIT * box[2], wide), stroke, wide);
  return true;
}

static bool
is_on(const json_t *window, const json_t *sample)
{
  return json_is_array(json_object_get(window, "field")) && json_equal(json_object_get(window, "sample"), json_object_get(sample, "sample"))
         && json_equal(json_object_get(window, "picture"), json_object_get(sample, "picture"));
}

/* Those that decide come last, over the others; of a window's tied entries thinner ones inside. How many there are. */
static size_t
put_boxes(FILE *to, const canvas *c, const json_t *windows, const json_t *sample)
{
  const size_t n = json_array_size(windows) < MOST_WINDOWS ? json_array_size(windows) : MOST_WINDOWS;
  size_t drawn = 0;

  for (int deciding = 0; deciding < 2; deciding++)
    for (size_t i = 0; i < n; i++) {
      const json_t *w = json_array_get(windows, i), *tied = json_object_get(w, "tied");

      if (json_is_true(json_object_get(w, "decides")) != (deciding == 1) || !is_on(w, sample))
        continue;
      for (size_t k = 0; k < json_array_size(tied) && k < 8; k++)
        put_box(to, c, json_array_get(tied, k), "#e8a33d", 2);
      drawn += put_box(to, c, json_object_get(w, "field"), deciding == 1 ? "#e0301e" : "#2b7de0", 3);
    }
  return drawn;
}

/* --- figures ---------------------------------------------------------------------------------- */

static size_t
shown(size_t side, size_t longer)
{
  const size_t pixels = SIDE * side / longer;

  return pixels > THINNEST ? pixels : THINNEST;
}

static void
put_figure(FILE *to, const canvas *c, const json_t *sample, const json_t *windows)
{
  int dot[MOST_SIDE][MOST_SIDE];
  const size_t longer = c->height > c->width ? c->height : c->width;
  size_t drawn;

  if (!read_dots(dot, c, json_object_get(sample, "rows"))) {
    clarke_markup(to, "<p>Sample %zu has no picture of that size.</p>\n", clarke_count_at(sample, "sample"));
    return;
  }
  clarke_markup(to, "<figure>\n<svg role=\"img\" aria-label=\"sample %zu\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" preserveAspectRatio=\"none\">\n",
                clarke_count_at(sample, "sample"), shown(c->width, longer), shown(c->height, longer), UNIT * c->width, UNIT * c->height);
  put_dots(to, dot, c);
  drawn = put_boxes(to, c, windows, sample);
  clarke_markup(to, "</svg>\n<figcaption>sample %zu", clarke_count_at(sample, "sample"));
  if (clarke_count_at(sample, "picture") > 0)
    clarke_markup(to, ", picture %zu of it", clarke_count_at(sample, "picture"));
  clarke_markup(to, ": %zu marked</figcaption>\n</figure>\n", drawn);
}

static void
put_range(FILE *to, const size_t box[4], size_t axis)
{
  fprintf(to, "<td>%zu to %zu</td>", box[axis], box[axis] + box[axis + 2] - 1);
}

static void
put_window(FILE *to, const json_t *window)
{
  size_t box[4];

  clarke_page_cell_of(to, window, "place");
  if (read_box(box, json_object_get(window, "field"))) {
    put_range(to, box, 0);
    put_range(to, box, 1);
  } else
    fputs("<td>-</td><td>-</td>", to);
}

static void
put_judged(FILE *to, const json_t *window)
{
  put_window(to, window);
  clarke_page_cell(to, json_is_true(json_object_get(window, "decides")) ? "yes" : "no");
}

/* Has one of them any part in a proof that AD's output lies outside? */
static bool
are_judged(const json_t *windows)
{
  for (size_t i = 0; i < json_array_size(windows); i++)
    if (json_is_true(json_object_get(json_array_get(windows, i), "decides")))
      return true;
  return false;
}

static void
put_figures(FILE *to, const json_t *pictures, const json_t *windows)
{
  const json_t *samples = json_object_get(pictures, "samples");
  const size_t n = json_array_size(samples);
  canvas c;
  size_t i = 0;

  if (!read_canvas(&c, pictures)) {
    fputs("<p>The answer has no picture that can be read.</p>\n", to);
    return;
  }
  fputs("<div class=\"pictures\">\n", to);
  for (; i < n && clarke_page_goes_on(to, i, MOST_PICTURES); i++)
    put_figure(to, &c, json_array_get(samples, i), windows);
  fputs("</div>\n", to);
  clarke_page_more(to, n - i);
  clarke_markup(to, "<p class=\"why\">%s; inside, thin: equal entries of its window. Bright is large. A sample has %zu rows and %zu columns",
                are_judged(windows) ? "Red: a kink that the proof turns on; blue: another" : "Blue: a kink", c.height, c.width);
  if (c.shrunk > 1)
    clarke_markup(to, "; a dot is the mean of %zu x %zu numbers", c.shrunk, c.shrunk);
  if (clarke_count_at(pictures, "channels") > 3)
    clarke_markup(to, "; the first three of %zu channels are the colours", clarke_count_at(pictures, "channels"));
  fputs(".</p>\n", to);
}

void
clarke_report_pictures(FILE *to, const json_t *answer)
{
  const json_t *pictures = json_object_get(answer, "pictures"), *windows = json_object_get(pictures, "windows");
  const size_t all = clarke_count_at(pictures, "all"), n = json_array_size(windows);

  if (!json_is_object(pictures))
    return;
  clarke_page_section(to, "Where: on the pictures of the minibatch");
  if (json_object_get(pictures, "none") != NULL) {
    fputs("<p>No pictures are drawn: ", to);
    clarke_page_scalar(to, json_object_get(pictures, "none"));
    fputs(".</p>\n", to);
  } else {
    clarke_markup(to, "<p>What touched kinks see of the samples. %zu of %zu are drawn.</p>\n", n, all);
    put_figures(to, pictures, windows);
    if (are_judged(windows))
      clarke_page_table(to, "kink\trows\tcolumns\tthe proof turns on it", windows, MOST_WINDOWS, put_judged);
    else
      clarke_page_table(to, "kink\trows\tcolumns", windows, MOST_WINDOWS, put_window);
    if (all > n)
      clarke_markup(to, "<p class=\"more\">%zu more kinks are touched, and not drawn</p>\n", all - n);
  }
  clarke_page_section_end(to);
}
