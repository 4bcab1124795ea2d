/* The parser at work: the token ahead, how deep it is, nodes and lists of them. */
#ifndef CLARKE_PROGRAM_PROG_PARSER_H
#define CLARKE_PROGRAM_PROG_PARSER_H

#include "program/prog_token.h"

typedef struct {
  clarke_prog *g;
  prog_lexer lexer;
  prog_token token;
  uint32_t end; /* past the last token taken */
  unsigned depth;
  clarke_error *err;
} prog_parser;

/* A list of children being made. */
typedef struct {
  uint32_t parent, last;
} prog_children;

/* Takes the token; another one is ahead. */
clarke_status clarke_parser_next(prog_parser *r);

/* Is the token ahead this mark, this word of the language? */
bool clarke_parser_is_mark(const prog_parser *r, char mark);
bool clarke_parser_is_word(const prog_parser *r, const char *word);

/* Takes the mark, or fails: what is the mark and what it is for. */
clarke_status clarke_parser_take_mark(prog_parser *r, char mark, const char *what);

/* Fails: "expected WHAT, but found 'TOKEN'". */
clarke_status clarke_parser_expected(prog_parser *r, const char *what);

/* Around what nests in the text; leave returns the status, and is called unless enter failed. */
clarke_status clarke_parser_enter(prog_parser *r);
clarke_status clarke_parser_leave(prog_parser *r, clarke_status status);

/* *node = a new node without children; one that is the token, which is taken. */
clarke_status clarke_parser_new_node(uint32_t *node, prog_parser *r, clarke_prog_kind kind, uint32_t at);
clarke_status clarke_parser_take_node(uint32_t *node, prog_parser *r, clarke_prog_kind kind);

/* The last child of the list's parent, which is as deep as that asks for. */
clarke_status clarke_parser_adopt(prog_parser *r, prog_children *list, uint32_t child);

#endif
