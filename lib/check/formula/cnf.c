/* DIMACS files. */
#include "check/formula/cnf.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"

#include <string.h>

#define MOST_VARIABLES ((long)1 << 30)

typedef struct {
  bytes rest;
  size_t line; /* of the file */
  bool fresh;  /* nothing but blanks was read of it */
  char word[16];
} reader;

#define want(condition, ...) expect(condition, "formula, line %zu: " __VA_ARGS__)

static bool
blank(unsigned char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

static void
end_line(reader *r)
{
  r->line++;
  r->fresh = true;
}

/* Is there another word, on this line or, if they may be passed over, after ends of lines and comments? It is then read. */
static bool
another_word(reader *r, bool lines)
{
  size_t n = 0;
  while (r->rest.size > 0
         && (blank(*r->rest.data) || (lines && (*r->rest.data == '\n' || (r->fresh && *r->rest.data == 'c'))))) {
    bool comment = *r->rest.data == 'c';
    while (comment && r->rest.size > 1 && r->rest.data[1] != '\n')
      take(&r->rest, 1);
    if (*take(&r->rest, 1).data == '\n')
      end_line(r);
  }
  if (r->rest.size == 0 || *r->rest.data == '\n')
    return false;
  r->fresh = false;
  for (; r->rest.size > 0 && !blank(*r->rest.data) && *r->rest.data != '\n'; n++) {
    want(n + 1 < sizeof r->word, "a word of more than %zu characters", r->line, sizeof r->word - 1);
    r->word[n] = printable((char)*take(&r->rest, 1).data);
  }
  r->word[n] = '\0';
  return true;
}

/* The word, as a whole number from least to most. */
static long
whole_number(reader *r, long least, long most)
{
  const char *digits = r->word + (*r->word == '-');
  long value = 0;
  want(*digits != '\0' && strlen(digits) <= 12 && strspn(digits, "0123456789") == strlen(digits), "'%s' is no number",
       r->line, r->word);
  for (; *digits != '\0'; digits++)
    value = 10 * value + (*digits - '0');
  want(value != 0 || *r->word != '-', "'%s' is no number", r->line, r->word);
  value = *r->word == '-' ? -value : value;
  want(value >= least && value <= most, "%ld is not a number from %ld to %ld", r->line, value, least, most);
  return value;
}

static void
add_literal(cnf *f, size_t *n, int literal)
{
  f->literal = grow(f->literal, *n, sizeof *f->literal);
  f->literal[(*n)++] = literal;
}

void
cnf_read(cnf *f, bytes file)
{
  reader all = {.rest = file}, *r = &all;
  size_t clauses, n_literals = 0;
  end_line(r);
  want(another_word(r, true) && strcmp(r->word, "p") == 0, "the header 'p cnf VARIABLES CLAUSES' is expected", r->line);
  want(another_word(r, false) && strcmp(r->word, "cnf") == 0, "'cnf' is expected", r->line);
  want(another_word(r, false), "the number of variables is expected", r->line);
  f->n_variables = (size_t)whole_number(r, 0, MOST_VARIABLES);
  within(LIMIT_INSTRUCTIONS, f->n_variables, "a formula of %zu variables", f->n_variables);
  want(another_word(r, false), "the number of clauses is expected", r->line);
  clauses = (size_t)whole_number(r, 0, MOST_VARIABLES);
  want(!another_word(r, false), "the end of the line is expected", r->line);
  f->first = grow(NULL, 0, sizeof *f->first);
  f->first[0] = f->n = 0;
  f->literal = NULL;
  while (another_word(r, true)) {
    int literal = (int)whole_number(r, -(long)f->n_variables, (long)f->n_variables);
    want(f->n < clauses, "more clauses than the header says", r->line);
    if (literal != 0) {
      add_literal(f, &n_literals, literal);
      continue;
    }
    f->first = grow(f->first, ++f->n, sizeof *f->first);
    f->first[f->n] = n_literals;
  }
  want(f->n == clauses, "the last clause is not ended, or there are fewer than the header says", r->line);
}
