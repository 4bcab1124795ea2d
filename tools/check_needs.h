/* What clarke-check needs beyond its defaults for a proof that was written: a line of standard error, and a key of the report. */
#ifndef CLARKE_TOOLS_CHECK_NEEDS_H
#define CLARKE_TOOLS_CHECK_NEEDS_H

#include "proof/check_limits.h"

#include <jansson.h>

/* Begins: the checker reads the proof, and n other files; NULL: it is not known. */
void clarke_check_needs_read(clarke_check_needs *c, const char *proof, const char *const *other, size_t n);

/* `clarke COMMAND: ... --limit NAME=N`; nothing where the defaults will do. */
void clarke_say_check_needs(const char *command, const clarke_check_needs *c);

/* Puts "check_limits" into the report, unless the defaults will do. */
void clarke_set_check_needs(json_t **report, const clarke_check_needs *c);

#endif
