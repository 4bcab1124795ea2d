/* clarke patterns --arrangement: what it is asked, and the answer. */
#ifndef CLARKE_TOOLS_PATTERNS_ARRANGEMENT_H
#define CLARKE_TOOLS_PATTERNS_ARRANGEMENT_H

#include "base/status.h"

#include <stdbool.h>

typedef struct {
  const char *matrix, *offsets; /* paths; offsets NULL: central */
  const char *proof;            /* path, or NULL */
  bool count, json;
  bool as_found;                /* rows come as they are found, before what is said of them */
} clarke_arrangement_command;

/* Prints the answer. *complete: it holds all sign vectors; else it says why not. */
clarke_status clarke_arrangement_answer(bool *complete, const clarke_arrangement_command *c, clarke_error *err);

#endif
