/* DIMACS files, read strictly (dimacs.h). */
#include "format/dimacs.h"
#include "base/room.h"
#include "format/dimacs_words.h"

#include <stdlib.h>
#include <string.h>

void
clarke_cnf_init(clarke_cnf *f)
{
  memset(f, 0, sizeof *f);
}

void
clarke_cnf_clear(clarke_cnf *f)
{
  free(f->first);
  free(f->literal);
  clarke_cnf_init(f);
}

clarke_status
clarke_cnf_add(clarke_cnf *f, int32_t literal, clarke_error *err)
{
  if (!clarke_room(&f->literal, &f->literal_capacity, f->n_literals + 1, sizeof *f->literal))
    return clarke_no_memory(err);
  f->literal[f->n_literals++] = literal;
  return CLARKE_OK;
}

clarke_status
clarke_cnf_end(clarke_cnf *f, clarke_error *err)
{
  if (!clarke_room(&f->first, &f->clause_capacity, f->n_clauses + 2, sizeof *f->first))
    return clarke_no_memory(err);
  if (f->n_clauses == 0)
    f->first[0] = 0;
  f->first[++f->n_clauses] = f->n_literals;
  return CLARKE_OK;
}

bool
clarke_cnf_holds(const clarke_cnf *f, const bool *value, size_t *clause)
{
  for (*clause = 0; *clause < f->n_clauses; ++*clause) {
    bool holds = false;

    for (size_t i = f->first[*clause]; i < f->first[*clause + 1] && !holds; i++)
      holds = value[labs((long)f->literal[i]) - 1] == (f->literal[i] > 0);
    if (!holds)
      return false;
  }
  return true;
}

/* --- the text ------------------------------------------------------------------------------------ */

static clarke_status
read_header(clarke_dimacs_words *p, size_t *n_variables, size_t *n_clauses, clarke_error *err)
{
  char word[2][32], count[2][32];
  long variables, clauses;

  for (size_t k = 0; k < 4; k++) {
    if (!clarke_words_more(p, k == 0))
      return CLARKE_WORDS_REFUSE(p, err, "%s, expected the line 'p cnf VARIABLES CLAUSES'",
                                 k == 0 ? "no formula" : "the header is cut off");
    clarke_words_take(p, k < 2 ? word[k] : count[k - 2]);
    if (k == 0 && strcmp(word[0], "p") != 0)
      return CLARKE_WORDS_REFUSE(p, err, "the first word outside comments (lines that begin with c) is '%s', expected the line 'p cnf VARIABLES CLAUSES'",
                                 word[0]);
  }
  if (strcmp(word[1], "cnf") != 0)
    return CLARKE_WORDS_REFUSE(p, err, "'%s %s', expected the line 'p cnf VARIABLES CLAUSES'", word[0], word[1]);
  if (!clarke_words_number(count[0], 0, (long)CLARKE_CNF_VARIABLES, &variables))
    return CLARKE_WORDS_REFUSE(p, err, "'%s' variables, expected a number up to %zu", count[0], CLARKE_CNF_VARIABLES);
  if (!clarke_words_number(count[1], 0, (long)CLARKE_CNF_VARIABLES, &clauses))
    return CLARKE_WORDS_REFUSE(p, err, "'%s' clauses, expected a number up to %zu", count[1], CLARKE_CNF_VARIABLES);
  *n_variables = (size_t)variables;
  *n_clauses = (size_t)clauses;
  if (clarke_words_more(p, false)) {
    clarke_words_take(p, word[0]);
    return CLARKE_WORDS_REFUSE(p, err, "'%s' after the header, expected the end of the line", word[0]);
  }
  return CLARKE_OK;
}

static clarke_status
refuse_word(const clarke_dimacs_words *p, const char *word, size_t n_variables, clarke_error *err)
{
  if (*word == '%')
    return CLARKE_WORDS_REFUSE(
        p, err, "'%s' is no literal (some collections end their files so: leave out the file from this line on)", word);
  if (strcmp(word, "p") == 0)
    return CLARKE_WORDS_REFUSE(p, err, "a second header '%s', expected a literal or 0", word);
  return CLARKE_WORDS_REFUSE(p, err, "'%s' is no literal, expected a number from -%zu to %zu", word, n_variables, n_variables);
}

static clarke_status
read_clauses(clarke_cnf *f, clarke_dimacs_words *p, size_t n_clauses, clarke_error *err)
{
  const long most = (long)f->n_variables;
  clarke_status status = CLARKE_OK;
  size_t begun = 0;
  char word[32];
  long literal;

  while (status == CLARKE_OK && clarke_words_more(p, true)) {
    clarke_words_take(p, word);
    if (!clarke_words_number(word, -most, most, &literal))
      return refuse_word(p, word, f->n_variables, err);
    if (f->n_clauses == n_clauses)
      return CLARKE_WORDS_REFUSE(p, err, "more clauses than the %zu of the header", n_clauses);
    begun = literal != 0 ? p->line : 0;
    status = literal != 0 ? clarke_cnf_add(f, (int32_t)literal, err) : clarke_cnf_end(f, err);
  }
  if (status == CLARKE_OK && begun != 0)
    return CLARKE_WORDS_REFUSE(p, err, "the last clause, on line %zu, has no 0 at its end", begun);
  if (status == CLARKE_OK && f->n_clauses < n_clauses)
    return CLARKE_WORDS_REFUSE(p, err, "%zu clauses, the header says %zu", f->n_clauses, n_clauses);
  return status;
}

clarke_status
clarke_dimacs_parse(clarke_cnf *f, const void *data, size_t size, const char *file, clarke_error *err)
{
  clarke_dimacs_words p = {file, data, (const unsigned char *)data + size, 1, true};
  size_t n_clauses = 0;
  clarke_status status = read_header(&p, &f->n_variables, &n_clauses, err);

  if (status == CLARKE_OK)
    status = read_clauses(f, &p, n_clauses, err);
  if (status != CLARKE_OK)
    clarke_cnf_clear(f);
  return status;
}
