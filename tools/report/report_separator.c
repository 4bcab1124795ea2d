/* The vector that separates AD's output from all derivatives nearby: its entries as dots, blue above 0 and orange below. */
#include "report.h"

#include "markup.h"
#include "object.h"
#include "page.h"

#include <gmp.h>
#include <string.h>

#define MOST_RANK ((size_t)8)
#define MOST_PARAMETERS ((size_t)40)
#define MOST_FILTERS ((size_t)60)
#define MOST_DOTS ((size_t)96) /* of a side; of larger ones a dot is its largest entry */
#define MOST_ENTRIES ((size_t)1 << 31)
#define LARGEST 12
#define LEVELS 4 /* of a colour */
#define LONGEST ((size_t)100000) /* digits of a number */

/* A parameter's entries as matrices, one behind another: of a convolution one for each filter and channel. */
typedef struct {
  const json_t *entries;
  const char *name;
  size_t rank, dims[MOST_RANK], count, rows, columns, step; /* step: rows and columns of a dot */
  bool filters;
} heat;

typedef struct {
  size_t n;
  double share[MOST_DOTS][MOST_DOTS]; /* -1 to 1 */
} dots;

/* --- numbers ---------------------------------------------------------------------------------- */

static bool
read_number(mpq_t q, const json_t *value)
{
  const char *text = json_string_value(value);
  const bool read = text != NULL && strlen(text) <= LONGEST && mpq_set_str(q, text, 10) == 0 && mpz_sgn(mpq_denref(q)) != 0;

  if (read)
    mpq_canonicalize(q);
  else
    mpq_set_ui(q, 0, 1);
  return read;
}

/* Entry i: its place, and its number. false: it is none. */
static bool
read_entry(size_t *place, mpq_t q, const heat *h, size_t i)
{
  const json_t *entry = json_array_get(h->entries, i), *at = json_array_get(entry, 0);

  *place = 0;
  if (!read_number(q, json_array_get(entry, 1)) || !json_is_integer(at) || json_integer_value(at) < 0
      || (size_t)json_integer_value(at) >= h->count)
    return false;
  *place = (size_t)json_integer_value(at);
  return true;
}

static bool
read_heat(heat *h, const json_t *parameter)
{
  const json_t *shape = json_object_get(parameter, "shape");

  *h = (heat){.entries = json_object_get(parameter, "entries"), .name = clarke_text_at(parameter, "name"), .rank = json_array_size(shape), .count = 1};
  if (!json_is_array(shape) || !json_is_array(h->entries) || h->rank > MOST_RANK)
    return false;
  for (size_t a = 0; a < h->rank; a++) {
    const json_int_t n = json_integer_value(json_array_get(shape, a));

    if (n < 1 || n > (json_int_t)MOST_ENTRIES || h->count > MOST_ENTRIES / (size_t)n)
      return false;
    h->dims[a] = (size_t)n;
    h->count *= (size_t)n;
  }
  h->filters = h->rank > 2;
  h->rows = h->rank == 2 || h->rank > 3 ? h->dims[h->rank - 2] : 1;
  h->columns = h->rank > 0 ? h->dims[h->rank - 1] : 1;
  h->step = ((h->rows > h->columns ? h->rows : h->columns) + MOST_DOTS - 1) / MOST_DOTS;
  return true;
}

/* The largest in size; 0: there is none. */
static void
find_largest(mpq_t most, const heat *h)
{
  size_t place;
  mpq_t q;

  mpq_init(q);
  for (size_t i = 0; i < json_array_size(h->entries); i++)
    if (read_entry(&place, q, h, i)) {
      mpq_abs(q, q);
      if (mpq_cmp(q, most) > 0)
        mpq_set(most, q);
    }
  mpq_clear(q);
}

/* --- dots ------------------------------------------------------------------------------------- */

static void
put_level(FILE *to, const dots *d, size_t rows, size_t columns, int sign, int level)
{
  bool any = false;

  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++) {
      const double size = sign * d->share[i][j] * LEVELS;
      const int of = size >= LEVELS ? LEVELS : (int)size + 1;

      if (!(size > 0) || of != level)
        continue;
      if (!any)
        fprintf(to, "<path fill=\"%s\" fill-opacity=\"%d%%\" d=\"", sign > 0 ? "#2b7de0" : "#d9661f", 100 * level / LEVELS);
      any = true;
      fprintf(to, "M%zu %zuh1v1h-1z", j, i);
    }
  if (any)
    fputs("\"/>\n", to);
}

static void
put_dots(FILE *to, const dots *d, const heat *h, const char *label)
{
  const size_t rows = (h->rows + h->step - 1) / h->step, columns = (h->columns + h->step - 1) / h->step,
               longer = rows > columns ? rows : columns, pixels = longer > 30 ? 3 : longer > 8 ? 8 : 16;

  clarke_markup(to, "<svg role=\"img\" aria-label=\"%s\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\">\n", label, columns * pixels, rows * pixels,
                columns, rows);
  clarke_markup(to, "<rect width=\"%zu\" height=\"%zu\" fill=\"#8883\"/>\n", columns, rows);
  for (int level = 1; level <= LEVELS; level++) {
    put_level(to, d, rows, columns, 1, level);
    put_level(to, d, rows, columns, -1, level);
  }
  fputs("</svg>\n", to);
}

/* The entry's share of the largest goes to its dot, where the largest in size stays. */
static void
set_dot(dots *d, const heat *h, size_t place, const mpq_t q, const mpq_t most)
{
  const size_t inside = place % (h->rows * h->columns);
  double *dot = &d->share[inside / h->columns / h->step][inside % h->columns / h->step], share;
  mpq_t part;

  if (mpq_sgn(q) == 0)
    return;
  mpq_init(part);
  mpq_div(part, q, most);
  share = mpq_get_d(part);
  mpq_clear(part);
  if (share == 0)
    share = mpq_sgn(q) * 1e-300; /* too small for a double, and not 0 */
  if ((share < 0 ? -share : share) > (*dot < 0 ? -*dot : *dot))
    *dot = share;
}

/* "filter 3, channel 0" of a matrix in a convolution's weight; else the parameter's name. */
static void
put_label(FILE *to, const heat *h, size_t matrix)
{
  const size_t channels = h->filters ? h->count / h->rows / h->columns / h->dims[0] : 1;

  if (h->filters)
    clarke_markup(to, "filter %zu, channel %zu", matrix / channels, matrix % channels);
  else
    clarke_markup(to, h->rank == 2 ? "%zu rows, %zu columns" : "%zu row, %zu columns", h->rows, h->columns);
}

/* The matrix of entry *i and of those behind it that are in the same one; *i moves past them. */
static void
put_matrix(FILE *to, size_t *i, const heat *h, const mpq_t most)
{
  static dots d; /* large */
  size_t place, first = MOST_ENTRIES;
  mpq_t q;

  memset(&d, 0, sizeof d);
  mpq_init(q);
  for (; *i < json_array_size(h->entries); ++*i) {
    if (!read_entry(&place, q, h, *i))
      continue;
    if (first == MOST_ENTRIES)
      first = place / (h->rows * h->columns);
    if (place / (h->rows * h->columns) != first)
      break;
    set_dot(&d, h, place, q, most);
  }
  mpq_clear(q);
  if (first == MOST_ENTRIES)
    return;
  fputs("<figure>\n", to);
  put_dots(to, &d, h, h->name);
  fputs("<figcaption>", to);
  put_label(to, h, first);
  fputs("</figcaption>\n</figure>\n", to);
}

/* --- entries in words ------------------------------------------------------------------------- */

static void
put_entry(FILE *to, const heat *h, size_t i)
{
  const json_t *entry = json_array_get(h->entries, i);
  size_t rest = (size_t)json_integer_value(json_array_get(entry, 0)), each = h->count;

  fputs("<tr><td>", to);
  for (size_t a = 0; a < h->rank; a++) {
    each /= h->dims[a];
    fprintf(to, "%s%zu", a > 0 ? ", " : "", rest / each);
    rest %= each;
  }
  fputs("</td>", to);
  clarke_page_cell(to, json_string_value(json_array_get(entry, 1)));
  fputs("</tr>\n", to);
}

/* The largest in size, in their order of size. How many are no entries is *wrong. */
static size_t
find_first(size_t largest[LARGEST], size_t *wrong, const heat *h)
{
  mpq_t size[LARGEST + 1];
  size_t n = 0, place;

  for (size_t k = 0; k <= LARGEST; k++)
    mpq_init(size[k]);
  *wrong = 0;
  for (size_t i = 0; i < json_array_size(h->entries); i++) {
    size_t k = n;

    if (!read_entry(&place, size[LARGEST], h, i)) {
      ++*wrong;
      continue;
    }
    mpq_abs(size[LARGEST], size[LARGEST]);
    for (; k > 0 && mpq_cmp(size[LARGEST], size[k - 1]) > 0; k--)
      if (k < LARGEST) {
        mpq_swap(size[k], size[k - 1]);
        largest[k] = largest[k - 1];
      }
    if (k < LARGEST) {
      mpq_set(size[k], size[LARGEST]);
      largest[k] = i;
      n += n < LARGEST;
    }
  }
  for (size_t k = 0; k <= LARGEST; k++)
    mpq_clear(size[k]);
  return n;
}

static void
put_entries(FILE *to, const heat *h)
{
  size_t largest[LARGEST], wrong;
  const size_t n = find_first(largest, &wrong, h), all = json_array_size(h->entries);

  fputs("<table><thead><tr><th>entry</th><th>number</th></tr></thead><tbody>\n", to);
  for (size_t k = 0; k < n; k++)
    put_entry(to, h, largest[k]);
  fputs("</tbody></table>\n", to);
  clarke_page_more(to, all - n - wrong);
  if (wrong > 0)
    clarke_markup(to, "<p>%zu that are no numbers of the parameter's entries</p>\n", wrong);
}

static void
put_parameter(FILE *to, const json_t *parameter)
{
  heat h;
  size_t i = 0, drawn = 0;
  mpq_t most;

  fputs("<h3>", to);
  clarke_page_text(to, clarke_text_at(parameter, "name"));
  clarke_markup(to, " <small>%zu entries are not 0</small></h3>\n", json_array_size(json_object_get(parameter, "entries")));
  if (!read_heat(&h, parameter)) {
    fputs("<p>It has no entries that can be read.</p>\n", to);
    return;
  }
  mpq_init(most);
  find_largest(most, &h);
  fputs("<div class=\"pictures\">\n", to);
  for (; i < json_array_size(h.entries) && clarke_page_goes_on(to, drawn, MOST_FILTERS); drawn++)
    put_matrix(to, &i, &h, most);
  fputs("</div>\n", to);
  if (i < json_array_size(h.entries))
    clarke_markup(to, "<p class=\"more\">%zu more entries are not drawn</p>\n", json_array_size(h.entries) - i);
  put_entries(to, &h);
  mpq_clear(most);
}

void
clarke_report_separator(FILE *to, const json_t *answer)
{
  const json_t *separator = json_object_get(answer, "separator"), *list = json_object_get(separator, "parameters");
  const size_t n = json_array_size(list);
  size_t i = 0, listed = 0;

  if (!json_is_object(separator))
    return;
  for (size_t k = 0; k < n; k++)
    listed += clarke_count_at(json_array_get(list, k), "entries");
  clarke_page_section(to, "What tells AD's gradient apart");
  fputs("<p>A direction in the weights. Along it AD's gradient says that the loss grows faster than any derivative nearby says. Blue: a weight that "
        "grows; orange: one that falls; strong: much, of the parameter's largest. Where nothing is drawn the weights stay.</p>\n",
        to);
  for (; i < n && clarke_page_goes_on(to, i, MOST_PARAMETERS); i++)
    put_parameter(to, json_array_get(list, i));
  clarke_page_more(to, n - i);
  if (clarke_count_at(separator, "entries") > listed)
    clarke_markup(to, "<p class=\"more\">%zu more entries</p>\n", clarke_count_at(separator, "entries") - listed);
  clarke_page_section_end(to);
}
