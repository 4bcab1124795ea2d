/* A profile as lines of its file, each with what it is about and what AD takes there. */
#ifndef CLARKE_TOOLS_PROFILE_ROWS_H
#define CLARKE_TOOLS_PROFILE_ROWS_H

#include "op/profile.h"

typedef struct {
  char about[64], *takes; /* "Relu 0", "tie MaxPool", "norm" */
} clarke_profile_row;

typedef struct {
  clarke_profile_row *row;
  size_t n;
} clarke_profile_rows;

/* Reads the rows of a known name, or of a file. All profiles have the same rows, in the same order. The caller clears them,
 * on errors too. */
clarke_status clarke_profile_rows_read(clarke_profile_rows *r, const char *name, clarke_error *err);
void clarke_profile_rows_clear(clarke_profile_rows *r);

#endif
