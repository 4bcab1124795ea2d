/* Compiled into readers (-include) whose allocations are to fail on demand. */
#ifndef CLARKE_TESTS_FORMAT_FAILING_H
#define CLARKE_TESTS_FORMAT_FAILING_H

#include <stdlib.h>
#include <string.h>

/* How many allocations are left before the one that fails; SIZE_MAX: none fails. */
extern size_t countdown;

void *failing_malloc(size_t size);
void *failing_calloc(size_t n, size_t size);
void *failing_realloc(void *p, size_t size);
char *failing_strdup(const char *s);
char *failing_strndup(const char *s, size_t n);

#define malloc failing_malloc
#define calloc failing_calloc
#define realloc failing_realloc
#define strdup failing_strdup
#define strndup failing_strndup

#endif
