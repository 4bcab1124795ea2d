/* The syntax tree of a program: its memory, and places in its text. */
#include "program/prog_tree.h"

#include "base/room.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A message shows so many bytes of a source line, so many of them before the column. */
#define SHOWN 90
#define SHOWN_BEFORE 60

void
clarke_prog_init(clarke_prog *g)
{
  memset(g, 0, sizeof *g);
}

void
clarke_prog_clear(clarke_prog *g)
{
  free(g->file);
  free(g->text);
  free(g->line_start);
  free(g->node);
  free(g->statement);
  free(g->comment);
  clarke_prog_init(g);
}

void *
clarke_prog_grow(void *array, size_t n, size_t *capacity, size_t size)
{
  return clarke_room(&array, capacity, n + 1, size) ? array : NULL;
}

bool
clarke_prog_is(const clarke_prog *g, size_t start, size_t length, const char *word)
{
  return strlen(word) == length && memcmp(g->text + start, word, length) == 0;
}

bool
clarke_prog_is_word(const char *text, size_t length)
{
  static const char *const words[] = { "input", "let",  "output", "piece",
                                       "if",    "then", "else",   "and" };

  for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
    if (strlen(words[k]) == length && memcmp(words[k], text, length) == 0)
      return true;
  return false;
}

void
clarke_prog_place(const clarke_prog *g, size_t at, size_t *line, size_t *column)
{
  size_t low = 0, high = g->n_lines;

  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;

    if (g->line_start[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  *line = low + 1;
  *column = at - g->line_start[low] + 1;
}

size_t
clarke_prog_headers(clarke_prog_header *header, size_t limit, const clarke_prog *g)
{
  size_t n = 0;

  for (size_t i = 0; i < g->n_comments; i++) {
    const clarke_prog_comment *c = &g->comment[i];
    const char *text = g->text + c->start + 2;
    size_t length = c->length;

    if (!c->alone || length < 2 || text[-1] != ':')
      continue;
    for (length -= 2; length > 0 && (*text == ' ' || *text == '\t'); length--)
      text++;
    if (n < limit)
      header[n] = (clarke_prog_header){ .text = text, .length = length, .line = c->line };
    n++;
  }
  return n;
}

/* The bytes of the character that begins at s, 0 when it is no text. */
static size_t
character(const char *s, size_t left)
{
  if (*s == '\t')
    return 1;
  for (size_t length = 1; length <= 4 && length <= left; length++)
    if (clarke_text_valid(s, length))
      return length;
  return 0;
}

/* An excerpt of a line and what brings a caret under a place in it. */
typedef struct {
  char text[SHOWN + 8], indent[SHOWN + 8];
  size_t n_text, n_indent;
} excerpt;

/* Copies text[from, to), what is no text as '?'; *columns: how many characters. */
static void
show(excerpt *e, const char *text, size_t from, size_t to, bool before)
{
  for (size_t length, i = from; i < to; i += length) {
    const size_t valid = character(text + i, to - i);

    length = valid == 0 ? 1 : valid;
    if (valid == 0)
      e->text[e->n_text++] = '?';
    else
      memcpy(e->text + e->n_text, text + i, length);
    e->n_text += valid;
    if (before)
      e->indent[e->n_indent++] = text[i] == '\t' ? '\t' : ' ';
  }
}

static void
dots(excerpt *e, bool before)
{
  memcpy(e->text + e->n_text, "...", 3);
  e->n_text += 3;
  if (before) {
    memset(e->indent + e->n_indent, ' ', 3);
    e->n_indent += 3;
  }
}

static bool
inside_character(char c)
{
  return ((unsigned char)c & 0xc0) == 0x80;
}

static void
take_excerpt(excerpt *e, const clarke_prog *g, size_t line_start, size_t at)
{
  const char *stop = memchr(g->text + line_start, '\n', g->size - line_start);
  size_t from = line_start, to, end = stop != NULL ? (size_t)(stop - g->text) : g->size;

  if (end > line_start && g->text[end - 1] == '\r' && at < end)
    end--;
  memset(e, 0, sizeof *e);
  if (at - from > SHOWN_BEFORE && end - from > SHOWN)
    from = at - SHOWN_BEFORE;
  while (from > line_start && from < at && inside_character(g->text[from]))
    from++;
  to = end - from > SHOWN ? from + SHOWN : end;
  while (to < end && to > at + 1 && inside_character(g->text[to]))
    to--;
  if (from > line_start)
    dots(e, true);
  show(e, g->text, from, at, true);
  show(e, g->text, at, to, false);
  if (to < end)
    dots(e, false);
}

/* Characters from the line's start to at, from 1. */
static size_t
column_of(const clarke_prog *g, size_t line_start, size_t at)
{
  size_t column = 1, length;

  for (size_t i = line_start; i < at; i += length, column++) {
    length = character(g->text + i, at - i);
    length = length == 0 ? 1 : length;
  }
  return column;
}

static clarke_status
fail_at(const clarke_prog *g, size_t at, clarke_error *err, clarke_status code,
        const char *format, va_list list)
{
  char message[480];
  excerpt e;
  size_t line, column, start;

  if (err == NULL)
    return code;
  vsnprintf(message, sizeof message, format, list);
  clarke_prog_place(g, at, &line, &column);
  start = at + 1 - column;
  take_excerpt(&e, g, start, at);
  return clarke_fail(err, code, "%s:%zu:%zu: %s\n%s\n%s^", g->file, line, column_of(g, start, at),
                     message, e.text, e.indent);
}

clarke_status
clarke_prog_fail(const clarke_prog *g, size_t at, clarke_error *err, const char *format, ...)
{
  va_list list;
  clarke_status status;

  va_start(list, format);
  status = fail_at(g, at, err, CLARKE_EINPUT, format, list);
  va_end(list);
  return status;
}

static clarke_status
past_limit(const clarke_prog *g, size_t at, clarke_error *err, const char *format, ...)
{
  va_list list;
  clarke_status status;

  va_start(list, format);
  status = fail_at(g, at, err, CLARKE_ENOMEM, format, list);
  va_end(list);
  return status;
}

clarke_status
clarke_prog_fail_limit(const clarke_prog *g, size_t at, clarke_error *err, clarke_limit which, const char *what)
{
  clarke_error limit = { CLARKE_OK, "" };

  clarke_limit_fail(&limit, which, "%s", what);
  return past_limit(g, at, err, "%.400s", limit.text);
}
