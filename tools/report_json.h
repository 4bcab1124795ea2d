/* What every report in JSON needs. jansson's allocations do not fail here (process.h). */
#ifndef CLARKE_TOOLS_REPORT_JSON_H
#define CLARKE_TOOLS_REPORT_JSON_H

#include "base/status.h"

#include <jansson.h>

/* A string; null for NULL. Names in files may hold any bytes: what is not UTF-8 is replaced. */
json_t *clarke_json_text(const char *text);
/* To standard output, then `end`. Drops j; NULL, an object that could not be made, is our own error. */
clarke_status clarke_json_print(json_t *j, size_t flags, const char *end, clarke_error *err);

#endif
