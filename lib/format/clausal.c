/* Refutations of solvers (clausal.h): what was read. */
#include "format/clausal.h"
#include "base/room.h"
#include "format/clausal_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_clausal_init(clarke_clausal *p)
{
  memset(p, 0, sizeof *p);
}

void
clarke_clausal_clear(clarke_clausal *p)
{
  free(p->step);
  free(p->literal);
  free(p->hint);
  clarke_clausal_init(p);
}

clarke_status
clarke_clausal_begin(clarke_clausal *p, bool deletion, size_t place, int64_t number, clarke_error *err)
{
  if (!clarke_room(&p->step, &p->capacity, p->n + 2, sizeof *p->step))
    return clarke_no_memory(err);
  p->step[p->n++] = (clarke_clausal_step){deletion, place, number, p->n_literals, p->n_hints};
  return CLARKE_OK;
}

clarke_status
clarke_clausal_literal(clarke_clausal *p, int32_t literal, clarke_error *err)
{
  if (!clarke_room(&p->literal, &p->literal_capacity, p->n_literals + 2, sizeof *p->literal))
    return clarke_no_memory(err);
  p->literal[p->n_literals++] = literal;
  return CLARKE_OK;
}

clarke_status
clarke_clausal_hint(clarke_clausal *p, int64_t hint, clarke_error *err)
{
  if (!clarke_room(&p->hint, &p->hint_capacity, p->n_hints + 2, sizeof *p->hint))
    return clarke_no_memory(err);
  p->hint[p->n_hints++] = hint;
  return CLARKE_OK;
}

clarke_status
clarke_clausal_parse(clarke_clausal *p, clarke_clausal_format format, const void *data, size_t size, const char *file,
                     clarke_error *err)
{
  clarke_status status;

  p->format = format;
  p->binary = size > 0 && memchr(data, 0, size) != NULL;
  if (p->binary && format == CLARKE_CLAUSAL_LRAT)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: a binary LRAT file: the text is expected (cadical --no-binary)", file);
  else
    status = (p->binary ? clarke_clausal_binary : clarke_clausal_text)(p, data, size, file, err);
  if (status == CLARKE_OK && p->n == 0)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: no steps, expected a refutation", file);
  if (status == CLARKE_OK)
    p->step[p->n] = (clarke_clausal_step){false, size, 0, p->n_literals, p->n_hints};
  else
    clarke_clausal_clear(p);
  return status;
}

clarke_status
clarke_clausal_fail(clarke_error *err, const clarke_clausal *p, const char *file, size_t k, const char *format, ...)
{
  char what[200];
  va_list more;

  va_start(more, format);
  vsnprintf(what, sizeof what, format, more);
  va_end(more);
  return clarke_fail(err, CLARKE_EINPUT, p->binary ? "%s: byte %zu: %s" : "%s:%zu: %s", file, p->step[k].place, what);
}
