/* What the files of the program language share: tokens, the tree's nodes, messages that show the
 * place, and the words of the language. */
#ifndef CLARKE_PROGRAM_PROG_TREE_H
#define CLARKE_PROGRAM_PROG_TREE_H

#include "program/prog.h"
#include "base/limit.h"

/* "FILE:LINE:COLUMN: message", the source line, a caret; at: an offset in the text. */
clarke_status clarke_prog_fail(const clarke_prog *g, size_t at, clarke_error *err,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same with CLARKE_ENOMEM: what is past the limit ("one more constant"), the limit, and how to raise it. */
clarke_status clarke_prog_fail_limit(const clarke_prog *g, size_t at, clarke_error *err, clarke_limit which,
                                     const char *what);
/* Line and column (in bytes: all of a line before a token is ASCII) of an offset, from 1. */
void clarke_prog_place(const clarke_prog *g, size_t at, size_t *line, size_t *column);

/* The array with room for one more element than n; it doubles. NULL when out of memory. */
void *clarke_prog_grow(void *array, size_t n, size_t *capacity, size_t size);

/* Is text[start, start + length) this word? */
bool clarke_prog_is(const clarke_prog *g, size_t start, size_t length, const char *word);

/* input, let, output, piece, if, then, else, and. */
bool clarke_prog_is_word(const char *text, size_t length);

#endif
