/* What touched kinks see of the minibatch, as pictures with rectangles, for pages (docs/report.md). */
#include "audit_report.h"

#include "network/graph/field.h"
#include "session/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SAMPLES ((size_t)6)
#define MOST_WINDOWS ((size_t)120)
#define MOST_TIED ((size_t)8)  /* rectangles of one window's entries */
#define MOST_SIDE ((size_t)48) /* dots of a picture; of larger ones a dot is a mean */
#define GREYS 16
#define SHADES 6 /* of each of three colours: the digits 0, 3, 6, 9, c, f */
#define WORK ((size_t)1 << 24)

/* How a sample's numbers are a picture, or several: entry (p, row, column, colour) is at the sum of what each takes. */
typedef struct {
  const clarke_tensor *x;
  size_t entries; /* of a sample */
  size_t pictures, rows, columns, channels, colours;
  size_t of_picture, of_row, of_column, of_channel;
  const char *axes;
  size_t shrunk; /* so many rows and columns are a dot */
} layout;

typedef struct {
  const clarke_audit_session *s;
  layout at;
  bool *decides; /* by touch */
  bool *chosen;  /* by sample */
  bool *seen;    /* by entry of the input */
  size_t work, n, sample[MOST_SAMPLES], picture[MOST_SAMPLES];
  json_t *samples, *windows;
  size_t listed;
} album;

/* --- is it a picture? ---------------------------------------------------------------------------- */

static bool
are_channels(size_t n)
{
  return n == 1 || n == 3 || n == 4;
}

static size_t
shrinking(size_t rows, size_t columns)
{
  return ((rows > columns ? rows : columns) + MOST_SIDE - 1) / MOST_SIDE;
}

/* Channels first or last; of two axes there is one. false: it is none. */
static bool
find_layout(layout *l, const clarke_tensor *x)
{
  const size_t *dims = x->dims + 1, rank = x->rank > 0 ? x->rank - 1 : 0;
  const bool several = rank == 4, first = rank >= 3 && are_channels(dims[several]);
  const size_t *d = dims + several;

  *l = (layout){.x = x, .pictures = several ? dims[0] : 1, .channels = 1};
  if (rank < 2 || rank > 4 || x->count == 0 || (rank > 2 && !first && !are_channels(d[2])))
    return false;
  l->entries = x->count / x->dims[0];
  l->rows = rank == 2 || !first ? d[0] : d[1];
  l->columns = rank == 2 || !first ? d[1] : d[2];
  if (rank > 2)
    l->channels = first ? d[0] : d[2];
  if (l->rows < 2 || l->columns < 2)
    return false;
  l->of_channel = first ? l->rows * l->columns : 1;
  l->of_column = first ? 1 : l->channels;
  l->of_row = l->of_column * l->columns;
  l->of_picture = l->channels * l->rows * l->columns;
  l->axes = rank == 2 ? "rows, columns" : first ? "channels, rows, columns" : "rows, columns, channels";
  l->colours = l->channels == 1 ? 1 : 3;
  l->shrunk = shrinking(l->rows, l->columns);
  return true;
}

static json_t *
no_picture(const clarke_tensor *x)
{
  char shape[32 * CLARKE_MAX_RANK] = "", why[512];
  size_t n = 0;

  for (size_t a = 1; a < x->rank; a++)
    n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%zu", a > 1 ? " x " : "", x->dims[a]);
  snprintf(why, sizeof why, "a sample has the shape (%s), which is not read as a picture: two rows and columns or more, with 1, 3 or 4 channels or none",
           shape);
  return json_pack("{s:s}", "none", why);
}

/* --- a picture ------------------------------------------------------------------------------------ */

static double
number(const layout *l, size_t sample, size_t entry)
{
  const size_t e = sample * l->entries + entry;

  return l->x->real != NULL ? l->x->real[e] : (double)l->x->integer[e];
}

/* How far one colour is on the way from the darkest number to the lightest: the mean over the dot's entries. Halves, for the
 * numbers may be as large as there are. */
static double
brightness(const layout *l, size_t sample, size_t at, size_t row, size_t column, const double range[2])
{
  const size_t rows = row + l->shrunk < l->rows ? row + l->shrunk : l->rows,
               columns = column + l->shrunk < l->columns ? column + l->shrunk : l->columns;
  double sum = 0, n = 0;

  for (size_t i = row; i < rows; i++)
    for (size_t j = column; j < columns; j++, n++)
      sum += range[1] > range[0] ? (number(l, sample, at + i * l->of_row + j * l->of_column) / 2 - range[0] / 2) / (range[1] / 2 - range[0] / 2)
                                 : 0.5;
  return sum / n;
}

/* A row of dots: a hexadecimal digit each, or three. */
static json_t *
row_json(const layout *l, size_t sample, size_t picture, size_t row, const double range[2])
{
  char text[3 * MOST_SIDE + 1];
  size_t n = 0;

  for (size_t column = 0; column < l->columns; column += l->shrunk)
    for (size_t c = 0; c < l->colours; c++) {
      const double b = brightness(l, sample, picture * l->of_picture + c * l->of_channel, row, column, range);
      const int digit = l->colours == 1 ? (int)lround(b * (GREYS - 1)) : 3 * (int)lround(b * (SHADES - 1));

      text[n++] = "0123456789abcdef"[digit < 0 ? 0 : digit < GREYS ? digit : GREYS - 1];
    }
  return json_stringn(text, n);
}

static json_t *
picture_json(const layout *l, size_t sample, size_t picture)
{
  json_t *rows = json_array();
  double range[2] = {INFINITY, -INFINITY};

  for (size_t e = 0; e < l->rows * l->columns; e++)
    for (size_t c = 0; c < l->colours; c++) {
      const double x = number(l, sample, picture * l->of_picture + c * l->of_channel + e / l->columns * l->of_row + e % l->columns * l->of_column);

      range[0] = x < range[0] ? x : range[0];
      range[1] = x > range[1] ? x : range[1];
    }
  for (size_t row = 0; row < l->rows; row += l->shrunk)
    clarke_json_append(&rows, row_json(l, sample, picture, row, range));
  return json_pack("{s:I, s:I, s:f, s:f, s:o}", "sample", (json_int_t)sample, "picture", (json_int_t)picture, "darkest", range[0], "lightest",
                   range[1], "rows", rows);
}

/* Is it there, or is there room? They are in order. */
static bool
take_picture(album *a, size_t sample, size_t picture)
{
  size_t at;

  for (size_t i = 0; i < a->n; i++)
    if (a->sample[i] == sample && a->picture[i] == picture)
      return true;
  if (a->n == MOST_SAMPLES)
    return false;
  for (at = a->n++; at > 0 && (a->sample[at - 1] > sample || (a->sample[at - 1] == sample && a->picture[at - 1] > picture)); at--) {
    a->sample[at] = a->sample[at - 1];
    a->picture[at] = a->picture[at - 1];
  }
  a->sample[at] = sample;
  a->picture[at] = picture;
  return true;
}

/* --- what a kink sees ----------------------------------------------------------------------------- */

/* The smallest rectangle with all that is marked: top, left, rows, columns. false: nothing is, or several pictures have some. */
static bool
box_of(size_t box[4], size_t *picture, const album *a)
{
  const layout *l = &a->at;
  size_t top = l->rows, left = l->columns, end[2] = {0, 0}, found = CLARKE_NONE;

  for (size_t e = 0; e < l->pictures * l->of_picture; e++) {
    const size_t inside = e % l->of_picture, row = inside / l->of_row % l->rows, column = inside / l->of_column % l->columns;

    if (!a->seen[e])
      continue;
    if (found != CLARKE_NONE && found != e / l->of_picture)
      return false;
    found = e / l->of_picture;
    top = row < top ? row : top;
    left = column < left ? column : left;
    end[0] = row >= end[0] ? row + 1 : end[0];
    end[1] = column >= end[1] ? column + 1 : end[1];
  }
  memcpy(box, (size_t[]){top, left, end[0] - top, end[1] - left}, 4 * sizeof *box);
  *picture = found;
  return found != CLARKE_NONE;
}

/* NULL, *status being fine: it sees nothing, or several pictures. */
static json_t *
field_json(size_t *picture, clarke_status *status, album *a, size_t value, size_t entry, clarke_error *err)
{
  size_t box[4];
  bool whole = false;

  *status = clarke_field_find(a->seen, &whole, &a->work, &a->s->graph, value, entry, err);
  if (*status == CLARKE_OK && !whole)
    *status = CLARKE_ESTOPPED;
  if (*status != CLARKE_OK || !box_of(box, picture, a))
    return NULL;
  return json_pack("[I, I, I, I]", (json_int_t)box[0], (json_int_t)box[1], (json_int_t)box[2], (json_int_t)box[3]);
}

/* A window's tied entries, each with what it sees. */
static json_t *
tied_json(clarke_status *status, album *a, const clarke_touch *t, clarke_error *err)
{
  const size_t value = a->s->graph.steps[t->step].in[0].value;
  json_t *list = json_array(), *box;

  for (size_t i = 0; i < t->n_options && i < MOST_TIED && *status == CLARKE_OK; i++) {
    size_t picture;

    box = field_json(&picture, status, a, value, t->option[i], err);
    if (box != NULL)
      clarke_json_append(&list, box);
  }
  return list;
}

static char *
place_of(const clarke_graph *g, const clarke_touch *t)
{
  char *text = NULL;
  size_t size;
  FILE *to = open_memstream(&text, &size);

  if (to == NULL)
    return NULL;
  clarke_put_place(to, g, t->step, t->feature, t->sample);
  fclose(to);
  return text;
}

static clarke_status
put_window(album *a, size_t touch, clarke_error *err)
{
  const clarke_touch *t = &a->s->replay.touch[touch];
  const clarke_step *step = &a->s->graph.steps[t->step];
  clarke_status status;
  size_t picture = 0;
  json_t *box = field_json(&picture, &status, a, step->out, t->feature, err), *tied;
  char *place;

  if (status != CLARKE_OK || (box != NULL && !take_picture(a, t->sample, picture))) {
    json_decref(box);
    return status;
  }
  tied = tied_json(&status, a, t, err);
  place = place_of(&a->s->graph, t);
  clarke_json_append(&a->windows, json_pack("{s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "place", clarke_json_text(place), "layer",
                                            clarke_json_text(step->name), "neuron", (json_int_t)t->feature, "sample", (json_int_t)t->sample,
                                            "picture", box != NULL ? json_integer((json_int_t)picture) : json_null(), "decides",
                                            a->s->audit.verdict == CLARKE_NOT_IN_CLARKE ? json_boolean(a->decides[touch]) : json_null(), "field", box != NULL ? box : json_null(), "tied", tied));
  free(place);
  a->listed++;
  return status;
}

/* --- which kinks ---------------------------------------------------------------------------------- */

/* Those that a proof tells apart: its tree branches on them, or on others that take their sides with them. */
static void
find_deciding(bool *decides, const clarke_audit_session *s)
{
  const clarke_tree *t = &s->audit.tree;

  if (s->audit.verdict != CLARKE_NOT_IN_CLARKE)
    return;
  for (size_t i = 0; i < t->n; i++)
    if (t->node[i].kind == CLARKE_BRANCH)
      decides[t->node[i].at] = true;
  for (size_t k = 0; t->parallel != NULL && k < s->replay.n_touches; k++)
    decides[k] = decides[k] || (t->parallel[k] != CLARKE_NONE && decides[t->parallel[k]]);
}

/* The samples of the first few; of those that decide before the others. */
static void
choose_samples(album *a)
{
  const clarke_replay *r = &a->s->replay;
  size_t n = 0;

  for (int deciding = 1; deciding >= 0; deciding--)
    for (size_t k = 0; k < r->n_touches && n < MOST_SAMPLES; k++)
      if (a->decides[k] == (deciding == 1) && !a->chosen[r->touch[k].sample]) {
        a->chosen[r->touch[k].sample] = true;
        n++;
      }
}

static bool
is_asked(const album *a, size_t touch, bool deciding)
{
  return a->decides[touch] == deciding && a->chosen[a->s->replay.touch[touch].sample];
}

/* Puts the windows; where there are too many, each second one, or third. Work that is stopped, or too much, leaves the rest
 * out. */
static void
put_windows(album *a, bool deciding, clarke_error *err)
{
  const size_t n = a->s->replay.n_touches, room = MOST_WINDOWS - a->listed;
  clarke_status status = CLARKE_OK;
  size_t all = 0, at = 0;

  for (size_t k = 0; k < n; k++)
    all += is_asked(a, k, deciding);
  for (size_t k = 0; k < n && room > 0 && status == CLARKE_OK; k++)
    if (is_asked(a, k, deciding) && at++ % ((all + room - 1) / room) == 0)
      status = put_window(a, k, err);
}

static json_t *
album_json(album *a)
{
  const clarke_audit_session *s = a->s;
  const layout *l = &a->at;
  clarke_error err = {CLARKE_OK, ""};

  find_deciding(a->decides, s);
  choose_samples(a);
  put_windows(a, true, &err);
  put_windows(a, false, &err);
  for (size_t i = 0; i < a->n; i++)
    clarke_json_append(&a->samples, picture_json(l, a->sample[i], a->picture[i]));
  return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:I}", "axes", l->axes, "height", (json_int_t)l->rows, "width", (json_int_t)l->columns,
                   "channels", (json_int_t)l->channels, "shrunk", (json_int_t)l->shrunk, "samples", a->samples, "windows", a->windows, "all",
                   (json_int_t)s->replay.n_touches);
}

static json_t *
pictures_json(const clarke_audit_session *s)
{
  const clarke_tensor *named = s->with_masks.count > 0 ? clarke_tensors_find(&s->batch, "x") : NULL;
  album a = {.s = s, .work = WORK};
  json_t *j = NULL;

  if (!find_layout(&a.at, named != NULL ? named : s->x))
    return no_picture(named != NULL ? named : s->x);
  a.decides = calloc(s->replay.n_touches + 1, sizeof *a.decides);
  a.chosen = calloc(s->x->dims[0] + 1, sizeof *a.chosen);
  a.seen = calloc(s->graph.values[s->graph.input].count + a.at.entries + 1, sizeof *a.seen);
  a.samples = json_array();
  a.windows = json_array();
  if (a.decides != NULL && a.chosen != NULL && a.seen != NULL)
    j = album_json(&a);
  free(a.decides);
  free(a.chosen);
  free(a.seen);
  return j;
}

bool
clarke_audit_draws(const clarke_audit_command *command)
{
  return command->verbose || command->ci.html != NULL;
}

void
clarke_audit_set_pictures(json_t **answer, const clarke_audit_session *s, bool wanted)
{
  if (wanted && s->replayed && s->replay.n_touches > 0)
    clarke_json_set(answer, "pictures", pictures_json(s));
}
