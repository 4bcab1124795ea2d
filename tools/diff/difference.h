/* What differs between two things of one kind, place by place. */
#ifndef CLARKE_TOOLS_DIFFERENCE_H
#define CLARKE_TOOLS_DIFFERENCE_H

#include "format/tensors.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Rows {"at", "first", "second"}: texts, null where it is in the other alone. Of a tensor also "entries", how many of them differ, and
 * "of". A row that found no memory makes `rows` NULL (session/json.h). */
typedef struct {
  json_t *rows;
  size_t compared; /* places that were looked at */
} clarke_differences;

/* One row; first or second NULL: it is not there. */
void clarke_differences_add(clarke_differences *d, const char *at, const char *first, const char *second);

/* Values inside values: a row each that is no object and no list. Keys in skipped (ends with NULL) are passed over, wherever they are. */
void clarke_differences_of_json(clarke_differences *d, const char *at, const json_t *first, const json_t *second, const char *const *skipped);

/* By name, in the order of names: shapes, types, then entries, of which the row has the first of those that differ most. `before`
 * stands before each name. */
clarke_status clarke_differences_of_tensors(clarke_differences *d, const char *before, const clarke_tensors *first, const clarke_tensors *second,
                                            clarke_error *err);

/* Two folders of recorded steps: run.json, the network's file, and the files of every step that both have: tensors by their entries,
 * others by their bytes. */
clarke_status clarke_differences_of_records(clarke_differences *d, const char *first, const char *second, clarke_error *err);

#endif
