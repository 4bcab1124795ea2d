/* The rows that clarke patterns prints: behind what is said of all of them, or as they are found. */
#ifndef CLARKE_TOOLS_PATTERNS_LIST_H
#define CLARKE_TOOLS_PATTERNS_LIST_H

#include "base/status.h"
#include "summary.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct {
  bool json, count, as_found; /* count: there are no rows */
  const char *key;            /* of the rows, in JSON */
  FILE *to;                   /* rows are written there: a file without a name, or standard output */
} clarke_patterns_list;

/* to NULL: the others have been set. In JSON the object begins, where its rows come first. */
clarke_status clarke_patterns_list_begin(clarke_patterns_list *l, clarke_error *err);
/* Zeroed, begun or ended. */
void clarke_patterns_list_clear(clarke_patterns_list *l);

/* As text: the three lines, which are ended and cleared, and the rows that were kept. With `count` nothing. */
clarke_status clarke_patterns_list_tell(clarke_patterns_list *l, clarke_summary *s, clarke_status status, clarke_error *err);

/* In JSON, before the other keys: what comes between them and rows that were printed, of which there are some, or none. Nothing is
 * printed where rows that are to follow were lost. */
clarke_status clarke_patterns_list_keys(const clarke_patterns_list *l, bool any, clarke_error *err);
/* Behind them: the reason of a stop, the rows that were kept, the object's end. */
clarke_status clarke_patterns_list_end(clarke_patterns_list *l, bool any, bool stopped, clarke_error *err);

/* "bump.prog at 0,0; SHA-256 ..." needs the file's last name and hash. A question ends so. */
void clarke_patterns_put_file(FILE *to, const char *path, const char *sha256);
/* "Not decided (undecided): at least ", unless all were found. */
void clarke_patterns_put_begun(FILE *to, bool complete);
/* What to do: of an answer that is not whole, why it is not; else how the rows are read, and --proof where there was none. */
void clarke_patterns_put_next(const clarke_patterns_list *l, FILE *to, const char *why, const char *row, const char *proof);

#endif
