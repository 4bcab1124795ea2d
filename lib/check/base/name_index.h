/* Names and their numbers. */
#ifndef CLARKE_KERNEL_NAME_INDEX_H
#define CLARKE_KERNEL_NAME_INDEX_H

#include "check/base/session.h"

/* The names themselves are others', and stay. {0} has none. */
typedef struct {
  size_t n;
  const char **name; /* by number */
  size_t n_places,
      *place; /* at a name's hash, or behind: 1 + its number; 0: nothing. A power of two, half of it or more 0 */
} name_index;

size_t name_find(const name_index *t, const char *name); /* its number, or NONE */
bool name_add(name_index *t, const char *name);          /* with the next number; false: it has one already */
void name_index_free(name_index *t);                     /* is {0} then */

#endif
