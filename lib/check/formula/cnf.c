/* DIMACS files. */
#include "check/formula/cnf.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"

#include <string.h>

#define MOST_VARIABLES ((long)1 << 30)

static bytes rest;
static size_t line; /* of the file */
static bool fresh;  /* nothing but blanks was read of it */
static char word[16];

#define want(condition, ...) expect(condition, "formula, line %zu: " __VA_ARGS__)

static bool
blank(unsigned char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

static void
end_line(void)
{
  line++;
  fresh = true;
}

/* Is there another word, on this line or, if they may be passed over, after ends of lines and comments? It is then read. */
static bool
another_word(bool lines)
{
  size_t n = 0;
  while (rest.size > 0 && (blank(*rest.data) || (lines && (*rest.data == '\n' || (fresh && *rest.data == 'c'))))) {
    bool comment = *rest.data == 'c';
    while (comment && rest.size > 1 && rest.data[1] != '\n')
      take(&rest, 1);
    if (*take(&rest, 1).data == '\n')
      end_line();
  }
  if (rest.size == 0 || *rest.data == '\n')
    return false;
  fresh = false;
  for (; rest.size > 0 && !blank(*rest.data) && *rest.data != '\n'; n++) {
    want(n + 1 < sizeof word, "a word of more than %zu characters", line, sizeof word - 1);
    word[n] = printable((char)*take(&rest, 1).data);
  }
  word[n] = '\0';
  return true;
}

/* The word, as a whole number from least to most. */
static long
whole_number(long least, long most)
{
  const char *digits = word + (*word == '-');
  long value = 0;
  want(*digits != '\0' && strlen(digits) <= 12 && strspn(digits, "0123456789") == strlen(digits), "'%s' is no number",
       line, word);
  for (; *digits != '\0'; digits++)
    value = 10 * value + (*digits - '0');
  want(value != 0 || *word != '-', "'%s' is no number", line, word);
  value = *word == '-' ? -value : value;
  want(value >= least && value <= most, "%ld is not a number from %ld to %ld", line, value, least, most);
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
  size_t n = 0, clauses;
  rest = file;
  line = 0;
  end_line();
  want(another_word(true) && strcmp(word, "p") == 0, "the header 'p cnf VARIABLES CLAUSES' is expected", line);
  want(another_word(false) && strcmp(word, "cnf") == 0, "'cnf' is expected", line);
  want(another_word(false), "the number of variables is expected", line);
  f->n_variables = (size_t)whole_number(0, MOST_VARIABLES);
  within(LIMIT_INSTRUCTIONS, f->n_variables, "a formula of %zu variables", f->n_variables);
  want(another_word(false), "the number of clauses is expected", line);
  clauses = (size_t)whole_number(0, MOST_VARIABLES);
  want(!another_word(false), "the end of the line is expected", line);
  f->first = grow(NULL, 0, sizeof *f->first);
  f->first[0] = f->n = 0;
  f->literal = NULL;
  while (another_word(true)) {
    int literal = (int)whole_number(-(long)f->n_variables, (long)f->n_variables);
    want(f->n < clauses, "more clauses than the header says", line);
    if (literal != 0) {
      add_literal(f, &n, literal);
      continue;
    }
    f->first = grow(f->first, ++f->n, sizeof *f->first);
    f->first[f->n] = n;
  }
  want(f->n == clauses, "the last clause is not ended, or there are fewer than the header says", line);
}
