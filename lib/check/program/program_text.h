/* The text of a program: its tokens, one after another. */
#ifndef CLARKE_KERNEL_PROGRAM_TEXT_H
#define CLARKE_KERNEL_PROGRAM_TEXT_H

#include "check/base/bytes.h"
#include "check/base/name_index.h"
#include "check/base/value.h"

/* A text, and what was made of it. */
typedef struct {
  const char *cursor, *limit;
  size_t brackets;
  size_t line;             /* of the token at hand */
  char token, *token_text; /* 'a': a name, '0': a number, 'r': a relation, or itself; what it says */
  struct program *prog;    /* what it becomes (instruction.h), and how much of that there is */
  size_t n_arguments, n_entries, n_words;
  name_index names;
  struct operand *named; /* by a name's number */
} reader;

#define want(condition, what) expect(condition, "program, line %zu: %s", r->line, what)

void text_begin(reader *r, bytes b);    /* the first token */
void advance(reader *r);                /* to the next */
bool is(reader *r, const char *what);   /* is it this one? Then the next is read */
void must(reader *r, const char *what); /* it must be this one */
void literal(reader *r, rational *q);   /* it is a number, exact or rounded as it says; q = 0 becomes that number */

#endif
