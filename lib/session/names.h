/* Lists of names with commas between. */
#ifndef CLARKE_SESSION_NAMES_H
#define CLARKE_SESSION_NAMES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* *names gets *n strings (the caller frees them and the array; after an error, too). list NULL: none. An empty name is
 * an error that names the option. */
clarke_status clarke_names_split(char ***names, size_t *n, const char *list, const char *option, clarke_error *err);
void clarke_names_free(char **names, size_t n);

/* Is the name one of them? */
bool clarke_names_have(char *const *names, size_t n, const char *name);

#endif
