/* The program language (docs/programs.md): text to a syntax tree, which is printed in one layout or
 * lowered to the instructions of a clarke_code.
 *
 * A message about a place in the text is "FILE:LINE:COLUMN: what is wrong, what was expected", then
 * the source line and a caret under the column (columns count characters from 1). */
#ifndef CLARKE_PROGRAM_PROG_H
#define CLARKE_PROGRAM_PROG_H

#include "program/code.h"

#include <stdint.h>
#include <stdio.h>

#define CLARKE_PROG_MAX_DEPTH 200

/* Node 0 is no node. Children are a list: first, then each one's next. */
typedef enum {
  /* statements */
  CLARKE_PROG_INPUT,  /* NAMEs, each with a child NUMBER when it is a vector */
  CLARKE_PROG_LET,    /* NAME, expression */
  CLARKE_PROG_OUTPUT, /* expressions */
  CLARKE_PROG_PIECE,  /* expression, COMPAREs */
  /* expressions, and what they consist of */
  CLARKE_PROG_IF,      /* COMPARE, then, else */
  CLARKE_PROG_COMPARE, /* left, right; mark: a clarke_relation */
  CLARKE_PROG_SUM,     /* two or more terms; mark of a term: '+' or '-' */
  CLARKE_PROG_TERM,    /* two or more factors; mark of a factor: '*' or '/' */
  CLARKE_PROG_MINUS,   /* operand */
  CLARKE_PROG_ENTRY,   /* vector, index */
  CLARKE_PROG_SLICE,   /* vector, first, end */
  CLARKE_PROG_CALL,    /* text: the function; PROXY if any, then arguments */
  CLARKE_PROG_PROXY,   /* text: its word, if any; a child number if any */
  CLARKE_PROG_LIST,    /* expressions */
  CLARKE_PROG_NAME,    /* text */
  CLARKE_PROG_NUMBER,  /* text */
} clarke_prog_kind;

typedef struct {
  uint8_t kind;     /* clarke_prog_kind */
  uint8_t mark;     /* of COMPARE; of the children of SUM and TERM */
  uint8_t depth;    /* of the tree under it, itself counted */
  uint32_t first, next;
  uint32_t at;      /* offset in the text: of a name, of an operator, of the first character */
  uint32_t mark_at; /* offset of the mark */
  uint32_t start, length; /* its own text: a name, a number, a word */
} clarke_prog_node;

typedef struct {
  uint32_t node;       /* the statement */
  uint32_t start, end; /* offsets of its first character, past its last */
  bool blank;          /* a blank line comes before it */
} clarke_prog_statement;

typedef struct {
  uint32_t start, length; /* from its '#', blanks at its end left out */
  uint32_t line;
  bool alone; /* nothing but blanks before it on its line */
  bool blank; /* a blank line comes before it */
} clarke_prog_comment;

typedef struct {
  char *file; /* as messages name it */
  char *text; /* size bytes and a NUL */
  size_t size;
  size_t n_lines, line_capacity;
  uint32_t *line_start; /* offsets */
  size_t n_nodes, node_capacity;
  clarke_prog_node *node;
  size_t n_statements, statement_capacity;
  clarke_prog_statement *statement;
  size_t n_comments, comment_capacity;
  clarke_prog_comment *comment;
} clarke_prog;

void clarke_prog_init(clarke_prog *g);
void clarke_prog_clear(clarke_prog *g);

/* Reads the text's syntax; names and lengths are looked at when it is lowered. */
clarke_status clarke_prog_read(clarke_prog *g, const void *data, size_t size, const char *file,
                               clarke_error *err);

/* p must be initialized. After an error it is empty. */
clarke_status clarke_prog_lower(clarke_code *p, const clarke_prog *g, clarke_error *err);

/* Both: p must be initialized, and is empty after an error. */
clarke_status clarke_prog_parse(clarke_code *p, const void *data, size_t size, const char *file,
                                clarke_error *err);

/* In the one layout. False when out cannot be written. */
bool clarke_prog_print(FILE *out, const clarke_prog *g);

/* The comment lines that begin with "#:", in order: what follows the colon, blanks at both ends left
 * out (not NUL-terminated), with its line, from 1. Returns how many there are; fills the first
 * `limit` of header, which may be NULL for 0. */
typedef struct {
  const char *text;
  size_t length, line;
} clarke_prog_header;
size_t clarke_prog_headers(clarke_prog_header *header, size_t limit, const clarke_prog *g);

/* A point, of one input or several: NAME=v,v,...,NAME=v,... in the literals of clarke_literal_parse. at holds one
 * initialized rational for each entry of all inputs, in order, and given (n_inputs of them) is set
 * for the inputs named. An unknown name lists the inputs; naming one twice is an error. */
clarke_status clarke_point_parse(mpq_t *at, bool *given, const clarke_code *p, const char *text,
                                 clarke_error *err);

#endif
