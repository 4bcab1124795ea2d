/* Tables of numbers as text (table.h). */
#include "format/table.h"

#include "exact/literal.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST 1024 /* characters of a number */

typedef struct {
  const char *at, *end;
  size_t line;
  const char *file;
} reader;

void
clarke_table_init(clarke_table *t)
{
  memset(t, 0, sizeof *t);
}

void
clarke_table_clear(clarke_table *t)
{
  for (size_t i = 0; i < t->rows * t->columns; i++)
    mpq_clear(t->value[i]);
  free(t->value);
  clarke_table_init(t);
}

/* Decimals with an exponent that is not large, and fractions: no other literal of programs. */
bool
clarke_table_number(mpq_t value, const char *word)
{
  const char *e = strpbrk(word, "eE");
  const long exponent = e != NULL ? strtol(e + 1, NULL, 10) : 0;

  return strlen(word) <= LONGEST && word[strspn(word, "0123456789+-./eE")] == '\0' && exponent <= CLARKE_TABLE_EXPONENT
         && exponent >= -CLARKE_TABLE_EXPONENT && clarke_literal_parse(value, word);
}

static bool
is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

/* The next number of the line; *found false: there is none. */
static clarke_status
next_number(mpq_t value, bool *found, reader *r, clarke_error *err)
{
  char word[LONGEST + 1];
  size_t n = 0;

  while (r->at < r->end && is_blank(*r->at))
    r->at++;
  *found = r->at < r->end && *r->at != '\n' && *r->at != '#';
  if (!*found)
    return CLARKE_OK;
  for (; r->at < r->end && !is_blank(*r->at) && *r->at != '\n' && *r->at != '#'; r->at++) {
    if (n == LONGEST || *r->at == '\0')
      return clarke_fail(err, CLARKE_EINPUT, "%s: line %zu: %s", r->file, r->line,
                         n == LONGEST ? "a number of over 1024 characters" : "a NUL; expected a text");
    word[n++] = *r->at;
  }
  word[n] = '\0';
  if (!clarke_table_number(value, word))
    return clarke_fail(err, CLARKE_EINPUT, "%s: line %zu: '%.40s' is no number; expected -3, 0.25, 1e-3 or 1/3", r->file,
                       r->line, word);
  return CLARKE_OK;
}

/* Room for one more value, initialized. */
static clarke_status
grow(mpq_t **value, size_t n, const reader *r, clarke_error *err)
{
  if (n == CLARKE_TABLE_ENTRIES)
    return clarke_fail(err, CLARKE_ENOMEM, "%s: over %zu numbers", r->file, CLARKE_TABLE_ENTRIES);
  if ((n & (n - 1)) == 0) {
    mpq_t *more = reallocarray(*value, n == 0 ? 1 : 2 * n, sizeof **value);

    if (more == NULL)
      return clarke_no_memory(err);
    *value = more;
  }
  mpq_init((*value)[n]);
  return CLARKE_OK;
}

static clarke_status
read_line(clarke_table *t, size_t *n, reader *r, clarke_error *err)
{
  const size_t before = *n;
  bool found = true;
  clarke_status status = CLARKE_OK;

  while (status == CLARKE_OK && found) {
    status = grow(&t->value, *n, r, err);
    if (status != CLARKE_OK)
      return status;
    status = next_number(t->value[*n], &found, r, err);
    if (status == CLARKE_OK && found)
      ++*n;
    else
      mpq_clear(t->value[*n]);
  }
  if (status != CLARKE_OK || *n == before)
    return status;
  if (t->rows > 0 && *n - before != t->columns)
    return clarke_fail(err, CLARKE_EINPUT, "%s: line %zu: a row of %zu; expected %zu, as in the first row", r->file, r->line,
                       *n - before, t->columns);
  t->columns = *n - before;
  t->rows++;
  return CLARKE_OK;
}

static void
end_line(reader *r)
{
  while (r->at < r->end && *r->at != '\n')
    r->at++;
  r->at += r->at < r->end;
  r->line++;
}

clarke_status
clarke_table_parse(clarke_table *t, const void *data, size_t size, const char *file, clarke_error *err)
{
  reader r = {data, (const char *)data + size, 1, file};
  size_t n = 0;
  clarke_status status = CLARKE_OK;

  while (r.at < r.end && status == CLARKE_OK) {
    status = read_line(t, &n, &r, err);
    end_line(&r);
  }
  if (status == CLARKE_OK && n == 0)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: no number in it; expected rows of numbers", file);
  if (status == CLARKE_OK)
    return CLARKE_OK;
  while (n > 0)
    mpq_clear(t->value[--n]);
  t->rows = t->columns = 0;
  clarke_table_clear(t);
  return status;
}
