/* A file of a sweep's results: a line that says of what sweep, then a line for each job, by id. One is appended when its job is
 * done, and what was appended stays. */
#ifndef CLARKE_TOOLS_SWEEP_RESULTS_H
#define CLARKE_TOOLS_SWEEP_RESULTS_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Of answers, in the first line: another one is another id. */
#define CLARKE_SWEEP_ANSWERS "clarke sweep 1"

typedef struct {
  char id[65];
  char *text; /* with no line end */
} clarke_sweep_line;

typedef struct {
  char *head; /* the first line; NULL: there is none yet */
  size_t n, room;
  clarke_sweep_line *line;
  bool in_order; /* as they were read, or added: by id */
  bool cut;      /* the last line had no end, and was left out */
} clarke_sweep_results;

void clarke_sweep_results_clear(clarke_sweep_results *r);
/* Adds the lines of a file to those that there are: of the same sweep, and no two of one job that differ. */
clarke_status clarke_sweep_results_read(clarke_sweep_results *r, const char *path, clarke_error *err);
clarke_status clarke_sweep_results_add(clarke_sweep_results *r, const char id[65], const char *text, clarke_error *err);
bool clarke_sweep_results_have(const clarke_sweep_results *r, const char *id);
/* By id, each once. */
void clarke_sweep_results_sort(clarke_sweep_results *r);
/* The whole file, or none of it. */
clarke_status clarke_sweep_results_write(const clarke_sweep_results *r, const char *path, clarke_error *err);

/* A file that one process at a time appends to; another waits. */
typedef struct {
  FILE *to;
  const char *path;
} clarke_sweep_appender;

/* Waits for the file, makes it if there is none, and reads what it has into r. head: what its first line is to be. Half a line at its end
 * is cut off. */
clarke_status clarke_sweep_append_open(clarke_sweep_appender *a, clarke_sweep_results *r, const char *path, const char *head, clarke_error *err);
clarke_status clarke_sweep_append(clarke_sweep_appender *a, const char *text, clarke_error *err);
/* Puts the lines in order, if they are not, unless status is an error already. */
clarke_status clarke_sweep_append_close(clarke_sweep_appender *a, clarke_sweep_results *r, clarke_status status, clarke_error *err);

#endif
