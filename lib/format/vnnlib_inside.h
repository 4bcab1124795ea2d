/* Words of VNNLIB's texts, for the readers of its queries and of counterexamples. */
#ifndef CLARKE_FORMAT_VNNLIB_INSIDE_H
#define CLARKE_FORMAT_VNNLIB_INSIDE_H

#include "base/status.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>

#define CLARKE_VNNLIB_DEEPEST 64 /* brackets */
#define CLARKE_VNNLIB_LONGEST 1024

/* at, end, line (1), file and err are set by who begins; then the first word is asked for. */
typedef struct {
  const char *at, *end;
  size_t line;
  const char *file;
  char word[CLARKE_VNNLIB_LONGEST + 1]; /* "(", ")", a word, or "" at the end */
  clarke_error *err;
} clarke_vnnlib_words;

/* An error about the word that stands there. */
clarke_status clarke_vnnlib_refuse(const clarke_vnnlib_words *w, const char *why);
/* To the next word. */
clarke_status clarke_vnnlib_advance(clarke_vnnlib_words *w);
/* To the next word, if this is the one. */
clarke_status clarke_vnnlib_take(clarke_vnnlib_words *w, const char *word);
/* Behind a number; -1.5 may be written (- 1.5). */
clarke_status clarke_vnnlib_number(clarke_vnnlib_words *w, mpq_t value);

/* Is the word X_i (letter X)? */
bool clarke_vnnlib_is_variable(const char *word, char letter, size_t *i);

#endif
