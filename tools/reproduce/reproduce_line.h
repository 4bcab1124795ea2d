/* A check along a segment: the pieces of the case's program there, and the integral of what AD returns. */
#ifndef CLARKE_TOOLS_REPRODUCE_LINE_H
#define CLARKE_TOOLS_REPRODUCE_LINE_H

#include "reproduce_result.h"
#include "reproduce_run.h"
#include "session/segment.h"

struct clarke_line {
  clarke_region_function f;
  clarke_segment segment;
  mpq_t *from, *to; /* f.n entries each */
};

/* Is it a key of such checks? */
bool clarke_line_key_known(const char *key);
/* Follows the program from one point to another: A B, numbers with commas between. */
clarke_status clarke_run_line(clarke_run *r, clarke_error *err);
void clarke_run_line_clear(clarke_run *r);
/* Text "unknown" where it is not known. */
clarke_status clarke_line_result(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err);
/* Is the integral known, and the difference? */
bool clarke_line_holds(const clarke_run *r);
clarke_status clarke_line_prove(const clarke_run *r, const char *path, clarke_error *err);

#endif
