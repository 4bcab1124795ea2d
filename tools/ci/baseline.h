/* Findings that are known, by a SARIF file that --sarif wrote. */
#ifndef CLARKE_TOOLS_BASELINE_H
#define CLARKE_TOOLS_BASELINE_H

#include "findings.h"

/* Marks as known each finding that the file has, of no larger count. What it has and is not found, or is found more often, is
 * told on standard error, unless a question could not be asked. */
clarke_status clarke_baseline_compare(clarke_findings *list, const char *path, clarke_error *err);

#endif
