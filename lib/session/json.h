/* What answers as JSON need. An object that is NULL could not be made; what is put into it stays out, and an object that
 * was given one becomes NULL itself: so memory that failed anywhere shows at the end. */
#ifndef CLARKE_SESSION_JSON_H
#define CLARKE_SESSION_JSON_H

#include "base/status.h"

#include <jansson.h>
#include <stdio.h>

/* A string; null for NULL. Names in files may hold any bytes: what is not UTF-8 is replaced. */
json_t *clarke_json_text(const char *text);

/* Puts value, which is taken over, into *object under key, or at the end of *list. */
void clarke_json_set(json_t **object, const char *key, json_t *value);
void clarke_json_append(json_t **list, json_t *value);

/* To a stream, then `end`. Drops j; NULL is CLARKE_ENOMEM. */
clarke_status clarke_json_print(FILE *out, json_t *j, size_t flags, const char *end, clarke_error *err);

#endif
