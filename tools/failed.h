/* A question that could not be asked, or was stopped: every command says so alike. */
#ifndef CLARKE_TOOLS_FAILED_H
#define CLARKE_TOOLS_FAILED_H

#include "base/status.h"

#include <stdbool.h>

/* Prints "clarke COMMAND: why", and where the answer would have been JSON an object {"error": why} in its place, unless part of an
 * answer has been printed. Returns the exit status. */
int clarke_failed(const char *command, bool json, const clarke_error *why);

#endif
