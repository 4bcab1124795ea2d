/* JSON in files of others: read, and what is wrong with it. */
#ifndef CLARKE_FORMAT_OBJECT_H
#define CLARKE_FORMAT_OBJECT_H

#include "base/status.h"

#include <jansson.h>
#include <stddef.h>

/* An object or a list; the caller lets go of it. A key that is there twice is an error, as is what is no JSON; errors name the file. */
clarke_status clarke_object_parse(json_t **to, const void *data, size_t size, const char *file, clarke_error *err);

/* A key is missing, or holds something else. */
clarke_status clarke_object_wrong(const char *key, const char *expected, clarke_error *err);

/* The text j, which the key has; *to is the caller's to free. */
clarke_status clarke_object_text(char **to, const json_t *j, const char *key, clarke_error *err);

#endif
