/* The text of a program as tokens. */
#ifndef CLARKE_PROGRAM_PROG_TOKEN_H
#define CLARKE_PROGRAM_PROG_TOKEN_H

#include "program/prog_tree.h"

typedef enum {
  TOKEN_NAME, TOKEN_NUMBER, TOKEN_WORD, TOKEN_RELATION, TOKEN_PUNCTUATION, TOKEN_NEWLINE,
  TOKEN_END,
} prog_token_kind;

/* A token is text[start, start + length). */
typedef struct {
  prog_token_kind kind;
  uint32_t start, length;
  uint32_t line;
  bool blank;              /* a blank line comes before its line */
  char mark;               /* PUNCTUATION: its character */
  clarke_relation relation;
} prog_token;

typedef struct {
  clarke_prog *g;
  uint32_t position;
  uint32_t last_line; /* of the last token or comment, 0: none */
  bool fresh;         /* no token or comment yet on this line */
  unsigned brackets;  /* open ones, inside which a line's end is a blank */
} prog_lexer;

/* The next token, TOKEN_END at the end; what is none is an error at its line and column. */
clarke_status clarke_prog_token(prog_token *token, prog_lexer *lexer, clarke_error *err);

#endif
