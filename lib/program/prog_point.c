/* A point of a program, from the command line: NAME=v,v,... */
#include "program/prog.h"
#include "exact/literal.h"

#include <stdlib.h>
#include <string.h>

static bool
is_blank(char c)
{
  return c == ' ' || c == '\t';
}

/* "x, v[3]": for messages. */
static void
list_inputs(char *list, size_t size, const clarke_code *p)
{
  size_t n = 0;

  list[0] = '\0';
  for (size_t i = 0; i < p->n_inputs && n < size; i++) {
    const clarke_code_input *input = &p->input[i];

    n += (size_t)snprintf(list + n, size - n, "%s%.40s", i > 0 ? ", " : "", input->name);
    if (input->vector && n < size)
      n += (size_t)snprintf(list + n, size - n, "[%zu]", input->n);
  }
}

static clarke_status
find_input(size_t *which, size_t *first, const clarke_code *p, const char *name, size_t length,
           clarke_error *err)
{
  char list[400];

  *first = 0;
  for (size_t i = 0; i < p->n_inputs; i++) {
    if (strlen(p->input[i].name) == length && memcmp(p->input[i].name, name, length) == 0) {
      *which = i;
      return CLARKE_OK;
    }
    *first += p->input[i].n;
  }
  list_inputs(list, sizeof list, p);
  return clarke_fail(err, CLARKE_EINPUT, "no input '%.*s': the inputs are %s",
                     length > 60 ? 60 : (int)length, name, list);
}

/* One literal, blanks around it allowed. */
static clarke_status
parse_value(mpq_t value, const char *text, size_t length, const char *name, clarke_error *err)
{
  char *copy;
  bool good;

  for (; length > 0 && is_blank(*text); length--)
    text++;
  while (length > 0 && is_blank(text[length - 1]))
    length--;
  copy = strndup(text, length);
  if (copy == NULL)
    return clarke_no_memory(err);
  good = clarke_literal_parse(value, copy);
  free(copy);
  if (good)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "'%.*s' in the value of input '%.60s' is no number:"
                     " expected one such as 3, -1/3, 0.1, 1e-3, 0x1.8p-4 or, for the nearest"
                     " float32, 0.1f", length > 40 ? 40 : (int)length, text, name);
}

/* The values of one input go as far as the comma in front of the next NAME=, or to the end. */
static size_t
values_length(const char *text)
{
  size_t n = strcspn(text, ",");

  while (text[n] == ',') {
    const size_t part = strcspn(text + n + 1, ",");

    if (memchr(text + n + 1, '=', part) != NULL)
      break;
    n += 1 + part;
  }
  return n;
}

static size_t
count_values(const char *text, size_t length)
{
  size_t n = 1;

  for (size_t i = 0; i < length; i++)
    n += text[i] == ',';
  return n;
}

/* One input; *end is behind its values. */
static clarke_status
parse_input(const char **end, mpq_t *at, bool *given, const clarke_code *p, const char *text, clarke_error *err)
{
  const char *equals = strchr(text, '=');
  const clarke_code_input *input;
  size_t which, first, n;
  clarke_status status;

  if (equals == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "'%.60s' is no point: expected NAME=VALUE,VALUE,...",
                       text);
  while (is_blank(*text))
    text++;
  status = find_input(&which, &first, p, text, (size_t)(equals - text), err);
  if (status != CLARKE_OK)
    return status;
  input = &p->input[which];
  text = equals + 1;
  *end = text + values_length(text);
  n = count_values(text, (size_t)(*end - text));
  if (given[which])
    return clarke_fail(err, CLARKE_EINPUT, "input '%.60s' is given twice", input->name);
  if (n != input->n)
    return clarke_fail(err, CLARKE_EINPUT, "input '%.60s' has %zu %s, but %zu %s given", input->name,
                       input->n, input->n == 1 ? "entry" : "entries", n, n == 1 ? "is" : "are");
  for (size_t i = 0; status == CLARKE_OK && i < n; i++) {
    const size_t length = strcspn(text, ",");

    status = parse_value(at[first + i], text, length, input->name, err);
    text += length + 1;
  }
  given[which] = status == CLARKE_OK;
  return status;
}

clarke_status
clarke_point_parse(mpq_t *at, bool *given, const clarke_code *p, const char *text,
                   clarke_error *err)
{
  clarke_status status = parse_input(&text, at, given, p, text, err);

  while (status == CLARKE_OK && *text == ',')
    status = parse_input(&text, at, given, p, text + 1, err);
  return status;
}
