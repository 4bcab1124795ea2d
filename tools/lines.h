/* A file of answers: a line that says to what question, then one for each answer, by id. One is appended when it is known, and what was
 * appended stays. */
#ifndef CLARKE_TOOLS_LINES_H
#define CLARKE_TOOLS_LINES_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What its lines are. */
typedef struct {
  const char *format;                              /* in the first line under "format"; another version of answers is another name */
  const char *question;                            /* "sweep": who began the file, for messages */
  bool (*begins)(const json_t *head);              /* the first line, beside its format */
  bool (*id_of)(char id[65], const json_t *line); /* false: it is no answer */
  bool sealed;                                     /* each line ends in its own hash (clarke_lines_seal) */
} clarke_lines_form;

typedef struct {
  char id[65];
  char *text; /* with no line end */
} clarke_line;

typedef struct {
  const clarke_lines_form *form; /* set before anything else */
  char *head; /* the first line; NULL: there is none yet */
  size_t n, room;
  clarke_line *line;
  bool in_order; /* as they were read, or added: by id */
  bool cut;      /* the last line had no end, and was left out */
} clarke_lines;

void clarke_lines_clear(clarke_lines *r);
/* Another text in place of a JSON object's: with the key sha256 more, the hash of what the text was. An edit shows by it, but for one that
 * hashes anew. */
clarke_status clarke_lines_seal(char **text, clarke_error *err);
/* Adds the lines of a file to those that there are: to the same question, and no two of one id that differ. */
clarke_status clarke_lines_read(clarke_lines *r, const char *path, clarke_error *err);
clarke_status clarke_lines_add(clarke_lines *r, const char id[65], const char *text, clarke_error *err);
bool clarke_lines_have(const clarke_lines *r, const char *id);
/* By id, each once. */
void clarke_lines_sort(clarke_lines *r);
/* The whole file, or none of it. */
clarke_status clarke_lines_write(const clarke_lines *r, const char *path, clarke_error *err);

/* A file that one process at a time appends to; another waits. */
typedef struct {
  FILE *to;
  const char *path;
} clarke_lines_appender;

/* Waits for the file, makes it if there is none, and reads what it has into r. head: what its first line is to be. Half a line at its end
 * is cut off. */
clarke_status clarke_lines_append_open(clarke_lines_appender *a, clarke_lines *r, const char *path, const char *head, clarke_error *err);
clarke_status clarke_lines_append(clarke_lines_appender *a, const char *text, clarke_error *err);
/* Puts the lines in order, if they are not, unless status is an error already. */
clarke_status clarke_lines_append_close(clarke_lines_appender *a, clarke_lines *r, clarke_status status, clarke_error *err);

#endif
