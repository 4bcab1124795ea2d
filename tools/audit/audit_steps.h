/* All steps of a run folder: which there are, and what the answers about them come to. */
#ifndef CLARKE_TOOLS_AUDIT_STEPS_H
#define CLARKE_TOOLS_AUDIT_STEPS_H

#include "lines.h"

#include <jansson.h>

/* The file of lines, in its first one. */
#define CLARKE_STEPS_ANSWERS "clarke run 3"
/* In place of an answer about the gradient, of a step that left the reals. */
#define CLARKE_OUTSIDE_REALS "outside the reals"

/* --- audit_step_list.c: which steps there are --- */

typedef struct {
  char *folder;  /* the run folder that it is in */
  size_t step;
  json_t *files; /* the hashes of its files, and its profile */
} clarke_audit_step;

typedef struct {
  size_t n, room;
  clarke_audit_step *step; /* by number */
  char *graph;             /* the first one's graph, as a path; of one that left the reals its run.json */
} clarke_audit_step_list;

/* The steps of a run folder; or of all run folders in a folder that is none, as the callbacks of training loops leave them. No two have one
 * number. The caller clears the list, on errors too. */
clarke_status clarke_audit_step_list_read(clarke_audit_step_list *list, const char *folder, clarke_error *err);
void clarke_audit_step_list_clear(clarke_audit_step_list *list);
/* NULL: there is none of that number. */
const clarke_audit_step *clarke_audit_step_find(const clarke_audit_step_list *list, size_t step);

/* --- audit_steps_sum.c --- */

/* Does the line say what answers say, of the verdict and of the gradient? */
bool clarke_steps_known(const json_t *line);

typedef struct {
  const char *folder;
  size_t steps, unasked;     /* of the folder; not asked about, for a reason that was told */
  const char *stopped;       /* why the rest was not asked about, or NULL */
  const char *proof, *lines; /* files that were written, or NULL */
  const clarke_audit_step_list *list;
} clarke_steps_asked;

/* *summed = counts of steps by verdict, zone and answer about the gradient, and by layer. *exit_status: of the worst (command.h). The
 * caller drops *summed, on errors too. */
clarke_status clarke_steps_sum(json_t **summed, int *exit_status, const clarke_lines *lines, const clarke_steps_asked *asked, clarke_error *err);

/* The worst; of what is not answered undecided. */
const char *clarke_steps_verdict(const json_t *summed, const clarke_steps_asked *asked);

/* Three lines, the layers that were touched, and the steps that ask for a look; verbose: all steps. */
clarke_status clarke_steps_print(const json_t *summed, const clarke_lines *lines, const clarke_steps_asked *asked, bool verbose, clarke_error *err);

#endif
