#include "op/equation.h"

#include <stdbool.h>
#include <string.h>

#define FIRST_OF_DOTS 52

/* Where the reading is: blanks mean nothing, wherever they stand. */
typedef struct {
  const char *at;
  size_t dots; /* axes that "..." stands for; CLARKE_NONE: it has not been met */
} reading;

static char
peek(reading *r)
{
  while (*r->at == ' ')
    r->at++;
  return *r->at;
}

static bool
skip(reading *r, const char *word)
{
  const char *back = r->at;

  for (; *word != '\0'; word++, r->at++)
    if (peek(r) != *word) {
      r->at = back;
      return false;
    }
  return true;
}

static size_t
label_of(char c)
{
  if (c >= 'a' && c <= 'z')
    return (size_t)(c - 'a');
  return c >= 'A' && c <= 'Z' ? 26 + (size_t)(c - 'A') : CLARKE_NONE;
}

/* The labels up to the next sign; *dots: where among them "..." stands, CLARKE_NONE when it does not. */
static const char *
read_letters(reading *r, unsigned char *label, size_t *n, size_t *dots)
{
  *n = 0;
  *dots = CLARKE_NONE;
  for (;;) {
    const size_t found = label_of(peek(r));

    if (found == CLARKE_NONE && *r->at != '.')
      return NULL;
    if (found == CLARKE_NONE && (*dots != CLARKE_NONE || !skip(r, "...")))
      return "of dots it may have three in a row, once an operand";
    if (found == CLARKE_NONE) {
      *dots = *n;
      continue;
    }
    if (*n == CLARKE_MAX_WHOLE)
      return "it has more labels than axes are supported";
    label[(*n)++] = (unsigned char)found;
    r->at++;
  }
}

/* The dots' axes among n labels, at place `at`. */
static const char *
put_dots(unsigned char *label, size_t *n, size_t at, size_t dots)
{
  if (*n + dots > CLARKE_MAX_WHOLE)
    return "it has more labels than axes are supported";
  memmove(label + at + dots, label + at, (*n - at) * sizeof *label);
  for (size_t i = 0; i < dots; i++)
    label[at + i] = (unsigned char)(FIRST_OF_DOTS + i);
  *n += dots;
  return NULL;
}

static const char *
read_operand(clarke_equation *e, size_t i, reading *r)
{
  size_t dots, n;
  const char *wrong = read_letters(r, e->label[i], &n, &dots);

  if (wrong != NULL)
    return wrong;
  if (n > e->rank[i] || (dots == CLARKE_NONE && n != e->rank[i]))
    return "an operand has another number of axes than it has labels";
  if (dots == CLARKE_NONE)
    return NULL;
  if (r->dots != CLARKE_NONE && r->dots != e->rank[i] - n)
    return "\"...\" stands for another number of axes in another operand";
  r->dots = e->rank[i] - n;
  return put_dots(e->label[i], &n, dots, r->dots);
}

/* How often the label stands among those of the operands. */
static size_t
times(const clarke_equation *e, size_t label)
{
  size_t found = 0;

  for (size_t i = 0; i < e->n; i++)
    for (size_t a = 0; a < e->rank[i]; a++)
      found += e->label[i][a] == label ? 1 : 0;
  return found;
}

/* The result where there is no "->". */
static const char *
make_result(clarke_equation *e, const reading *r)
{
  size_t n = 0;

  for (size_t label = 0; label < FIRST_OF_DOTS; label++) {
    if (times(e, label) != 1)
      continue;
    if (label >= 26)
      return "without \"->\" the order of capitals is not the same in all readers: write the result";
    if (n == CLARKE_MAX_WHOLE)
      return "it has more labels than axes are supported";
    e->label[2][n++] = (unsigned char)label;
  }
  if (r->dots != CLARKE_NONE) {
    const char *wrong = put_dots(e->label[2], &n, 0, r->dots);

    if (wrong != NULL)
      return wrong;
  }
  e->rank[2] = n;
  return NULL;
}

static const char *
read_result(clarke_equation *e, reading *r)
{
  size_t dots, n;
  const char *wrong = read_letters(r, e->label[2], &n, &dots);

  if (wrong != NULL)
    return wrong;
  if ((dots == CLARKE_NONE) != (r->dots == CLARKE_NONE))
    return "\"...\" stands in the operands or in the result alone";
  for (size_t a = 0; a < n; a++) {
    if (times(e, e->label[2][a]) == 0)
      return "the result has a label that no operand has";
    for (size_t before = 0; before < a; before++)
      if (e->label[2][before] == e->label[2][a])
        return "the result has a label twice";
  }
  if (dots != CLARKE_NONE)
    wrong = put_dots(e->label[2], &n, dots, r->dots);
  e->rank[2] = n;
  return wrong;
}

const char *
clarke_equation_read(clarke_equation *e, const char *text, size_t n, const size_t *ranks)
{
  reading r = {.at = text, .dots = CLARKE_NONE};
  const char *wrong;

  *e = (clarke_equation){.n = n};
  if (n < 1 || n > 2)
    return "one or two operands are supported";
  for (size_t i = 0; i < n; i++) {
    e->rank[i] = ranks[i];
    wrong = i > 0 && !skip(&r, ",") ? "it has fewer operands than the node" : read_operand(e, i, &r);
    if (wrong != NULL)
      return wrong;
  }
  wrong = skip(&r, "->") ? read_result(e, &r) : make_result(e, &r);
  if (wrong == NULL && peek(&r) != '\0')
    wrong = "it is no list of letters a to z and A to Z, \"...\" and commas, with one \"->\" perhaps";
  return wrong;
}
