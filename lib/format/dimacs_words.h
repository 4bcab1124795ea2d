/* The words of a text of SAT's formats: formulas (dimacs.h) and proofs (clausal.h). */
#ifndef CLARKE_FORMAT_DIMACS_WORDS_H
#define CLARKE_FORMAT_DIMACS_WORDS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* A place in the text: at the next character, on that line, of which nothing but blanks was read (fresh). */
typedef struct {
  const char *file;
  const unsigned char *at, *end;
  size_t line;
  bool fresh;
} clarke_dimacs_words;

#define CLARKE_WORD 32

/* "FILE:LINE: ..." */
#define CLARKE_WORDS_REFUSE(p, err, format, ...) \
  clarke_fail(err, CLARKE_EINPUT, "%s:%zu: " format, (p)->file, (p)->line, __VA_ARGS__)

/* To the next word, over blanks and, with `lines`, ends of lines and comments. False at the end. */
bool clarke_words_more(clarke_dimacs_words *p, bool lines);
/* The word at hand, as much of it as fits, for messages and numbers; only its printable characters. */
void clarke_words_take(clarke_dimacs_words *p, char word[CLARKE_WORD]);
/* A number in the range, written with digits alone (and a minus): in 12 characters, or in 18 where the range needs more. */
bool clarke_words_number(const char *word, long least, long most, long *number);

#endif
