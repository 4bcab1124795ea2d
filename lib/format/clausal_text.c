/* Refutations as texts. */
#include "format/clausal_inside.h"
#include "format/dimacs.h"
#include "format/dimacs_words.h"

#include <string.h>

static clarke_status
refuse_end(const clarke_dimacs_words *p, size_t begun, const char *what, clarke_error *err)
{
  return CLARKE_WORDS_REFUSE(p, err, "the text ends in the step of line %zu: %s and 0 are expected", begun, what);
}

/* Literals up to the 0. */
static clarke_status
read_literals(clarke_clausal *p, clarke_dimacs_words *w, char word[CLARKE_WORD], clarke_error *err)
{
  const long most = (long)CLARKE_CNF_VARIABLES;
  const size_t begun = w->line;
  clarke_status status = CLARKE_OK;

  for (long literal = 1; status == CLARKE_OK; clarke_words_take(w, word)) {
    if (!clarke_words_number(word, -most, most, &literal))
      return CLARKE_WORDS_REFUSE(w, err, "'%s' is no literal, expected a number from -%ld to %ld", word, most, most);
    if (literal == 0)
      return CLARKE_OK;
    status = clarke_clausal_literal(p, (int32_t)literal, err);
    if (status == CLARKE_OK && !clarke_words_more(w, true))
      return refuse_end(w, begun, "literals", err);
  }
  return status;
}

static clarke_status
refuse_hint(const clarke_dimacs_words *w, const char *word, bool deletion, clarke_error *err)
{
  long number;

  if (!deletion && clarke_words_number(word, -(long)CLARKE_CLAUSAL_NUMBERS, -1, &number))
    return CLARKE_WORDS_REFUSE(w, err, "hint %ld: a RAT step, which is not followed; each must follow by unit propagation",
                               number);
  return CLARKE_WORDS_REFUSE(w, err, "'%s' is no number of a clause", word);
}

/* Numbers of clauses up to the 0. */
static clarke_status
read_hints(clarke_clausal *p, clarke_dimacs_words *w, bool deletion, clarke_error *err)
{
  const size_t begun = w->line;
  char word[CLARKE_WORD];
  clarke_status status = CLARKE_OK;
  long hint = 1;

  while (status == CLARKE_OK) {
    if (!clarke_words_more(w, true))
      return refuse_end(w, begun, deletion ? "clauses" : "hints", err);
    clarke_words_take(w, word);
    if (!clarke_words_number(word, 0, (long)CLARKE_CLAUSAL_NUMBERS, &hint))
      return refuse_hint(w, word, deletion, err);
    if (hint == 0)
      return CLARKE_OK;
    status = clarke_clausal_hint(p, hint, err);
  }
  return status;
}

/* The step's own number was read; numbers of clauses grow. Does a deletion follow? */
static clarke_status
read_number(clarke_clausal *p, clarke_dimacs_words *w, char word[CLARKE_WORD], int64_t *last, bool *deletion, clarke_error *err)
{
  const size_t begun = w->line;
  long number;

  if (!clarke_words_number(word, 1, (long)CLARKE_CLAUSAL_NUMBERS, &number))
    return CLARKE_WORDS_REFUSE(w, err, "'%s' is no number of a step", word);
  if (!clarke_words_more(w, true))
    return refuse_end(w, begun, "literals", err);
  clarke_words_take(w, word);
  *deletion = strcmp(word, "d") == 0;
  if (!*deletion && number <= *last)
    return CLARKE_WORDS_REFUSE(w, err, "clause %ld after clause %ld, expected growing numbers", number, (long)*last);
  *last = *deletion ? *last : number;
  return clarke_clausal_begin(p, *deletion, begun, *deletion ? 0 : number, err);
}

static clarke_status
read_lrat(clarke_clausal *p, clarke_dimacs_words *w, char word[CLARKE_WORD], int64_t *last, clarke_error *err)
{
  bool deletion = false;
  clarke_status status = read_number(p, w, word, last, &deletion, err);

  if (status == CLARKE_OK && !deletion)
    status = read_literals(p, w, word, err);
  return status == CLARKE_OK ? read_hints(p, w, deletion, err) : status;
}

static clarke_status
read_drat(clarke_clausal *p, clarke_dimacs_words *w, char word[CLARKE_WORD], clarke_error *err)
{
  const size_t begun = w->line;
  const bool deletion = strcmp(word, "d") == 0;
  clarke_status status = clarke_clausal_begin(p, deletion, begun, 0, err);

  if (status == CLARKE_OK && deletion && !clarke_words_more(w, true))
    return refuse_end(w, begun, "literals", err);
  if (status == CLARKE_OK && deletion)
    clarke_words_take(w, word);
  return status == CLARKE_OK ? read_literals(p, w, word, err) : status;
}

clarke_status
clarke_clausal_text(clarke_clausal *p, const unsigned char *data, size_t size, const char *file, clarke_error *err)
{
  clarke_dimacs_words w = {file, data, size > 0 ? data + size : data, 1, true};
  clarke_status status = CLARKE_OK;
  char word[CLARKE_WORD];
  int64_t last = 0;

  while (status == CLARKE_OK && clarke_words_more(&w, true)) {
    clarke_words_take(&w, word);
    status = p->format == CLARKE_CLAUSAL_LRAT ? read_lrat(p, &w, word, &last, err) : read_drat(p, &w, word, err);
  }
  return status;
}
